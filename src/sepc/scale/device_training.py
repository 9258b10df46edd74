"""Training sets on a device: arrays of any library of the array API standard."""

from typing import Any

import numpy as np

from sepc.common.typing import FloatArray
from sepc.common.validation import labels_of
from sepc.scale.array_api import Place
from sepc.scale.scattered_records import SlicedRecords
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape


def device_set(xp: Any, X: Any, y: Any, standardize: bool, n_threads: int) -> ScatteredTrainingSet:
    """Return a training set that stays on its device; a chunk at a time comes into memory.

    Parameters
    ----------
    xp : namespace
    X : array of shape (n, d)
    y : array-like of shape (n,)
        Of the same library, or of NumPy.
    standardize : bool
    n_threads : int
        How many chunks are asked at the same time.

    Returns
    -------
    ScatteredTrainingSet
    """
    place = Place(xp, X.device)
    is_there = hasattr(y, "device") and not isinstance(y, np.ndarray)
    classes, codes = labels_of(place.fetch(y).ravel() if is_there else y)
    require_shape(X.shape, len(codes))

    def read(rows: slice) -> FloatArray:
        return place.fetch(X[rows, :]).astype(np.float64, order="C", copy=False)

    return ScatteredTrainingSet.of(SlicedRecords(read, codes, X.shape[1], n_threads), classes, None, standardize)
