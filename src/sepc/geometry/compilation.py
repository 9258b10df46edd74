"""Compilation of the numerical kernels, cached on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    # Sums may be reordered and products fused, so that loops are vectorised. The solvers test for NaN and infinity.
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},
    "error_model": "numpy",
    # Problems may be solved side by side in several threads.
    "nogil": True,
    # Compiling is faster without array expressions and an entry point for C, which plain loops do not need.
    "no_rewrites": True,
    "no_cfunc_wrapper": True,
}


def kernel(function: F) -> F:
    """Compile `function` on first use; cache the machine code on disk, or in memory if no folder can be written."""
    return _compiled(function, _OPTIONS)


def part_of_kernel(function: F) -> F:
    """Compile `function` inline in the kernels that call it.

    If the compiler could choose, sums might have another order in a copy that stands alone: a process that compiles and
    one that finds the code on disk could differ in the last bits.
    """
    return _compiled(function, {**_OPTIONS, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    compiled: Any
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**options)(function)
    return cast(F, compiled)


def is_kept(compiled: Callable[..., Any]) -> bool:
    """Return whether the machine code of a kernel is kept on disk, once there is any."""
    return not hasattr(compiled, "stats") or compiled.stats.cache_path is not None


def is_on_disk(compiled: Callable[..., Any]) -> bool:
    """Return whether the machine code of a kernel is on disk, and newer than its source; so without a compiler."""
    if not hasattr(compiled, "stats"):
        return True  # NUMBA_DISABLE_JIT
    if compiled.stats.cache_path is None:
        return False
    source = Path(compiled.__code__.co_filename)
    indexes = Path(compiled.stats.cache_path).glob(f"{source.stem}.{compiled.__name__}-*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in indexes)
