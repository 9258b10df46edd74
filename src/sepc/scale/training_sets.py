"""Training sets that are not in memory: their records, units and extents."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from sepc.common.errors import InputError
from sepc.common.typing import LARGEST_COORDINATE, FloatArray, IntArray
from sepc.common.validation import no_numbers, require_two_classes
from sepc.geometry.chunks import Extents
from sepc.model.column_scales import ColumnScales, Curves, no_curves
from sepc.partitions.units import units_from
from sepc.scale.scattered_records import Chunk, ScatteredRecords


class ScatteredTrainingSet(NamedTuple):
    """A training set that is not in memory, in the units of the model.

    Attributes
    ----------
    records : ScatteredRecords
    classes : ndarray of shape (n_classes,)
    scales : ColumnScales
        Between the units of the model and the original ones.
    center, unit : ndarray of shape (d,)
        Mean of each feature, and its unit of length, in units of the model.
    extents : Extents
    """

    records: ScatteredRecords
    classes: NDArray[Any]
    scales: ColumnScales
    center: FloatArray
    unit: FloatArray
    extents: Extents

    @classmethod
    def of(
        cls,
        records: ScatteredRecords,
        classes: NDArray[Any],
        names: NDArray[Any] | None,
        standardize: bool,
        curves: Curves | None = None,
    ) -> "ScatteredTrainingSet":
        """Bring records into the units of the model, by two passes over all of them."""
        if curves is not None:
            records.use_units(ColumnScales(np.zeros(records.dim), np.ones(records.dim), curves))
        extents = _extents(records, len(classes), names)
        low, high = extents.low.min(axis=0), extents.high.max(axis=0)
        # A constant column has exactly no spread.
        center = np.where(low < high, extents.n @ extents.mean / extents.n.sum(), low)
        square = records.total(partial(_squares, center), _sum) / len(records)
        spread = np.where(low < high, np.sqrt(square), 0.0)
        mean, scale = np.zeros(records.dim), np.ones(records.dim)
        if standardize:
            mean, scale = center, np.where(spread > 0.0, spread, 1.0)
        scales = ColumnScales(mean, scale, curves or no_curves())
        records.use_units(scales)
        in_units = (center - mean) / scale, units_from(spread / scale)
        return cls(records, classes, scales, *in_units, extents.in_units(mean, scale))


def _extents(records: ScatteredRecords, n_classes: int, names: NDArray[Any] | None) -> Extents:
    """Return the extents of all classes; raise an `InputError` that names columns whose values are no numbers."""
    n, low, high, origin, total = records.total(partial(_extents_of, n_classes), _joined_extents)
    if not (np.maximum(-low, high) <= LARGEST_COORDINATE).all():  # so that NaN is not overlooked
        raise no_numbers(records.total(_n_invalid, _sum), names)
    return Extents(n.astype(np.int64), low, high, origin + total / n[:, None])


def _extents_of(n_classes: int, chunk: Chunk) -> list[Any]:
    """Return numbers, smallest and largest values of each class, an origin, and sums relative to it."""
    d = chunk.points.shape[1]
    low, high, total = np.full((n_classes, d), np.inf), np.full((n_classes, d), -np.inf), []
    origin = chunk.points[0].copy()  # a view would keep the chunk
    with np.errstate(invalid="ignore", over="ignore"):  # values that are no numbers are refused afterwards
        for k in range(n_classes):
            own = chunk.points[chunk.codes == k]
            low[k], high[k] = own.min(axis=0, initial=np.inf), own.max(axis=0, initial=-np.inf)
            total.append((own - origin).sum(axis=0))  # the rounding of a large offset stays out of the mean
    return [np.bincount(chunk.codes, minlength=n_classes), low, high, origin, np.array(total)]


def _joined_extents(found: Iterable[list[Any]]) -> list[Any]:
    chunks = iter(found)
    n, low, high, origin, total = next(chunks)
    for n_more, its_low, its_high, its_origin, its_total in chunks:
        with np.errstate(invalid="ignore", over="ignore"):
            total = total + its_total + n_more[:, None] * (its_origin - origin)
        n, low, high = n + n_more, np.minimum(low, its_low), np.maximum(high, its_high)
    return [n, low, high, origin, total]


def _squares(center: FloatArray, chunk: Chunk) -> FloatArray:
    squares: FloatArray = np.square(chunk.points - center).sum(axis=0)
    return squares


def _sum(found: Iterable[Any]) -> Any:
    return sum(found)


def _n_invalid(chunk: Chunk) -> IntArray:
    """Count, for each column, the entries that are NaN, infinite, or too large, shape (3, d)."""
    is_nan, is_inf = np.isnan(chunk.points), np.isinf(chunk.points)
    is_large = (np.abs(chunk.points) > LARGEST_COORDINATE) & ~is_inf
    return np.array([np.count_nonzero(flags, axis=0) for flags in (is_nan, is_inf, is_large)])


def require_shape(shape: Sequence[Any], n_labels: int | None) -> None:
    """Raise an `InputError` unless there are two dimensions, and a label for each row."""
    if len(shape) != 2:
        raise InputError("training-dimensions", n_dimensions=len(shape))
    if n_labels is not None and shape[0] == shape[0] and shape[0] != n_labels:
        raise InputError("training-rows", n_rows=shape[0], n_labels=n_labels)


def sorted_classes(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the different labels of several parts, two or more."""
    classes = np.unique(np.concatenate([labels for labels in found if len(labels)]))
    check_classification_targets(np.repeat(classes, 3))
    require_two_classes(classes)
    return classes
