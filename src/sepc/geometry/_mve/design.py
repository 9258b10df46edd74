"""A design: weights on points, and bounds of the leverage of every point under it.

Moment matrices M and leverages g are those of `mve`. The points are read in whole passes, one matrix product each, and
a point is read again only if the bound of its leverage shows that it could matter.

The last digits come from Newton's method on the support points of the design (polishing). An interior point with a gap
of 1e-7 may have an error of 1e-4 in the shape of the ellipsoid, where points without weight lie on it, but it finds the
support points: those with more weight than slack ``n - g``. The design is optimal to rounding when all of them have
leverage n. Their Newton matrix ``(z_i . z_j)^2`` may be singular, since only the moment matrix is unique, not the
weights. So it is damped by the error, with which convergence stays quadratic, and support points are chosen again after
each step: those whose weight is below their slack leave, points that stick out enter.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np
from scipy.linalg.lapack import dsyev

from sepc.common.errors import InputError
from sepc.common.typing import SMALLEST_SPREAD, BoolArray, FloatArray, IntArray
from sepc.geometry import _kernels
from sepc.geometry._mve import large_interior_point, small_interior_point
from sepc.geometry._mve.large_interior_point import polish_many
from sepc.geometry._mve.small_interior_point import polish_few
from sepc.geometry.ellipsoid import FLAT, ULPS
from sepc.geometry.passes import EVERY_ROW, principal_directions

OnStep = Callable[[int, float], None]
InteriorPoint = Callable[
    [FloatArray, FloatArray, FloatArray, float, float, int], tuple[FloatArray, FloatArray, float, int]
]
# Origin, mean relative to it, units of length and covariance in these units.
Measures = tuple[FloatArray, FloatArray, FloatArray, FloatArray]

# Steps of one run of an interior point; fewer are enough, or rounding has ended it.
MAX_STEPS = 80
# A gap below minus this is more than rounding: copies of few points have made the working set singular.
BROKEN = 1e-6
# With a first gap above this some points stick out; else the body is evenly filled.
STICKING_OUT = 0.5
# For few points: rounds in which points enter, and the first ones of them, in which others are dropped.
TRIES, DROPPING = 6, 2
# Points per dimension in a working set: with more of them each step takes longer, with fewer there are more steps.
FIRST = 10
# Order of a Newton matrix, and number of products in it, up to which compiled loops are faster than LAPACK.
SMALL_ORDER = 120
SMALL_PRODUCTS = 6 * 10**6


def check_units(unit: FloatArray) -> None:
    """Raise `InputError` where a feature has the unit 0: its values differ by too little to be measured."""
    if np.count_nonzero(unit) < len(unit):
        raise InputError("spread-too-small", feature=int(np.argmin(unit)), smallest=SMALLEST_SPREAD)


class Design:
    """The state of the search for the optimal design.

    `columns` and `offset` map a point to its frame: lifted coordinates in which the moment matrix of the design is the
    identity. `bound` has an upper bound of each leverage, exact wherever it could be the largest.
    """

    def __init__(self, X: FloatArray, measures: Measures, on_step: OnStep | None) -> None:
        self.X, self.on_step = X, on_step
        self.origin, self.center, self.unit, covariance = measures
        check_units(self.unit)
        self.directions, variance = principal_directions(covariance)
        self.columns, self.offset, self.spread = _kernels.whitening(self.directions, variance, self.unit, FLAT)
        self.rank = len(self.offset) - 1
        self.base = self.columns, self.offset
        self.in_base: tuple[IntArray, FloatArray] | None = None
        self.n = n = self.rank + 1
        self.dim = n * (n + 1) // 2
        self.first_size = FIRST * n
        self.bound = np.empty(len(X))
        self.top = self.read(EVERY_ROW)
        self.is_even = self.gap <= STICKING_OUT
        self.n_read = 2 * len(X)  # the moments were the first pass
        self.n_iter = 0

    @property
    def gap(self) -> float:
        return self.top / self.n - 1.0

    @property
    def broken(self) -> bool:
        """Whether the moment matrix was singular: else the mean leverage is n, and the gap is not negative."""
        return not self.gap >= -BROKEN  # true for NaN

    @property
    def n_passes(self) -> float:
        return self.n_read / len(self.X)

    def certified(self, tol: float) -> bool:
        """Return whether the gap is at most `tol`."""
        return self.gap <= tol and not self.broken

    def lift(self, rows: IntArray, columns: FloatArray, offset: FloatArray) -> FloatArray:
        """Return some points in the lifted coordinates of a frame, shape (n, len(rows))."""
        lifted: FloatArray = _kernels.lift(self.X, rows, self.origin, self.center, columns, offset)
        return lifted

    def lift_to_base(self, rows: IntArray) -> FloatArray:
        """Return some points in the lifted coordinates of the first frame; the last result is kept."""
        if self.in_base is None or self.in_base[0] is not rows:
            self.in_base = rows, self.lift(rows, *self.base)
        return self.in_base[1]

    def widest_deviation(self, columns: FloatArray) -> float:
        """Return the largest of ``|columns' x|^2`` over all points x, relative to the center."""
        self.n_read += len(self.X)
        nothing = np.zeros(columns.shape[1])
        widest: float = _kernels.leverages(
            self.X, EVERY_ROW, self.origin, self.center, columns, nothing, np.empty(len(self.X))
        )
        return widest

    def square_of_reach(self, center: FloatArray, axes: FloatArray, radii: FloatArray) -> float:
        """Return the square of the largest gauge of all points under the current design's ellipsoid."""
        rows = EVERY_ROW
        if len(self.X) > 1000 and self.rank == len(center):
            slack = 4.0 * _gauge_noise(center, axes, radii)
            rows = np.flatnonzero(self.bound > 1.0 + (1.0 - slack) * (self.top - 1.0))
        self.n_read += len(rows) or len(self.X)
        nothing = np.zeros(len(center))
        square: float = _kernels.leverages(self.X, rows, center, nothing, axes / radii, nothing, self.bound)
        return square

    def all_weights(self, rows: IntArray, weights: FloatArray) -> FloatArray:
        """Return the weights of all points, given those of some; the search is over."""
        full = self.bound  # reuse its memory
        full.fill(0.0)
        full[rows] = weights
        full.setflags(write=False)
        return full

    def read(self, rows: IntArray) -> float:
        """Make `bound` exact for some rows, all if `rows` is empty; return the largest of these."""
        top: float = _kernels.leverages(self.X, rows, self.origin, self.center, self.columns, self.offset, self.bound)
        return top

    def step(
        self, Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, limit: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the interior point on u and s; return weights and leverages of the design, and the map to its frame."""
        order = min(Q.shape[1], self.dim)
        small = order <= SMALL_ORDER and (Q.shape[1] + order) * order**2 <= SMALL_PRODUCTS
        solve = small_interior_point.interior_point if small else large_interior_point.interior_point
        try:
            leverage, inverse, mass, steps = optimal_design(solve, Q, u, s, stretch, target, limit, self.is_even)
        except np.linalg.LinAlgError:  # rounding ends the search: evaluate the design reached
            leverage, inverse, mass, steps = solve(Q, u, s, 0.0, 0.0, 0)
        self.n_iter += steps
        return u / mass, leverage * mass, inverse * sqrt(mass)

    def enter(self, transform: FloatArray) -> None:
        """Apply a transform to the present frame."""
        self.columns = self.columns.dot(transform.T)
        self.offset = transform.dot(self.offset)

    def move(self, transform: FloatArray, members: IntArray, leverage: FloatArray) -> IntArray:
        """Make the design with the transformed frame the current one; return the rows that stick out.

        Leverages grow at most by the largest eigenvalue of ``transform' transform``: only rows whose bound then exceeds
        the largest leverage of the working set are read.
        """
        growth = dsyev(transform.dot(transform.T), compute_v=0)[0][-1] * (1.0 + 1e-12)
        self.enter(transform)
        self.top = inner = float(leverage.max())
        self.bound *= growth
        rows: IntArray = (self.bound > inner).nonzero()[0]
        if len(rows):
            top = self.read(rows)
            self.n_read += len(rows)
            if not top <= inner:  # true for NaN
                self.top = top
        self.bound[members] = leverage
        self.report()
        missing: IntArray = rows[self.bound[rows] > inner]
        return missing

    def report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def others_above(self, level: float, rows: IntArray, most: int) -> IntArray:
        """Return the other rows whose bound exceeds a level, at most the `most` largest."""
        above = self.bound > level
        above[rows] = False
        others = above.nonzero()[0]
        return others[largest(self.bound[others], most)]


def optimal_design(
    solve: InteriorPoint,
    Q: FloatArray,
    u: FloatArray,
    s: FloatArray,
    stretch: float,
    target: float,
    max_iter: int,
    is_even: bool,
) -> tuple[FloatArray, FloatArray, float, int]:
    """Run an interior point and polish the design: from a gap of 1e-5 on, and if that fails, at the target.

    `solve` is one of the functions `interior_point`. Near the boundary of an evenly filled body are too many points for
    the support to be known early. A design over a fixed one (`u` is longer than `s`) is not polished.
    """
    early = 1e-5
    is_polished = len(u) == len(s) and target < early
    g, inverse, mass, steps = solve(Q, u, s, stretch, early if is_polished and not is_even else target, max_iter)
    while is_polished:
        polished_g, polished_inverse, polished_mass, more = polish(Q, u, s)
        steps += more
        if polished_mass > 0.0:
            return polished_g, polished_inverse, polished_mass, steps
        if steps >= max_iter or g.max() * mass <= len(Q) * (1.0 + target):
            break
        g, inverse, mass, more = solve(Q, u, s, 0.0, target, max_iter - steps)
        if not more:
            break  # rounding allows no step, for example where points do not span the space
        steps += more
    return g, inverse, mass, steps


def polish(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Make a nearly optimal design of lifted points Q, with weights u and slacks s, optimal to rounding, in place.

    Returns what `interior_point` does, with a mass of 0 where the support points are not clear yet.
    """
    g, inverse, mass, steps = polish_few(Q, u, s)
    return (g, inverse, mass, steps) if steps >= 0 else polish_many(Q, u, s)


def are_few(N: int, n: int, is_even: bool) -> bool:
    """Return whether N points are solved for at once; see the tables of this package."""
    dim = n * (n + 1) // 2
    return FIRST * n >= N or (N * dim <= 120_000 and (dim <= 36 or not is_even))


def mixed(weights: FloatArray, gap: float) -> FloatArray:
    """Return initial weights: the last ones mixed with equal ones, whose share grows with the gap."""
    even = min(0.5, max(0.05, 3.0 * gap))
    start: FloatArray = weights * ((1.0 - even) / weights.sum())
    start += even / len(weights)
    return start


def holding(u: FloatArray, s: FloatArray, n: int, gap: float) -> BoolArray:
    """Return which points of a working set support the ellipsoid, or may do so next."""
    near: BoolArray = (u * n > s / n) | (s < n * gap)
    # Fewer cannot: weights and slacks are still too far from the optimum.
    return near if np.count_nonzero(near) >= n else np.ones(len(near), dtype=bool)


def largest(values: FloatArray, count: int) -> IntArray:
    """Return the positions of about the `count` largest values, and no more."""
    if len(values) <= count:
        return np.arange(len(values))
    if len(values) > 100 * count:
        # A threshold from a sample leaves few to choose from, by one comparison for each value.
        sample = values[:: len(values) // (50 * count) + 1]
        above = min(len(sample), 2 + 2 * count * len(sample) // len(values))
        rows = np.flatnonzero(values >= np.partition(sample, -above)[-above])
        if len(rows) <= count:
            return rows
        return rows[np.argpartition(values[rows], -count)[-count:]]
    return np.argpartition(values, -count)[-count:]


def _gauge_noise(center: FloatArray, axes: FloatArray, radii: FloatArray) -> float:
    """Bound the rounding error of a gauge near 1, by the size of its terms."""
    half_width = np.sqrt(np.square(axes * radii).sum(axis=1))
    terms = np.abs(axes).T @ (len(radii) * half_width + np.abs(center))
    return float(ULPS * (terms / radii).max())
