"""The sequential ellipsoidal partition of two labelled point sets: the paper's Algorithms 1 and 2.

In each round a hyperplane is put between what remains of the two sets. The points beyond it on either side are cut
back by further hyperplanes until their minimum-volume ellipsoid holds almost none of the other label; they then leave
the set as one block. What can no longer be split ends as one last ellipsoid per label, or as isolated points.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from numbers import Integral, Real
from threading import current_thread
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.geometry.checks import as_vector, same_features
from sepc.geometry.chunks import S, array_slices, chunks
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.hulls import nearest_points
from sepc.geometry.mve import min_volume_ellipsoid
from sepc.geometry.points.sets import Beside, LocalPoints, Points, as_set
from sepc.geometry.separation import separate
from sepc.geometry.threads import one_blas_thread
from sepc.partitions.blocks import SIDES, Block, Hyperplane, Partition, renumbered
from sepc.partitions.ordering import canonical_order
from sepc.partitions.units import location_and_scale_of, units_from, units_of_length

# Points this near to a half-space, in units of the data's range, belong to it.
_HALF_SPACE_TOLERANCE = 1e-9
# Points whose distance is below this share of the range coincide.
_SAME_POINT = 1e-8
# Samples of so many points per feature may show that two sets meet; an ellipsoid of fewer than so many times as many
# points takes little longer.
_SAMPLE_PER_FEATURE = 20
_LARGE = 10
# They are asked for a common point that is the mean of ten or more of each: it is found in fewer steps than any other.
_SAMPLE_CAP = 0.1

OnStep = Callable[[int, int], None]
T = TypeVar("T")


class PartitionOptions(NamedTuple):
    """How a partition is made where the paper can be read in more ways than one: as `partition` describes them.

    Examples
    --------
    >>> PartitionOptions(early_exit=False).where_hulls_meet
    'centroids'
    """

    relax: bool = False
    early_exit: bool = True
    where_hulls_meet: str = "centroids"

    def check(self) -> None:
        """Refuse a way to cut that there is not."""
        if self.where_hulls_meet not in ("centroids", "noise"):
            raise InputError(
                f"where_hulls_meet is {self.where_hulls_meet!r}; expected 'centroids' or 'noise'. Use 'centroids' "
                "unless a program that does not look is to be imitated."
            )


_DEFAULT = PartitionOptions()


def partition(
    A: ArrayLike | Points,
    B: ArrayLike | Points,
    n_imp: int | float = 2,
    *,
    relax: bool = False,
    early_exit: bool = True,
    where_hulls_meet: str = "centroids",
    unit: ArrayLike | None = None,
    on_step: OnStep | None = None,
) -> Partition:
    """Split two labelled point sets into minimum-volume ellipsoids that hold (nearly) one label each.

    The result does not depend on the order of the rows.

    Parameters
    ----------
    A : array-like of shape (n_a, d), or ScatteredPoints
    B : array-like of shape (n_b, d), or ScatteredPoints
    n_imp : int or float, default=2
        How many points of the other label an ellipsoid may hold: a count, or a share of the smaller set, strictly
        between 0 and 1 and rounded down. Left-overs may hold more.
    relax : bool, default=False
        Whether to double the allowed number, and go on, where no further ellipsoid can be made: ellipsoids of falling
        purity then cover an overlap, instead of one left-over for each label.
    early_exit : bool, default=True
        Whether two sets whose ellipsoids are disjoint are taken whole, as the paper's Algorithm 2 has it. Its published
        counts come out without this: such sets are then cut like all others.
    where_hulls_meet : {"centroids", "noise"}, default="centroids"
        What is cut along where the reduced hulls meet and give no direction: that of the two centroids, or what
        rounding leaves of the difference of their nearest points, as a program does that does not look.
    unit : array-like of shape (d,), optional
        Unit of length of each feature, which decides what counts as flat (a spread below 1e-6 units). By default its
        standard deviation over A and B, or the largest one of the other features where that is 0.
    on_step : callable, optional
        Called as ``on_step(n_settled, n_total)`` with numbers of points, after each convex problem about all points of
        a part; an error that it raises ends the run.

    Returns
    -------
    Partition

    Examples
    --------
    >>> A = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> B = [[5.0, 0.0], [6.0, 0.0], [5.0, 1.0], [6.0, 1.0], [0.5, 0.5]]
    >>> partition(A, B, n_imp=1).blocks[0].members.tolist()
    [0, 1, 2, 3]
    >>> partition(A, B, n_imp=0)
    Partition(A 4 | B 4 +1, n_imp=0, n_iter=1)
    """
    points_a, points_b = as_set(A, "A"), as_set(B, "B")
    same_features(points_b, points_a.dim, "B", "A")
    length = None if unit is None else as_vector(unit, "unit", points_a.dim)
    options = PartitionOptions(relax, early_exit, where_hulls_meet)
    options.check()
    if isinstance(points_a, LocalPoints) and isinstance(points_b, LocalPoints):
        a, b = points_a.array.copy(), points_b.array.copy()
        found = partition_in_place(a, b, n_imp, options=options, unit=length, on_step=on_step)
        return renumbered(found, [np.arange(len(a)), np.arange(len(b))])
    allowed = impurity_count(n_imp, min(len(points_a), len(points_b)))
    if length is None:
        length = units_from(location_and_scale_of(points_a, points_b)[1])
    return partition_of_sets(points_a, points_b, allowed, options=options, unit=length, on_step=on_step)[0]


OnBlock = Callable[[int, Points], None]


def partition_of_sets(
    a: Points,
    b: Points,
    allowed: int,
    *,
    unit: FloatArray,
    options: PartitionOptions = _DEFAULT,
    on_step: OnStep | None = None,
    on_block: OnBlock | None = None,
) -> tuple[Partition, tuple[Points, Points]]:
    """Do what `partition` does, wherever the points are; return the isolated ones, too.

    Parameters
    ----------
    a, b : Points
    allowed : int
        How many points of the other label an ellipsoid may hold.
    unit, on_step
        As for `partition`.
    options : PartitionOptions, optional
    on_block : callable, optional
        Called as ``on_block(side, points)`` when a block leaves its set.

    Returns
    -------
    Partition
    tuple of Points
        The isolated points of A, and of B.

    Examples
    --------
    >>> a, b = LocalPoints(np.array([[2.0], [0.0], [1.0]])), LocalPoints(np.array([[5.0], [6.0], [9.0]]))
    >>> partition_of_sets(a, b, 0, unit=np.ones(1))[0]
    Partition(A 3 | B 3, n_imp=0, n_iter=1)
    """
    run = _Run((_Scattered(a), _Scattered(b)), allowed, options, unit, on_step, on_block)
    run.beside = a.beside()
    result = run.result()
    rest_a, rest_b = run.remaining
    return result, (rest_a.points, rest_b.points)


def partition_in_place(
    a: FloatArray,
    b: FloatArray,
    n_imp: int | float,
    *,
    options: PartitionOptions = _DEFAULT,
    unit: FloatArray | None = None,
    on_step: OnStep | None = None,
) -> Partition:
    """Do what `partition` does, with the points themselves as room to work in; at the end all are in their places.

    They are not if an error ends the run. Entries that are -0.0 become 0.0. Members are short numbers, which take less
    memory: `renumbered` makes others of them.

    Examples
    --------
    >>> a, b = np.array([[2.0], [0.0], [1.0]]), np.array([[5.0], [6.0], [9.0]])
    >>> partition_in_place(a, b, 0), a.tolist()
    (Partition(A 3 | B 3, n_imp=0, n_iter=1), [[2.0], [0.0], [1.0]])
    """
    allowed = impurity_count(n_imp, min(len(a), len(b)))
    sides = _Side(a), _Side(b)
    run = _Run(sides, allowed, options, units_of_length(a, b) if unit is None else unit, on_step)
    with one_blas_thread(a.size + b.size):  # each solver would ask for it
        result = run.result()
    for side in sides:
        side.put_back()
    return result


def impurity_count(n_imp: int | float, n_smaller: int) -> int:
    """Return `n_imp` as a count: itself, or that share of the smaller class, rounded down.

    Examples
    --------
    >>> impurity_count(3, 100), impurity_count(0.05, 99)
    (3, 4)
    """
    if isinstance(n_imp, Integral) and not isinstance(n_imp, bool) and n_imp >= 0:
        return int(n_imp)
    if isinstance(n_imp, Real) and not isinstance(n_imp, Integral) and 0.0 < n_imp < 1.0:
        return int(float(n_imp) * n_smaller)
    raise InputError(
        f"n_imp is {n_imp!r}; expected a count (an int, 0 or more) or a share (a float strictly between 0 and 1). "
        "Use 2 for two points of the other label, 0.01 for one per cent of the smaller class."
    )


class _Cloud:
    """Some points of one label with their ellipsoid, found when it is first asked for."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self._ellipsoid: Ellipsoid | None = None

    def __len__(self) -> int:
        return len(self.points)

    def beyond(self, origin: FloatArray, direction: FloatArray, slack: float) -> "_Cloud":
        """Return what lies on one side of a hyperplane; the same object if that is all."""
        part = self.points.beyond(origin, direction, slack)
        return self if part is self.points else _Cloud(part)

    def ellipsoid(self, unit: FloatArray) -> Ellipsoid:
        if self._ellipsoid is None:
            self._ellipsoid = min_volume_ellipsoid(self.points, unit=unit).ellipsoid
        return self._ellipsoid


class _Remaining(Protocol):
    """The points of one label that have not left in a block."""

    remaining: _Cloud

    def leave(self, part: Points) -> None:
        """Let these points leave."""


class _Scattered:
    """All points of one label that are not in one memory."""

    def __init__(self, points: Points) -> None:
        self.remaining = _Cloud(points)

    def leave(self, part: Points) -> None:
        """Let these points leave."""
        self.remaining = _Cloud(self.remaining.points.without(part))


class _Side:
    """All points of one label: first those that remain, in canonical order, then those that have left."""

    def __init__(self, points: FloatArray) -> None:
        order = canonical_order(points)
        if (order[1:] < order[:-1]).any():
            points[:] = points[order]
        self.points, self.rows = points, compact(order, len(order))
        for x in chunks(points):
            x += 0.0  # -0.0 becomes 0.0
        self.remaining = _Cloud(LocalPoints(points, self.rows))

    def leave(self, part: Points) -> None:
        """Let these points leave. In place: a copy of what remains would double the memory of a fit."""
        n = len(self.remaining)
        stays = np.ones(len(self.rows), dtype=bool)
        stays[part.members] = False
        stays = stays[self.rows[:n]]
        for array in (self.points[:n], self.rows[:n]):
            _move_to_front(array, stays)
        left = n - len(part)
        self.remaining = _Cloud(LocalPoints(self.points[:left], self.rows[:left]))

    def put_back(self) -> None:
        """Bring the points into the order in which they came."""
        self.points[self.rows] = self.points.copy()


class _Pure(NamedTuple):
    """The points of a block on its way, and their ellipsoid."""

    points: Points
    ellipsoid: Ellipsoid


class _Cut(NamedTuple):
    """A cut between two sets: a direction from B to A, and where along it A's part begins and B's part ends."""

    hyperplane: Hyperplane
    direction: FloatArray
    ends: tuple[FloatArray, FloatArray] | None  # None: the sets are apart, each part is the whole
    slack: float

    def part(self, cloud: _Cloud, side: int) -> _Cloud:
        """Return what of A (side 0) or of B (side 1) lies beyond."""
        if self.ends is None:
            return cloud
        sign = 1.0 - 2.0 * side
        return cloud.beyond(self.ends[side], sign * self.direction, self.slack)


class _Abandoned(Exception):  # noqa: N818  (nobody waits for it)
    """Raised in the thread of one side when the run ends on the other's."""


class _Run:
    """One partition on its way."""

    def __init__(
        self,
        sides: tuple[_Remaining, _Remaining],
        allowed: int,
        options: PartitionOptions,
        unit: FloatArray,
        on_step: OnStep | None,
        on_block: OnBlock | None = None,
    ) -> None:
        self.sides, self.on_block = sides, on_block
        self.n_imp = self.allowed = allowed
        self.options, self.unit, self.on_step = options, unit, on_step
        self.total = sum(map(len, self.remaining))
        self.blocks: list[Block] = []
        self.hyperplanes: list[Hyperplane] = []
        self.beside: Beside | None = None  # what another thread works in; without it there is none
        self.thread, self.has_failed = current_thread(), False

    @property
    def remaining(self) -> tuple[_Cloud, _Cloud]:
        """Points of A and of B that did not leave in a block."""
        return self.sides[0].remaining, self.sides[1].remaining

    def result(self) -> Partition:
        stopped = self.rounds()
        n_iter = len(self.hyperplanes)
        a, b = (self.left_over(side) for side in (0, 1))
        return Partition(tuple(self.blocks), (a, b), tuple(self.hyperplanes), n_iter, stopped, self.n_imp)

    def rounds(self) -> str:
        """Take blocks out of the two sets until it can no longer be done; return why."""
        d = len(self.unit)
        while min(map(len, self.remaining)) > d:
            trouble = self.round()
            if trouble:
                a, b = map(len, self.remaining)
                return trouble.format(rest=f"what remained ({a} of A, {b} of B)")
        short = " and ".join(SIDES[side] for side in (0, 1) if len(self.remaining[side]) <= d)
        return f"at most {d} points, the number of features, remained of {short}"

    def more_allowed(self) -> bool:
        """Allow twice as many points of the other label, if that is asked for and can make a difference."""
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
        pure = self.both(lambda: self.purify(cut.part(a, 0), b), lambda: self.purify(cut.part(b, 1), a))
        if pure == (None, None):
            if self.more_allowed():
                return ""
            return f"no part of {{rest}} has an ellipsoid with at most {self.allowed} points of the other label"
        self.hyperplanes.append(cut.hyperplane)
        for side, found in enumerate(pure):
            if found is not None:
                self.settle(side, found, iteration=len(self.hyperplanes))
        return ""

    def both(self, first: Callable[[], T], second: Callable[[], T]) -> tuple[T, T]:
        """Return what two functions return, called at the same time if a thread may work beside this one."""
        if self.beside is None:
            return first(), second()
        with ThreadPoolExecutor(1) as other:
            found = other.submit(self.work_beside, second)
            try:
                return first(), found.result()
            except BaseException:
                self.has_failed = True  # the other thread ends at its next step, and is waited for
                raise

    def work_beside(self, work: Callable[[], T]) -> T:
        assert self.beside is not None
        with self.beside():
            return work()

    def settle(self, side: int, found: _Pure, iteration: int) -> None:
        self.blocks.append(Block(side, found.points.members, found.ellipsoid, iteration))
        if self.on_block is not None:
            self.on_block(side, found.points)
        self.sides[side].leave(found.points)
        self.report()

    def left_over(self, side: int) -> IntArray:
        """Put what remains of one side into a last ellipsoid, or return its rows if these are too few."""
        rest = self.remaining[side]
        if len(rest) >= len(self.unit):
            self.settle(side, _Pure(rest.points, rest.ellipsoid(self.unit)), iteration=0)
        alone: IntArray = self.remaining[side].points.members
        return alone

    def purify(self, a: _Cloud, b: _Cloud) -> _Pure | None:
        """Cut `a` back until its ellipsoid holds at most the allowed number of points of `b`; None if it cannot be."""
        while len(a) > len(self.unit):
            held = b.points.held_by(a.ellipsoid(self.unit), self.allowed)
            self.report()
            if held.n <= self.allowed:
                return _Pure(a.points, a.ellipsoid(self.unit))
            # A point of b in it is in both ellipsoids: no need to ask whether these meet.
            cut = self.cut(a, b) if held.smallest_gauge <= 1.0 else self.split(a, b)
            if cut is None or len(part := cut.part(a, 0)) == len(a):
                return None
            a = part
        return None

    def split(self, a: _Cloud, b: _Cloud) -> _Cut | None:
        """Separate two sets: whole if their ellipsoids are disjoint, else by `cut`."""
        if not self.options.early_exit or _surely_meet(a.points, b.points, self.unit):
            return self.cut(a, b)
        if self.beside is None:
            return self.between(a, b) or self.cut(a, b)
        # At once: as a rule the ellipsoids meet.
        apart, cut = self.both(lambda: self.between(a, b), lambda: self.cut(a, b))
        return apart or cut

    def between(self, a: _Cloud, b: _Cloud) -> _Cut | None:
        """Return a cut between the ellipsoids of the two sets, None if these meet."""
        few, many = sorted((a, b), key=len)
        # A point of one set in the other's ellipsoid is in both: often the cheaper ellipsoid alone tells.
        for own, other in ((few, many), (many, few)):
            if other.points.held_by(own.ellipsoid(self.unit), 0).smallest_gauge <= 1.0:
                return None
            self.report()
        verdict = separate(a.ellipsoid(self.unit), b.ellipsoid(self.unit))
        if verdict.hyperplane is None:
            return None
        normal, offset = verdict.hyperplane
        return _Cut(Hyperplane(-normal, -offset), -normal, None, 0.0)

    def cut(self, a: _Cloud, b: _Cloud) -> _Cut | None:
        """Keep what lies beyond the nearest points of the reduced hulls; None if there is no direction to cut along."""
        pair = nearest_points(a.points, b.points)
        self.report()
        c, d, w, reach = pair.c, pair.d, pair.normal, pair.data_range
        least = 0.0
        if pair.meet and self.options.where_hulls_meet == "centroids":  # reduce the larger hull all the way
            c, d = a.points.extent.mean, b.points.extent.mean
            w = c - d
            reach = max(cloud.points.extent.reach(c) for cloud in (a, b))
            least = _SAME_POINT * reach
        length = sqrt(w @ w)
        if length <= least:
            return None
        slack = _HALF_SPACE_TOLERANCE * length * reach
        normal = w / length
        return _Cut(Hyperplane(normal, float(normal @ (c + d)) / 2.0), w, (c, d), slack)

    def report(self) -> None:
        if self.has_failed:
            raise _Abandoned
        if self.on_step is not None and current_thread() is self.thread:
            self.on_step(self.total - sum(map(len, self.remaining)), self.total)


def _surely_meet(a: Points, b: Points, unit: FloatArray) -> bool:
    """Return whether samples show that the convex hulls of two sets meet: then their ellipsoids do.

    In units of the features: next to a feature of large numbers a gap along another one would not be seen.
    """
    n = _SAMPLE_PER_FEATURE * a.dim
    if min(len(a), len(b)) < _LARGE * n:
        return False
    return nearest_points(a.sample(n) / unit, b.sample(n) / unit, cap=_SAMPLE_CAP).meet


def _move_to_front(array: NDArray[S], stays: BoolArray) -> None:
    """Bring the chosen entries to the front and the others behind them, both in the order that they have."""
    others = array[~stays]
    end = 0
    for some in array_slices(array):
        kept = array[some][stays[some]]
        array[end : end + len(kept)] = kept
        end += len(kept)
    array[end:] = others
