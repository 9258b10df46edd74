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
    """Yield an array in chunks of rows that stay in the processor's cache.

    Examples
    --------
    >>> [chunk.shape for chunk in chunks(np.zeros((5000, 2)))]
    [(4096, 2), (904, 2)]
    """
    return (rows[some] for some in array_slices(rows))


def array_slices(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield where the chunks of an array are.

    Examples
    --------
    >>> list(array_slices(np.zeros((5000, 2))))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    return chunk_slices(len(rows), max(_NUMBERS // max(prod(rows.shape[1:]), 1), 1))


def chunk_slices(n: int, rows: int) -> Iterator[slice]:
    """Yield slices of at most so many rows.

    Examples
    --------
    >>> list(chunk_slices(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))
