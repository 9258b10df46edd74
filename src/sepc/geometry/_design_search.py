"""The search behind `min_volume_ellipsoid`: for the optimal design, on working sets of few points.

Designs, moment matrices M and leverages g are those of `mve`. The points are read in whole passes, one matrix product
each. Everything else happens on a small working set, and a point is read again only when an upper bound of its leverage
says that it could matter.
"""

from collections.abc import Callable
from functools import cache
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyev, dtrtri

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._passes import EVERY_ROW

# A direction with less RMS spread than this, in units of length of the features, is flat.
FLAT = 1e-6

# A few units in the last place.
ULPS = 4.0 * float(np.finfo(np.float64).eps)

OnStep = Callable[[int, float], None]
# Origin, mean relative to it, units of length and covariance in these units.
Measures = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

# Points per dimension in the first working set: with more of them each step takes longer, with fewer there are more.
_FIRST = 10
# By how much the background of the first steps fades with each of them, and when it is faint enough to do without.
_FADING = 0.2
_FAINT = 0.1
# While a step leaves no more of the gap than this, letting in what sticks out is better than a new working set; from an
# evenly filled body nothing sticks out at first, and it pays less.
_BRISK, _BRISK_IF_EVEN = 0.8, 0.5
# A new working set takes in the points this near to the boundary, as a part of the gap.
_NEAR = 0.1
# Each later working set is solved to this part of the gap before: what it leaves out shows up only then.
_GAIN = 0.07
_MAX_ROUNDS = 60
# A gap further below 0 than rounding explains: copies of few points filled the working set.
_BROKEN = 1e-6
_MAX_STEPS = 80
# Up to this many points, times the entries of a moment matrix, the short way is the fastest; how many entries count as
# few, and how often it is tried.
_SHORT = 120_000
_LOW = 36
_TRIES = 6
# Points with less than this part of the mean leverage hardly ever come to carry weight. The others may fail to span the
# space; then the search begins anew with all of them.
_INNER = 0.5
# With a first gap above this, some points stick out. Then so many per dimension, or this part of all, are enough to
# begin with; after so many tries those that turn out not to hold the ellipsoid are no longer dropped.
_STICKING_OUT = 0.5
_OUTER_PER_DIMENSION = 4
_OUTER_PART = 0.6
_DROPPING = 2
# Of more points those with this part of the mean leverage; or with the other one, if these are few or an evenly filled
# body has no points that stick out.
_OUTER = 1.1
_NOT_INNER = 0.9
# From here on it pays to find out which points need no second look.
_MANY = 1000
# Up to this order of a Newton matrix, and this many products in it, compiled loops beat BLAS and the calls around it.
_TINY = 120
_SMALL = 6 * 10**6


class DesignSearch:
    """One search for the optimal design: what is known of every point, and how it became known.

    `columns` and `offset` map a point to lifted coordinates in which the current design has the identity for its
    moment matrix. `bound` holds for each point an upper bound of its leverage under that design; it is exact
    wherever it could be the largest.
    """

    def __init__(self, X: FloatArray, measures: Measures, kernels: ModuleType, on_step: OnStep | None) -> None:
        self.X, self.kernels, self.on_step = X, kernels, on_step
        self.origin, self.center, self.unit, covariance = measures
        self.directions, variance = kernels.rows_svd(covariance)
        self.columns, self.offset, self.spread = kernels.whitening(self.directions, variance, self.unit, FLAT)
        self.rank = len(self.offset) - 1
        self.base = self.columns, self.offset
        self.n = n = self.rank + 1
        self.dim = n * (n + 1) // 2
        self.first_size = _FIRST * n
        self.bound = np.empty(len(X))
        self.top = self._read(EVERY_ROW)
        self.is_even = self.gap <= _STICKING_OUT
        self.n_read = 2 * len(X)  # to measure the points was the first pass
        self.n_iter = 0

    @property
    def gap(self) -> float:
        return self.top / self.n - 1.0

    @property
    def broken(self) -> bool:
        """Whether the moment matrix was singular: the leverages of a design have the mean n, none is below it alone."""
        return not self.gap >= -_BROKEN  # so that NaN is not overlooked

    @property
    def n_passes(self) -> float:
        """How often the points were read, in multiples of reading each once."""
        return self.n_read / len(self.X)

    def carriers(self, rows: Rows) -> FloatArray | None:  # noqa: ARG002
        """Return the points at these rows where they are not the caller's own."""
        return None

    def certified(self, tol: float) -> bool:
        """Return whether the gap is at most `tol`."""
        return self.gap <= tol and not self.broken

    def solve(self, tol: float) -> tuple[Rows, FloatArray]:
        """Return the rows that may carry weight, and their weights."""
        N = len(self.X)
        if self.rank == 0:
            return np.arange(N), np.full(N, 1.0 / N)
        few = N * self.dim <= _SHORT
        # In many dimensions an evenly filled body has too many points near its boundary for the short way.
        if self.first_size >= N or (few and (self.dim <= _LOW or not self.is_even)):
            rows, weights = self.solve_at_once(tol)
            if self.certified(tol):
                return rows, weights
            self.columns, self.offset = self.base
            self.top = self._read(EVERY_ROW)
            self.n_read += N
        return self.refine(*self.explore(), tol)

    def solve_at_once(self, tol: float) -> tuple[Rows, FloatArray]:
        """Solve to the end on the outer points, let in those that stick out, and again: short for few points."""
        rows = self._outer_rows(self.bound)
        u = self.bound[rows]
        for i in range(_TRIES):
            Q, s = self.lift(rows, self.columns, self.offset), np.empty(len(rows))
            weights, _, transform = self._step(Q, u, s, 1.02, 0.3 * tol, _MAX_STEPS)
            self._enter(transform)
            self.top = self._read(EVERY_ROW)
            self.n_read += len(self.X)
            self._report()
            if not self.gap > tol or len(rows) == len(self.X):
                break
            new = self._others_above(self.n, rows, len(rows))
            if i < _DROPPING:
                held = self._holds(u, s)
                rows, weights = rows[held], weights[held]
            rows = np.append(rows, new)
            u = self._mixed(np.append(weights, np.zeros(len(new))))
        return rows, weights

    def _outer_rows(self, leverage: FloatArray) -> Rows:
        """Return the rows to begin with: if they are hardly more than may carry weight, all but the inner ones."""
        size = max(self.first_size, 45)
        if len(leverage) <= self.first_size:
            outer: Rows = (leverage > _INNER * self.n).nonzero()[0]
            enough = max(_OUTER_PER_DIMENSION * self.n, int(_OUTER_PART * len(leverage)))
            if len(outer) > enough and not self.is_even:
                outer = outer[_largest(leverage[outer], enough)]
            return outer if len(outer) >= 2 * self.n else np.arange(len(leverage))
        if len(leverage) <= 3 * size:  # a comparison takes less time than a selection
            outer = (leverage > _OUTER * self.n).nonzero()[0]
            is_enough = len(outer) >= _OUTER_PER_DIMENSION * self.n and not self.is_even
            return outer if is_enough else (leverage > _NOT_INNER * self.n).nonzero()[0]
        return _largest(leverage, size)

    def explore(self) -> tuple[Rows, FloatArray, FloatArray, bool]:
        """Take the first steps, letting points in after each; return rows, weights, slacks, and if no row is missing.

        The uniform design over all points lies under the working set as a background that fades from step to step.
        Without it the first working set would be fitted too closely, and on evenly filled bodies thousands of
        points would come up against it.
        """
        rows = _largest(self.bound, self.first_size)
        Q = self.lift(rows, *self.base)
        share = min(0.9, max(0.05, self.gap / (1.0 + self.gap)))
        u = np.append(self.bound[rows] * (share / self.bound[rows].sum()), 1.0 - share)
        s = np.empty(len(rows))
        stretch = 1.02
        brisk = _BRISK_IF_EVEN if self.is_even else _BRISK
        previous = np.eye(self.n)
        for _ in range(_MAX_STEPS):
            before = self.gap
            weights, leverage, transform = self._step(Q, u, s, stretch, _GAIN * before, 1)
            stretch = 0.0
            missing = self._move(transform.dot(previous), rows, leverage)
            if self.broken or (weights[-1] <= _FAINT and (not len(missing) or self.gap > brisk * before)):
                break
            previous = dtrtri(transform, lower=1)[0]
            u[-1] *= _FADING
            if not len(missing):
                continue
            new = missing[_largest(self.bound[missing], self.first_size // 2)]
            new_u, new_s = self._entry(new, u, s)
            rows = np.concatenate([rows, new])
            Q = np.concatenate([Q, self.lift(new, *self.base)], axis=1)
            u = np.concatenate([u[:-1], new_u, u[-1:]])
            s = np.concatenate([s, new_s])
        return rows, u[:-1], s, len(missing) == 0

    def refine(self, rows: Rows, u: FloatArray, s: FloatArray, complete: bool, tol: float) -> tuple[Rows, FloatArray]:
        """Solve on working sets of the points near the boundary until a pass certifies the tolerance."""
        prune = {True: True, False: True}
        weights = u
        for _ in range(_MAX_ROUNDS):
            if self.broken:
                break
            before = self.gap
            held = self._holds(u, s) if prune[complete] else slice(None)
            if complete:
                rows, u, s, stretch = rows[held], u[held], s[held], 0.0
            else:
                rows, u = self._working_set(rows[held], u[held])
                s, stretch = np.empty(len(rows)), 1.02
            Q = self.lift(rows, self.columns, self.offset)
            target = max(0.3 * tol, _GAIN * before)
            weights, leverage, transform = self._step(Q, u, s, stretch, target, _MAX_STEPS)
            missing = self._move(transform, rows, leverage)
            if self.certified(tol):
                break
            # A round that gained little has dropped points that came back: from then on rounds of its kind drop none.
            gained = self.gap < 0.5 * before
            prune[complete] = prune[complete] and gained
            complete = gained and len(missing) == 0
        return rows, weights

    def lift(self, rows: Rows, columns: FloatArray, offset: FloatArray) -> FloatArray:
        """Return some points in the lifted coordinates of a frame, shape (n, len(rows))."""
        lifted: FloatArray = self.kernels.lift(self.X, rows, self.origin, self.center, columns, offset)
        return lifted

    def extend(self, points: FloatArray, leverage: FloatArray) -> None:
        """Take in further points, whose leverages under the current design are known."""
        self.X, self.bound = np.concatenate([self.X, points]), np.concatenate([self.bound, leverage])
        self.top = max(self.top, float(leverage.max()))

    def widest_deviation(self, columns: FloatArray) -> float:
        """Return the largest of ``|columns' x|^2`` over all points x, relative to the center."""
        self.n_read += len(self.X)
        nothing = np.zeros(columns.shape[1])
        widest: float = self.kernels.leverages(
            self.X, EVERY_ROW, self.origin, self.center, columns, nothing, np.empty(len(self.X))
        )
        return widest

    def square_of_reach(self, center: FloatArray, axes: FloatArray, radii: FloatArray) -> float:
        """Return the square of the largest gauge of all points under the current design's ellipsoid."""
        rows = EVERY_ROW
        if len(self.X) > _MANY and self.rank == len(center):
            slack = 4.0 * _gauge_noise(center, axes, radii)
            rows = np.flatnonzero(self.bound > 1.0 + (1.0 - slack) * (self.top - 1.0))
        self.n_read += len(rows) or len(self.X)
        nothing = np.zeros(len(center))
        square: float = self.kernels.leverages(self.X, rows, center, nothing, axes / radii, nothing, self.bound)
        return square

    def all_weights(self, rows: Rows, weights: FloatArray) -> FloatArray:
        """Return the weights of all points, given those of some; the search is over."""
        full = self.bound  # no longer needed: its memory becomes the answer's
        full.fill(0.0)
        full[rows] = weights
        full.setflags(write=False)
        return full

    def _read(self, rows: Rows) -> float:
        """Make `bound` exact for some rows (all, if none are named); return the largest of these."""
        top: float = self.kernels.leverages(
            self.X, rows, self.origin, self.center, self.columns, self.offset, self.bound
        )
        return top

    def _step(
        self, Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, limit: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the interior point on u and s; return weights and leverages of the design, and the map to its frame."""
        order = min(Q.shape[1], self.dim)
        small = order <= _TINY and (Q.shape[1] + order) * order**2 <= _SMALL
        solve = self.kernels.interior_point if small else _for_large_sets()
        try:
            leverage, inverse, mass, steps = solve(Q, u, s, stretch, target, limit)
        except np.linalg.LinAlgError:  # rounding ends the search: judge the design that it has reached
            leverage, inverse, mass, steps = solve(Q, u, s, 0.0, 0.0, 0)
        self.n_iter += steps
        return u / mass, leverage * mass, inverse * sqrt(mass)

    def _enter(self, transform: FloatArray) -> None:
        """Go over to the frame that is reached from the present one by `transform`."""
        self.columns = self.columns.dot(transform.T)
        self.offset = transform.dot(self.offset)

    def _move(self, transform: FloatArray, members: Rows, leverage: FloatArray) -> Rows:
        """Make the design whose frame is reached by `transform` the current one; return the rows that were read.

        No leverage grows by more than the largest eigenvalue of ``transform' transform``, so that only rows whose
        bound then exceeds the working set's largest leverage need to be read.
        """
        growth = dsyev(transform.dot(transform.T), compute_v=0)[0][-1] * (1.0 + 1e-12)
        self._enter(transform)
        self.top = inner = float(leverage.max())
        self.bound *= growth
        rows: Rows = (self.bound > inner).nonzero()[0]
        if len(rows):
            top = self._read(rows)
            self.n_read += len(rows)
            if not top <= inner:  # so that NaN is not overlooked
                self.top = top
        self.bound[members] = leverage
        self._report()
        missing: Rows = rows[self.bound[rows] > inner]
        return missing

    def _report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def _mixed(self, weights: FloatArray) -> FloatArray:
        """Return weights to start from: the last ones, and some for all, the more the further there is to go."""
        even = min(0.5, max(0.05, 3.0 * self.gap))
        mixed: FloatArray = weights * ((1.0 - even) / weights.sum())
        mixed += even / len(weights)
        return mixed

    def _entry(self, new: Rows, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights and slacks with which new points join a running interior point, near its central path."""
        mass = u.sum()
        slack = np.maximum(self.n - self.bound[new] / mass, 0.3 * self.n * self.gap)
        weight = (u[:-1] @ s) / len(s) / slack
        return weight * min(1.0, 0.3 * mass / max(weight.sum(), 1e-300)), slack

    def _holds(self, u: FloatArray, s: FloatArray) -> NDArray[np.bool_]:
        """Return which points of a working set hold the ellipsoid, or are close enough to do so next."""
        n = self.n
        near: NDArray[np.bool_] = (u * n > s / n) | (s < n * self.gap)
        # Fewer cannot hold one: weights and slacks are still too far from their goal to tell.
        return near if np.count_nonzero(near) >= n else np.ones(len(near), dtype=bool)

    def _working_set(self, rows: Rows, weights: FloatArray) -> tuple[Rows, FloatArray]:
        """Return these rows and those near the boundary, and weights to start from."""
        # An evenly filled body has many points next to its boundary, and many of these come to hold the ellipsoid.
        most = max(2 * self.dim, 15 * self.n) if self.is_even else self.first_size
        near = self._others_above(self.n * (1.0 - _NEAR * self.gap), rows, most)
        return np.concatenate([rows, near]), self._mixed(np.concatenate([weights, np.zeros(len(near))]))

    def _others_above(self, level: float, rows: Rows, most: int) -> Rows:
        """Return the rows, other than these, whose bound exceeds a level; if they are too many, the uppermost."""
        above = self.bound > level
        above[rows] = False
        others = above.nonzero()[0]
        return others[_largest(self.bound[others], most)]


@cache
def _for_large_sets() -> Callable[..., Any]:
    """Return the interior-point method that calls LAPACK; only those who need it wait for its code."""
    from sepc.geometry._interior_point import interior_point

    return interior_point


def _largest(values: FloatArray, count: int) -> Rows:
    """Return the positions of about the `count` largest values (at most that many)."""
    if len(values) <= count:
        return np.arange(len(values))
    if len(values) > 100 * count:
        # A threshold from a sample leaves few to choose from, at the price of one comparison for each value.
        sample = values[:: len(values) // (50 * count) + 1]
        above = min(len(sample), 2 + 2 * count * len(sample) // len(values))
        rows = np.flatnonzero(values >= np.partition(sample, -above)[-above])
        if len(rows) <= count:
            return rows
        return rows[np.argpartition(values[rows], -count)[-count:]]
    return np.argpartition(values, -count)[-count:]


def _gauge_noise(center: FloatArray, axes: FloatArray, radii: FloatArray) -> float:
    """Bound the rounding error of a gauge near 1, by the size of the terms that it and the centre are made of."""
    half_width = np.sqrt(np.square(axes * radii).sum(axis=1))
    terms = np.abs(axes).T @ (len(radii) * half_width + np.abs(center))
    return float(ULPS * (terms / radii).max())
