"""Blocks, hyperplanes and the partition that they make up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.ellipsoid import Ellipsoid


def set_name(side: int, n_sets: int) -> str:
    """Return the name of a set of points: A or B of two, else its number, counted from 1."""
    return "AB"[side] if n_sets == 2 else f"set {side + 1}"


class Hyperplane(NamedTuple):
    """The set ``{x : normal @ x == offset}``; A's side is where ``normal @ x > offset``.

    Examples
    --------
    >>> Hyperplane(np.array([1.0, 0.0]), 3.0).offset
    3.0
    """

    normal: FloatArray
    offset: float


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Training points of one label with the ellipsoid around them.

    Attributes
    ----------
    side : int
        0 for A, 1 for B; of several sets the number of the set, counted from 0.
    members : ndarray of int
        Row numbers of its set, ascending.
    ellipsoid : Ellipsoid
        Of minimum volume; contains its members.
    iteration : int
        The round that made it, counted from 1; 0 for what was left over at the end, which may hold any number of
        points of the other label.

    Examples
    --------
    >>> from sepc.partitions import partition
    >>> P = partition([[0.0], [1.0], [2.0]], [[5.0], [6.0], [9.0]])
    >>> P.blocks[1].side, P.blocks[1].members.tolist(), P.blocks[1].left_over
    (1, [0, 1, 2], False)
    """

    side: int
    members: IntArray
    ellipsoid: Ellipsoid
    iteration: int

    @property
    def left_over(self) -> bool:
        """Whether this block holds what no hyperplane could split any more."""
        return self.iteration == 0


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Partition:
    """Labelled point sets, two or several, as ellipsoids that hold (nearly) one label each.

    Attributes
    ----------
    blocks : tuple of Block
        In the order in which they were found.
    isolated : tuple of ndarray of int, one for each set
        Row numbers that are in no block: what was left over was too little for an ellipsoid.
    hyperplanes : tuple of Hyperplane
        One for each round that made an ellipsoid. Of several sets one for each ellipsoid that was cut from the others,
        with its set on A's side and all others on B's.
    n_iter : int
        Number of those rounds.
    stopped : str
        Why there was no further round.
    n_imp : int
        Number of points of the other label that an ellipsoid was allowed to hold.

    Examples
    --------
    >>> from sepc.partitions import partition
    >>> partition([[0.0], [1.0], [2.0]], [[5.0], [6.0], [9.0]])
    Partition(A 3 | B 3, n_imp=2, n_iter=1)
    """

    blocks: tuple[Block, ...]
    isolated: tuple[IntArray, ...]
    hyperplanes: tuple[Hyperplane, ...]
    n_iter: int
    stopped: str
    n_imp: int

    def __repr__(self) -> str:
        sizes = " | ".join(map(self._sizes, range(len(self.isolated))))
        return f"Partition({sizes}, n_imp={self.n_imp}, n_iter={self.n_iter})"

    def _sizes(self, side: int) -> str:
        words = [
            set_name(side, len(self.isolated)),
            *(str(len(block.members)) for block in self.blocks if block.side == side),
        ]
        alone = len(self.isolated[side])
        return " ".join([*words, f"+{alone}"] if alone else words)


def renumbered(p: Partition, rows: Sequence[IntArray]) -> Partition:
    """Return a partition whose members have other row numbers: ``rows[side][i]`` in place of i.

    These have at least 32 bits: users may compute with them.
    """

    def numbers(side: int, members: IntArray) -> IntArray:
        # Repeated rows are named once: equal points are always together.
        return np.unique(rows[side].take(members)).astype(np.result_type(rows[side], np.int32), copy=False)

    blocks = tuple(Block(b.side, numbers(b.side, b.members), b.ellipsoid, b.iteration) for b in p.blocks)
    isolated = tuple(numbers(side, alone) for side, alone in enumerate(p.isolated))
    return Partition(blocks, isolated, p.hyperplanes, p.n_iter, p.stopped, p.n_imp)
