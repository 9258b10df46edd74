"""Partitions that each leave a part of the training records out: their densities, and which record is in which block.

They tell how firm a label is: whether partitions that have not seen a part of the records give it, too. A file keeps
the numbers of the blocks, which are few beside the records, and the densities are made of them again.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.block_densities import local_densities
from sepc.model.category_shares import Categories
from sepc.model.components import component_of_points
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import TrainingRecords
from sepc.model.incomplete import USUAL_TAILS
from sepc.model.joining import groupings
from sepc.partitions.units import location_and_unit

N_PARTS = 3
# The block of a record that a partition has not seen.
LEFT_OUT = -1


class PartBlocks(NamedTuple):
    """Partitions without a part of the records.

    Attributes
    ----------
    densities : tuple of LocalDensities
        One for each of them.
    rows : ndarray of int, shape (m,)
        Numbers of the training points that take part, in their order.
    blocks : ndarray of int, shape (n_partitions, m)
        Block of each of them, numbered from 0, class by class; those that are read as one have one number. -1 for
        records that were left out.

    Examples
    --------
    >>> records = TrainingRecords(np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1]), np.arange(4))
    >>> found = PartBlocks.of(records, np.arange(4), np.array([[0, 0, 1, -1]]), 2)
    >>> found.densities[0].codes.tolist()
    [0, 1]
    """

    densities: tuple[LocalDensities, ...]
    rows: IntArray
    blocks: NDArray[np.integer]

    @classmethod
    def without_records(cls, densities: tuple[LocalDensities, ...]) -> Self:
        """Make them of densities alone, where no record is kept."""
        return cls(densities, np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.int64))

    @classmethod
    def of(
        cls,
        records: TrainingRecords,
        rows: IntArray,
        blocks: NDArray[np.integer],
        n_classes: int,
        categories: Categories | None = None,
        tails: float = USUAL_TAILS,
    ) -> Self:
        """Make the densities of numbered blocks, with these tails."""
        points, codes = records.points[rows], records.codes[rows].astype(np.int64)
        gaps = None if records.gaps is None else records.gaps[rows]
        found = (densities_of_blocks(points, codes, part, n_classes, categories, gaps) for part in blocks)
        return cls(tuple(replace(densities, tails=tails) for densities in found), rows, blocks)


def densities_of_blocks(
    points: FloatArray,
    codes: IntArray,
    blocks: NDArray[np.integer],
    n_classes: int,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> LocalDensities:
    """Return the densities of points with numbered blocks.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes; a block has points of one class.
    blocks : ndarray of int, shape (n,)
        Numbered class by class; -1 for points in none.
    n_classes : int
    categories : Categories, optional
        Those that stand apart.
    gaps : ndarray of bool, shape (n, d), optional
        As for `local_densities`.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0], [2.0]])
    >>> found = densities_of_blocks(points, np.array([0, 0, 1, 1, 0]), np.array([0, 0, 1, 1, -1]), 2)
    >>> found.center.tolist()
    [3.0]
    """
    seen = np.flatnonzero(blocks != LEFT_OUT)
    center, unit = location_and_unit(points[seen])
    count = np.bincount(codes[seen], minlength=n_classes)
    return local_densities(points, _by_class(codes, blocks), count, center, unit, categories, gaps)


def groupings_of_blocks(
    points: FloatArray, codes: IntArray, blocks: IntArray, categories: Categories | None = None
) -> list[IntArray]:
    """Return which numbered blocks are read as one, for each of `joining.EXTENTS`.

    Parameters
    ----------
    points, codes, blocks, categories
        As for `densities_of_blocks`.

    Returns
    -------
    list of ndarray of int, shape (n_blocks,)

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> groupings_of_blocks(x, np.zeros(400, dtype=int), (x[:, 0] < 0).astype(int))[:2]
    [array([0, 1]), array([0, 0])]
    """
    center, unit = location_and_unit(points[blocks != LEFT_OUT])
    parts = [component_of_points(code, points[rows], center, unit) for code, rows in _by_class(codes, blocks)]
    return groupings(parts, categories, center, unit)


def joined_blocks(blocks: IntArray, groups: IntArray) -> IntArray:
    """Return the numbers of blocks, shape (n,), where some are read as one.

    Examples
    --------
    >>> joined_blocks(np.array([2, LEFT_OUT, 0, 1]), np.array([0, 1, 0])).tolist()
    [0, -1, 0, 1]
    """
    return np.where(blocks == LEFT_OUT, LEFT_OUT, groups[blocks])


def _by_class(codes: IntArray, blocks: NDArray[np.integer]) -> Iterator[tuple[int, IntArray]]:
    """Yield class and rows of each block."""
    seen = np.flatnonzero(blocks != LEFT_OUT)
    order = seen[np.argsort(blocks[seen], kind="stable")]
    for rows in np.split(order, np.cumsum(np.bincount(blocks[seen]))[:-1]):
        yield int(codes[rows[0]]), rows
