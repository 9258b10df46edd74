"""The search for the optimal design among points that are not in memory.

The covariance of all points, from a first pass, gives the same start as among points in memory. A second pass brings in
the core: the points that are farthest under it. The design of the core is found in memory; a pass over all points then
certifies it, or brings in those that stick out.
"""

from types import ModuleType

import numpy as np

from sepc.common.typing import SMALLEST_SPREAD, FloatArray, IntArray
from sepc.geometry._mve.design import POLISHED, Measures, OnStep
from sepc.geometry._mve.design_search import DesignSearch
from sepc.geometry._mve.many_points import MORE_ROUNDS, refine
from sepc.geometry.checks import as_vector
from sepc.geometry.points.queries import Far
from sepc.geometry.points.sets import ScatteredPoints

# Points of the core, in multiples of those that may carry weight, and within limits.
_CORE = 6
_LEAST, _MOST = 2048, 16384
_MAX_ROUNDS = 30
# What the core leaves of the tolerance, for the points beyond it.
_INNER = 0.5


class CoreSearch(DesignSearch):
    """A search whose points `X` are the core of a larger set: those that may matter."""

    def __init__(self, points: ScatteredPoints, unit: FloatArray, kernels: ModuleType, on_step: OnStep | None) -> None:
        self.everything = points
        measures = _measures(points, unit)
        few = points.sample(_LEAST)
        super().__init__(few, measures, kernels, on_step)
        self.size = min(max(_CORE * min(self.dim + 2 * self.n, 20 * self.n), _LEAST), _MOST)
        self.n_full_passes = 1
        far = self._farthest(self.size, -np.inf)
        # Beside the farthest some of all kinds: copies of a few points alone would not span the space.
        self._measures = measures
        self._begin(np.concatenate([few, far.points]))

    def _begin(self, core: FloatArray) -> None:
        super().__init__(core, self._measures, self.kernels, self.on_step)

    @property
    def n_passes(self) -> float:
        """How often all points were read."""
        return float(self.n_full_passes)

    def solve(self, tol: float) -> tuple[IntArray, FloatArray]:
        """Return the rows of the core that may carry weight, and their weights."""
        rows, weights = super().solve(_INNER * tol)
        if self.rank == 0:
            return rows, weights
        if not self.certified(tol):  # copies of a point can fill a working set and make it singular: each point once
            self._begin(np.unique(self.X, axis=0))
            rows, weights = super().solve(_INNER * tol)
        more_rounds = MORE_ROUNDS
        for _ in range(_MAX_ROUNDS):
            far = self._farthest(self.size // 2, self.top)
            self.report()
            if not len(far.points) or self.broken:
                break
            self.extend(far.points, far.values)
            if self.certified(tol):
                if self.gap <= POLISHED or not more_rounds:
                    break
                more_rounds -= 1
            slack = np.maximum(self.n - self.bound[rows], 0.0)
            rows, weights = refine(self, rows, weights, slack, False, _INNER * tol)
        return rows, weights

    def widest_deviation(self, columns: FloatArray) -> float:
        """Return the largest of ``|columns' x|^2`` over all points x, relative to the center."""
        self.n_full_passes += 1
        return self.everything.farthest(self.origin, self.center, columns, np.zeros(columns.shape[1])).top

    def square_of_reach(self, center: FloatArray, axes: FloatArray, radii: FloatArray) -> float:
        """Return the square of the largest gauge of all points under the current design's ellipsoid."""
        self.n_full_passes += 1
        nothing = np.zeros(len(center))
        return self.everything.farthest(center, nothing, axes / radii, nothing).top

    def all_weights(self, rows: IntArray, weights: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the weights of the points that may carry weight."""
        weights.setflags(write=False)
        return weights

    def carriers(self, rows: IntArray) -> FloatArray:
        """Return the points that may carry weight."""
        return self.X[rows]

    def _farthest(self, count: int, level: float) -> Far:
        self.n_full_passes += 1
        return self.everything.farthest(self.origin, self.center, self.columns, self.offset, level, count)


def _measures(points: ScatteredPoints, given_unit: FloatArray) -> Measures:
    """Return origin, mean, units of length and covariance, as the compiled `moments` does for points in memory."""
    n = len(points)
    # Of three rows the middle value: one that occurs, and hardly ever an outlier.
    origin = np.sort(points.take(np.array([0, n // 2, n - 1])), axis=0)[1]
    _, total, products = points.moments(origin)
    mean = as_vector(total / n, "the vector of the features' means", points.dim)  # NaN is not overlooked
    covariance = products / n - np.outer(mean, mean)
    variance = np.maximum(covariance.diagonal(), 0.0)
    unit = given_unit if len(given_unit) else np.sqrt(np.where(variance > 0.0, variance, variance.max() or 1.0))
    if not len(given_unit):
        unit[(variance < SMALLEST_SPREAD**2) & (mean != 0.0)] = 0.0  # values differ by too little to be measured
    return origin, mean, unit, covariance / np.outer(unit, unit)
