"""Dispatch by where the records are: in memory, in mapped files, on devices, or on clusters."""

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from sepc.common.errors import SepcError
from sepc.common.typing import FloatArray
from sepc.common.validation import is_of, labels_of, stays_on_device
from sepc.scale.scattered_records import SlicedRecords
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape

if TYPE_CHECKING:
    from sepc.scale.predict_array_api import DevicePoints
    from sepc.scale.predict_dask import DaskPoints

# Smaller files are read into memory as any other array.
OUT_OF_CORE_BYTES = 1 << 28


def points_elsewhere(clf: Any, X: Any) -> "DaskPoints | DevicePoints | None":
    """Return new points that are not in memory, with the predictions of a fitted classifier; None in memory."""
    if is_of("dask", X):
        from sepc.scale.predict_dask import DaskPoints

        return DaskPoints(clf, X)
    if stays_on_device(X):
        _require_array_api_compat()
        from sepc.scale.predict_array_api import device_points

        return device_points(clf, X)
    return None


def scattered_training_set(X: Any, y: Any, standardize: bool, n_jobs: int | None) -> ScatteredTrainingSet | None:
    """Return a training set that is not in memory, None for one that is.

    `X` is elsewhere if it is a Dask array or data frame, a large array that is mapped from a file, or, under
    scikit-learn's ``array_api_dispatch``, an array on a device; `y` is of the same library, or of NumPy. `n_jobs`
    chunks of a file or a device are read at the same time.
    """
    if is_of("dask", X):
        from sepc.scale.dask_training import cluster_set

        return cluster_set(X, y, standardize)
    if is_mapped(X):
        return mapped_set(X, y, standardize, effective_n_jobs(n_jobs))
    if stays_on_device(X):
        return device_set(X, y, standardize, effective_n_jobs(n_jobs))
    return None


def is_mapped(X: Any) -> bool:
    """Return whether X is mapped from a file that is too large to be copied without need."""
    return isinstance(X, np.memmap) and X.base is not None and X.ndim == 2 and X.nbytes >= OUT_OF_CORE_BYTES


def mapped_set(X: Any, y: Any, standardize: bool, n_threads: int) -> ScatteredTrainingSet:
    """Return a training set that stays on disk; `n_threads` chunks are read at the same time."""
    classes, codes = labels_of(y)
    require_shape(X.shape, len(codes))

    def read(rows: slice) -> FloatArray:
        points = np.array(X[rows], dtype=np.float64, order="C")
        pages = getattr(X, "_mmap", None)
        if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)  # gives back their memory; they are read again on demand
        return points

    return ScatteredTrainingSet.of(SlicedRecords(read, codes, X.shape[1], n_threads), classes, None, standardize)


def device_set(X: Any, y: Any, standardize: bool, n_threads: int) -> ScatteredTrainingSet:
    """Return a training set that stays on its device; `n_threads` chunks at a time come into memory."""
    _require_array_api_compat()
    from sepc.scale.array_api import Place

    place = Place.of(X)
    is_there = hasattr(y, "device") and not isinstance(y, np.ndarray)
    classes, codes = labels_of(place.fetch(y).ravel() if is_there else y)
    require_shape(X.shape, len(codes))

    def read(rows: slice) -> FloatArray:
        return place.fetch(X[rows, :]).astype(np.float64, order="C", copy=False)

    return ScatteredTrainingSet.of(SlicedRecords(read, codes, X.shape[1], n_threads), classes, None, standardize)


def _require_array_api_compat() -> None:
    try:
        import array_api_compat  # noqa: F401
    except ImportError as error:
        raise SepcError("array-api-missing") from error
