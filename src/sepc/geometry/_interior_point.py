"""The interior-point method for optimal designs, on working sets that are large enough for BLAS.

`_design_kernels.interior_point` is the same method, compiled for sets so small that the calls would cost more than the
work. Points come lifted, as the columns of Q with n entries each. A design ``u`` has the moment matrix
``M = sum u_i q_i q_i'`` and gives point i the leverage ``g_i = q_i' M^-1 q_i``.
"""

from functools import cache
from math import sqrt

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from sepc.geometry._checks import FloatArray, Rows

# Columns of the Newton system's factor that are held at a time, so that memory does not grow with the points.
_PANEL = 512
# The products u s need not fall below this part of what the target asks for: smaller ones would only cost the Newton
# systems their precision.
FINEST = 0.1
# Where points coincide rounding may make a Newton matrix indefinite: what is then added to its diagonal, relatively.
_RIDGES = (0.0, 1e-13, 1e-11, 1e-9)


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
    while True:
        inverse = _inverse_root(Q, u)
        Z = inverse @ Q
        g: FloatArray = np.einsum("ij,ij->j", Z, Z)
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


def _inverse_root(Q: FloatArray, u: FloatArray) -> FloatArray:
    n, k = Q.shape
    M = (Q * u[:k]) @ Q.T
    if len(u) > k:
        M.flat[:: n + 1] += u[k]
    root = _root(M)
    inverse: FloatArray = np.ascontiguousarray(dtrtri(root, lower=1)[0])
    return inverse


def _root(H: FloatArray, **options: int) -> FloatArray:
    """Return the Cholesky factor of a matrix that is positive definite but for rounding."""
    diagonal = H.diagonal().copy()
    for ridge in _RIDGES:
        H.flat[:: len(H) + 1] = (1.0 + ridge) * diagonal
        root, failed = dpotrf(H.T, lower=1, **options)
        if not failed:
            factor: FloatArray = root
            return factor
    raise np.linalg.LinAlgError("rounding has made a matrix indefinite")


def _step(Z: FloatArray, g: FloatArray, u: FloatArray, s: FloatArray, floor: float) -> tuple[float, FloatArray]:
    """Take one predictor-corrector step, to products u s no smaller than `floor`; return its length and direction."""
    n, k = Z.shape
    w = s / u
    mu = float(u @ s) / k
    system = _Pairs(Z, w) if 8 * k <= 5 * n * (n + 1) else _Matrices(Z, w)
    du = system.solve(g - n)
    ds = -s - w * du
    step_u, step_s = min(1.0, _longest(u, du)), min(1.0, _longest(s, ds))
    ahead = float((u + step_u * du) @ (s + step_s * ds)) / k
    center = max(min(1.0, max(1e-4, (ahead / mu) ** 3)) * mu, min(mu, floor))
    # The product u s aimed at, less the second-order term of the prediction, divided by u.
    ds = (center - du * ds) / u - s
    du = system.solve(g + s - n + ds)
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


@cache
def _triangle(n: int) -> tuple[Rows, Rows, FloatArray]:
    """Return row and column numbers of a lower triangle, and the factors that make its entries count as both halves."""
    rows, columns = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, sqrt(2.0))


class _Pairs:
    """The Newton system over the points, ``(Z'Z)^2 + diag(w)``."""

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        H = np.square(Z.T @ Z)
        H.flat[:: len(H) + 1] += w
        self.factor = _root(H, clean=0)

    def solve(self, b: FloatArray) -> FloatArray:
        x: FloatArray = dpotrs(self.factor, b, lower=1)[0]
        return x


class _Matrices:
    """The same system over symmetric matrices, ``I + sum_i svec(z_i z_i') svec(z_i z_i')' / w_i``.

    Smaller than the one over the points as soon as these outnumber n (n + 1) / 2.
    """

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        self.Z, self.w = Z, w
        n, k = Z.shape
        dim = n * (n + 1) // 2
        self.rows, self.columns, self.scale = _triangle(n)
        H = np.eye(dim, order="F")
        width = -(-k // -(-k // _PANEL))
        for start in range(0, k, width):
            part = Z[:, start : start + width] / np.sqrt(np.sqrt(w[start : start + width]))
            panel = np.empty((dim, part.shape[1]))
            row = 0
            for a in range(n):
                np.multiply(part[: a + 1], part[a], out=panel[row : row + a + 1])
                row += a + 1
            panel *= self.scale[:, None]
            H = dsyrk(1.0, panel.T, beta=1.0, c=H, trans=1, lower=1, overwrite_c=1)
        # At least the identity: with weights of any use it cannot fail.
        self.factor, failed = dpotrf(H, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("rounding has made the Newton matrix indefinite")

    def solve(self, b: FloatArray) -> FloatArray:
        x = b / self.w
        S = (self.Z * x) @ self.Z.T
        y = dpotrs(self.factor, S[self.rows, self.columns] * self.scale, lower=1)[0] / self.scale
        S[self.rows, self.columns] = y
        S[self.columns, self.rows] = y
        x -= np.einsum("ij,ij->j", S @ self.Z, self.Z) / self.w
        return x
