"""BLAS threads: one inside the solvers, as many as before outside."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np  # noqa: F401  (a BLAS to look at)
import pytest
import scipy.linalg.cython_blas  # noqa: F401  (another)
from threadpoolctl import threadpool_info, threadpool_limits

from sepc.geometry._threads import one_blas_thread

MANY = 10**6


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_inside_and_as_before_outside():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(MANY):
            assert blas_threads() == {1}
            with one_blas_thread(MANY):
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_small_work_leaves_the_threads_alone():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(10):
            assert blas_threads() == before


def test_only_the_main_thread_changes_what_belongs_to_the_process():
    inside = []

    def work(_):
        with one_blas_thread(MANY):
            inside.append(blas_threads())

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(4)))
        assert inside == [before] * 4
        assert blas_threads() == before


def test_an_error_inside_gives_the_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyboardInterrupt), one_blas_thread(MANY):
            raise KeyboardInterrupt
        assert blas_threads() == before
