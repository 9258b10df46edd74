"""Minimum-volume ellipsoids of whole numbers in 50 digits: an interior point that shares no line with the solvers."""

from decimal import Decimal, localcontext

import numpy as np

DIGITS, GAP = 50, Decimal(10) ** -36


def lattice_set(rng):
    """Return a few points of whole numbers in 2 to 5 dimensions that span the space."""
    d, high = rng.integers(2, 6), rng.integers(3, 7)
    X = rng.integers(0, high, size=(rng.integers(d + 2, 3 * d + 6), d))
    return X if np.linalg.matrix_rank(X - X[0]) == d else lattice_set(rng)


def grid_around(X):
    """Return all points of whole numbers in the box around a set, and next to it."""
    sides = [np.arange(low - 1, high + 2) for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True)]
    return np.array(np.meshgrid(*sides)).reshape(X.shape[1], -1).T


def exact_gauges(X, points):
    """Return the gauges of points under the ellipsoid of X: squares are right to 1e-14."""
    q = np.column_stack([points, np.ones(len(points))])
    leverage = np.einsum("ij,jk,ik->i", q, exact_inverse_moments(X), q)
    return np.sqrt(np.maximum(leverage - 1.0, 0.0) / X.shape[1])


def exact_inverse_moments(X):
    """Return the inverse moment matrix of the optimal design, shape (d + 1, d + 1), rounded once."""
    X = np.unique(X, axis=0)
    Q = np.vstack([X.T, np.ones(len(X), dtype=int)])
    n, k = Q.shape
    even = np.full(k, 1.0 / k)
    g = (Q * _solution((Q * even) @ Q.T, Q.astype(float))).sum(axis=0)
    scale = 1.1 * g.max() / n
    u, s, _ = _follow(Q.astype(float), even * scale, n - g / scale, 1e-9)
    exact = np.vectorize(Decimal, otypes=[object])
    with localcontext() as context:
        context.prec = DIGITS
        u, s, M = _follow(exact(Q), exact(u), exact(s), GAP)
        return (_solution(M, exact(np.eye(n, dtype=int))) * u.sum()).astype(float)


def _follow(Q, u, s, gap):
    """Follow the central path of ``-log det M(u) + n sum(u)`` until the certified gap is reached."""
    n, k = Q.shape
    for _ in range(300):
        M = (Q * u) @ Q.T
        K = Q.T @ _solution(M, Q)
        g = K.diagonal()
        if g.max() * u.sum() <= n * (1 + gap):
            return u, s, M
        H, mu = K * K + np.diag(s / u), (u @ s) / k
        du = _solution(H, g - n)
        ds = -s - s / u * du
        ahead = (u + _longest(u, du) * du) @ (s + _longest(s, ds) * ds) / k
        aim = (max((ahead / mu) ** 3, mu / mu / 10**6) * mu - du * ds) / u - s
        du = _solution(H, g + s - n + aim)
        ds = aim - s / u * du
        u, s = u + _longest(u, du) * 999 / 1000 * du, s + _longest(s, ds) * 999 / 1000 * ds
    raise AssertionError("the oracle found no solution")


def _longest(x, dx):
    worst = (-dx / x).max()
    return 1 / worst if worst > 1 else worst / worst


def _solution(A, b):
    """Solve a positive definite system in the arithmetic of its entries."""
    n = len(A)
    A = np.column_stack([A, b])
    for i in range(n):
        A[i + 1 :, i:] = A[i + 1 :, i:] - (A[i + 1 :, i] / A[i, i])[:, None] * A[i, i:]
    x = A[:, n:].copy()
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - A[i, i + 1 : n] @ x[i + 1 :]) / A[i, i]
    return x.reshape(b.shape)
