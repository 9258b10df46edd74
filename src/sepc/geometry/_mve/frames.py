"""The frame of a design, in which its moment matrix is the identity, and the way back to the units of the data.

For working sets of any size: compiled loops where points have few entries, else BLAS and LAPACK.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from sepc.common.typing import FloatArray
from sepc.geometry import _kernels
from sepc.geometry._mve.small_interior_point import set_frame as set_small_frame

# Up to so many entries of a lifted point compiled loops take no longer than BLAS and the calls around it.
_FEW = 60


def set_frame(Q: FloatArray, u: FloatArray, M: FloatArray, inverse: FloatArray, Z: FloatArray, g: FloatArray) -> None:
    """Do what `small_interior_point.set_frame` does, which describes it."""
    n, k = Q.shape
    if n > _FEW:
        np.multiply(Q, u[:k], out=Z)
        np.dot(Z, Q.T, out=M)
        if len(u) > k:
            M.flat[:: n + 1] += u[k]
        # LAPACK reads columns for rows: the upper half of its factor is the lower half of this one.
        factor, failed = dpotrf(M.T, lower=0, clean=1)
        if not failed:
            found, failed = dtrtri(factor, lower=0, overwrite_c=1)
        if not failed:
            inverse[:] = found.T
            np.dot(inverse, Q, out=Z)
            np.einsum("ij,ij->j", Z, Z, out=g)
            return
    # These loops go on where rounding has cost the matrix its rank.
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
    """Do what `_kernels.raw_factor` does, which describes it."""
    rank = len(Q) - 1
    if rank >= _FEW:
        middle = Q[:rank] @ weights
        apart = Q[:rank] - middle[:, None]
        shape, failed = dpotrf((apart * weights) @ apart.T, lower=1, clean=1)
        if not failed:
            factor = unit[:, None] * directions.T
            stretch = factor[:, :rank] * spread[:rank]
            factor[:, :rank] = stretch @ (reach * shape)
            factor[:, rank:] *= thickness
            return center + stretch @ middle + origin, factor
    position, factor = _kernels.raw_factor(Q, weights, reach, origin, center, unit, directions, spread, thickness)
    return position, factor
