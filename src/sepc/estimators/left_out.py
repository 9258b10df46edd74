"""Partitions that each leave a part of the training set out, and what they say of the records in it.

The records are dealt into three parts. Each part is left out once: the others are partitioned, the blocks become local
densities, and these judge the part that they have not seen. Equal records are in the same part, or a partition would
have seen them. At most `MOST_RECORDS` take part, from all over each class.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import deal
from sepc.common.typing import FloatArray, IntArray, compact
from sepc.model.calibration import Calibration, learn_calibration
from sepc.model.part_blocks import LEFT_OUT, N_PARTS, PartBlocks, densities_of_blocks
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit

# One record more in a partition costs more than its share; two numbers are learnt well from so many.
MOST_RECORDS = 6000


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


def learn_from_left_out(
    points: FloatArray,
    codes: IntArray,
    classes: NDArray[Any],
    class_count: IntArray,
    unit: FloatArray,
    n_imp: int | float,
    options: PartitionOptions,
    rows: IntArray,
) -> tuple[Calibration, PartBlocks]:
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

    Returns
    -------
    calibration : Calibration
    parts : PartBlocks

    Examples
    --------
    >>> X, codes = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat([0, 1], 3)
    >>> how = 2, PartitionOptions(), np.arange(6)
    >>> found, parts = learn_from_left_out(X, codes, np.array([0, 1]), np.array([3, 3]), np.ones(1), *how)
    >>> len(found.left_out), parts.blocks.shape
    (6, (3, 6))
    """
    n_classes = len(classes)
    parts = parts_of(points, codes)
    numbers, densities = [], []
    joint = np.full((len(codes), n_classes), np.nan)
    for k in range(N_PARTS):
        seen, out = np.flatnonzero(parts != k), np.flatnonzero(parts == k)
        if not len(out) or len(np.unique(codes[seen])) < n_classes:
            continue  # where records are few, or all of a class are equal: without them it would be unknown
        blocks = np.full(len(codes), LEFT_OUT)
        blocks[seen] = _blocks(points[seen], codes[seen], classes, n_imp, options)
        found = densities_of_blocks(points, codes, blocks, n_classes)
        joint[out] = found.log_joint_in(unit, points[out])
        numbers.append(blocks)
        densities.append(found)
    known = np.isfinite(joint).all(axis=1)
    calibration = learn_calibration(joint[known], codes[known], class_count)
    if not len(rows):
        return calibration, PartBlocks.without_records(tuple(densities))
    table = np.array(numbers, dtype=np.int64).reshape(len(numbers), len(rows))
    return calibration, PartBlocks(tuple(densities), rows, compact(table, len(rows)))


def parts_of(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the part of each record; equal records are in the same one, and each class is in all parts.

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
    ranks = without_last_bits(points, location_and_unit(points)[1])
    order = canonical_order(ranks)
    begins = np.full(len(order), True)
    begins[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in ranks.T])
    parts = np.empty(len(order), dtype=np.int64)
    # Equal records are one group, dealt with the class of its first.
    parts[order] = deal(codes[order[begins]], N_PARTS)[np.cumsum(begins) - 1]
    return parts


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
