"""Splits of records: stratified parts, and hashes by which samples are drawn whatever the order of the rows."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray

# The part of a record that is the only one of its class: without it the class would be unknown.
IN_NO_PART = -1
# The increment of SplitMix64 (Steele, Lea and Flood, 2014), whose finaliser is `_mixed`.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Hashes = NDArray[np.uint64]


def record_hashes(records: FloatArray) -> Hashes:
    """Return a hash of each record's original values, shape (n,).

    Standardised values would differ in their last bits, with the order in which sums over the records are made.
    """
    hashes = np.zeros(len(records), dtype=np.uint64)
    for column in records.T:
        hashes = _mixed(hashes + _GOLDEN + (column + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    return hashes


def _mixed(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def apart(hashes: Hashes) -> Hashes:
    """Return hashes that differ where those of equal records, which follow each other, do not.

    For tables of a few values: there equal records are no copies, and are split one by one.
    """
    return _mixed(hashes + _GOLDEN * np.arange(1, len(hashes) + 1, dtype=np.uint64))


def stratified_parts(
    codes: IntArray,
    n_parts: int,
    *,
    order: Callable[[IntArray], IntArray] = lambda rows: rows,
    first: Callable[[IntArray], int] = lambda rows: 0,  # noqa: ARG005
) -> IntArray:
    """Split the records of each class into parts whose sizes differ by one at most, record after record.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Classes, as numbers.
    n_parts : int
    order : callable, optional
        Returns the rows of a class in the order in which they are assigned; the given order by default.
    first : callable, optional
        Returns the part of the first record of a class with these rows, modulo `n_parts`. It is called before `order`.

    Returns
    -------
    ndarray of int, shape (n,)
        The part of each record, `IN_NO_PART` for the only one of its class.
    """
    parts = np.full(len(codes), IN_NO_PART)
    for k in range(codes.max() + 1):
        rows = np.flatnonzero(codes == k)
        if len(rows) > 1:
            turns = (np.arange(len(rows)) + first(rows)) % n_parts
            parts[order(rows)] = turns
    return parts
