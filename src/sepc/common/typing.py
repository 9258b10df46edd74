"""Array types of all packages.

Shapes are told where an array is used; these names tell what its entries are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
# Whole numbers: counts, classes, row numbers. Stored ones may be shorter than 64 bits, see `compact`.
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

# The largest size of a coordinate: squares of larger numbers may overflow float64.
LARGEST_COORDINATE = 1e150
# The smallest standard deviation of a feature that is not constant: its square must not underflow.
SMALLEST_SPREAD = 1e-152


def compact(numbers: NDArray[np.integer], n: int) -> NDArray[Any]:
    """Return whole numbers between 0 and n in the smallest signed type that holds them.

    Where points have few features, numbers of points are a good part of the data.
    """
    return numbers.astype(np.min_scalar_type(-n - 1), copy=False)
