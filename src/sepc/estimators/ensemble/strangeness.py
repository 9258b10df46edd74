"""Strangeness of points to an ensemble: the densities that all members find there, in one number.

Each member tells the density at a point in its own features. Measured in how far these differ among training records
that the member had not seen, the mean of their logarithms tells how strange a point is to all of them together. One
value far beyond all training records concerns the few members alone that look at it, and half of these look at its
rank, which says no more than that it is the largest; so the farthest such value counts on its own. Far away from
everything the probabilities go back to the shares of the classes, as for one partition.
"""

from dataclasses import dataclass

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.model.calibration import BELOW_STRANGE, NOWHERE, Calibration, strange_below

# The score's unit: between the middle of the records left out and those that are strange lie so many. With the
# background's density below these by a fixed number of units, that sets where it takes over.
_FROM_STRANGE_TO_MIDDLE = 8.0
# What a value beyond the training records takes from the score, for each unit of the logarithm of 1 plus its distance
# in standard deviations. Of 0 to 3, on the sets that constants are chosen by (bench/novelty.py): from 2 on hardly any
# record with one column in another unit is accepted; more calls more ordinary records strange.
_FOR_BEYOND = 2.0


@dataclass(frozen=True, eq=False, slots=True)
class Strangeness:
    """How strange points are to an ensemble.

    Attributes
    ----------
    middle, spread : ndarray of shape (n_members,)
        Of the logarithms of each member's density at records that it had not seen.
    calibration : Calibration
        By the scores of these records; its temperature is 1, since the members' weights are learnt.
    """

    middle: FloatArray
    spread: FloatArray
    calibration: Calibration

    def score(self, log_densities: FloatArray, beyond: FloatArray) -> FloatArray:
        """Return the scores of points, large for ordinary ones, shape (n,).

        Parameters
        ----------
        log_densities : ndarray of shape (n_members, n)
        beyond : ndarray of shape (n,)
            How far the farthest of a point's values lies beyond the training points, in standard deviations.
        """
        return _by_members(log_densities, self.middle, self.spread) - _FOR_BEYOND * np.log1p(beyond)


def learn_strangeness(
    log_densities: FloatArray, beyond: FloatArray, class_count: IntArray, unexplained: float = 0.0
) -> Strangeness:
    """Learn how strange ordinary points are from records that the members had not seen.

    Parameters
    ----------
    log_densities : ndarray of shape (n_members, n)
        At these records; there may be none.
    beyond : ndarray of shape (n,)
        As in `Strangeness.score`: 0 but for records that the range of the training points was not taken from.
    class_count : ndarray of int, shape (n_classes,)
    unexplained : float, default=0
        Share of the background everywhere.

    Returns
    -------
    Strangeness
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
    spread *= width / _FROM_STRANGE_TO_MIDDLE if width > 0.0 else 1.0
    scores = np.sort(_by_members(log_densities, middle, spread) - _FOR_BEYOND * np.log1p(beyond))
    level = strange_below(scores) - BELOW_STRANGE
    return Strangeness(middle, spread, Calibration(1.0, np.zeros(len(share)), unexplained, level, share, scores))


def _by_members(log_densities: FloatArray, middle: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the mean of all members' densities, each in its own spread, shape (n,)."""
    return np.asarray(((log_densities - middle[:, None]) / spread[:, None]).mean(axis=0))
