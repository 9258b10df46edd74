"""The search for the optimal design among points in memory: few of them at once, many by working sets."""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._mve.design import Design
from sepc.geometry._mve.few_points import FEW, FEW_ENTRIES, solve_at_once
from sepc.geometry._mve.many_points import explore, refine
from sepc.geometry.passes import EVERY_ROW


class DesignSearch(Design):
    """One search for the optimal design of points in memory."""

    def solve(self, tol: float) -> tuple[IntArray, FloatArray]:
        """Return the rows that may carry weight, and their weights."""
        N = len(self.X)
        if self.rank == 0:
            return np.arange(N), np.full(N, 1.0 / N)
        few = N * self.dim <= FEW
        if self.first_size >= N or (few and (self.dim <= FEW_ENTRIES or not self.is_even)):
            rows, weights = solve_at_once(self, tol)
            if self.certified(tol):
                return rows, weights
            self.columns, self.offset = self.base
            self.top = self.read(EVERY_ROW)
            self.n_read += N
        return refine(self, *explore(self), tol)
