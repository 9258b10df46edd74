"""Fixtures of tests with points in chunks."""

import dask
import pytest

from sepc.geometry._hulls import scattered_hulls
from sepc.geometry._mve import scattered_design


@pytest.fixture(autouse=True, scope="module")
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=["roomy", "tight"], scope="module")
def memory(request):
    """Let the solvers have the memory that they ask for, or so little that sets of thousands are large."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "tight":
            for name, value in (("_CORE", 2), ("_LEAST", 64), ("_MOST", 512)):
                patch.setattr(scattered_design, name, value)
            for name, value in (("_SAMPLE", 3000), ("_WINDOW", 6000)):
                patch.setattr(scattered_hulls, name, value)
        yield request.param
