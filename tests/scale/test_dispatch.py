"""Training sets are told apart without loading the libraries of those that are not in memory."""

import subprocess
import sys

import pytest


@pytest.mark.first_use
def test_an_array_in_memory_loads_neither_dask_nor_torch():
    code = (
        "import sys, sepc; clf = sepc.SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]); "
        "print({'dask', 'distributed', 'torch', 'cupy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
