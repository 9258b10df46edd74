"""Experiments of the paper, one file each: what it says, what comes out, over several seeds, and a verdict.

`sepc.experiments.running.reproduce` runs them and writes a page; ``sepc reproduce`` does so from the command line.
"""

from sepc.experiments import (
    adult,
    adult_stratum,
    circles,
    claims,
    imbalance,
    iris,
    many_features,
    moons,
    overlap_2d,
    reduced_hulls,
    vertebral,
    wdbc,
    xor,
)
from sepc.experiments.experiment import Experiment

_MODULES = (
    overlap_2d,
    reduced_hulls,
    circles,
    moons,
    xor,
    adult,
    adult_stratum,
    wdbc,
    vertebral,
    iris,
    imbalance,
    many_features,
    claims,
)
EXPERIMENTS: dict[str, Experiment] = {module.EXPERIMENT.name: module.EXPERIMENT for module in _MODULES}

__all__ = ["EXPERIMENTS", "Experiment"]
