"""The last digits of an optimal design: Newton's method on the points that carry it.

An interior point that leaves a gap of 1e-7 may leave an error of 1e-4 in the shape of the ellipsoid, where points
without weight lie on it. What it does give is a good guess of the carriers: the points with more weight than slack
``n - g``. With weights for which the leverages of all carriers are n the design is optimal to rounding.

There may be more carriers than their Newton matrix ``(z_i . z_j)^2`` has ranks, and points on the ellipsoid that need
no weight; the moment matrix is unique all the same. So the matrix is damped by the error, which does not keep the
method from squaring that in each step, and carriers are chosen anew after each: those whose weight falls below their
slack leave, points that stick out come in.
"""

from collections.abc import Callable
from math import inf

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry._kernels import cholesky
from sepc.geometry._mve.design import POLISHED
from sepc.geometry._mve.small_interior_point import fill_pairs, solve_factor
from sepc.geometry._mve.small_interior_point import set_frame as set_small_frame
from sepc.geometry.compilation import kernel

InteriorPoint = Callable[
    [FloatArray, FloatArray, FloatArray, float, float, int], tuple[FloatArray, FloatArray, float, int]
]

# From this gap on the interior point knows the carriers well enough, as a rule.
KNOWN = 1e-5
# Compiled loops, or LAPACK: with more carriers than this BLAS beats loops.
_FEW = 120
_MAX_STEPS = 8
# From this error on rounding decides, or from POLISHED on if a step no longer halves the error.
_ROUNDING = 1e-13
# What the diagonal of the Newton matrix is raised by, as a part of n^2: this part of the error, but no less than that.
_DAMPING = 0.1
_RIDGE = 1e-9
# Points that leave the carriers may take no more weight with them: else these were not known well enough.
_MOST_LOST = 0.02


def optimal_design(
    solve: InteriorPoint,
    Q: FloatArray,
    u: FloatArray,
    s: FloatArray,
    stretch: float,
    target: float,
    max_iter: int,
    is_even: bool,
) -> tuple[FloatArray, FloatArray, float, int]:
    """Run an interior point, and polish the carriers: as soon as they may be known, and if that fails, in the end.

    See `interior_point.interior_point`, which `solve` is, or its compiled form. Too many points are near the boundary
    of an evenly filled body (`is_even`) for the carriers to be known early.
    """
    has_carriers = len(u) == len(s) and target < KNOWN  # the background of first steps has none
    is_early = has_carriers and not is_even
    g, inverse, mass, steps = solve(Q, u, s, stretch, KNOWN if is_early else target, max_iter)
    while has_carriers:
        polished_g, polished_inverse, polished_mass, more = polish(Q, u, s)
        steps += more
        if polished_mass > 0.0:
            return polished_g, polished_inverse, polished_mass, steps
        if steps >= max_iter or g.max() * mass <= len(Q) * (1.0 + target):
            break
        g, inverse, mass, more = solve(Q, u, s, 0.0, target, max_iter - steps)
        if not more:
            break  # rounding allows no step: points that do not span the space, say
        steps += more
    return g, inverse, mass, steps


def polish(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Make a design near the optimal one of a working set optimal to rounding; overwrites u and s if it can.

    Parameters
    ----------
    Q : ndarray of shape (n, k)
        The points, lifted.
    u : ndarray of shape (k,)
        Weights.
    s : ndarray of shape (k,)
        Slacks, nearly n minus the leverages.

    Returns
    -------
    g : ndarray of shape (k,)
        Leverages under u.
    inverse : ndarray of shape (n, n)
        Inverse of the Cholesky factor of M(u), lower triangular.
    mass : float
        The sum of u; 0 where the carriers cannot be told yet, and neither g nor the inverse are of any use.
    steps : int
        Number of steps made.
    """
    g, inverse, mass, steps = polish_few(Q, u, s)
    return (g, inverse, mass, steps) if steps >= 0 else _polish_many(Q, u, s)


@kernel
def polish_few(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Do what `polish` does, if the carriers are few; else the number of steps is -1."""
    n, k = Q.shape
    M = np.empty((n, n))
    inverse = np.empty((n, n))
    Z = np.empty((n, k))
    g = np.empty(k)
    weights = u.copy()
    slacks = s.copy()
    rows = np.empty(k, np.int64)
    before = np.inf
    step = 0
    while True:
        lost = 0.0
        count = 0
        for p in range(k):
            if weights[p] * n > max(slacks[p], 0.0) / n:
                rows[count] = p
                count += 1
            else:
                lost += abs(weights[p])
                weights[p] = 0.0
        if count > _FEW:
            return g, inverse, 0.0, -1
        if step == _MAX_STEPS or not lost < _MOST_LOST:  # so that NaN is not overlooked
            return g, inverse, 0.0, step
        if lost > 0.0 or step == 0:
            set_small_frame(Q, weights, M, inverse, Z, g)
        mass = 0.0
        top = 0.0
        error = 0.0
        for p in range(k):
            mass += weights[p]
            top = max(top, g[p])
            error = max(error, abs(slacks[p]) / n if weights[p] != 0.0 else 0.0)
        gap = top * mass / n - 1.0
        error = max(error, gap) if step else gap
        if error < _ROUNDING or (error < POLISHED and error > 0.5 * before):
            for p in range(k):
                u[p] = weights[p]
                s[p] = n - g[p]
            return g, inverse, mass, step
        z = np.empty((n, count))
        H = np.empty((count, count))
        w = np.empty(count)
        du = np.empty(count)
        for p in range(count):
            w[p] = max(_RIDGE, _DAMPING * error) * n * n
            du[p] = g[rows[p]] - n
            for i in range(n):
                z[i, p] = Z[i, rows[p]]
        fill_pairs(z, w, H)
        cholesky(H)
        solve_factor(H, du)
        for p in range(count):
            weights[rows[p]] += du[p]
        set_small_frame(Q, weights, M, inverse, Z, g)
        for p in range(k):
            slacks[p] = n - g[p]
        before = error
        step += 1


def _polish_many(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Do what `polish` does with LAPACK; `polish_few` is the same."""
    from sepc.geometry._mve.frames import set_frame
    from sepc.geometry._mve.newton_systems import exact_system

    n, k = Q.shape
    M, inverse, Z, g = np.empty((n, n)), np.empty((n, n)), np.empty((n, k)), np.empty(k)
    weights, slacks, before = u.copy(), s, inf
    for step in range(_MAX_STEPS):
        carries = weights * n > np.maximum(slacks, 0.0) / n
        lost = float(np.abs(weights[~carries]).sum())
        if not lost < _MOST_LOST:
            break
        weights[~carries] = 0.0
        if lost > 0.0 or step == 0:
            set_frame(Q, weights, M, inverse, Z, g)
        mass = float(weights.sum())
        gap = float(g.max()) * mass / n - 1.0
        error = max(float(np.abs(slacks[carries]).max()) / n, gap) if step else gap
        if error < _ROUNDING or (error < POLISHED and error > 0.5 * before):
            u[:], s[:] = weights, n - g
            return g, inverse, mass, step
        rows = carries.nonzero()[0]
        ridge = np.full(len(rows), max(_RIDGE, _DAMPING * error) * n * n)
        weights[rows] += exact_system(Z[:, rows], ridge).solve(g[rows] - n, 0.0)
        set_frame(Q, weights, M, inverse, Z, g)
        slacks, before = n - g, error
    return g, inverse, 0.0, step
