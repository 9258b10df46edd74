"""The binary problems of a labelled set: first class against second, or each of several classes against the rest."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.partitions.algorithm import partition_in_place
from sepc.partitions.blocks import Partition, renumbered


class BinaryProblem(NamedTuple):
    """A binary problem: the side of each point, 0 or 1, and what the two sides are called.

    Examples
    --------
    >>> BinaryProblem(np.array([0, 1], dtype=np.int8), ("low", "high")).labels
    ('low', 'high')
    """

    side: NDArray[np.int8]
    labels: tuple[str, str]

    def partition(
        self, points: FloatArray, n_imp: int | float, taking: BoolArray | None = None, **options: Any
    ) -> Partition:
        """Split the points of the two sides; members are numbered among all points of their side.

        If those of the first side are next to each other, the points serve as room to work in (`partition_in_place`):
        two such calls must not share their points at the same time.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        n_imp : int or float
        taking : ndarray of bool, shape (n,), optional
            Which points take part; all by default.
        **options
            For `partition_in_place`.

        Returns
        -------
        Partition
        """
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

    def _where_first(self) -> tuple[int, int, int]:
        """Return where the points of the first side begin and end, and how many they are."""
        is_first = self.side == 0
        return int(is_first.argmax()), len(is_first) - int(is_first[::-1].argmax()), int(np.count_nonzero(is_first))


def binary_problems(codes: IntArray, classes: NDArray[Any]) -> list[BinaryProblem]:
    """Return the binary problems of points with these classes.

    Examples
    --------
    >>> [p.labels for p in binary_problems(np.array([0, 1, 2]), np.array(["a", "b", "c"]))]
    [('a', 'not a'), ('b', 'not b'), ('c', 'not c')]
    """
    if len(classes) == 2:
        return [BinaryProblem(codes.astype(np.int8), (str(classes[0]), str(classes[1])))]
    return [BinaryProblem((codes != k).astype(np.int8), (str(c), f"not {c}")) for k, c in enumerate(classes)]


def problem_names(classes: NDArray[Any]) -> list[str]:
    """Return what the binary problems of some classes are about: the label of their first side.

    Examples
    --------
    >>> problem_names(np.array(["a", "b"])), problem_names(np.array(["a", "b", "c"]))
    (['a'], ['a', 'b', 'c'])
    """
    return [problem.labels[0] for problem in binary_problems(np.empty(0, dtype=np.int64), classes)]


class ClassBlock(NamedTuple):
    """Points of one class that make a region: number of the class, name of the region, rows.

    Examples
    --------
    >>> ClassBlock(0, "low#1", np.array([0, 1])).name
    'low#1'
    """

    code: int
    name: str
    rows: IntArray


def class_blocks(partitions: Sequence[Partition], asked: Sequence[BinaryProblem]) -> Iterator[ClassBlock]:
    """Yield all blocks that hold one class, class by class; its isolated points are one more.

    Parameters
    ----------
    partitions : sequence of Partition
        Members numbered among the points of their side.
    asked : sequence of BinaryProblem
        The problems that they solve, as `problems` returns them.

    Yields
    ------
    ClassBlock
        Named as rules name them: the label and a running number; ``@`` for isolated points.

    Examples
    --------
    >>> asked = binary_problems(np.array([0, 0, 1, 1]), np.array(["a", "b"]))
    >>> found = asked[0].partition(np.array([[0.0], [1.0], [5.0], [6.0]]), 0)
    >>> [(b.code, b.name, b.rows.tolist()) for b in class_blocks([found], asked)]
    [(0, 'a#1', [0, 1]), (1, 'b#1', [2, 3])]
    """
    # Of several classes each has a problem of its own, where it is side 0.
    places = [(0, 0), (0, 1)] if len(asked) == 1 else [(k, 0) for k in range(len(asked))]
    for code, (k, side) in enumerate(places):
        rows, label = np.flatnonzero(asked[k].side == side), asked[k].labels[side]
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
