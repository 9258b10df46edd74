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

How all this is learnt, `estimators.calibrating` knows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from sepc.common.typing import FloatArray

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
    """
    # As SciPy's logsumexp, with fewer temporaries: there may be more records than numbers in a row.
    top = joint.max(axis=1)
    total = np.exp(joint - top[:, None]).sum(axis=1)
    return np.asarray(top + np.log(total, out=total))


def strange_below(left_out: FloatArray) -> float:
    """Return the score below which a point is strange.

    Parameters
    ----------
    left_out : ndarray of shape (n,)
        Scores of records that were left out, ascending.
    """
    return float(left_out[int(STRANGE * len(left_out))])


def mixed(by_regions: Any, background: Any, class_share: Any) -> Any:
    """Return probabilities with the background's share, for arrays of any library.

    Parameters
    ----------
    by_regions : array of shape (n, n_classes)
    background : array of shape (n, 1)
    class_share : array of shape (n_classes,)
    """
    return (1.0 - background) * by_regions + background * class_share
