"""Digests of training records: they show whether a record was one, without holding its values."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray

# Of more records none are kept: 8 bytes each.
MOST_DIGESTS = 1_000_000

Digests = NDArray[np.uint64]


def row_digests(X: FloatArray) -> Digests:
    """Return a number for each row, shape (n,), equal where the rows are: -0.0 is 0.0, and all NaN are equal."""
    rows = np.ascontiguousarray(np.where(np.isnan(X), np.nan, X + 0.0), dtype="<f8")
    return np.frombuffer(b"".join(blake2b(row, digest_size=8).digest() for row in rows), dtype="<u8").astype(np.uint64)


def kept_digests(X: FloatArray) -> Digests | None:
    """Return the digests of a training set in ascending order, each once; None of too many records."""
    return np.unique(row_digests(X)) if len(X) <= MOST_DIGESTS else None


def are_known(digests: Digests, X: FloatArray) -> BoolArray:
    """Return which rows have one of these digests, shape (n,)."""
    return np.isin(row_digests(X), digests)
