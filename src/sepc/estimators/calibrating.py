"""Calibration of densities: its few parameters are those of the least log loss on held-out records."""

import numpy as np
from scipy.special import expit

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.constants import CORRECTION_PENALTY, FEW_RECORDS, TEMPERATURE_PENALTY, UNEXPLAINED
from sepc.model.calibration import NOWHERE, Calibration, log_density, strange_below
from sepc.model.constants import BELOW_STRANGE, MOST_CORRECTION

# Bounds of log temperature and logit: a set where every record is right would give a temperature of 0.
_LOW, _HIGH = (-3.0, -12.0), (6.0, 2.0)


def learn_calibration(
    joint: FloatArray, codes: IntArray, class_count: IntArray, known: FloatArray | float = 1.0
) -> Calibration:
    """Learn temperature, background component and corrections of classes on held-out records.

    Parameters
    ----------
    joint : ndarray of shape (n, n_classes)
        Log of each class's prior times its density at held-out records; n may be 0.
    codes : ndarray of int, shape (n,)
    class_count : ndarray of int, shape (n_classes,)
        Numbers of training records.
    known : ndarray of shape (n,), default=1
        Shares of the features that are known.
    """
    share = class_count / class_count.sum()
    if not len(codes):
        return Calibration(1.0, np.zeros(len(share)), 0.5, NOWHERE, share, np.empty(0))
    densities = log_density(joint)
    # Seven digits serve as well for typicality, and take half of the room in a file.
    held_out = np.sort(densities).astype(np.float32).astype(np.float64)
    level = strange_below(held_out) - BELOW_STRANGE
    least_log_temperature = max(-1.0 - np.log(max(len(codes) / FEW_RECORDS, 1.0)), _LOW[0])
    loss = _Loss(joint, codes, share, expit(level - densities), known)
    low = np.array([least_log_temperature, _LOW[1]])
    log_temperature, logit, *corrections = _minimum(loss, low, np.array(_HIGH))
    # Without the last bits: where 0 is best, rounding is all that is found.
    correction = np.round(np.clip(corrections, -MOST_CORRECTION, MOST_CORRECTION), 9) + 0.0
    return Calibration(float(np.exp(log_temperature)), correction, float(expit(logit)), level, share, held_out)


def _minimum(loss: "_Loss", low: FloatArray, high: FloatArray) -> list[float]:
    """Return the parameters of the least loss by Newton's method, the first ones of them within bounds.

    The background's share can make the loss not convex: with the moduli of the Hessian's eigenvalues each step leads
    downhill.
    """
    bounded = len(low)
    theta = np.concatenate([(0.5, -4.0), np.zeros(len(loss.projection) - bounded)])
    theta[:bounded] = theta[:bounded].clip(low, high)
    value, gradient, hessian = loss(theta)
    for _ in range(100):  # 5 to 9 steps suffice on the sets of `bench`
        held = np.zeros(len(theta), dtype=bool)
        held[:bounded] = np.where(gradient[:bounded] > 0, theta[:bounded] < low + 1e-8, theta[:bounded] > high - 1e-8)
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
    return [float(value) for value in loss.projection @ theta]


class _Loss:
    """Log loss of the true labels by log temperature, the logit of the background's share, and the corrections."""

    def __init__(
        self, joint: FloatArray, codes: IntArray, share: FloatArray, far: FloatArray, known: FloatArray | float = 1.0
    ) -> None:
        # Odds against the true label: all that the loss depends on, and free of the densities' scale.
        against = joint - joint[np.arange(len(codes)), codes][:, None]
        self.records = against, codes, share[codes], far, np.broadcast_to(known, len(codes)).astype(np.float64)
        # Corrections have a mean of 0. A class without held-out records is not corrected: those of other classes could
        # only make it less likely.
        judged = (np.bincount(codes, minlength=len(share)) > 0).astype(np.float64)
        self.projection = np.eye(2 + len(share))
        self.projection[2:, 2:] = np.diag(judged) - np.outer(judged, judged) / judged.sum()
        # Half the squares of log temperature and corrections, weighted by these, are a part of the loss.
        self.penalty = np.array([2.0 * TEMPERATURE_PENALTY, 0.0, *[2.0 * CORRECTION_PENALTY] * len(share)])

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the loss, its gradient and its Hessian."""
        from sepc.estimators._calibration_loss import log_loss  # compiled

        theta = self.projection @ theta
        unexplained = float(expit(theta[1]))
        value, gradient, hessian = log_loss(*self.records, float(theta[0]), unexplained, theta[2:])
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
        return float(value), self.projection @ gradient, self.projection @ hessian @ self.projection
