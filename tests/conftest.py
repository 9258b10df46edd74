"""Settings of all tests.

Laws are tried on the same examples in every run; HYPOTHESIS_PROFILE=explore asks for new ones, nightly for more.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings
from remembered_fits import fits_once

__all__ = ["fits_once"]

# Processes that share the cores take one thread each: threads of BLAS that wait for work keep a core busy.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A busy machine is no failure: time is measured in bench/.
# How quickly examples are made depends on what else the machine does.
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=40
)
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)
settings.register_profile("nightly", settings.get_profile("explore"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


# Folders whose tests look at the same costly things.
TOGETHER = ("paper", "landscapes", "reports")
# Files whose tests share nothing that costs time: each test goes to the process that is free.
APART = ("tests/test_pages.py", "tests/test_examples.py", "tests/estimators/test_estimator_checks.py")


@pytest.hookimpl(optionalhook=True)  # there is none without pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Let one process run all tests of a file, or of some folders: what they share is then made once.

    The gallery and the pages, which take longest, are dealt out test by test, so that no process ends alone.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByPlace(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            folder, file = nodeid.removeprefix("tests/").partition("/")[0], nodeid.partition("::")[0]
            if file in APART:
                return nodeid
            return folder if folder in TOGETHER else file

    # In their order: slow files come before the many quick examples in docstrings, which fill the gaps at the end.
    config.option.loadscopereorder = False
    return ByPlace(config, log)


def pytest_collection_finish():
    """Let the garbage collector leave alone the modules and thousands of tests that stay to the end."""
    gc.freeze()


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def pytest_addoption(parser):
    parser.addoption(
        "--most-seconds", type=float, help="a test that takes more CPU time of itself and its children fails"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Hold each test to its limit, by CPU time: what else the machine does has no say."""
    before = _cpu_seconds()
    result = yield
    spent, most = _cpu_seconds() - before, item.config.getoption("--most-seconds", None)
    if most is not None and spent > most:
        pytest.fail(f"{spent:.1f} s of CPU time; expected at most {most:g} s: share fits, or move the study to bench/")
    return result


@pytest.fixture
def small_chunks(monkeypatch):
    """Keep every file out of memory, in chunks of a few rows; Dask works in this process."""
    import dask

    from sepc.scale import dispatch, scattered_records

    monkeypatch.setattr(dispatch, "OUT_OF_CORE_BYTES", 0)
    monkeypatch.setattr(scattered_records, "CHUNK_BYTES", 1500)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn insists on it
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def small_core(monkeypatch):
    """Make the core of a training set small; return how many records it has at most."""
    from sepc.estimators import records

    monkeypatch.setattr(records, "CORE_RECORDS", 300)
    monkeypatch.setattr(records, "LEAST_CORE", 300)
    return 300
