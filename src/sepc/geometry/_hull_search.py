"""The search behind `nearest_points`: a smooth stage on all points, an exact one on the few that are undecided."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sepc.geometry._box_problem import solve_box
from sepc.geometry._checks import FloatArray
from sepc.geometry._hull_gap import MEETING_TOLERANCE, certified_gap, norm, support
from sepc.geometry._smooth_hulls import CHUNK, Side, Smooth, by_column

# Up to this many points the exact solver takes them all: sorting out which matter would cost more.
_FEW = 600

# Rows of a strided sample on which the first normal is found, and how many more per feature.
_SAMPLE = 500
_SAMPLE_PER_FEATURE = 50

# The smooth stage ends when at most this many points, plus some per feature, are neither in nor out.
_SLAB = 40
_SLAB_PER_FEATURE = 4

# Shares of the cap this near to 0 or 1 are rounding: such a weight is on its bound.
_HAIR = 1e-9

_MAX_ROUNDS = 100
StepCallback = Callable[[int, float], None]


class Search:
    """The state of one search: two sides, the pair of points they give, and its certified gap."""

    def __init__(
        self,
        points_a: FloatArray,
        points_b: FloatArray,
        caps: tuple[float, float],
        tol: float,
        on_step: StepCallback | None,
    ) -> None:
        self.tol, self.on_step = tol, on_step
        d = points_a.shape[1]
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)
        offsets = [self._read(points) for points in (points_a, points_b)]
        shifted = 0 if len(points_a) < len(points_b) else 1
        firsts = points_a[0], points_b[0]
        self.shift = firsts[shifted] + offsets[shifted]
        self.sides = [
            Side(points_a, -1.0, caps[0], self.shift),
            Side(points_b, 1.0, caps[1], self.shift),
        ]
        self.free = []
        self.normal = np.zeros(d)
        for side, first, offset in zip(self.sides, firsts, offsets, strict=True):
            side.image[:] = (first - self.shift) + offset
            side.weights[:] = 1.0 / len(side.weights)
            if side.cap * len(side.weights) > 1.0 + 1e-12:
                self.free.append(side)
        # The range depends on c only within a factor of two; the solver's own unit need not be exact.
        self.unit = float((self.high - self.low).max())
        self.n_rows = sum(len(side.points) for side in self.free)
        self.n_iter, self.n_passes, self.gap = 0, 0.0, 0.0 if not self.free else np.inf

    def _read(self, points: FloatArray) -> FloatArray:
        """Widen the box to hold `points`; return their mean relative to the first."""
        np.minimum(self.low, by_column(np.minimum, points), out=self.low)
        np.maximum(self.high, by_column(np.maximum, points), out=self.high)
        total = np.zeros(points.shape[1])
        for start in range(0, len(points), CHUNK):
            total += by_column(np.add, points[start : start + CHUNK] - points[0])
        total /= len(points)
        return total

    def run(self) -> None:
        """Bring the gap below the tolerance, or as far down as rounding allows."""
        self.normal = self.sides[0].image - self.sides[1].image
        self.data_range = self._range()
        distance = norm(self.normal)
        if distance <= min(self.tol, MEETING_TOLERANCE) * self.data_range:
            self.gap = certified_gap(distance, 0.0, self.data_range)
        if not self.free or self.gap <= self.tol:
            return
        share = self.n_rows
        if self.n_rows > _FEW:
            share = self._smooth_stage()
            if self.gap <= self.tol:
                self._report()
                return
        for _ in range(_MAX_ROUNDS):
            previous = self.gap
            everything = 2 * share >= max(len(side.points) for side in self.free)
            self._round(share)
            self._report()
            if self.gap <= self.tol or (everything and self.gap > 0.5 * previous):
                return
            if self.gap > 0.1 * previous:
                share *= 3

    def _round(self, share: int) -> None:
        """Solve for the undecided points, judge the result, and take it back if rounding made it worse."""
        before = self.normal, self.gap, [(side.weights.copy(), side.image.copy()) for side in self.free]
        self._solve_among([self._undecided(side, share) for side in self.free])
        self._measure()
        if self.gap > before[1]:
            self.normal, self.gap = before[:2]
            for side, (weights, image) in zip(self.free, before[2], strict=True):
                side.weights, side.image = weights, image
            self.data_range = self._range()

    def _report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def _smooth_stage(self) -> int:
        """Find a good normal and few undecided points; return how many to give to the exact solver."""
        d = len(self.shift)
        limit = _SLAB + _SLAB_PER_FEATURE * d
        fixed = self.normal.copy()
        for side in self.free:
            fixed += side.sign * side.image
        w, width = self.normal, 1.0
        n_sample = _SAMPLE + _SAMPLE_PER_FEATURE * d
        if max(len(side.points) for side in self.free) > 3 * n_sample:
            trial = Smooth([side.sample(n_sample) for side in self.free], fixed)
            trial.run(w, width, limit, 1e-3 * self.unit)
            w, width = trial.w, max(trial.width, 1.5 * np.sqrt(d / n_sample))
        smooth = Smooth(self.free, fixed)
        smooth.run(w, width, limit, 0.1 * self.tol * self.unit, self._after_newton_step)
        self.n_passes += smooth.passes
        for side in self.free:
            total = float(side.weights.sum())
            side.image /= total
            np.minimum(side.weights / total, side.cap, out=side.weights)
        self._measure(exact=False)
        return limit

    def _after_newton_step(self, smooth: Smooth) -> None:
        self.n_iter += 1
        if self.on_step is not None:
            self.on_step(self.n_iter, smooth.gap(self.unit))

    def _measure(self, exact: bool = True) -> None:
        """Compute the pair's normal, its scores and the certified gap, of weights that are `exact` up to rounding."""
        r = self.sides[0].image - self.sides[1].image
        self.data_range = self._range()
        distance = norm(r)
        self.normal, self.gap = r, self._gap_along(r, distance)
        # Rounding moves r by an ulp of the range, and the gap by that over the square of the distance.
        if exact and self.tol < self.gap < 1.0 and 1e-14 * self.data_range**2 > self.tol * distance**2:
            cleaned = self._cleaned(r)
            gap = self._gap_along(cleaned, distance)
            if gap < self.gap:
                self.normal, self.gap = cleaned, gap
            else:
                self._gap_along(r, distance)

    def _gap_along(self, direction: FloatArray, distance: float) -> float:
        """Return the gap that the direction certifies; its scores stay with the sides."""
        lower = 0.0
        for side in self.sides:
            if side in self.free:
                side.project(direction, side.score)
                lower -= support(side.score, side.cap)
            else:
                lower -= side.sign * float(side.image @ direction)
        self.n_passes += 1.0
        return certified_gap(distance, lower / max(norm(direction), 1e-300), self.data_range)

    def _cleaned(self, r: FloatArray) -> FloatArray:
        """Return r without its components along differences of undecided points, which the optimum has not.

        They are rounding. Where the hulls all but touch, they would be what the certificate sees first.
        """
        blocks = []
        for side in self.free:
            inside = (side.weights > _HAIR * side.cap) & (side.weights < (1.0 - _HAIR) * side.cap)
            if 1 < np.count_nonzero(inside) <= _FEW:
                block = side.points[inside] - side.shift
                blocks.append(block - block.mean(axis=0))
        if not blocks:
            return r
        _, size, axes = np.linalg.svd(np.concatenate(blocks), full_matrices=False)
        axes = axes[size > 1e-10 * size[0]]
        for _ in range(2):  # the second time for what rounding left of the first
            r = r - (axes @ r) @ axes
        return r

    def _range(self) -> float:
        c = self.shift + self.sides[0].image
        return float(max((self.high - c).max(), (c - self.low).max()))

    def _undecided(self, side: Side, share: int) -> Any:
        """Return the points whose weights may have to change.

        These are the points with weights between the bounds, the `share` worst of those with some weight and
        the `share` best of those with room for more: they are next to the threshold, or on its wrong side.
        """
        if 2 * share >= len(side.points):
            return slice(None)
        hair = _HAIR * side.cap
        inside, outside = side.weights > hair, side.weights < side.cap - hair
        chosen = inside & outside
        for candidates, ranked in ((inside, side.score), (outside, -side.score)):
            rows = np.flatnonzero(candidates)
            if len(rows) > share:
                rows = rows[np.argpartition(ranked[rows], share)[:share]]
            chosen[rows] = True
        return np.flatnonzero(chosen)

    def _solve_among(self, chosen: list[Any]) -> None:
        """Find the best weights of the chosen points, all others kept as they are."""
        picks, shares = [], []
        for side, pick in zip(self.free, chosen, strict=True):
            share = side.weights[pick] / side.cap
            # Where all are in, or all out, there is nothing to decide.
            some = 1e-9 < share.sum() < len(share) - 1e-9
            picks.append(pick if some else slice(0, 0))
            shares.append(share if some else share[:0])
        groups = _groups([len(share) for share in shares])
        before = np.concatenate(shares)
        if not len(before):
            return
        columns = np.empty((len(self.shift), len(before)))
        for side, pick, group in zip(self.free, picks, groups, strict=False):
            block = side.points[pick] - side.shift
            block *= -side.sign * side.cap / self.unit
            columns[:, group] = block.T
        r = (self.sides[0].image - self.sides[1].image) / self.unit
        after, n_iter = solve_box(columns, groups, before, r, self.tol)
        self.n_iter += n_iter
        for side, pick, group in zip(self.free, picks, groups, strict=False):
            _settle(after[group], float(before[group].sum()))
            side.weights[pick] = np.minimum(after[group] * side.cap, side.cap)
            change = columns[:, group] @ (after[group] - before[group])
            side.image -= side.sign * self.unit * change


def _groups(sizes: list[int]) -> list[slice]:
    """Return two slices, one after the other, of the given sizes; the second is empty if none is given."""
    n = sum(sizes)
    return [slice(0, sizes[0]), slice(sizes[0], n)]


def _settle(t: FloatArray, total: float) -> None:
    """Repair the rounding of `t`: entries between 0 and 1 of sum `total`."""
    np.clip(t, 0.0, 1.0, out=t)
    free = np.flatnonzero((t > _HAIR) & (t < 1.0 - _HAIR))
    for _ in range(2):
        t[free] = np.clip(t[free] + (total - t.sum()) / max(len(free), 1), 0.0, 1.0)
