"""Calibration: temperature, corrections, background and typicality, by what records that were left out say."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from strategies import decimals, examples

from sepc.estimators.calibrating import _Loss, learn_calibration
from sepc.model.calibration import STRANGE, Calibration, LinearTerms, log_density, strange_below


def sure_of(n, n_classes, share_right, sharpness, rng):
    """Return joint densities that are as sharp as asked for, and classes of which a share is the likeliest."""
    joint = sharpness * rng.normal(size=(n, n_classes)) - rng.exponential(3.0, size=(n, 1))
    likeliest = joint.argmax(axis=1)
    codes = np.where(rng.random(n) < share_right, likeliest, rng.integers(n_classes, size=n))
    return joint, codes


@st.composite
def joint_densities(draw, n_classes):
    """Return logarithms of joint densities, sharp or not, and classes of which most are the likeliest."""
    n = draw(st.integers(1, 40))
    joint = draw(st.sampled_from([0.1, 1.0, 4.0])) * draw(decimals((n, n_classes), 300))
    joint -= np.abs(draw(decimals((n, 1))))
    right = draw(arrays(bool, n, elements=st.sampled_from([True, True, True, False])))
    return joint, np.where(
        right, joint.argmax(axis=1), draw(arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    )


@examples(30)
@given(joint_densities(3))
def test_gradient_and_hessian_of_the_loss_are_its_differences(data):
    (joint, codes), rng = data, np.random.default_rng(0)
    n = len(codes)
    loss = _Loss(joint, codes, np.array([0.5, 0.3, 0.2]), rng.random(n) ** 4, rng.random(n))
    at = np.array([rng.uniform(-1, 3), rng.uniform(-8, 1), *rng.normal(size=3)])
    steps = 1e-6 * np.eye(5)
    found = [(loss(at + step)[0] - loss(at - step)[0]) / 2e-6 for step in steps]
    _, gradient, hessian = loss(at)
    np.testing.assert_allclose(gradient, found, rtol=1e-4, atol=1e-4)
    found = [(loss(at + step)[1] - loss(at - step)[1]) / 2e-6 for step in steps]
    np.testing.assert_allclose(hessian, found, rtol=1e-4, atol=1e-4)


@examples(30)
@given(joint_densities(3))
def test_the_loss_is_that_of_the_probabilities_that_a_calibration_gives(data):
    (joint, codes), rng = data, np.random.default_rng(0)
    known, share, level = rng.random(len(codes)), np.array([0.5, 0.3, 0.2]), float(rng.normal(-3.0, 3.0))
    loss = _Loss(joint, codes, share, expit(level - log_density(joint)), known)
    at = np.array([rng.uniform(-1, 3), rng.uniform(-8, 1), *rng.normal(size=3)])
    judged = np.isin(np.arange(3), codes)  # a class without records is not corrected
    unexplained, correction = float(expit(at[1])), np.where(judged, at[2:] - at[2:][judged].mean(), 0.0)
    calibration = Calibration(float(np.exp(at[0])), correction, unexplained, level, share, np.empty(0))
    losses = -np.log(calibration.posterior(joint, known)[np.arange(len(codes)), codes])
    drawn = at[0] ** 2 - 0.5 * np.log(unexplained) + 3.0 * correction @ correction
    assert loss(at)[0] == pytest.approx(losses.sum() + drawn, rel=1e-9)


@examples(20)
@given(joint_densities(2))
def test_nothing_nearby_has_less_loss(data):
    (joint, codes), rng = data, np.random.default_rng(0)
    found = learn_calibration(joint, codes, np.bincount(codes, minlength=2))
    far = 1.0 / (1.0 + np.exp(log_density(joint) - found.level))
    loss = _Loss(joint, codes, found.class_share, far)
    at = np.array([np.log(found.temperature), np.log(found.unexplained / (1 - found.unexplained)), *found.correction])
    around = at + 0.05 * rng.normal(size=(20, 4))
    around = np.clip(around, [-1.0, -12.0, -10.0, -10.0], [6.0, 2.0, 10.0, 10.0])
    assert loss(at)[0] <= min(loss(theta)[0] for theta in around) + 1e-9


# Steps to the bound of the background's share.
AT_A_BOUND = np.array([[0.0] * 4] * 6 + [[0.001, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.001]]), np.array([0] * 7 + [3])


@examples(30)
@given(st.integers(2, 4).flatmap(joint_densities))
@example(AT_A_BOUND)
def test_the_minimum_is_that_of_a_general_solver_and_does_not_depend_on_the_order_of_records(data):
    (joint, codes), rng, n_classes = data, np.random.default_rng(0), data[0].shape[1]
    count = np.bincount(codes, minlength=n_classes) + 1
    found = learn_calibration(joint, codes, count)
    loss = _Loss(joint, codes, found.class_share, expit(found.level - log_density(joint)))
    bounds = [(-1.0, 6.0), (-12.0, 2.0), *[(-10.0, 10.0)] * n_classes]
    start = [0.5, -4.0, *np.zeros(n_classes)]
    general = minimize(lambda theta: loss(theta)[:2], start, jac=True, method="L-BFGS-B", bounds=bounds)
    at = np.array([np.log(found.temperature), logit(found.unexplained), *found.correction])
    assert loss(at)[0] <= general.fun + 1e-7
    order = rng.permutation(len(codes))
    again = learn_calibration(joint[order], codes[order], count)
    np.testing.assert_allclose(again.posterior(joint), found.posterior(joint), rtol=0.0, atol=1e-11)


class TestTemperature:
    @pytest.mark.parametrize("too_sure", [1.0, 3.0, 10.0])
    def test_it_is_what_the_odds_were_multiplied_by(self, too_sure):
        rng = np.random.default_rng(1)
        true = 2.0 * rng.normal(size=(20_000, 3))
        codes = (softmax(true, axis=1).cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
        found = learn_calibration(too_sure * true, codes, np.bincount(codes))
        assert found.temperature == pytest.approx(too_sure, rel=0.1)
        assert found.unexplained < 0.05

    def test_labels_at_random_are_the_background_s(self):
        rng = np.random.default_rng(2)
        joint = 5.0 * rng.normal(size=(3000, 2))
        codes = (rng.random(3000) < 0.3).astype(int)
        found = learn_calibration(joint, codes, np.bincount(codes))
        np.testing.assert_allclose(found.posterior(joint), np.tile([0.7, 0.3], (3000, 1)), atol=0.1)

    def test_few_records_that_are_all_right_leave_doubt(self):
        trust = []
        for n in (6, 60, 600):
            codes = np.arange(n) % 2
            joint = np.where(np.eye(2)[codes] > 0, 0.0, -30.0) - np.linspace(0, 1, n)[:, None]
            trust.append(learn_calibration(joint, codes, np.bincount(codes)).posterior(joint).max())
        assert trust == sorted(trust)
        assert 0.8 < trust[0] < 0.95 < trust[1] < 0.995 < trust[2] < 1.0

    def test_without_records_nothing_is_sure(self):
        found = learn_calibration(np.empty((0, 2)), np.empty(0, dtype=int), np.array([3, 1]))
        assert found.posterior(np.array([[0.0, -100.0]])).max() < 0.9
        assert np.isnan(found.typicality(np.zeros(2), np.empty((2, 0)))).all()


class TestCorrection:
    @staticmethod
    def leaning(n, by):
        """Return joint densities that favour the first class by some log odds too much, and true classes."""
        rng = np.random.default_rng(4)
        true = 2.0 * rng.normal(size=(n, 2)) + np.log([0.7, 0.3])
        codes = (softmax(true, axis=1)[:, 0] < rng.random(n)).astype(int)
        return true + np.array([by, 0.0]), codes

    def test_it_takes_back_what_one_label_was_favoured_by(self):
        joint, codes = self.leaning(20_000, 1.5)
        found = learn_calibration(joint, codes, np.bincount(codes))
        assert found.correction[1] - found.correction[0] == pytest.approx(1.5, abs=0.1)
        assert found.correction.sum() == pytest.approx(0.0, abs=1e-3)  # what all labels get changes nothing
        assert found.temperature == pytest.approx(1.0, abs=0.1)

    def test_probabilities_are_right_where_classes_are_rarer_than_in_training(self):
        joint, codes = self.leaning(40_000, 1.5)
        found = learn_calibration(joint[:20_000], codes[:20_000], np.bincount(codes[:20_000]))
        rest, truth = joint[20_000:], codes[20_000:]
        rare = np.flatnonzero((truth == 0) | (np.arange(20_000) % 10 == 0))  # one in ten of the second class
        shift = np.array([1.0, 0.1])
        proba = found.posterior(rest[rare]) * shift
        proba /= proba.sum(axis=1, keepdims=True)
        for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 1.0)):
            some = (proba[:, 1] >= low) & (proba[:, 1] < high)
            assert proba[some, 1].mean() == pytest.approx(truth[rare][some].mean(), abs=0.03)

    def test_few_records_correct_little(self):
        joint, codes = self.leaning(12, 1.5)
        found = learn_calibration(joint, codes, np.bincount(codes))
        assert 0.0 < np.ptp(found.correction) < 1.0

    def test_a_class_that_was_never_left_out_is_not_corrected_away(self):
        joint, codes = self.leaning(2000, 1.5)
        never = np.column_stack([joint, joint.max(axis=1) - 1.0])
        found = learn_calibration(never, codes, np.array([1400, 600, 500]))
        assert found.correction[2] == 0.0
        assert found.correction[1] > 0.5
        assert found.correction.sum() == pytest.approx(0.0, abs=1e-8)
        alone = codes == 0
        assert not learn_calibration(joint[alone], codes[alone], np.array([1400, 600])).correction.any()

    def test_a_record_without_values_is_not_corrected(self):
        joint, codes = self.leaning(2000, 1.5)
        found = learn_calibration(joint, codes, np.bincount(codes))
        nothing = np.log(found.class_share)[None]
        np.testing.assert_allclose(found.posterior(nothing, np.zeros(1))[0], found.class_share, rtol=1e-12)
        np.testing.assert_allclose(found.by_regions(nothing, np.zeros(1))[0], found.class_share, rtol=1e-12)
        half = found.correction_at(np.array([0.5, 1.0]))
        np.testing.assert_allclose(half, [0.5 * found.correction, found.correction])


@examples(30)
@given(joint_densities(3))
def test_probabilities_sum_to_1_and_far_away_they_are_the_shares(data):
    joint, codes = data
    count = np.bincount(codes, minlength=3) + 1
    found = learn_calibration(joint, codes, count)
    proba = found.posterior(joint)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (proba > 0).all()
    far = found.posterior(joint - 1e4)
    np.testing.assert_allclose(far, np.tile(count / count.sum(), (len(codes), 1)), rtol=1e-9)


class TestTypicality:
    def test_it_is_the_share_of_records_at_least_as_strange(self):
        rng = np.random.default_rng(0)
        joint, codes = sure_of(300, 2, 0.9, 3.0, rng)
        found = learn_calibration(joint, codes, np.bincount(codes))
        asked = log_density(joint[:50]) + rng.normal(size=50)
        counted = [(log_density(joint) <= value).mean() for value in asked]
        assert found.typicality(asked, np.empty((len(asked), 0))).tolist() == counted

    def test_the_least_score_of_a_typicality_is_the_lowest_that_has_it(self):
        rng = np.random.default_rng(0)
        joint, codes = sure_of(300, 2, 0.9, 3.0, rng)
        found = learn_calibration(joint, codes, np.bincount(codes))
        for typicality in (0.01, 0.1, 1.0 / 3.0, 0.5, 0.99):
            least = found.least_score(typicality)
            at, below = found.typicality(np.array([least, np.nextafter(least, -np.inf)]), np.empty((2, 0)))
            assert at >= typicality > below
        assert found.least_score(0.0) == -np.inf

    @pytest.mark.parametrize("n", [100, 150, 1000])
    def test_about_one_in_a_hundred_of_new_records_is_strange(self, n):
        rng = np.random.default_rng(n)
        strange = []
        for _ in range(40):
            joint = rng.standard_t(2, size=(n, 1)) + np.log([[0.6, 0.4]])
            found = learn_calibration(joint, np.arange(n) % 2, np.array([n, n]))
            new = log_density(rng.standard_t(2, size=(1000, 1)) + np.log([[0.6, 0.4]]))
            strange.append((found.typicality(new, np.empty((len(new), 0))) < STRANGE).mean())
        assert np.mean(strange) == pytest.approx(STRANGE, abs=0.004)

    def test_a_point_is_strange_below_the_limit(self):
        scores = np.sort(np.random.default_rng(3).normal(size=1000))
        limit = strange_below(scores)
        assert np.mean(scores < limit) == STRANGE


@examples(20)
@given(joint_densities(3))
def test_slopes_of_the_loss_by_linear_terms_are_its_differences(data):
    (joint, codes), rng = data, np.random.default_rng(0)
    n = len(codes)
    loss = _Loss(joint, codes, np.array([0.5, 0.3, 0.2]), rng.random(n) ** 4, rng.random(n))
    at, linear = np.array([rng.uniform(-1, 3), rng.uniform(-8, 1), *rng.normal(size=3)]), rng.normal(size=(n, 3))
    value, *_, by_odds = loss.with_linear(at, linear)
    away = 1e-6 * rng.normal(size=linear.shape)
    found = loss.with_linear(at, linear + away)[0] - loss.with_linear(at, linear - away)[0]
    assert 2.0 * (by_odds * away).sum() == pytest.approx(found, rel=1e-3, abs=1e-7 * abs(value))


class TestLinearTerms:
    def drawn(self, slopes, n=2000, seed=0):
        """Return log joint densities, points and classes with these linear terms in the log odds."""
        rng = np.random.default_rng(seed)
        joint, points = 0.5 * rng.normal(size=(n, slopes.shape[1])), rng.normal(size=(n, len(slopes)))
        proba = softmax(joint + points @ slopes, axis=1)
        return joint, points, (rng.random(n)[:, None] > proba.cumsum(axis=1)).sum(axis=1)

    def test_they_are_what_the_densities_have_lost(self):
        slopes = np.array([[1.0, -0.5, -0.5], [0.0, 0.4, -0.4], [0.0, 0.0, 0.0]])
        joint, points, codes = self.drawn(slopes, 6000)
        found = learn_calibration(joint, codes, np.bincount(codes), 1.0, points)
        np.testing.assert_allclose(found.linear.slopes, slopes, rtol=0.0, atol=0.1)
        assert found.temperature == pytest.approx(1.0, abs=0.2)

    def test_they_are_at_the_minimum_of_the_penalised_loss(self):
        joint, points, codes = self.drawn(np.array([[0.8, -0.8], [-0.3, 0.3]]), 300)
        found = learn_calibration(joint, codes, np.bincount(codes), 1.0, points)
        loss = _Loss(joint, codes, found.class_share, expit(found.level - log_density(joint)))
        at = np.array([np.log(found.temperature), logit(found.unexplained), *found.correction])

        def penalised(slopes):
            terms = LinearTerms(slopes, found.linear.low, found.linear.high)
            return loss.with_linear(at, terms.log_odds(points))[0] + 8.0 * np.square(slopes).sum()

        rng, least = np.random.default_rng(0), penalised(found.linear.slopes)
        for _ in range(20):
            away = 0.05 * rng.normal(size=(2, 1)) * [1.0, -1.0]
            assert penalised(found.linear.slopes + away) > least

    @pytest.mark.parametrize("n", [3, 30, 2000])
    def test_where_densities_have_it_all_there_are_none_and_nothing_else_changes(self, n):
        kept = 0
        for seed in range(8):
            joint, points, codes = self.drawn(np.zeros((5, 2)), n, seed)
            without = learn_calibration(joint, codes, np.bincount(codes, minlength=2) + 1)
            found = learn_calibration(joint, codes, np.bincount(codes, minlength=2) + 1, 1.0, points)
            if found.linear is not None:
                kept += 1
                continue
            assert (found.temperature, found.unexplained) == (without.temperature, without.unexplained)
            assert np.array_equal(found.correction, without.correction)
        assert kept <= 4

    def test_far_away_they_are_those_of_the_ends_and_where_values_are_missing_none(self):
        terms = LinearTerms(np.array([[1.0, -1.0], [0.5, -0.5]]), np.array([-2.0, -1.0]), np.array([1.0, 3.0]))
        points = np.array([[1e300, np.nan], [-np.inf, 3.0], [0.5, 9.0]])
        np.testing.assert_array_equal(terms.log_odds(points), [[1.0, -1.0], [-0.5, 0.5], [2.0, -2.0]])
        np.testing.assert_array_equal(
            terms.by_feature(points, np.array([0, 0, 1]), np.array([1, 1, 0])), [[2.0, 0.0], [-4.0, 3.0], [-1.0, -3.0]]
        )

    def test_a_class_without_held_out_records_has_none(self):
        joint, points, codes = self.drawn(np.array([[1.0, -1.0]]), 400)
        joint = np.column_stack([joint, joint.min(axis=1) - 1.0])
        found = learn_calibration(joint, codes, np.array([200, 200, 2]), 1.0, points)
        assert not found.linear.slopes[:, 2].any()
        assert found.linear.slopes[0, 0] > 0.5
