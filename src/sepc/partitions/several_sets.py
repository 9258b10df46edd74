"""The partition of several labelled point sets at once: each set against all others, in one sequence of rounds.

In each round every set is cut from what remains of all others together, as Algorithm 2 cuts one of two sets from the
other, and at most one block leaves each set. A set whose ellipsoid meets that of no other leaves whole. So the blocks
of one set make the problems of all others smaller, and each point is in one block: with one partition for each class
against the rest, the rest would be split again for each class.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.threads import one_blas_thread
from sepc.partitions.algorithm import impurity_count
from sepc.partitions.blocks import Hyperplane, Partition
from sepc.partitions.run import DEFAULT_OPTIONS, Cloud, OnStep, PartitionOptions, Parts, Run, Side, surely_meet
from sepc.partitions.units import units_of_length


def partition_several_in_place(
    sets: Sequence[FloatArray],
    n_imp: int | float | None,
    *,
    unit: FloatArray | None = None,
    options: PartitionOptions = DEFAULT_OPTIONS,
    on_step: OnStep | None = None,
) -> Partition:
    """Split several labelled point sets, with the points themselves as workspace, as `partition_in_place` does.

    Parameters
    ----------
    sets : sequence of ndarray of shape (n_k, d)
        Each with at least one point.
    n_imp : int or float
        Number of points of other labels that an ellipsoid may hold: a count, or a share of the smallest set.
    unit, on_step
        As for `partition`.
    options : PartitionOptions, optional

    Returns
    -------
    Partition
        One set after the other; members have short integer types.
    """
    sides = [Side(points) for points in sets]
    length = units_of_length(*sets) if unit is None else unit
    allowed = impurity_count(n_imp, min(map(len, sets)))
    with one_blas_thread(sum(points.size for points in sets)):  # once, in place of once for each solver
        result = _SeveralRun(sides, allowed, options, length, on_step).result()
    for side in sides:
        side.put_back()
    return result


class _Found(NamedTuple):
    """A block that is to leave its set, and the hyperplane that it lies beyond; None if it is the whole set."""

    side: int
    hyperplane: Hyperplane | None
    pure: Cloud


class _Cut(NamedTuple):
    """A hyperplane that cuts a set from all others, and the parts of it beyond."""

    hyperplane: Hyperplane
    parts: Parts


class _SeveralRun(Run):
    """One partition of several sets in progress."""

    def __init__(self, sides: Sequence[Side], allowed: int, *how: Any) -> None:
        super().__init__(sides, allowed, *how)
        self.limits = [allowed] * len(sides)  # points of other labels that a block of each set may hold
        self.known_boxes: tuple[FloatArray, FloatArray] | None = None  # of this round

    def round(self) -> str:
        """Take at most one block out of each set; return why none could be, or nothing."""
        self.known_boxes = None
        sides = np.flatnonzero(self.can_be_cut()).tolist()
        looked_at: dict[int, _Cut] = {}
        found, goes_on = self.found_in(sides, lambda side: self.block_of(side, looked_at))
        while goes_on and not found and all(cut.parts.are_kept for cut in looked_at.values()):
            found, goes_on = self.found_in(sides, lambda side: self.block_again(side, looked_at))
        if not found:
            why = f"no part of {{rest}} has an ellipsoid with at most {max(self.limits)} points of other labels"
            return "" if goes_on else why
        self.n_iter += 1
        for side, hyperplane, pure in found:
            if hyperplane is not None:
                self.hyperplanes.append(hyperplane)
            self.settle(side, pure, self.n_iter)
        return ""

    def found_in(self, sides: Sequence[int], block: Callable[[int], _Found | None]) -> tuple[list[_Found], bool]:
        """Return the blocks of some sets, and whether others may have one now that more is allowed."""
        found, goes_on = [], False
        for side in sides:
            self.allowed = self.limits[side]
            one = block(side)
            if one is not None:
                found.append(one)
            elif self.more_allowed():  # of this set alone: most of the time would go into repeated cuts
                self.limits[side], goes_on = self.allowed, True
        return found, goes_on

    def block_of(self, side: int, looked_at: dict[int, _Cut]) -> _Found | None:
        """Return a block of one set, cut from all others as they are before the round; None if there is none."""
        own, others = self.remaining[side], self.others(side)
        if self.options.early_exit and self.is_apart(side, others):
            return _Found(side, None, own)
        cut = self.cut(own, others)
        if cut is None:
            return None
        looked_at[side] = _Cut(cut.hyperplane, Parts(cut.part(own, 0), others, self.options.relax))
        pure = self.purify(looked_at[side].parts)
        return None if pure is None else _Found(side, cut.hyperplane, pure)

    def block_again(self, side: int, looked_at: dict[int, _Cut]) -> _Found | None:
        """Return what `block_of` would return now that more points are allowed."""
        if side not in looked_at:
            return None
        pure = self.first_pure(looked_at[side].parts)
        return None if pure is None else _Found(side, looked_at[side].hyperplane, pure)

    def is_apart(self, side: int, others: Cloud) -> bool:
        """Return whether the ellipsoid of a set holds no point of any other, and meets the ellipsoid of none."""
        own = self.remaining[side]
        # Of a set with fewer points than features there is no ellipsoid that a region would have.
        rivals = [k for k, other in enumerate(self.remaining) if k != side and len(other) >= len(self.unit)]
        if own.is_large and any(surely_meet(own, self.remaining[k], self.unit) for k in rivals):
            return False
        if others.held_by(self.ellipsoid(own), 0).smallest_gauge <= 1.0:
            return False
        self.report()
        low, high = self.boxes
        touches = ((low <= high[side]) & (high >= low[side])).all(axis=1)
        return all(self.between(own, self.remaining[k]) is not None for k in rivals if touches[k])

    @property
    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest value of each feature in the ellipsoid of each set, shape (n_sets, d).

        NaN for sets that have none. Mostly they show already that two ellipsoids are disjoint.
        """
        if self.known_boxes is None:
            low, high = np.full((2, len(self.sides), len(self.unit)), np.nan)
            for k, cloud in enumerate(self.remaining):
                if len(cloud) >= len(self.unit):
                    E = self.ellipsoid(cloud)
                    low[k], high[k] = E.center - E.half_widths, E.center + E.half_widths
            self.known_boxes = low, high
        return self.known_boxes

    def others(self, side: int) -> Cloud:
        """Return what remains of all sets but one."""
        rest = [other for k, other in enumerate(self.remaining) if k != side and len(other)]
        return Cloud(np.concatenate([other.points for other in rest]))

    def can_be_cut(self) -> BoolArray:
        """Return which sets, and all others together, have more points than features left, shape (n_sets,)."""
        n = np.array([len(cloud) for cloud in self.remaining])
        return np.asarray(np.minimum(n, n.sum() - n) > len(self.unit))

    def is_short(self) -> bool:
        """Return whether no set can be cut any more."""
        return not self.can_be_cut().any()

    def shortage(self) -> str:
        """Return which points are too few for a further round."""
        return f"of each set, or of all others, at most {len(self.unit)} points remained, the number of features"
