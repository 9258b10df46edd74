"""Array types of all packages, by the type of the entries; shapes are documented where an array is used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
# Counts, class codes, row numbers. Stored ones may be shorter than 64 bits, see `compact`.
IntArray = NDArray[np.int64]
# Numbers that rows are called by: from the first one on, or of each.
RowNumbers = int | IntArray
BoolArray = NDArray[np.bool_]

# The largest magnitude of a coordinate: squares of larger numbers may overflow float64.
LARGEST_COORDINATE = 1e150
# The smallest standard deviation of a feature that is not constant: its square must not underflow.
SMALLEST_SPREAD = 1e-152


def compact(numbers: NDArray[np.integer], n: int) -> NDArray[Any]:
    """Return integers between 0 and n in the smallest signed type that holds them.

    With few features, row numbers of 64 bits would take a good part of the memory of the data.
    """
    return numbers.astype(np.min_scalar_type(-n - 1), copy=False)
