"""How a calibration is learnt: its few numbers are those of the least log loss on records that were left out."""

import numpy as np
from scipy.special import expit

from sepc.common.typing import FloatArray, IntArray
from sepc.model.calibration import NOWHERE, Calibration, log_density, strange_below
from sepc.model.constants import BELOW_STRANGE, MOST_CORRECTION

# The logarithm of the temperature is drawn to 0 as by this many records, and the background's share away from 0: half
# a record whose label the regions do not tell. From 0.3 to 1 the log loss hardly changes.
_DRAWN_TO_ONE = 1.0
_UNEXPLAINED = 0.5
# The squares of corrections times this are a part of the loss: as much as a dozen records at even odds. From 1 to 10
# the log loss hardly changes on the sets that constants are chosen by; with more, less is gained where there is much
# to correct.
_DRAWN_TO_ZERO = 3.0
# Within these: a set where every record is right would give a temperature of 0. Many records may show that densities
# are far from sure enough, a few cannot.
_LEAST_LOG_TEMPERATURE, _MOST_LOG_TEMPERATURE = -3.0, 6.0
_FEW_RECORDS = 1000.0
_LEAST_LOGIT, _MOST_LOGIT = -12.0, 2.0
_START = (0.5, -4.0)
# Newton's method: most steps and halvings of one, the least modulus of an eigenvalue, and the step that ends it. It
# takes 5 to 9 steps on the sets that constants are chosen by.
_MOST_STEPS, _MOST_HALVINGS, _LEAST_CURVATURE, _CONVERGED = 100, 40, 1e-6, 1e-8


def learn_calibration(
    joint: FloatArray, codes: IntArray, class_count: IntArray, known: FloatArray | float = 1.0
) -> Calibration:
    """Learn how sure densities may be from what others like them say of records that they had not seen.

    Parameters
    ----------
    joint : ndarray of shape (n, n_classes)
        Logarithms of each class's prior times its density at records that were left out; there may be none.
    codes : ndarray of int, shape (n,)
        Their classes.
    class_count : ndarray of int, shape (n_classes,)
        Training records of each class.
    known : ndarray of shape (n,), default=1
        Shares of the features that are there.

    Returns
    -------
    Calibration
    """
    share = class_count / class_count.sum()
    if not len(codes):
        return Calibration(1.0, np.zeros(len(share)), 0.5, NOWHERE, share, np.empty(0))
    densities = log_density(joint)
    # Seven digits tell strange points as well, and take half of the room in a file.
    left_out = np.sort(densities).astype(np.float32).astype(np.float64)
    level = strange_below(left_out) - BELOW_STRANGE
    least_log_temperature = max(-1.0 - np.log(max(len(codes) / _FEW_RECORDS, 1.0)), _LEAST_LOG_TEMPERATURE)
    loss = _Loss(joint, codes, share, expit(level - densities), known)
    low = np.array([least_log_temperature, _LEAST_LOGIT])
    log_temperature, logit, *corrections = _minimum(loss, low, np.array([_MOST_LOG_TEMPERATURE, _MOST_LOGIT]))
    # Without the last bits, which would be all that there is of some.
    correction = np.round(np.clip(corrections, -MOST_CORRECTION, MOST_CORRECTION), 9) + 0.0
    return Calibration(float(np.exp(log_temperature)), correction, float(expit(logit)), level, share, left_out)


def _minimum(loss: "_Loss", low: FloatArray, high: FloatArray) -> list[float]:
    """Return the parameters of the least loss by Newton's method, the first ones of them within bounds.

    Where the loss is not convex, which the background's share can make it, the moduli of the Hessian's eigenvalues are
    taken, so that each step leads downhill.
    """
    bounded = len(low)
    theta = np.concatenate([_START, np.zeros(len(loss.projection) - len(_START))])
    theta[:bounded] = theta[:bounded].clip(low, high)
    value, gradient, hessian = loss(theta)
    for _ in range(_MOST_STEPS):
        held = np.zeros(len(theta), dtype=bool)
        held[:bounded] = np.where(gradient[:bounded] > 0, theta[:bounded] <= low, theta[:bounded] >= high)
        slope, curvature = np.where(held, 0.0, gradient), np.where(held | held[:, None], np.diag(held), hessian)
        moduli, directions = np.linalg.eigh(curvature)
        moduli = np.maximum(np.abs(moduli), _LEAST_CURVATURE)
        step = -directions @ (directions.T @ slope / moduli)
        for _ in range(_MOST_HALVINGS):
            after = theta + step
            after[:bounded] = after[:bounded].clip(low, high)
            found = loss(after)
            # Below the rounding of the loss the gradient alone is to be believed.
            if found[0] <= value + 1e-4 * slope @ (after - theta) + 1e-13 * abs(value):
                break
            step = 0.5 * step
        moved = np.abs(after - theta).max()
        theta, (value, gradient, hessian) = after, found
        if moved <= _CONVERGED:
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
        # Corrections have a mean of 0. All that records of other classes say of a class that none of them is of is that
        # it is less likely: it is not corrected.
        judged = (np.bincount(codes, minlength=len(share)) > 0).astype(np.float64)
        self.projection = np.eye(2 + len(share))
        self.projection[2:, 2:] = np.diag(judged) - np.outer(judged, judged) / judged.sum()
        # Half the squares of log temperature and corrections, weighted by these, are a part of the loss.
        self.penalty = np.array([2.0 * _DRAWN_TO_ONE, 0.0, *[2.0 * _DRAWN_TO_ZERO] * len(share)])

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
        value -= _UNEXPLAINED * np.log(unexplained)
        gradient[1] -= _UNEXPLAINED * (1.0 - unexplained)
        hessian[1, 1] += _UNEXPLAINED * slope
        value += 0.5 * self.penalty @ theta**2
        gradient += self.penalty * theta
        hessian += np.diag(self.penalty)
        return float(value), self.projection @ gradient, self.projection @ hessian @ self.projection
