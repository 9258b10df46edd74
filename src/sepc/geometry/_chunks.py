"""Long arrays, a part at a time, where a temporary would otherwise be as large as the data."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

# Numbers in a part: little beside all but the smallest sets, and enough that calls do not count.
_CHUNK = 1 << 13


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in parts that fit into the processor's cache.

    Examples
    --------
    >>> [part.shape for part in chunks(np.zeros((5000, 2)))]
    [(4096, 2), (904, 2)]
    """
    return (rows[part] for part in parts(rows))


def parts(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield where the parts of an array are.

    Examples
    --------
    >>> list(parts(np.zeros((5000, 2))))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    n = len(rows)
    size = max(_CHUNK * n // max(rows.size, 1), 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
