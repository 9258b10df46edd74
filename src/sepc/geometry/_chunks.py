"""Long arrays, a part at a time, where a temporary would otherwise be as large as the data."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

# Numbers in a part: enough that calls do not count, and little beside the whole. Of small sets a part is the first
# share, if it has so many numbers: with NumPy's own buffers a temporary may take twice as much. Of large ones it is the
# second share, as long as that stays in the cache.
_CHUNK = 1 << 10
_SHARE, _LEAST = 4, 1 << 7
_SMALL_SHARE, _MOST = 1 << 9, 1 << 15


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in parts that fit into the processor's cache.

    Examples
    --------
    >>> [part.shape for part in chunks(np.zeros((100, 2)))]
    [(64, 2), (36, 2)]
    """
    return (rows[part] for part in parts(rows))


def parts(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield where the parts of an array are.

    Examples
    --------
    >>> list(parts(np.zeros((100, 2))))
    [slice(0, 64, None), slice(64, 100, None)]
    """
    n = len(rows)
    numbers = min(max(rows.size // _SHARE, _LEAST), _CHUNK)
    numbers = max(numbers, min(rows.size // _SMALL_SHARE, _MOST))
    size = max(numbers * n // max(rows.size, 1), 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
