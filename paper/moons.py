"""Moons: two labels that reach into each other."""

from functools import partial

from paper import generated
from paper.experiment import Experiment
from paper.shared_measures import ACCEPTANCE
from sepc.datasets import make_moons

_N_IMP, _N_ITER = 2, 3
_SETTINGS = {
    "main": {"n": 100, "noise": 0.05},
    "default": {"n": 100, "noise": 0.0},
    "fewer": {"n": 100, "noise": 0.1},
    "sharp": {"n": 200, "noise": 0.05},
    "more": {"n": 300, "noise": 0.1},
    "noisy": {"n": 300, "noise": 0.2},
}

EXPERIMENT = Experiment(
    name="moons",
    title="Moons",
    about=(
        f"scikit-learn's generator, n_imp {_N_IMP}. The paper gives neither the number of points nor the noise; the "
        "setting in the first row of the table is one of ours, with the generator's own number of points."
    ),
    statements=generated.separated(
        _N_ITER, _SETTINGS, "The number of iterations hangs on the number of points and the noise, which are not given."
    ),
    tables=(generated.BY_READING, generated.tried(_SETTINGS), ACCEPTANCE),
    measure=partial(generated.measure, make_moons, _SETTINGS, _N_IMP),
    draw=partial(generated.draw, make_moons, _SETTINGS, _N_IMP, _N_ITER),
    caption="The partition, with the hyperplane of each iteration, for the first seed with as many iterations as the "
    "paper has (seed 0 if there is none).",
)
