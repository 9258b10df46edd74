"""One BLAS thread inside the solvers.

Their matrix products are small: threads that wait for each other on a busy machine make them many times slower, and
sums over several threads round differently from one machine to the next.

In some libraries, such as the OpenBLAS of NumPy's wheels, the number of threads is that of the whole process: there the
first thread of Python to enter sets the limit, and the last one to leave restores the old one.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


class _Shared:
    """A limit of the whole process, counted by the threads of Python that need it."""

    def __init__(self, libraries: Any) -> None:
        self.libraries = libraries
        self.lock, self.n_users = Lock(), 0
        self.limit: Any = None

    def __enter__(self) -> None:
        with self.lock:
            if self.n_users == 0:
                self.limit = self.libraries.limit(limits=1)
                _let_others_change_it()  # another thread may be the last to leave
            self.n_users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.n_users -= 1
            if self.n_users == 0:
                self.limit.restore_original_limits()
                _let_others_change_it()


def _let_others_change_it() -> None:
    # Later versions of threadpoolctl bind a limit to the thread that has set it.
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release()


@cache
def _blas() -> tuple[_Shared, Any]:
    """Return the limit of libraries with threads for the whole process, and the other libraries."""
    import scipy.linalg.cython_blas  # noqa: F401  (what compiled code calls; it must be loaded to be found)

    found = ThreadpoolController().select(user_api="blas")
    shared = [one.filepath for one in found.lib_controllers if _is_of_the_process(one)]
    own = [one.filepath for one in found.lib_controllers if not _is_of_the_process(one)]
    return _Shared(found.select(filepath=shared)), found.select(filepath=own)


def _is_of_the_process(library: Any) -> bool:
    return isinstance(library, OpenBLASController) and library.threading_layer != "openmp"


@contextmanager
def _one_thread() -> Iterator[None]:
    shared, own = _blas()
    with shared, own.limit(limits=1) if own.lib_controllers else nullcontext():
        yield


def one_blas_thread(size: int | None = None) -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread; none is needed for work on at most 2000 coordinates.

    For such small products BLAS uses one thread anyway. Without a `size` the limit is always set: OpenBLAS wakes its
    threads for the smallest triangular systems, and waiting keeps a core busy.
    """
    return nullcontext() if size is not None and size <= 2000 else _one_thread()
