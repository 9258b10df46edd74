"""Pairs of ellipsoids that overlap, and the number of training records that both hold."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.separation import separate
from sepc.geometry.stack import EllipsoidStack

# Widths are compared with this slack, so that rounding never takes ellipsoids that meet for disjoint ones.
_SLACK = 1e-6


class Overlap(NamedTuple):
    """Two ellipsoids that overlap, by number; how many records both hold, and their margin as in `Separation`."""

    a: int
    b: int
    n_common: int
    margin: float


def overlaps(stack: EllipsoidStack, holds: csr_array) -> Iterator[Overlap]:
    """Yield the pairs of ellipsoids that overlap, by the exact test of `sepc.geometry.separate` or by a record in both.

    Parameters
    ----------
    stack : EllipsoidStack
    holds : csr_array of shape (n_ellipsoids, n)
        Which ellipsoid holds which record, 1 or 0.

    Yields
    ------
    Overlap
        The first number ascending, then the second, which is the greater one of the two.
    """
    common = (holds @ holds.T).toarray()
    for i, j in _may_meet(stack, common > 0):
        separation = separate(stack[i], stack[j])
        if common[i, j] or not separation.disjoint:
            yield Overlap(i, j, int(common[i, j]), float(separation.margin))


def _may_meet(stack: EllipsoidStack, common: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of ellipsoids that neither bounding boxes nor one well chosen direction prove disjoint."""
    unit = stack.radii.max(initial=np.finfo(float).tiny)
    centers, scaled = stack.centers[:, 0] / unit, stack.axes * (stack.radii / unit)[:, None]
    shapes, half = np.matmul(scaled, scaled.mT), np.sqrt(np.square(scaled).sum(axis=2))
    for i in range(len(stack)):
        apart = (np.abs(centers - centers[i]) > (half + half[i]) * (1.0 + _SLACK)).any(axis=1) & ~common[i]
        near = i + 1 + np.flatnonzero(~apart[i + 1 :])
        offset = centers[near] - centers[i]
        with np.errstate(all="ignore"):  # what is no number proves nothing
            normal = _separating_normals(offset, shapes[near] + shapes[i])
            reach = _widths(normal, scaled[i]) + _widths(normal, scaled[near])
            apart = (normal * offset).sum(axis=1) > reach * (1.0 + _SLACK)
        yield from ((i, j) for j in near[~apart | common[i, near]].tolist())


def _separating_normals(offset: FloatArray, shapes: FloatArray) -> FloatArray:
    """Return normals of hyperplanes that nearly do their best to separate pairs of ellipsoids."""
    # A trace of a ball keeps flat pairs solvable; no normal can prove anything wrong.
    ball = 1e-12 * np.trace(shapes, axis1=1, axis2=2) + 1e-200
    return np.asarray(
        np.linalg.solve(shapes + ball[:, None, None] * np.eye(offset.shape[1]), offset[:, :, None])[:, :, 0]
    )


def _widths(normal: FloatArray, scaled_axes: FloatArray) -> FloatArray:
    """Return how far ellipsoids reach from their centres along normals, times the lengths of these."""
    return np.asarray(np.sqrt(np.square(np.matmul(normal[:, None], scaled_axes)[:, 0]).sum(axis=1)))
