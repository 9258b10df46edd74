"""Calibration of densities: its parameters are those of the least log loss on held-out records.

Linear terms of the features, see `model.calibration.LinearTerms`, have slopes B in

    log odds = log odds of the densities / temperature + corrections + x B,

where x is clipped to the range of the held-out records and to `REACH` standard deviations. All parameters are learnt
together, with the penalty ``p |B|^2 / 2`` for each p of `LINEAR_PENALTIES`. The loss of new records is about that of
the n held-out ones and ``m n / (n - m)``, with the effective number m of slopes: Akaike's criterion, corrected for few
records. m is the sum of ``e / (e + p)`` over the eigenvalues e of the curvature of the loss by B (Hastie, Tibshirani
and Friedman, The Elements of Statistical Learning, 7.6). The penalty with the least of these is taken, if it is less
than without B by more than half a standard error of the difference. Cross-validation among the held-out records would
be far too pessimistic: the densities that judge two of the parts have seen the labels of the third, so that their
errors are the mirror images of its own.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.constants import (
    BEFOREHAND,
    CORRECTION_PENALTY,
    ENOUGH,
    FEW_RECORDS,
    LEAST_GAIN,
    LINEAR_PENALTIES,
    REACH,
    TEMPERATURE_PENALTY,
    UNEXPLAINED,
)
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.threads import one_blas_thread
from sepc.model.calibration import NOWHERE, Calibration, LinearTerms, log_density, strange_below
from sepc.model.constants import BELOW_STRANGE, MOST_CORRECTION

# Bounds of log temperature and logit: a set where every record is right would give a temperature of 0.
_LOW, _HIGH = (-3.0, -12.0), (6.0, 2.0)


def learn_calibration(
    joint: FloatArray,
    codes: IntArray,
    class_count: IntArray,
    known: FloatArray | float = 1.0,
    points: FloatArray | None = None,
) -> Calibration:
    """Learn temperature, background component and corrections of classes on held-out records.

    With their features, `points`, also learn linear terms of these, if the records show that they help.

    Parameters
    ----------
    joint : ndarray of shape (n, n_classes)
        Log of each class's prior times its density at held-out records; n may be 0.
    codes : ndarray of int, shape (n,)
    class_count : ndarray of int, shape (n_classes,)
        Numbers of training records.
    known : ndarray of shape (n,), default=1
        Shares of the features that are known.
    points : ndarray of shape (n, d), optional
        Standardised, NaN where a value is missing.
    """
    share = class_count / class_count.sum()
    if not len(codes):
        return Calibration(1.0, np.zeros(len(share)), 0.5, NOWHERE, share, np.empty(0))
    densities = log_density(joint)
    # Seven digits serve as well for typicality, and take half of the room in a file.
    held_out = np.sort(densities).astype(np.float32).astype(np.float64)
    level = strange_below(held_out) - BELOW_STRANGE
    loss = _Loss(joint, codes, share, expit(level - densities), known)
    bounds = _bounds(len(codes), share)
    with one_blas_thread():
        theta = _minimum(loss, *bounds)
        found = _calibration(loss.projection @ theta, level, share, held_out)
        if points is None:
            return found
        richer = [
            (replace(_calibration(at, level, share, held_out), linear=linear), optimism)
            for at, linear, optimism in _with_linear_terms(loss, theta, np.column_stack(bounds), points)
        ]

    def losses(one: Calibration) -> FloatArray:
        return np.asarray(-np.log(one.posterior(joint, known, points)[np.arange(len(codes)), codes]))

    before = losses(found)
    by_penalty = [(before - losses(one), optimism, one) for one, optimism in richer]
    gains, optimism, best = max(by_penalty, key=lambda one: one[0].sum() - one[1])
    return best if gains.sum() - optimism > LEAST_GAIN * np.sqrt(len(gains)) * gains.std() else found


def _bounds(n: int, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest log temperature and logit of the background's share, by n held-out records.

    A few records cannot show that densities are far from sure enough, nor that labels are hardly ever wrong: each is
    wrong with a probability of at least ``BEFOREHAND / (n + 2 * BEFOREHAND)``, times ``ENOUGH / n`` from there on. The
    background is right as often as the largest class is; more than half of a label it never is, or it would decide.
    """
    least_log_temperature = max(-1.0 - np.log(max(n / FEW_RECORDS, 1.0)), _LOW[0])
    least_error = BEFOREHAND / (n + 2.0 * BEFOREHAND) * min(1.0, ENOUGH / n)
    least_share = min(least_error / max(1.0 - share.max(), least_error), 0.5)
    return np.array([least_log_temperature, max(_LOW[1], float(logit(least_share)))]), np.array(_HIGH)


def _calibration(theta: FloatArray, level: float, share: FloatArray, held_out: FloatArray) -> Calibration:
    """Return the calibration with these parameters, in the order of `_Loss`."""
    # Without the last bits: where 0 is best, rounding is all that is found.
    correction = np.asarray(np.round(np.clip(theta[2:], -MOST_CORRECTION, MOST_CORRECTION), 9) + 0.0)
    return Calibration(float(np.exp(theta[0])), correction, float(expit(theta[1])), level, share, held_out)


def _with_linear_terms(
    loss: "_Loss", theta: FloatArray, bounds: FloatArray, points: FloatArray
) -> Iterator[tuple[FloatArray, LinearTerms, float]]:
    """Yield parameters, linear terms of the features, and what the loss of new records is above that of these.

    Once for each penalty. The search starts at the minimum without slopes, `theta`. `bounds`, shape (2, 2), are those
    of the first parameters.
    """
    ends = (np.nan_to_num(end.reduce(points, axis=0)).clip(-REACH, REACH) for end in (np.fmin, np.fmax))
    terms = LinearTerms(np.zeros((points.shape[1], len(theta) - 2)), *ends)
    z, classes = terms.clipped(points), loss.projection[2:, 2:]
    # The loss is about as curved in all directions of these coordinates of the slopes.
    q = np.abs(loss.with_linear(theta, loss.no_terms)[3])
    weights = (q * (1.0 - q)).sum(axis=1)[:, None]
    chunks = chunk_slices(len(z), 1024)  # no copy of all
    curvature, directions = np.linalg.eigh(sum((z[some] * weights[some]).T @ z[some] for some in chunks))
    freedom = max(float(np.trace(classes)), 1.0)  # one class less than have records
    curvature = np.maximum(curvature, 0.0) / freedom
    start = np.append(theta, terms.slopes)
    within = [*map(tuple, bounds), *[(None, None)] * (len(start) - len(bounds))]
    options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-6}
    for penalty in LINEAR_PENALTIES:
        to_slopes = directions / np.sqrt(curvature + penalty)

        def penalised(
            at: FloatArray, to_slopes: FloatArray = to_slopes, penalty: float = penalty
        ) -> tuple[float, FloatArray]:
            slopes = to_slopes @ at[len(theta) :].reshape(terms.slopes.shape) @ classes
            value, gradient, _, by_odds = loss.with_linear(at[: len(theta)], z @ slopes)
            by_slopes = to_slopes.T @ (z.T @ by_odds + penalty * slopes) @ classes
            return value + 0.5 * penalty * float(np.square(slopes).sum()), np.append(gradient, by_slopes)

        at = minimize(penalised, start, jac=True, method="L-BFGS-B", bounds=within, options=options).x
        slopes = to_slopes @ at[len(theta) :].reshape(terms.slopes.shape) @ classes
        n_slopes = freedom * float((curvature / (curvature + penalty)).sum())
        optimism = n_slopes * len(z) / max(len(z) - n_slopes, 1.0)
        yield loss.projection @ at[: len(theta)], replace(terms, slopes=slopes), optimism


def _minimum(loss: "_Loss", low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the parameters of the least loss by Newton's method, the first ones of them within bounds.

    The background's share can make the loss not convex: with the moduli of the Hessian's eigenvalues each step leads
    downhill.
    """
    bounded = len(low)
    theta = np.concatenate([(0.5, -4.0), np.zeros(len(loss.projection) - bounded)])
    theta[:bounded] = theta[:bounded].clip(low, high)
    value, gradient, hessian = loss(theta)
    for _ in range(100):  # 5 to 9 steps suffice on the sets of `bench`
        held, step = np.zeros(len(theta), dtype=bool), -gradient
        for _ in range(bounded + 1):  # held at bounds beyond which the slope leads, then a step
            ends = np.where(step[:bounded] < 0.0, theta[:bounded] < low + 1e-8, theta[:bounded] > high - 1e-8)
            held[:bounded] |= ends & (step[:bounded] != 0.0)
            slope, curvature = np.where(held, 0.0, gradient), np.where(held | held[:, None], np.diag(held), hessian)
            moduli, directions = np.linalg.eigh(curvature)
            moduli = np.maximum(np.abs(moduli), 1e-6)
            step = np.where(held, 0.0, -directions @ (directions.T @ slope / moduli))
        # As far as the first bound: a step that is cut in one direction alone need not lead downhill.
        room = np.where(step[:bounded] > 0.0, high, low) - theta[:bounded]
        step *= min(1.0, *np.divide(room, step[:bounded], out=np.ones(bounded), where=step[:bounded] != 0.0))
        for _ in range(40):
            after = theta + step
            after[:bounded] = after[:bounded].clip(low, high)
            found = loss(after)
            # The last term is the rounding of the loss.
            if found[0] <= value + 1e-4 * slope @ (after - theta) + 1e-13 * abs(value):
                break
            step = 0.5 * step
        moved = np.abs(after - theta).max()
        theta, (value, gradient, hessian) = after, found
        if moved <= 1e-8:
            break
    return theta


class _Loss:
    """Log loss of the true labels by log temperature, the logit of the background's share, and the corrections."""

    def __init__(
        self, joint: FloatArray, codes: IntArray, share: FloatArray, far: FloatArray, known: FloatArray | float = 1.0
    ) -> None:
        # Odds against the true label: all that the loss depends on, and free of the densities' scale.
        against = joint - joint[np.arange(len(codes)), codes][:, None]
        self.records = against, codes, share[codes], far, np.broadcast_to(known, len(codes)).astype(np.float64)
        self.no_terms = np.zeros(against.shape)
        # Corrections have a mean of 0. A class without held-out records is not corrected: those of other classes could
        # only make it less likely.
        judged = (np.bincount(codes, minlength=len(share)) > 0).astype(np.float64)
        self.projection = np.eye(2 + len(share))
        self.projection[2:, 2:] = np.diag(judged) - np.outer(judged, judged) / judged.sum()
        # Half the squares of log temperature and corrections, weighted by these, are a part of the loss.
        self.penalty = np.array([2.0 * TEMPERATURE_PENALTY, 0.0, *[2.0 * CORRECTION_PENALTY] * len(share)])

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the loss, its gradient and its Hessian."""
        return self.with_linear(theta, self.no_terms)[:3]

    def with_linear(self, theta: FloatArray, linear: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the same with linear terms, shape (n, n_classes), and the slopes of the loss by these."""
        from sepc.estimators._calibration_loss import log_loss  # compiled

        theta = self.projection @ theta
        unexplained = float(expit(theta[1]))
        value, gradient, hessian, by_odds = log_loss(*self.records, linear, float(theta[0]), unexplained, theta[2:])
        # By the logit, whose derivative of the share is share * (1 - share).
        by_share, slope = gradient[1], unexplained * (1.0 - unexplained)
        gradient[1] *= slope
        hessian[1] *= slope
        hessian[:, 1] *= slope
        hessian[1, 1] += by_share * slope * (1.0 - 2.0 * unexplained)
        value -= UNEXPLAINED * np.log(unexplained)
        gradient[1] -= UNEXPLAINED * (1.0 - unexplained)
        hessian[1, 1] += UNEXPLAINED * slope
        value += 0.5 * self.penalty @ theta**2
        gradient += self.penalty * theta
        hessian += np.diag(self.penalty)
        return float(value), self.projection @ gradient, self.projection @ hessian @ self.projection, by_odds
