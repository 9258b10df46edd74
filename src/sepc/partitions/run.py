"""Run of a partition: the points that remain of each set, and the steps that take blocks out of them."""

from collections.abc import Callable, Sequence
from itertools import chain
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.geometry.chunks import S, array_slices, by_column, chunk_slices, chunks, mean_of
from sepc.geometry.ellipsoid import LARGEST_HELD, Ellipsoid
from sepc.geometry.hulls import nearest_of, nearest_points
from sepc.geometry.mve import min_volume_ellipsoid
from sepc.geometry.passes import squared_gauges
from sepc.geometry.separation import separate
from sepc.partitions.blocks import Block, Hyperplane, Partition, set_name
from sepc.partitions.ordering import canonical_order

# Samples of this number of points per feature may show that two sets meet. From ten times as many points on, a sample
# takes less time than an ellipsoid.
_SAMPLE_PER_FEATURE = 20
# Points per chunk when those in an ellipsoid are counted.
_AT_A_TIME = 1 << 12
# Of sets with at most this number of coordinates all parts of a round are kept: where none of them was pure enough, it
# need not be cut again when more is allowed.
_KEPT_SIZE = 1 << 17
# Certified gaps of ellipsoids. Radii that are half a per cent too large on the average decide as the exact ones do
# whether points of other labels are inside; up to 40 features exact ones take no longer.
_EXACT, _ROUGH, _MANY_FEATURES = 1e-7, 1e-2, 40

OnStep = Callable[[int, int], None]


class PartitionOptions(NamedTuple):
    """Variants of the paper's algorithms, as `partition` describes them.

    With `only_blocks` what is left over gets no last ellipsoid and counts as isolated points, and ellipsoids of many
    features are only as exact as decisions need them: for those who need no more than the blocks' members.
    """

    relax: bool = False
    early_exit: bool = True
    where_hulls_meet: str = "centroids"
    only_blocks: bool = False

    def check(self) -> None:
        """Raise an `InputError` for an unknown way to cut."""
        if self.where_hulls_meet not in ("centroids", "noise"):
            raise InputError("where-hulls-meet", where_hulls_meet=self.where_hulls_meet)


DEFAULT_OPTIONS = PartitionOptions()


class Held(NamedTuple):
    """Number of points that an ellipsoid holds, and the smallest gauge, among the points that were read."""

    n: int
    smallest_gauge: float


class Cloud:
    """Some points of one label with their row numbers, and their ellipsoid, found on its first use.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    rows : ndarray of int, shape (n,), optional
        The numbers of the points in their set; not needed for points that are only compared with others.
    """

    def __init__(self, points: FloatArray, rows: IntArray | None = None) -> None:
        self.points = points
        self.rows = np.arange(len(points)) if rows is None else rows
        self._ellipsoid: Ellipsoid | None = None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def members(self) -> IntArray:
        """The row numbers of the points, ascending, shape (n,)."""
        return np.sort(self.rows)

    @property
    def is_large(self) -> bool:
        """Whether the ellipsoid takes longer than a test on a sample."""
        return bool(len(self) >= 10 * _SAMPLE_PER_FEATURE * self.points.shape[1])

    def ellipsoid(self, unit: FloatArray, tol: float) -> Ellipsoid:
        """Return the ellipsoid with this certified gap; units of length decide what is flat."""
        if self._ellipsoid is None:
            self._ellipsoid = min_volume_ellipsoid(self.points, tol=tol, unit=unit).ellipsoid
        return self._ellipsoid

    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> "Cloud":
        """Return the points x with ``direction @ (x - origin) >= -slack``; the same object if these are all."""
        step = max((1 << 15) // self.points.shape[1], 1)  # coordinates that stay in the cache
        parts = (self.points[rows] for rows in chunk_slices(len(self), step))
        mask = np.concatenate([(x - origin) @ direction >= -slack for x in parts])
        return self if mask.all() else Cloud(self.points[mask], self.rows[mask])

    def held_by(self, E: Ellipsoid, most: float = np.inf) -> Held:
        """Return the number of points that an ellipsoid holds, and the smallest gauge.

        Reading stops once there are more than `most`, and one of them with a gauge of at most 1.
        """
        n, smallest = 0, np.inf
        every = list(chunk_slices(len(self), _AT_A_TIME))
        # Points are mostly sorted: every 16th chunk first, so that the first ones are spread over all points.
        for rows in chain.from_iterable(every[k::16] for k in range(16)):
            squares = squared_gauges(E, self.points[rows])
            n += int(np.count_nonzero(squares <= LARGEST_HELD**2))
            smallest = min(smallest, squares.min())
            if n > most and smallest <= 1.0:
                break
        return Held(n, sqrt(smallest))

    def reach(self, center: FloatArray) -> float:
        """Return the largest difference of a coordinate from the center's."""
        low, high = (by_column(fold, self.points) for fold in (np.minimum, np.maximum))
        return float(max((high - center).max(), (center - low).max()))

    def sample(self) -> FloatArray:
        """Return points at even distances in their order, some 20 for each feature; shape (n_sample, d)."""
        every: FloatArray = self.points[:: max(len(self) // (_SAMPLE_PER_FEATURE * self.points.shape[1]), 1)]
        return every


class Side:
    """All points of one label: first those that remain, in canonical order, then those that have left."""

    def __init__(self, points: FloatArray) -> None:
        order = canonical_order(points)
        if (order[1:] < order[:-1]).any():
            points[:] = points[order]
        self.points, self.rows = points, compact(order, len(order))
        for x in chunks(points):
            x += 0.0  # -0.0 becomes 0.0
        self.remaining = Cloud(points, self.rows)

    def leave(self, part: Cloud) -> None:
        """Remove these points from those that remain. In place: a copy would double the memory of a fit."""
        n = len(self.remaining)
        stays = np.ones(len(self.rows), dtype=bool)
        stays[part.members] = False
        stays = stays[self.rows[:n]]
        for array in (self.points[:n], self.rows[:n]):
            _move_to_front(array, stays)
        left = n - len(part)
        self.remaining = Cloud(self.points[:left], self.rows[:left])

    def put_back(self) -> None:
        """Restore the original order of the points."""
        self.points[self.rows] = self.points.copy()


class Cut(NamedTuple):
    """A cut between two sets: a direction from B to A, and where along it A's part begins and B's part ends."""

    hyperplane: Hyperplane
    direction: FloatArray
    ends: tuple[FloatArray, FloatArray] | None  # None: the sets are apart, each part is the whole
    slack: float

    def part(self, cloud: Cloud, side: int) -> Cloud:
        """Return what of A (side 0) or of B (side 1) lies beyond."""
        if self.ends is None:
            return cloud
        sign = 1.0 - 2.0 * side
        return cloud.beyond(self.ends[side], sign * self.direction, self.slack)


class Parts:
    """Nested parts of one set that are cut from another."""

    def __init__(self, first: Cloud, other: Cloud, relax: bool) -> None:
        self.first, self.other = first, other
        self.seen: list[Cloud] = []  # those that were not pure enough
        self.are_kept = relax and (len(first) + len(other)) * first.points.shape[1] <= _KEPT_SIZE


class Run:
    """One partition of two sets in progress.

    `allowed` is the number of points of the other label that an ellipsoid may hold; `unit` the unit of length of each
    feature, shape (d,); `on_step` is called after each convex problem, see `partition`.
    """

    def __init__(
        self,
        sides: Sequence[Side],
        allowed: int,
        options: PartitionOptions,
        unit: FloatArray,
        on_step: OnStep | None,
    ) -> None:
        self.sides = sides
        self.n_imp = self.allowed = allowed
        self.options, self.unit, self.on_step = options, unit, on_step
        self.tol = _ROUGH if options.only_blocks and len(unit) > _MANY_FEATURES else _EXACT
        self.total = sum(map(len, self.remaining))
        self.blocks: list[Block] = []
        self.hyperplanes: list[Hyperplane] = []
        self.n_iter = 0

    @property
    def remaining(self) -> list[Cloud]:
        """Points of each set that did not leave in a block."""
        return [side.remaining for side in self.sides]

    def result(self) -> Partition:
        """Take all blocks, and what is left over; return them."""
        stopped = self.rounds()
        isolated = tuple(self.left_over(side) for side in range(len(self.sides)))
        return Partition(tuple(self.blocks), isolated, tuple(self.hyperplanes), self.n_iter, stopped, self.n_imp)

    def ellipsoid(self, cloud: Cloud) -> Ellipsoid:
        """Return the ellipsoid of some points, as exact as it has to be."""
        return cloud.ellipsoid(self.unit, self.tol)

    def rounds(self) -> str:
        """Take blocks out of the two sets until it can no longer be done; return why."""
        while not self.is_short():
            trouble = self.round()
            if trouble:
                n_sets = len(self.sides)
                sizes = (
                    f"{len(cloud)} of {set_name(k, n_sets)}" for k, cloud in enumerate(self.remaining) if len(cloud)
                )
                return trouble.format(rest=f"what remained ({', '.join(sizes)})")
        return self.shortage()

    def is_short(self) -> bool:
        """Return whether too few points remain for a further round."""
        return min(map(len, self.remaining)) <= len(self.unit)

    def shortage(self) -> str:
        """Return of what too few points remain."""
        d = len(self.unit)
        short = " and ".join(set_name(side, 2) for side in (0, 1) if len(self.remaining[side]) <= d)
        return f"at most {d} points, the number of features, remained of {short}"

    def more_allowed(self) -> bool:
        """Allow twice as many points of the other label, if `relax` is set and it can make a difference."""
        if not self.options.relax or self.allowed >= max(map(len, self.remaining)):
            return False
        self.allowed = max(1, 2 * self.allowed)
        return True

    def round(self) -> str:
        """Take at most one block out of each set; return why it could not be done, or nothing."""
        a, b = self.remaining
        cut = self.split(a, b)
        if cut is None:
            return "the centroids of {rest} coincide: nothing to split along"
        relax = self.options.relax
        of_a, of_b = Parts(cut.part(a, 0), b, relax), Parts(cut.part(b, 1), a, relax)
        pure = self.purify(of_a), self.purify(of_b)
        while pure == (None, None):
            if not self.more_allowed():
                return f"no part of {{rest}} has an ellipsoid with at most {self.allowed} points of the other label"
            if not (of_a.are_kept and of_b.are_kept):
                return ""
            pure = self.first_pure(of_a), self.first_pure(of_b)
        self.n_iter += 1
        self.hyperplanes.append(cut.hyperplane)
        for side, found in enumerate(pure):
            if found is not None:
                self.settle(side, found, self.n_iter)
        return ""

    def settle(self, side: int, found: Cloud, iteration: int) -> None:
        """Let a block leave its set."""
        self.blocks.append(Block(side, found.members, self.ellipsoid(found), iteration))
        self.sides[side].leave(found)
        self.report()

    def left_over(self, side: int) -> IntArray:
        """Put what remains of one side into a last ellipsoid, or return its rows if these are too few."""
        rest = self.remaining[side]
        if len(rest) >= len(self.unit) and not self.options.only_blocks:
            self.settle(side, rest, iteration=0)
        return self.remaining[side].members

    def purify(self, parts: Parts) -> Cloud | None:
        """Cut a set back until its ellipsoid holds at most the allowed number of others; None if it cannot be."""
        a, b = parts.first, parts.other
        while len(a) > len(self.unit):
            held = b.held_by(self.ellipsoid(a), self.allowed)
            self.report()
            if held.n <= self.allowed:
                return a
            if parts.are_kept:
                parts.seen.append(a)
            # A point of b in it is in both ellipsoids: no need to ask whether these meet.
            cut = self.cut(a, b) if held.smallest_gauge <= 1.0 else self.split(a, b)
            if cut is None or len(part := cut.part(a, 0)) == len(a):
                return None
            a = part
        return None

    def first_pure(self, parts: Parts) -> Cloud | None:
        """Return what `purify` would, when more points are allowed than before."""
        for a in parts.seen:
            if parts.other.held_by(self.ellipsoid(a), self.allowed).n <= self.allowed:
                return a
        return None

    def split(self, a: Cloud, b: Cloud) -> Cut | None:
        """Separate two sets: whole if their ellipsoids are disjoint, else by `cut`."""
        if not self.options.early_exit or surely_meet(a, b, self.unit):
            return self.cut(a, b)
        return self.between(a, b) or self.cut(a, b)

    def between(self, a: Cloud, b: Cloud) -> Cut | None:
        """Return a cut between the ellipsoids of the two sets, None if these meet."""
        few, many = sorted((a, b), key=len)
        # A point of one set in the other's ellipsoid is in both: often the cheaper ellipsoid alone shows it.
        for own, other in ((few, many), (many, few)):
            if other.held_by(self.ellipsoid(own), 0).smallest_gauge <= 1.0:
                return None
            self.report()
        verdict = separate(self.ellipsoid(a), self.ellipsoid(b))
        if verdict.hyperplane is None:
            return None
        normal, offset = verdict.hyperplane
        return Cut(Hyperplane(-normal, -offset), -normal, None, 0.0)

    def cut(self, a: Cloud, b: Cloud) -> Cut | None:
        """Keep what lies beyond the nearest points of the reduced hulls; None if there is no direction to cut along."""
        pair = nearest_of(a.points, b.points)
        self.report()
        c, d, w, reach = pair.c, pair.d, pair.normal, pair.data_range
        least = 0.0
        if pair.meet and self.options.where_hulls_meet == "centroids":  # reduce the larger hull all the way
            c, d = mean_of(a.points), mean_of(b.points)
            w = c - d
            reach = max(cloud.reach(c) for cloud in (a, b))
            least = 1e-8 * reach  # nearer centroids coincide
        length = sqrt(w @ w)
        if length <= least:
            return None
        slack = 1e-9 * length * reach  # points this near to a half-space belong to it
        normal = w / length
        return Cut(Hyperplane(normal, float(normal @ (c + d)) / 2.0), w, (c, d), slack)

    def report(self) -> None:
        """Report how far the run is."""
        if self.on_step is not None:
            self.on_step(self.total - sum(map(len, self.remaining)), self.total)


def surely_meet(a: Cloud, b: Cloud, unit: FloatArray) -> bool:
    """Return whether samples show that the convex hulls of two sets meet: then their ellipsoids do.

    In units of the features: next to a feature of large numbers a gap along another one would not be seen.
    """
    if not (a.is_large and b.is_large):
        return False
    # With this cap the common point is a mean of ten or more points of each: it is found in fewer steps than any other.
    return nearest_points(a.sample() / unit, b.sample() / unit, cap=0.1).meet


def _move_to_front(array: NDArray[S], stays: BoolArray) -> None:
    """Bring the chosen entries to the front and the others behind them, both in the order that they have."""
    others = array[~stays]
    end = 0
    for some in array_slices(array):
        kept = array[some][stays[some]]
        array[end : end + len(kept)] = kept
        end += len(kept)
    array[end:] = others
