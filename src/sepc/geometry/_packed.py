"""Symmetric positive definite matrices as lower triangles in LAPACK's rectangular full packed format.

It takes half a square of memory. SciPy's own wrappers of these routines hold the interpreter's lock while they
calculate; here they do not, so that problems can be solved side by side in the threads of one process.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_char_p, c_double, c_float, c_int, c_void_p
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What LAPACK calls the precision of numbers, and how they are passed on.
_PRECISIONS = {"f": ("s", c_float), "d": ("d", c_double)}
_NORMAL, _LOWER = b"N", b"L"
_TEXT, _ADDRESS = c_char_p, c_void_p
_ARGUMENTS = {
    "sfrk": (_TEXT, _TEXT, _TEXT, *[_ADDRESS] * 7),
    "pftrf": (_TEXT, _TEXT, *[_ADDRESS] * 3),
}


def add_products(packed: NDArray[Any], rows: NDArray[Any], *, of_rows: bool) -> None:
    """Add ``rows @ rows.T`` to a packed matrix, or ``rows.T @ rows``.

    Parameters
    ----------
    packed : ndarray of shape (k * (k + 1) // 2,)
        Overwritten.
    rows : ndarray of shape (k, n) for products of rows, (n, k) for those of columns
    of_rows : bool
    """
    routine, kind = _routine("sfrk", packed)
    rows = np.ascontiguousarray(rows, dtype=packed.dtype)
    n, k = rows.shape
    order, depth, trans = (n, k, b"T") if of_rows else (k, n, b"N")
    routine(
        _NORMAL, _LOWER, trans, byref(c_int(order)), byref(c_int(depth)), byref(kind(1.0)), _address(rows),
        byref(c_int(k)), byref(kind(1.0)), _address(packed),
    )  # fmt: skip


def factorise(packed: NDArray[Any], order: int) -> bool:
    """Replace a packed matrix by its Cholesky factor; return whether there is one."""
    routine, _ = _routine("pftrf", packed)
    info = c_int()
    routine(_NORMAL, _LOWER, byref(c_int(order)), _address(packed), byref(info))
    return info.value == 0


def solve(factor: NDArray[Any], b: NDArray[Any]) -> None:
    """Replace b, shape (k,), by the solution of the system whose matrix has this Cholesky factor."""
    kernels().solve(factor, b)


def diagonal(packed: NDArray[Any], order: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return views of the two halves of the diagonal of a packed matrix."""
    height = order + 1 - order % 2
    return packed[1 - order % 2 :: height + 1], packed[order % 2 * height :: height + 1]


def _address(array: NDArray[Any]) -> int:
    return array.ctypes.data


def _routine(name: str, numbers: NDArray[Any]) -> tuple[Callable[..., None], Any]:
    """Return a routine of LAPACK for the precision of some numbers, and how to pass on one of these."""
    prefix, kind = _PRECISIONS[numbers.dtype.char]
    return _loaded(prefix, name), kind


@cache
def kernels() -> ModuleType:
    """Return the module of the compiled solvers."""
    from sepc.geometry import _packed_kernels  # only those who solve wait for it

    return _packed_kernels


@cache
def _loaded(prefix: str, name: str) -> Callable[..., None]:
    from numba.extending import get_cython_function_address  # likewise

    address = get_cython_function_address("scipy.linalg.cython_lapack", prefix + name)
    found: Callable[..., None] = CFUNCTYPE(None, *_ARGUMENTS[name])(address)
    return found
