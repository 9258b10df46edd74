"""Hashes of records, by which a sample and its parts are drawn: whatever the order of the rows, wherever they are."""

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray

# Constants of the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
_GOLDEN, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))

Hashes = NDArray[np.uint64]


def record_hashes(records: FloatArray) -> Hashes:
    """Return a hash of each record's values as they came, shape (n,).

    Not of values in other units: these differ in their last bits by where sums over the records were made.
    """
    hashes = np.zeros(len(records), dtype=np.uint64)
    for column in records.T:
        hashes = _mixed(hashes + _GOLDEN + (column + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    return hashes


def _mixed(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(30))) * _FIRST
    hashes = (hashes ^ (hashes >> np.uint64(27))) * _SECOND
    return hashes ^ (hashes >> np.uint64(31))


def apart(hashes: Hashes) -> Hashes:
    """Return hashes that differ where those of equal records, which follow each other, do not.

    For tables of a few values: there equal records are no copies, and are dealt one by one.
    """
    return _mixed(hashes + _GOLDEN * np.arange(1, len(hashes) + 1, dtype=np.uint64))
