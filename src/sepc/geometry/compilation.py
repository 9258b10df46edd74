"""Compilation of the numerical kernels: once per machine, for good."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    # Sums may be reordered and products fused, which is what lets loops become vector instructions.
    # NaN and infinity keep their meaning: the solvers test for them.
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
    # Problems may be solved side by side in several threads.
    "nogil": True,
    # Compiling takes less time without what plain loops do not need: fused array expressions, an entry for C.
    "no_rewrites": True,
    "no_cfunc_wrapper": True,
}


def kernel(function: F) -> F:
    """Compile `function` on first use and keep the machine code on disk for later processes.

    Where no folder can be written the code is kept in memory only.
    """
    return _compiled(function, _OPTIONS)


def part_of_kernel(function: F) -> F:
    """Compile `function` as a part of the kernels that call it.

    The compiler chooses between a copy of a function in its caller and one that stands alone, where sums may have
    another order: a process that compiles and one that finds the code on disk could then differ in the last bits.
    """
    return _compiled(function, {**_OPTIONS, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    compiled: Any
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**options)(function)
    return cast(F, compiled)
