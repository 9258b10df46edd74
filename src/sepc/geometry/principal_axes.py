"""Principal axes: of a covariance, and of an ellipsoid that a matrix makes of the unit ball.

Compiled rotations find small axes beside large ones to full relative precision, but take ten times as long as LAPACK
with hundreds of features. LAPACK's errors are relative to the largest axis: it serves where that is precise enough.
"""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.ellipsoid import FLAT
from sepc.geometry.passes import kernels

# Up to so many features compiled rotations take no longer than LAPACK.
FEW_FEATURES = 48
_EPS = float(np.finfo(np.float64).eps)
# Errors of a variance may reach this part of the one below which a direction counts as flat,
_NOTICED = 0.1
# and an axis may be so much shorter than the longest one: that of a flat direction keeps six digits and more.
_SHORTEST = 1e-9


def principal_directions(covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the principal directions of a covariance as rows, and the variances along them; largest first.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
        In units of length of the features: variances below 1e-12 are those of flat directions.

    Returns
    -------
    directions : ndarray of shape (d, d)
    variances : ndarray of shape (d,)
    """
    d = len(covariance)
    # The norm is no less than the largest variance.
    if d > FEW_FEATURES and float(np.linalg.norm(covariance)) * _EPS <= _NOTICED * FLAT**2:  # neither for NaN
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
    """Return the axes of ``{matrix @ u : |u| <= 1}`` as rows, and its radii; longest first.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)

    Returns
    -------
    axes : ndarray of shape (d, d)
    radii : ndarray of shape (d,)
    """
    if len(matrix) > FEW_FEATURES and np.isfinite(matrix).all():
        axes, radii, _ = np.linalg.svd(matrix)
        if radii[-1] >= _SHORTEST * radii[0]:
            return axes.T.copy(), radii
    rotated: tuple[FloatArray, FloatArray] = kernels().rows_svd(matrix)
    return rotated
