"""The nearest points of points in chunks: the same as in memory, certified, in few passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scattered import SCATTERED, in_chunks, scattered
from strategies import FAMILIES, point_set, seeds

from sepc import nearest_points
from sepc.geometry.points.sets import LocalPoints
from sepc.scale.device_points import DevicePoints

pytestmark = pytest.mark.usefixtures("memory")


def check_nearest(A, B, cap=None, form="device", far_b=None, tol=1e-9):
    """Compare with the nearest points found in memory; return those of the chunks."""
    near = nearest_points(A, B, cap, tol=tol)
    far = nearest_points(in_chunks(A, form), in_chunks(B, form) if far_b is None else far_b, cap, tol=tol)
    assert near.converged
    assert far.converged
    assert far.gap <= tol
    assert far.meet == near.meet
    if not near.meet:
        assert far.distance == pytest.approx(near.distance, rel=10.0 * tol)
        np.testing.assert_allclose(far.normal, near.normal, rtol=0, atol=1e-5 * near.distance)
    assert (far.weights_a, far.weights_b) == (None, None)
    return far


CAPS = {"default": None, "hulls": 1.0, "both free": (3.0 / 2500, 2.0 / 900), "a share of a point": 1.0 / 643.21}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("d", [1, 2, 5, 10, 30])
@pytest.mark.parametrize("cap", CAPS.values(), ids=CAPS)
def test_nearest_points_of_all_families(family, d, cap):
    A, B = point_set(family, 2500, d, seed=1), point_set(family, 900, d, seed=2)
    for apart in (0.0, 0.4, 3.0, 15.0):
        far = check_nearest(A + apart * np.eye(d)[0], B, cap)
        assert far.n_passes <= 100
        check_side(far, far.c, A + apart * np.eye(d)[0])


def check_side(far, c, A):
    """The point of A's hull is a mean of points of A: nowhere outside of the box around them."""
    slack = 1e-9 * far.data_range
    assert (c >= A.min(axis=0) - slack).all()
    assert (c <= A.max(axis=0) + slack).all()


@pytest.mark.parametrize("form", SCATTERED)
@pytest.mark.parametrize("cap", [None, 1.0])
def test_nearest_points_in_all_forms(form, cap):
    A, B = point_set("gauss", 1500, 3, seed=1) + 6.0 * np.eye(3)[0], point_set("gauss", 600, 3, seed=2)
    check_nearest(A, B, cap, form=form)


@pytest.mark.parametrize("cap", [None, 1.0, (2.5 / 2500, 1.5 / 900)])
def test_one_side_may_be_in_memory(cap):
    A, B = point_set("gauss", 2500, 4, seed=1) + 1.0, point_set("gauss", 900, 4, seed=2)
    for near in (B, LocalPoints(B)):
        check_nearest(A, B, cap, far_b=near)
    backward = nearest_points(B, in_chunks(A), cap[::-1] if isinstance(cap, tuple) else cap)
    forward = nearest_points(in_chunks(A), B, cap)
    assert backward.distance == pytest.approx(forward.distance, rel=1e-9)


@pytest.mark.parametrize("cap", [None, 1.0, 2.5 / 1500])
def test_identical_sets_meet(cap):
    A = point_set("gauss", 1500, 4)
    assert check_nearest(A, A.copy(), cap).meet
    assert check_nearest(A, A.copy(), cap, far_b=A).meet


@pytest.mark.parametrize("cap", [None, 1.0, 1 / 333.3])
def test_nearest_points_with_many_copies(cap):
    rng, X = np.random.default_rng(0), point_set("gauss", 60, 4)
    A, B = X[rng.integers(0, 30, 4000)] + 2.0, X[rng.integers(30, 60, 900)]
    check_nearest(A, B, cap)
    columns = np.column_stack([np.repeat([0.0, 1.0, 2.0], 1500), rng.standard_normal(4500)])
    check_nearest(columns + 1.5 * np.eye(2)[0], columns[::4], cap)


def test_few_distinct_points():
    ones, zeros = np.ones((50, 2)), np.zeros((20, 2))
    assert check_nearest(ones, zeros).distance == pytest.approx(np.sqrt(2.0))
    assert check_nearest(ones, ones[:20]).meet
    pair = check_nearest(
        np.repeat([[0.0, 0.0], [0.0, 1.0]], 500, axis=0), np.tile([3.0, 0.8], (20, 1)), (1 / 600, 1 / 20)
    )
    assert pair.c == pytest.approx([0.0, 0.8])
    check_nearest(point_set("gauss", 700, 3), np.array([[0.1, 0.2, 9.0]]))
    check_nearest(point_set("gauss", 700, 3), np.array([[0.1, 0.2, 9.0]]), 1.0)


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("apart", [1e-2, 1e-4, 1e-5, 1e-6])
def test_hulls_that_nearly_meet(apart, offset):
    tol = 1e-9 if apart > 1e-6 else 1e-8  # any closer rounding of the points is worth some 1e-9
    A, B = point_set("gauss", 3000, 4), point_set("gauss", 1200, 4, seed=5) + 0.7
    for cap in (None, 1 / 800.5):
        pair = nearest_points(A, B, cap)
        # Rounding of the offset moves each point by more than what is left between the hulls.
        room = max(apart, 1e-3) if offset else apart
        check_nearest(A - pair.normal * (1.0 - room) + offset, B + offset, cap, tol=tol)
    cube = np.random.default_rng(0).random((3000, 3))
    check_nearest(cube + apart * np.eye(3)[0], cube * [-1.0, 1.0, 1.0], 1.0, tol=tol)


@settings(max_examples=120)
@given(seeds(), st.sampled_from([None, 1.0, "free"]))
def test_nearest_points_of_small_sets(seed, cap):
    rng = np.random.default_rng(seed)
    d, (n, k) = int(rng.integers(1, 6)), rng.integers(1, 120, size=2)
    A, B = (point_set(str(rng.choice(FAMILIES)), int(m), d, seed + i) for i, m in enumerate((n, k)))
    free = tuple(1.0 / rng.uniform(1.0, m) for m in (n, k))
    check_nearest(A + rng.choice([0.0, 1.0, 4.0]), B, free if cap == "free" else cap)


@pytest.mark.parametrize("seed", [3, 18])
def test_windows_that_were_too_small_become_wider(seed, monkeypatch):
    """Points that tie at the thresholds are more than a first window has room for."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    A = np.round(rng.normal(size=(3000, d)) * rng.integers(1, 6))
    B = np.round(rng.normal(size=(1500, d)) * rng.integers(1, 6))
    B[:, 0] += rng.integers(0, 4)
    for name in ("window_size", "sample_size"):
        monkeypatch.setattr(DevicePoints, name, 512)
    expected = nearest_points(A, B)
    found = nearest_points(scattered("device", A), scattered("device", B))
    assert found.converged
    assert abs(found.distance - expected.distance) <= 1e-9 * expected.distance
