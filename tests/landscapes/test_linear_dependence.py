"""Linear dependences that were planted, strong correlations that are none, volumes inside the affine hull."""

import numpy as np
import pandas as pd
import pytest
from landscape_data import alarms, clean_set, codes, two_classes
from strategies import rotation

from sepc import landscape


@pytest.mark.parametrize("seed", range(8))
def test_planted_dependence_is_found(seed):
    X, y = clean_set(seed)
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(total=2.0 * X[:, 0] - 0.5 * X[:, 1] + 3.0)
    view = landscape(frame, y)
    assert [finding.code for finding in alarms(view)] == ["linear-dependence"]
    assert view.dimension == X.shape[1]
    equations = ("total = 2 f0 - 0.5 f1 + 3", "f1 = 4 f0 - 2 total + 6")
    assert any(equation in alarms(view)[0].evidence for equation in equations)


@pytest.mark.parametrize("decimals", [3, 6])
def test_planted_dependence_is_found_in_rounded_values(decimals):
    X, y = two_classes(3)
    frame = pd.DataFrame(100.0 * X, columns=["a", "b", "c"])
    frame["sum"] = frame["a"] + frame["b"] - frame["c"]
    (finding,) = alarms(landscape(frame.round(decimals), y))
    assert "sum = a + b - c" in finding.evidence


def test_several_dependences_are_found():
    X, y = two_classes(3)
    frame = pd.DataFrame(np.round(X, 2), columns=["a", "b", "c"])
    frame = frame.assign(twice=2.0 * frame["a"], copy=frame["b"], k=7.0)
    found = landscape(frame, y)
    texts = [finding.evidence.split(",")[0] for finding in found.findings if finding.code == "linear-dependence"]
    assert sorted(texts) == ["copy = b", "twice = 2 a"]
    assert "constant-feature" in codes(found)


def test_indicator_columns_that_add_up_to_one_are_found():
    X, y = two_classes(2, n=300)
    kind = np.random.default_rng(0).integers(3, size=300)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(**{f"is_{k}": (kind == k).astype(float) for k in range(3)})
    (finding,) = [f for f in landscape(frame, y).findings if f.code == "linear-dependence"]
    assert "is_2 = 1 - is_0 - is_1" in finding.evidence


@pytest.mark.parametrize("noise", [1e-5, 1e-4, 1e-2])
def test_strong_correlation_is_no_dependence(noise):
    X, y = two_classes(3)
    near = X @ [1.0, 1.0, 0.0] + noise * np.random.default_rng(0).standard_normal(len(X))
    assert alarms(landscape(np.column_stack([X, near]), y)) == []


def test_volumes_are_taken_inside_the_affine_hull():
    X, y = two_classes(3)
    plane = np.column_stack([X, X @ [1.0, -2.0, 0.5]]) @ rotation(4, np.random.default_rng(0))
    one, other = landscape(X, y), landscape(plane, y)
    assert (one.dimension, other.dimension) == (3, 3)
    assert one.overlaps[0].ovr == pytest.approx(other.overlaps[0].ovr, rel=1e-5)
    assert one.overlaps[0].ovl == pytest.approx(other.overlaps[0].ovl, abs=1e-5)
    assert other.ellipsoids[0].contains(plane[y == 0], tol=1e-4).all()
    assert other.overlaps[0].by_points.dim == 4
