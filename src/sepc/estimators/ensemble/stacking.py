"""Stacking: weights of the members' predictions, and how strange points are to all, learnt out of fold.

Strangeness: each member has a density at a point in its own features. The mean over members of the log densities, each
in units of its spread among held-out records, is one score. A value far beyond all training records concerns only the
few members with that feature, and half of these see its rank alone; so the farthest such value counts on its own.
Far away from everything the probabilities go back to the shares of the classes, as for one partition.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.calibrating import learn_calibration
from sepc.estimators.ensemble.constants import (
    BEYOND_PENALTY,
    CLEARLY,
    LEANING_PENALTY,
    STRANGE_TO_MEDIAN,
    SUM_PENALTY,
    WEIGHT_PENALTY,
)
from sepc.geometry.threads import one_blas_thread
from sepc.model.calibration import NOWHERE, Calibration, strange_below
from sepc.model.constants import BELOW_STRANGE


@dataclass(frozen=True, eq=False, slots=True)
class Stack:
    """Weights of the members' log probabilities, none negative, and a leaning to each class.

    The log odds of one class against another are the weighted sum of the members' log odds and the difference of the
    leanings: a logarithmic opinion pool, in which every member's contribution to a label can be named.
    """

    weights: FloatArray
    leaning: FloatArray

    def posterior(self, predictions: Iterable[FloatArray]) -> FloatArray:
        """Return probabilities from the members' log probabilities, each of shape (n, n_classes)."""
        total: FloatArray = self.leaning
        for weight, prediction in zip(self.weights, predictions, strict=True):
            total = total + weight * prediction
        return np.asarray(softmax(total, axis=1))


def learn_stack(predictions: FloatArray, codes: IntArray) -> Stack:
    """Learn the weights of out-of-fold log probabilities, shape (n_members, n, n_classes), with the least log loss.

    Logistic regression with weights that are not negative, drawn to their mean, and their sum to 1. `codes`, shape
    (n,), are the true classes.
    """
    step = max(-(-len(codes) // 20_000), 1)  # more points would not change the weights
    predictions, codes = predictions[:, ::step], codes[::step]
    n_members, n, n_classes = predictions.shape
    start = np.concatenate([np.full(n_members, 1.0 / n_members), np.zeros(n_classes)])
    if n == 0:  # nothing to learn from
        return Stack(start[:n_members], start[n_members:])
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
    with one_blas_thread():
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
    return Stack(found[:n_members], found[n_members:])


def sharpened(stack: Stack, predictions: FloatArray, codes: IntArray, class_count: IntArray) -> tuple[Stack, float]:
    """Return a stack beside a background component that all labels share, and that component's weight.

    Without it, labels that are mostly clear, and wrong now and then wherever records lie, look like labels that are
    nowhere clear; with it the weights may be larger. `class_count` are numbers of all training points.
    """
    if not len(codes):
        return stack, 0.0
    proba, own = stack.posterior(predictions), (np.arange(len(codes)), codes)
    learnt = learn_calibration(np.log(proba), codes, class_count)
    gains = np.log(learnt.posterior(np.log(proba))[own]) - np.log(proba[own])
    if gains.sum() <= CLEARLY * np.sqrt(len(gains)) * gains.std():
        return stack, 0.0
    weights, leaning = stack.weights / learnt.temperature, stack.leaning / learnt.temperature + learnt.correction
    return Stack(weights, leaning), learnt.unexplained


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


def learn_strangeness(
    log_densities: FloatArray, beyond: FloatArray, class_count: IntArray, unexplained: float = 0.0
) -> Strangeness:
    """Learn how strange ordinary points are from out-of-fold log densities, shape (n_members, n); n may be 0.

    `beyond` is as in `Strangeness.score`, 0 but for records that the range of the training points was not taken from;
    `unexplained` is the share of the background component everywhere.
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
    return Strangeness(middle, spread, Calibration(1.0, np.zeros(len(share)), unexplained, level, share, scores))


def _by_members(log_densities: FloatArray, middle: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of all members' densities, each in its own spread, shape (n,)."""
    return np.asarray(((log_densities - middle[:, None]) / spread[:, None]).mean(axis=0))
