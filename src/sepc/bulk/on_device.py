"""Training sets on a device: arrays of any library of the array API standard."""

from typing import Any

import numpy as np

from sepc.bulk.sets import BulkSet, require_shape, standardised, units_of
from sepc.geometry._questions import like, to_host
from sepc.inputs import labels_of
from sepc.scale.devices import DeviceChunk, DevicePoints


def device_set(xp: Any, X: Any, y: Any, standardize: bool) -> BulkSet:
    """Return a training set that stays on its device.

    Parameters
    ----------
    xp : namespace
    X : array of shape (n, d)
    y : array-like of shape (n,)
        Of the same library, or of NumPy.
    standardize : bool

    Returns
    -------
    BulkSet
    """
    classes, codes = labels_of(to_host(y))
    require_shape(X.shape, len(codes))
    raw = DevicePoints.of(xp, xp.astype(X, xp.float64, copy=False))
    mean, scale = units_of(raw, None, standardize)
    codes = like(xp, X, codes)
    (chunk,) = raw.chunks
    units = like(xp, X, mean), like(xp, X, scale)
    points = []
    for k in range(len(classes)):
        rows = xp.nonzero(codes == k)[0]
        mine = standardised(xp.take(chunk.points, rows, axis=0), *units)
        points.append(DevicePoints(xp, [DeviceChunk(mine, xp.take(chunk.rows, rows))]))
    return BulkSet(points, classes, np.asarray(mean), np.asarray(scale))
