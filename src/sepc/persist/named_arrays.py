"""Named arrays of a file: collected for writing, and checked as they are read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.archive import Arrays
from sepc.common.typing import LARGEST_COORDINATE, FloatArray, IntArray

_FLOAT, _INT, _BITS = np.dtype("<f8"), np.dtype("<i8"), np.dtype("<u8")


class ArrayWriter:
    """Named arrays for a file; all names begin with a prefix."""

    def __init__(self, arrays: Arrays | None = None, prefix: str = "") -> None:
        self.arrays: Arrays = {} if arrays is None else arrays
        self.prefix = prefix

    def under(self, name: str) -> "ArrayWriter":
        """Return the same arrays, with a longer prefix."""
        return ArrayWriter(self.arrays, f"{self.prefix}{name}/")

    def put(self, name: str, values: Any) -> None:
        """Add an array: real numbers, integers or sets of bits."""
        array = np.asarray(values)
        dtype = {"f": _FLOAT, "u": _BITS}.get(array.dtype.kind, _INT)
        self.put_unchanged(name, array.astype(dtype, order="K", copy=False))

    def put_unchanged(self, name: str, array: NDArray[Any]) -> None:
        """Add an array whose type is kept."""
        self.arrays[f"{self.prefix}{name}"] = array


class ArrayReader:
    """Named arrays of a file; all names begin with a prefix.

    Its methods raise a KeyError for a missing array, and a ValueError for an invalid one.
    """

    def __init__(self, arrays: Arrays, prefix: str = "") -> None:
        self.arrays, self.prefix = arrays, prefix

    def under(self, name: str) -> "ArrayReader":
        """Return the same arrays, with a longer prefix."""
        return ArrayReader(self.arrays, f"{self.prefix}{name}/")

    def __contains__(self, name: str) -> bool:
        return f"{self.prefix}{name}" in self.arrays

    def unchanged(self, name: str) -> NDArray[Any]:
        """Return an array of any type."""
        return self.arrays[f"{self.prefix}{name}"]

    def numbers(self, name: str, shape: tuple[int | None, ...], limit: float = LARGEST_COORDINATE) -> FloatArray:
        """Return real numbers of a size up to a limit; None in the shape stands for any length."""
        array = self.any_numbers(name, shape)
        require(bool((np.abs(array) <= limit).all()), f"{name} is not finite, or huge")
        return array

    def any_numbers(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return real numbers, NaN and infinity among them."""
        array = self._checked(name, _FLOAT, shape)
        return array.astype(np.float64, order="K", copy=False)

    def positive(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Return real numbers above 0."""
        array = self.numbers(name, shape)
        require(bool((array > 0.0).all()), f"{name} is not positive")
        return array

    def integers(self, name: str, shape: tuple[int | None, ...], low: int, high: int) -> IntArray:
        """Return integers from `low` up to, but not including, `high`."""
        array = self._checked(name, _INT, shape)
        require(bool(((array >= low) & (array < high)).all()), f"{name} is out of range")
        return array.astype(np.int64, order="K", copy=False)

    def bits(self, name: str, shape: tuple[int | None, ...], n_flags: int) -> NDArray[np.uint64]:
        """Return rows of flags as bits in words; those beyond the number of flags are not set."""
        array = self._checked(name, _BITS, shape)
        allowed = np.packbits(np.arange(64 * array.shape[1]) < n_flags, bitorder="little").view(_BITS)
        require(bool((array & ~allowed == 0).all()), f"{name} has bits that stand for nothing")
        return array.astype(np.uint64, order="K", copy=False)

    def split(self, name: str, ends: IntArray) -> list[NDArray[Any]]:
        """Return the parts of an array that end at these places, the last one at its end."""
        array = self.unchanged(name)
        bounds = [0, *ends.tolist()]
        require(bounds == sorted(bounds) and bounds[-1] == len(array), f"parts of {name}")
        return np.split(array, bounds[1:-1]) if len(ends) else []

    def _checked(self, name: str, dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> NDArray[Any]:
        array = self.unchanged(name)
        fits = len(shape) == array.ndim and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        require(array.dtype == dtype and fits, f"{name} has type {array.dtype} and shape {array.shape}")
        return array


def require(condition: bool, what: str) -> None:
    """Raise a ValueError unless a condition holds."""
    if not condition:
        raise ValueError(what)


def require_texts(values: Any, n: int | None = None) -> list[str]:
    """Return a list of texts, of a given length; raise a ValueError for anything else."""
    require(isinstance(values, list) and all(isinstance(value, str) for value in values), "texts")
    require(n is None or len(values) == n, "number of texts")
    return list(values)


def require_flag(value: Any) -> bool:
    """Return whether something holds; raise a ValueError for anything but true and false."""
    require(isinstance(value, bool), "flag")
    return bool(value)


def require_integer(value: Any, low: int = 0) -> int:
    """Return an integer that is not below `low`; raise a ValueError for anything else."""
    require(isinstance(value, int) and not isinstance(value, bool) and value >= low, "whole number")
    return int(value)
