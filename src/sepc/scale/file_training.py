"""Training sets in files that are mapped into memory: read chunk by chunk."""

import mmap
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray
from sepc.common.validation import labels_of
from sepc.scale.scattered_records import SlicedRecords
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape

# Files smaller than this are read into memory as any other array.
OUT_OF_CORE_BYTES = 1 << 28


def is_mapped(X: Any) -> bool:
    """Return whether X is mapped from a file that is too large to be copied without need."""
    return isinstance(X, np.memmap) and X.base is not None and X.ndim == 2 and X.nbytes >= OUT_OF_CORE_BYTES


def mapped_set(X: Any, y: Any, standardize: bool, n_threads: int) -> ScatteredTrainingSet:
    """Return a training set that stays on disk.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        As a rule ``numpy.load(path, mmap_mode="r")``.
    y : array-like of shape (n,)
    standardize : bool
    n_threads : int
        How many chunks are read at the same time.

    Returns
    -------
    ScatteredTrainingSet
    """
    classes, codes = labels_of(y)
    require_shape(X.shape, len(codes))

    def read(rows: slice) -> FloatArray:
        points = np.array(X[rows], dtype=np.float64, order="C")
        _forget(X)
        return points

    return ScatteredTrainingSet.of(SlicedRecords(read, codes, X.shape[1], n_threads), classes, None, standardize)


def _forget(array: Any) -> None:
    """Give back the memory that mapped pages take; they are read again when they are needed."""
    pages = getattr(array, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)
