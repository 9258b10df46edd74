"""A design: weights on points, and what is known of every point under it.

Moment matrices M and leverages g are those of `mve`. The points are read in whole passes, one matrix product each, and
a point is read again only when an upper bound of its leverage says that it could matter.
"""

from collections.abc import Callable
from functools import cache
from math import sqrt
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg.lapack import dsyev

from sepc.common.errors import InputError
from sepc.common.typing import SMALLEST_SPREAD, BoolArray, FloatArray, IntArray
from sepc.geometry.ellipsoid import FLAT
from sepc.geometry.passes import EVERY_ROW
from sepc.geometry.principal_axes import principal_directions

# A few units in the last place.
ULPS = 4.0 * float(np.finfo(np.float64).eps)

OnStep = Callable[[int, float], None]
# Origin, mean relative to it, units of length and covariance in these units.
Measures = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

# Steps of one run of an interior point; fewer are enough, or rounding has ended it.
MAX_STEPS = 80
# With a gap below this a design is polished: its carriers lie on the ellipsoid up to rounding.
POLISHED = 1e-10
# A gap further below 0 than rounding explains: copies of few points filled the working set.
BROKEN = 1e-6

# Evenly filled body, or points that stick out: with a first gap above this, some points stick out.
STICKING_OUT = 0.5
# Points per dimension in a working set: with more of them each step takes longer, with fewer there are more.
FIRST = 10

# Compiled interior point, or the one that calls LAPACK: up to this order of a Newton matrix, and this many products in
# it, compiled loops beat BLAS and the calls around it.
SMALL_ORDER = 120
SMALL_PRODUCTS = 6 * 10**6

# Few points, or many, to read for the last time: from here on it pays to find out which need no second look.
_MANY = 1000


def check_units(unit: FloatArray) -> None:
    """Raise `InputError` where a feature has the unit 0: its values differ by too little to be measured."""
    if np.count_nonzero(unit) < len(unit):
        raise InputError(
            f"feature {int(np.argmin(unit))} has values that differ, but with a standard deviation below "
            f"{SMALLEST_SPREAD:g}; expected at least that, or equal values. Rescale the feature."
        )


class Design:
    """A design on its way to the optimal one: what is known of every point, and how it became known.

    `columns` and `offset` map a point to lifted coordinates in which the design has the identity for its moment
    matrix. `bound` holds for each point an upper bound of its leverage; it is exact wherever it could be the largest.
    """

    def __init__(self, X: FloatArray, measures: Measures, kernels: ModuleType, on_step: OnStep | None) -> None:
        self.X, self.kernels, self.on_step = X, kernels, on_step
        self.origin, self.center, self.unit, covariance = measures
        check_units(self.unit)
        self.directions, variance = principal_directions(covariance)
        self.columns, self.offset, self.spread = kernels.whitening(self.directions, variance, self.unit, FLAT)
        self.rank = len(self.offset) - 1
        self.base = self.columns, self.offset
        self.in_base: tuple[IntArray, FloatArray] | None = None
        self.n = n = self.rank + 1
        self.dim = n * (n + 1) // 2
        self.first_size = FIRST * n
        self.bound = np.empty(len(X))
        self.top = self.read(EVERY_ROW)
        self.is_even = self.gap <= STICKING_OUT
        self.n_read = 2 * len(X)  # to measure the points was the first pass
        self.n_iter = 0

    @property
    def gap(self) -> float:
        return self.top / self.n - 1.0

    @property
    def broken(self) -> bool:
        """Whether the moment matrix was singular: the leverages of a design have the mean n, none is below it alone."""
        return not self.gap >= -BROKEN  # so that NaN is not overlooked

    @property
    def n_passes(self) -> float:
        """How often the points were read, in multiples of reading each once."""
        return self.n_read / len(self.X)

    def certified(self, tol: float) -> bool:
        """Return whether the gap is at most `tol`."""
        return self.gap <= tol and not self.broken

    def lift(self, rows: IntArray, columns: FloatArray, offset: FloatArray) -> FloatArray:
        """Return some points in the lifted coordinates of a frame, shape (n, len(rows))."""
        lifted: FloatArray = self.kernels.lift(self.X, rows, self.origin, self.center, columns, offset)
        return lifted

    def lift_to_base(self, rows: IntArray) -> FloatArray:
        """Return some points in the lifted coordinates of the first frame; where few are solved at once, for free."""
        if self.in_base is None or self.in_base[0] is not rows:
            self.in_base = rows, self.lift(rows, *self.base)
        return self.in_base[1]

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

    def all_weights(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weights of all points, given those of some; the search is over."""
        full = self.bound  # no longer needed: its memory becomes the answer's
        full.fill(0.0)
        full[rows] = weights
        full.setflags(write=False)
        return full

    def read(self, rows: IntArray) -> float:
        """Make `bound` exact for some rows (all, if none are named); return the largest of these."""
        top: float = self.kernels.leverages(
            self.X, rows, self.origin, self.center, self.columns, self.offset, self.bound
        )
        return top

    def step(
        self, Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, limit: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the interior point on u and s; return weights and leverages of the design, and the map to its frame."""
        order = min(Q.shape[1], self.dim)
        small = order <= SMALL_ORDER and (Q.shape[1] + order) * order**2 <= SMALL_PRODUCTS
        solve = _for_small_sets() if small else _for_large_sets()
        try:
            leverage, inverse, mass, steps = _optimal_design()(solve, Q, u, s, stretch, target, limit, self.is_even)
        except np.linalg.LinAlgError:  # rounding ends the search: judge the design that it has reached
            leverage, inverse, mass, steps = solve(Q, u, s, 0.0, 0.0, 0)
        self.n_iter += steps
        return u / mass, leverage * mass, inverse * sqrt(mass)

    def enter(self, transform: FloatArray) -> None:
        """Go over to the frame that is reached from the present one by `transform`."""
        self.columns = self.columns.dot(transform.T)
        self.offset = transform.dot(self.offset)

    def move(self, transform: FloatArray, members: IntArray, leverage: FloatArray) -> IntArray:
        """Make the design whose frame is reached by `transform` the current one; return the rows that were read.

        No leverage grows by more than the largest eigenvalue of ``transform' transform``, so that only rows whose
        bound then exceeds the working set's largest leverage need to be read.
        """
        growth = dsyev(transform.dot(transform.T), compute_v=0)[0][-1] * (1.0 + 1e-12)
        self.enter(transform)
        self.top = inner = float(leverage.max())
        self.bound *= growth
        rows: IntArray = (self.bound > inner).nonzero()[0]
        if len(rows):
            top = self.read(rows)
            self.n_read += len(rows)
            if not top <= inner:  # so that NaN is not overlooked
                self.top = top
        self.bound[members] = leverage
        self.report()
        missing: IntArray = rows[self.bound[rows] > inner]
        return missing

    def report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def mixed(self, weights: FloatArray) -> FloatArray:
        """Return weights to start from: the last ones, and some for all, the more the further there is to go."""
        even = min(0.5, max(0.05, 3.0 * self.gap))
        mixed: FloatArray = weights * ((1.0 - even) / weights.sum())
        mixed += even / len(weights)
        return mixed

    def holds(self, u: FloatArray, s: FloatArray) -> BoolArray:
        """Return which points of a working set hold the ellipsoid, or are close enough to do so next."""
        n = self.n
        near: BoolArray = (u * n > s / n) | (s < n * self.gap)
        # Fewer cannot hold one: weights and slacks are still too far from their goal to tell.
        return near if np.count_nonzero(near) >= n else np.ones(len(near), dtype=bool)

    def others_above(self, level: float, rows: IntArray, most: int) -> IntArray:
        """Return the rows, other than these, whose bound exceeds a level; if they are too many, the uppermost."""
        above = self.bound > level
        above[rows] = False
        others = above.nonzero()[0]
        return others[largest(self.bound[others], most)]


@cache
def _for_small_sets() -> Callable[..., Any]:
    """Return the compiled interior-point method; only those who solve wait for the compiler."""
    from sepc.geometry._mve.small_interior_point import interior_point

    return interior_point


@cache
def _for_large_sets() -> Callable[..., Any]:
    """Return the interior-point method that calls LAPACK; only those who need it wait for its code."""
    from sepc.geometry._mve.interior_point import interior_point

    return interior_point


@cache
def _optimal_design() -> Callable[..., Any]:
    """Return what runs one of the two and polishes the carriers."""
    from sepc.geometry._mve.carriers import optimal_design

    return optimal_design


def largest(values: FloatArray, count: int) -> IntArray:
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
