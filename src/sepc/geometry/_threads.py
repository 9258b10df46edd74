"""One BLAS thread inside the solvers.

Their matrix products are small. Two threads that wait for each other on a busy machine make them many times slower, and
the sums of several threads would round differently from one machine to the next.

The number of threads belongs to the whole process. Only the main thread changes it: two threads whose changes overlap
could leave it at one for good.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import current_thread, main_thread
from typing import Any

from threadpoolctl import ThreadpoolController

# With so few numbers BLAS uses one thread anyway, and asking it to costs more than the work.
_FEW = 2000


@cache
def _blas() -> Any:
    import scipy.linalg.cython_blas  # noqa: F401  (what compiled code calls; it must be loaded to be found)

    return ThreadpoolController().select(user_api="blas")


def one_blas_thread(size: int) -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread, if this is the main thread.

    Parameters
    ----------
    size : int
        How many numbers the work is about.

    Examples
    --------
    >>> with one_blas_thread(10**6):
    ...     pass
    """
    leave_alone = size <= _FEW or current_thread() is not main_thread()
    limit: AbstractContextManager[Any] = nullcontext() if leave_alone else _blas().limit(limits=1)
    return limit
