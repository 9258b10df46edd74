"""The exact stage of `nearest_points`: the shortest combination of columns with weights in a box, of given sums."""

from itertools import accumulate, pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sepc.common.typing import FloatArray

# Derivatives of t and 1 - t.
_SIGNS = np.array([[1.0], [-1.0]])


def solve_box(
    blocks: list[tuple[FloatArray, float]], before: FloatArray, r: FloatArray, tol: float
) -> tuple[FloatArray, int]:
    """Return the t in [0, 1] that minimises ``|r + columns @ (t - before)|``, and the number of iterations.

    Mehrotra's predictor-corrector method. The sums of t over each group, those of `before`, are eliminated, which
    leaves d by d systems of the scatter of the columns about the weighted means of their groups, free of cancellation.

    Parameters
    ----------
    blocks : list of pairs
        Groups of columns, as points of shape (n_group, d) and a factor.
    before : ndarray of shape (n,)
    r : ndarray of shape (d,)
    tol : float
        Gap of the whole search.
    """
    box = _Box([block for block in blocks if len(block[0])], before, r)
    n_iter = box.run(max(1e-3 * tol, 1e-13), 1e-3 * tol)
    return (box.t if np.isfinite(box.t.sum()) else before.copy()), n_iter


class _Box:
    """The state of the least-distance problem over a box with given sums.

    The rows of ``slack`` are t and 1 - t, both stored so that small values keep their digits; those of ``multiplier``
    are the multipliers of the lower and of the upper bounds. All are positive.
    """

    def __init__(self, blocks: list[tuple[FloatArray, float]], before: FloatArray, r: FloatArray) -> None:
        self.blocks = blocks
        ends = [0, *accumulate(len(points) for points, _ in blocks)]
        self.groups = [slice(*pair) for pair in pairwise(ends)]
        self.f = r - self._sum(before)
        self.totals = [float(before[group].sum()) for group in self.groups]
        t = np.empty(len(before))
        for group, total in zip(self.groups, self.totals, strict=True):
            t[group] = total / (group.stop - group.start)
        self.slack = np.stack([t, 1.0 - t])
        # Initial multipliers of the size of the scores, larger at the bounds that the scores favour.
        score = self._scores(self.f + self._sum(t))
        for group in self.groups:
            score[group] -= score[group].mean()
        self.multiplier = np.maximum(np.stack([score, -score]), 0.0)
        self.multiplier += float(np.abs(score).mean()) + 1e-300

    @property
    def t(self) -> FloatArray:
        t: FloatArray = self.slack[0]
        return t

    def _sum(self, t: FloatArray) -> FloatArray:
        """Return ``columns @ t``, shape (d,)."""
        parts = zip(self.blocks, self.groups, strict=True)
        return np.asarray(sum(factor * (t[group] @ points) for (points, factor), group in parts))

    def _scores(self, direction: FloatArray) -> FloatArray:
        """Return ``direction @ columns``, shape (n,)."""
        out = np.empty(self.groups[-1].stop)
        for (points, factor), group in zip(self.blocks, self.groups, strict=True):
            np.dot(points, factor * direction, out=out[group])
        return out

    def run(self, tol: float, flat: float) -> int:
        """Iterate until the relative duality gap is `tol` or the length at most `flat`; return the number of steps."""
        best = last_gap = np.inf
        stalled = closed = careful = 0
        length = 1.0
        for iteration in range(80):
            gap, square, error = self._gap()
            enough = max(tol * square, 1e-15 * square**0.5)
            stalled = 0 if gap < 0.9 * best else stalled + 1
            best = min(best, gap)
            closed += gap <= enough
            # Once the gap is closed the residual may need some more steps, until it is rounding.
            done = gap <= enough and (error <= enough or closed == 5)
            if done or square <= flat * flat or stalled == 10:
                return iteration
            # After poor progress: four steps without second-order terms, which restore centrality.
            careful = 4 if length < 0.2 or gap > last_gap else careful - 1
            last_gap = gap
            length = self._step(gap, careful > 0)
        return 80

    def _gap(self) -> tuple[float, float, float]:
        """Return the duality gap, the squared length of the sum, and the effect of the dual residual."""
        total = self.f + self._sum(self.t)
        self.weight = (self.multiplier / self.slack).sum(axis=0)
        self.residual = self._scores(total) + self.multiplier[1] - self.multiplier[0]
        self.mass, self.lack = [], []
        for group, wanted in zip(self.groups, self.totals, strict=True):
            # Unbounded weights of free variables would cancel the unit matrix they are added to.
            weight = self.weight[group] = 1.0 / (self.weight[group] + 1e-13 / (1.0 + wanted) ** 2)
            mass = float(weight.sum()) + 1e-300
            # The multiplier of the group's sum is free: take the one that minimises the residual.
            self.residual[group] -= float(weight @ self.residual[group]) / mass
            self.mass.append(mass)
            self.lack.append(wanted - float(self.t[group].sum()))
        error = float(np.abs(self.residual) @ np.minimum(self.slack[0], self.slack[1]))
        return float(np.vdot(self.multiplier, self.slack)), float(total @ total), error

    def _step(self, gap: float, careful: bool) -> float:
        """Take one predictor-corrector step; return its length relative to the full one."""
        system = _System(self)
        trust, least = (0.0, 0.1) if careful else (1.0, 0.0)
        toward = self.multiplier[1] - self.residual - self.multiplier[0]
        step = system.solve(toward)  # the predictor
        rise, fall = self._rise(step, np.zeros(1))
        length = min(1.0, 1.0 / fall)
        second_order = _SIGNS * step * rise
        ratio = max(1.0 - length + length * length * float(second_order.sum()) / gap, 0.0)
        # Target multipliers: those that make the products with the slacks equal.
        aim = (max(ratio**3, least) * gap / (2.0 * len(step)) - trust * second_order) / self.slack
        step = system.solve(toward + aim[0] - aim[1])  # the corrector
        rise, fall = self._rise(step, aim)
        length = min(1.0, 0.995 / fall)
        self.slack = np.maximum(self.slack + _SIGNS * (length * step), 1e-30)
        self.multiplier = np.maximum(self.multiplier + length * rise, 1e-150)
        return length

    def _rise(self, step: FloatArray, aim: FloatArray) -> tuple[FloatArray, float]:
        """Return the step of the multipliers towards `aim` for a step of t, and the inverse of the longest step."""
        closing = -_SIGNS * step / self.slack
        rise = closing - 1.0 + aim / self.multiplier
        fall = max(float(closing.max()), -float(rise.min()), 1e-300)
        return rise * self.multiplier, fall


class _System:
    """The linear system of one step, factorised."""

    def __init__(self, box: _Box) -> None:
        self.box, self.root = box, np.sqrt(box.weight)
        d, n = len(box.f), len(box.weight)
        # The columns about the weighted means of their groups, times the roots of the weights.
        self.centred, self.shift = np.empty((d, n)), np.zeros(d)
        parts = zip(box.blocks, box.groups, box.mass, box.lack, strict=True)
        for (points, factor), group, mass, lack in parts:
            mean = box.weight[group] @ points / mass
            self.centred[:, group] = points.T
            self.centred[:, group] -= mean[:, None]
            self.centred[:, group] *= factor
            self.shift += lack * factor * mean
        self.centred *= self.root
        self.factor = dpotrf(self.centred @ self.centred.T + np.eye(d))[0]

    def solve(self, b: FloatArray) -> FloatArray:
        """Return the step of t for a right-hand side, shape (n,)."""
        step = b * self.root
        for group, mass, lack in zip(self.box.groups, self.box.mass, self.box.lack, strict=True):
            # With the group's mean removed, the centred columns may replace the columns.
            root = self.root[group]
            step[group] += (lack - float(root @ step[group])) / mass * root
        move = dpotrs(self.factor, self.shift + self.centred @ step)[0]
        return np.asarray((step - move @ self.centred) * self.root)
