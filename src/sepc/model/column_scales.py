"""Scales of columns: as they are, as signed logarithms or as normal scores, brought to mean 0 and deviation 1.

Ellipsoids and t distributions describe a heavy-tailed or skewed column badly, and its mean and deviation say little or
do not even exist. Such a column is bent by a monotone function g, with the median m of the column and l, the median
distance from it of the values that differ from it:

- signed logarithm: g(x) = sign(t) log(1 + |t|), where t = (x - m) / l
- normal score: g(x) is the normal quantile of the rank of x, as a share, by quantiles between which it is linear. The
  smallest and the largest value have -3 and 3. Beyond them the score goes on as a straight line in the signed
  logarithm, as steep as it is in the outermost tenth of the values: what is far away stays far away.

Order is kept, so what a range of values means stays. A model's units are (g(x) - mean) / scale.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Self

import numpy as np
from scipy.special import expm1, log1p, ndtr, ndtri

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.partitions.units import location_and_scale

# Score of the largest value.
LARGEST_SCORE = 3.0
QUANTILES = 200
# Share of the values that set how steep the scores go on beyond the last one.
OUTERMOST = 0.1
# A signed logarithm has no larger size, so that the way back does not overflow.
LARGEST_LOG = 300.0
CHUNK = 1 << 14


@dataclass(frozen=True, eq=False, slots=True)
class Curves:
    """Monotone functions g of k columns.

    Attributes
    ----------
    columns : ndarray of int, shape (k,)
    ranked : ndarray of bool, shape (k,)
        Whether a column has normal scores; signed logarithms else.
    middle, length : ndarray of shape (k,)
        Median, and median distance from it of the values that differ from it.
    quantiles : ndarray of shape (n_quantiles, k)
        From the smallest to the largest value, at even distances in rank; 0 where normal scores do not need them.
    """

    columns: IntArray
    ranked: BoolArray
    middle: FloatArray
    length: FloatArray
    quantiles: FloatArray

    @classmethod
    def of(cls, X: FloatArray, columns: IntArray, ranked: BoolArray) -> Self:
        """Return the functions of some columns of points, shape (n, d); NaN counts for nothing."""
        values = X[:, columns]
        middle = np.nanmedian(values, axis=0)
        away = np.abs(values - middle)
        with np.errstate(invalid="ignore"):
            differ = [column[column > 0.0] for column in away.T]
        length = np.array([np.median(some) if len(some) else 1.0 for some in differ])
        shares = np.linspace(0.0, 100.0, min(len(X), QUANTILES))
        quantiles = np.maximum.accumulate(np.nanpercentile(values, shares, axis=0))
        return cls(columns, ranked, middle, length, np.where(ranked, quantiles, 0.0))

    def bend(self, X: FloatArray) -> None:
        """Replace the values of the columns, of points of shape (n, d), by those of their functions; NaN stays NaN."""
        for rows in chunk_slices(len(X), CHUNK):
            for k, j in enumerate(self.columns.tolist()):
                x = X[rows, j]
                X[rows, j] = self._scores(k, x) if self.ranked[k] else self._logs(k, x)

    def unbend(self, W: FloatArray) -> None:
        """Replace what `bend` makes of points, shape (..., d), by the points."""
        for k, j in enumerate(self.columns.tolist()):
            w = W[..., j]
            W[..., j] = self._of_scores(k, w) if self.ranked[k] else self._of_logs(k, w)

    def among(self, features: IntArray) -> "Curves":
        """Return those of some features, which are then numbered by their places."""
        place = np.full(max(features.max(), self.columns.max()) + 1, -1)
        place[features] = np.arange(len(features))
        kept = np.flatnonzero(place[self.columns] >= 0)
        some = self.ranked[kept], self.middle[kept], self.length[kept], self.quantiles[:, kept]
        return Curves(place[self.columns[kept]], *some)

    @property
    def shares(self) -> FloatArray:
        """Rank of each quantile as a share, shape (n_quantiles,)."""
        return _shares(len(self.quantiles))

    def _logs(self, k: int, x: FloatArray) -> FloatArray:
        t = (x - self.middle[k]) / self.length[k]
        return np.asarray(np.copysign(log1p(np.abs(t)), t))

    def _of_logs(self, k: int, logs: FloatArray) -> FloatArray:
        t = np.copysign(expm1(np.minimum(np.abs(logs), LARGEST_LOG)), logs)
        return np.asarray(self.middle[k] + self.length[k] * t)

    def _scores(self, k: int, x: FloatArray) -> FloatArray:
        known, shares = self.quantiles[:, k], self.shares
        # Of equal quantiles one direction finds the first and the other the last.
        up, down = np.interp(x, known, shares), np.interp(-x, -known[::-1], -shares[::-1])
        scores = np.asarray(ndtri(0.5 * (up - down)))
        # Equal values at an end are all as far out as the last one.
        scores[x >= known[-1]] = LARGEST_SCORE
        scores[x <= known[0]] = -LARGEST_SCORE
        for end, score, is_beyond in ((0, -LARGEST_SCORE, x < known[0]), (-1, LARGEST_SCORE, x > known[-1])):
            if is_beyond.any():
                start, slope = self.tail(k, end)
                scores[is_beyond] = score + slope * (self._logs(k, x[is_beyond]) - start)
        return scores

    def _of_scores(self, k: int, scores: FloatArray) -> FloatArray:
        x = np.array(np.interp(ndtr(scores), self.shares, self.quantiles[:, k]))
        beyond = scores - np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
        for end, is_beyond in ((0, beyond < 0.0), (-1, beyond > 0.0)):
            if is_beyond.any():
                start, slope = self.tail(k, end)
                if slope > 0.0:
                    x[is_beyond] = self._of_logs(k, start + beyond[is_beyond] / slope)
        return x

    def tail(self, k: int, end: int) -> tuple[float, float]:
        """Return the signed logarithm of the first (`end` 0) or last (-1) quantile, and the slope beyond it.

        Where the outermost tenth is one value, it is the mean slope of all; 0 for a constant column.
        """
        known = self.quantiles[:, k]
        inner = np.interp(OUTERMOST if end == 0 else 1.0 - OUTERMOST, self.shares, known)
        start, within, first, last = self._logs(k, np.array([known[end], inner, known[0], known[-1]])).tolist()
        rise, run = LARGEST_SCORE + float(ndtri(OUTERMOST)), abs(start - within)
        if run == 0.0:
            rise, run = 2.0 * LARGEST_SCORE, last - first
        return start, rise / run if run > 0.0 else 0.0


@cache
def _shares(n_quantiles: int) -> FloatArray:
    ends = ndtr([-LARGEST_SCORE, LARGEST_SCORE])
    return np.asarray(np.clip(np.linspace(0.0, 1.0, n_quantiles), *ends))


def no_curves() -> Curves:
    """Return the functions of no column."""
    of_none = np.empty(0)
    return Curves(of_none.astype(np.int64), of_none.astype(bool), of_none, of_none, of_none[None])


@dataclass(frozen=True, eq=False, slots=True)
class ColumnScales:
    """Units of d columns, (g(x) - mean) / scale.

    Attributes
    ----------
    mean, scale : ndarray of shape (d,)
    curves : Curves
        The functions g of the columns that are not as they are.
    """

    mean: FloatArray
    scale: FloatArray
    curves: Curves = field(default_factory=no_curves)

    @classmethod
    def of(cls, points: FloatArray, curves: Curves | None = None) -> Self:
        """Return the scales in which points, shape (n, d), have mean 0 and, where a column varies, deviation 1.

        The points are bent, in place.
        """
        curves = curves or no_curves()
        curves.bend(points)
        mean, scale = location_and_scale(points)
        return cls(mean, np.where(scale > 0.0, scale, 1.0), curves)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return points of shape (..., d) in these units."""
        if self.is_linear:
            return np.asarray((X - self.mean) / self.scale)
        Z = np.array(X, dtype=np.float64)
        self.curves.bend(Z.reshape(-1, Z.shape[-1]))
        Z -= self.mean
        Z /= self.scale
        return Z

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points of shape (..., d) in the units that they came in."""
        X = np.asarray(Z * self.scale + self.mean)
        self.curves.unbend(X)
        return X

    def lengths(self, Z: FloatArray) -> FloatArray:
        """Return how long a unit around points, shape (..., d), is in the units that they came in."""
        if self.is_linear:
            return np.broadcast_to(self.scale, Z.shape)
        lengths = self.original(Z + 0.5) - self.original(Z - 0.5)
        curved = np.isin(np.arange(len(self.scale)), self.curves.columns)
        return np.where(curved, np.maximum(lengths, np.finfo(float).tiny), self.scale)

    def among(self, features: IntArray) -> "ColumnScales":
        """Return those of some features."""
        curves = self.curves if self.is_linear else self.curves.among(features)
        return ColumnScales(self.mean[features], self.scale[features], curves)

    @property
    def is_linear(self) -> bool:
        """Whether all columns are as they are."""
        return len(self.curves.columns) == 0

    @property
    def arrays(self) -> list[FloatArray | IntArray]:
        """All that they depend on."""
        if self.is_linear:
            return [self.mean, self.scale]
        curves = self.curves
        bent: list[FloatArray | IntArray] = [curves.columns, curves.ranked.astype(np.int64)]
        return [self.mean, self.scale, *bent, curves.middle, curves.length, curves.quantiles]

    def names(self, features: list[str]) -> list[str]:
        """Return names of features with the scale of those that are not as they are."""
        named = list(features)
        for j, ranked in zip(self.curves.columns.tolist(), self.curves.ranked.tolist(), strict=True):
            named[j] = f"{features[j]} ({'normal scores' if ranked else 'signed logarithm'})"
        return named
