"""Partitions that each leave a part of the training set out, and what they say of the records in it.

The records are dealt into three parts. Each part is left out once: the others are partitioned, the blocks become local
densities, and these judge the part that they have not seen. Equal records are in the same part, or a partition would
have seen them, unless it is a table of a few values. At most `MOST_RECORDS` take part, from all over each class.

Where there are categories the records that were left out also tell how to read them: by the shares of their values, or
as features like all others, whose covariances tell which values come together. And they tell whether blocks of a class
are read one by one, or some of them as one; see `model.joining`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.model.calibration import Calibration, learn_calibration
from sepc.model.category_shares import Categories
from sepc.model.densities import LocalDensities
from sepc.model.incomplete import known_share
from sepc.model.joining import APART, EXTENTS
from sepc.model.part_blocks import LEFT_OUT, N_PARTS, PartBlocks, densities_of_blocks, joined_blocks
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit

# One record more in a partition costs more than its share; a few numbers are learnt well from so many.
MOST_RECORDS = 6000
# Up to this share of different ones equal records may be no copies: a table of a few values has them by its nature.
# Then this share of them has an equal with another label, which no copy has, or no feature has more values than so many
# times the root of the number of different records: these are combinations of a few values.
_FEW_DISTINCT = 0.2
_CONTRADICTED = 0.5
_VALUES_PER_ROOT = 2.0


def taking_part(class_count: IntArray) -> IntArray:
    """Return which records take part, by their numbers in canonical order: all, or at even distances in each class.

    Examples
    --------
    >>> taking_part(np.array([2, 3])).tolist()
    [0, 1, 2, 3, 4]
    >>> len(taking_part(np.array([9000, 3000])))
    6000
    """
    n = int(class_count.sum())
    if n <= MOST_RECORDS:
        return np.arange(n)
    firsts = np.cumsum(class_count) - class_count
    wanted = np.maximum(class_count * MOST_RECORDS // n, np.minimum(class_count, N_PARTS))
    chosen = [
        first + np.arange(k, dtype=np.int64) * int(count) // int(k)
        for first, count, k in zip(firsts.tolist(), class_count, wanted, strict=True)
    ]
    return np.concatenate(chosen)


class LeftOut(NamedTuple):
    """What records that were left out say of densities.

    Attributes
    ----------
    calibration : Calibration
    parts : PartBlocks
    categories : Categories or None
        Those that are read by the shares of their values.
    extent : int
        How far blocks are joined, one of `joining.EXTENTS`.
    """

    calibration: Calibration
    parts: PartBlocks
    categories: Categories | None
    extent: int


def learn_from_left_out(
    points: FloatArray,
    codes: IntArray,
    classes: NDArray[Any],
    class_count: IntArray,
    unit: FloatArray,
    n_imp: int | float,
    options: PartitionOptions,
    rows: IntArray,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> LeftOut:
    """Calibrate densities by partitions like theirs that each leave a part of the records out.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Those that take part.
    codes : ndarray of int, shape (n,)
        Their classes.
    classes : ndarray of shape (n_classes,)
    class_count : ndarray of int, shape (n_classes,)
        Of all training records.
    unit : ndarray of shape (d,)
        Units of length of the densities that are to be calibrated.
    n_imp : int or float
    options : PartitionOptions
    rows : ndarray of int, shape (n,)
        Their numbers among all training points; empty where these are not kept.
    categories : Categories, optional
        Those that may be read by the shares of their values.
    gaps : ndarray of bool, shape (n, d), optional
        Where values are missing. A partition goes by what stands there, and what was left out is judged without it.

    Returns
    -------
    LeftOut

    Examples
    --------
    >>> X, codes = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat([0, 1], 3)
    >>> how = 2, PartitionOptions(), np.arange(6)
    >>> found = learn_from_left_out(X, codes, np.array([0, 1]), np.array([3, 3]), np.ones(1), *how)
    >>> len(found.calibration.left_out), found.parts.blocks.shape
    (6, (3, 6))
    """
    n_classes = len(classes)
    parts = parts_of(points, codes)
    left_out, blocks = [], []
    for k in range(N_PARTS):
        seen, out = np.flatnonzero(parts != k), np.flatnonzero(parts == k)
        if not len(out) or len(np.unique(codes[seen])) < n_classes:
            continue  # where records are few, or all of a class are equal: without them it would be unknown
        numbers = np.full(len(codes), LEFT_OUT)
        numbers[seen] = _blocks(points[seen], codes[seen], classes, n_imp, options)
        left_out.append(out)
        blocks.append(numbers)
    ways = [None] if categories is None else [categories, None]
    equal = groups_of(points, codes)
    readings = [
        _reading(points, codes, class_count, unit, left_out, joined, extent, way, gaps, equal)
        for way in ways
        for extent, joined in _different(points, codes, blocks, way)
    ]
    best = _best(readings)
    if not len(rows):
        parts_found = PartBlocks.without_records(best.densities)
    else:
        table = np.array(best.blocks, dtype=np.int64).reshape(len(blocks), len(rows))
        parts_found = PartBlocks(best.densities, rows, compact(table, len(rows)))
    return LeftOut(best.calibration, parts_found, best.categories, best.extent)


def _different(
    points: FloatArray, codes: IntArray, blocks: list[IntArray], categories: Categories | None
) -> Iterator[tuple[int, list[IntArray]]]:
    """Yield how far blocks are joined, and the blocks of all parts: the farthest of extents where these are the same.

    Where they are all apart, nothing speaks for going any further.
    """
    by_part = [joined_blocks(points, codes, numbers, categories) for numbers in blocks]
    apart = [found[APART] for found in by_part]
    yield APART, apart
    farther = apart
    for extent in reversed(EXTENTS[1:]):
        joined = [found[extent] for found in by_part]
        if not any(all(map(np.array_equal, joined, seen)) for seen in (apart, farther)):
            yield extent, joined
        farther = joined


class _Reading(NamedTuple):
    """Densities of blocks, some of them joined, some categories apart; and how well they foretell what was left out.

    `losses` are those of records that were left out, equal ones together.
    """

    extent: int
    blocks: list[IntArray]
    categories: Categories | None
    densities: tuple[LocalDensities, ...]
    calibration: Calibration
    losses: FloatArray

    @property
    def loss(self) -> float:
        """Sum of the losses of all records that were left out."""
        return float(self.losses.sum())

    def is_clearly_better_than(self, other: "_Reading") -> bool:
        """Return whether its losses are less by more than the standard error of that difference."""
        gains = other.losses - self.losses
        return bool(gains.sum() > np.sqrt(len(gains)) * gains.std())


def _best(readings: Sequence[_Reading]) -> _Reading:
    """Return the reading with the least loss; blocks are joined only where that is clearly better than none joined."""
    one_by_one = [one for one in readings if one.extent == APART]
    apart = min(one_by_one, key=lambda one: one.loss)  # the first one if nothing tells
    joined = [one for one in readings if one.extent != APART and one.is_clearly_better_than(apart)]
    return min(joined, key=lambda one: one.loss, default=apart)


def _reading(
    points: FloatArray,
    codes: IntArray,
    class_count: IntArray,
    unit: FloatArray,
    left_out: list[IntArray],
    blocks: list[IntArray],
    extent: int,
    categories: Categories | None,
    gaps: BoolArray | None,
    equal: "Groups | None",
) -> _Reading:
    there = points if gaps is None else np.where(gaps, np.nan, points)
    unit = unit if categories is None else unit[categories.numbers(len(unit))]
    joint = np.full((len(codes), len(class_count)), np.nan)
    densities = []
    for out, numbers in zip(left_out, blocks, strict=True):
        found = densities_of_blocks(points, codes, numbers, len(class_count), categories, gaps)
        joint[out] = found.log_joint_in(unit, there[out])
        densities.append(found)
    known = np.flatnonzero(np.isfinite(joint).all(axis=1))
    share = known_share(there[known])
    calibration = learn_calibration(joint[known], codes[known], class_count, share)
    right = calibration.posterior(joint[known], share)[np.arange(len(known)), codes[known]]
    # Equal records are in the same part and have the same loss: they are no independent witnesses.
    witness = np.arange(len(codes)) if equal is None else equal.of_record
    losses = np.asarray(np.bincount(witness[known], -np.log(right)), dtype=np.float64)
    return _Reading(extent, blocks, categories, tuple(densities), calibration, losses)


def parts_of(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the part of each record; equal records are in the same one, and each class is in all parts.

    Where no more than a fifth of the records differ, and they are combinations of a few values or half of them have an
    equal with another label, these are no copies, and new records will be equal to some, too: each is dealt by itself.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n,)
        `IN_NO_PART` for a record that is the only one of its class, and those equal to it.

    Examples
    --------
    >>> parts_of(np.array([[0.0], [0.0], [1.0], [2.0], [5.0], [6.0]]), np.array([0, 0, 0, 0, 1, 1])).tolist()
    [0, 0, 1, 2, 0, 1]
    """
    order, begins = _equal_records(points)
    parts = np.empty(len(order), dtype=np.int64)
    if _has_few_values(points[order[begins]], begins, codes[order]):
        parts[order] = deal(codes[order], N_PARTS)
    else:
        # Equal records are one group, dealt with the class of its first.
        parts[order] = deal(codes[order[begins]], N_PARTS)[np.cumsum(begins) - 1]
    return parts


class Groups(NamedTuple):
    """Records that are equal: the group of each record, shape (n,), and one record of each group."""

    of_record: IntArray
    first: IntArray


def groups_of(points: FloatArray, codes: IntArray) -> Groups | None:
    """Return which records are equal, and so belong into the same part; None if none are, or if they are no copies.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes.

    Examples
    --------
    >>> groups_of(np.array([[2.0], [0.0], [2.0], [1.0]]), np.array([0, 0, 1, 1])).of_record.tolist()
    [2, 0, 2, 1]
    >>> groups_of(np.array([[2.0], [0.0]]), np.array([0, 1])) is None
    True
    """
    order, begins = _equal_records(points)
    if begins.all() or _has_few_values(points[order[begins]], begins, codes[order]):
        return None
    of_record = np.empty(len(order), dtype=np.int64)
    of_record[order] = np.cumsum(begins) - 1
    return Groups(of_record, order[begins])


def _has_few_values(different: FloatArray, begins: BoolArray, codes: IntArray) -> bool:
    """Return whether equal records, which follow each other, are no copies but those of a table of a few values.

    `different` are those that differ, shape (n_different, d).
    """
    if len(different) > _FEW_DISTINCT * len(begins):
        return False
    if max(len(np.unique(column)) for column in different.T) <= _VALUES_PER_ROOT * np.sqrt(len(different)):
        return True
    group = np.cumsum(begins) - 1
    is_mixed = np.zeros(group[-1] + 1, dtype=bool)
    is_mixed[group[1:][(codes[1:] != codes[:-1]) & ~begins[1:]]] = True
    return bool(np.mean(is_mixed[group]) >= _CONTRADICTED)


def _equal_records(points: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return an order of the records in which equal ones follow each other, and where others begin."""
    ranks = without_last_bits(points, location_and_unit(points)[1])
    order = canonical_order(ranks)
    begins = np.full(len(order), True)
    begins[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in ranks.T])
    return order, begins


def _blocks(
    points: FloatArray, codes: IntArray, classes: NDArray[Any], n_imp: int | float, options: PartitionOptions
) -> IntArray:
    """Partition points; return the block of each, numbered class by class."""
    problems = problems_of(codes, classes)
    unit = location_and_unit(points)[1]
    options = options._replace(only_blocks=True)
    partitions = [problem.partition(points, n_imp, options=options, unit=unit) for problem in problems]
    numbers = np.empty(len(codes), dtype=np.int64)
    for number, block in enumerate(class_blocks(partitions, problems)):
        numbers[block.rows] = number
    return numbers
