"""Growth of members: what shapes them, what they are judged by, which features they have."""

import numpy as np
import pytest
from fitted_ensembles import overlapping
from saved_models import stored

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.estimators.ensemble import growth
from sepc.estimators.ensemble.feature_views import PLAIN, STEPS, learn_label_steps
from sepc.estimators.ensemble.growth import grow
from sepc.estimators.ensemble.members import Plan


class TestGrown:
    def test_every_point_is_left_out_once_and_shapes_the_other_parts(self):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(80, 2)), np.repeat([0, 1], [50, 30])
        member, out_of_fold, _ = grow(Plan(0, np.array([0, 1]), 5), X, codes, np.array(["a", "b"]), 2)
        outs = [part.out for part in member.parts]
        assert sorted(np.concatenate(outs)) == list(range(80))
        for part in member.parts:
            assert sorted(np.concatenate([part.rows, part.out])) == list(range(80))
            shares = np.bincount(codes[part.out])
            assert abs(shares - [50 / 3, 10]).max() < 1
            assert np.array_equal(
                out_of_fold.log_probability[part.out].argmax(axis=1),
                part.densities.posterior(X[part.out]).argmax(axis=1),
            )
        assert np.isfinite(out_of_fold.log_probability).all()
        assert (out_of_fold.log_probability >= -12).all()
        assert np.isfinite(out_of_fold.log_density).all()

    def test_the_only_point_of_a_class_is_never_left_out(self):
        X, codes = np.arange(9.0)[:, None], np.array([0] * 5 + [1] * 3 + [2])
        member, out_of_fold, _ = grow(Plan(0, np.array([0]), 0), X, codes, np.array(["a", "b", "c"]), 0)
        assert all(8 in part.rows for part in member.parts)
        assert np.isnan(out_of_fold.log_probability[8]).all()
        assert np.isnan(out_of_fold.log_density[8])
        assert np.isfinite(out_of_fold.log_probability[:8]).all()

    def test_of_many_points_some_of_each_class_are_enough(self, monkeypatch):
        monkeypatch.setattr(growth, "MOST_POINTS", 30)
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(400, 2)), np.repeat([0, 1, 2], [300, 97, 3])
        member, out_of_fold, _ = grow(Plan(0, np.array([0, 1]), 1), X, codes, np.array(["a", "b", "c"]), 2)
        for part in member.parts:
            assert not np.isin(part.rows, part.out).any()
            for rows in (part.rows, part.out):
                assert len(rows) <= 31
                assert (np.diff(rows) > 0).all()
                assert set(codes[rows]) == {0, 1, 2}
        assert np.isfinite(out_of_fold.log_probability).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_the_ellipsoid_of_a_region_holds_what_shaped_it(self, n_classes):
        X, y = overlapping(n_classes)
        codes = np.unique(y, return_inverse=True)[1]
        member, *_ = grow(Plan(0, np.arange(3), 0), X, codes, np.unique(y), 2)
        isolated = []
        for part in member.parts:
            for component, name in enumerate(part.names):
                ellipsoids, code = part.ellipsoids(component), part.densities.codes[component]
                if not ellipsoids:
                    isolated.append(name)
                    continue
                mine = part.rows[codes[part.rows] == code]
                held = np.any([E.contains(X[mine]) for E in ellipsoids], axis=0)
                n_isolated = part.sizes[component] - np.count_nonzero(held)
                assert n_isolated <= (len(ellipsoids) < np.count_nonzero(part.groups == component)) * len(mine)
        assert all(name.endswith("@") for name in isolated)


@pytest.mark.slow
def test_no_block_of_a_member_holds_most_of_a_class_where_classes_overlap_heavily():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 240)
    X = rng.normal(size=(480, 2)) + np.column_stack([0.3 * y, 0 * y])
    largest = max(len(b.members) for b in SEPClassifier(n_imp=2).fit(X, y).partitions_[0].blocks)
    assert largest > 0.8 * 240
    for member in SEPEnsembleClassifier(n_estimators=2).fit(X, y).model_.members:
        for part in member.parts:
            assert max(len(b.members) for b in part.partitions[0].blocks) < 0.6 * 160


@pytest.mark.slow
def test_several_members_take_turns_with_views_and_sizes():
    X, y = overlapping(n_classes=2, n=15, d=6)
    plans = [member.plan for member in SEPEnsembleClassifier(n_estimators=10).fit(X, y).model_.members]
    assert [plan.view for plan in plans] == [0, 1, 0, 1, 2] * 2
    assert [len(plan.features) for plan in plans] == [6, 6, 3, 3, 6, 4, 4, 6, 6, 3]


@pytest.fixture(scope="module")
def boxes():
    """Return points of two classes that a box divides, and an ensemble of five members, one of which sees steps."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 3))
    y = (np.abs(X[:, :2]) < 0.6).all(axis=1).astype(int)
    return X, y, SEPEnsembleClassifier(n_estimators=5).fit(X[:300], y[:300])


class TestSteps:
    def test_each_part_learns_its_steps_from_what_it_was_shaped_by(self, boxes):
        X, y, clf = boxes
        model = clf.model_
        member = model.members[4]
        assert member.plan.view == STEPS
        for part in member.parts:
            rows = model.records.rows[part.rows]
            points = model.views(X[rows])[PLAIN][:, member.plan.features]
            again = learn_label_steps(points, y[rows], 2)
            for name in ("cuts", "values"):
                assert all(map(np.array_equal, getattr(again, name), getattr(part.steps, name)))
        assert all(part.steps is None for other in model.members[:4] for part in other.parts)

    def test_what_it_says_is_honest(self, boxes):
        clf = boxes[2]
        model = clf.model_
        member, codes = model.members[4], model.records.codes
        points = member.points([records.points for records in model.records_by_view])
        _, out_of_fold, _ = grow(member.plan, points, codes.astype(int), clf.classes_, 0.05)
        for part in member.parts:
            said = part.prediction(points[part.out])
            assert np.array_equal(said.log_probability, out_of_fold.log_probability[part.out])

    def test_it_ranks_boxes_better_than_the_values_do(self, boxes):
        X, y, clf = boxes
        views = clf.model_.views(X[300:])
        right = [m.prediction(views).log_probability.argmax(axis=1) == y[300:] for m in clf.model_.members]
        assert right[4].mean() > max(right[0].mean(), right[1].mean())

    def test_files_and_quick_opinions_know_it(self, boxes, tmp_path):
        X, _, clf = boxes
        back = stored(clf, tmp_path)
        assert np.array_equal(back.predict_proba(X[300:]), clf.predict_proba(X[300:]))
        back = stored(clf, tmp_path, training_rows=False)
        assert back.assess(X[300:]).region.tolist() == clf.assess(X[300:]).region.tolist()
        quick, exact = clf.model_.for_search.decide(X[300:]), clf.model_.decide(X[300:])
        assert quick.proba == pytest.approx(exact.proba)

    def test_a_region_is_named_by_ranges_of_the_values(self, boxes):
        X, y, clf = boxes
        model = clf.model_
        for k, part in enumerate(model.members[4].parts):
            largest = int(np.argmax(np.where(part.densities.codes == 1, part.sizes, 0)))
            extent = model.extent(4, k, largest)
            features = model.members[4].plan.features
            inside = np.all((X[:, features] >= extent.low) & (X[:, features] <= extent.high), axis=1)
            # A rule of the members' ranges holds most of the box, and less of all else.
            assert inside[y == 1].mean() > 0.8
            assert inside[y == 0].mean() < 0.6
