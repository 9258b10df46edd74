"""Many ellipsoids asked at once: which of them hold a point, and which is the nearest."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._threads import one_blas_thread
from sepc.geometry.ellipsoid import Ellipsoid, distance_from_axes

# Distances that differ by less than this share are equal.
DISTANCE_TOLERANCE = 1e-9
# A bound may be wrong by rounding.
_HARDLY_MORE = 1.0 + 1e3 * DISTANCE_TOLERANCE
# Points are always handled in blocks of exactly this many rows, the last one padded: a point goes through the same
# matrix product alone and among a million others, so that its answer is the same to the last bit.
_BLOCK = 128
ALL = slice(None)
# Rows of a block that arithmetic takes at a time: NumPy is slow along short rows.
_ROWS_AT_ONCE = 16
# Numbers in a block under several ellipsoids that stay in the cache.
_CACHED = 1 << 15
# Pairs of a point and an ellipsoid whose distances are computed together.
_MANY_PAIRS = 1 << 18


class Nearest(NamedTuple):
    """Pairs of a point and an ellipsoid than which none is nearer to that point.

    Attributes
    ----------
    row, which : ndarray of shape (n_pairs,)
        Number of the point and of the ellipsoid; rows ascending, each row at least once unless its limit was smaller.
    distance, gauge : ndarray of shape (n_pairs,)
        Of the point to and under the ellipsoid.

    Examples
    --------
    >>> Nearest(np.array([0]), np.array([2]), np.array([1.5]), np.array([4.0])).which.tolist()
    [2]
    """

    row: Rows
    which: Rows
    distance: FloatArray
    gauge: FloatArray


class _Pairs(NamedTuple):
    """Pairs of a point and an ellipsoid that may be its nearest.

    Attributes
    ----------
    row, which : ndarray of shape (n_pairs,)
    y : ndarray of shape (n_pairs, d)
        The point in the ellipsoid's axes about its centre.
    below : ndarray of shape (n_pairs,)
        The distance is no less.
    is_likely : ndarray of bool, shape (n_pairs,)
        Whether to begin with this pair.
    """

    row: Rows
    which: Rows
    y: FloatArray
    below: FloatArray
    is_likely: NDArray[np.bool_]


class EllipsoidStack:
    """A sequence of ellipsoids of the same dimension.

    What it says of a point does not depend on the other points it is asked about, to the last bit.

    Parameters
    ----------
    ellipsoids : sequence of Ellipsoid
        May be empty.
    dim : int
        Number of features.

    Examples
    --------
    >>> stack = EllipsoidStack([Ellipsoid([0.0], [[1.0]], [2.0]), Ellipsoid([9.0], [[1.0]], [1.0])], dim=1)
    >>> stack.gauges(np.array([[1.0], [8.5]])).tolist()
    [[0.5, 8.0], [4.25, 0.5]]
    >>> stack.nearest(np.array([[5.0]]), np.array([np.inf])).which.tolist()
    [0, 1]
    """

    def __init__(self, ellipsoids: Sequence[Ellipsoid], dim: int) -> None:
        n = len(ellipsoids)
        self.ellipsoids, self.dim = tuple(ellipsoids), dim
        self.centers = np.array([E.center for E in ellipsoids]).reshape(n, 1, dim)
        self.axes = np.array([E.axes for E in ellipsoids]).reshape(n, dim, dim)
        self.radii = np.array([E.radii for E in ellipsoids]).reshape(n, dim)

    def __len__(self) -> int:
        return len(self.ellipsoids)

    def __getitem__(self, which: int) -> Ellipsoid:
        return self.ellipsoids[which]

    def gauges(self, points: FloatArray, which: slice = ALL) -> FloatArray:
        """Return the gauge of each point under each ellipsoid.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        which : slice, optional
            The ellipsoids that are asked.

        Returns
        -------
        ndarray of shape (n, n_asked)
        """
        asked = range(len(self))[which]
        out = np.empty((len(points), len(asked)))
        step = max(_CACHED // (_BLOCK * self.dim), 1)
        for start in range(0, len(asked), step):
            some = asked[start : start + step]
            self._set_gauges(points, slice(some.start, some.stop), out[:, start : start + step])
        return out

    def _set_gauges(self, points: FloatArray, which: slice, out: FloatArray) -> None:
        radii = _repeated(self.radii[which])
        for rows, y in self._in_axes(points, which):
            wide = y.reshape(len(radii), _BLOCK // _ROWS_AT_ONCE, _ROWS_AT_ONCE * self.dim)
            np.divide(wide, radii, out=wide)
            out[rows] = np.sqrt(np.einsum("kij,kij->ki", y, y)).T[: rows.stop - rows.start]

    def gauge(self, points: FloatArray, which: int) -> FloatArray:
        """Return the gauge of each point under one ellipsoid, shape (n,)."""
        return self.gauges(points, slice(which, which + 1))[:, 0]

    def distances(self, point: FloatArray) -> FloatArray:
        """Return the distance of one point to each ellipsoid, shape (n_ellipsoids,)."""
        return np.array([E.distance(point[None])[0] for E in self.ellipsoids])

    def nearest(self, points: FloatArray, limit: FloatArray) -> Nearest:
        """Return the nearest ellipsoids of points that are outside of all of them.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        limit : ndarray of shape (n,)
            Ellipsoids further away than this do not count.

        Returns
        -------
        Nearest
            Ties, to a relative 1e-9, are all there.
        """
        found: list[Nearest] = []
        waiting: list[_Pairs] = []
        for rows, y in self._in_axes(points):
            waiting.append(self._may_be_nearest(y, limit[rows], rows.start))
            if sum(len(pairs.row) for pairs in waiting) > _MANY_PAIRS:
                found.append(self._judge(waiting, limit))
                waiting = []
        found.append(self._judge(waiting, limit))
        return Nearest(*(np.concatenate(field) for field in zip(*found, strict=True)))

    def _in_axes(self, points: FloatArray, which: slice = ALL) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the points in the axes of each ellipsoid about its centre: rows, and shape (n_ellipsoids, block, d).

        The array is the same each time.
        """
        centers, axes = _repeated(self.centers[which, 0]), self.axes[which]
        block = np.zeros((_BLOCK, self.dim))
        away, y = np.empty((2, len(axes), _BLOCK, self.dim))
        wide = away.reshape(len(axes), _BLOCK // _ROWS_AT_ONCE, _ROWS_AT_ONCE * self.dim)
        with one_blas_thread(self.dim**2):
            for start in range(0, len(points), _BLOCK):
                rows = slice(start, min(start + _BLOCK, len(points)))
                block[: rows.stop - start] = points[rows]
                np.subtract(block.reshape(wide.shape[1:]), centers, out=wide)
                yield rows, np.matmul(away, axes, out=y)

    def _may_be_nearest(self, y: FloatArray, limit: FloatArray, start: int) -> _Pairs:
        """Return which ellipsoids may be the nearest of each point, by two bounds of the distance.

        From above, the way along the ray to the centre. From below, the way to the hyperplane that touches the
        ellipsoid where that ray enters it.
        """
        y = y[:, : len(limit)]
        with np.errstate(all="ignore"):  # squares of huge coordinates overflow
            length, gauge, steepness = np.moveaxis(np.sqrt(np.matmul(y * y, self._powers)), 2, 0)
            below = gauge * (gauge - 1.0) / steepness
            above = length * (1.0 - 1.0 / gauge)
            least = np.fmin.reduce(above, axis=0, initial=np.inf)
            # Neither rounding nor a bound that is no number may lose the nearest.
            which, row = (~(below > np.minimum(least, limit) * _HARDLY_MORE)).nonzero()
        return _Pairs(row + start, which, y[which, row], below[which, row], above[which, row] <= least[row])

    @cached_property
    def _powers(self) -> FloatArray:
        """The radii to the powers of 0, -2 and -4, shape (n_ellipsoids, d, 3)."""
        with np.errstate(over="ignore", divide="ignore"):
            return np.stack([self.radii**power for power in (0.0, -2.0, -4.0)], axis=2)

    def _judge(self, waiting: list[_Pairs], limit: FloatArray) -> Nearest:
        """Return the nearest of the pairs."""
        if not waiting:
            return Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))
        pairs = _Pairs(*(np.concatenate(field) for field in zip(*waiting, strict=True)))
        best = limit.copy()
        distance = np.full(len(pairs.row), np.inf)
        for is_next in (pairs.is_likely, ~pairs.is_likely):
            # The others only where they are not known to be farther away.
            some = np.flatnonzero(is_next & ~(pairs.below > best[pairs.row] * _HARDLY_MORE))
            distance[some] = self._distances(pairs.which[some], pairs.y[some])
            np.minimum.at(best, pairs.row[some], distance[some])
        keep = np.flatnonzero(distance <= best[pairs.row] * (1.0 + DISTANCE_TOLERANCE))
        row, which = pairs.row[keep], pairs.which[keep]
        keep = keep[np.lexsort((which, row))]
        row, which, y = pairs.row[keep], pairs.which[keep], pairs.y[keep]
        u = y / self.radii[which]
        return Nearest(row, which, distance[keep], np.sqrt(np.einsum("ij,ij->i", u, u)))

    def _distances(self, which: Rows, y: FloatArray) -> FloatArray:
        """Return the distances of points, in the axes of the ellipsoids of these numbers, to these."""
        out = np.empty(len(which))
        for k in np.unique(which):
            mine = np.flatnonzero(which == k)
            out[mine] = distance_from_axes(y[mine], self.radii[k])
        return out


def _repeated(vectors: FloatArray) -> FloatArray:
    """Return vectors of shape (k, d) as often as rows are taken at once, shape (k, 1, many * d)."""
    return np.tile(vectors, _ROWS_AT_ONCE)[:, None]
