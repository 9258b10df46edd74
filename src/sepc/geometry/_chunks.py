"""Long arrays, a part at a time, where a temporary would otherwise be as large as the data."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

# Numbers in a part: little beside all but the smallest sets, and enough that calls do not count.
_CHUNK = 1 << 10


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in parts that fit into the processor's cache.

    Examples
    --------
    >>> [part.shape for part in chunks(np.zeros((900, 2)))]
    [(512, 2), (388, 2)]
    """
    return (rows[part] for part in parts(rows))


def parts(rows: NDArray[Any]) -> Iterator[slice]:
    """Yield where the parts of an array are.

    Examples
    --------
    >>> list(parts(np.zeros((900, 2))))
    [slice(0, 512, None), slice(512, 900, None)]
    """
    n = len(rows)
    size = max(_CHUNK * n // max(rows.size, 1), 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
