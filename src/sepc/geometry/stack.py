"""Many ellipsoids asked at once: which of them hold a point, and which is the nearest."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._threads import one_blas_thread
from sepc.geometry.ellipsoid import Ellipsoid, distance_from_axes

# Distances that differ by less than this share are equal.
DISTANCE_TOLERANCE = 1e-9
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
    distance : ndarray of shape (n_pairs,)

    Examples
    --------
    >>> Nearest(np.array([0]), np.array([2]), np.array([1.5])).which.tolist()
    [2]
    """

    row: Rows
    which: Rows
    distance: FloatArray


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
        waiting: list[tuple[Rows, Rows, FloatArray]] = []
        for rows, y in self._in_axes(points):
            near = self._may_be_nearest(y, limit[rows])
            which, row = near.nonzero()
            waiting.append((row + rows.start, which, y[which, row]))
            if sum(len(pair[0]) for pair in waiting) > _MANY_PAIRS:
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

    def _may_be_nearest(self, y: FloatArray, limit: FloatArray) -> np.ndarray:
        """Return which ellipsoids may be the nearest of each point, by two bounds of the distance.

        From above, the way along the ray to the centre. From below, the way to the hyperplane that touches the
        ellipsoid where that ray enters it.
        """
        n = len(limit)
        u = y[:, :n] / self.radii[:, None]
        gauge, length, steepness = (
            np.sqrt(np.einsum("kij,kij->ki", v, v)) for v in (u, y[:, :n], u / self.radii[:, None])
        )
        with np.errstate(all="ignore"):  # squares of huge coordinates overflow
            below = gauge * (gauge - 1.0) / steepness
            above = length * (1.0 - 1.0 / gauge)
            best = np.minimum(np.fmin.reduce(above, axis=0, initial=np.inf), limit)
            # Neither rounding nor a bound that is no number may lose the nearest.
            return np.asarray(~(below > best * (1.0 + 1e3 * DISTANCE_TOLERANCE)))

    def _judge(self, waiting: list[tuple[Rows, Rows, FloatArray]], limit: FloatArray) -> Nearest:
        """Return the nearest of the pairs (row, which, point in the axes)."""
        if not waiting:
            return Nearest(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        row, which, y = (np.concatenate(field) for field in zip(*waiting, strict=True))
        distance = np.empty(len(row))
        for k in np.unique(which):
            pairs = np.flatnonzero(which == k)
            distance[pairs] = distance_from_axes(y[pairs], self.radii[k])
        best = np.full(len(limit), np.inf)
        np.minimum.at(best, row, distance)
        keep = distance <= np.minimum(best, limit)[row] * (1.0 + DISTANCE_TOLERANCE)
        row, which, distance = row[keep], which[keep], distance[keep]
        order = np.lexsort((which, row))
        return Nearest(row[order], which[order], distance[order])


def _repeated(vectors: FloatArray) -> FloatArray:
    """Return vectors of shape (k, d) as often as rows are taken at once, shape (k, 1, many * d)."""
    return np.tile(vectors, _ROWS_AT_ONCE)[:, None]
