"""Which training sets are not in memory."""

import sys
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config

from sepc.bulk.sets import BulkSet


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or data frame; Dask is not imported for it.

    Examples
    --------
    >>> is_dask([[1.0]])
    False
    """
    return "dask" in sys.modules and type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def device_namespace(X: Any) -> Any:
    """Return the namespace of an array that is not NumPy's, if scikit-learn is told to use it, else None.

    Examples
    --------
    >>> device_namespace(np.zeros((1, 1))) is None
    True
    """
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return None
    from sklearn.utils._array_api import get_namespace

    xp, is_array = get_namespace(X)
    return xp if is_array else None


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
    if is_dask(X):
        from sepc.bulk.clustered import cluster_set

        return cluster_set(X, y, standardize)
    if isinstance(X, np.memmap):
        from sepc.bulk.mapped import is_mapped, mapped_set

        return mapped_set(X, y, standardize, effective_n_jobs(n_jobs)) if is_mapped(X) else None
    xp = device_namespace(X)
    if xp is None:
        return None
    from sepc.bulk.on_device import device_set

    return device_set(xp, X, y, standardize)
