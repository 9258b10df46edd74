"""The smooth form of `nearest_points`: Newton's method on points whose weights are undecided."""

from collections.abc import Iterator
from itertools import accumulate, pairwise

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls import slabs
from sepc.geometry._hulls.slabs import CAP, TAU, THRESHOLD, WANTED


class Undecided:
    """Points of one or both sets whose shares are sought, with all other points fixed.

    Minimises ``|w|^2 / 2 - w . fixed + (smooth support functions of the sides)``, whose gradient is w minus the
    difference r of the two weighted means: a pair of points of the two hulls at every step. Support functions are
    smoothed by a quadratic penalty on the distance of shares from their centres: shares are 0 below a slab, 1 above it.

    Parameters
    ----------
    columns : ndarray of shape (d, n)
        One point per column, side after side; those of A times -1, so that the highest along w have weight.
    caps : list of float
        The cap of each side.
    shares : list of ndarray of shape (n_side,)
        Initial shares; their sums are kept.
    fixed : ndarray of shape (d,)
        The value of r if these points had no weight.
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
    def distance(self) -> float:
        """Length of r."""
        return float(self.state[slabs.DISTANCE])

    @property
    def width(self) -> float:
        """Half-width of the wider slab, relative to the spread of all scores."""
        score = self.w @ self.all_points
        spreads = [np.abs(score[group] - score[group].mean()).mean() for group in self.all_groups]
        return max(float(tau) / (spread or 1.0) for tau, spread in zip(self.tau, spreads, strict=True))

    def start(self, w: FloatArray, width: float) -> None:
        """Start with the normal `w` and slabs of half-width `width` relative to the spread of the scores."""
        self.w = w.copy()
        self.state = slabs.begin(self.points, self.ends, self.per_side, self.score, self.w, width)

    def _divide(self, ends: IntArray) -> None:
        self.ends = ends
        self.groups = [slice(*pair) for pair in pairwise(ends.tolist())]

    def _sides(self) -> Iterator[tuple[FloatArray, slice]]:
        return zip(self.per_side, self.groups, strict=True)

    def narrow(self, limit: int, flat: float, close: float = 0.0) -> None:
        """Step and narrow until the slabs hold `limit` points, or |r| <= `flat`.

        From |r| <= `close` on some of the points are enough: the hulls probably meet.
        """
        while slabs.narrow(self._in_play(), limit, flat):
            if self.distance <= close and not self.is_thinned:
                self._thin_out()
            self._drop_decided(3.0)
        self._count()

    def refine(self, flat: float, tol: float) -> bool:
        """Find the exact shares; return whether the gap is at most `tol`, or |r| at most `flat`."""
        while slabs.refine(self._in_play(), flat, tol):
            self._drop_decided(4.0)
        self._count()
        return bool(self.state[slabs.IS_DONE])

    def _in_play(self) -> slabs.InPlay:
        points = self.points, self.ends, self.per_side, self.score, self.centre, self.now
        return *points, self.fixed, self.w, self.state

    def _count(self) -> None:
        """Collect shares and counts from the kernels' arrays."""
        self._keep_shares()
        self.n_steps += int(self.state[slabs.N_STEPS])
        self.n_read += int(self.state[slabs.N_READ])
        self.state[[slabs.N_STEPS, slabs.N_READ]] = 0.0

    def _drop_decided(self, far: float) -> None:
        """Continue with the points at most `far` half-widths from the threshold; a later pass checks all."""
        if len(self.now) <= slabs.FEW:
            return
        near = np.empty(len(self.now), dtype=bool)
        for side, group in self._sides():
            near[group] = np.abs(self.score[group] - side[THRESHOLD]) <= far * side[TAU]
        rows = near.nonzero()[0]
        if 2 * len(rows) <= len(near):
            self._go_on_with(rows)

    def _thin_out(self) -> None:
        """Continue with every fourth of the points inside of the slabs."""
        inside = ((self.now > 0.0) & (self.now < 1.0)).nonzero()[0]
        if len(inside) > 4 * slabs.FEW:
            self.is_thinned = self._go_on_with(inside[::4])

    def _go_on_with(self, rows: IntArray) -> bool:
        """Fix the shares of all but these points; return whether that can be done: each side has some of them."""
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
        """Copy the shares of the remaining points into those of all."""
        if self.rows is not None:
            self.share[self.rows] = self.now
