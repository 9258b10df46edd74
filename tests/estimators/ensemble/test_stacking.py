"""Stacked predictions: the weights that members of an ensemble learn, and how strange points are to all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import check_grad
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_iris
from strategies import decimals, examples

from sepc import SEPEnsembleClassifier
from sepc.estimators.ensemble import stacking
from sepc.estimators.ensemble.stacking import Stack, learn_stack, learn_strangeness


@st.composite
def opinions(draw):
    """Return what up to four members say of records, as logarithms of probabilities, and the classes."""
    n, n_classes = draw(st.integers(1, 30)), draw(st.integers(2, 4))
    codes = draw(arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    said = draw(decimals((draw(st.integers(1, 4)), n, n_classes), 300))
    said[0, np.arange(n), codes] += 1.0
    return log_softmax(said, axis=2), codes


def counts(said):
    predictions, codes = said
    return np.bincount(codes, minlength=predictions.shape[2]) + 1


def claims(n, share_wrong=0.0, n_members=4):
    """Return what members say of n records of two classes, sure of all and of most of them right, and the classes."""
    rng = np.random.default_rng(n)
    codes = np.arange(n) % 2
    sides = np.where(codes == 1, 1.0, -1.0) * (3.0 + rng.normal(size=(n_members, n)))
    wrong = np.arange(n) < share_wrong * n
    return log_softmax(np.stack([-sides, sides], axis=2), axis=2), np.where(wrong, 1 - codes, codes)


class TestStack:
    def test_members_that_are_right_on_all_points_do_not_become_certain(self):
        codes = np.arange(60) % 3
        prediction = np.log(np.where(np.eye(3)[codes] == 1, 0.8, 0.1))
        stack = learn_stack(np.array([prediction] * 5), codes, np.bincount(codes))
        assert 1 < stack.weights.sum() < 5
        assert stack.posterior([prediction] * 5).max() < 0.9999

    @pytest.mark.slow
    @examples(50)
    @given(opinions())
    def test_no_weight_is_negative(self, said):
        stack = learn_stack(*said, counts(said))
        assert (stack.weights >= 0).all()
        assert np.isfinite(stack.leaning).all()

    @examples(20)
    @given(opinions())
    def test_it_is_no_worse_than_equal_weights(self, said):
        predictions, codes = said
        nothing = np.zeros(predictions.shape[2])

        def loss(weights, leaning):
            proba = Stack(weights, leaning, nothing, nothing).posterior(predictions)
            return -np.log(proba[np.arange(len(codes)), codes]).mean()

        equal = np.full(len(predictions), 1 / len(predictions))
        assert loss(*stacking._pool(predictions, codes)) <= loss(equal, nothing) + 1e-9

    def test_a_member_that_knows_counts_for_more(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(2, size=300)
        said = rng.normal(size=(5, 300, 2))
        said[3, np.arange(300), codes] += 4.0
        weights = learn_stack(log_softmax(said, axis=2), codes, np.bincount(codes)).weights
        assert weights.argmax() == 3
        assert weights[3] > 2 * np.delete(weights, 3).max()

    def test_a_member_that_is_always_wrong_gets_no_weight(self):
        codes = np.arange(100) % 2
        right = np.log(np.where(np.eye(2)[codes] > 0, 0.8, 0.2))
        weights = learn_stack(np.array([right, right[:, ::-1]]), codes, np.bincount(codes)).weights
        assert weights[0] > weights[1]
        assert weights[1] == 0.0

    @examples(20)
    @given(opinions())
    def test_the_gradient_is_that_of_the_loss(self, said):
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stacking, "minimize", lambda loss, start, **_: seen.append((loss, start)) or Found(start))
            stacking._pool(*said)
        ((loss, start),) = seen
        at = start + 0.3 * np.random.default_rng(0).random(len(start))
        assert check_grad(lambda t: loss(t)[0], lambda t: loss(t)[1], at) < 1e-6

    def test_without_points_all_count_alike(self):
        stack = learn_stack(np.empty((4, 0, 3)), np.empty(0, dtype=int), np.ones(3, dtype=int))
        np.testing.assert_allclose(stack.weights, stack.weights[0])
        assert stack.leaning.tolist() == [0.0] * 3
        assert 0.0 < stack.background.min() <= stack.background.max() < 1.0

    @pytest.mark.slow
    @examples(50)
    @given(opinions())
    def test_probabilities_are_some_of_the_pool_and_some_of_the_classes(self, said):
        predictions, stack = said[0], learn_stack(*said, counts(said))
        proba = stack.posterior(predictions)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        # As one row of a matrix for each class: sure of class k, the pool is right with a chance of 1 - b + b s.
        pool = Stack(stack.weights, stack.leaning, np.zeros_like(stack.background), stack.class_share)
        matrix = np.diag(1.0 - stack.background) + stack.background[:, None] * stack.class_share
        np.testing.assert_allclose(proba, pool.posterior(predictions) @ matrix, rtol=1e-9, atol=1e-15)


class TestClaims:
    @pytest.mark.parametrize("n", [2, 4, 8, 16, 30, 60, 120])
    def test_no_label_is_surer_than_its_records_support(self, n):
        predictions, codes = claims(n)
        most = learn_stack(predictions, codes, np.bincount(codes)).posterior(20.0 * predictions).max()
        assert most <= 1.0 - 1.5 / (n + 3.0) + 1e-12
        assert most > 1.0 - 1.5 / (n + 3.0) - 0.35 / np.sqrt(n)

    def test_what_is_held_back_vanishes_with_the_number_of_records(self):
        predictions, codes = claims(4000)
        stack = learn_stack(predictions, codes, np.bincount(codes))
        assert stack.background.max() < 2e-3

    def test_three_records_of_a_class_do_not_support_a_label_of_it(self):
        predictions, codes = claims(400)
        rare = codes.copy()
        rare[np.flatnonzero(codes)[3:]] = 0
        predictions = np.where((rare == codes)[None, :, None], predictions, predictions[:, :, ::-1])
        stack = learn_stack(predictions, rare, np.bincount(rare))
        common, of_rare = (stack.posterior(20.0 * np.eye(2)[[k]][None].repeat(4, axis=0)).max() for k in (0, 1))
        assert of_rare <= 1.0 - 5.0**-1.5 + 1e-12
        assert common > 0.99

    @pytest.mark.parametrize("share_wrong", [0.05, 0.1, 0.2])
    def test_labels_that_are_wrong_now_and_then_are_held_back_as_often(self, share_wrong):
        predictions, codes = claims(500, share_wrong)
        trust = learn_stack(predictions, codes, np.bincount(codes)).posterior(predictions).max(axis=1)
        np.testing.assert_allclose(trust.mean(), 1.0 - share_wrong, atol=0.01)
        assert trust.max() < 1.0 - share_wrong + 0.05

    def test_weights_that_fit_chance_are_not_believed(self):
        rng = np.random.default_rng(3)
        codes = np.arange(60) % 2
        chance = log_softmax(2.0 * rng.normal(size=(16, 60, 2)), axis=2)
        stack = learn_stack(chance, codes, np.bincount(codes))
        others = log_softmax(2.0 * rng.normal(size=(16, 2000, 2)), axis=2)
        assert np.mean(stack.posterior(others).max(axis=1)) < 0.65


class Found:
    def __init__(self, x):
        self.x = x


def test_members_of_many_features_count_as_those_of_few():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=500), rng.normal(size=500)
    one = learn_strangeness(np.array([few, many]), np.zeros(500), np.array([250, 250]))
    two = learn_strangeness(np.array([few, 40 * many - 300]), np.zeros(500), np.array([250, 250]))
    np.testing.assert_allclose(one.calibration.held_out, two.calibration.held_out, rtol=1e-9, atol=1e-9)


def test_scores_of_the_records_left_out_are_theirs():
    rng = np.random.default_rng(1)
    logs, beyond = rng.normal(size=(3, 200)), np.maximum(rng.normal(size=200), 0.0)
    found = learn_strangeness(logs, beyond, np.array([100, 100]))
    np.testing.assert_allclose(np.sort(found.score(logs, beyond)), found.calibration.held_out, rtol=1e-12, atol=1e-12)


def test_a_value_beyond_all_training_records_makes_strange_the_farther_the_more():
    logs = np.random.default_rng(1).normal(size=(3, 200))
    found = learn_strangeness(logs, np.zeros(200), np.array([100, 100]))
    scores = found.score(np.repeat(np.median(logs, axis=1)[:, None], 4, axis=1), np.array([0.0, 1.0, 10.0, 1000.0]))
    assert (np.diff(scores) < 0).all()
    typicality = found.calibration.typicality(scores, np.empty((len(scores), 0)))
    assert typicality[0] > 0.4
    assert typicality[-1] < 0.01


def test_a_member_that_finds_the_same_density_everywhere_says_nothing():
    logs = np.array([np.zeros(50), np.linspace(0, 1, 50)])
    found = learn_strangeness(logs, np.zeros(50), np.array([25, 25]))
    assert np.isfinite(found.calibration.held_out).all()


def test_without_records_nothing_is_known():
    found = learn_strangeness(np.empty((2, 0)), np.empty(0), np.array([1, 1]))
    scores = found.score(np.zeros((2, 3)), np.zeros(3))
    assert np.isnan(found.calibration.typicality(scores, np.empty((len(scores), 0)))).all()
    assert found.calibration.background(scores).max() == 0.0


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    return SEPEnsembleClassifier(n_estimators=6).fit(X[::2], y[::2]), X[1::2], y[1::2]


class TestEnsemble:
    def test_ordinary_records_are_seldom_strange(self, wdbc):
        clf, X, _ = wdbc
        assert (clf.assess(X).reason == "strange").mean() < 0.03

    @pytest.mark.parametrize("factor", [0.0, 10.0, 1000.0])
    def test_records_in_other_units_are_refused(self, wdbc, factor):
        clf, X, _ = wdbc
        assert set(clf.assess(factor * X).refusals().tolist()) <= {"beyond", "strange", "contested", "trust"}

    @pytest.mark.slow
    def test_one_value_in_another_unit_is_enough_and_named(self, wdbc):
        clf, X, _ = wdbc
        spoilt = X[:20].copy()
        column = np.arange(20) % X.shape[1]
        spoilt[np.arange(20), column] = 1000.0 * X[:, column].max(axis=0)
        assert not clf.assess(spoilt).accepted().any()
        for x, j in zip(spoilt[:3], column[:3], strict=True):
            assert clf.explain(x).strangest_to[0] == f"x{j}"

    def test_along_rays_probabilities_end_at_the_shares_of_the_classes(self, wdbc):
        clf, X, _ = wdbc
        share = clf.class_count_ / clf.class_count_.sum()
        for direction in np.random.default_rng(0).normal(size=(5, X.shape[1])):
            far = X.mean(axis=0) + 1e8 * X.std(axis=0) * direction
            np.testing.assert_allclose(clf.predict_proba(far[None])[0], share, atol=1e-6)

    def test_stability_is_that_of_three_ensembles(self, wdbc):
        clf, X, _ = wdbc
        a = clf.assess(X)
        assert set(np.round(3 * a.stability, 9)) <= {0.0, 1.0, 2.0, 3.0}
        assert a.stability.mean() > 0.9

    @pytest.mark.slow
    def test_a_label_is_contested_where_another_has_a_third_of_the_probability(self):
        X, y = load_iris(return_X_y=True)
        clf = SEPEnsembleClassifier(n_estimators=3).fit(X[:, :2], y)
        a = clf.assess(X[:, :2])
        assert 0 < a.contested.sum() < len(a)
        assert np.array_equal(a.contested, np.sort(clf.predict_proba(X[:, :2]), axis=1)[:, -2] >= 1 / 3)
