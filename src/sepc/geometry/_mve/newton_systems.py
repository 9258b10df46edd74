"""The Newton systems of the interior-point method for optimal designs, and ways to solve them.

With points z_i, the columns of Z with n entries each, and positive w, the system is ``((Z'Z)^2 + diag(w)) x = b``, the
square taken entry by entry. The classes here solve the same system; they differ in time and memory.
"""

from collections.abc import Iterator
from functools import cache
from math import sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._mve import packed_matrices as packed
from sepc.geometry.chunks import chunk_slices

# How many points are multiplied at a time, and how many matrices z_i z_i' are held at a time.
_PRODUCTS = 1024
_PANEL = 256
# From this many points on iterations take less time than a factor of the whole system.
_MANY = 350
# The points whose diagonal entries owe more than this part to their leverage are the core of a system.
_LEAST_SHARE = 0.01
# How many iterations it takes as a rule, and how many are enough.
_ITERATIONS = 8
_MAX_ITER = 50
# What is added to diagonals, relatively, until rounding does not make matrices indefinite, in either precision.
_RIDGES = np.array([0.0, 1e-13, 1e-11, 1e-9])
_SINGLE_RIDGES = np.array([1e-6, 1e-5, 1e-4, 1e-3])


class NewtonSystem(Protocol):
    """A Newton system, ready to be solved for several right-hand sides."""

    def solve(self, b: FloatArray, residual: float) -> FloatArray:
        """Return the solution x for the right-hand side b, both of shape (k,).

        Where it takes iterations they leave this residual, relatively.
        """


def newton_system(Z: FloatArray, g: FloatArray, w: FloatArray) -> NewtonSystem:
    """Return the Newton system in the form that takes the least time.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
    g : ndarray of shape (k,)
        The squares of the columns of Z, their leverages.
    w : ndarray of shape (k,)

    Returns
    -------
    NewtonSystem
    """
    n, k = Z.shape
    dim = n * (n + 1) // 2
    if k < _MANY:
        return exact_system(Z, w)
    # How many products are added up: as many in half the time in single precision, in twice the time in iterations.
    core = core_of(g, w)
    n_core = len(core)
    by_core = n_core**2 * (n_core // 3 + n) // 2 + 2 * _ITERATIONS * 4 * k * n**2
    by_matrices = k * dim**2 + dim**3 // 3
    return CorePairs(Z, g, w, core) if by_core <= 0.8 * by_matrices else Matrices(Z, w)


def exact_system(Z: FloatArray, w: FloatArray) -> NewtonSystem:
    """Return the Newton system in the form that takes the least time without iterations; Z and w as above."""
    n, k = Z.shape
    return Pairs(Z, w) if 4 * k <= 3 * n * (n + 1) else Matrices(Z, w)


class Pairs:
    """The system as it stands: a matrix with a row and a column for each point."""

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        self.factor = _pairs_factor(Z, w, _RIDGES)

    def solve(self, b: FloatArray, residual: float) -> FloatArray:  # noqa: ARG002
        x = b.copy()
        packed.solve(self.factor, x)
        return x


class CorePairs:
    """The same, solved by conjugate gradients that a factor over the core of the system speeds up.

    The core are the points that hold the ellipsoid or may come to do so; the others have so large a w that the rest of
    their row hardly counts. Single precision is enough for the factor. The system itself is never formed: scaled to a
    unit diagonal, it is applied to vectors by way of products with Z.
    """

    def __init__(self, Z: FloatArray, g: FloatArray, w: FloatArray, core: IntArray) -> None:
        self.Z, self.w, self.core = Z, w, core
        self.scale: FloatArray = 1.0 / np.sqrt(g * g + w)
        of_core = self.scale[core]
        scaled = Z.take(core, axis=1)
        scaled *= np.sqrt(of_core)
        left = w[core] * of_core * of_core
        self.factor = _pairs_factor(scaled.astype(np.float32), left, _SINGLE_RIDGES)

    def solve(self, b: FloatArray, residual: float) -> FloatArray:
        system = self.Z, self.w, self.scale, self.core, self.factor
        x: FloatArray = packed.conjugate_gradients(*system, self.scale * b, residual, _MAX_ITER)
        return self.scale * x


class Matrices:
    """The system over symmetric matrices of order n, ``I + sum_i svec(z_i z_i') svec(z_i z_i')' / w_i``.

    Its size is n (n + 1) / 2, however many points there are.
    """

    def __init__(self, Z: FloatArray, w: FloatArray) -> None:
        self.Z, self.w = Z, w
        n = len(Z)
        dim = n * (n + 1) // 2
        self.rows, self.columns, self.scale = _triangle(n)
        self.factor = np.zeros(dim * (dim + 1) // 2)
        packed.raise_diagonal(self.factor, np.ones(dim), 1.0)
        for some in _batches(len(w), _PANEL):
            part = Z[:, some] / np.sqrt(np.sqrt(w[some]))
            panel = np.empty((dim, part.shape[1]))
            row = 0
            for a in range(n):
                np.multiply(part[: a + 1], part[a], out=panel[row : row + a + 1])
                row += a + 1
            panel *= self.scale[:, None]
            packed.add_products(self.factor, panel, True)
        # At least the identity: with weights of any use it cannot fail.
        if not packed.factorise(self.factor, dim):
            raise np.linalg.LinAlgError("rounding has made a Newton matrix indefinite")

    def solve(self, b: FloatArray, residual: float) -> FloatArray:  # noqa: ARG002
        x = b / self.w
        S = moment_matrix(self.Z, x)
        y = S[self.rows, self.columns] * self.scale
        packed.solve(self.factor, y)
        y /= self.scale
        S[self.rows, self.columns] = y
        S[self.columns, self.rows] = y
        x -= quadratic_forms(S, self.Z) / self.w
        return x


def core_of(g: FloatArray, w: FloatArray) -> IntArray:
    """Return the points whose diagonal entries owe enough to their leverages."""
    square = g * g
    share = square / (square + w)
    return np.flatnonzero(~(share <= min(_LEAST_SHARE, 0.5 * share.max())))  # NaN is not overlooked


def _pairs_factor(Z: NDArray[Any], w: FloatArray, ridges: FloatArray) -> NDArray[Any]:
    """Return the Cholesky factor of ``(Z'Z)^2 + diag(w)``, in the precision of Z."""
    factor, is_definite = packed.squared_products_factor(np.ascontiguousarray(Z), w, ridges)
    if not is_definite:
        raise np.linalg.LinAlgError("rounding has made a Newton matrix indefinite")
    return factor


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
    """Return row and column numbers of a lower triangle, and the factors that make its entries count as both halves."""
    rows, columns = np.tril_indices(n)
    return rows, columns, np.where(rows == columns, 1.0, sqrt(2.0))
