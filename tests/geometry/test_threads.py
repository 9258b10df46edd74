"""BLAS threads: one inside the solvers, as many as before outside."""

from concurrent.futures import ThreadPoolExecutor
from pkgutil import resolve_name
from threading import Barrier, Event

import numpy as np
import pytest
import scipy.linalg.cython_blas  # noqa: F401  (another)
from threadpoolctl import threadpool_info, threadpool_limits

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import EllipsoidStack
from sepc.geometry.threads import one_blas_thread

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
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before


@pytest.mark.parametrize(
    ("classifier", "optimiser"),
    [
        (SEPClassifier(), "sepc.estimators.calibrating._minimum"),
        (SEPEnsembleClassifier(n_estimators=2, random_state=0), "sepc.estimators.ensemble.stacking.minimize"),
    ],
)
def test_small_fits_wake_no_threads(monkeypatch, classifier, optimiser):
    """Optimisers solve systems of a few equations, for which OpenBLAS wakes all threads, and they keep a core busy."""
    seen, optimise = [], resolve_name(optimiser)

    def watched(*args, **options):
        seen.append(blas_threads())
        return optimise(*args, **options)

    monkeypatch.setattr(optimiser, watched)
    with threadpool_limits(2, user_api="blas"):
        classifier.fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
    assert seen
    assert all(threads == {1} for threads in seen)


def test_threads_share_the_change_and_the_last_one_takes_it_back():
    entered, may_leave = Barrier(3), [Event(), Event()]
    inside = []

    def work(which):
        with one_blas_thread(MANY):
            entered.wait()
            may_leave[which].wait()
            inside.append(blas_threads())

    before = blas_threads()
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(work, which) for which in (0, 1)]
        entered.wait()
        for job, event in zip(jobs, may_leave, strict=True):
            event.set()
            job.result()
    assert inside == [{1}, {1}]
    assert blas_threads() == before


def test_an_error_inside_gives_the_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyboardInterrupt), one_blas_thread(MANY):
            raise KeyboardInterrupt
        assert blas_threads() == before


def test_an_answer_has_the_same_bits_in_every_thread():
    rng = np.random.default_rng(0)
    d = 150  # products so large that BLAS would share them out among threads
    stack = EllipsoidStack([Ellipsoid(np.zeros(d), np.linalg.qr(rng.normal(size=(d, d)))[0], np.ones(d))] * 3, d)
    X = rng.normal(size=(300, d))
    with threadpool_limits(1, user_api="blas"):
        one = stack.gauges(X)
    with ThreadPoolExecutor(2) as pool:
        others = list(pool.map(stack.gauges, [X] * 4))
    assert all(np.array_equal(one, other) for other in [stack.gauges(X), *others])
