"""How a calibration is learnt: its few numbers are those of the least log loss on records that were left out."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from sepc.common.typing import FloatArray, IntArray
from sepc.model.calibration import BELOW_STRANGE, MOST_CORRECTION, NOWHERE, Calibration, log_density, strange_below

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
    log_temperature, logit, *corrections = minimize(
        loss,
        [*_START, *np.zeros(len(share))],
        jac=True,
        method="L-BFGS-B",
        bounds=[
            (least_log_temperature, _MOST_LOG_TEMPERATURE),
            (_LEAST_LOGIT, _MOST_LOGIT),
            *[(-MOST_CORRECTION, MOST_CORRECTION)] * len(share),
        ],
    ).x.tolist()
    # Without the last bits, which would be all that there is of some.
    correction: FloatArray = np.clip(loss.corrections(np.array(corrections)), -MOST_CORRECTION, MOST_CORRECTION)
    correction = np.round(correction, 9) + 0.0
    return Calibration(float(np.exp(log_temperature)), correction, float(expit(logit)), level, share, left_out)


class _Loss:
    """Log loss of the true labels by log temperature, the logit of the background's share, and the corrections."""

    def __init__(
        self, joint: FloatArray, codes: IntArray, share: FloatArray, far: FloatArray, known: FloatArray | float = 1.0
    ) -> None:
        # Odds against the true label: all that the loss depends on, and free of the densities' scale.
        against = joint - joint[np.arange(len(codes)), codes][:, None]
        self.records = against, codes, share[codes], far, np.broadcast_to(known, len(codes)).astype(np.float64)
        # All that records of other classes say of a class that none of them is of is that it is less likely.
        self.judged = np.bincount(codes, minlength=len(share)) > 0

    def corrections(self, values: FloatArray) -> FloatArray:
        """Return corrections of mean 0 of the classes that records are of, and 0 of others, by one value for each."""
        return np.asarray(np.where(self.judged, values - values[self.judged].mean(), 0.0))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        from sepc.estimators._calibration_loss import log_loss  # compiled

        log_temperature, logit = theta[:2].tolist()
        correction, unexplained = self.corrections(theta[2:]), float(expit(logit))
        by_correction = np.empty(len(correction))
        at = log_temperature, unexplained, correction
        value, by_temperature, by_unexplained = log_loss(*self.records, *at, by_correction)
        value += _DRAWN_TO_ONE * log_temperature**2 - _UNEXPLAINED * np.log(unexplained)
        value += _DRAWN_TO_ZERO * correction @ correction
        by_temperature += 2.0 * _DRAWN_TO_ONE * log_temperature
        by_logit = (by_unexplained * unexplained - _UNEXPLAINED) * (1.0 - unexplained)
        by_correction += 2.0 * _DRAWN_TO_ZERO * correction
        return float(value), np.array([by_temperature, by_logit, *self.corrections(by_correction)])
