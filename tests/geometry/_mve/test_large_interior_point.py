"""Laws of large working sets: Newton systems have the solution of the dense matrix, frames are those of the loops."""

import numpy as np
import pytest
from strategies import FAMILIES, point_set

from sepc.geometry import _kernels
from sepc.geometry._mve import large_interior_point
from sepc.geometry._mve.large_interior_point import (
    CorePairs,
    Matrices,
    Pairs,
    core_of,
    moment_matrix,
    newton_system,
    quadratic_forms,
    raw_factor,
    set_frame,
)
from sepc.geometry._mve.small_interior_point import set_frame as set_small_frame
from sepc.geometry.mve import min_volume_ellipsoid


def core_pairs(Z, w):
    g = np.square(Z).sum(axis=0)
    return CorePairs(Z, g, w, core_of(g, w))


FORMS = [Pairs, core_pairs, Matrices]
SIZES = [(2, 3), (3, 2), (6, 40), (9, 41), (12, 301), (25, 400)]


def system(n, k, decades=8, seed=0):
    """Return points, w over so many orders of magnitude, a right-hand side, and the matrix."""
    rng = np.random.default_rng([n, k, seed])
    Z = rng.standard_normal((n, k))
    w = 10.0 ** rng.uniform(-0.25 * decades, 0.75 * decades, k)
    return Z, w, rng.standard_normal(k), np.square(Z.T @ Z) + np.diag(w)


def relative_error(H, x, y):
    """Return how far x is from y in the norm that the matrix gives, relative to y."""
    return np.sqrt((x - y) @ H @ (x - y) / (y @ H @ y))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("n", "k"), SIZES)
def test_every_form_has_the_solution_of_the_dense_matrix(form, n, k):
    Z, w, b, H = system(n, k)
    assert relative_error(H, form(Z, w).solve(b, 1e-12), np.linalg.solve(H, b)) <= 1e-9


@pytest.mark.parametrize("decades", [0, 4, 8, 16])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("residual", [1e-3, 1e-6])
def test_iterations_end_at_the_residual_they_promise(decades, seed, residual):
    Z, w, b, H = system(25, 400, decades, seed)
    assert relative_error(H, core_pairs(Z, w).solve(b, residual), np.linalg.solve(H, b)) <= 10.0 * residual


def test_points_of_large_w_are_not_in_the_core():
    Z, w, b, H = system(12, 301)
    w[50:] = 1e9
    H = np.square(Z.T @ Z) + np.diag(w)
    found = core_pairs(Z, w)
    assert found.core.max() < 50
    assert found.factor.shape == (len(found.core), len(found.core))
    assert relative_error(H, found.solve(b, 1e-6), np.linalg.solve(H, b)) <= 1e-5


def test_there_is_a_core_even_if_every_w_is_large():
    Z, _, b, _ = system(4, 30)
    w = np.full(30, 1e12)
    np.testing.assert_allclose(core_pairs(Z, w).solve(b, 1e-6), b / w, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_points_that_coincide_do_not_break_a_system(form):
    Z, _, b, _ = system(5, 20)
    Z, b = np.repeat(Z, 15, axis=1), np.repeat(b, 15)
    w = np.full(300, 1e-3)
    H = np.square(Z.T @ Z) + np.diag(w)
    assert relative_error(H, form(Z, w).solve(b, 1e-6), np.linalg.solve(H, b)) <= 1e-5


@pytest.mark.parametrize("form", FORMS)
def test_zero_leads_to_zero(form):
    Z, w, b, _ = system(5, 20)
    assert form(Z, w).solve(0.0 * b, 1e-6).tolist() == [0.0] * 20


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_number_is_not_overlooked(form):
    Z, w, b, _ = system(5, 20)
    Z[0, 3] = np.nan
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(form(Z, w).solve(b, 1e-6)).all()


@pytest.mark.parametrize(("n", "k", "form"), [(5, 15, Pairs), (58, 1200, CorePairs), (5, 2000, Matrices)])
def test_the_form_depends_on_the_size(n, k, form):
    Z, w, *_ = system(n, k)
    assert type(newton_system(Z, np.square(Z).sum(axis=0), w)) is form


@pytest.mark.parametrize("k", [1, 7, 1024, 1025, 3000])
def test_products_in_batches_are_the_products(k):
    Z, _, b, _ = system(4, k)
    S = moment_matrix(Z, b)
    np.testing.assert_allclose(S, (Z * b) @ Z.T, rtol=0, atol=1e-12 * k)
    np.testing.assert_allclose(quadratic_forms(S, Z), np.einsum("ij,ik,kj->j", Z, S, Z), rtol=0, atol=1e-11 * k)


@pytest.mark.parametrize("family", FAMILIES)
def test_iterations_lead_to_the_same_ellipsoid_in_as_many_steps(family, monkeypatch):
    points = point_set(family, 700, 25)
    iterated = min_volume_ellipsoid(points)
    monkeypatch.setattr(large_interior_point, "_MANY", 10**9)
    factored = min_volume_ellipsoid(points)
    assert iterated.converged
    assert abs(iterated.n_iter - factored.n_iter) <= 1
    assert abs(iterated.ellipsoid.log_volume - factored.ellipsoid.log_volume) <= 26 * 1e-7


def frame(function, Q, u):
    n, k = Q.shape
    M, inverse, Z, g = np.empty((n, n)), np.empty((n, n)), np.empty((n, k)), np.empty(k)
    function(Q, u, M, inverse, Z, g)
    return inverse, Z, g


@pytest.mark.slow
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
