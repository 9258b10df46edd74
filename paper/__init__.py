"""Experiments of the paper, one file each: what it says, what comes out, over several seeds, and a verdict.

`paper.running.reproduce` runs them and writes a page; ``python -m paper`` does so from the command line.
"""

from paper import (
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
from paper.experiment import Experiment

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
