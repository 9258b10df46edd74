"""Densities of partitions that each leave a part of the training records out.

They show how firm a label is: whether partitions that have not seen a part of the records give it, too. And each record
has one among them that has not seen it.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.model.densities import LocalDensities

N_PARTS = 3


class HeldOutDensities(NamedTuple):
    """Densities without a part of the records.

    Attributes
    ----------
    densities : tuple of LocalDensities
        One for each part.
    part : ndarray of int, shape (n,)
        The densities that have not seen each training point, by number; -1 where all have. Empty where no
        record is kept.
    """

    densities: tuple[LocalDensities, ...]
    part: NDArray[np.integer]

    @classmethod
    def without_records(cls, densities: tuple[LocalDensities, ...]) -> Self:
        """Make them of densities alone, where no record is kept."""
        return cls(densities, np.empty(0, dtype=np.int8))
