"""Runs of experiments, each made once."""

import pytest
from paper_data import require_data

from sepc.experiments import EXPERIMENTS
from sepc.experiments.results import Result


@pytest.fixture(scope="session")
def runs():
    """One run of each experiment that was asked for."""
    kept = {}

    def of(name):
        require_data(name)
        if name not in kept:
            kept[name] = Result.of(EXPERIMENTS[name], False, [EXPERIMENTS[name].run(0)])
        return kept[name]

    return of
