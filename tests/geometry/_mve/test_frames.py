"""Frames of designs: BLAS and the compiled loops find the same."""

import numpy as np
import pytest

from sepc.geometry import _kernels
from sepc.geometry._mve.frames import raw_factor, set_frame
from sepc.geometry._mve.small_interior_point import set_frame as set_small_frame


def frame(function, Q, u):
    n, k = Q.shape
    M, inverse, Z, g = np.empty((n, n)), np.empty((n, n)), np.empty((n, k)), np.empty(k)
    function(Q, u, M, inverse, Z, g)
    return inverse, Z, g


@pytest.mark.parametrize("n", [20, 80])
@pytest.mark.parametrize("background", [False, True])
def test_large_frames_are_those_of_the_compiled_loops(n, background):
    rng = np.random.default_rng(n)
    Q, u = rng.normal(size=(n, 3 * n)), rng.random(3 * n + background) / (3 * n)
    for found, plain in zip(frame(set_frame, Q, u), frame(set_small_frame, Q, u), strict=True):
        assert found == pytest.approx(plain, rel=1e-9, abs=1e-9)


def test_a_design_without_full_rank_goes_on_as_in_the_loops():
    Q = np.vstack([np.random.default_rng(0).normal(size=(79, 200)), np.zeros(200)])
    with np.errstate(all="ignore"):
        found, plain = (frame(function, Q, np.full(200, 1 / 200)) for function in (set_frame, set_small_frame))
    assert np.array_equal(found[2], plain[2], equal_nan=True)


@pytest.mark.parametrize("rank", [65, 70])
def test_the_way_back_is_that_of_the_compiled_loops(rank):
    rng, d = np.random.default_rng(rank), 70
    Q = np.vstack([rng.normal(size=(rank, 200)), np.ones(200)])
    directions = np.linalg.qr(rng.normal(size=(d, d)))[0]
    weights, unit, spread = rng.random(200), rng.uniform(0.5, 2.0, d), rng.uniform(0.1, 2.0, d)
    weights /= weights.sum()
    given = Q, weights, 8.0, rng.normal(size=d), rng.normal(size=d), unit, directions, spread, 1e-6
    for found, plain in zip(raw_factor(*given), _kernels.raw_factor(*given), strict=True):
        assert found == pytest.approx(plain, rel=1e-9, abs=1e-12)
