"""Dispatch by the kind of input: which training sets are not in memory, and who predicts for which points."""

from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._array_api import get_namespace

from sepc.common.validation import is_of, stays_on_device
from sepc.model.decision import Decision
from sepc.scale import predict_array_api, predict_in_memory
from sepc.scale.training_sets import ScatteredTrainingSet


def scattered_training_set(X: Any, y: Any, standardize: bool, n_jobs: int | None) -> ScatteredTrainingSet | None:
    """Return a training set that is not in memory, None for one that is.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        A Dask array or data frame, a large array that is mapped from a file, or, under scikit-learn's
        ``array_api_dispatch``, an array on a device.
    y : array-like of shape (n,)
    standardize : bool
    n_jobs : int or None
        How many chunks of a file, or of a device, are read at the same time.

    Returns
    -------
    ScatteredTrainingSet or None
    """
    if is_of("dask", X):
        from sepc.scale.dask_training import cluster_set

        return cluster_set(X, y, standardize)
    if isinstance(X, np.memmap):
        from sepc.scale.file_training import is_mapped, mapped_set

        return mapped_set(X, y, standardize, effective_n_jobs(n_jobs)) if is_mapped(X) else None
    if stays_on_device(X):
        from sepc.scale.device_training import device_set

        return device_set(get_namespace(X)[0], X, y, standardize, effective_n_jobs(n_jobs))
    return None


class Predictor(Protocol):
    """Predictions for one kind of input: a module with these functions."""

    def predict(self, clf: Any, X: Any) -> Any:
        """Return the label of each point, shape (n,)."""

    def decide(self, clf: Any, X: Any) -> Decision:
        """Return numbers of labels, trust and probabilities, as arrays of the same kind as `X`."""

    def assess(self, clf: Any, X: Any) -> Any:
        """Return a full record of each point, an `Assessment` or what has its fields."""


def predictor_for(X: Any) -> Predictor:
    """Return who predicts for points like these."""
    if is_of("dask", X):
        from sepc.scale import predict_dask  # only they who use Dask need it

        return predict_dask
    return predict_array_api if stays_on_device(X) else predict_in_memory
