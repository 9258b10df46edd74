"""Laws of PartitionDisplay: regions, points and lines are drawn where they are."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes, drawn, regions_of
from matplotlib.figure import Figure
from matplotlib.path import Path
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import SEPClassifier, make_table_pipeline
from sepc.plot import PartitionDisplay
from sepc.plot.style import class_styles


class TestPartition:
    @pytest.mark.slow
    def test_outlines_hold_their_members_and_touch_some(self, moons):
        clf, X, _ = moons
        display = PartitionDisplay.from_estimator(clf, ax=axes())
        found = list(regions_of(clf))
        assert [o.region for o in display.outlines] == [name for name, _, _ in found]
        for line, (_, _, members) in zip(display.ellipses_, found, strict=True):
            curve, center = line.get_xydata(), line.get_xydata()[:-1].mean(axis=0)
            assert drawn(line).contains_points(X[members]).all()
            smaller = Path(center + (curve - center) * (1.0 - 1e-3))
            assert not smaller.contains_points(X[members]).all()

    @pytest.mark.parametrize("data", ["iris", "cancer"])
    def test_shadows_hold_their_members_and_reach_as_far_as_the_regions(self, data, request):
        clf, X, _ = request.getfixturevalue(data)
        train, (i, j) = X[::2].to_numpy(), (2, 0)
        display = PartitionDisplay.from_estimator(clf, features=(X.columns[i], j), ax=axes())
        table = clf.regions().set_index("region")
        for line, (name, _, members) in zip(display.ellipses_, regions_of(clf), strict=True):
            assert drawn(line).contains_points(train[members][:, [i, j]]).all()
            low, high = line.get_xydata().min(axis=0), line.get_xydata().max(axis=0)
            for k, feature in enumerate((X.columns[i], X.columns[j])):
                expected = table.loc[name, [f"{feature} low", f"{feature} high"]].to_numpy(float)
                assert [low[k], high[k]] == pytest.approx(expected, abs=1e-3 * np.ptp(expected))

    def test_principal_directions_are_those_of_the_training_points(self, iris):
        clf, X, _ = iris
        display = PartitionDisplay.from_estimator(clf, ax=axes())
        Z = (X[::2].to_numpy() - clf.mean_) / clf.scale_
        directions = PCA(2).fit(Z)
        placed = Z @ directions.components_.T
        for points, label in zip(display.points_, clf.classes_, strict=True):
            own = placed[iris[2][::2] == label]
            assert len(points.get_offsets()) == len(own)
            assert np.unique(points.get_offsets().data.round(9), axis=0) == pytest.approx(
                np.unique(own.round(9), axis=0), abs=1e-8
            )
        for line, (_, _, members) in zip(display.ellipses_, regions_of(clf), strict=True):
            assert drawn(line).contains_points(placed[members]).all()
        share = 100 * directions.explained_variance_ratio_[0]
        assert f"{share:.1f} %" in display.ax_.get_xlabel()

    def test_the_frame_describes_the_ellipses(self, cancer):
        clf, _, _ = cancer
        display = PartitionDisplay.from_estimator(clf, features=(0, 1), ax=axes())
        frame = display.frame()
        assert frame.n_points.tolist() == [len(members) for _, _, members in regions_of(clf)]
        assert frame.label.tolist() == [label for _, label, _ in regions_of(clf)]
        for line, row in zip(display.ellipses_, frame.itertuples(), strict=True):
            shared = row.x_reach * row.y_reach * row.correlation
            S = np.array([[row.x_reach**2, shared], [shared, row.y_reach**2]])
            z = line.get_xydata() - [row.x, row.y]
            assert np.einsum("ni,ij,nj->n", z, np.linalg.inv(S), z) == pytest.approx(1.0)

    def test_several_classes_have_one_colour_each(self, iris):
        clf, _, _ = iris
        display = PartitionDisplay.from_estimator(clf, ax=axes())
        styles = class_styles(clf.classes_)
        assert [line.get_color() for line in display.ellipses_] == [styles[o.label].colour for o in display.outlines]
        assert {o.label for o in display.outlines} == set(clf.classes_)
        assert len({style.colour for style in styles.values()}) == 3

    @pytest.mark.slow
    def test_given_points_are_shown_where_they_are(self, moons):
        clf, X, y = moons
        display = PartitionDisplay.from_estimator(clf, X[200:], y[200:], features=(1, 0), ax=axes())
        for k, points in enumerate(display.points_):
            assert points.get_offsets().data == pytest.approx(X[200:][y[200:] == k][:, ::-1], rel=1e-12)
        unlabelled = PartitionDisplay.from_estimator(clf, X[200:], ax=axes())
        assert len(unlabelled.points_) == 1
        assert len(unlabelled.points_[0].get_offsets()) == 100

    def test_isolated_points_are_marked(self, cancer):
        clf, X, _ = cancer
        display = PartitionDisplay.from_estimator(clf, features=(0, 1), ax=axes())
        rows = np.concatenate(clf.partitions_[0].isolated)
        assert len(rows) > 0
        stars = [line.get_xydata()[0] for line in display.ax_.get_lines() if line.get_marker() == "*"]
        assert np.unique(stars, axis=0) == pytest.approx(np.unique(X[::2].to_numpy()[rows, :2], axis=0))

    def test_hyperplanes_are_where_the_partition_has_them(self, moons):
        clf, _, _ = moons
        display = PartitionDisplay.from_estimator(clf, hyperplanes=True, ax=axes())
        assert len(display.lines_) == len(clf.partitions_[0].hyperplanes)
        for line, (normal, offset) in zip(display.lines_, clf.partitions_[0].hyperplanes, strict=True):
            ends = (line.get_xydata() - clf.mean_) / clf.scale_
            if np.isfinite(ends).all():
                assert ends @ normal == pytest.approx(offset, abs=1e-9)

    def test_lines_are_cut_at_the_limits(self):
        from sepc.plot.planes import Line

        for normal, offset, ends in (
            ([1.0, 0.0], 3.0, [[3.0, 0.0], [3.0, 10.0]]),
            ([0.0, 2.0], 8.0, [[0.0, 4.0], [5.0, 4.0]]),
            ([2.0, -1.0], 0.0, [[0.0, 0.0], [5.0, 10.0]]),
        ):
            found = Line(np.array(normal), offset, None).across((0.0, 5.0), (0.0, 10.0))
            assert np.sort(found, axis=0) == pytest.approx(np.array(ends))

    def test_the_background_shows_labels_and_trust(self, moons):
        clf, _, _ = moons
        display = PartitionDisplay.from_estimator(clf, shade=True, features=(1, 0), ax=axes())
        x, y, label, trust = display.shading
        places = [(0, 0), (100, 30), (200, 200), (17, 230)]
        original = np.array([[y[j], x[i]] for i, j in places])
        assert clf.classes_[[label[j, i] for i, j in places]].tolist() == clf.predict(original).tolist()
        assert [trust[j, i] for i, j in places] == pytest.approx(clf.trust_score(original).tolist())
        sure, unsure = np.unravel_index(trust.argmax(), trust.shape), np.unravel_index(trust.argmin(), trust.shape)
        image = display.ax_.get_images()[0].get_array()
        assert image[sure].sum() < image[unsure].sum()  # paler where the trust is low

    @pytest.mark.slow
    def test_names_do_not_overlap(self, iris):
        clf, _, _ = iris
        display = PartitionDisplay.from_estimator(clf, n_names=10, ax=axes(figsize=(3.4, 2.7)))
        boxes = [name.get_window_extent() for name in display.names_]
        assert len(boxes) >= 3
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
        assert PartitionDisplay.from_estimator(clf, n_names=0, ax=axes()).names_ == []

    @pytest.mark.slow
    def test_given_limits_are_kept_and_no_name_lies_beyond(self, iris):
        clf, _, _ = iris
        display = PartitionDisplay.from_estimator(clf, features=(0, 1), ax=axes())
        display.limits = ((5.0, 6.0), (2.0, 3.0))
        display.plot(axes(), n_names=10, legend=False)
        assert (display.ax_.get_xlim(), display.ax_.get_ylim()) == display.limits
        assert display.ax_.get_legend() is None
        places = np.array([name.get_position() for name in display.names_])
        assert len(places) > 0
        assert ((places >= [5.0, 2.0]) & (places <= [6.0, 3.0])).all()

    @pytest.mark.slow
    def test_a_pipeline_is_shown_as_its_classifier_sees_the_points(self, cancer):
        _, X, y = cancer
        pipeline = make_pipeline(StandardScaler(), PCA(2), "passthrough", SEPClassifier()).fit(X, y)
        display = PartitionDisplay.from_estimator(pipeline, X, y, shade=True, ax=axes())
        placed = pipeline[:-2].transform(X)
        assert display.points == pytest.approx(placed, abs=1e-9)

    def test_raw_tables_are_encoded_first(self):
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"age": rng.normal(50.0, 9.0, 60), "smoker": rng.choice(["yes", "no"], 60)})
        y = np.where(table.age + 9.0 * (table.smoker == "yes") > 54.0, "ill", "well")
        pipeline = make_table_pipeline().fit(table, y)
        display = PartitionDisplay.from_estimator(pipeline, table, y, features=("age", 1), ax=axes())
        assert display.points[:, 0] == pytest.approx(table.age.to_numpy())

    @pytest.mark.slow
    def test_without_training_records_the_regions_are_still_shown(self, cancer, tmp_path):
        clf, X, y = cancer
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        bare = sepc.load(tmp_path / "model.sepc")
        display = PartitionDisplay.from_estimator(bare, features=(0, 1), ax=axes())
        whole = PartitionDisplay.from_estimator(clf, features=(0, 1), ax=axes())
        assert len(display.points) == 0
        pd.testing.assert_frame_equal(display.frame(), whole.frame())
        assert len(PartitionDisplay.from_estimator(bare, X, y, ax=axes()).points) == len(X)
        with raises("too-few-principal-points", n_points=0):
            PartitionDisplay.from_estimator(bare, ax=axes())

    @pytest.mark.parametrize(
        ("options", "refusal"),
        [
            ({"features": (0, 99)}, raises("display-unknown-feature", feature=99, last=7)),
            ({"features": ("mean radius", "age")}, raises("display-unknown-feature", feature="age")),
            ({"features": (1, 1)}, raises("display-feature-twice", features=(1, 1))),
            ({"features": "all"}, raises("display-features", features="all")),
            ({"features": (0, 1, 2)}, raises("display-features", features=(0, 1, 2))),
            ({"features": (True, 0)}, raises("display-unknown-feature", feature=True)),
            ({"hyperplanes": True}, raises("display-needs-plane", name="hyperplanes", n_features=8)),
            ({"shade": True}, raises("display-needs-plane", name="shade", n_features=8)),
            ({"y": [1, 2]}, raises("y-without-X")),
            ({"ax": Figure()}, raises("ax-type", type="Figure")),
        ],
    )
    def test_bad_requests_are_refused(self, cancer, options, refusal):
        with refusal:
            PartitionDisplay.from_estimator(cancer[0], **options)

    def test_bad_classifiers_and_labels_are_refused(self, moons, forest):
        clf, X, y = moons
        with raises("display-needs-partition", type="RandomForestClassifier", display="PartitionDisplay"):
            PartitionDisplay.from_estimator(forest)
        with raises("labels-and-rows", n_labels=3, n_rows=300):
            PartitionDisplay.from_estimator(clf, X, y[:3])
        with raises("label-not-trained", label=7):
            PartitionDisplay.from_estimator(clf, X, np.where(y == 1, 7, y))
        single = SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        with raises("display-one-feature", feature="x0"):
            PartitionDisplay.from_estimator(single)
