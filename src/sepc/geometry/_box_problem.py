"""The exact stage of `nearest_points`: the shortest combination of columns with weights in a box, of given sums."""

from itertools import accumulate, pairwise

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sepc.geometry._checks import FloatArray

_MAX_STEPS = 80
# How t and 1 - t change with t.
_SIGNS = 1.0, -1.0


def solve_box(
    blocks: list[tuple[FloatArray, float]], before: FloatArray, r: FloatArray, tol: float
) -> tuple[FloatArray, int]:
    """Return the t in [0, 1] that makes ``r + columns @ (t - before)`` shortest, and how many iterations.

    Mehrotra's predictor-corrector method. The sums are eliminated first, which leaves d by d systems: the scatter of
    the columns about the weighted mean of their group, free of cancellation.

    Parameters
    ----------
    blocks : list of pairs
        Groups of columns, as points of shape (n_group, d) and what to multiply them by; the sum of t over each is that
        of `before`.
    before : ndarray of shape (n,)
    r : ndarray of shape (d,)
    tol : float
        Gap that the whole search is to reach.
    """
    box = _Box([block for block in blocks if len(block[0])], before, r)
    n_iter = box.run(max(1e-3 * tol, 1e-13), 1e-3 * tol)
    return (box.t if np.isfinite(box.t.sum()) else before.copy()), n_iter


class _Box:
    """The least-distance problem over a box whose sums are given, on its way to the solution.

    ``room`` holds t and 1 - t as its two rows, kept apart for the sake of small numbers; ``price`` holds the
    multipliers of the lower and of the upper bounds. All are positive. Steps are computed in place: of few points,
    temporaries of theirs are a good part of a fit's memory.
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
        self.room = np.stack([t, 1.0 - t])
        # Multipliers of the size of the scores, larger where a score calls for its bound.
        score = self._scores(self.f + self._sum(t))
        for group in self.groups:
            score[group] -= score[group].mean()
        self.price = np.maximum(np.stack([score, -score]), 0.0)
        self.price += float(np.abs(score).mean()) + 1e-300

    @property
    def t(self) -> FloatArray:
        """The point that has been reached."""
        t: FloatArray = self.room[0]
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
        """Step until the relative duality gap is `tol` or the sum is no longer than `flat`; return how often."""
        best = last_gap = np.inf
        stalled = closed = careful = 0
        length = 1.0
        for iteration in range(_MAX_STEPS):
            gap, square, error = self._judge()
            enough = max(tol * square, 1e-15 * square**0.5)
            stalled = 0 if gap < 0.9 * best else stalled + 1
            best = min(best, gap)
            closed += gap <= enough
            # Once the gap is closed the residual may need some more rounds, but soon it is rounding.
            done = gap <= enough and (error <= enough or closed == 5)
            if done or square <= flat * flat or stalled == 10:
                return iteration
            # Second-order terms that do harm: go without for a while, and bring the products back into balance.
            careful = 4 if length < 0.2 or gap > last_gap else careful - 1
            last_gap = gap
            length = self._step(gap, careful > 0)
        return _MAX_STEPS

    def _judge(self) -> tuple[float, float, float]:
        """Return the duality gap, the squared length of the sum, and how far the dual residual matters."""
        total = self.f + self._sum(self.t)
        self.weight = self.price[0] / self.room[0]
        self.weight += self.price[1] / self.room[1]
        self.residual = self._scores(total)
        self.residual += self.price[1]
        self.residual -= self.price[0]
        self.mass, self.lack = [], []
        for group, wanted in zip(self.groups, self.totals, strict=True):
            weight = self.weight[group]
            # Free variables would get weights without bound, and drown the unit matrix they are added to.
            weight += 1e-13 / (1.0 + wanted) ** 2
            np.divide(1.0, weight, out=weight)
            mass = float(weight.sum()) + 1e-300
            # The multiplier of the group's sum is free and enters linearly: take the best for the residual.
            self.residual[group] -= float(weight @ self.residual[group]) / mass
            self.mass.append(mass)
            self.lack.append(wanted - float(self.t[group].sum()))
        error = float(np.abs(self.residual) @ np.minimum(self.room[0], self.room[1]))
        return float(np.vdot(self.price, self.room)), float(total @ total), error

    def _step(self, gap: float, careful: bool) -> float:
        """Take one predictor-corrector step; return its length as a share of the full one."""
        system = _System(self)
        trust, least = (0.0, 0.1) if careful else (1.0, 0.0)
        toward = self.residual
        np.subtract(self.price[1], toward, out=toward)
        toward -= self.price[0]
        step = toward.copy()  # the predictor
        system.solve(step)
        rise, fall = self._rise(step, None)
        length = min(1.0, 1.0 / fall)
        # The products of room and price aimed at, less their second-order terms.
        aim = rise
        for sign, products in zip(_SIGNS, aim, strict=True):
            products *= step
            products *= sign
        ratio = max(1.0 - length + length * length * float(aim.sum()) / gap, 0.0)
        aim *= -trust
        aim += max(ratio**3, least) * gap / (2.0 * len(step))
        aim /= self.room
        step = toward  # the corrector, with the predictor's products
        step += aim[0]
        step -= aim[1]
        system.solve(step)
        del system  # it is as large as the points
        rise, fall = self._rise(step, aim)
        length = min(1.0, 0.995 / fall)
        step *= length
        self.room[0] += step
        self.room[1] -= step
        np.maximum(self.room, 1e-30, out=self.room)
        rise *= length
        self.price += rise
        np.maximum(self.price, 1e-150, out=self.price)
        return length

    def _rise(self, step: FloatArray, aim: FloatArray | None) -> tuple[FloatArray, float]:
        """Return the step of the prices that goes with one of t, shape (2, n), and how fast the first bound comes.

        The prices aim at some others, which are used up, or at 0.
        """
        rise = np.empty_like(self.room)
        for sign, change, room in zip(_SIGNS, rise, self.room, strict=True):
            np.divide(step, room, out=change)
            change *= -sign
        fall = float(rise.max())
        rise -= 1.0
        if aim is not None:
            aim /= self.price
            rise += aim
        fall = max(fall, -float(rise.min()), 1e-300)
        rise *= self.price
        return rise, fall


class _System:
    """The linear system of one step, factorised; uses up the weights of the box."""

    def __init__(self, box: _Box) -> None:
        self.box = box
        d, n = len(box.f), len(box.weight)
        means = [
            box.weight[group] @ points / mass
            for (points, _), group, mass in zip(box.blocks, box.groups, box.mass, strict=True)
        ]
        self.root = np.sqrt(box.weight, out=box.weight)
        # The columns about the weighted means of their groups, times the roots of the weights.
        self.centred, self.shift = np.empty((d, n)), np.zeros(d)
        for (points, factor), group, mean, lack in zip(box.blocks, box.groups, means, box.lack, strict=True):
            for row, values, middle in zip(self.centred[:, group], points.T, mean, strict=True):
                np.subtract(values, middle, out=row)
            self.centred[:, group] *= factor
            self.shift += lack * factor * mean
        for row in self.centred:
            row *= self.root
        matrix = self.centred @ self.centred.T
        for j in range(d):
            matrix[j, j] += 1.0
        self.factor = dpotrf(matrix)[0]

    def solve(self, step: FloatArray) -> None:
        """Turn the right-hand side into the step of t."""
        step *= self.root
        for group, mass, lack in zip(self.box.groups, self.box.mass, self.box.lack, strict=True):
            # With the group's mean taken out, centred columns may stand in for the columns.
            root = self.root[group]
            step[group] += (lack - float(root @ step[group])) / mass * root
        move = dpotrs(self.factor, self.shift + self.centred @ step)[0]
        step -= move @ self.centred
        step *= self.root
