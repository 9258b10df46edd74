"""Compiled passes over points, and principal axes of a covariance or an ellipsoid; the compiler is loaded on use."""

from functools import cache
from types import ModuleType

import numpy as np

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.ellipsoid import FLAT, LARGEST_HELD, Ellipsoid
from sepc.geometry.threads import one_blas_thread

EVERY_ROW = np.empty(0, np.int64)  # for kernels that take row numbers: all rows

# Up to this number of features the compiled Jacobi method, which is precise relative to each axis, is as fast as
# LAPACK; with hundreds it takes ten times as long. With more features LAPACK is used where errors relative to the
# largest axis are small enough.
FEW_FEATURES = 48


@cache
def kernels() -> ModuleType:
    """Return the module of the compiled passes."""
    from sepc.geometry import _kernels

    return _kernels


def read_only(points: FloatArray) -> FloatArray:
    """Return a read-only view: kernels are compiled for points of these alone."""
    view = points.view()
    view.setflags(write=False)
    return view


def squared_gauges(E: Ellipsoid, points: FloatArray) -> FloatArray:
    """Return the squared gauges of points, in a quarter of the time of `Ellipsoid.gauge`."""
    squares, nothing = np.empty(len(points)), np.zeros(E.dim)
    with one_blas_thread(points.size):
        # The centre is subtracted first: a large offset of both would cost digits.
        kernels().leverages(read_only(points), EVERY_ROW, E.center.copy(), nothing, E.axes / E.radii, nothing, squares)
    return squares


def holds(E: Ellipsoid, points: FloatArray) -> BoolArray:
    """Return which points an ellipsoid contains, in a quarter of the time of `Ellipsoid.contains`."""
    return squared_gauges(E, points) <= LARGEST_HELD**2


def principal_directions(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the principal directions of a covariance as rows, and the variances along them; largest first.

    The covariance is in units of the features: directions with variances below 1e-12 are flat.
    """
    d = len(covariance)
    # LAPACK's error, bounded through the norm, may be a tenth of the variance of a flat direction.
    if d > FEW_FEATURES and float(np.linalg.norm(covariance)) * np.finfo(float).eps <= 0.1 * FLAT**2:  # False for NaN
        # Constant features are exactly flat directions.
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
        if radii[-1] >= 1e-9 * radii[0]:  # then the smallest radius has six digits or more
            return axes.T.copy(), radii
    rotated: tuple[FloatArray, FloatArray] = kernels().rows_svd(matrix)
    return rotated
