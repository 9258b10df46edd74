"""The range of each feature in training, and how far beyond it a new value may lie.

The k largest of n values exceed the next one by amounts that have, in the limit, a generalised Pareto distribution
(Balkema and de Haan 1974, Pickands 1975). Its shape and scale follow from probability-weighted moments (Hosking and
Wallis 1987), and give the value that an ordinary record exceeds with a stated probability. The smallest values are the
largest of their negatives.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray

# Share of ordinary records with a value beyond reach, over all features. `bench/beyond.py` counts those of held-out
# records, and of shifted ones.
BEYOND = 0.01
# Number of values that speak for a tail, and the shapes that it may have: a shorter one than that of an exponential
# distribution (0) cannot be told from so few, and one of 0.5 has no variance.
_TAIL, _LIGHT, _HEAVY = 20, 0.0, 0.5
# Relative difference of numbers that are equal but for their precision.
_SLACK = 1e-7


class Reach(NamedTuple):
    """Range of each feature in training, and the ends of what it justifies, in the units that records come in.

    Attributes
    ----------
    low, high : ndarray of shape (d,)
        Smallest and largest value.
    lowest, highest : ndarray of shape (d,)
        Values beyond which a record is refused; NaN where none are.

    Examples
    --------
    >>> reach = Reach.of(np.arange(19.0, 76.0)[:, None])
    >>> [float(round(end[0])) for end in reach]
    [19.0, 75.0, -6.0, 100.0]
    >>> reach.farthest(np.array([[77.0], [120.0]])).tolist()
    [-1, 0]
    """

    low: FloatArray
    high: FloatArray
    lowest: FloatArray
    highest: FloatArray

    @classmethod
    def of(cls, X: FloatArray, low: FloatArray | None = None, high: FloatArray | None = None) -> "Reach":
        """Return the reach of training records, shape (n, d), with NaN where values are missing.

        `low` and `high`, shape (d,), are the ends of the range where `X` is only a sample.
        """
        low = np.nanmin(X, axis=0) if low is None else low
        high = np.nanmax(X, axis=0) if high is None else high
        vary = low < high
        measured = [j for j in np.flatnonzero(vary).tolist() if _has_third_value(X[:, j])]
        lowest, highest = low.copy(), high.copy()
        share = BEYOND / (2 * max(len(measured), 1))
        for j in measured:
            values = X[~np.isnan(X[:, j]), j]
            highest[j] = max(high[j], _limit(values, share))
            lowest[j] = min(low[j], -_limit(-values, share))
        # Of n values that are all the same the next one differs with a probability of about 1 / n.
        if np.count_nonzero(~vary) > BEYOND * len(X):
            lowest[~vary] = highest[~vary] = np.nan
        slack = _slack(low, high)
        return cls(low + 0.0, high + 0.0, lowest - slack, highest + slack)

    @property
    def refusing_none(self) -> "Reach":
        """The same range, beyond which nothing is refused."""
        nowhere = np.full(len(self.low), np.nan)
        return self._replace(lowest=nowhere, highest=nowhere)

    def sides(self, X: FloatArray) -> NDArray[np.int8]:
        """Return -1 where a value is below the range, 1 where it is above, else 0, shape (n, d)."""
        slack = _slack(self.low, self.high)
        return (self.high + slack < X).astype(np.int8) - (self.low - slack > X).astype(np.int8)

    def farthest(self, X: FloatArray) -> IntArray:
        """Return the feature by which each record is farthest beyond reach, shape (n,); -1 where none is beyond."""
        found = np.full(len(X), -1)
        rows = np.flatnonzero(((self.highest < X) | (self.lowest > X)).any(axis=1))
        beyond = np.maximum(X[rows] - self.highest, self.lowest - X[rows])
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        found[rows] = np.nan_to_num(beyond / width, nan=-1.0).argmax(axis=1)
        return found

    def named(self, X: FloatArray, features: Sequence[str]) -> NDArray[np.object_]:
        """Return the names of these features, shape (n,); None where a record is not beyond reach."""
        return np.asarray(np.array([*features, None], dtype=object)[self.farthest(X)])


def _slack(low: FloatArray, high: FloatArray) -> FloatArray:
    return np.asarray(_SLACK * np.maximum(np.abs(low), np.abs(high)))


def _has_third_value(column: FloatArray) -> bool:
    return bool(((column > np.nanmin(column)) & (column < np.nanmax(column))).any())


def _limit(values: FloatArray, share: float) -> float:
    """Return the value that a further one exceeds with a probability of `share`, at least the largest."""
    k = min(_TAIL, len(values) - 1)
    top = np.sort(np.partition(values, -k - 1)[-k - 1 :])
    excess = top[1:] - top[0]
    mean = float(excess.mean())
    if mean == 0.0:
        return float(top[-1])
    weighted = float(((1.0 - (np.arange(k) + 0.65) / k) * excess).mean())
    shape = float(np.clip(2.0 - mean / (mean - 2.0 * weighted), _LIGHT, _HEAVY))
    logarithm = -np.log(share * len(values) / k)
    quantile = np.expm1(shape * logarithm) / shape if shape else logarithm
    return max(float(top[-1]), float(top[0] + mean * (1.0 - shape) * quantile))
