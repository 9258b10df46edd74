"""The parts of a training set that are held out, one after the other.

Equal records are in the same part, or a partition would have seen them, unless they are no copies but those of a table
of a few values.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import IN_NO_PART, Hashes, stratified_parts
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.partition_model import N_PARTS
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.units import location_and_unit

# Up to this share of different ones equal records may be no copies: a table of a few values has them by its nature.
# Then this share of them has an equal with another label, which no copy has, or no feature has more values than this
# number times the root of the number of different records: these are combinations of a few values.
_FEW_DISTINCT = 0.2
_CONTRADICTED = 0.5
_VALUES_PER_ROOT = 2.0


def parts_of(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the part of each record; equal records are in the same one, and each class is in all parts.

    Where no more than a fifth of the records differ, and they are combinations of a few values or half of them have an
    equal with another label, these are no copies, and new records will be equal to some, too: each is on its own.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n,)
        `IN_NO_PART` for a record that is the only one of its class, and those equal to it.
    """
    order, begins = _equal_records(points)
    parts = np.empty(len(order), dtype=np.int64)
    if _has_few_values(points[order[begins]], begins, codes[order]):
        parts[order] = stratified_parts(codes[order], N_PARTS)
    else:
        # Equal records are one group, with the class of its first.
        parts[order] = stratified_parts(codes[order[begins]], N_PARTS)[np.cumsum(begins) - 1]
    return parts


class HashParts(NamedTuple):
    """The parts by hashes of the records: equal hashes are in the same part.

    Attributes
    ----------
    never_held_out : ndarray of int
        Classes whose records would all be in one part: without it the class would be unknown.
    """

    never_held_out: IntArray

    @classmethod
    def of(cls, hashes: Hashes, codes: IntArray) -> "HashParts":
        """Return the parts of a training set, by its core: classes with few records are in it whole."""
        part = hashes % np.uint64(N_PARTS)
        classes = np.unique(codes)
        return cls(np.array([k for k in classes if len(np.unique(part[codes == k])) == 1], dtype=np.int64))

    def __call__(self, hashes: Hashes, codes: NDArray[np.integer]) -> IntArray:
        """Return the part in which each record is held out, shape (n,); `IN_NO_PART` for those that never are."""
        part = np.asarray(hashes % np.uint64(N_PARTS), dtype=np.int64)
        part[np.isin(codes, self.never_held_out)] = IN_NO_PART
        return part


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
    """
    order, begins = _equal_records(points)
    if begins.all() or _has_few_values(points[order[begins]], begins, codes[order]):
        return None
    of_record = np.empty(len(order), dtype=np.int64)
    of_record[order] = np.cumsum(begins) - 1
    return Groups(of_record, order[begins])


def has_few_values(points: FloatArray, codes: IntArray) -> bool:
    """Return whether there are equal records, and they are no copies but those of a table of a few values."""
    order, begins = _equal_records(points)
    return not begins.all() and _has_few_values(points[order[begins]], begins, codes[order])


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
