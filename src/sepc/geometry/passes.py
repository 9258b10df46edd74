"""Compiled passes over points in memory, and principal axes of a covariance or an ellipsoid.

The compiler is loaded on first use: reading an ellipsoid does not need it.
"""

from functools import cache
from types import ModuleType

import numpy as np

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.ellipsoid import FLAT, LARGEST_HELD, Ellipsoid
from sepc.geometry.threads import one_blas_thread

EVERY_ROW = np.empty(0, np.int64)  # stands for all rows where kernels take a choice

# Up to this number of features compiled rotations, which find small axes beside large ones to full relative precision,
# take no longer than LAPACK; with hundreds they take ten times as long. LAPACK's errors are relative to the largest
# axis: with more features it serves where that is precise enough.
FEW_FEATURES = 48


@cache
def kernels() -> ModuleType:
    """Return the module of the compiled passes."""
    from sepc.geometry import _kernels

    return _kernels


def squared_gauges(E: Ellipsoid, points: FloatArray) -> FloatArray:
    """Return the squares of the gauges, shape (n,), in a quarter of the time of the ellipsoid's own method."""
    squares, nothing = np.empty(len(points)), np.zeros(E.dim)
    with one_blas_thread(points.size):
        # Points minus centre, first of all: a large offset of both would cost digits.
        kernels().leverages(points, EVERY_ROW, E.center.copy(), nothing, E.axes / E.radii, nothing, squares)
    return squares


def holds(E: Ellipsoid, points: FloatArray) -> BoolArray:
    """Return which points an ellipsoid contains, in a quarter of the time of its own method."""
    return squared_gauges(E, points) <= LARGEST_HELD**2


def principal_directions(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the principal directions of a covariance as rows, and the variances along them; largest first.

    The covariance is in units of length of the features: variances below 1e-12 are those of flat directions.
    """
    d = len(covariance)
    # Errors of a variance may reach a tenth of the one below which a direction counts as flat. The norm is no less than
    # the largest variance.
    if d > FEW_FEATURES and float(np.linalg.norm(covariance)) * np.finfo(float).eps <= 0.1 * FLAT**2:  # neither for NaN
        # A constant feature is a flat direction by itself, free of rounding.
        varies = covariance.diagonal() > 0.0
        directions, variances = np.zeros((d, d)), np.zeros(d)
        n = int(np.count_nonzero(varies))
        found, vectors = np.linalg.eigh(covariance[np.ix_(varies, varies)])
        variances[:n] = np.maximum(found[::-1], 0.0)
        directions[:n, varies] = vectors.T[::-1]
        directions[np.arange(n, d), np.flatnonzero(~varies)] = 1.0
        return directions, variances
    rotated: tuple[FloatArray, FloatArray] = kernels().rows_svd(covariance)
    return rotated


def principal_axes(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the axes of ``{matrix @ u : |u| <= 1}`` as rows, and its radii; longest first."""
    if len(matrix) > FEW_FEATURES and np.isfinite(matrix).all():
        axes, radii, _ = np.linalg.svd(matrix)
        if radii[-1] >= 1e-9 * radii[0]:  # that of a flat direction keeps six digits and more
            return axes.T.copy(), radii
    rotated: tuple[FloatArray, FloatArray] = kernels().rows_svd(matrix)
    return rotated
