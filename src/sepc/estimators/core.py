"""The core of a large training set: a sample that the partition is made of, and the parts that records are left out in.

The time of a partition grows faster than the number of its records. So it is made of a core that represents every
class; all records then take part in passes (`refinement`). Which records are in the core, and in which
part a record is left out, is decided by a hash of its values: so neither the order of the rows matters nor where they
are.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.record_hashes import Hashes
from sepc.common.splits import IN_NO_PART
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.held_out import N_PARTS

# Records in a core, and numbers in it: an ellipsoid of many features takes longer. A partition of 20,000 overlapping
# records takes 1 s with 10 features and 5 s with 30, and a fit makes four.
_CORE_RECORDS = 20_000
_CORE_NUMBERS = 600_000
_LEAST_CORE = 5_000


@dataclass(frozen=True, eq=False, slots=True)
class Core:
    """The records that a partition is made of, class by class in canonical order.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes.
    gaps : ndarray of bool, shape (n, d), or None
        Where values are missing, and something else stands in for them.
    hashes : ndarray of uint64, shape (n,), or None
        Of the records; None where the core is the whole training set.
    """

    points: FloatArray
    codes: IntArray
    gaps: BoolArray | None = None
    hashes: Hashes | None = None

    @property
    def there(self) -> FloatArray:
        """The points with NaN where values are missing, shape (n, d)."""
        return self.points if self.gaps is None else np.where(self.gaps, np.nan, self.points)


class HashParts(NamedTuple):
    """The parts in which records are left out, by their hashes: equal hashes are in the same part.

    Attributes
    ----------
    never_left_out : ndarray of int
        Classes whose records would all be in one part: without it the class would be unknown.
    """

    never_left_out: IntArray

    @classmethod
    def of(cls, hashes: Hashes, codes: IntArray) -> "HashParts":
        """Return the parts of a training set, by its core: classes with few records are in it whole."""
        part = hashes % np.uint64(N_PARTS)
        classes = np.unique(codes)
        return cls(np.array([k for k in classes if len(np.unique(part[codes == k])) == 1], dtype=np.int64))

    def __call__(self, hashes: Hashes, codes: NDArray[np.integer]) -> IntArray:
        """Return the part in which each record is left out, shape (n,); `IN_NO_PART` for those that never are."""
        part = np.asarray(hashes % np.uint64(N_PARTS), dtype=np.int64)
        part[np.isin(codes, self.never_left_out)] = IN_NO_PART
        return part


def core_size(d: int) -> int:
    """Return how many records with d features a core has at most."""
    return max(min(_CORE_RECORDS, _CORE_NUMBERS // d), _LEAST_CORE)


def core_counts(class_count: IntArray, n: int) -> IntArray:
    """Return how many records of each class are in a core of n: in proportion, but small classes whole.

    Half of the core is shared out evenly among the classes, the rest by their sizes.
    """
    if class_count.sum() <= n:
        return class_count
    least = np.minimum(class_count, max(n // (2 * len(class_count)), 1))
    share = max(n - least.sum(), 0) / (class_count - least).sum()
    return np.asarray(least + np.floor((class_count - least) * share), dtype=np.int64)


def evenly_by_hash(hashes: Hashes, k: int) -> IntArray:
    """Return k records at even distances in the order of their hashes, by number, ascending.

    Of equal records, whose hashes are equal, as many are chosen as of all others in proportion.
    """
    order = np.argsort(hashes, kind="stable")
    return np.sort(order[(2 * np.arange(k) + 1) * len(hashes) // (2 * k)])


def first_of_each(hashes: Hashes, chosen: Hashes) -> BoolArray:
    """Return which records are chosen, by the hashes of those that are: of equal ones the first, as often as chosen."""
    wanted, often = np.unique(chosen, return_counts=True)
    order = np.argsort(hashes, kind="stable")
    in_order = hashes[order]
    nth = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    place = np.minimum(np.searchsorted(wanted, in_order), len(wanted) - 1)
    out = np.empty(len(order), dtype=bool)
    out[order] = (wanted[place] == in_order) & (nth < often[place])
    return out


def core_rows(class_count: IntArray, hashes: Hashes, n: int) -> IntArray:
    """Return which records of a training set, class by class, are a core of n, ascending."""
    ends = np.cumsum(class_count)
    of_classes = zip((ends - class_count).tolist(), ends.tolist(), core_counts(class_count, n).tolist(), strict=True)
    return np.concatenate([start + evenly_by_hash(hashes[start:end], k) for start, end, k in of_classes])
