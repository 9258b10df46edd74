"""The interior-point method for optimal designs, on working sets whose Newton systems are large enough for LAPACK.

`small_interior_point` is the same method, compiled for sets so small that the calls would cost more than the
work. Points come lifted, as the columns of Q with n entries each. A design ``u`` has the moment matrix
``M = sum u_i q_i q_i'`` and gives point i the leverage ``g_i = q_i' M^-1 q_i``.
"""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry._mve.frames import set_frame
from sepc.geometry._mve.newton_systems import newton_system
from sepc.geometry._mve.small_interior_point import FINEST

# Relative residuals of the two directions of a step: the first only tells how far to go, and where to aim the second.
_PREDICTED = 1e-3
_CORRECTED = 1e-5


def interior_point(
    Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, int]:
    """Minimise ``-log det M(u) + n sum(u)`` over u >= 0, from (u, s) on; overwrites both.

    Mehrotra's predictor-corrector method. The slacks s are kept independent of u (infeasible start): tied to n - g they
    would triple the iterations. With a positive `stretch` the start is made feasible first: u is scaled until the
    largest leverage is n divided by `stretch`, and s is set to match. If u has one entry more than Q has columns, this
    is the fixed weight of a design whose moment matrix is the identity.

    Parameters
    ----------
    Q : ndarray of shape (n, k)
    u : ndarray of shape (k,) or (k + 1,)
    s : ndarray of shape (k,)
    stretch : float
    target : float
        Gap over the k points at which to stop.
    max_iter : int

    Returns
    -------
    g : ndarray of shape (k,)
        Leverages under u.
    inverse : ndarray of shape (n, n)
        Inverse of the Cholesky factor of M(u), lower triangular.
    mass : float
        The sum of u.
    steps : int
        Number of steps made.
    """
    n, k = Q.shape
    free = u[:k]
    steps, length, allowed, du = 0, 0.0, np.inf, np.zeros(k)
    Z, g = np.empty((n, k)), np.empty(k)
    M, inverse = np.empty((n, n)), np.empty((n, n))
    while True:
        set_frame(Q, u, M, inverse, Z, g)
        top = float(g.max())
        if stretch > 0.0:
            u *= stretch * top / n
            s[:] = n - g / (stretch * top / n)
            stretch = 0.0
            continue
        if not top <= allowed and length > 1e-6:
            # The step left the region where leverages are nearly linear in the weights: take half of it back.
            length *= 0.5
            free -= length * du
            continue
        allowed = 4.0 * max(top, n)
        mass = float(u.sum())
        if steps >= max_iter or top * mass <= n * (1.0 + target):
            return g, inverse, mass, steps
        length, du = _step(Z, g, free, s, FINEST * target * n / k)
        steps += 1


def _step(Z: FloatArray, g: FloatArray, u: FloatArray, s: FloatArray, floor: float) -> tuple[float, FloatArray]:
    """Take one predictor-corrector step, to products u s no smaller than `floor`; return its length and direction."""
    n, k = Z.shape
    w = s / u
    mu = float(u @ s) / k
    system = newton_system(Z, g, w)
    du = system.solve(g - n, _PREDICTED)
    ds = -s - w * du
    step_u, step_s = min(1.0, _longest(u, du)), min(1.0, _longest(s, ds))
    ahead = float((u + step_u * du) @ (s + step_s * ds)) / k
    center = max(min(1.0, max(1e-4, (ahead / mu) ** 3)) * mu, min(mu, floor))
    # The product u s aimed at, less the second-order term of the prediction, divided by u.
    ds = (center - du * ds) / u - s
    du = system.solve(g + s - n + ds, _CORRECTED)
    ds -= w * du
    keep = min(max(0.99, 1.0 - mu), 1.0 - 1e-6)
    step_u, step_s = min(1.0, keep * _longest(u, du)), min(1.0, keep * _longest(s, ds))
    if not np.isfinite(du @ du + ds @ ds):
        raise np.linalg.LinAlgError("rounding allows no further step")
    u += step_u * du
    s += step_s * ds
    return step_u, du


def _longest(x: FloatArray, dx: FloatArray) -> float:
    """Return the longest step, up to 2, that keeps x + step dx >= 0."""
    return 1.0 / max(0.5, float((-dx / x).max()))
