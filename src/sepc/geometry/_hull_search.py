"""The search behind `nearest_points`: a smooth stage on all points, an exact one on the few that are undecided."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs

from sepc.geometry._checks import FloatArray

# Hulls nearer to each other than this share of the data's range meet.
MEETING_TOLERANCE = 1e-8

# Up to this many points the exact solver takes them all: sorting out which matter would cost more.
_FEW = 600

# Rows of a strided sample on which the first normal is found, and how many more per feature.
_SAMPLE = 2000
_SAMPLE_PER_FEATURE = 60

# Rows from which the curvature of the smooth stage is estimated, and how many more per feature.
_SCATTER_ROWS = 4000
_SCATTER_ROWS_PER_FEATURE = 400

# Points read at a time, so that temporaries stay small.
_CHUNK = 4096

# The smooth stage ends when at most this many points, plus some per feature, are neither in nor out.
_SLAB = 40
_SLAB_PER_FEATURE = 4

# Shares of the cap this near to 0 or 1 are rounding: such a weight is on its bound.
_HAIR = 1e-9

# Factor by which the slabs of the smooth stage narrow from one Newton step to the next.
_NARROWING = 0.2

_MAX_NEWTON_STEPS = 60
_MAX_ROUNDS = 100
_MAX_BOX_STEPS = 80

StepCallback = Callable[[int, float], None]


def norm(vector: FloatArray) -> float:
    return float(np.sqrt(vector @ vector))


def certified_gap(distance: float, lower: float, data_range: float) -> float:
    """Return the certified gap of a pair at this distance where no pair is nearer than `lower`."""
    if distance == 0.0:
        return 0.0
    gap = max((distance - lower) / distance, 0.0)
    if distance <= MEETING_TOLERANCE * data_range:
        return min(gap, distance / data_range)
    return gap


def support(score: FloatArray, cap: float) -> float:
    """Return the largest weighted mean of `score`, shape (n,), with weights of at most `cap` and sum 1."""
    n = len(score)
    full = min(int(1.0 / cap + 1e-9), n - 1)
    ordered = np.partition(score, n - full - 1)
    threshold = float(ordered[n - full - 1])
    return threshold + cap * float((ordered[n - full :] - threshold).sum())


class _Side:
    """One point set while its weights are sought.

    ``sign`` is -1 for A, whose weights go to the points lowest along the normal, and 1 for B. ``image`` is
    the weighted mean of the points relative to ``shift``.
    """

    def __init__(self, points: FloatArray, sign: float, cap: float, shift: FloatArray) -> None:
        self.points, self.sign, self.cap, self.shift = points, sign, cap, shift
        self.weights = np.zeros(len(points))
        self.image = np.zeros_like(shift)
        self.score = np.empty(len(points))
        self.step_score = np.empty(len(points))
        self.scatter = np.empty((len(shift), len(shift)))
        self.threshold = 0.0
        self.tau = 1.0
        self.n_slab = len(points)

    def sample(self, n: int) -> "_Side":
        """Return a strided sample of at least n points whose weights have the same room."""
        stride = max(len(self.points) // n, 1)
        points = np.ascontiguousarray(self.points[::stride])
        cap = min(max(self.cap * len(self.points) / len(points), 1.0 / len(points)), 1.0)
        return _Side(points, self.sign, cap, self.shift)

    def project(self, direction: FloatArray, out: FloatArray) -> None:
        """Set `out` to the scores of all points along `direction`."""
        direction = self.sign * direction
        for start in range(0, len(out), _CHUNK):
            rows = slice(start, start + _CHUNK)
            np.dot(self.points[rows] - self.shift, direction, out=out[rows])

    def follow(self, before: FloatArray, enough: int) -> int:
        """Bring `image` and `scatter` up to date with weights that were `before`; return how many rows were read.

        The scatter is that of the points in the slab, about their mean, estimated from about `enough` of them.
        """
        change = self.weights - before
        in_slab = (self.weights > 0.0) & (self.weights < self.cap)
        rows = np.flatnonzero(in_slab | (change != 0.0))
        slab = np.flatnonzero(in_slab)
        self.n_slab = len(slab)
        for start in range(0, len(rows), _CHUNK):
            some = rows[start : start + _CHUNK]
            self.image += change[some] @ (self.points[some] - self.shift)
        every = 1 + len(slab) // enough
        sample = self.points[slab[::every]] - self.shift
        sample -= sample.mean(axis=0) if len(sample) else 0.0
        self.scatter = every * (sample.T @ sample)
        return len(rows)

    def spread(self, score: FloatArray) -> float:
        """Set smooth weights and the threshold from `score`; return the smooth support function."""
        self.threshold = _threshold(score, self.tau, 1.0 / self.cap, self.threshold)
        share = _shares(score, self.tau, self.threshold)
        inside = (share > 0.0) & (share < 1.0)
        # What rounding of the threshold leaves of the sum goes to the points inside.
        share[inside] += (1.0 / self.cap - share.sum()) / max(np.count_nonzero(inside), 1)
        np.clip(share, 0.0, 1.0, out=share)
        np.multiply(share, self.cap, out=self.weights)
        share -= 0.5
        return float(score @ self.weights - self.tau * self.cap * (share @ share))


class _Smooth:
    """Newton's method on the smooth dual problem, over the sides that are not pinned to their centroids.

    Minimises ``|w|^2 / 2 - w . fixed + (smooth support functions of the sides)``, whose gradient is w minus
    the difference r of the two weighted means: a pair of points of the two hulls at every step.
    """

    def __init__(self, sides: list[_Side], fixed: FloatArray) -> None:
        self.sides, self.fixed = sides, fixed
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
        on_step: Callable[["_Smooth"], None] | None = None,
    ) -> None:
        """Step and narrow from the normal `w` until the slabs hold `limit` points, or |r| <= `flat`."""
        self._start(w, width)
        # Points that tie stay in a slab however narrow; narrower than rounding it would have no threshold.
        largest = max(float(np.abs(side.score).max()) for side in self.sides)
        finest = max(1e-7 * self._relative_tau(), 1e-11 * largest / norm(w))
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
            terms.append(side.spread(score))
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


def _shares(score: FloatArray, tau: float, threshold: float) -> FloatArray:
    """Return 0 below the slab around the threshold, 1 above it, and what lies between inside of it."""
    share: FloatArray = (score - threshold) * (0.5 / tau) + 0.5
    np.clip(share, 0.0, 1.0, out=share)
    return share


def _threshold(score: FloatArray, tau: float, wanted: float, guess: float) -> float:
    """Return the threshold at which the shares sum to `wanted`.

    Newton's method on a piecewise linear function, kept inside a bracket. Points that are beyond the slab wherever in
    the bracket the threshold is are counted once and then left out.
    """
    low, high = float(score.min()) - tau, float(score.max()) + tau
    at = min(max(guess, low), high)
    full, rest, ranked = 0.0, score, False
    for _ in range(100):
        share = _shares(rest, tau, at)
        excess = full + float(share.sum()) - wanted
        if abs(excess) <= 1e-12 * wanted:
            break
        low, high = (at, high) if excess > 0.0 else (low, at)
        inside = np.count_nonzero((share > 0.0) & (share < 1.0))
        following = at + 2.0 * tau * excess / inside if inside else np.inf
        if not low < following < high and not ranked:
            # Without a slab the threshold would be the score of this rank.
            ranked, rank = True, min(int(wanted), len(score) - 1)
            following = float(np.partition(score, len(score) - 1 - rank)[len(score) - 1 - rank])
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == at:
            break
        at = following
        open_still = (rest > low - tau) & (rest < high + tau)
        if 2 * np.count_nonzero(open_still) < len(rest):
            full += np.count_nonzero(rest >= high + tau)
            rest = rest[open_still]
    return at


def _by_column(fold: np.ufunc, points: FloatArray) -> FloatArray:
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
            _Side(points_a, -1.0, caps[0], self.shift),
            _Side(points_b, 1.0, caps[1], self.shift),
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
        np.minimum(self.low, _by_column(np.minimum, points), out=self.low)
        np.maximum(self.high, _by_column(np.maximum, points), out=self.high)
        total = np.zeros(points.shape[1])
        for start in range(0, len(points), _CHUNK):
            total += _by_column(np.add, points[start : start + _CHUNK] - points[0])
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
            trial = _Smooth([side.sample(n_sample) for side in self.free], fixed)
            trial.run(w, width, limit, 1e-3 * self.unit)
            w, width = trial.w, max(trial.width, 1.5 * np.sqrt(d / n_sample))
        smooth = _Smooth(self.free, fixed)
        smooth.run(w, width, limit, 0.1 * self.tol * self.unit, self._after_newton_step)
        self.n_passes += smooth.passes
        for side in self.free:
            total = float(side.weights.sum())
            side.image /= total
            np.minimum(side.weights / total, side.cap, out=side.weights)
        if smooth.n_undecided > limit:  # the hulls meet, or points tie: there may be nothing left to do
            self._measure()
        else:
            self.normal = self.sides[0].image - self.sides[1].image
        return limit

    def _after_newton_step(self, smooth: _Smooth) -> None:
        self.n_iter += 1
        if self.on_step is not None:
            self.on_step(self.n_iter, smooth.gap(self.unit))

    def _measure(self) -> None:
        """Compute the pair's normal, its scores and the certified gap."""
        r = self.sides[0].image - self.sides[1].image
        self.data_range = self._range()
        distance = norm(r)
        self.normal, self.gap = r, self._gap_along(r, distance)
        # Rounding moves r by an ulp of the range, and the gap by that over the square of the distance.
        if self.tol < self.gap < 1.0 and 1e-14 * self.data_range**2 > self.tol * distance**2:
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

    def _undecided(self, side: _Side, share: int) -> Any:
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
        after, n_iter = _solve_box(columns, groups, before, r, self.tol)
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


def _solve_box(
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
        for iteration in range(_MAX_BOX_STEPS):
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
        return _MAX_BOX_STEPS

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


def _settle(t: FloatArray, total: float) -> None:
    """Repair the rounding of `t`: entries between 0 and 1 of sum `total`."""
    np.clip(t, 0.0, 1.0, out=t)
    free = np.flatnonzero((t > _HAIR) & (t < 1.0 - _HAIR))
    for _ in range(2):
        t[free] = np.clip(t[free] + (total - t.sum()) / max(len(free), 1), 0.0, 1.0)
