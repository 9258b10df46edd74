"""The nearest points of reduced hulls of sets that are not in memory.

The dual problem is that of `smooth_hulls`: its value, gradient and Hessian are sums over all points, one pass each.
Newton's method on these sums, from the solution for a sample on, finds the normal; or it finds that the hulls meet.
Then the points near the thresholds come into memory, where the problem is solved exactly with all others settled. A
pass over all points certifies the result, exactly, and brings in what is near the new thresholds.
"""

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry._hulls.hull_gap import MEETING_TOLERANCE, certified_gap, largest_sum, norm
from sepc.geometry._hulls.hull_kernels import TAU, THRESHOLD
from sepc.geometry._hulls.hull_rounding import is_far
from sepc.geometry._hulls.hull_search import CLOSE, Search, StepCallback
from sepc.geometry._hulls.hull_side import Side
from sepc.geometry._hulls.slabs import half_width
from sepc.geometry._hulls.smooth_hulls import Undecided
from sepc.geometry.points.queries import Slab, Window
from sepc.geometry.points.sets import Points, bounds_of

# A sample, then all points: numbers in a sample of one side. The slab that it leaves is this wide: so many times the
# square root of its points, the noise of its threshold.
_SAMPLE = 1 << 19
_NOISE = 10.0

# Newton's method on sums over all points (`_newton`). It goes on until the gradient is this share of r, or for so many
# passes. The smaller shares are for points far out that a small turn of the normal takes from one side of the threshold
# to the other, past every window.
_ROUGHLY = 0.5, 1e-2, 1e-6
_MAX_PASSES = 60
# What the shares of a point inside of a slab may lack.
_LACK = 1e-6
_NARROWING = 0.2
# A normal that shrinks as the slabs do, up to this share, says that the hulls meet.
_ALIKE = 0.1

# Points near the thresholds, in memory (`_settle`): numbers of one side that come there at a time; where the first of
# the shares above was in vain, so many times as many.
_WINDOW = 1 << 21
_WIDER_WINDOWS = 4
# So many half-widths off the threshold a point may be, and come into memory.
_NEAR = 3.0
# By how much windows widen when they have missed points.
_WIDER = 3.0
_MAX_ROUNDS = 15
# Two rounds that leave more than this of the gap are in vain.
_STALLED = 0.5

# A window beside the threshold is followed by one so many times as wide; so is a slab in which no step is possible.
_WIDENING = 4.0
_MAX_WINDOWS = 60


@dataclass(eq=False, slots=True)
class _ScatteredSide:
    """One of the two sets: what is known of it, and where along the normal its weights end."""

    points: Points
    sign: float
    cap: float
    mean: FloatArray
    threshold: float = 0.0
    tau: float = 0.0
    ends: tuple[float, float] = (-np.inf, np.inf)  # of the last window

    @property
    def n_caps(self) -> float:
        return 1.0 / self.cap

    def cap_of_sample(self, n: int) -> float:
        """Return the cap that gives a sample of n points the same room."""
        return min(max(self.cap * len(self.points) / n, 1.0 / n), 1.0)

    def narrow(self, factor: float, n_inside: int, shrinks: bool) -> None:
        """Narrow the slab, which the normal does as well if it shrinks."""
        if shrinks:
            self.threshold *= factor
        else:
            # Where few points have all the weight, they are near the lower end of the slab, and so stay inside.
            self.threshold -= (1.0 - factor) * self.tau * (1.0 - 2.0 * min(self.n_caps / max(n_inside, 1), 0.5))
        self.tau *= factor

    @property
    def n_others(self) -> float:
        return len(self.points) - self.n_caps

    @property
    def is_free(self) -> bool:
        return self.cap * len(self.points) > 1.0 + 1e-12


class _Pair(NamedTuple):
    """A point of each hull, how good they are, and the normal between them."""

    images: list[FloatArray]
    gap: float
    normal: FloatArray


class ScatteredSearch:
    """The state of one search; the attributes are those of `Search`."""

    def __init__(
        self, a: Points, b: Points, caps: tuple[float, float], tol: float, on_step: StepCallback | None
    ) -> None:
        self.tol, self.on_step = tol, on_step
        extents = a.extent, b.extent
        self.low, self.high = bounds_of(extents)
        self.unit = float((self.high - self.low).max())
        smaller = extents[0] if len(a) < len(b) else extents[1]
        self.shift = smaller.mean if is_far(self.low, self.high) else np.zeros_like(smaller.mean)
        self.sides = [
            _ScatteredSide(points, sign, cap, extent.mean_from(self.shift))
            for points, sign, cap, extent in zip((a, b), (-1.0, 1.0), caps, extents, strict=True)
        ]
        self.images = [side.mean for side in self.sides]
        self.normal = self._difference()
        self.free = [side for side in self.sides if side.is_free]
        # What r is without the weights of the free sides.
        self.fixed = -sum((s.sign * s.mean for s in self.sides if not s.is_free), np.zeros_like(self.shift))
        self.n_iter, self.n_passes, self.gap = 0, 1.0, 0.0 if not self.free else np.inf
        # Numbers of one side that come into memory at a time.
        self._window_size = min([_WINDOW, *(side.points.window_size for side in self.free)])

    def _difference(self) -> FloatArray:
        return self.images[0] - self.images[1]

    @property
    def data_range(self) -> float:
        """The largest distance of a coordinate from the point of A's hull."""
        c = self.shift + self.images[0]
        return float(max((self.high - c).max(), (c - self.low).max()))

    def run(self) -> None:
        """Bring the gap below the tolerance, or as far down as rounding allows."""
        distance = norm(self._difference())
        if distance <= min(self.tol, MEETING_TOLERANCE) * self.data_range:
            self.gap = certified_gap(distance, 0.0, self.data_range)
        if not self.free or self.gap <= self.tol:
            return
        w = self._from_sample()
        best = _Pair(self.images, self.gap, self.normal)
        for i, roughly in enumerate(_ROUGHLY):
            if i == 1:
                self._window_size = min(_WINDOW, _WIDER_WINDOWS * self._window_size)
            w = self._newton(w, roughly)
            if norm(self._difference()) <= self._flat:
                return
            found = self._settle(w)
            best = min(best, found, key=lambda pair: pair.gap)
            self.images, self.gap, self.normal = best
            if self.gap <= self.tol:
                return

    @property
    def _flat(self) -> float:
        """Distance from which on nothing needs to be gained: the hulls meet."""
        return 0.1 * self.tol * self.unit

    def _report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def _from_sample(self) -> FloatArray:
        """Return the normal of samples, and set the thresholds and the widths of the slabs that they leave."""
        n = min(_SAMPLE, *(side.points.sample_size for side in self.free)) // len(self.shift)
        blocks = [side.sign * (side.points.sample(n) - self.shift) for side in self.free]
        caps = [side.cap_of_sample(len(x)) for side, x in zip(self.free, blocks, strict=True)]
        shares = [np.full(len(x), 1.0 / cap / len(x)) for x, cap in zip(blocks, caps, strict=True)]
        columns = np.ascontiguousarray(np.concatenate(blocks).T)
        sample = Undecided(columns, caps, shares, self.fixed)
        sample.start(self._difference(), 1.0)
        sample.narrow(int(_NOISE * sqrt(sum(map(len, blocks)))), CLOSE * self.unit)
        self.n_iter += sample.n_steps
        for side, found, x in zip(self.free, sample.per_side, blocks, strict=True):
            # Points that tie are no reason for a slab without width.
            least = half_width(x @ sample.w, 1e-6)
            side.threshold, side.tau = float(found[THRESHOLD]), max(float(found[TAU]), least)
        return sample.w

    def _newton(self, w: FloatArray, roughly: float) -> FloatArray:
        """Return the normal for all points, with slabs narrow enough for what they hold to come into memory.

        Where the hulls meet, the normal shrinks with the slabs, and so do the two points' distance and this search.
        """
        last = good = self._at(w)
        length, factor, before, n_inside = 1.0, _NARROWING, np.inf, np.inf
        # The hulls of the samples are inside of the others: where they all but meet, these do.
        shrinks = norm(w) <= CLOSE * self.unit
        for _ in range(_MAX_PASSES):
            if length < 1.0 or not last.is_solved(roughly):
                last, length = self._step(last)
                if length == 0.0 and good.is_solved(roughly):
                    break
                if length == 0.0:  # too narrow for where it is
                    for side in self.free:
                        side.tau *= _WIDENING
                    last = self._at(last.w)
                continue
            good = last
            if last.distance <= self._flat:
                break
            few = last.n_inside * len(self.shift) * _NEAR <= self._window_size
            tie = last.n_inside > 0.5 * n_inside
            if (few or tie) and last.lower > 0.5 * last.distance:
                break
            n_inside = last.n_inside
            shrinks = shrinks if before == np.inf else last.distance <= 0.5 * before
            # Where the hulls meet, the normal shrinks with the slabs: the better it does, the faster they may narrow.
            meet = abs(last.distance / before - factor) <= _ALIKE * factor
            factor = max(factor**3, 0.5 * self._flat / last.distance) if meet else _NARROWING
            before = last.distance
            if last.lower > 0.0 and not few:
                factor = min(factor, 0.5 * self._window_size / (last.n_inside * len(self.shift) * _NEAR))
            for side in self.free:
                side.narrow(factor, last.n_inside, shrinks)
            if min(side.tau for side in self.free) < 1e-13 * max(abs(s.threshold) + s.tau for s in self.free):
                break
            last = self._at(factor * last.w if shrinks else last.w)
        self._take(good)
        return good.w

    def _step(self, last: "_Sums") -> tuple["_Sums", float]:
        """Take a Newton step, as long a part of it as lowers the value; return what is there, and the part."""
        thresholds = [side.threshold for side in self.free]
        move = last.direction()
        d = len(self.shift)
        length = 1.0
        while length > 1e-3:
            for side, at, change in zip(self.free, thresholds, move[d:].tolist(), strict=True):
                side.threshold = at + length * change
            found = self._at(last.w + length * move[:d])
            if found.value <= last.value + 1e-4 * length * last.slope(move) + 1e-13 * last.size:
                self.n_iter += 1
                return found, length
            length *= 0.3
        for side, at in zip(self.free, thresholds, strict=True):
            side.threshold = at
        return last, 0.0

    def _at(self, w: FloatArray) -> "_Sums":
        """Read all points: value and derivatives at a normal and the present thresholds and slabs."""
        slabs = [side.points.slab(self.shift, side.sign * w, side.threshold, side.tau) for side in self.free]
        self.n_passes += 1.0
        found = _Sums(w, self.free, slabs, self.fixed)
        self._report()
        return found

    def _take(self, found: "_Sums") -> None:
        """Go back to these slabs; make the pair of points that their shares give the present one."""
        self.n_inside = found.n_inside
        for side, (threshold, tau) in zip(self.free, found.slabs, strict=True):
            side.threshold, side.tau = threshold, tau
        if found.lack > _LACK:
            return
        for side, image in zip(self.free, found.images, strict=True):
            self.images[self.sides.index(side)] = image
        self.normal = self._difference()
        self.gap = certified_gap(norm(self.normal), found.lower, self.data_range)

    def _settle(self, w: FloatArray) -> "_Pair":
        """Solve for the points near the thresholds, read all points to see how good that is, and again.

        Returns the best pair of points, and leaves the slabs as they were.
        """
        slabs = [(side.threshold, side.tau) for side in self.free]
        room = self._window_size / len(self.shift)
        widths = [side.tau * min(_NEAR, room / max(self.n_inside, 1)) for side in self.free]
        pools = windows = [self._window(side, w, width) for side, width in zip(self.free, widths, strict=True)]
        best, gaps = _Pair(self.images, self.gap, self.normal), [np.inf, np.inf, self.gap]
        while self.gap > self.tol and len(gaps) < _MAX_ROUNDS and gaps[-1] <= _STALLED * gaps[-3]:
            search = self._solved(pools)
            r = search.normal
            scale = norm(r) / max(norm(w), 1e-300)
            widths = [width * scale for width in widths]
            w = r
            for side, found in zip(self.sides, search.sides, strict=True):
                if side.is_free:
                    side.threshold = _threshold(found, r)
            self.images = [side.image for side in search.sides]
            del search, found  # they hold the points of the windows, which may be as large as the next ones
            windows = [self._window(side, r, width) for side, width in zip(self.free, widths, strict=True)]
            self.gap = self._certified(r, windows)
            self._report()
            if self.gap < best.gap:
                best = _Pair(self.images, self.gap, r)
                wider = 1.0
            else:
                wider = _WIDER
            # No wider than for what may come into memory.
            held = [max(len(window.points), 1) for window in windows]
            widths = [width * min(wider, room / n) for width, n in zip(widths, held, strict=True)]
            gaps.append(best.gap)
            pools = [self._pooled(*each, r) for each in zip(self.free, windows, pools, strict=True)]
        for side, (threshold, tau) in zip(self.free, slabs, strict=True):
            side.threshold, side.tau = threshold, tau
        return best

    def _pooled(self, side: _ScatteredSide, window: Window, pool: Window, r: FloatArray) -> Window:
        """Return the points of a window along r and those of a pool that are not in it: without them rounds may cycle.

        The window alone is returned where that would be too much, or rounding hides which points are in both.
        """
        away = pool.points - self.shift
        scores = away @ (side.sign * r)
        low, high = side.ends
        above = scores > high
        others = above | (scores < low)
        n = len(window.points) + np.count_nonzero(others)
        rounding = 1e-12 * float(np.abs(away).max()) * norm(r) * len(r)
        if n * len(r) > self._window_size or min(np.abs(scores - low).min(), np.abs(scores - high).min()) <= rounding:
            return window
        return Window(
            np.concatenate([window.points, pool.points[others]]),
            np.concatenate([window.scores, scores[others]]),
            window.n_above - int(np.count_nonzero(above)),
            window.above - away[above].sum(axis=0),
        )

    def _solved(self, windows: list[Window]) -> Search:
        """Return the search in memory, at its end, for the points in the windows."""
        by_side = dict(zip(map(id, self.free), windows, strict=True))
        sides = []
        for side in self.sides:
            held = by_side.get(id(side))
            if held is None:
                near = Side(np.zeros((1, len(self.shift))) + self.shift, side.sign, 1.0, self.shift)
                near.image = near.settled = side.mean
            else:
                n_caps = side.n_caps - held.n_above
                near = Side(held.points, side.sign, side.cap, self.shift, n_caps, side.cap * held.above)
                near.read_image()
            sides.append(near)
        search = Search(sides, self.shift, (self.low, self.high), self.tol, None, sharp=True)
        search.run()
        self.n_iter += search.n_iter
        return search

    def _window(self, side: _ScatteredSide, w: FloatArray, width: float) -> Window:
        """Return the points near the threshold: as many above it as have full weight, and some on both sides of it."""
        # A threshold at the edge of its set: towards the middle, beyond the slab, there would be far more points.
        below, above = (width / _NEAR if n < self.n_inside else width for n in (side.n_caps, side.n_others))
        low, high = side.threshold - below, side.threshold + above
        width = min(below, above) / _WIDENING
        # Ends that are known to be beyond the threshold, and how many points there are from the one to the other.
        bottom, top, n_from, n_above, share = -np.inf, np.inf, len(side.points), 0, 0.25
        for _ in range(_MAX_WINDOWS):
            found = self._read_window(side, w, low, high)
            n_high, n_low = found.n_above, found.n_above + len(found.points)
            if n_high <= side.n_caps - 1e-9 and n_low >= side.n_caps + 1e-9:
                side.threshold = 0.5 * (low + high)
                return found
            for at, n in ((low, n_low), (high, n_high)):
                if n >= side.n_caps + 1e-9 and at > bottom:
                    bottom, n_from = at, n
                elif n <= side.n_caps - 1e-9 and at < top:
                    top, n_above = at, n
            width *= _WIDENING
            if np.isinf(bottom):
                low, high = low - width, low if top == low else high
            elif np.isinf(top):
                low, high = high if bottom == high else low, high + width
            else:
                share *= 2.0
                part = min(share * self._window_size / len(self.shift) / max(n_from - n_above, 1), 1.0)
                # The middle, if the points between were spread evenly.
                middle = top - (side.n_caps - n_above) / (n_from - n_above) * (top - bottom)
                low = max(middle - part * (top - bottom), bottom)
                high = min(middle + part * (top - bottom), top)
        return self._read_window(side, w, bottom, top)

    def _read_window(self, side: _ScatteredSide, w: FloatArray, low: float, high: float) -> Window:
        self.n_passes += len(side.points) / sum(len(s.points) for s in self.free)
        side.ends = low, high
        return side.points.window(self.shift, side.sign * w, low, high)

    def _certified(self, r: FloatArray, windows: list[Window]) -> float:
        """Return the certified gap of the present pair along r, from windows along r that hold the thresholds."""
        lower = float(self.fixed @ r)
        for side, held in zip(self.free, windows, strict=True):
            beyond = side.cap * side.sign * float(held.above @ r)
            lower -= beyond + largest_sum(held.scores, side.cap, side.n_caps - held.n_above)
        return certified_gap(norm(self._difference()), lower / max(norm(r), 1e-300), self.data_range)


class _Sums:
    """Value and derivatives of the smooth dual at one point: a normal, and a threshold for each free side."""

    def __init__(self, w: FloatArray, sides: list[_ScatteredSide], slabs: list[Slab], fixed: FloatArray) -> None:
        d = len(w)
        self.w = w
        self.slabs = [(side.threshold, side.tau) for side in sides]
        self.gradient = np.concatenate([w - fixed, np.zeros(len(sides))])
        self.hessian = np.eye(d + len(sides))
        self.value = 0.5 * float(w @ w) - float(w @ fixed)
        self.size = abs(self.value) + float(w @ w)
        self.images, self.lack, self.n_inside, support = [], 0.0, 0, 0.0
        for k, (side, slab) in enumerate(zip(sides, slabs, strict=True)):
            m, inside = slab.inside.n, side.sign * slab.inside.total
            weight = side.cap / (2.0 * side.tau)
            support += side.cap * (side.n_caps * side.threshold + slab.cost)
            self.gradient[:d] += side.cap * side.sign * slab.weighted
            lack = side.n_caps - slab.share
            self.gradient[d + k] = side.cap * lack
            self.hessian[:d, :d] += weight * slab.inside.products
            self.hessian[:d, d + k] = self.hessian[d + k, :d] = -weight * inside
            self.hessian[d + k, d + k] = weight * max(m, 1)
            # What is missing of the sum goes to the points inside.
            self.images.append(side.cap * (slab.weighted + slab.inside.total * (lack / max(m, 1))))
            self.lack = max(self.lack, abs(lack) / max(m, 1))
            self.n_inside = max(self.n_inside, m)
        self.value += support
        self.size += abs(support)
        r = w - self.gradient[:d]
        self.distance, self.error = norm(r), norm(self.gradient[:d])
        # The smooth support functions are no smaller than the true ones.
        self.lower = (float(w @ fixed) - support) / max(norm(w), 1e-300)

    def is_solved(self, roughly: float) -> bool:
        """Return whether the gradient is at most this share of r, and the sums of the shares are right."""
        return self.error <= roughly * self.distance and self.lack <= _LACK

    def direction(self) -> FloatArray:
        """Return the Newton step."""
        scale = 1.0 / np.sqrt(self.hessian.diagonal())
        system = self.hessian * np.outer(scale, scale)
        system.flat[:: len(system) + 1] += 1e-14
        step: FloatArray = -scale * np.linalg.solve(system, scale * self.gradient)
        return step

    def slope(self, move: FloatArray) -> float:
        return float(self.gradient @ move)


def _threshold(side: Side, r: FloatArray) -> float:
    """Return where, along r, the weights of a solved side end: between the points with some and those with none."""
    score = np.empty(len(side.points))
    side.project(r, score)
    k = min(max(round(side.n_caps), 0), len(score) - 1)
    return float(np.partition(score, len(score) - 1 - k)[len(score) - 1 - k])
