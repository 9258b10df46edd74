"""Circles: one label around the other."""

from functools import partial

from paper import generated
from paper.experiment import Experiment
from paper.shared_measures import ACCEPTANCE
from sepc.datasets import make_circles

_N_IMP, _N_ITER = 5, 4
_SETTINGS = {
    "main": {"n": 100, "noise": 0.05, "factor": 0.5},
    "default": {"n": 100, "noise": 0.0, "factor": 0.8},
    "exact": {"n": 100, "noise": 0.0, "factor": 0.5},
    "narrow": {"n": 200, "noise": 0.05, "factor": 0.8},
    "more": {"n": 300, "noise": 0.05, "factor": 0.5},
    "small": {"n": 300, "noise": 0.05, "factor": 0.3},
}

EXPERIMENT = Experiment(
    name="circles",
    title="Circles",
    about=(
        f"scikit-learn's generator, n_imp {_N_IMP}. The paper gives neither the number of points nor the noise; the "
        "setting in the first row of the table is one of ours."
    ),
    statements=generated.separated(
        _N_ITER, _SETTINGS, "The number of iterations hangs on the number of points and the noise, which are not given."
    ),
    tables=(generated.BY_READING, generated.tried(_SETTINGS), ACCEPTANCE),
    measure=partial(generated.measure, make_circles, _SETTINGS, _N_IMP),
    draw=partial(generated.draw, make_circles, _SETTINGS, _N_IMP, _N_ITER),
    caption="The partition, with the hyperplane of each iteration, for the first seed with as many iterations as the "
    "paper has (seed 0 if there is none).",
)
