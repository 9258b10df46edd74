"""The problems of a labelled set: its classes against each other at once, or each of several against the rest."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.partitions.algorithm import partition_in_place
from sepc.partitions.blocks import Partition, renumbered
from sepc.partitions.several_sets import partition_several_in_place


class Problem(NamedTuple):
    """A problem: the side of each point, 0, 1, ..., and the names of the sides."""

    side: NDArray[np.integer]
    labels: tuple[str, ...]

    def partition(
        self, points: FloatArray, n_imp: int | float | None, taking: BoolArray | None = None, **options: Any
    ) -> Partition:
        """Split the points of the sides, shape (n, d); members are numbered among all points of their side.

        `taking` marks the points that take part, shape (n,): all by default, and always all of more than two sides. The
        options are those of `partition_in_place` or `partition_several_in_place`. If the points of each side are next
        to each other, they serve as workspace: two such calls must not share their points at the same time.
        """
        if len(self.labels) > 2:
            return self._of_several(points, n_imp, **options)
        start, stop, n = self._where_first()
        if taking is None and stop - start == n:
            _bring_forward(points, start, stop)
            found = partition_in_place(points[:n], points[n:], n_imp, **options)
            _bring_forward(points, n, stop)
            return found
        if taking is None:
            taking = np.full(len(points), True)
        A, B = (points[(self.side == s) & taking] for s in (0, 1))
        found = partition_in_place(A, B, n_imp, **options)
        return renumbered(found, [np.flatnonzero(taking[self.side == s]) for s in (0, 1)])

    def _of_several(self, points: FloatArray, n_imp: int | float | None, **options: Any) -> Partition:
        starts, counts = np.unique(self.side, return_index=True, return_counts=True)[1:]
        if (np.diff(self.side) >= 0).all():
            sets = [points[start : start + n] for start, n in zip(starts.tolist(), counts.tolist(), strict=True)]
        else:
            sets = [points[self.side == side] for side in range(len(counts))]
        return partition_several_in_place(sets, n_imp, **options)

    def _where_first(self) -> tuple[int, int, int]:
        """Return where the points of the first side begin and end, and their number."""
        is_first = self.side == 0
        return int(is_first.argmax()), len(is_first) - int(is_first[::-1].argmax()), int(np.count_nonzero(is_first))


def problems_of(codes: IntArray, classes: NDArray[Any], one_vs_rest: bool = False) -> list[Problem]:
    """Return the problems of points with these classes, given as numbers, shape (n,).

    With `one_vs_rest` each of several classes has a problem of its own, against the rest, as in the paper. Otherwise,
    and with two classes, there is one problem for all.
    """
    if len(classes) == 2 or not one_vs_rest:
        return [Problem(compact(codes, len(classes)), tuple(map(str, classes)))]
    return [Problem((codes != k).astype(np.int8), (str(c), f"not {c}")) for k, c in enumerate(classes)]


def problem_names(classes: NDArray[Any], one_vs_rest: bool = False) -> list[str]:
    """Return names of the problems of some classes: the label of the first side, or the number of several."""
    problems = problems_of(np.empty(0, dtype=np.int64), classes, one_vs_rest)
    return [f"{len(p.labels)} classes" if len(p.labels) > 2 else p.labels[0] for p in problems]


class ClassBlock(NamedTuple):
    """Points of one class that make a region: number of the class, name of the region, rows."""

    code: int
    name: str
    rows: IntArray


def class_blocks(partitions: Sequence[Partition], problems: Sequence[Problem]) -> Iterator[ClassBlock]:
    """Yield all blocks that hold one class, class by class; its isolated points are one more.

    Members of the partitions are numbered among the points of their side. Blocks have the names of `Rules`: the label
    and a running number; ``@`` for isolated points.
    """
    # Where each class has a problem of its own, it is side 0 there.
    places = (
        [(0, side) for side in range(len(problems[0].labels))]
        if len(problems) == 1
        else [(k, 0) for k in range(len(problems))]
    )
    for code, (k, side) in enumerate(places):
        rows, label = np.flatnonzero(problems[k].side == side), problems[k].labels[side]
        held = (b.members for b in partitions[k].blocks if b.side == side)
        for i, members in enumerate(held):
            yield ClassBlock(code, f"{label}#{i + 1}", rows[members])
        if len(partitions[k].isolated[side]):
            yield ClassBlock(code, f"{label}@", rows[partitions[k].isolated[side]])


def _bring_forward(points: FloatArray, start: int, stop: int) -> None:
    """Exchange the rows before `start` with those from there to `stop`, in place."""
    if start:
        ahead = points[:start].copy()
        points[: stop - start] = points[start:stop]
        points[stop - start : stop] = ahead
