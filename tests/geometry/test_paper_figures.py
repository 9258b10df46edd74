"""Figures that the paper reports of the Vertebral Column data, from the geometry core alone."""

import os
from pathlib import Path

import numpy as np
import pytest

from sepc.geometry import min_volume_ellipsoid


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of the two labels, Normal first."""
    path = Path(os.environ.get("SEPC_DATA", "")) / name
    if not os.environ.get("SEPC_DATA") or not path.exists():
        pytest.skip(f"set SEPC_DATA to the folder that holds {name}")
    rows = np.loadtxt(path, delimiter=",", dtype=str, skiprows=1)
    points, labels = rows[:, :-1].astype(float), rows[:, -1]
    normal = np.char.startswith(np.char.lower(np.char.strip(labels, '"')), "n")
    return points[normal], points[~normal]


def hull_log_volume(m) -> float:
    return float(np.log(m.ellipsoid.radii[: m.rank]).sum())


@pytest.mark.parametrize(
    ("name", "rank", "outside", "ratios", "tolerance"),
    [
        ("vertebral_2c.csv", 6, (7, 157), (0.667, 0.0056), 0.0005),
        ("vertebral_2c_fullprec.csv", 5, (1, 153), (0.883, 0.0072), 0.0005),
    ],
)
def test_overlap_of_the_vertebral_classes(name, rank, outside, ratios, tolerance):
    A, B = load(name)
    unit = np.vstack([A, B]).std(axis=0)
    of_a, of_b = (min_volume_ellipsoid(X, unit=unit) for X in (A, B))
    in_both = [of_a.ellipsoid.contains(X) & of_b.ellipsoid.contains(X) for X in (A, B)]
    overlap = min_volume_ellipsoid(np.vstack([A[in_both[0]], B[in_both[1]]]), unit=unit)
    assert (of_a.rank, of_b.rank, overlap.rank) == (rank, rank, rank)
    assert tuple(int((~inside).sum()) for inside in in_both) == outside
    for m, ratio in zip((of_a, of_b), ratios, strict=True):
        assert np.exp(hull_log_volume(overlap) - hull_log_volume(m)) == pytest.approx(ratio, abs=tolerance)
