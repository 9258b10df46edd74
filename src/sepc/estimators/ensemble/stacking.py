"""Stacking: weights of the members' opinions, learnt from points that they have not seen."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.calibrating import learn_calibration
from sepc.geometry.threads import one_blas_thread

# How strongly weights are drawn together, and the leanings to 0. From a tenth of it to five times as much the
# scoreboard hardly changes.
_DRAWN_TOGETHER = 0.02
_NO_LEANING = 0.01
# The sum of the weights is drawn to 1 as by this many points. Without it the weights of members that are right on all
# points would grow without end, and with them the certainty.
_DRAWN_TO_ONE = 1.0
# Points from which weights are learnt: more would not change them.
_MOST_POINTS = 20_000
_MOST_STEPS = 200
# Standard errors by which a background must lower the log loss: where it does not, it costs some of the ranking.
_CLEARLY = 2.0


@dataclass(frozen=True, eq=False, slots=True)
class Stack:
    """Weights of the members' log probabilities, and a leaning to each class.

    The log odds of one class against another are the weighted sum of what each member says of them, and the
    difference of the leanings: every member's part in a verdict can be named.

    Attributes
    ----------
    weights : ndarray of shape (n_members,)
        None negative.
    leaning : ndarray of shape (n_classes,)
    """

    weights: FloatArray
    leaning: FloatArray

    def posterior(self, opinions: Iterable[FloatArray]) -> FloatArray:
        """Return probabilities from the members' log probabilities, each of shape (n, n_classes)."""
        total: FloatArray = self.leaning
        for weight, opinion in zip(self.weights, opinions, strict=True):
            total = total + weight * opinion
        return np.asarray(softmax(total, axis=1))


def learn_stack(opinions: FloatArray, codes: IntArray) -> Stack:
    """Learn the weights under which the members' opinions foretell the classes best.

    Logistic regression with weights that are not negative, drawn to their mean, and their sum to 1.

    Parameters
    ----------
    opinions : ndarray of shape (n_members, n, n_classes)
        Log probabilities of points that the member has not seen.
    codes : ndarray of int, shape (n,)
        Their classes.

    Returns
    -------
    Stack
    """
    step = max(-(-len(codes) // _MOST_POINTS), 1)
    opinions, codes = opinions[:, ::step], codes[::step]
    n_members, n, n_classes = opinions.shape
    start = np.concatenate([np.full(n_members, 1.0 / n_members), np.zeros(n_classes)])
    if n == 0:  # nothing to learn from
        return Stack(start[:n_members], start[n_members:])
    is_class = np.eye(n_classes)[codes]

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        weights, leaning = theta[:n_members], theta[n_members:]
        total = np.tensordot(weights, opinions, axes=1) + leaning
        log_posterior = total - logsumexp(total, axis=1, keepdims=True)
        slope = (np.exp(log_posterior) - is_class) / n
        apart = weights - weights.mean()
        value = -np.sum(log_posterior * is_class) / n
        value += _DRAWN_TOGETHER * n_members * np.square(apart).sum() + _NO_LEANING * np.square(leaning).mean()
        excess = weights.sum() - 1.0
        value += _DRAWN_TO_ONE / n * excess**2
        of_weights = np.tensordot(opinions, slope, axes=2) + 2.0 * _DRAWN_TOGETHER * n_members * apart
        of_weights += 2.0 * _DRAWN_TO_ONE / n * excess
        return value, np.concatenate([of_weights, slope.sum(axis=0) + 2.0 * _NO_LEANING * leaning / n_classes])

    bounds = [(0.0, None)] * n_members + [(None, None)] * n_classes
    with one_blas_thread():
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MOST_STEPS}).x
    return Stack(found[:n_members], found[n_members:])


def sharpened(stack: Stack, opinions: FloatArray, codes: IntArray, class_count: IntArray) -> tuple[Stack, float]:
    """Return a stack beside a background that all labels have in common, and that background's share.

    Weighted opinions alone cannot tell labels that are mostly clear, and wrong now and then wherever records lie, from
    labels that are nowhere clear. With a background they can: weights may then be larger.

    Parameters
    ----------
    stack : Stack
    opinions, codes
        As for `learn_stack`.
    class_count : ndarray of int, shape (n_classes,)
        Of all training points.

    Returns
    -------
    Stack
    unexplained : float
    """
    if not len(codes):
        return stack, 0.0
    proba, own = stack.posterior(opinions), (np.arange(len(codes)), codes)
    learnt = learn_calibration(np.log(proba), codes, class_count)
    gains = np.log(learnt.posterior(np.log(proba))[own]) - np.log(proba[own])
    if gains.sum() <= _CLEARLY * np.sqrt(len(gains)) * gains.std():
        return stack, 0.0
    weights, leaning = stack.weights / learnt.temperature, stack.leaning / learnt.temperature + learnt.correction
    return Stack(weights, leaning), learnt.unexplained
