"""The exact stage of `nearest_points`: the shortest combination of columns with weights in a box, of given sums."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sepc.geometry._checks import FloatArray

_MAX_STEPS = 80


def solve_box(
    columns: FloatArray, groups: list[slice], before: FloatArray, r: FloatArray, tol: float
) -> tuple[FloatArray, int]:
    """Return the t in [0, 1] that makes ``r + columns @ (t - before)`` shortest, and how many iterations.

    Mehrotra's predictor-corrector method. The sums are eliminated first, which leaves d by d systems: the scatter of
    the columns about the weighted mean of their group, free of cancellation.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
    groups : list of two slices
        Groups of columns; the sum of t over each is that of `before`.
    before : ndarray of shape (n,)
    r : ndarray of shape (d,)
    tol : float
        Gap that the whole search is to reach.
    """
    box = _Box(columns, [group for group in groups if group.stop > group.start], before, r)
    n_iter = box.run(max(1e-3 * tol, 1e-13), 1e-3 * tol)
    return (box.t if np.isfinite(box.t.sum()) else before.copy()), n_iter


class _Box:
    """The least-distance problem over a box whose sums are given, on its way to the solution.

    ``room`` holds t and 1 - t as its two rows, kept apart for the sake of small numbers; ``price`` holds the
    multipliers of the lower and of the upper bounds. All are positive.
    """

    def __init__(self, columns: FloatArray, groups: list[slice], before: FloatArray, r: FloatArray) -> None:
        self.columns, self.groups = columns, groups
        self.f = r - columns @ before
        self.totals = [float(before[group].sum()) for group in groups]
        t = np.empty(len(before))
        # Free variables would get weights without bound, and drown the unit matrix they are added to.
        self.slightest = np.empty(len(before))
        for group, total in zip(groups, self.totals, strict=True):
            t[group] = total / (group.stop - group.start)
            self.slightest[group] = 1e-13 / (1.0 + total) ** 2
        self.room = np.stack([t, 1.0 - t])
        # Multipliers of the size of the scores, larger where a score calls for its bound.
        score = (self.f + columns @ t) @ columns
        for group in groups:
            score[group] -= score[group].mean()
        self.price = np.maximum(np.stack([score, -score]), 0.0)
        self.price += float(np.abs(score).mean()) + 1e-300

    @property
    def t(self) -> FloatArray:
        """The point that has been reached."""
        t: FloatArray = self.room[0]
        return t

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
        total = self.f + self.columns @ self.t
        ratio = self.price / self.room
        self.weight = 1.0 / (ratio[0] + ratio[1] + self.slightest)
        self.pull = self.price[1] - self.price[0]
        self.residual = self.pull + total @ self.columns
        self.mass, self.lack = [], []
        for group, wanted in zip(self.groups, self.totals, strict=True):
            weight = self.weight[group]
            mass = float(weight.sum()) + 1e-300
            # The multiplier of the group's sum is free and enters linearly: take the best for the residual.
            self.residual[group] -= float(weight @ self.residual[group]) / mass
            self.mass.append(mass)
            self.lack.append(wanted - float(self.t[group].sum()))
        error = float(np.abs(self.residual) @ np.minimum(self.room[0], self.room[1]))
        return float(np.vdot(self.price, self.room)), float(total @ total), error

    def _step(self, gap: float, careful: bool) -> float:
        """Take one predictor-corrector step; return its length as a share of the full one."""
        centred, shift = np.empty_like(self.columns), np.zeros(len(self.columns))
        for group, mass, lack in zip(self.groups, self.mass, self.lack, strict=True):
            mean = self.columns[:, group] @ self.weight[group] / mass
            np.subtract(self.columns[:, group], mean[:, None], out=centred[:, group])
            shift += lack * mean
        system = (centred * self.weight) @ centred.T
        system.flat[:: len(system) + 1] += 1.0
        factor, _ = dpotrf(system)
        trust, least = (0.0, 0.1) if careful else (1.0, 0.0)
        toward = self.pull - self.residual
        aim: FloatArray | float = 0.0  # the products of room and price aimed at, less their second-order terms
        for _ in range(2):  # the predictor, then the corrector with the predictor's products
            base = aim / self.room
            step = toward + base[0] - base[1]
            for group, mass, lack in zip(self.groups, self.mass, self.lack, strict=True):
                # With the group's mean taken out, centred columns may stand in for the columns.
                step[group] += (lack - float(self.weight[group] @ step[group])) / mass
            step *= self.weight
            move, _ = dpotrs(factor, shift + centred @ step)
            step -= self.weight * (move @ centred)
            d_room = np.stack([step, -step])
            relative = d_room / self.room
            d_price = base - self.price - self.price * relative
            fall = max(-float(relative.min()), -float((d_price / self.price).min()), 1e-300)
            length = min(1.0, 1.0 / fall)
            second = d_room * d_price
            ratio = max(1.0 - length + length * length * float(second.sum()) / gap, 0.0)
            aim = max(ratio**3, least) * gap / (2.0 * len(step)) - trust * second
        length = min(1.0, 0.995 / fall)
        self.room = np.maximum(self.room + length * d_room, 1e-30)
        self.price = np.maximum(self.price + length * d_price, 1e-150)
        return length
