"""The parts of a training set that are held out, one after the other.

Equal records are in the same part, or a partition would have seen them, unless they are no copies but those of a table
of a few values.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import IN_NO_PART, Hashes, stratified_parts
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.constants import CONTRADICTED, FEW_DISTINCT, VALUES_PER_ROOT
from sepc.model.partition_model import N_PARTS
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.units import location_and_unit


def parts_of(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the part of each record, shape (n,); equal records are in the same one, and each class is in all parts.

    Equal records are copies unless at most a fifth of all records differ, and either these are combinations of a few
    values or half of the records have an equal with another label: then new records will be equal to some, too, and
    each is on its own. Those that are the only ones of their class, but for copies, are in `IN_NO_PART`.
    """
    order, begins = _equal_records(points)
    if _has_few_values(points[order[begins]], begins, codes[order]):
        begins = np.full(len(order), True)
    parts = np.empty(len(order), dtype=np.int64)
    # Equal records are one group, with the class of its first.
    parts[order] = stratified_parts(codes[order[begins]], N_PARTS)[np.cumsum(begins) - 1]
    return parts


class HashParts(NamedTuple):
    """The parts by hashes of the records: equal hashes are in the same part.

    `never_held_out` are classes whose records would all be in one part: without it the class would be unknown.
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


def groups_of(points: FloatArray, codes: IntArray) -> Groups:
    """Return which records are equal, and so belong into the same part; each its own group if they are no copies."""
    order, begins = _equal_records(points)
    if begins.all() or _has_few_values(points[order[begins]], begins, codes[order]):
        each = np.arange(len(order))
        return Groups(each, each)
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
    if len(different) > FEW_DISTINCT * len(begins):
        return False
    if max(len(np.unique(column)) for column in different.T) <= VALUES_PER_ROOT * np.sqrt(len(different)):
        return True
    group = np.cumsum(begins) - 1
    is_mixed = np.zeros(group[-1] + 1, dtype=bool)
    is_mixed[group[1:][(codes[1:] != codes[:-1]) & ~begins[1:]]] = True
    return bool(np.mean(is_mixed[group]) >= CONTRADICTED)


def _equal_records(points: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return an order of the records in which equal ones follow each other, and where others begin."""
    ranks = without_last_bits(points, location_and_unit(points)[1])
    order = canonical_order(ranks)
    begins = np.full(len(order), True)
    begins[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in ranks.T])
    return order, begins
