"""Partitions that leave a part of the records out: which records are where, and what is learnt from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_sets import every_set, real_set, some_of
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from strategies import drawn_points, examples

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.common.splits import IN_NO_PART
from sepc.estimators.held_out_parts import parts_of
from sepc.model.calibration import log_density
from sepc.tables import TableEncoder

BUNDLED = [load_iris, load_wine, pytest.param(load_breast_cancer, marks=pytest.mark.slow)]


class TestParts:
    @examples(40)
    @given(drawn_points(2, regimes=("lattice", "copies")), st.integers(0, 25))
    def test_equal_records_are_in_the_same_part_whatever_their_labels(self, some, n_first):
        # Where few differ, each record is dealt by itself.
        points = np.vstack([some, np.random.default_rng(0).integers(6, size=(40, 2))])
        codes = (np.arange(len(points)) >= n_first).astype(int)
        parts = parts_of(points, codes)
        for point in np.unique(points, axis=0):
            assert len(set(parts[(points == point).all(axis=1)])) == 1

    def test_where_few_differ_each_record_is_dealt_by_itself(self):
        rng = np.random.default_rng(0)
        points, codes = rng.integers(3, size=(200, 2)).astype(float), np.repeat([0, 1], [150, 50])
        parts = parts_of(points, codes)
        for k in range(2):
            for point in np.unique(points, axis=0):
                of_point = np.bincount(parts[(points == point).all(axis=1) & (codes == k)], minlength=3)
                assert of_point.max() - of_point.min() <= 1

    def test_parts_are_of_about_the_same_size_in_each_class(self):
        rng = np.random.default_rng(0)
        points, codes = rng.normal(size=(300, 3)), np.repeat([0, 1, 2], [10, 90, 200])
        parts = parts_of(points, codes)
        for k in range(3):
            sizes = np.bincount(parts[codes == k], minlength=3)
            assert sizes.max() - sizes.min() <= 1

    def test_the_only_record_of_a_class_is_in_no_part(self):
        parts = parts_of(np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0, 0, 0, 1]))
        assert parts.tolist() == [0, 1, 2, IN_NO_PART]

    def test_a_change_that_nobody_can_see_moves_no_record(self):
        rng = np.random.default_rng(5)
        points, codes = rng.normal(size=(90, 3)), np.repeat([0, 1], 45)
        points[::3] = points[0]
        moved = points * (1 + 1e-14 * rng.normal(size=points.shape))
        assert np.array_equal(parts_of(points, codes), parts_of(moved, codes))


@pytest.mark.parametrize("load", BUNDLED)
def test_the_order_of_rows_does_not_matter(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    one, two = SEPClassifier().fit(X, y), SEPClassifier().fit(X[order], y[order])
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    a, b = one.assess(X), two.assess(X)
    assert np.array_equal(a.typicality, b.typicality)
    assert np.array_equal(a.stability, b.stability)


@pytest.mark.parametrize("load", BUNDLED)
def test_copies_of_all_records_give_no_more_certainty_about_new_ones(load):
    X, y = load(return_X_y=True)
    once = SEPClassifier().fit(X[::2], y[::2])
    thrice = SEPClassifier().fit(np.repeat(X[::2], 3, axis=0), np.repeat(y[::2], 3))
    # Copies in other parts would have been seen: the temperature would say that nothing is ever wrong.
    assert thrice.model_.calibration.temperature > 0.7 * once.model_.calibration.temperature


def test_a_class_whose_records_are_all_equal_is_still_found():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    X = rng.normal(size=(300, 1))
    X[y == 1] = 0.0  # a code for a fault, say: such records are never left out
    clf = SEPClassifier().fit(X, y)
    assert not clf.model_.calibration.correction.any()
    assert clf.predict([[0.0]]).tolist() == [1]


class TestAlongRays:
    @pytest.mark.parametrize("load", BUNDLED)
    @pytest.mark.parametrize("trust", ["local"])
    def test_far_away_probabilities_are_the_shares_of_the_classes(self, load, trust):
        X, y = load(return_X_y=True)
        clf = SEPClassifier(trust=trust).fit(X, y)
        rng = np.random.default_rng(0)
        share = np.bincount(y) / len(y)
        for direction in (*rng.normal(size=(5, X.shape[1])), *np.eye(X.shape[1])[:3]):
            far = X.mean(axis=0) + 1e7 * X.std(axis=0) * direction
            np.testing.assert_allclose(clf.predict_proba(far[None])[0], share, atol=1e-6)
            assert clf.assess(far[None]).refusals().tolist() == ["beyond"]

    @every_set
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_they_are_on_every_set_for_both_estimators(self, path):
        X, y = some_of(path)
        points = np.asarray(TableEncoder().fit(X).transform(X))
        models = [SEPClassifier().fit(points, y)]
        if len(models[0].classes_) <= 3:  # members of one class against each of many others take their time
            models.append(SEPEnsembleClassifier(n_estimators=2).fit(points, y))
        directions = np.random.default_rng(0).normal(size=(4, points.shape[1]))
        far = points.mean(axis=0) + 1e9 * np.maximum(points.std(axis=0), 1e-9) * directions
        for clf in models:
            share = clf.class_count_ / clf.class_count_.sum()
            np.testing.assert_allclose(clf.predict_proba(far), np.tile(share, (4, 1)), atol=1e-6)

    def test_the_density_falls_along_them(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = SEPClassifier().fit(X, y).model_
        u = np.random.default_rng(1).normal(size=X.shape[1])
        along = log_density(model.densities.log_joint(np.outer(np.logspace(2, 8, 30), u)))
        assert (np.diff(along) < 0).all()


class TestStability:
    def test_it_is_the_share_of_three_partitions(self):
        X, y = load_wine(return_X_y=True)
        clf = SEPClassifier().fit(X[::2], y[::2])
        a = clf.assess(X[1::2])
        assert set(np.round(3 * a.stability, 9)) <= {0.0, 1.0, 2.0, 3.0}
        assert a.stability.mean() > 0.8

    def test_readings_that_only_count_have_none(self):
        X, y = load_iris(return_X_y=True)
        for trust in ("raw", "counts", "bound", "paper"):
            a = SEPClassifier(trust=trust).fit(X, y).assess(X[:3])
            assert np.isnan(a.stability).all()
            assert np.isnan(a.typicality).all()
            assert "strange" not in a.reason


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
class TestFew:
    def test_a_class_of_one_record(self):
        clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 0, 1])
        assert clf.predict([[9.0]]).tolist() == [1]
        assert clf.predict_proba([[1.0]]).max() < 0.95

    def test_two_records(self):
        clf = SEPClassifier().fit([[0.0], [9.0]], [0, 1])
        assert clf.predict([[0.0], [9.0]]).tolist() == [0, 1]
        assert not clf.assess([[0.0], [9.0]]).accepted().any()

    def test_a_model_without_regions_accepts_nothing(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 30)), np.repeat([0, 1], 6)
        X[y == 1] += 9
        a = SEPClassifier().fit(X, y).assess(X)
        assert a.refusals(min_trust=0.0, min_typicality=0.0).tolist() == ["no region"] * 12

    def test_all_records_of_a_class_are_equal(self):
        X = np.concatenate([np.zeros((20, 2)), np.random.default_rng(0).normal(5.0, 1.0, size=(20, 2))])
        clf = SEPClassifier().fit(X, np.repeat([0, 1], 20))
        assert clf.predict([[0.0, 0.0], [5.0, 5.0]]).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["banknote", "vertebral_2c", "haberman"])
def test_ordinary_records_are_seldom_strange_and_strange_ones_never_accepted(name):
    X, y = real_set(name)
    clf = SEPClassifier().fit(X[::2], y[::2])
    new = X[1::2]
    assert (clf.assess(new).reason == "strange").mean() < 0.03
    for changed in (1000 * new, new + 20 * X.std(axis=0)):
        assert not clf.assess(changed).accepted().any()
