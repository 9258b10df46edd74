"""One BLAS thread inside the solvers.

Their matrix products are small. Two threads that wait for each other on a busy machine make them many times slower,
and the sums of several threads would round differently from one machine to the next.
"""

from functools import cache
from threading import Lock
from types import TracebackType

from threadpoolctl import ThreadpoolController

_FEW = 2000

_lock = Lock()
_depth = 0
_limiter = None


@cache
def _blas() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401  (the library that compiled code calls: it must be loaded to be found)

    return ThreadpoolController().select(user_api="blas")


class one_blas_thread:  # noqa: N801  (used like a function)
    """Context in which BLAS uses one thread; counted, so that threads of the caller may enter it side by side.

    Parameters
    ----------
    size : int
        How many numbers the work is about. With few of them BLAS would use one thread anyway.

    Examples
    --------
    >>> with one_blas_thread(10**6):
    ...     pass
    """

    def __init__(self, size: int) -> None:
        self.needed = size > _FEW

    def __enter__(self) -> None:
        if self.needed:
            _enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.needed:
            _leave()


def _enter() -> None:
    global _depth, _limiter
    with _lock:
        _depth += 1
        if _depth == 1:
            _limiter = _blas().limit(limits=1)


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0 and _limiter is not None:
            _limiter.restore_original_limits()
