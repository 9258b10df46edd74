"""Long arrays, a part at a time, where a temporary would otherwise be as large as the data."""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

_CHUNK = 4096


def chunks(rows: NDArray[S]) -> Iterator[NDArray[S]]:
    """Yield an array in parts that fit into the processor's cache.

    Examples
    --------
    >>> [len(part) for part in chunks(np.zeros(5000))]
    [4096, 904]
    """
    return (rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK))
