"""Partitions that each leave a part of the training set out, and what they say of the records in it.

The records are dealt into three parts. Each part is left out once: the others are partitioned, the blocks become local
densities, and these judge the part that they have not seen. Equal records are in the same part, or a partition would
have seen them, unless it is a table of a few values. At most `MOST_RECORDS` take part, from all over each class.

Where there are categories the records that were left out also tell how to read them: by the shares of their values, or
as features like all others, whose covariances tell which values come together. And they tell whether blocks of a class
are read one by one, or some of them as one (see `model.joining`), and how heavy the tails of their densities are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.estimators.calibrating import learn_calibration
from sepc.geometry.threads import one_blas_thread
from sepc.model.calibration import Calibration
from sepc.model.category_shares import Categories
from sepc.model.densities import LocalDensities
from sepc.model.incomplete import OTHER_TAILS, USUAL_TAILS, known_share
from sepc.model.joining import APART, EXTENTS
from sepc.model.part_blocks import (
    LEFT_OUT,
    N_PARTS,
    PartBlocks,
    densities_of_blocks,
    groupings_of_blocks,
    joined_blocks,
)
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
    tails : float
        Degrees of freedom of the tails.
    """

    calibration: Calibration
    parts: PartBlocks
    categories: Categories | None
    extent: int
    tails: float


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
    records = _Records(points, codes, class_count, unit, left_out, gaps)
    with one_blas_thread():  # SciPy's L-BFGS-B solves small systems of equations
        reading, calibration, _ = _best(records, blocks, categories)
    if not len(rows):
        parts_found = PartBlocks.without_records(reading.densities)
    else:
        table = np.array(reading.blocks, dtype=np.int64).reshape(len(blocks), len(rows))
        parts_found = PartBlocks(reading.densities, rows, compact(table, len(rows)))
    return LeftOut(calibration, parts_found, reading.categories, reading.extent, reading.tails)


def _best(records: "_Records", blocks: list[IntArray], categories: Categories | None) -> "_Judged":
    """Return how the blocks of each partition are read best.

    As long as nothing else is clearly better, each block is read by itself, with the usual tails.
    """
    ways = [None] if categories is None else [categories, None]
    readings = [_readings(records, blocks, way) for way in ways]
    usual = min((next(of_way) for of_way in readings), key=lambda one: one.loss)  # the first one if nothing tells
    return _clearly_better(usual, chain.from_iterable(readings))


def _readings(records: "_Records", blocks: list[IntArray], categories: Categories | None) -> Iterator["_Judged"]:
    """Yield ways to read blocks, the usual one first: joined or not, each time with usual, heavy and light tails."""
    for extent, joined in _different(records.points, records.codes, blocks, categories):
        reading = records.reading(extent, joined, categories)
        # All pairs: heavy tails speak for one component where light ones speak for several.
        for tails in (USUAL_TAILS, *OTHER_TAILS):
            yield records.judged(reading.with_tails(tails))


def _different(
    points: FloatArray, codes: IntArray, blocks: list[IntArray], categories: Categories | None
) -> Iterator[tuple[int, list[IntArray]]]:
    """Yield how far blocks are joined, and the blocks of all parts: the farthest of extents where these are the same.

    Where they are all apart, nothing speaks for going any further.
    """
    by_part = [groupings_of_blocks(points, codes, numbers, categories) for numbers in blocks]
    yield APART, blocks
    farther = apart = [found[APART] for found in by_part]
    for extent in reversed(EXTENTS[1:]):
        groups = [found[extent] for found in by_part]
        if not any(all(map(np.array_equal, groups, seen)) for seen in (apart, farther)):
            yield extent, list(map(joined_blocks, blocks, groups))
        farther = groups


class _Reading(NamedTuple):
    """How the blocks of each partition are read: some of them joined, some categories apart, with these tails."""

    extent: int
    blocks: list[IntArray]
    categories: Categories | None
    densities: tuple[LocalDensities, ...]
    tails: float = USUAL_TAILS

    def with_tails(self, tails: float) -> Self:
        """Return the same with other tails."""
        return self._replace(tails=tails, densities=tuple(replace(found, tails=tails) for found in self.densities))


class _Judged(NamedTuple):
    """How well a reading foretells the records that were left out: their losses, equal ones together."""

    reading: _Reading
    calibration: Calibration
    losses: FloatArray

    @property
    def loss(self) -> float:
        """Sum of the losses of all records that were left out."""
        return float(self.losses.sum())

    def is_clearly_better_than(self, other: "_Judged") -> bool:
        """Return whether its losses are less by more than the standard error of that difference."""
        gains = other.losses - self.losses
        return len(gains) > 0 and bool(gains.sum() > np.sqrt(len(gains)) * gains.std())


def _clearly_better(usual: _Judged, others: Iterable[_Judged]) -> _Judged:
    """Return the one with the least loss among those that are clearly better than the usual one, else that one."""
    best = usual
    for one in others:
        if one.is_clearly_better_than(usual) and one.loss < best.loss:
            best = one
    return best


class _Records:
    """Records that take part, and which of them each partition has left out."""

    def __init__(
        self,
        points: FloatArray,
        codes: IntArray,
        class_count: IntArray,
        unit: FloatArray,
        left_out: list[IntArray],
        gaps: BoolArray | None,
    ) -> None:
        self.points, self.codes, self.class_count, self.unit = points, codes, class_count, unit
        self.left_out, self.gaps = left_out, gaps
        self.there = points if gaps is None else np.where(gaps, np.nan, points)
        # Equal records are in the same part and have the same loss: they are no independent witnesses.
        equal = groups_of(points, codes)
        self.witness = np.arange(len(codes)) if equal is None else equal.of_record

    def reading(self, extent: int, blocks: list[IntArray], categories: Categories | None) -> _Reading:
        """Return the densities of the blocks of each partition."""
        how = len(self.class_count), categories, self.gaps
        densities = (densities_of_blocks(self.points, self.codes, numbers, *how) for numbers in blocks)
        return _Reading(extent, blocks, categories, tuple(densities))

    def judged(self, reading: _Reading) -> _Judged:
        """Calibrate a reading by what its partitions say of the records that they have left out."""
        categories = reading.categories
        unit = self.unit if categories is None else self.unit[categories.numbers(len(self.unit))]
        joint = np.full((len(self.codes), len(self.class_count)), np.nan)
        for out, densities in zip(self.left_out, reading.densities, strict=True):
            joint[out] = densities.log_joint_in(unit, self.there[out])
        known = np.flatnonzero(np.isfinite(joint).all(axis=1))
        share, codes = known_share(self.there[known]), self.codes[known]
        calibration = learn_calibration(joint[known], codes, self.class_count, share)
        right = calibration.posterior(joint[known], share)[np.arange(len(known)), codes]
        losses = np.bincount(self.witness[known], -np.log(right))
        return _Judged(reading, calibration, np.asarray(losses, dtype=np.float64))


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
