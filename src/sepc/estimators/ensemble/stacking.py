"""Stacking: weights of the members' predictions, and how strange points are to all, learnt out of fold.

The weights are learnt on the same predictions that show how good they are, so they claim too much: of 8 records all may
be right by chance, and where labels are wrong now and then no weights alone can be calibrated. So a part of the
probability goes to the shares of the classes, as much as makes every label wrong with a probability e. It is learnt
together with a temperature on cross-fitted predictions: those of each fifth of the records, by weights that were
learnt on the others. In any case e is at least ``a / (n + 2 a)``, the mean error rate after n records without an error,
where a records with an error and a without one stand for what is known beforehand, and at least ``(m + 2) ** -1.5`` for
a label with m records.

Strangeness: each member has a density at a point in its own features. The mean over members of the log densities, each
in units of its spread among held-out records, is one score. A value far beyond all training records concerns only the
few members with that feature, and half of these see its rank alone; so the farthest such value counts on its own.
Far away from everything the probabilities go back to the shares of the classes, as for one partition.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.constants import TEMPERATURE_PENALTY, UNEXPLAINED
from sepc.estimators.ensemble.constants import (
    BEYOND_PENALTY,
    CROSS_FITS,
    EXPLAINED,
    FEW_OF_CLASS,
    LEANING_PENALTY,
    RECORDS_BEFOREHAND,
    STRANGE_TO_MEDIAN,
    SUM_PENALTY,
    WEIGHT_PENALTY,
)
from sepc.geometry.threads import one_blas_thread
from sepc.model.calibration import NOWHERE, Calibration, strange_below
from sepc.model.constants import BELOW_STRANGE


@dataclass(frozen=True, eq=False, slots=True)
class Stack:
    """Weights of the members' log probabilities, none negative, a leaning to each class, and a background component.

    The log odds of one class against another are the weighted sum of the members' log odds and the difference of the
    leanings: a logarithmic opinion pool, in which every member's contribution to a label can be named. With its
    probabilities q, those of the stack are ``p[k] = (1 - b[k]) q[k] + (b @ q) s[k]``, where s are the shares of the
    classes.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
    leaning : ndarray of shape (n_classes,)
    background : ndarray of shape (n_classes,)
        Shares b of the background component where the pool is sure of each class.
    class_share : ndarray of shape (n_classes,)
        Probabilities s in the background component.
    """

    weights: FloatArray
    leaning: FloatArray
    background: FloatArray
    class_share: FloatArray

    def posterior(self, predictions: Iterable[FloatArray]) -> FloatArray:
        """Return probabilities from the members' log probabilities, each of shape (n, n_classes)."""
        total: FloatArray = self.leaning
        for weight, prediction in zip(self.weights, predictions, strict=True):
            total = total + weight * prediction
        return _with_background(softmax(total, axis=1), self.background, self.class_share)


def learn_stack(predictions: FloatArray, codes: IntArray, class_count: IntArray) -> Stack:
    """Learn a stack of out-of-fold log probabilities, shape (n_members, n, n_classes).

    `codes`, shape (n,), are the true classes; `class_count`, shape (n_classes,), numbers of all training points.
    """
    step = max(-(-len(codes) // 20_000), 1)  # more points would not change the weights
    predictions, codes = predictions[:, ::step], codes[::step]
    share, nothing = class_count / class_count.sum(), np.zeros(len(class_count))
    cross_fitted, fold = np.empty(predictions.shape[1:]), _folds(codes)
    with one_blas_thread():
        weights, leaning = _pool(predictions, codes)
        for k in np.unique(fold):
            out = fold == k
            of_others = Stack(*_pool(predictions[:, ~out], codes[~out]), nothing, share)
            cross_fitted[out] = np.log(of_others.posterior(predictions[:, out]))
        temperature, error = _temperature_and_error(cross_fitted, codes, class_count)
    of_class = np.maximum(error, (class_count + 2.0) ** -FEW_OF_CLASS)
    return Stack(weights / temperature, leaning / temperature, _background(of_class, share), share)


def _pool(predictions: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return weights and leanings with the least log loss.

    Logistic regression with weights that are not negative, drawn to their mean, and their sum to 1.
    """
    n_members, n, n_classes = predictions.shape
    start = np.concatenate([np.full(n_members, 1.0 / n_members), np.zeros(n_classes)])
    if n == 0:  # nothing to learn from
        return start[:n_members], start[n_members:]
    is_class = np.eye(n_classes)[codes]

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        weights, leaning = theta[:n_members], theta[n_members:]
        total = np.tensordot(weights, predictions, axes=1) + leaning
        log_posterior = total - logsumexp(total, axis=1, keepdims=True)
        slope = (np.exp(log_posterior) - is_class) / n
        apart = weights - weights.mean()
        value = -np.sum(log_posterior * is_class) / n
        value += WEIGHT_PENALTY * n_members * np.square(apart).sum() + LEANING_PENALTY * np.square(leaning).mean()
        excess = weights.sum() - 1.0
        value += SUM_PENALTY / n * excess**2
        of_weights = np.tensordot(predictions, slope, axes=2) + 2.0 * WEIGHT_PENALTY * n_members * apart
        of_weights += 2.0 * SUM_PENALTY / n * excess
        return value, np.concatenate([of_weights, slope.sum(axis=0) + 2.0 * LEANING_PENALTY * leaning / n_classes])

    bounds = [(0.0, None)] * n_members + [(None, None)] * n_classes
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
    return found[:n_members], found[n_members:]


def _folds(codes: IntArray) -> IntArray:
    """Return the fold of each record, with about the same number of each class in all of them."""
    fold = np.empty(len(codes), dtype=np.int64)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % CROSS_FITS
    return fold


def _temperature_and_error(log_proba: FloatArray, codes: IntArray, class_count: IntArray) -> tuple[float, float]:
    """Learn a temperature and the least probability that a label is wrong, by cross-fitted log probabilities.

    Those of the least log loss; the error is at most a half, beta distributed beforehand, the log temperature normal.
    """
    n, own = class_count.sum(), (np.arange(len(codes)), codes)
    share, floor = class_count / n, RECORDS_BEFOREHAND / (n + 2.0 * RECORDS_BEFOREHAND)

    def loss(theta: FloatArray) -> float:
        proba, doubled = softmax(log_proba * np.exp(-theta[0]), axis=1), float(expit(theta[1]))
        right = _with_background(proba, _background(0.5 * doubled, share), share)[own]
        prior = UNEXPLAINED * np.log(doubled) + EXPLAINED * np.log1p(-doubled) - TEMPERATURE_PENALTY * theta[0] ** 2
        return -float(np.log(right).sum() + prior)

    bounds = [(-1.0, 2.0), (-9.0, 2.0)]
    # Above the share of a rare class an error changes nothing for the others: from there no slope leads down.
    found = (minimize(loss, start, method="L-BFGS-B", bounds=bounds) for start in ([0.0, -6.0], [0.0, -2.0]))
    log_temperature, logit = min(found, key=attrgetter("fun")).x.tolist()
    return float(np.exp(log_temperature)), max(0.5 * float(expit(logit)), floor)


def _background(error: FloatArray | float, class_share: FloatArray) -> FloatArray:
    """Return the shares of the background component that make labels wrong with this probability, (n_classes,).

    No label is wrong more often than by the shares of the classes alone.
    """
    return np.minimum(error / (1.0 - class_share), 1.0)


def _with_background(proba: FloatArray, background: FloatArray, class_share: FloatArray) -> FloatArray:
    """Return probabilities, shape (n, n_classes), with the background's share, as in `Stack`."""
    lost = proba * background
    return np.asarray(proba - lost + lost.sum(axis=1, keepdims=True) * class_share)


@dataclass(frozen=True, eq=False, slots=True)
class Strangeness:
    """Scores of how strange points are: members' log densities, centred and scaled by those out of fold.

    `middle` and `spread` have shape (n_members,). The calibration is by the scores of held-out records; its temperature
    is 1, since the members' weights are learnt.
    """

    middle: FloatArray
    spread: FloatArray
    calibration: Calibration

    def score(self, log_densities: FloatArray, beyond: FloatArray) -> FloatArray:
        """Return the scores of points, large for ordinary ones, shape (n,).

        `beyond`, shape (n,), is how far the farthest value of each lies beyond the training points, in standard
        deviations.
        """
        return _by_members(log_densities, self.middle, self.spread) - BEYOND_PENALTY * np.log1p(beyond)


def learn_strangeness(log_densities: FloatArray, beyond: FloatArray, class_count: IntArray) -> Strangeness:
    """Learn how strange ordinary points are from out-of-fold log densities, shape (n_members, n); n may be 0.

    `beyond` is as in `Strangeness.score`, 0 but for records that the range of the training points was not taken from.
    """
    share, n_members = class_count / class_count.sum(), len(log_densities)
    if not log_densities.shape[1]:
        nothing = Calibration(1.0, np.zeros(len(share)), 0.0, NOWHERE, share, np.empty(0))
        return Strangeness(np.zeros(n_members), np.ones(n_members), nothing)
    middle = np.median(log_densities, axis=1)
    spread = np.median(np.abs(log_densities - middle[:, None]), axis=1)
    spread = np.where(spread > 0.0, spread, 1.0)
    scores = np.sort(_by_members(log_densities, middle, spread))
    width = float(np.median(scores)) - strange_below(scores)
    spread *= width / STRANGE_TO_MEDIAN if width > 0.0 else 1.0
    scores = np.sort(_by_members(log_densities, middle, spread) - BEYOND_PENALTY * np.log1p(beyond))
    level = strange_below(scores) - BELOW_STRANGE
    return Strangeness(middle, spread, Calibration(1.0, np.zeros(len(share)), 0.0, level, share, scores))


def _by_members(log_densities: FloatArray, middle: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of all members' densities, each in its own spread, shape (n,)."""
    return np.asarray(((log_densities - middle[:, None]) / spread[:, None]).mean(axis=0))
