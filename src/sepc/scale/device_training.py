"""Training sets on a device: arrays of any library of the array API standard."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.label_kinds import MISSING, LabelsOfAKind, require_one_kind
from sepc.common.validation import labels_of
from sepc.geometry.points.queries import like, to_host
from sepc.scale.device_points import DeviceChunk, DevicePoints
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape, sorted_classes, standardised, units_of


def device_set(xp: Any, X: Any, y: Any, standardize: bool) -> ScatteredTrainingSet:
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
    ScatteredTrainingSet
    """
    classes, codes = _labels(xp, X, y)
    require_shape(X.shape, codes.shape[0])
    raw = DevicePoints.of(xp, xp.astype(X, xp.float64, copy=False))
    mean, scale = units_of(raw, None, standardize)
    (chunk,) = raw.chunks
    units = like(xp, X, mean), like(xp, X, scale)
    points = []
    for k in range(len(classes)):
        rows = xp.nonzero(codes == k)[0]
        of_class = standardised(xp.take(chunk.points, rows, axis=0), *units)
        points.append(DevicePoints(xp, [DeviceChunk(of_class, xp.take(chunk.rows, rows))]))
    return ScatteredTrainingSet(points, classes, np.asarray(mean), np.asarray(scale))


def _labels(xp: Any, X: Any, y: Any) -> tuple[NDArray[Any], Any]:
    """Return the sorted labels, and the number of each point's label among them where the points are."""
    if isinstance(y, list | tuple | np.ndarray) or not hasattr(y, "device"):
        classes, numbers = labels_of(y)
        return classes, like(xp, X, numbers)
    _require_no_nan(xp, y)
    values, codes = xp.unique_inverse(y)
    found = to_host(values)
    classes = sorted_classes([found])
    return classes, xp.take(like(xp, X, np.searchsorted(classes, found)), xp.reshape(codes, (-1,)))


def _require_no_nan(xp: Any, y: Any) -> None:
    """Raise an `InputError` if a label is NaN; on a device all of them are numbers."""
    if xp.isdtype(y.dtype, "real floating"):
        lost = to_host(xp.nonzero(xp.isnan(xp.reshape(y, (-1,))))[0])
        if len(lost):
            require_one_kind({MISSING: LabelsOfAKind(len(lost), int(lost[0]), np.nan)})
