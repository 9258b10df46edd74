"""How the numerical kernels are compiled: once per machine, for good."""

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
    compiled: Any
    try:
        compiled = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba found no place for its cache
        compiled = numba.njit(**_OPTIONS)(function)
    return cast(F, compiled)
