"""The smooth stage of `nearest_points`: Newton's method on all points, with support functions rounded off."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._hull_gap import certified_gap, norm, support
from sepc.geometry._hull_kernels import spread

# Points read at a time, so that temporaries stay small.
CHUNK = 4096

# Rows from which the curvature is estimated, and how many more per feature.
_SCATTER_ROWS = 4000
_SCATTER_ROWS_PER_FEATURE = 400

# Factor by which the slabs narrow from one Newton step to the next.
_NARROWING = 0.2

# So few numbers may be copied for speed.
_SMALL = 300_000

# How many half-widths of its slab a point may be off the threshold and still count as undecided.
_NEAR = 2.0

_MAX_NEWTON_STEPS = 60


class Side:
    """One point set while its weights are sought.

    ``sign`` is -1 for A, whose weights go to the points lowest along the normal, and 1 for B. ``image`` is
    the weighted mean of the points relative to ``shift``.
    """

    def __init__(self, points: FloatArray, sign: float, cap: float, shift: FloatArray) -> None:
        if points.size <= _SMALL and shift.any():
            points, shift = points - shift, np.zeros_like(shift)
        self.points, self.sign, self.cap, self.shift = points, sign, cap, shift
        self.weights = np.zeros(len(points))
        self.image = np.zeros_like(shift)
        self.score = np.empty(len(points))
        self.step_score = np.empty(len(points))
        self.scatter = np.empty((len(shift), len(shift)))
        self.threshold = 0.0
        self.tau = 1.0
        self.n_slab = len(points)
        # For a side that is a part of another one: that one, which rows of it these are, how many caps of weight
        # they share, and what the weights of all its other rows add to the support function, as a normal.
        self.whole: tuple[Side, Rows] | None = None
        self.n_caps = 1.0 / cap
        self.settled = np.zeros_like(shift)

    def sample(self, n: int) -> "Side":
        """Return a strided sample of at least n points whose weights have the same room."""
        stride = max(len(self.points) // n, 1)
        points = np.ascontiguousarray(self.points[::stride])
        cap = min(max(self.cap * len(self.points) / len(points), 1.0 / len(points)), 1.0)
        return Side(points, self.sign, cap, self.shift)

    def _relative(self, rows: Rows) -> FloatArray:
        picked = self.points.take(rows, axis=0)
        return picked - self.shift if self.shift.any() else picked

    def near(self, reach: float) -> "Side":
        """Return the part within `reach` of the threshold, or itself if that is most of it: the rest is in or out."""
        away = self.score - self.threshold
        rows = np.flatnonzero(np.abs(away) <= reach)
        if 2 * len(rows) > len(away):
            return self
        part = Side(self._relative(rows), self.sign, self.cap, np.zeros_like(self.shift))
        part.whole = self, rows
        part.n_caps = self.n_caps - np.count_nonzero(away > reach)
        part.weights, part.score, part.image = self.weights[rows], self.score[rows], self.image
        part.settled = self.sign * (self.image - part.weights @ part.points)
        part.threshold, part.tau, part.n_slab, part.scatter = self.threshold, self.tau, self.n_slab, self.scatter
        return part

    def put_back(self) -> "Side":
        """Return the side that this is a part of, with this part's weights; itself if it is whole."""
        if self.whole is None:
            return self
        whole, rows = self.whole
        whole.weights[rows], whole.image, whole.n_slab = self.weights, self.image, self.n_slab
        return whole.put_back()

    def project(self, direction: FloatArray, out: FloatArray) -> None:
        """Set `out` to the scores of all points along `direction`."""
        direction = self.sign * direction
        if not self.shift.any():
            np.dot(self.points, direction, out=out)
            return
        for start in range(0, len(out), CHUNK):
            rows = slice(start, start + CHUNK)
            np.dot(self.points[rows] - self.shift, direction, out=out[rows])

    def follow(self, before: FloatArray, enough: int) -> int:
        """Bring `image` and `scatter` up to date with weights that were `before`; return how many rows were read.

        The scatter is that of the points in the slab, about their mean, estimated from about `enough` of them.
        """
        change = self.weights - before
        in_slab = (self.weights > 0.0) & (self.weights < self.cap)
        slab = in_slab.nonzero()[0]
        self.n_slab = len(slab)
        rows = (in_slab | (change != 0.0)).nonzero()[0]
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            self.image += change.take(some) @ self._relative(some)
        every = 1 + len(slab) // enough
        sample = self._relative(slab[::every])
        sample -= sample.sum(axis=0) / max(len(sample), 1)
        self.scatter = every * (sample.T @ sample)
        return len(rows)

    def spread(self, score: FloatArray) -> float:
        """Set smooth weights and the threshold from `score`; return the smooth support function."""
        self.threshold, reach, rounding = spread(score, self.tau, self.n_caps, self.threshold, self.weights)
        self.weights *= self.cap
        return self.cap * (reach - self.tau * rounding)


class Smooth:
    """Newton's method on the smooth dual problem, over the sides that are not pinned to their centroids.

    Minimises ``|w|^2 / 2 - w . fixed + (smooth support functions of the sides)``, whose gradient is w minus
    the difference r of the two weighted means: a pair of points of the two hulls at every step.
    """

    def __init__(self, sides: list[Side], fixed: FloatArray) -> None:
        self.sides, self.fixed = list(sides), fixed
        self.n_rows = sum(len(side.points) for side in sides)
        self.placed = [np.zeros_like(side.weights) for side in sides]
        self.passes = 0.0
        for side in sides:
            side.image[:] = 0.0

    def run(
        self,
        w: FloatArray,
        width: float,
        limit: int,
        flat: float,
        on_step: Callable[["Smooth"], None] | None = None,
    ) -> None:
        """Step and narrow from the normal `w` until the slabs hold `limit` points, or |r| <= `flat`."""
        self._start(w, width)
        self._newton(limit, flat, on_step)
        for side in self.sides:
            side.put_back()

    def _newton(self, limit: int, flat: float, on_step: Callable[["Smooth"], None] | None) -> None:
        # Points that tie stay in a slab however narrow; narrower than rounding it would have no threshold.
        largest = max(float(np.abs(side.score).max()) for side in self.sides)
        finest = max(1e-7 * self._relative_tau(), 1e-11 * largest / norm(self.w))
        factor, before, n_short = _NARROWING, 0.0, 0
        for _ in range(_MAX_NEWTON_STEPS):
            length = self._step()
            if on_step is not None:
                on_step(self)
            if norm(self.r) <= flat:
                return
            if length < 1.0:
                # Among few undecided points the smooth form has nothing more to tell.
                n_short += 1
                if n_short > 3 and self.n_undecided <= limit:
                    return
                continue
            size, n_short = norm(self.w), 0
            if (self.n_undecided <= limit and self._is_sharp()) or self._relative_tau() <= finest:
                return
            # A normal that shrinks as fast as the slabs is on its way to 0: the hulls meet.
            factor = _NARROWING**6 if size <= 1.2 * factor * before else _NARROWING
            before = size
            self._leave_out()
            self._narrow(factor)

    @property
    def n_undecided(self) -> int:
        """Number of points in the slabs: those with weights between the bounds."""
        return sum(side.n_slab for side in self.sides)

    @property
    def width(self) -> float:
        """Half-width of the wider slab, relative to the spread of the scores."""
        spreads = [(side.tau, _spread(side.score)) for side in self.sides]
        return max((tau / spread for tau, spread in spreads if spread > 0.0), default=1.0)

    def gap(self, data_range: float) -> float:
        """Return the certified gap of the pair of points; the direction that certifies it is the normal."""
        lower = float(self.w @ self.fixed) - sum(support(side.score, side.cap) for side in self.sides)
        return certified_gap(norm(self.r), lower / max(norm(self.w), 1e-300), data_range)

    def _is_sharp(self) -> bool:
        """Whether rounding off the support functions costs little of the distance."""
        cost = sum(side.tau * min(side.n_slab * side.cap, 1.0) for side in self.sides)
        return cost <= 0.1 * float(self.w @ self.w)

    def _relative_tau(self) -> float:
        return min(side.tau for side in self.sides) / max(norm(self.w), 1e-300)

    def _start(self, w: FloatArray, width: float) -> None:
        self.w = w
        for side in self.sides:
            side.project(w, side.score)
            side.threshold = float(side.score.mean())
            side.tau = width * _spread(side.score) + 1e-9 * float(np.abs(side.score).max()) + 1e-200
        self.passes += 1.0
        self._spread_all(0.0, self.w)
        self._differentiate()

    def _spread_all(self, length: float, w: FloatArray) -> tuple[float, float]:
        """Set the weights for the normal `w`, `length` steps ahead; return the value and its largest term."""
        terms = [0.5 * float(w @ w), -float(w @ self.fixed)]
        for side in self.sides:
            score = side.score if length == 0.0 else side.score + length * side.step_score
            terms.append(side.spread(score) + float(w @ side.settled))
        return sum(terms), max(map(abs, terms))

    def _differentiate(self) -> None:
        """Bring the pair of points and the derivatives up to date with the weights."""
        self.r = self.fixed.copy()
        enough = _SCATTER_ROWS + _SCATTER_ROWS_PER_FEATURE * len(self.r)
        read = 0
        for side, placed in zip(self.sides, self.placed, strict=True):
            rows = side.follow(placed, enough)
            read += rows
            placed[:] = side.weights
            self.r -= side.sign * side.image
        self.passes += read / self.n_rows

    def _leave_out(self) -> None:
        """Go on with the points near the thresholds. Whether that was right shows when all are read again."""
        for i, side in enumerate(self.sides):
            self.sides[i] = side.near(_NEAR * side.tau)
            if self.sides[i] is not side:
                self.placed[i] = self.sides[i].weights.copy()

    def _narrow(self, factor: float) -> None:
        """Shrink the slabs. Where the hulls meet, the normal shrinks with them: take that guess if better."""
        for side in self.sides:
            side.tau *= factor
        shrunk = self._scaled(factor)
        if self._scaled(1.0 / factor) <= shrunk:
            self._differentiate()
        else:  # the weights, and all that follows from them, are as before
            self._scaled(factor)

    def _scaled(self, factor: float) -> float:
        self.w = factor * self.w
        for side in self.sides:
            side.score *= factor
            side.threshold *= factor
        return self._spread_all(0.0, self.w)[0]

    def _step(self) -> float:
        """Take one damped Newton step; return its length as a share of the full one."""
        gradient = self.w - self.r
        hessian = np.eye(len(self.w))
        for side in self.sides:
            hessian += side.cap / (2.0 * side.tau) * side.scatter
        _, direction, failure = dposv(hessian, -gradient, lower=True)
        if failure:  # rounding has eaten the unit matrix
            direction = -gradient
        slope = float(gradient @ direction)
        value, size = self._spread_all(0.0, self.w)
        for side in self.sides:
            side.project(direction, side.step_score)
        self.passes += 1.0
        length = 1.0
        for _ in range(12):
            if self._spread_all(length, self.w + length * direction)[0] <= value + 1e-4 * length * slope + 1e-14 * size:
                break
            length *= 0.4
        self.w = self.w + length * direction
        for side in self.sides:
            side.score += length * side.step_score
        self._differentiate()
        return length


def by_column(fold: np.ufunc, points: FloatArray) -> FloatArray:
    """Reduce each column. Rows are taken 32 at a time: NumPy is slow along short rows."""
    n, d = points.shape
    whole = n // 32 * 32
    parts: FloatArray = points[whole:]
    if whole:
        folded = fold.reduce(points[:whole].reshape(-1, 32 * d), axis=0).reshape(32, d)
        parts = np.concatenate([folded, parts])
    result: FloatArray = fold.reduce(parts, axis=0)
    return result


def _spread(score: FloatArray) -> float:
    return float(np.abs(score - score.mean()).mean())
