"""Stacks of ellipsoids: gauges of points under all of them at once, the nearest ones, and local overlap of two."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import Ellipsoid, distance_from_axes, is_held
from sepc.geometry.threads import one_blas_thread

# Distances with a smaller relative difference are equal.
DISTANCE_TOLERANCE = 1e-9
# Allows for rounding of the bounds of distances.
_HARDLY_MORE = 1.0 + 1e3 * DISTANCE_TOLERANCE
# Points are always handled in blocks of exactly this number of rows, the last one padded: a point goes through the same
# matrix product alone and among a million others, so that its result has the same bits.
_BLOCK = 128
ALL = slice(None)
# Rows of a block that arithmetic takes at a time: NumPy is slow along short rows.
_ROWS_AT_ONCE = 16


class Nearest(NamedTuple):
    """Pairs of a point and a nearest ellipsoid, by their numbers, ascending; arrays of shape (n_pairs,).

    Each point occurs at least once, unless its limit was smaller.
    """

    row: IntArray
    which: IntArray
    distance: FloatArray
    gauge: FloatArray


class Candidates(NamedTuple):
    """Pairs of a point outside of all ellipsoids and one that may be its nearest, by their numbers.

    `below` is a lower bound of the distance, up to rounding; the pairs that are `is_likely` are measured first.
    """

    row: Any
    which: Any
    below: Any
    is_likely: Any

    @classmethod
    def joined(cls, parts: Sequence[tuple[int, "Candidates"]]) -> "Candidates":
        """Return the concatenated pairs of blocks of points, given with their first rows, as NumPy arrays."""
        nothing = cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, bool))
        moved = [part._replace(row=part.row + start) for start, part in parts]
        every = cls(*(np.concatenate(field) for field in zip(nothing, *moved, strict=True)))
        order = np.argsort(every.row, kind="stable")
        return cls(*(field[order] for field in every))

    def of_rows(self, rows: slice) -> "Candidates":
        """Return the pairs of some points, numbered from 0 on; `row` must be ascending."""
        mine = slice(*np.searchsorted(self.row, [rows.start, rows.stop]))
        some = Candidates(*(field[mine] for field in self))
        return some._replace(row=some.row - rows.start)


class EllipsoidStack:
    """A sequence, maybe empty, of ellipsoids of the same dimension.

    Results for a point have the same bits whatever other points are passed along.
    """

    def __init__(self, ellipsoids: Sequence[Ellipsoid], dim: int) -> None:
        self.ellipsoids, self.dim = tuple(ellipsoids), dim

    # Stacked on first use: a fit does without, and they would take memory.

    @cached_property
    def centers(self) -> FloatArray:
        """The centres, shape (n_ellipsoids, 1, d)."""
        return np.array([E.center for E in self.ellipsoids]).reshape(len(self), 1, self.dim)

    @cached_property
    def axes(self) -> FloatArray:
        """The axes, shape (n_ellipsoids, d, d)."""
        return np.array([E.axes for E in self.ellipsoids]).reshape(len(self), self.dim, self.dim)

    @cached_property
    def radii(self) -> FloatArray:
        """The radii, shape (n_ellipsoids, d)."""
        return np.array([E.radii for E in self.ellipsoids]).reshape(len(self), self.dim)

    def __len__(self) -> int:
        return len(self.ellipsoids)

    def __getitem__(self, which: int) -> Ellipsoid:
        return self.ellipsoids[which]

    def gauges(self, points: FloatArray, which: slice = ALL) -> FloatArray:
        """Return the gauge of each point under each of some ellipsoids, shape (n, number of these)."""
        wanted = range(len(self))[which]
        out = np.empty((len(points), len(wanted)))
        step = max((1 << 15) // (_BLOCK * self.dim), 1)  # 256 kB of coordinates stay in the cache
        for columns in chunk_slices(len(wanted), step):
            some = wanted[columns]
            self._set_gauges(points, slice(some.start, some.stop), out[:, columns])
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

    def nearest(self, points: FloatArray, limit: FloatArray, candidates: Candidates | None = None) -> Nearest:
        """Return the nearest ellipsoids, no farther than `limit`, shape (n,), of points that are outside of all.

        Of ties, to a relative 1e-9, all are returned.
        """
        row, which, below, is_likely = self._candidates(points, limit) if candidates is None else candidates
        best = limit.copy()
        distance, gauge = np.full((2, len(row)), np.inf)
        for is_next in (is_likely, ~is_likely):
            # The others only where the lower bound does not rule them out.
            some = np.flatnonzero(is_next & ~(below > best[row] * _HARDLY_MORE))
            for k in np.unique(which[some]):
                pairs = some[which[some] == k]
                distance[pairs], gauge[pairs] = self._distances_and_gauges(points[row[pairs]], k)
            np.minimum.at(best, row[some], distance[some])
        keep = np.flatnonzero(distance <= best[row] * (1.0 + DISTANCE_TOLERANCE))
        keep = keep[np.lexsort((which[keep], row[keep]))]
        return Nearest(row[keep], which[keep], distance[keep], gauge[keep])

    def _candidates(self, points: FloatArray, limit: FloatArray) -> Candidates:
        found = []
        for rows, y in self._in_axes(points) if len(self) else ():
            with np.errstate(all="ignore"):  # squares of huge coordinates overflow
                y /= self.unit
                y *= y
                sums = np.matmul(y[:, : rows.stop - rows.start], self.powers)
                found.append((rows.start, candidates_among(np, sums, self.unit, limit[rows])))
        return Candidates.joined(found)

    @cached_property
    def unit(self) -> float:
        """The largest radius."""
        return float(self.radii.max(initial=0.0)) or 1.0

    @cached_property
    def powers(self) -> FloatArray:
        """The radii, in units of the largest, to the powers of 0, -2 and -4, shape (n_ellipsoids, d, 3).

        See `candidates_among`. None of them underflows.
        """
        with np.errstate(over="ignore", divide="ignore"):
            return np.stack([(self.radii / self.unit) ** power for power in (0.0, -2.0, -4.0)], axis=2)

    def _distances_and_gauges(self, points: FloatArray, which: int) -> tuple[FloatArray, FloatArray]:
        """Return the distances to, and the gauges under, one ellipsoid, shape (n,) each."""
        y = np.empty_like(points)
        for rows, (block,) in self._in_axes(points, slice(which, which + 1)):
            y[rows] = block[: rows.stop - rows.start]
        distances = distance_from_axes(y, self.radii[which])
        y /= self.radii[which]
        return distances, np.sqrt(np.einsum("ij,ij->i", y, y))

    def _in_axes(self, points: FloatArray, which: slice = ALL) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the points in the axes of each ellipsoid about its centre: rows, and shape (n_ellipsoids, block, d).

        The array is the same each time.
        """
        centers, axes = _repeated(self.centers[which, 0]), self.axes[which]
        block = np.zeros((_BLOCK, self.dim))
        away, y = np.empty((2, len(axes), _BLOCK, self.dim))
        wide = away.reshape(len(axes), _BLOCK // _ROWS_AT_ONCE, _ROWS_AT_ONCE * self.dim)
        with one_blas_thread(self.dim**2):
            for rows in chunk_slices(len(points), _BLOCK):
                block[: rows.stop - rows.start] = points[rows]
                np.subtract(block.reshape(wide.shape[1:]), centers, out=wide)
                yield rows, np.matmul(away, axes, out=y)


def candidates_among(xp: Any, sums: Any, unit: float, limit: Any) -> Candidates:
    """Return which ellipsoids may be the nearest of points, by two bounds of the distance.

    The upper bound is the distance along the ray to the centre, the lower bound that to the tangent hyperplane where
    this ray enters the ellipsoid.

    Parameters
    ----------
    xp : module
        Library of the arrays, also of the result.
    sums : array of shape (n_ellipsoids, n, 3)
        Sums over the squares of a point's coordinates, in the axes of at least one ellipsoid and in units of
        `EllipsoidStack.unit`, times `EllipsoidStack.powers`.
    unit : float
    limit : array of shape (n,)
        Ellipsoids farther away than this do not count.
    """
    length, gauge, steepness = (xp.sqrt(sums[..., k]) for k in range(3))
    below = unit * (gauge * (gauge - 1.0) / steepness)
    above = unit * (length * (1.0 - 1.0 / gauge))
    # Neither rounding nor a bound of NaN may exclude the nearest.
    above = xp.where(xp.isnan(above), xp.inf, above)
    least = xp.min(above, axis=0)
    which, row = xp.nonzero(~(below > xp.minimum(least, limit) * _HARDLY_MORE) | (above <= least))
    pairs = which * limit.shape[0] + row
    below, above = (xp.take(xp.reshape(bound, (-1,)), pairs) for bound in (below, above))
    return Candidates(row, which, below, above <= xp.take(least, row))


def _repeated(vectors: FloatArray) -> FloatArray:
    """Return vectors of shape (k, d), repeated for the rows that are taken at once, shape (k, 1, 16 * d)."""
    return np.tile(vectors, _ROWS_AT_ONCE)[:, None]


def local_overlap(xp: Any, stack: EllipsoidStack, gauges: Iterable[Any], group: IntArray) -> Any:
    """Return the largest overlap at each point of two ellipsoids of different groups that contain it.

    The overlap of two densities f and g at a point is ``min(f, g) / (f + g)``: one half where they are equal, near 0
    where one is much larger. The densities are the normal ones of `overlap_coefficient`. It is no bound of an error.

    Parameters
    ----------
    xp : module
        Library of the arrays.
    stack : EllipsoidStack
    gauges : iterable of arrays of shape (n,)
        Gauges of the points under each ellipsoid.
    group : ndarray of int, shape (n_ellipsoids,)
        Two or more groups, numbered from 0 on.

    Returns
    -------
    array of shape (n,)
        NaN for points that no two ellipsoids of different groups contain. Invariant under affine maps.
    """
    # Sorted by group, so that the ellipsoids of later groups are a slice.
    by_group = sorted(zip(group.tolist(), stack.ellipsoids, gauges, strict=True), key=lambda one: one[0])
    groups = [k for k, _, _ in by_group]
    logs = xp.stack([-0.5 * (stack.dim + 2.0) * gauge * gauge - E.log_volume for _, E, gauge in by_group], axis=1)
    held = xp.stack([is_held(gauge) for _, _, gauge in by_group], axis=1)
    gap = xp.full_like(logs[:, 0], xp.inf)
    for k, own in enumerate(groups[: groups.index(groups[-1])]):
        later = slice(bisect_right(groups, own), None)
        both = held[:, later] & held[:, k : k + 1]
        gap = xp.minimum(gap, xp.min(xp.where(both, xp.abs(logs[:, later] - logs[:, k : k + 1]), xp.inf), axis=1))
    ratio = xp.exp(-gap)
    return xp.where(gap < xp.inf, ratio / (1.0 + ratio), xp.nan)
