"""The smooth form of `nearest_points`: Newton's method on points whose weights are undecided."""

from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls.hull_gap import norm
from sepc.geometry._hulls.hull_kernels import CAP, INSIDE, TAU, THRESHOLD, WANTED, newton

# From wide slabs to narrow ones (`narrow`). They narrow by this factor whenever Newton's method has brought the
# gradient to so small a share of r.
_NARROWING = 0.2
_ROUGHLY = 0.5
_STEPS_AT_ONCE = 3
_MAX_NARROWINGS = 60
# Where no full step is possible so many times in a row, the slabs have become too narrow for Newton's method.
_MAX_SHORT = 3
# A point so many half-widths of its slab off the threshold is decided.
_FAR = 3.0
# Where the hulls all but meet, one in so many of the points inside of the slabs can do the rest.
_THINNING = 4

# To the shares of the exact problem (`refine`). The same where shares are spread about those found before; at first
# slabs have this width relative to the scores.
_REFINING = 0.5
_REFINING_WIDTH = 0.1
_PRECISELY = 1e-11
_REFINING_STEPS = 10
_MAX_REFINEMENTS = 16
_FAR_WHEN_REFINING = 4.0

# Few points (both): leaving some out costs more than it saves where there are no more than this.
_FEW = 300


class Undecided:
    """Points of one or both sets whose shares of the cap are sought, while all other points keep theirs.

    Minimises ``|w|^2 / 2 - w . fixed + (smooth support functions of the sides)``, whose gradient is w minus the
    difference r of the two weighted means: a pair of points of the two hulls at every step. A support function is
    rounded off by what it costs a share to be off its centre: shares are 0 below a slab, 1 above it.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        One point per column, side after side, those of A times -1: shares go to the highest along w on both sides.
    caps : list of float
        The cap of each side.
    shares : list of ndarray of shape (n_side,)
        What to start from; the sums are kept.
    fixed : ndarray of shape (d,)
        What r would be if the points had no weight.
    """

    def __init__(self, columns: FloatArray, caps: list[float], shares: list[FloatArray], fixed: FloatArray) -> None:
        self._divide(np.array([0, *accumulate(map(len, shares))]))
        self.all_groups = self.groups
        n = int(self.ends[-1])
        self.points = self.all_points = columns
        self.per_side = np.zeros((len(shares), 5))
        self.tau = self.per_side[:, TAU]
        self.per_side[:, CAP], self.per_side[:, WANTED] = caps, [share.sum() for share in shares]
        self.score, self.centre = np.empty(n), np.full(n, 0.5)
        self.now = self.share = np.concatenate(shares)
        self.rows: IntArray | None = None  # all of them
        self.fixed = fixed
        self.n_steps = self.n_read = 0
        self.is_thinned = False

    @property
    def size(self) -> float:
        """Length of the normal."""
        return norm(self.w)

    @property
    def width(self) -> float:
        """Half-width of the wider slab, relative to the spread of all scores."""
        score = self.w @ self.all_points
        spreads = [spread_of(score[group]) for group in self.all_groups]
        return max(float(tau) / (spread or 1.0) for tau, spread in zip(self.tau, spreads, strict=True))

    def start(self, w: FloatArray, width: float) -> None:
        """Begin with the normal `w`, slabs of half-width `width` relative to the spread of the scores."""
        self.w = w.copy()
        np.dot(w, self.points, out=self.score)
        self.per_side[:, THRESHOLD] = [_mean(self.score[group]) for group in self.groups]
        self.tau[:] = self._half_width(width, 0.0)

    def _half_width(self, width: float, least: float) -> float:
        """Return the half-width of a slab of `width` relative to the spread of the scores plus `least`.

        The same for both sides: where all points of one have the same score, that is due to the normal of the moment.
        """
        return max(half_width(self.score[group], width) for group in self.groups) + width * least

    def _divide(self, ends: IntArray) -> None:
        self.ends = ends
        self.groups = [slice(*pair) for pair in pairwise(ends.tolist())]

    def _sides(self) -> Iterator[tuple[FloatArray, slice]]:
        return zip(self.per_side, self.groups, strict=True)

    def narrow(self, limit: int, flat: float, close: float = 0.0) -> None:
        """Step and narrow until the slabs hold `limit` points, or |r| <= `flat`.

        From |r| <= `close` on, it goes on with some of the points: enough to make hulls meet that all but do.
        """
        # Points that tie stay in a slab however narrow; narrower than rounding it would have no threshold.
        largest = float(np.abs(self.score).max())
        size = self.size
        finest = max(1e-7 * self._relative_tau(), 1e-11 * largest / size)
        factor, n_short = _NARROWING, 0
        good = self.w.copy(), self.now.copy()
        for _ in range(_MAX_NARROWINGS):
            length = self._newton(_STEPS_AT_ONCE, _ROUGHLY)
            if self.distance <= flat:
                break
            if length < 1.0:
                n_short += 1
                if n_short > _MAX_SHORT or length == 0.0:
                    self.w, self.now[:] = good
                    break
                continue
            if self.distance <= close and not self.is_thinned:
                self._thin_out()
            few = self.per_side[:, INSIDE].sum() <= limit
            if (few and self._is_sharp()) or self._relative_tau() <= finest:
                break
            # Where the hulls meet, the normal shrinks with the slabs: the better it does, the faster they may narrow.
            before, size = size, self.size
            n_short, shrinks = 0, size <= 0.5 * before
            meet = abs(size - factor * before) <= 0.02 * factor * before and self.error <= 0.1 * self.distance
            factor = max(factor**3, 0.5 * flat / size) if meet else _NARROWING
            self._leave_out(_FAR)
            good = self.w.copy(), self.now.copy()
            self.tau *= factor
            if shrinks:
                self.w *= factor
                self.per_side[:, THRESHOLD] *= factor
        self._keep_shares()

    def refine(self, flat: float, tol: float) -> bool:
        """Find the shares of the exact problem; return whether their gap, among these points, is `tol`, or |r| `flat`.

        The proximal point method: the centres are the shares found before, and being off them costs nothing in the end.
        """
        self.tau[:] = self._half_width(_REFINING_WIDTH, 0.1 * self.size**2)
        done = False
        for _ in range(_MAX_REFINEMENTS):
            self.centre[:] = self.now
            self._newton(_REFINING_STEPS, _PRECISELY)
            solved = self.error <= 10.0 * _PRECISELY * self.distance
            done = self.distance <= flat or (solved and self.excess <= 0.1 * tol * self.size**2)
            if done:
                break
            self._leave_out(_FAR_WHEN_REFINING)
            self.tau *= _REFINING
        self._keep_shares()
        return done

    def _newton(self, n: int, tol: float) -> float:
        """Take up to n Newton steps, fewer if the gradient falls to `tol` |r|; return the length of the last."""
        n_steps, length, square, error, self.excess = newton(
            self.points, self.ends, self.per_side, self.score, self.centre, self.now, self.fixed, self.w, n, tol
        )
        self.n_steps += n_steps
        self.n_read += (n_steps + 1) * len(self.now)
        self.distance, self.error = square**0.5, error**0.5
        return length

    def _is_sharp(self) -> bool:
        """Whether rounding off the support functions costs little of the distance."""
        weight = np.minimum(self.per_side[:, INSIDE] * self.per_side[:, CAP], 1.0)
        return float(self.tau @ weight) <= 0.1 * self.size**2

    def _relative_tau(self) -> float:
        return min(map(float, self.tau)) / max(self.size, 1e-300)

    def _leave_out(self, far: float) -> None:
        """Go on with the points near the thresholds. Whether that was right shows when all are read again."""
        if len(self.now) <= _FEW:
            return
        near = np.empty(len(self.now), dtype=bool)
        for side, group in self._sides():
            near[group] = np.abs(self.score[group] - side[THRESHOLD]) <= far * side[TAU]
        rows = near.nonzero()[0]
        if 2 * len(rows) <= len(near):
            self._go_on_with(rows)

    def _thin_out(self) -> None:
        """Go on with some of the points inside of the slabs."""
        inside = ((self.now > 0.0) & (self.now < 1.0)).nonzero()[0]
        if len(inside) > _THINNING * _FEW:
            self.is_thinned = self._go_on_with(inside[::_THINNING])

    def _go_on_with(self, rows: IntArray) -> bool:
        """Settle the shares of all but these points; return whether that can be done: some of each side are left."""
        ends = rows.searchsorted(self.ends)
        if not np.diff(ends).all():
            return False
        self._keep_shares()
        settled = self.now.copy()
        settled[rows] = 0.0
        for side, group in self._sides():
            side[WANTED] -= settled[group].sum()
            settled[group] *= side[CAP]
        self.fixed = self.fixed - self.points @ settled
        self._divide(ends)
        self.rows = rows if self.rows is None else self.rows[rows]
        self.points = self.points.take(rows, axis=1)
        self.score, self.centre, self.now = (values[rows] for values in (self.score, self.centre, self.now))
        return True

    def _keep_shares(self) -> None:
        """Put the shares of the points that are still in play among those of all."""
        if self.rows is not None:
            self.share[self.rows] = self.now


def half_width(score: FloatArray, width: float) -> float:
    """Return the half-width of a slab of `width` relative to the spread of the scores."""
    return width * spread_of(score) + 1e-9 * float(np.abs(score).max()) + 1e-200


def spread_of(score: FloatArray) -> float:
    """Return the mean distance of the scores from their mean."""
    away = score - _mean(score)
    return _mean(np.abs(away, out=away))


def _mean(values: FloatArray) -> float:
    # The method of arrays does the same; its checks would take longer than so short a sum.
    return float(np.add.reduce(values)) / len(values)
