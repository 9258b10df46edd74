"""Runs of experiments, each made once."""

import pytest
from paper_data import require_data

from sepc.experiments import EXPERIMENTS
from sepc.experiments.running import run


@pytest.fixture(scope="session")
def runs():
    """The quick form of each experiment that was asked for."""
    kept = {}

    def of(name):
        require_data(name)
        if name not in kept:
            kept[name] = run(EXPERIMENTS[name], False, 1, None)
        return kept[name]

    return of
