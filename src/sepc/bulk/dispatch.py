"""Which training sets are not in memory."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._array_api import get_namespace

from sepc.bulk.sets import BulkSet
from sepc.inputs import is_elsewhere, is_of


def bulk_set(X: Any, y: Any, standardize: bool, n_jobs: int | None) -> BulkSet | None:
    """Return a training set that is not in memory, None for one that is.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        A Dask array or data frame, a large array that is mapped from a file, or, under scikit-learn's
        ``array_api_dispatch``, an array on a device.
    y : array-like of shape (n,)
    standardize : bool
    n_jobs : int or None
        How many chunks of a file are read at the same time.

    Returns
    -------
    BulkSet or None

    Examples
    --------
    >>> bulk_set([[1.0], [2.0]], [0, 1], True, None) is None
    True
    """
    if is_of("dask", X):
        from sepc.bulk.clustered import cluster_set

        return cluster_set(X, y, standardize)
    if isinstance(X, np.memmap):
        from sepc.bulk.mapped import is_mapped, mapped_set

        return mapped_set(X, y, standardize, effective_n_jobs(n_jobs)) if is_mapped(X) else None
    if is_elsewhere(X):
        from sepc.bulk.on_device import device_set

        return device_set(get_namespace(X)[0], X, y, standardize)
    return None
