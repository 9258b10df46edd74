"""Laws of the displays: the numbers are those of the rooms below, and what is drawn is where it should be."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sepc
from sepc import (
    ConfusionDisplay,
    InputError,
    LandscapeDisplay,
    PartitionDisplay,
    RegionTrustDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    SepcError,
    SEPClassifier,
    SEPEnsembleClassifier,
    landscape,
    make_table_pipeline,
    metrics,
)
from sepc.plot import class_styles


def axes(**options):
    """Return axes of a figure that pyplot knows nothing of."""
    return Figure(layout="constrained", **options).subplots()


@pytest.fixture
def pyplot():
    """Return pyplot on a backend without windows; leave the backend as it was, and no figure open."""
    import matplotlib.pyplot as plt

    before = plt.get_backend()
    plt.switch_backend("Agg")
    yield plt
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.2, random_state=1)
    X = X * [1.0, 1000.0] + [5.0, -300.0]  # units that differ
    return SEPClassifier(n_imp=3).fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="module")
def iris():
    bunch = load_iris(as_frame=True)
    X, y = bunch.data, bunch.target_names[bunch.target]
    return SEPClassifier().fit(X[::2], y[::2]), X, y


@pytest.fixture(scope="module")
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data.iloc[:, :8], bunch.target_names[bunch.target]
    return SEPClassifier().fit(X[::2], y[::2]), X, y


@pytest.fixture(scope="module")
def forest(cancer):
    """Return a classifier without a trust score, with many equal confidences."""
    _, X, y = cancer
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])


def drawn(line):
    """Return the outline that was drawn, a hair larger: its corners lie on the ellipse, its sides inside of it."""
    curve = line.get_xydata()
    center = curve[:-1].mean(axis=0)
    return Path(center + (curve - center) * (1.0 + 1e-3))


def regions_of(clf):
    """Yield name, label and training rows of all regions of classes, from the partitions alone."""
    for k, found in enumerate(clf.partitions_):
        binary, numbers = len(clf.partitions_) == 1, [0, 0]
        for block in found.blocks:
            numbers[block.side] += 1
            if binary or block.side == 0:
                label = clf.classes_[block.side if binary else k]
                yield f"{label}#{numbers[block.side]}", label, block.members


class TestPartition:
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
        assert "in standard deviations" in display.ax_.get_xlabel()
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

    def test_names_do_not_overlap(self, iris):
        clf, _, _ = iris
        display = PartitionDisplay.from_estimator(clf, n_names=10, ax=axes(figsize=(3.4, 2.7)))
        boxes = [name.get_window_extent() for name in display.names_]
        assert len(boxes) >= 3
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
        assert PartitionDisplay.from_estimator(clf, n_names=0, ax=axes()).names_ == []

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

    def test_without_training_records_the_regions_are_still_shown(self, cancer, tmp_path):
        clf, X, y = cancer
        sepc.save(clf, tmp_path / "model.sepc", training_rows=False)
        bare = sepc.load(tmp_path / "model.sepc")
        display = PartitionDisplay.from_estimator(bare, features=(0, 1), ax=axes())
        whole = PartitionDisplay.from_estimator(clf, features=(0, 1), ax=axes())
        assert len(display.points) == 0
        pd.testing.assert_frame_equal(display.frame(), whole.frame())
        assert len(PartitionDisplay.from_estimator(bare, X, y, ax=axes()).points) == len(X)
        with pytest.raises(InputError, match="keeps no training records: pass X"):
            PartitionDisplay.from_estimator(bare, ax=axes())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"features": (0, 99)}, "99; expected a number from 0 to 7 or a name among 'mean radius'"),
            ({"features": ("mean radius", "age")}, "'age'; expected"),
            ({"features": (1, 1)}, "one feature twice"),
            ({"features": "all"}, "expected two features by name or number"),
            ({"features": (0, 1, 2)}, "expected two features"),
            ({"features": (True, 0)}, "True; expected"),
            ({"hyperplanes": True}, "hyperplanes is True, but the classifier has 8 features; expected 2"),
            ({"shade": True}, "shade is True, but the classifier has 8 features"),
            ({"y": [1, 2]}, "y is given without X"),
            ({"ax": Figure()}, "ax is a Figure; expected the axes"),
        ],
    )
    def test_bad_requests_are_refused(self, cancer, options, message):
        with pytest.raises(InputError, match=message):
            PartitionDisplay.from_estimator(cancer[0], **options)

    def test_bad_classifiers_and_labels_are_refused(self, moons, forest):
        clf, X, y = moons
        with pytest.raises(InputError, match="clf is a RandomForestClassifier; PartitionDisplay shows"):
            PartitionDisplay.from_estimator(forest)
        with pytest.raises(InputError, match="y has 3 labels and X 300 rows"):
            PartitionDisplay.from_estimator(clf, X, y[:3])
        with pytest.raises(InputError, match="y holds 7, which the classifier was not trained on"):
            PartitionDisplay.from_estimator(clf, X, np.where(y == 1, 7, y))
        single = SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        with pytest.raises(InputError, match="one feature, 'x0'; expected two or more"):
            PartitionDisplay.from_estimator(single)


class TestRegionTrust:
    def test_points_are_counted_by_deciding_region_and_label(self, cancer):
        clf, X, y = cancer
        display = RegionTrustDisplay.from_estimator(clf, X[1::2], y[1::2], max_regions=1000, ax=axes())
        a = clf.assess(X[1::2])
        expected = pd.crosstab(a.region, y[1::2])
        frame = display.frame().set_index("region")
        assert frame[["n_benign", "n_malignant"]].to_numpy().tolist() == expected.loc[frame.index].to_numpy().tolist()
        mean = pd.Series(a.trust).groupby(a.region).mean()
        assert frame.trust.to_numpy() == pytest.approx(mean.loc[frame.index].to_numpy())
        assert (np.diff(display.trust) <= 0.0).all()
        assert display.line_.get_ydata() == pytest.approx(display.trust)
        heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_]).T
        assert heights.tolist() == display.counts.tolist()

    def test_without_points_it_shows_the_table_of_regions(self, cancer):
        clf, _, _ = cancer
        frame = RegionTrustDisplay.from_estimator(clf, ax=axes()).frame().set_index("region")
        table = clf.regions().set_index("region").loc[frame.index]
        own = [frame.loc[name, f"n_{label}"] for name, label in table.label.items()]
        assert own == table.n_label.tolist()
        assert (frame.n - own).tolist() == table.n_others.tolist()
        assert frame.trust.tolist() == table.trust.tolist()

    def test_of_several_classes_the_regions_of_rests_are_left_out(self, iris):
        clf, _, _ = iris
        display = RegionTrustDisplay.from_estimator(clf, ax=axes())
        table = clf.regions()
        table = table[~table.label.str.startswith("not ")].set_index("region")
        assert set(display.regions) == set(table.index)
        frame = display.frame().set_index("region").loc[table.index]
        assert frame["n_other labels"].tolist() == table.n_others.tolist()

    def test_the_rest_is_pooled(self, moons):
        clf, X, y = moons
        every = RegionTrustDisplay.from_estimator(clf, X, y, max_regions=1000, ax=axes())
        few = RegionTrustDisplay.from_estimator(clf, X, y, max_regions=3, ax=axes())
        assert len(few.regions) == 4
        assert few.regions[-1] == f"others ({len(every.regions) - 3})"
        assert few.counts.sum(axis=0).tolist() == every.counts.sum(axis=0).tolist() == np.bincount(y).tolist()
        sizes = [display.counts.sum(axis=1) for display in (few, every)]
        assert few.trust @ sizes[0] == pytest.approx(every.trust @ sizes[1])
        assert sorted(sizes[0][:-1]) == sorted(sizes[1])[-3:]

    def test_ensembles_need_points(self, iris):
        _, X, y = iris
        clf = SEPEnsembleClassifier(n_estimators=2).fit(X[::2], y[::2])
        display = RegionTrustDisplay.from_estimator(clf, X[1::2], y[1::2], max_regions=5, ax=axes())
        assert display.counts.sum() == 75
        with pytest.raises(InputError, match="clf is an ensemble"):
            RegionTrustDisplay.from_estimator(clf, ax=axes())

    def test_pipelines_are_looked_into(self, cancer):
        _, X, y = cancer
        pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
        display = RegionTrustDisplay.from_estimator(pipeline, X, y, ax=axes())
        assert display.counts.sum() == len(X)

    def test_bad_requests_are_refused(self, moons, forest):
        clf, X, y = moons
        with pytest.raises(InputError, match="only one of X and y"):
            RegionTrustDisplay.from_estimator(clf, X)
        with pytest.raises(InputError, match="max_regions is 0"):
            RegionTrustDisplay.from_estimator(clf, X, y, max_regions=0)
        with pytest.raises(InputError, match="clf is a RandomForestClassifier, which has no regions"):
            RegionTrustDisplay.from_estimator(forest, X, y)


class TestRiskCoverage:
    def test_numbers_are_those_of_the_metrics(self, cancer, forest):
        clf, X, y = cancer
        models = {"regions": clf, "forest": forest}
        display = RiskCoverageDisplay.from_estimators(models, X[1::2], y[1::2], ax=axes())
        frame = display.frame()
        confidence = {"regions": clf.trust_score(X[1::2]), "forest": forest.predict_proba(X[1::2]).max(axis=1)}
        for name, model in models.items():
            outcome = y[1::2], model.predict(X[1::2]), confidence[name]
            part = frame[frame.model == name]
            expected = metrics.risk_coverage_curve(*outcome)
            for column, values in zip(("coverage", "risk", "threshold"), expected, strict=True):
                assert part[column].tolist() == values.tolist()
            entry = f"{name}: {1000 * metrics.aurc(*outcome):.1f}"
            assert entry in [text.get_text() for text in display.ax_.get_legend().get_texts()]

    def test_the_mean_of_the_line_is_the_area_with_any_ties(self, cancer, forest):
        _, X, y = cancer
        display = RiskCoverageDisplay.from_estimator(forest, X[1::2], y[1::2], ax=axes())
        (curve,), n = display.curves, len(y[1::2])
        assert len(curve.coverages) < n / 5  # many ties
        assert curve.at(np.arange(1, n + 1) / n).mean() == pytest.approx(curve.aurc)
        x, risk = display.lines_[0].get_xydata().T
        assert np.interp(curve.coverages, x, risk) == pytest.approx(curve.risks)

    def test_references_are_the_best_and_the_expected_order(self, cancer):
        clf, X, y = cancer
        display = RiskCoverageDisplay.from_estimator(clf, X[1::2], y[1::2], reference=True, ax=axes())
        right = clf.predict(X[1::2]) == y[1::2]
        others = [line for line in display.ax_.get_lines() if line is not display.lines_[0] and len(line.get_xdata())]
        perfect, chance = others
        best = RiskCoverageDisplay.from_predictions(right, np.ones(len(right), bool), right.astype(float), ax=axes())
        assert perfect.get_ydata() == pytest.approx(best.curves[0].at(perfect.get_xdata()))
        assert chance.get_ydata() == pytest.approx(np.mean(~right))

    def test_other_curves_on_the_axes_stay(self, cancer, forest):
        clf, X, y = cancer
        ax = axes()
        one = RiskCoverageDisplay.from_estimator(clf, X, y, ax=ax)
        two = RiskCoverageDisplay.from_estimator(forest, X, y, ax=ax)
        assert two.lines_[0].get_color() != one.lines_[0].get_color()
        assert len(ax.get_legend().get_texts()) == 2
        again = one.plot(axes())
        assert again is one
        assert again.ax_ is not ax

    def test_weights_count(self):
        y, p, c = [0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6]
        weighted = RiskCoverageDisplay.from_predictions(y, p, c, sample_weight=[1, 2, 0, 3], ax=axes())
        repeated = RiskCoverageDisplay.from_predictions(
            np.repeat(y, [1, 2, 0, 3]), np.repeat(p, [1, 2, 0, 3]), np.repeat(c, [1, 2, 0, 3]), ax=axes()
        )
        pd.testing.assert_frame_equal(weighted.frame(), repeated.frame())

    def test_probabilities_alone_will_do(self):
        proba = [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]
        display = RiskCoverageDisplay.from_predictions([0, 0, 1], proba, labels=[0, 1], ax=axes())
        assert display.frame().threshold.tolist() == [0.9, 0.7, 0.6]

    def test_a_classifier_that_cannot_say_how_sure_it_is_is_refused(self, cancer):
        _, X, y = cancer
        clf = LinearSVC(max_iter=10**5).fit(X / X.std(), y)
        with pytest.raises(InputError, match="clf is a LinearSVC, which has neither trust_score nor predict_proba"):
            RiskCoverageDisplay.from_estimator(clf, X, y, ax=axes())


class TestReliability:
    @pytest.mark.parametrize("n_bins", [1, 4, 15])
    def test_bins_add_up_to_the_calibration_error(self, iris, n_bins):
        clf, X, y = iris
        display = ReliabilityDisplay.from_estimator(clf, X[1::2], y[1::2], n_bins=n_bins, ax=axes())
        frame = display.frame()
        outcome = y[1::2], clf.predict(X[1::2]), clf.trust_score(X[1::2])
        ece = metrics.expected_calibration_error(*outcome, n_bins=n_bins)
        assert (frame.n * np.abs(frame.accuracy - frame.confidence)).sum() / frame.n.sum() == pytest.approx(ece)
        assert f"(ECE {ece:.3f})" in display.ax_.get_legend().get_texts()[1].get_text()
        trust = outcome[2]
        for row in frame.itertuples():
            assert row.n == np.count_nonzero((trust > row.bin_low) & (trust <= row.bin_high))

    def test_intervals_are_exact(self, cancer, forest):
        _, X, y = cancer
        for row in ReliabilityDisplay.from_estimator(forest, X[1::2], y[1::2], ax=axes()).frame().itertuples():
            expected = binomtest(round(row.n * row.accuracy), int(row.n)).proportion_ci(method="exact")
            assert (row.low, row.high) == pytest.approx((expected.low, expected.high))

    def test_several_models_share_the_axes(self, cancer, forest):
        clf, X, y = cancer
        display = ReliabilityDisplay.from_estimators({"a": clf, "b": forest}, X, y, ax=axes())
        assert display.frame().groupby("model").n.sum().tolist() == [len(X), len(X)]
        tallest = max(bar.get_height() for bars in display.bars_ for bar in bars)
        assert f"{display.frame().n.max():g}" in [text.get_text() for text in display.ax_.texts]
        for curve, bars in zip(display.curves, display.bars_, strict=True):
            heights = np.array([bar.get_height() for bar in bars])
            assert heights / tallest == pytest.approx(curve.counts / display.frame().n.max())

    def test_the_curve_is_drawn_where_the_bins_are(self):
        display = ReliabilityDisplay.from_predictions([0, 0, 1], [0, 0, 0], [0.9, 0.8, 0.2], n_bins=2, ax=axes())
        assert display.lines_[0][0].get_xydata() == pytest.approx(np.array([[0.2, 0.0], [0.85, 1.0]]))

    def test_confidences_that_are_no_probabilities_are_refused(self):
        with pytest.raises(InputError, match="expected probabilities"):
            ReliabilityDisplay.from_predictions([0, 1], [0, 1], [3.0, 0.5], ax=axes())


class TestConfusion:
    def test_all_labels_given_it_is_the_usual_matrix(self, iris):
        clf, X, y = iris
        display = ConfusionDisplay.from_estimator(clf, X[1::2], y[1::2], min_trust=0.0, ax=axes())
        expected = confusion_matrix(y[1::2], clf.predict(X[1::2]))
        assert display.matrix[:, :-1].tolist() == expected.tolist()
        assert display.matrix[:, -1].tolist() == [0, 0, 0]
        assert display.answered == 1.0
        assert display.right == pytest.approx(clf.score(X[1::2], y[1::2]))

    @pytest.mark.parametrize("min_trust", [0.95, {"benign": 0.8, "malignant": 0.99}])
    def test_the_last_column_holds_what_was_not_answered(self, cancer, min_trust):
        clf, X, y = cancer
        display = ConfusionDisplay.from_estimator(clf, X[1::2], y[1::2], min_trust=min_trust, ax=axes())
        given = clf.predict_or_abstain(X[1::2], min_trust)
        frame = display.frame()
        for row in frame.itertuples():
            told = np.array([g is None if pd.isna(row.predicted) else g == row.predicted for g in given])
            assert row.value == np.count_nonzero(told & (y[1::2] == row.true))
        assert display.matrix[:, -1].sum() == sum(g is None for g in given) > 0

    def test_classifiers_without_trust_abstain_by_probability(self, cancer, forest):
        _, X, y = cancer
        sure = forest.predict_proba(X[1::2]).max(axis=1)
        for min_trust in (0.9, {"benign": 0.9, "malignant": 0.9}):
            display = ConfusionDisplay.from_estimator(forest, X[1::2], y[1::2], min_trust=min_trust, ax=axes())
            assert display.matrix[:, -1].sum() == np.count_nonzero(sure < 0.9)

    @pytest.mark.parametrize(("normalize", "axis"), [("true", 1), ("pred", 0), ("all", None)])
    def test_shares_sum_to_one(self, normalize, axis):
        y, p = ["a", "a", "b", "b", "b"], ["a", None, "b", "a", None]
        display = ConfusionDisplay.from_predictions(y, p, normalize=normalize, ax=axes())
        assert display.matrix.sum(axis=axis) == pytest.approx(1.0)
        assert display.answered == pytest.approx(0.6)
        assert display.right == pytest.approx(2 / 3)

    @pytest.mark.parametrize(("mark", "label"), [(None, None), (np.nan, None), (-1, -1), ("?", "?")])
    def test_any_mark_may_stand_for_no_label(self, mark, label):
        given = pd.Series([0, mark, 1, 1], dtype=object)
        display = ConfusionDisplay.from_predictions([0, 0, 1, 0], given, abstain_label=label, ax=axes())
        assert display.matrix.tolist() == [[1, 1, 1], [0, 1, 0]]

    def test_labels_that_the_classifier_does_not_know_have_a_row(self, moons):
        clf, X, y = moons
        display = ConfusionDisplay.from_estimator(clf, X, np.where(y == 1, 7, y), min_trust=0.0, ax=axes())
        assert display.classes.tolist() == [0, 1, 7]
        assert display.matrix[1].tolist() == [0, 0, 0, 0]
        assert display.matrix[2].sum() == np.count_nonzero(y == 1)

    def test_numbers_can_be_read_on_every_cell(self):
        y = np.repeat(range(6), [1, 10, 30, 60, 80, 100])
        display = ConfusionDisplay.from_predictions(y, y, ax=axes())

        def luminance(colour):
            rgb = np.array(to_rgb(colour))
            return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

        for i, j in np.ndindex(display.matrix.shape):
            pair = luminance(display.text_[i, j].get_color()), luminance(display.im_.get_array()[i, j, :3])
            assert (max(pair) + 0.05) / (min(pair) + 0.05) > 4.5
            assert display.text_[i, j].get_text() == str(display.matrix[i, j])

    def test_nothing_answered_is_no_error(self):
        display = ConfusionDisplay.from_predictions([0, 1], [None, None], ax=axes())
        assert display.matrix.tolist() == [[0, 0, 1], [0, 0, 1]]
        assert "(0 % answered)" in display.ax_.get_xlabel()

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            (([0, 1], [0]), {}, "y_true has 2 entries and y_pred 1"),
            (([], []), {}, "y_true has 0 entries"),
            (([0, 1], [0, 1]), {"normalize": "rows"}, "normalize is 'rows'"),
            (([0, 1], [0, "?"]), {}, "labels of several kinds"),
            (([0, 1], [0, 2]), {"labels": [0, 1]}, "2 is not among labels"),
        ],
    )
    def test_bad_input_is_refused(self, arguments, options, message):
        with pytest.raises(InputError, match=message):
            ConfusionDisplay.from_predictions(*arguments, **options, ax=axes())


class TestLandscape:
    @pytest.mark.parametrize("data", ["moons", "iris", "cancer"])
    def test_it_shows_the_overlaps_of_the_terrain(self, data, request):
        clf = request.getfixturevalue(data)[0]
        display = LandscapeDisplay.from_estimator(clf, max_regions=1000, ax=axes())
        graph = clf.landscape_.class_graph
        found = {frozenset(row[:2]): row[2:] for row in display.frame().itertuples(index=False)}
        assert found == {
            frozenset((e.region_a, e.region_b)): (e.same_label, e.n_common, e.margin) for e in graph.itertuples()
        }
        sizes = clf.landscape_.regions.set_index("region")[["n_label", "n_others"]].sum(axis=1)
        regions = display.frame("regions")
        assert regions.n_records.tolist() == sizes.loc[regions.name].tolist()
        assert set(regions.name) == {name for name, _, _ in regions_of(clf)}

    def test_cells_are_where_the_names_say(self, moons):
        display = LandscapeDisplay.from_estimator(moons[0], ax=axes())
        names = [text.get_text() for text in display.ax_.get_xticklabels()]
        rows = [text.get_text().split(" (")[0] for text in display.ax_.get_yticklabels()]
        assert names == rows == [node.name for node in display.nodes]
        for cell, row in zip(display.edges_, display.frame().itertuples(), strict=True):
            column, line = round(cell.get_x() + 0.5), round(cell.get_y() + 0.5)
            assert {names[column], rows[line]} == {row.a, row.b}
            assert column < line  # below the diagonal

    def test_the_largest_regions_are_kept(self, moons):
        every = LandscapeDisplay.from_estimator(moons[0], max_regions=1000, ax=axes())
        few = LandscapeDisplay.from_estimator(moons[0], max_regions=3, ax=axes())
        assert len(few.nodes) == 3
        assert few.n_left_out == len(every.nodes) - 3
        sizes = sorted(node.n_records for node in every.nodes)
        assert sorted(node.n_records for node in few.nodes) == sizes[-3:]
        assert f"{few.n_left_out} smaller" in few.ax_.get_legend().get_title().get_text()

    def test_classes_of_a_data_set_overlap_as_its_landscape_says(self, iris):
        _, X, y = iris
        view = landscape(X, y)
        display = LandscapeDisplay.from_landscape(view, ax=axes())
        pairs = view.pairs[view.pairs.ellipsoids_meet]
        frame = display.frame()
        assert frame[["a", "b"]].to_numpy().tolist() == pairs[["class_a", "class_b"]].to_numpy().tolist()
        assert frame.n_common.tolist() == (pairs.n_inside_a + pairs.n_inside_b).tolist()
        assert frame.ovl.tolist() == pairs.ovl.tolist()

    def test_nothing_to_overlap_is_no_error(self):
        with pytest.warns(sepc.SepcWarning, match="fewer training points"):
            clf = SEPClassifier().fit(np.eye(6)[:4], [0, 0, 1, 1])
        display = LandscapeDisplay.from_estimator(clf, ax=axes())
        assert len(display.frame()) == len(display.frame("regions")) == 0
        assert display.ax_.get_legend().get_title().get_text() == "no overlaps"

    def test_bad_requests_are_refused(self, moons, iris):
        with pytest.raises(InputError, match=r"max_regions is 1\.5"):
            LandscapeDisplay.from_estimator(moons[0], max_regions=1.5)
        with pytest.raises(InputError, match="part is 'nodes'"):
            LandscapeDisplay.from_estimator(moons[0], ax=axes()).frame("nodes")
        ensemble = SEPEnsembleClassifier(n_estimators=1).fit(iris[1], iris[2])
        with pytest.raises(InputError, match="LandscapeDisplay shows the regions of one partition"):
            LandscapeDisplay.from_estimator(ensemble)


def every_display(clf, X, y, ax):
    """Yield a function for each display that draws it on what `ax` returns."""
    for kind in (PartitionDisplay, RegionTrustDisplay, RiskCoverageDisplay, ReliabilityDisplay, ConfusionDisplay):
        yield lambda kind=kind: kind.from_estimator(clf, X, y, ax=ax())
    yield lambda: LandscapeDisplay.from_estimator(clf, ax=ax())


class TestAllDisplays:
    def test_given_axes_are_used_and_nothing_else_changes(self, iris, pyplot):
        settings, figures = dict(mpl.rcParams), pyplot.get_fignums()
        for draw in every_display(*iris, axes):
            ax = axes()
            display = draw()
            assert display.plot(ax) is display
            assert display.ax_ is ax
            assert display.figure_ is ax.figure
        assert pyplot.get_fignums() == figures
        assert dict(mpl.rcParams) == settings

    def test_without_axes_there_is_a_new_figure(self, iris, pyplot):
        settings = dict(mpl.rcParams)
        for n, draw in enumerate(every_display(*iris, lambda: None), start=1):
            assert draw().figure_ is pyplot.gcf()
            assert len(pyplot.get_fignums()) == n
        assert dict(mpl.rcParams) == settings

    def test_the_same_class_has_the_same_colour_everywhere(self, iris):
        clf, X, y = iris
        styles = class_styles(clf.classes_)
        regions = PartitionDisplay.from_estimator(clf, ax=axes())
        bars = RegionTrustDisplay.from_estimator(clf, X, y, ax=axes())
        overlaps = LandscapeDisplay.from_estimator(clf, ax=axes())
        for k, (label, style) in enumerate(styles.items()):
            assert regions.points_[k].get_facecolor()[0, :3] == pytest.approx(to_rgb(style.colour))
            assert bars.bars_[k][0].get_facecolor()[:3] == pytest.approx(to_rgb(style.colour))
            node = next(n for n, drawn in zip(overlaps.nodes_, overlaps.nodes, strict=True) if drawn.label == label)
            assert node.get_facecolor()[0, :3] == pytest.approx(to_rgb(style.colour))

    def test_names_are_shown_as_text(self):
        X, y = make_moons(60, noise=0.2, random_state=0)
        labels = np.array(["_a$b", r"$\frac"])[y]
        table = pd.DataFrame(X, columns=[r"$\alpha", "_x"])
        clf = SEPClassifier().fit(table, labels)
        for draw in every_display(clf, table, labels, axes):
            draw().figure_.draw_without_rendering()
        display = PartitionDisplay.from_estimator(clf, ax=axes())
        entries = [text.get_text().strip().replace(r"\$", "$") for text in display.ax_.get_legend().get_texts()]
        assert set(entries) >= set(labels)

    def test_a_missing_matplotlib_is_named_with_its_remedy(self, moons, monkeypatch):
        clf, _, _ = moons
        for name in ("matplotlib", "matplotlib.axes"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(SepcError, match=r"pip install 'sepc\[plot\]'"):
            PartitionDisplay.from_estimator(clf)

    def test_unfitted_classifiers_are_refused(self):
        from sklearn.exceptions import NotFittedError

        for kind in (PartitionDisplay, RegionTrustDisplay, LandscapeDisplay):
            with pytest.raises(NotFittedError):
                kind.from_estimator(SEPClassifier())

    def test_any_classifier_will_do_where_only_confidence_counts(self, iris):
        _, X, y = iris
        table_pipeline = make_table_pipeline().fit(X[::2], y[::2])
        models = [DummyClassifier(), LogisticRegression(max_iter=1000), SEPEnsembleClassifier(n_estimators=1)]
        for clf in [table_pipeline, *(model.fit(X[::2], y[::2]) for model in models)]:
            for kind in (RiskCoverageDisplay, ReliabilityDisplay, ConfusionDisplay):
                assert len(kind.from_estimator(clf, X[1::2], y[1::2], ax=axes()).frame()) > 0

    def test_polars_frames_work(self, iris):
        _, X, y = iris
        table = pl.DataFrame(X)
        clf = SEPClassifier().fit(table, y)
        for draw in every_display(clf, table, pl.Series(y), axes):
            assert len(draw().frame()) > 0
        assert RegionTrustDisplay.from_estimator(clf, ax=axes()).counts.sum() > 0

    @pytest.mark.first_use
    def test_matplotlib_is_loaded_by_drawing_alone(self):
        code = "import sys, sepc; sepc.PartitionDisplay; sepc.ConfusionDisplay; assert 'matplotlib' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)
