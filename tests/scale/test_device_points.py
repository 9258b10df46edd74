"""Points on devices: the same partitions as of points in memory."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from scattered import random_cuts, scattered
from scattered_partitions import bundled, one_against_rest, same, standardized
from strategies import labelled_points, point_set, seeds

import sepc
from sepc.geometry._hulls import scattered_hulls
from sepc.geometry._mve import scattered_design

MOST_ROWS = 1500


@pytest.fixture
def little_memory(monkeypatch):
    """Let the solvers have so little memory that sets of hundreds are large."""
    for name, value in (("_CORE", 2), ("_LEAST", 64), ("_MOST", 512)):
        monkeypatch.setattr(scattered_design, name, value)
    for name, value in (("_SAMPLE", 1500), ("_WINDOW", 3000)):
        monkeypatch.setattr(scattered_hulls, name, value)


def folder():
    path = os.environ.get("SEPC_DATA")
    if not path or not list(Path(path).glob("*.csv")):
        pytest.skip("set SEPC_DATA to the folder with the data sets")
    return Path(path)


@pytest.mark.parametrize("form", ["device", "strict"])
@pytest.mark.parametrize("n_cuts", [0, 3])
def test_devices(form, n_cuts):
    for A, B in (*bundled("iris"), *bundled("wine")):
        cuts = [[len(X) // 3] * (n_cuts // 2) + [len(X) // 2] * (n_cuts > 0) for X in (A, B)]
        far = [scattered(form, X, cut) for X, cut in zip((A, B), cuts, strict=True)]
        same(sepc.partition(*far), sepc.partition(A, B))


@pytest.mark.usefixtures("little_memory")
def test_real_sets():
    found = 0
    for path in sorted(folder().glob("*.csv")):
        table = pd.read_csv(path)
        if len(table) > MOST_ROWS:
            continue
        y = table.pop(table.columns[-1]).to_numpy()
        X = standardized(pd.get_dummies(table).to_numpy(dtype=float))
        for A, B in one_against_rest(X, y):
            rng = np.random.default_rng(len(A))
            far = [scattered("device", np.ascontiguousarray(Z), random_cuts(rng, len(Z))) for Z in (A, B)]
            same(sepc.partition(*far), sepc.partition(A, B))
            found += 1
    assert found > 0


@settings(max_examples=100)
@given(seeds())
def test_small_sets_with_ties_copies_flats_and_noise(seed):
    A, B, n_imp = labelled_points(seed)
    rng = np.random.default_rng(seed)
    far = [scattered("device", X, random_cuts(rng, len(X))) for X in (A, B)]
    same(sepc.partition(*far, n_imp), sepc.partition(A, B, n_imp))


@pytest.mark.parametrize("family", ["gauss", "lattice", "clusters", "student"])
@pytest.mark.usefixtures("little_memory")
def test_sets_that_are_large_for_the_memory(family):
    A, B = point_set(family, 1000, 3, seed=1) + 2.0 * np.eye(3)[0], point_set(family, 500, 3, seed=2)
    far = [scattered("device", X, [400, 400, 600]) for X in (A, B)]
    for relax in (False, True):
        same(sepc.partition(*far, 5, relax=relax), sepc.partition(A, B, 5, relax=relax))
