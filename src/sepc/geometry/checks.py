"""Checks of input arrays: points, vectors, numbers of features."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc.common.errors import InputError
from sepc.common.typing import LARGEST_COORDINATE, FloatArray


class HasShape(Protocol):
    """An array, or anything else with a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths along the dimensions."""


def as_points(value: ArrayLike, name: str) -> FloatArray:
    """Return `value` as a finite, C-contiguous float64 array of shape (n, d) with n, d >= 1, or raise `InputError`.

    A read-only view: the data are not copied if they already have that form.
    """
    points = _as_float64(value, name)
    if points.ndim != 2:
        raise InputError("points-dimensions", name=name, shape=points.shape)
    if 0 in points.shape:
        raise InputError("points-empty", name=name, shape=points.shape)
    _check_finite(points, name)
    points = points.view()
    points.setflags(write=False)
    return points


def as_vector(value: ArrayLike, name: str, size: int) -> FloatArray:
    """Return `value` as a finite float64 array of shape (size,)."""
    vector = _as_float64(value, name)
    if vector.shape != (size,):
        raise InputError("vector-shape", name=name, shape=vector.shape, n_features=size)
    _check_finite(vector, name)
    return vector


def same_features(points: HasShape, d: int, name: str, other: str) -> None:
    """Raise `InputError` unless `points` has `d` columns, the number that `other` has."""
    if points.shape[-1] != d:
        raise InputError("features-differ", name=name, n_features=points.shape[-1], other=other, n_other=d)


def _as_float64(value: ArrayLike, name: str) -> FloatArray:
    try:
        array: NDArray[Any] = np.asarray(value)
    except ValueError as error:
        raise InputError("points-ragged", name=name) from error
    if array.dtype == np.float64 and array.flags.c_contiguous:
        return array
    if array.dtype.kind not in "biufO":  # text such as "1.5", dates and complex numbers would convert
        raise _not_numbers(array, name)
    try:
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError) as error:
        raise _not_numbers(array, name) from error


def _not_numbers(array: NDArray[Any], name: str) -> InputError:
    return InputError("not-numbers", name=name, dtype=str(array.dtype), example=_first_non_number(array))


def _first_non_number(array: NDArray[Any]) -> str:
    for entry in array.flat:
        if array.dtype.kind != "O":
            return repr(entry.item())
        try:
            float(entry)
        except (TypeError, ValueError):
            return repr(entry)
    return "values that are no real numbers"


def _check_finite(array: FloatArray, name: str) -> None:
    # Comparisons with NaN are false. A dot product is fastest, but for long vectors BLAS would wake its threads.
    if array.size <= 5000:
        if np.vdot(array, array) <= LARGEST_COORDINATE**2:
            return
    elif array.min() >= -LARGEST_COORDINATE and array.max() <= LARGEST_COORDINATE:
        return
    bad = np.argwhere(~(np.abs(array) <= LARGEST_COORDINATE))
    if not len(bad):  # the sum of squares was too large, but no entry
        return
    where = tuple(int(i) for i in bad[0])
    value, shown = array[where], ", ".join(map(str, where))
    if np.isfinite(value):
        raise InputError("value-too-large", name=name, where=shown, value=value, largest=LARGEST_COORDINATE)
    raise InputError("value-not-finite", name=name, where=shown, value=value)
