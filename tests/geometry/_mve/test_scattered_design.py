"""The minimum-volume ellipsoid of points in chunks: the same as in memory, certified, in few passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from scattered import SCATTERED, in_chunks
from strategies import FAMILIES, point_set, seeds

from sepc import InputError, min_volume_ellipsoid, nearest_points

pytestmark = pytest.mark.usefixtures("memory")

SPREAD = point_set("gauss", 4000, 5)


def check_ellipsoid(X, unit=None, form="device", tol=1e-7):
    """Compare with the ellipsoid found in memory; return that of the chunks."""
    near, far = min_volume_ellipsoid(X, tol, unit=unit), min_volume_ellipsoid(in_chunks(X, form), tol, unit=unit)
    assert far.converged
    assert far.gap <= tol
    assert far.rank == near.rank
    # A centre is rounded like the points themselves, and the radii make up for it.
    rounding = np.spacing(np.abs(X).max()) / near.ellipsoid.radii.min()
    assert abs(far.ellipsoid.log_volume - near.ellipsoid.log_volume) <= (2.0 * tol + rounding) * (X.shape[1] + 1)
    assert far.ellipsoid.contains(X).all()
    assert far.weights.min() >= 0.0
    assert far.weights.sum() == pytest.approx(1.0)
    assert {tuple(x) for x in far.carriers} <= {tuple(x) for x in X}
    return far


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("shape", [(3000, 1), (3000, 2), (5000, 5), (5000, 10), (1500, 30), (40, 3), (6, 10)])
def test_ellipsoids_of_all_families(family, shape):
    assert check_ellipsoid(point_set(family, *shape)).n_passes <= 12


@pytest.mark.parametrize("form", SCATTERED)
def test_ellipsoids_in_all_forms(form):
    check_ellipsoid(point_set("ball", 3000, 4), form=form)


@pytest.mark.parametrize("n", [1, 2, 700])
def test_an_ellipsoid_of_one_point_however_often(n):
    X = np.full((n, 3), 7.3)
    assert check_ellipsoid(X).rank == 0
    assert check_ellipsoid(X, unit=[1.0, 2.0, 3.0]).ellipsoid.radii.max() <= 3.01e-6


@pytest.mark.parametrize(
    ("X", "rank"),
    [
        (SPREAD @ np.random.default_rng(0).standard_normal((5, 8)), 5),
        (np.column_stack([SPREAD, np.full(4000, 3.0)]), 5),
        (np.column_stack([SPREAD + 1e12, np.full(4000, 3e11)]), 5),
        (SPREAD + 1e12, 5),
        (np.column_stack([SPREAD, SPREAD[::-1, 0] + 1e12]), 6),
        (SPREAD * [1e-8, 1e8, 1.0, 1e-8, 1e8], 5),
        (np.column_stack([SPREAD, SPREAD[:, 0] + 1e-4 * SPREAD[::-1, 0]]), 6),
        (np.concatenate([SPREAD, 1e5 * SPREAD[:9]]), 5),
        (np.concatenate([SPREAD, np.full((1, 5), 1e9)]), 1),
    ],
    ids=[
        "flat",
        "constant",
        "far and constant",
        "far",
        "one feature far",
        "scales",
        "nearly flat",
        "outliers",
        "one outlier",
    ],
)
def test_ellipsoids_of_awkward_sets(X, rank):
    far = check_ellipsoid(X)
    assert far.rank == rank
    assert far.n_passes <= 8


def test_a_unit_of_length_decides_what_is_flat():
    assert check_ellipsoid(SPREAD, unit=[1.0, 1e7, 1.0, 1e3, 1.0]).rank == 4
    assert check_ellipsoid(SPREAD, unit=np.ones(5)).rank == 5
    with pytest.raises(InputError, match="positive"):
        min_volume_ellipsoid(in_chunks(SPREAD), unit=np.zeros(5))


@pytest.mark.parametrize("n_distinct", [3, 6, 30])
def test_copies_change_nothing(n_distinct):
    X = SPREAD[:n_distinct, :4]
    often = np.repeat(X, 500, axis=0)
    expected = min_volume_ellipsoid(X, unit=np.ones(4)).ellipsoid.log_volume
    assert check_ellipsoid(often, unit=np.ones(4)).ellipsoid.log_volume == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("d", [2, 9])
def test_ellipsoids_of_cubes_and_spheres(d):
    cube = np.random.default_rng(0).integers(0, 2, (4000, d)).astype(float)
    assert check_ellipsoid(cube).ellipsoid.radii == pytest.approx(np.full(d, np.sqrt(d) / 2), rel=1e-5)
    G = point_set("gauss", 4000, d)
    check_ellipsoid(G / np.linalg.norm(G, axis=1, keepdims=True))


@settings(max_examples=60)
@given(seeds())
def test_ellipsoids_of_small_sets(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 300)), int(rng.integers(1, 6))
    check_ellipsoid(point_set(str(rng.choice(FAMILIES)), n, d, seed) * 10.0 ** rng.integers(-3, 4, size=d))


@pytest.mark.parametrize("form", SCATTERED)
def test_nan_is_an_error(form):
    X = SPREAD[:50].copy()
    X[33, 2] = np.nan
    bad, good = in_chunks(X, form), in_chunks(SPREAD[50:90], form)
    with pytest.raises(InputError, match="nan"):
        min_volume_ellipsoid(bad)
    with pytest.raises(InputError, match="nan"):
        nearest_points(bad, good)


def test_callbacks_can_stop_a_solver():
    def stop(n_iter, gap):
        raise KeyboardInterrupt(n_iter, gap)

    far = in_chunks(SPREAD), in_chunks(SPREAD[:900] + 2.0)
    with pytest.raises(KeyboardInterrupt):
        min_volume_ellipsoid(far[0], on_step=stop)
    with pytest.raises(KeyboardInterrupt):
        nearest_points(*far, on_step=stop)
