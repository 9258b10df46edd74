"""Runs of experiments, each made once."""

from dataclasses import replace

import pytest
from paper_data import require_data

from paper import EXPERIMENTS
from paper.running import run

# One seed is enough for every measure and every verdict of the experiments that take seconds for each.
FEW_SEEDS = dict.fromkeys(("imbalance", "vertebral", "adult", "adult_stratum", "wdbc"), 1)


@pytest.fixture(scope="session")
def runs():
    """The quick form of each experiment that was asked for, of the slow ones over fewer seeds."""
    kept = {}

    def of(name):
        require_data(name)
        if name not in kept:
            one = EXPERIMENTS[name]
            kept[name] = run(replace(one, quick=FEW_SEEDS.get(name, one.quick)), False, 1, None)
        return kept[name]

    return of
