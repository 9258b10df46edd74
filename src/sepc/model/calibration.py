"""Calibration: how sure local densities may be, and how strange a point is, by records that were left out.

The densities of a partition know the records that shaped them too well. Partitions of the same training set that each
leave a part out say how well they know others: from what they say of the records that they had not seen come

- a temperature: log odds between labels are divided by it,
- a correction of each label, which is added to its log odds: the regions of one class may be drawn too narrow or too
  wide where those of another are not, and then all records are drawn to one label. Without it probabilities can be
  right as long as classes are as common as in training, and wrong where other shares are stated,
- the background: a share that all labels have in common, in which the probabilities are those of the whole training
  set. It has two parts. One is the same everywhere, for the records whose labels the regions do not tell. The other is
  a density, everywhere the same and very low, which takes over far away from all regions,
- the densities at these records: the share of them at which the density is no higher tells how strange a point is.

Of a point with gaps the share of the features that are there is the power of the temperature and a factor of the
corrections: the fewer are there, the less there is to be too sure of. Without any it is 1, and 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from sepc.common.typing import FloatArray, IntArray

# A point at which the density is no higher than at this share of the records that were left out is strange.
STRANGE = 0.01
# The background's density lies below the one at which points become strange by this factor, as a logarithm. Of 0 to 6
# those of 3 and more gave the least log loss on the sets that constants are chosen by (bench/trust.py), all about the
# same; the largest takes least away from points that are not strange.
BELOW_STRANGE = 6.0
# The logarithm of a density that no point has: a background of it is nowhere.
NOWHERE = -1e9
# A label is corrected by at most so much, up or down.
MOST_CORRECTION = 10.0
# The logarithm of the temperature is drawn to 0 as by this many records, and the background's share away from 0: half
# a record whose label the regions do not tell. From 0.3 to 1 the log loss hardly changes.
_DRAWN_TO_ONE = 1.0
_UNEXPLAINED = 0.5
# The squares of corrections times this are a part of the loss: as much as a dozen records at even odds. From 1 to 10
# the log loss hardly changes on the sets that constants are chosen by; with more, less is gained where there is much
# to correct.
_DRAWN_TO_ZERO = 3.0
# Within these: a set where every record is right would give a temperature of 0.
_LEAST_LOG_TEMPERATURE, _MOST_LOG_TEMPERATURE = -1.0, 6.0
_LEAST_LOGIT, _MOST_LOGIT = -12.0, 2.0
_START = (0.5, -4.0)


@dataclass(frozen=True, eq=False, slots=True)
class Calibration:
    """What records that were left out say of densities.

    Attributes
    ----------
    temperature : float
        Log odds between labels are divided by it.
    correction : ndarray of shape (n_classes,)
        What is then added to the log odds of each label.
    unexplained : float
        Share of the background everywhere.
    level : float
        Logarithm of the background's density.
    class_share : ndarray of shape (n_classes,)
        Probabilities in the background.
    left_out : ndarray of shape (n,)
        Logarithms of the density at the records that were left out, ascending.

    Examples
    --------
    >>> left_out = np.array([-6.0, -5.0, -3.0, -2.0])
    >>> calibration = Calibration(2.0, np.zeros(2), 0.0, -100.0, np.array([0.7, 0.3]), left_out)
    >>> joint = np.log([[0.8, 0.2], [1e-60, 2e-60]])
    >>> calibration.posterior(joint).round(3).tolist()
    [[0.667, 0.333], [0.7, 0.3]]
    >>> calibration.typicality(np.array([-4.0, -60.0])).tolist()
    [0.5, 0.0]
    """

    temperature: float
    correction: FloatArray
    unexplained: float
    level: float
    class_share: FloatArray
    left_out: FloatArray

    def posterior(self, joint: FloatArray, known: FloatArray | float = 1.0) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        joint : ndarray of shape (n, n_classes)
            Logarithms of each class's prior times its density.
        known : ndarray of shape (n,), default=1
            Shares of the features that are there.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        # What `by_regions` and `log_density` do, in one pass: they would take a third of a prediction's time.
        top = joint.max(axis=1, keepdims=True)
        odds = joint - top
        log_densities = top[:, 0] + np.log(np.exp(odds).sum(axis=1))
        odds /= self.temperature_at(known)
        odds += self.correction_at(known)
        np.exp(odds, out=odds)
        odds /= odds.sum(axis=1, keepdims=True)
        return self.with_background(odds, log_densities)

    def with_background(self, proba: FloatArray, log_densities: FloatArray) -> FloatArray:
        """Return probabilities of shape (n, n_classes) with the background's share, by densities of shape (n,)."""
        return np.asarray(mixed(proba, self.background(log_densities)[:, None], self.class_share))

    def temperature_at(self, known: FloatArray | float) -> FloatArray:
        """Return the temperature of points with these shares of their features, shape (n, 1), or (1, 1) for one."""
        return np.asarray(np.power(self.temperature, known)).reshape(-1, 1)

    def correction_at(self, known: FloatArray | float) -> FloatArray:
        """Return the corrections at points with these shares of their features, shape (n, n_classes) or one row."""
        return np.asarray(np.reshape(known, (-1, 1)) * self.correction)

    def by_regions(self, joint: FloatArray, known: FloatArray | float = 1.0) -> FloatArray:
        """Return the probability of each class without the background, shape (n, n_classes)."""
        return np.asarray(softmax(joint / self.temperature_at(known) + self.correction_at(known), axis=1))

    def background(self, log_densities: FloatArray) -> FloatArray:
        """Return the share of the probability that the background has, shape (n,)."""
        far = expit(self.level - log_densities)
        return np.asarray(self.unexplained + (1.0 - self.unexplained) * far)

    def typicality(self, log_densities: FloatArray) -> FloatArray:
        """Return the share of the records left out at which the density is no higher; NaN if there are none."""
        if not len(self.left_out):
            return np.full(len(log_densities), np.nan)
        return np.asarray(np.searchsorted(self.left_out, log_densities, side="right") / len(self.left_out))


def log_density(joint: FloatArray) -> FloatArray:
    """Return the logarithm of the density of all classes together, shape (n,).

    Parameters
    ----------
    joint : ndarray of shape (n, n_classes)
        Logarithms of each class's prior times its density.

    Examples
    --------
    >>> log_density(np.log([[0.25, 0.5]])).round(4).tolist() == np.log([0.75]).round(4).tolist()
    True
    """
    return np.asarray(logsumexp(joint, axis=1))


def strange_below(left_out: FloatArray) -> float:
    """Return the score below which a point is strange.

    Parameters
    ----------
    left_out : ndarray of shape (n,)
        Scores of records that were left out, ascending.

    Examples
    --------
    >>> strange_below(np.arange(200.0))
    2.0
    """
    return float(left_out[int(STRANGE * len(left_out))])


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

    Examples
    --------
    Three of four labels are right, where the densities are all but certain of each:

    >>> joint = np.log([[0.999, 0.001]] * 3 + [[0.001, 0.999]]) - np.arange(4)[:, None]
    >>> found = learn_calibration(joint, np.zeros(4, dtype=int), np.array([4, 4]))
    >>> bool(0.5 < found.posterior(joint)[0, 0] < 0.9)
    True
    """
    share = class_count / class_count.sum()
    if not len(codes):
        return Calibration(1.0, np.zeros(len(share)), 0.5, NOWHERE, share, np.empty(0))
    densities = log_density(joint)
    # Seven digits tell strange points as well, and take half of the room in a file.
    left_out = np.sort(densities).astype(np.float32).astype(np.float64)
    level = strange_below(left_out) - BELOW_STRANGE
    loss = _Loss(joint, codes, share, expit(level - densities), known)
    log_temperature, logit, *corrections = minimize(
        loss,
        [*_START, *np.zeros(len(share))],
        jac=True,
        method="L-BFGS-B",
        bounds=[
            (_LEAST_LOG_TEMPERATURE, _MOST_LOG_TEMPERATURE),
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
        self.against = joint - joint[np.arange(len(codes)), codes][:, None]
        self.codes, self.prior, self.far, self.known = codes, share[codes], far, np.broadcast_to(known, len(codes))
        # All that records of other classes say of a class that none of them is of is that it is less likely.
        self.judged = np.bincount(codes, minlength=len(share)) > 0

    def corrections(self, values: FloatArray) -> FloatArray:
        """Return corrections of mean 0 of the classes that records are of, and 0 of others, by one value for each."""
        return np.asarray(np.where(self.judged, values - values[self.judged].mean(), 0.0))

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        log_temperature, logit = theta[:2].tolist()
        correction, known = self.corrections(theta[2:]), self.known[:, None]
        tempered = self.against * np.exp(-log_temperature * known)
        corrected = tempered + known * (correction - correction[self.codes][:, None])
        top = corrected.max(axis=1, keepdims=True)
        everyone = np.exp(corrected - top)
        total = everyone.sum(axis=1)
        everyone /= total[:, None]
        own = np.exp(-top[:, 0]) / total
        unexplained = float(expit(logit))
        background = unexplained + (1.0 - unexplained) * self.far
        p = (1.0 - background) * own + background * self.prior
        odds = np.einsum("ij,ij->i", everyone, tempered)
        of_regions = (1.0 - background) * own * self.known / p
        by_temperature = -np.sum(of_regions * odds)
        by_correction = of_regions @ everyone - np.bincount(self.codes, of_regions, minlength=len(correction))
        by_logit = -np.sum((1.0 - self.far) * (self.prior - own) / p) * unexplained * (1.0 - unexplained)
        value = -np.sum(np.log(p)) + _DRAWN_TO_ONE * log_temperature**2 - _UNEXPLAINED * np.log(unexplained)
        value += _DRAWN_TO_ZERO * correction @ correction
        by_temperature += 2.0 * _DRAWN_TO_ONE * log_temperature
        by_logit -= _UNEXPLAINED * (1.0 - unexplained)
        by_correction += 2.0 * _DRAWN_TO_ZERO * correction
        return float(value), np.array([by_temperature, by_logit, *self.corrections(by_correction)])


def mixed(by_regions: Any, background: Any, class_share: Any) -> Any:
    """Return probabilities with the background's share, for arrays of any library.

    Parameters
    ----------
    by_regions : array of shape (n, n_classes)
    background : array of shape (n, 1)
    class_share : array of shape (n_classes,)

    Examples
    --------
    >>> mixed(np.array([[1.0, 0.0]]), np.array([[0.5]]), np.array([0.2, 0.8])).tolist()
    [[0.6, 0.4]]
    """
    return (1.0 - background) * by_regions + background * class_share
