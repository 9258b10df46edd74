"""Compiled passes over points in memory, loaded by those who solve, not by those who only look at an ellipsoid."""

from functools import cache
from types import ModuleType

import numpy as np

from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.ellipsoid import LARGEST_HELD, Ellipsoid
from sepc.geometry.threads import one_blas_thread

EVERY_ROW = np.empty(0, np.int64)  # how kernels are told to take them all


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
