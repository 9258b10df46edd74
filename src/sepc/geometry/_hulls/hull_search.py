"""The search behind `nearest_points`: rounds that choose undecided points, solve for their shares, and certify them."""

from collections.abc import Callable

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls import MEETING_TOLERANCE, certified_gap, support
from sepc.geometry._hulls.box_problem import solve_box
from sepc.geometry._hulls.slabs import half_width, spread
from sepc.geometry._hulls.small_hulls import ROUNDING, settle, slab_limit
from sepc.geometry._hulls.smooth_hulls import Undecided
from sepc.geometry.chunks import CHUNK, by_column, chunk_slices, mean_from, moved

# If the distance of samples relative to the range is at most this, the hulls probably meet.
CLOSE = 1e-3
# The normal is cleaned of rounding by the differences of at most this number of points between the bounds.
_FEW_BETWEEN = 600

StepCallback = Callable[[int, float], None]
Picked = IntArray | slice


class Side:
    """One point set during the search; all shares are equal at first.

    ``sign`` is -1 for A, whose lowest points along the normal have weight, and 1 for B. The weights are
    ``cap * share``; ``image`` is the weighted mean of the points relative to ``shift``.
    """

    def __init__(self, points: FloatArray, sign: float, cap: float, shift: FloatArray) -> None:
        n = len(points)
        self.is_free = cap * n > 1.0 + 1e-12
        if self.is_free and points.size <= 300_000 and shift.any():  # a copy is faster than moving them in each pass
            points, shift = moved(points, -shift), np.zeros(len(shift))
        self.points, self.sign, self.cap, self.shift = points, sign, cap, shift
        self.is_shifted = bool(shift.any())
        self.share = np.full(n, min(1.0 / cap / n, 1.0))
        self.image = np.zeros(len(shift))
        self.score = np.empty(n if self.is_free else 0)

    def sample(self, n: int) -> tuple[FloatArray, float]:
        """Return a strided sample of at least n points, as `signed` does, and the corresponding cap."""
        points = self.signed(slice(None, None, max(len(self.points) // n, 1)))
        return points, min(max(self.cap * len(self.points), 1.0) / len(points), 1.0)

    def relative(self, rows: Picked) -> FloatArray:
        """Return points relative to the shift; a view of them where it can be one."""
        points: FloatArray = self.points[rows]
        return moved(points, -self.shift) if self.is_shifted else points

    def signed(self, rows: Picked) -> FloatArray:
        """Return points relative to the shift, times the sign."""
        return self.sign * self.relative(rows)

    def put_columns(self, rows: Picked, share: FloatArray, out: FloatArray) -> FloatArray:
        """Set `out` to points as `signed` returns them, one per column; return their weighted sum with these shares."""
        if isinstance(rows, slice) and not self.is_shifted:
            points = self.points[rows]
            out[:] = points.T  # a product with a transposed array would make a copy
            out *= self.sign
            return np.asarray((self.sign * (share @ points)) * self.cap)
        numbers = np.arange(len(self.points))[rows]
        total = np.zeros(len(self.shift))
        for some in chunk_slices(len(numbers), CHUNK):
            points = self.signed(numbers[some])
            out[:, some] = points.T
            total += share[some] @ points
        total *= self.cap
        return total

    def between(self) -> IntArray:
        """Return the points whose weights are between the bounds."""
        rows: IntArray = ((self.share > ROUNDING) & (self.share < 1.0 - ROUNDING)).nonzero()[0]
        return rows

    def is_feasible(self, rows: IntArray) -> bool:
        """Return whether the weights of these points are within the bounds."""
        share = self.share[rows]
        return bool(share.min() >= 0.0 and share.max() <= 1.0)

    def project(self, direction: FloatArray, out: FloatArray) -> None:
        """Set `out` to the scores of all points along `direction`."""
        direction = self.sign * direction
        if not self.is_shifted:
            np.dot(self.points, direction, out=out)
            return
        for rows in chunk_slices(len(out), CHUNK):
            np.dot(moved(self.points[rows], -self.shift), direction, out=out[rows])

    def read_image(self) -> None:
        """Set `image` from the shares."""
        if not self.is_shifted:
            self.image = self.cap * (self.share @ self.points)
            return
        self.image = np.zeros(len(self.shift))
        for rows in chunk_slices(len(self.share), CHUNK):
            self.image += self.cap * (self.share[rows] @ moved(self.points[rows], -self.shift))


class Search:
    """The state of one search: two sides, the pair of points they give, and its certified gap."""

    def __init__(
        self, a: FloatArray, b: FloatArray, caps: tuple[float, float], tol: float, on_step: StepCallback | None
    ) -> None:
        # Of so large a number some are so near to the hyperplane that the last digits of its normal decide their side.
        self.tol, self.on_step, self.is_crowded = tol, on_step, len(a) + len(b) > 20_000
        ends = [[by_column(fold, points) for points in (a, b)] for fold in (np.minimum, np.maximum)]
        self.low, self.high = np.minimum(*ends[0]), np.maximum(*ends[1])
        # The range depends on c only within a factor of two; the solver's own unit need not be exact.
        self.unit = float((self.high - self.low).max())
        smaller = a if len(a) < len(b) else b
        offset = mean_from(smaller, smaller[0])
        self.shift = smaller[0] + offset if _is_far(self.low, self.high) else np.zeros(len(offset))
        self.sides = [Side(a, -1.0, caps[0], self.shift), Side(b, 1.0, caps[1], self.shift)]
        for side, points in zip(self.sides, (a, b), strict=True):
            # The rounding error of the shift, or the mean itself.
            is_smaller = points is smaller
            side.image = (smaller[0] - self.shift) + offset if is_smaller else mean_from(side.points, side.shift)
        self.free = [side for side in self.sides if side.is_free]
        self.n_rows = sum(len(side.points) for side in self.free)
        self.n_iter, self.n_passes, self.gap = 0, 0.0, 0.0 if not self.free else np.inf

    def run(self) -> None:
        """Bring the gap below the tolerance, or as far down as rounding allows."""
        self.normal = self.difference()
        self.data_range = self._range()
        distance = float(np.linalg.norm(self.normal))
        if distance <= min(self.tol, MEETING_TOLERANCE) * self.data_range:
            self.gap = certified_gap(distance, 0.0, self.data_range)
        if not self.free or self.gap <= self.tol:
            return
        # The number of points chosen next to the threshold, tripled after each round without progress.
        share = slab_limit(len(self.shift))
        self._first_round(share)
        exact = False
        for _ in range(100):
            if self.gap <= self.tol and self.is_crowded:
                _sharpen(self)
            self._report()
            if self.gap <= self.tol:
                return
            previous = self.gap
            everything = 2 * share >= max(len(side.points) for side in self.free)
            self._round(share, exact)
            if self.gap > 0.1 * previous:
                if exact and everything:
                    _sharpen(self)  # the shares may be too inexact for hulls that all but touch
                    self._report()
                    return
                exact = everything
                share *= 3

    def _report(self) -> None:
        if self.on_step is not None:
            self.on_step(self.n_iter, self.gap)

    def _first_round(self, limit: int) -> None:
        """Solve for all points, or for those that a sample leaves undecided."""
        w, width, close = self.normal, 1.0, 0.0
        chosen: list[Picked] = [slice(None)] * len(self.free)
        n_sample = 300 + 50 * len(self.shift)
        if max(len(side.points) for side in self.free) > 3 * n_sample:
            w, width, meet = self._try_sample(n_sample, limit)
            chosen = [_unsure(side, w, width, limit) for side in self.free]
            self.n_passes += 2.0
            close = CLOSE * self.unit if meet else 0.0
        undecided = self._narrowed(chosen, w, width, limit, close)
        if undecided.is_thinned and undecided.distance > self.flat:
            # The hulls do not meet, or the kept points could not show it.
            n_steps, n_read = undecided.n_steps, undecided.n_read
            del undecided  # frees its copy of the points
            undecided = self._narrowed(chosen, w, width, limit, 0.0)
            undecided.n_steps += n_steps
            undecided.n_read += n_read
        if undecided.distance > self.flat:
            undecided.refine(self.flat, self.tol)
        self._take(undecided, chosen)
        del undecided  # frees its copy of the points
        self._measure()

    def _narrowed(self, chosen: list[Picked], w: FloatArray, width: float, limit: int, close: float) -> Undecided:
        """Return the problem of the chosen points, with slabs narrowed from a normal and a width on."""
        undecided = self._among(chosen)
        undecided.start(w, width)
        undecided.narrow(limit, self.flat, close)
        return undecided

    @property
    def flat(self) -> float:
        """Distance at which the hulls meet, whatever the shares."""
        return 0.1 * self.tol * self.unit

    def _try_sample(self, n: int, limit: int) -> tuple[FloatArray, float, bool]:
        """Return normal and width of the slab for a sample of n points or more of each side, and whether they meet."""
        blocks, caps = zip(*(side.sample(n) for side in self.free), strict=True)
        fixed = self.normal + sum(side.sign * side.image for side in self.free)
        shares = [np.full(len(x), 1.0 / cap / len(x)) for x, cap in zip(blocks, caps, strict=True)]
        columns = np.ascontiguousarray(np.concatenate(blocks).T)
        sample = Undecided(columns, list(caps), shares, fixed)
        sample.start(self.normal, 1.0)
        close = CLOSE * self.unit
        sample.narrow(limit, close)
        return sample.w, max(sample.width, 1.5 * (len(fixed) / n) ** 0.5), sample.distance <= close

    def _round(self, share: int, exact: bool) -> None:
        """Solve for the undecided points and certify the result; revert it if rounding has made it worse."""
        before = self.normal, self.gap, [(side.share.copy(), side.image.copy()) for side in self.free]
        chosen = [self._choose(side, share) for side in self.free]
        if exact or not self._refine_among(chosen):
            self._solve_among(chosen)
        self._measure()
        if self.gap > before[1]:
            self.normal, self.gap = before[:2]
            for side, (shares, image) in zip(self.free, before[2], strict=True):
                side.share, side.image = shares, image
            self.data_range = self._range()

    def _among(self, chosen: list[Picked]) -> Undecided:
        """Return the problem of the chosen points, with all others fixed."""
        shares = [side.share[rows] for side, rows in zip(self.free, chosen, strict=True)]
        groups = _groups([len(share) for share in shares])
        columns = np.empty((len(self.shift), groups[-1].stop))
        fixed = self.difference()
        for side, rows, share, group in zip(self.free, chosen, shares, groups, strict=False):
            fixed += side.put_columns(rows, share, columns[:, group])
        return Undecided(columns, [side.cap for side in self.free], shares, fixed)

    def _refine_among(self, chosen: list[Picked]) -> bool:
        """Optimise the shares of the chosen points from their present ones; return whether that worked."""
        undecided = self._among(chosen)
        undecided.start(self.difference(), 1.0)
        done = undecided.refine(self.flat, self.tol)
        return self._take(undecided, chosen) and done

    def _take(self, undecided: Undecided, chosen: list[Picked]) -> bool:
        """Set the shares of the chosen points, unless rounding has spoilt a sum; return whether they were set."""
        self.n_iter += undecided.n_steps
        self.n_passes += 2.0 * undecided.n_read / self.n_rows
        parts = list(zip(self.free, chosen, undecided.all_groups, strict=True))
        if not all(settle(undecided.share[group], float(side.share[rows].sum())) for side, rows, group in parts):
            return False
        for side, rows, group in parts:
            after = undecided.share[group]
            side.image += side.sign * side.cap * (undecided.all_points[:, group] @ (after - side.share[rows]))
            side.share[rows] = after
        return True

    def difference(self) -> FloatArray:
        return self.sides[0].image - self.sides[1].image

    def _measure(self) -> None:
        """Compute the pair's normal, its scores and the certified gap."""
        r = self.difference()
        self.data_range = self._range()
        distance = float(np.linalg.norm(r))
        self.normal, self.gap = r, self.gap_along(r, distance)
        # Rounding changes r by an ulp of the range, and the gap by that over the square of the distance.
        if self.tol < self.gap < 1.0 and 1e-14 * self.data_range**2 > self.tol * distance**2:
            clean = _cleaned(self.free, r)
            gap = self.gap_along(clean, distance)
            if gap < self.gap:
                self.normal, self.gap = clean, gap
            else:
                self.gap_along(r, distance)

    def gap_along(self, direction: FloatArray, distance: float) -> float:
        """Return the gap that the direction certifies; set the sides' scores along it."""
        lower = 0.0
        for side in self.sides:
            if side.is_free:
                side.project(direction, side.score)
                lower -= support(side.score, side.cap)
            else:
                lower -= side.sign * float(side.image @ direction)
        self.n_passes += 1.0
        return certified_gap(distance, lower / max(float(np.linalg.norm(direction)), 1e-300), self.data_range)

    def _range(self) -> float:
        c = self.shift + self.sides[0].image
        return float(max((self.high - c).max(), (c - self.low).max()))

    def _choose(self, side: Side, share: int) -> Picked:
        """Return the points whose weights may have to change.

        These are the points with weights between the bounds, those on the wrong side of the threshold, and `share` more
        on each side of it: of the points with weight the worst, of those below the cap the best.
        """
        inside, outside = side.share > ROUNDING, side.share < 1.0 - ROUNDING
        chosen = inside & outside
        if chosen.any():
            threshold = float(side.score[chosen].mean())
            too_low, too_high = inside & (side.score < threshold), outside & (side.score > threshold)
            wrong = np.count_nonzero(too_low) + np.count_nonzero(too_high)
            share += min(int(wrong), 4 * share)
        if 2 * share >= len(side.points):
            return slice(None)
        for candidates, ranked in ((inside, side.score), (outside, -side.score)):
            rows = np.flatnonzero(candidates)
            if len(rows) > share:
                rows = rows[np.argpartition(ranked[rows], share)[:share]]
            chosen[rows] = True
        return np.flatnonzero(chosen)

    def _solve_among(self, chosen: list[Picked]) -> None:
        """Optimise the shares of the chosen points by the exact stage, with all others fixed."""
        picks, shares = [], []
        for side, pick in zip(self.free, chosen, strict=True):
            share = side.share[pick]
            # With all shares 0, or all 1, there is nothing to decide.
            some = 1e-9 < share.sum() < len(share) - 1e-9
            picks.append(pick if some else slice(0, 0))
            shares.append(share if some else share[:0])
        groups = _groups([len(share) for share in shares])
        before = np.concatenate(shares) if len(shares) > 1 else shares[0]
        if not len(before):
            return
        blocks = [
            (side.relative(pick), -side.sign * side.cap / self.unit)
            for side, pick in zip(self.free, picks, strict=True)
        ]
        after, n_iter = solve_box(blocks, before, self.difference() / self.unit, self.tol)
        self.n_iter += n_iter
        for side, pick, group, (points, _) in zip(self.free, picks, groups, blocks, strict=False):
            np.clip(after[group], 0.0, 1.0, out=after[group])
            settle(after[group], float(before[group].sum()))
            side.image += side.cap * ((after[group] - before[group]) @ points)
            side.share[pick] = after[group]


def _unsure(side: Side, w: FloatArray, width: float, least: int) -> Picked:
    """Set all shares by a normal; return the undecided points, `least` or more."""
    side.project(w, side.score)
    tau, middle = half_width(side.score, width), float(side.score.mean())
    threshold, _, _ = spread(side.score, np.full(len(side.score), 0.5), tau, 1.0 / side.cap, middle, side.share)
    side.read_image()
    if least >= len(side.score):
        return slice(None)
    away = np.abs(side.score - threshold)
    rows = np.flatnonzero(away <= 3.0 * tau)
    return rows if len(rows) >= least else np.argpartition(away, least)[:least]


def _groups(sizes: list[int]) -> list[slice]:
    """Return two consecutive slices of the given sizes; the second is empty if none is given."""
    return [slice(0, sizes[0]), slice(sizes[0], sum(sizes))]


def _is_far(low: FloatArray, high: FloatArray) -> bool:
    """Return whether points within these bounds are more than twice their range from the origin, and better moved."""
    return bool(max(float(-low.min()), float(high.max())) > 2.0 * float((high - low).max()))


def _sharpen(search: Search) -> None:
    """Change the weights between the bounds so that the normal is orthogonal to differences of their points.

    The normal then depends, up to rounding, on the undecided points alone and not on the path of the search: so does
    the side of a point next to the hyperplane.
    """
    between = [(side, side.between()) for side in search.free]
    if not 1 < sum(len(rows) for _, rows in between) <= _FEW_BETWEEN or not all(len(rows) for _, rows in between):
        return
    blocks = [_centred(side, rows) for side, rows in between]
    left, size, axes = np.linalg.svd(np.concatenate(blocks), full_matrices=False)
    rank = np.count_nonzero(size > 1e-10 * size[0])
    if rank >= len(search.normal):
        return
    left, size, axes = left[:, :rank], size[:rank], axes[:rank]
    before = search.normal, search.gap, [(side.share[rows], side.image) for side, rows in between]
    moves = np.split(left @ (-(axes @ search.difference()) / size), [len(blocks[0])])
    for (side, rows), block, move in zip(between, blocks, moves, strict=False):
        side.share[rows] += move
        side.image = side.image - side.sign * (move @ block)
    r = search.difference()
    search.normal = r - (axes @ r) @ axes  # removes rounding
    search.gap = search.gap_along(search.normal, float(np.linalg.norm(r)))
    if search.gap > max(search.tol, before[1]) or not all(side.is_feasible(rows) for side, rows in between):
        search.normal, search.gap = before[:2]
        for (side, rows), (share, image) in zip(between, before[2], strict=True):
            side.share[rows] = share
            side.image = image


def _cleaned(sides: list[Side], r: FloatArray) -> FloatArray:
    """Return r without its components along differences of undecided points, which are 0 at the optimum.

    They are rounding, and would dominate the certificate of hulls that all but touch.
    """
    blocks = []
    for side in sides:
        inside = side.between()
        if 1 < len(inside) <= _FEW_BETWEEN:
            block = side.points[inside] - side.shift
            blocks.append(block - block.mean(axis=0))
    if not blocks:
        return r
    _, size, axes = np.linalg.svd(np.concatenate(blocks), full_matrices=False)
    axes = axes[size > 1e-10 * size[0]]
    for _ in range(2):  # the second time removes the rounding of the first
        r = r - (axes @ r) @ axes
    return r


def _centred(side: Side, rows: IntArray) -> FloatArray:
    """Return points about their mean, times the factor with which their shares enter the difference of the images."""
    block = side.points[rows] - side.points[rows[0]]
    result: FloatArray = (-side.sign * side.cap) * (block - block.mean(axis=0))
    return result
