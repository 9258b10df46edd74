"""Training sets that are not in memory, one set of points per class, and the checks that all kinds share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from sepc.common.errors import InputError
from sepc.common.typing import LARGEST_COORDINATE, FloatArray, IntArray
from sepc.common.validation import no_numbers, require_two_classes
from sepc.geometry.points.queries import parts, to_host
from sepc.geometry.points.sets import ScatteredPoints
from sepc.partitions.units import location_and_scale_of


class ScatteredTrainingSet(NamedTuple):
    """A training set that is not in memory, in the units of the model.

    Attributes
    ----------
    points : list of ScatteredPoints
        Those of each class; their numbers are rows of the training set.
    classes : ndarray of shape (n_classes,)
    mean, scale : ndarray of shape (d,)
        Standardised units in terms of the original ones.
    """

    points: list[Any]
    classes: NDArray[Any]
    mean: FloatArray
    scale: FloatArray


def require_shape(shape: Sequence[Any], n_labels: int | None) -> None:
    """Raise an `InputError` unless there are two dimensions, and a label for each row."""
    if len(shape) != 2:
        raise InputError(f"X has {len(shape)} dimensions; expected two, one row per record. Reshape it.")
    if n_labels is not None and shape[0] == shape[0] and shape[0] != n_labels:
        raise InputError(
            f"X has {shape[0]} rows, y has {n_labels} labels; expected as many. Take both from one source."
        )


def units_of(raw: ScatteredPoints, names: NDArray[Any] | None, standardize: bool) -> tuple[FloatArray, FloatArray]:
    """Return mean and scale of points as they come, checked to be numbers; 0 and 1 unless they are asked for."""
    require_numbers_in(raw, names)
    mean, scale = location_and_scale_of(raw) if standardize else (np.zeros(raw.dim), np.ones(raw.dim))
    return mean, np.where(scale > 0.0, scale, 1.0)


def require_numbers_in(raw: ScatteredPoints, names: NDArray[Any] | None) -> None:
    """Raise an `InputError` that names the columns with NaN, infinite or far too large values."""
    try:
        raw.extent  # noqa: B018  (it is kept: no pass more)
    except InputError:
        raise no_numbers(np.sum(raw.ask(_n_invalid), axis=0), names) from None


def _n_invalid(xp: Any, points: Any) -> IntArray:
    """Count, for each column, the entries that are NaN, infinite, or too large, shape (3, d)."""
    found = []
    for x in parts(xp, points):
        is_nan, is_inf = xp.isnan(x), xp.isinf(x)
        is_large = (xp.abs(x) > LARGEST_COORDINATE) & ~is_inf
        found.append([to_host(xp.sum(xp.astype(flags, xp.int64), axis=0)) for flags in (is_nan, is_inf, is_large)])
    return np.asarray(np.sum(found, axis=0))


def sorted_classes(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the different labels of several parts, two or more."""
    classes = np.unique(np.concatenate([labels for labels in found if len(labels)]))
    check_classification_targets(np.repeat(classes, 3))
    require_two_classes(classes)
    return classes


def standardised(points: Any, mean: Any, scale: Any) -> Any:
    """Return points in units of `scale` about `mean`; arrays of any library."""
    return (points - mean[None, :]) / scale[None, :] + 0.0  # -0.0 becomes 0.0
