"""The interior-point method for optimal designs by LAPACK, for large working sets.

`small_interior_point` is the same method, compiled for sets so small that the calls would take longer than the work.
Lifted points are the columns of Q, with n entries each. A design ``u`` has the moment matrix ``M = sum u_i q_i q_i'``
and gives point i the leverage ``g_i = q_i' M^-1 q_i``.

With the points in the frame of a design as columns of Z, and positive w, the Newton system is
``((Z'Z)^2 + diag(w)) x = b``, with the elementwise square. `Pairs`, `CorePairs` and `Matrices` solve it; they differ in
time and memory.
"""

from collections.abc import Iterator
from functools import cache
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, dtrsv, ssyrk, strsv
from scipy.linalg.lapack import dpotrf, dtrtri, spotrf

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._kernels import raw_factor as raw_small_factor
from sepc.geometry._mve.small_interior_point import (
    DAMPING,
    FINEST,
    MOST_LOST,
    POLISHED,
    POLISHING_STEPS,
    RIDGE,
    ROUNDING,
)
from sepc.geometry._mve.small_interior_point import set_frame as set_small_frame
from sepc.geometry.chunks import chunk_slices

# Up to this number of entries of a lifted point compiled loops take no longer than BLAS and the calls around it.
_LOOPS = 60
# Number of points from which conjugate gradients are faster than a factor of the whole system.
_MANY = 350
# Points that are multiplied at a time.
_PRODUCTS = 1024


def interior_point(
    Q: FloatArray, u: FloatArray, s: FloatArray, stretch: float, target: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, int]:
    """Minimise ``-log det M(u) + n sum(u)`` over u >= 0 to a gap of `target`, from (u, s) on; overwrites both.

    Mehrotra's predictor-corrector method. The slacks s are independent of u (infeasible start): with s = n - g it would
    take three times as many iterations. With a positive `stretch` the start is first made feasible: u is scaled until
    the largest leverage is n divided by `stretch`, and s is set to match. If u has one entry more than Q has columns,
    that is the fixed weight of a design whose moment matrix is the identity.

    Returns
    -------
    g : ndarray of shape (k,)
        Leverages under u.
    inverse : ndarray of shape (n, n)
        Inverse of the Cholesky factor of M(u), lower triangular.
    mass : float
        The sum of u.
    steps : int
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
            # Leverages are not nearly linear in the weights over this step: halve it.
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
    """Take a predictor-corrector step, with products u s of `floor` or more; return its length and direction."""
    n, k = Z.shape
    w = s / u
    mu = float(u @ s) / k
    # Relative residuals of 1e-3 and 1e-5: the first direction only determines the target of the second.
    system = newton_system(Z, g, w)
    du = system.solve(g - n, 1e-3)
    ds = -s - w * du
    step_u, step_s = min(1.0, _longest(u, du)), min(1.0, _longest(s, ds))
    ahead = float((u + step_u * du) @ (s + step_s * ds)) / k
    center = max(min(1.0, max(1e-4, (ahead / mu) ** 3)) * mu, min(mu, floor))
    # The target of the product u s, less the second-order term of the prediction, divided by u.
    ds = (center - du * ds) / u - s
    du = system.solve(g + s - n + ds, 1e-5)
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


def polish_many(Q: FloatArray, u: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Polish a design as `design.polish` does, with LAPACK."""
    n, k = Q.shape
    M, inverse, Z, g = np.empty((n, n)), np.empty((n, n)), np.empty((n, k)), np.empty(k)
    weights, slacks, before = u.copy(), s, inf
    for step in range(POLISHING_STEPS):
        carries = weights * n > np.maximum(slacks, 0.0) / n
        lost = float(np.abs(weights[~carries]).sum())
        if not lost < MOST_LOST:
            break
        weights[~carries] = 0.0
        if lost > 0.0 or step == 0:
            set_frame(Q, weights, M, inverse, Z, g)
        mass = float(weights.sum())
        gap = float(g.max()) * mass / n - 1.0
        error = max(float(np.abs(slacks[carries]).max()) / n, gap) if step else gap
        if error < ROUNDING or (error < POLISHED and error > 0.5 * before):
            u[:], s[:] = weights, n - g
            return g, inverse, mass, step
        rows = carries.nonzero()[0]
        ridge = np.full(len(rows), max(RIDGE, DAMPING * error) * n * n)
        weights[rows] += exact_system(Z[:, rows], ridge).solve(g[rows] - n, 0.0)
        set_frame(Q, weights, M, inverse, Z, g)
        slacks, before = n - g, error
    return g, inverse, 0.0, step


def set_frame(Q: FloatArray, u: FloatArray, M: FloatArray, inverse: FloatArray, Z: FloatArray, g: FloatArray) -> None:
    """Set the frame as `small_interior_point.set_frame` does, for points with any number of entries."""
    n, k = Q.shape
    if n > _LOOPS:
        np.multiply(Q, u[:k], out=Z)
        np.dot(Z, Q.T, out=M)
        if len(u) > k:
            M.flat[:: n + 1] += u[k]
        # LAPACK's arrays are transposed: the upper half of its factor is the lower half of this one.
        factor, failed = dpotrf(M.T, lower=0, clean=1)
        if not failed:
            found, failed = dtrtri(factor, lower=0, overwrite_c=1)
        if not failed:
            inverse[:] = found.T
            np.dot(inverse, Q, out=Z)
            np.einsum("ij,ij->j", Z, Z, out=g)
            return
    # The loops also handle matrices that rounding has made singular.
    set_small_frame(Q, u, M, inverse, Z, g)


def raw_factor(
    Q: FloatArray,
    weights: FloatArray,
    reach: float,
    origin: FloatArray,
    center: FloatArray,
    unit: FloatArray,
    directions: FloatArray,
    spread: FloatArray,
    thickness: float,
) -> tuple[FloatArray, FloatArray]:
    """Return centre and factor as `_kernels.raw_factor` does, for points with any number of entries."""
    rank = len(Q) - 1
    if rank >= _LOOPS:
        middle = Q[:rank] @ weights
        apart = Q[:rank] - middle[:, None]
        shape, failed = dpotrf((apart * weights) @ apart.T, lower=1, clean=1)
        if not failed:
            factor = unit[:, None] * directions.T
            stretch = factor[:, :rank] * spread[:rank]
            factor[:, :rank] = stretch @ (reach * shape)
            factor[:, rank:] *= thickness
            return center + stretch @ middle + origin, factor
    position, factor = raw_small_factor(Q, weights, reach, origin, center, unit, directions, spread, thickness)
    return position, factor


def newton_system(Z: FloatArray, g: FloatArray, w: FloatArray) -> "Pairs | CorePairs | Matrices":
    """Return the factorised Newton system of points Z, shape (n, k), with leverages g, in the fastest form.

    Its method `solve` takes a right-hand side, and the relative residual at which iterations stop.
    """
    n, k = Z.shape
    dim = n * (n + 1) // 2
    if k < _MANY:
        return exact_system(Z, w)
    # Numbers of products, weighted by time: single precision takes half of it, the iterations, eight as a rule, twice.
    core = core_of(g, w)
    n_core = len(core)
    by_core = n_core**2 * (n_core // 3 + n) // 2 + 2 * 8 * 4 * k * n**2
    by_matrices = k * dim**2 + dim**3 // 3
    return CorePairs(Z, g, w, core) if by_core <= 0.8 * by_matrices else Matrices(Z, w)


def exact_system(Z: FloatArray, w: FloatArray) -> "Pairs | Matrices":
    """Return the Newton system in the fastest form without iterations."""
    n, k = Z.shape
    return Pairs(Z, w) if 4 * k <= 3 * n * (n + 1) else Matrices(Z, w)


class Pairs:
    """The system over pairs of points, of order k."""

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        self.factor = _pairs_factor(Z, w, (0.0, 1e-13, 1e-11, 1e-9))

    def solve(self, b: FloatArray, residual: float) -> FloatArray:  # noqa: ARG002
        return _solved(self.factor, b)


class CorePairs:
    """The same, solved by preconditioned conjugate gradients.

    The preconditioner is the Cholesky factor, in single precision, over the core: the points that support the ellipsoid
    or may do so later. The others have rows dominated by w. The system is never formed: scaled to a unit diagonal, it
    is applied to vectors by products with Z.
    """

    def __init__(self, Z: FloatArray, g: FloatArray, w: FloatArray, core: IntArray) -> None:
        self.Z, self.w, self.core = Z, w, core
        self.scale: FloatArray = 1.0 / np.sqrt(g * g + w)
        of_core = self.scale[core]
        scaled = (Z[:, core] * np.sqrt(of_core)).astype(np.float32)
        self.factor = _pairs_factor(scaled, w[core] * of_core * of_core, (1e-6, 1e-5, 1e-4, 1e-3))

    def solve(self, b: FloatArray, residual: float) -> FloatArray:
        remaining = self.scale * b
        x, direction = np.zeros(len(b)), np.zeros(len(b))
        first = before = 0.0
        for step in range(50):
            correction = self._over_core(remaining)
            square = float(remaining @ correction)
            first = first if step else square
            if square <= residual * residual * first:
                break
            direction = correction + (square / before if step else 0.0) * direction
            image = self._applied(direction)
            length = square / float(direction @ image)
            x += length * direction
            remaining -= length * image
            before = square
        return self.scale * x

    def _over_core(self, b: FloatArray) -> FloatArray:
        """Apply the preconditioner."""
        x = b.copy()
        x[self.core] = _solved(self.factor, b[self.core].astype(np.float32))
        return x

    def _applied(self, x: FloatArray) -> FloatArray:
        """Return the product of the scaled system with a vector."""
        y = self.scale * x
        return self.scale * (self.w * y + quadratic_forms(moment_matrix(self.Z, y), self.Z))


class Matrices:
    """System over symmetric matrices, of order n (n + 1) / 2: ``I + sum_i svec(z_i z_i') svec(z_i z_i')' / w_i``."""

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        self.Z, self.w = Z, w
        self.rows, self.columns, self.scale = _triangle(len(Z))
        H = np.eye(len(self.rows), order="F")
        for some in _batches(len(w), 256):
            part = Z[:, some] / np.sqrt(np.sqrt(w[some]))
            panel = part[self.rows] * part[self.columns] * self.scale[:, None]
            H = dsyrk(1.0, panel.T, 1.0, H, trans=1, lower=1, overwrite_c=1)
        # At least the identity: with finite weights it cannot fail.
        self.factor, failed = dpotrf(H, lower=1, overwrite_a=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("rounding has made a Newton matrix indefinite")

    def solve(self, b: FloatArray, residual: float) -> FloatArray:  # noqa: ARG002
        x = b / self.w
        S = moment_matrix(self.Z, x)
        y = _solved(self.factor, S[self.rows, self.columns] * self.scale) / self.scale
        S[self.rows, self.columns] = y
        S[self.columns, self.rows] = y
        x -= quadratic_forms(S, self.Z) / self.w
        return x


def core_of(g: FloatArray, w: FloatArray) -> IntArray:
    """Return the core of a system: the points whose squared leverage is over one per cent of the diagonal entry."""
    square = g * g
    share = square / (square + w)
    return np.flatnonzero(~(share <= min(0.01, 0.5 * share.max())))  # true for NaN


def _pairs_factor(Z: NDArray[Any], w: FloatArray, ridges: tuple[float, ...]) -> NDArray[Any]:
    """Return the Cholesky factor of ``(Z'Z)^2 + diag(w)``, in the precision of Z.

    Where points coincide, rounding may make it indefinite: the diagonal is raised by the first ridge that works.
    """
    syrk, potrf = (ssyrk, spotrf) if Z.dtype == np.float32 else (dsyrk, dpotrf)
    for ridge in ridges:
        H = syrk(1.0, Z.T, lower=1)
        np.square(H, out=H)
        diagonal = np.einsum("ii->i", H)
        diagonal += w
        diagonal *= 1.0 + ridge
        factor, failed = potrf(H, lower=1, overwrite_a=1, clean=0)
        if not failed:
            return np.asarray(factor)
    raise np.linalg.LinAlgError("rounding has made a Newton matrix indefinite")


def _solved(factor: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the solution of the system with this Cholesky factor, in its precision."""
    trsv = strsv if factor.dtype == np.float32 else dtrsv  # in less than half the time of LAPACK's potrs
    return np.asarray(trsv(factor, trsv(factor, b, lower=1), lower=1, trans=1))


def moment_matrix(Z: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``sum_i x_i z_i z_i'``, shape (n, n)."""
    S = np.zeros((len(Z), len(Z)))
    for some in _batches(len(x), _PRODUCTS):
        S += (Z[:, some] * x[some]) @ Z[:, some].T
    return S


def quadratic_forms(S: FloatArray, Z: FloatArray) -> FloatArray:
    """Return ``z_i' S z_i`` for each point, shape (k,)."""
    forms = np.empty(Z.shape[1])
    for some in _batches(len(forms), _PRODUCTS):
        np.einsum("ij,ij->j", S @ Z[:, some], Z[:, some], out=forms[some])
    return forms


def _batches(k: int, most: int) -> Iterator[slice]:
    """Return k positions in batches of about the same size."""
    return chunk_slices(k, -(-k // -(-k // most)))


@cache
def _triangle(n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row and column numbers of a lower triangle, and the factors of svec: root 2 off the diagonal."""
    rows, columns = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, sqrt(2.0))
