"""Chunks of rows: long arrays a chunk at a time, where a temporary would otherwise be as large as the data."""

from collections.abc import Iterator
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

# Numbers in a chunk: enough that calls do not count, and 64 kB, which stay in the cache.
_NUMBERS = 1 << 13


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in chunks of rows that stay in the processor's cache."""
    return (rows[some] for some in array_slices(rows))


def array_slices(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield where the chunks of an array are."""
    return chunk_slices(len(rows), max(_NUMBERS // max(prod(rows.shape[1:]), 1), 1))


def chunk_slices(n: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most so many rows."""
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))
