"""Independent answers: the textbook formulations, solved by cvxpy with Clarabel."""

import warnings
from itertools import pairwise

import cvxpy as cp
import numpy as np
from scipy.special import gammaln

from sepc.geometry.ellipsoid import Ellipsoid


def mve_log_volume(points: np.ndarray, *, symmetric: bool = False) -> float:
    """Log volume of the minimum-volume ellipsoid ``|A z + b| <= 1``.

    The paper's A is symmetric. A triangular A describes the same ellipsoids, and its determinant needs no
    semidefinite cone, which in 40 dimensions is the difference between seconds and hours.
    """
    d = points.shape[1]
    shift, scale = points.mean(axis=0), points.std(axis=0)
    z = (points - shift) / scale
    b = cp.Variable(d)
    if symmetric:
        A = cp.Variable((d, d), PSD=True)
        log_det = cp.log_det(A)
    else:
        entries = cp.Variable(d * (d + 1) // 2)
        A = cp.vec_to_upper_tri(entries)
        log_det = cp.sum(cp.log(cp.diag(A)))
    problem = cp.Problem(cp.Maximize(log_det), [cp.norm(z @ A + b[None], axis=1) <= 1])
    with warnings.catch_warnings():  # it is scaled to cover the points, so an inaccurate answer is no smaller
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL)
    # Scale the answer until it covers every point: what the solver leaves outside would flatter it.
    reach = np.linalg.norm(z @ A.value + b.value, axis=1).max()
    log_det = np.linalg.slogdet(A.value / reach)[1]
    return float(np.log(scale).sum() - log_det + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1))


def contact_factor(E: Ellipsoid, F: Ellipsoid) -> float:
    """The common factor by which two ellipsoids must be scaled to touch: the least of the larger gauges."""
    x = cp.Variable(E.dim)
    gauges = [cp.norm(cp.multiply(1 / G.radii, G.axes.T @ (x - G.center))) for G in (E, F)]
    problem = cp.Problem(cp.Minimize(cp.maximum(*gauges)))
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def nearest_in_ellipsoid(E: Ellipsoid, z: np.ndarray) -> np.ndarray:
    """The point of E nearest to z."""
    u = cp.Variable(E.dim)
    problem = cp.Problem(cp.Minimize(cp.norm(E.center + E.axes @ cp.multiply(E.radii, u) - z)), [cp.norm(u) <= 1])
    problem.solve(solver=cp.CLARABEL)
    return E.center + E.axes @ (E.radii * u.value)


def intersection_cover_log_volume(ellipsoids: list[Ellipsoid]) -> float:
    """Log volume of the cover that the paper's LMI (MVEIntEj) gives."""
    d = ellipsoids[0].dim
    A, b = cp.Variable((d, d), PSD=True), cp.Variable((d, 1))
    tau = cp.Variable(len(ellipsoids), nonneg=True)
    left = cp.bmat([[A, b, np.zeros((d, d))], [b.T, -np.ones((1, 1)), b.T], [np.zeros((d, d)), b, -A]])
    right = sum(t * _quadratic_form(E) for t, E in zip(tau, ellipsoids, strict=True))
    problem = cp.Problem(cp.Maximize(cp.log_det(A)), [right - left >> 0])
    problem.solve(solver=cp.CLARABEL)
    return float(-0.5 * problem.value + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d + 1))


def _quadratic_form(E: Ellipsoid) -> np.ndarray:
    """The matrix of ``x'A_j x + 2 b_j'x + c_j <= 0``, padded with zeros to the size of the LMI."""
    d = E.dim
    A = (E.axes / E.radii**2) @ E.axes.T
    b = -A @ E.center
    form = np.zeros((2 * d + 1, 2 * d + 1))
    form[:d, :d], form[:d, d], form[d, :d], form[d, d] = A, b, b, E.center @ A @ E.center - 1
    return form


def reduced_hull_distance(A: np.ndarray, B: np.ndarray, cap_a: float, cap_b: float, *, cone: bool = False) -> float:
    """Distance of two reduced convex hulls, minimised over the weights.

    As a quadratic program, or as a cone program: the better one where the distance is small beside the data.
    """
    shift = B.mean(axis=0)
    scale = np.abs(np.vstack([A, B]) - shift).max()
    u, v = cp.Variable(len(A), nonneg=True), cp.Variable(len(B), nonneg=True)
    between = ((A - shift) / scale).T @ u - ((B - shift) / scale).T @ v
    rules = [cp.sum(u) == 1, cp.sum(v) == 1, u <= cap_a, v <= cap_b]
    problem = cp.Problem(cp.Minimize(cp.norm(between) if cone else cp.sum_squares(between)), rules)
    value = _solved(problem)
    return float(scale * (value if cone else np.sqrt(max(value, 0.0))))


def box_distance(columns: np.ndarray, sizes: tuple[int, ...], before: np.ndarray, r: np.ndarray) -> float:
    """Least length of ``r + columns @ (t - before)`` with t between 0 and 1, and of the same sum over each group."""
    t = cp.Variable(len(before))
    groups = pairwise(np.cumsum([0, *sizes]).tolist())
    rules = [t >= 0, t <= 1, *(cp.sum(t[a:b]) == before[a:b].sum() for a, b in groups)]
    return _solved(cp.Problem(cp.Minimize(cp.norm(r + columns @ (t - before))), rules))


def _solved(problem: cp.Problem) -> float:
    """Return the optimal value."""
    with warnings.catch_warnings():  # asked for all it can give, it says that it fell a little short
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-14, tol_gap_rel=1e-12, tol_feas=1e-12)
    return float(problem.value)
