"""Digests of training records, which show whether a record was one, and where a model comes from."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.chunks import array_slices

# Of more records none are kept: 8 bytes each.
MOST_DIGESTS = 1_000_000

Digests = NDArray[np.uint64]


class About(NamedTuple):
    """Where a fitted classifier comes from: its name, tags, the day of its fit, and a fingerprint of its data.

    The fingerprint is a hash of the training records and their labels, in any order; empty where there are no digests.
    Name, tags and day are those that somebody has stated, as ``sepc fit`` does: a fit reads no clock.
    """

    name: str = ""
    tags: dict[str, str] = {}  # noqa: RUF012
    fitted_on: str = ""
    data: str = ""


def row_digests(X: FloatArray) -> Digests:
    """Return a number for each row, shape (n,), equal where the rows are: -0.0 is 0.0, and all NaN are equal."""
    digests = (
        int.from_bytes(blake2b(row, digest_size=8).digest(), "little")
        for rows in array_slices(X)
        for row in _in_one_form(X[rows])
    )
    return np.fromiter(digests, dtype=np.uint64, count=len(X))


def kept_digests(X: FloatArray) -> Digests | None:
    """Return the digests of a training set in ascending order, each once; None of too many records."""
    return np.unique(row_digests(X)) if len(X) <= MOST_DIGESTS else None


def fingerprint_of(X: FloatArray, codes: NDArray[np.integer], named: Sequence[Any]) -> str:
    """Return a hash of records and their classes, in any order, and of the names of features and labels."""
    if len(X) > MOST_DIGESTS:
        return ""
    digests = np.sort(row_digests(np.column_stack([X, codes])))
    return blake2b(repr(list(named)).encode() + digests.astype("<u8").tobytes(), digest_size=16).hexdigest()


def _in_one_form(X: FloatArray) -> FloatArray:
    return np.ascontiguousarray(np.where(np.isnan(X), np.nan, X + 0.0), dtype="<f8")


def are_known(digests: Digests, X: FloatArray) -> BoolArray:
    """Return which rows have one of these digests, shape (n,)."""
    return np.isin(row_digests(X), digests)
