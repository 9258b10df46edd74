"""The search for the smallest change: from a record to the nearest one that has another label.

A change is as long as the way from the one record to the other in the units that the model measures distances in. The
search starts at the record itself:

1. It goes along the lines to other records and regions until the label changes, on all lines at once: at each step
   only those stay whose label has changed by then.
2. Where columns hold one of a few values, it changes one column at a time, takes changes back and exchanges one for
   another, as long as the whole change gets shorter (`column_exchanges`).
3. The numbers are refined: the shortest way to a surface meets it at a right angle, so the direction is turned towards
   the normal of the surface at which the label changes, as long as the way gets shorter.

Whatever is judged is a record that the asked one may be changed to. Many records are judged at once, since one takes
nearly as long as a hundred. The same record always gets the same change.
"""

from typing import NamedTuple

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.change_limits import ReachableRecords
from sepc.model.decision import HELD_OUT_METHODS
from sepc.model.fitted_model import FittedModel

# Their labels come from counts, which say nothing of how near another label is.
COUNTING_METHODS = (*HELD_OUT_METHODS, "paper")
# Steps on all lines in the first round and on those that are left in the others, and how many others there are.
_FIRST_STEPS, _STEPS, _ROUNDS = 3, 8, 2
# How many directions are refined, how different they are (as a cosine), and how often they are turned at most.
_MOST_STARTS, _SAME_DIRECTION, _TURNS = 8, 0.95, 10
# As many directions as can be judged together, with a difference for each feature, about as quickly as one point.
_TOGETHER = 128
# How far to turn towards the normal, and how much shorter the way is tried there.
_TURNS_TRIED = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
_WAYS_TRIED = np.array([0.6, 0.8, 0.9, 0.96, 0.985, 0.997])
_WAYS_TO_PLANE = np.array([0.93, 0.985, 1.0, 1.01, 1.04, 1.12])
# A direction whose way gets shorter by less than this share is not turned again.
_WORTHWHILE = 0.004
# Nor is one that is still longer than the shortest by this factor after two turns.
_HOPELESS = 1.2
# To take differences by: in units, and where only labels tell, as a share of the way.
_STEP, _STEP_OF_WAY = 1e-4, 0.1
# Shares of the way to the best record that are enough, perhaps.
_SHARES_OF_WAY = np.concatenate([np.linspace(0.0, 0.95, 20), 1.0 - np.geomspace(1e-6, 0.04, 24)])
_FURTHER = np.concatenate([[1.0], 1.0 + np.geomspace(1e-9, 0.1, 9)])
_TINY = np.finfo(np.float64).tiny


class Judged(NamedTuple):
    """Records that were judged.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The records, each of them within reach.
    length : ndarray of shape (n,)
        Lengths of the changes to them.
    is_other : ndarray of bool, shape (n,)
        Whether they have another label.
    margin : ndarray of shape (n,)
        Log odds of the likeliest other label against the one that the asked record has.
    """

    X: FloatArray
    length: FloatArray
    is_other: BoolArray
    margin: FloatArray


class _Surface(NamedTuple):
    """The surface at which the label changes, near some points: a plane for each.

    Attributes
    ----------
    normal : ndarray of shape (n, d)
        Directions in which other labels lie.
    distance : ndarray of shape (n,)
        How far the points are beyond it; NaN where only labels tell.
    """

    normal: FloatArray
    distance: FloatArray


class ChangeSearch:
    """Search for the smallest change of one record that leads to another label.

    Parameters
    ----------
    model : FittedModel
    label : int
        Number of the class of the record.
    reachable : ReachableRecords
        Knows the record, and what it may be changed to.

    Attributes
    ----------
    best : ndarray of shape (d,) or None
        The nearest record with another label that was found by now.
    length : float
        Length of the change to it.
    """

    def __init__(self, model: FittedModel, label: int, reachable: ReachableRecords) -> None:
        self.model, self.label, self.reachable = model, label, reachable
        self.z = model.units(reachable.x)
        self.best: FloatArray | None = None
        self.length = np.inf

    def judge(self, X: FloatArray) -> Judged:
        """Judge the nearest records within reach, and note the best of them."""
        X = self.reachable.nearest(X)
        is_other, margin = self._opinion(X)
        judged = Judged(X, self.lengths(X), is_other, margin)
        length = np.where(is_other, judged.length, np.inf)
        nearest = int(length.argmin())
        if length[nearest] < self.length:
            self.best, self.length = X[nearest], float(length[nearest])
        return judged

    def _opinion(self, X: FloatArray) -> tuple[BoolArray, FloatArray]:
        decision = self.model.decide(self.reachable.with_gaps(X))
        log_proba = np.log(np.maximum(decision.proba, _TINY))
        others = np.delete(log_proba, self.label, axis=1).max(axis=1)
        return np.asarray(decision.label != self.label), np.asarray(others - log_proba[:, self.label])

    def lengths(self, X: FloatArray) -> FloatArray:
        """Return how long the changes to records of shape (n, d) are."""
        return np.asarray(np.linalg.norm(self.model.units(X) - self.z, axis=1))

    def along_lines(self, ends: FloatArray, steps: int = _FIRST_STEPS) -> FloatArray:
        """Go along lines until the label changes.

        Parameters
        ----------
        ends : ndarray of shape (n, d)
            Where to, in the model's units.
        steps : int, default=3
            How many points of each line are looked at first; none beyond the best record that was found before.

        Returns
        -------
        ndarray of shape (n_starts, d)
            Changed records in the model's units: on the lines where the label changes first, as far as these differ.
        """
        away = ends - self.z
        far = np.linalg.norm(away, axis=1)
        away, far = away[far > 0.0], far[far > 0.0]
        if self.best is None and len(far):
            self.judge(self.model.original(self.z + away))
        if self.best is None or not len(far):
            return np.empty((0, len(self.z)))
        direction = away / far[:, None]
        live, leaders = np.arange(len(far)), np.empty(0, dtype=np.int64)
        low, high = 0.0, self.length
        for _ in range(1 + _ROUNDS):
            radii = np.linspace(low, high, steps + 1)
            reached = np.minimum(radii[1:, None], far[live])
            points = (self.z + reached[:, :, None] * direction[live]).reshape(-1, len(self.z))
            is_other = self.judge(self.model.original(points)).is_other.reshape(reached.shape)
            if not is_other.any():
                break
            k = int(is_other.any(axis=1).argmax())
            low, high, steps = float(radii[k]), float(radii[k + 1]), _STEPS
            live = live[is_other[k]]
            leaders = np.concatenate([live, leaders])
        chosen = _apart(leaders, direction)
        starts: FloatArray = self.z + np.minimum(high, far[chosen])[:, None] * direction[chosen]
        return starts

    def refine(self, starts: FloatArray) -> None:
        """Turn the ways to some changed records so that they get shorter.

        Parameters
        ----------
        starts : ndarray of shape (n, d)
            Changed records in the model's units. Only their numbers are refined.
        """
        if not len(starts) or not self.reachable.is_number.any():
            return
        at, base = starts, np.where(self.reachable.is_number, self.z, starts)
        for turn in range(_TURNS):
            away = at - base
            far = np.linalg.norm(away, axis=1)
            at, base, away, far = at[far > 0.0], base[far > 0.0], away[far > 0.0], far[far > 0.0]
            if not len(at):
                return
            direction, surface = away / far[:, None], self._surface(at, far)
            turned = direction[:, None] + _TURNS_TRIED[:, None] * (surface.normal - direction)[:, None]
            turned /= np.maximum(np.linalg.norm(turned, axis=2, keepdims=True), _TINY)
            ways = self._ways(away, far, turned, surface)
            tried = base[:, None, None] + ways[..., None] * turned[:, :, None]
            judged = self.judge(self.model.original(tried.reshape(-1, len(self.z))))
            length = np.where(judged.is_other, judged.length, np.inf).reshape(len(at), -1)
            nearest = length.argmin(axis=1)
            X = judged.X.reshape(len(at), -1, len(self.z))[np.arange(len(at)), nearest]
            before = np.linalg.norm(at - self.z, axis=1)
            better = length.min(axis=1) < (1.0 - _WORTHWHILE) * before
            if turn > 0:
                better &= length.min(axis=1) < _HOPELESS * self.length
            at, base = self.model.units(X)[better], base[better]

    def tighten(self) -> None:
        """Go back from the best record towards the asked one, in its numbers, as far as its label allows."""
        for _ in range(2):
            if self.best is not None:
                base = np.where(self.reachable.is_number, self.reachable.x, self.best)
                self.judge(base + _SHARES_OF_WAY[:, None] * (self.best - base))

    def confirm(self) -> None:
        """Make sure of the best record's label, which was judged quickly; go a little further if need be."""
        if self.best is None:
            return
        base = np.where(self.reachable.is_number, self.reachable.x, self.best)
        further = self.reachable.nearest(base + _FURTHER[:, None] * (self.best - base))
        enough = np.flatnonzero(self.model.decide(self.reachable.with_gaps(further)).label != self.label)
        self.best = further[enough[0]] if len(enough) else None
        self.length = float(self.lengths(self.best[None])[0]) if self.best is not None else np.inf

    def _ways(self, away: FloatArray, far: FloatArray, turned: FloatArray, surface: "_Surface") -> FloatArray:
        """Return how far to go in some directions, shape (n, n_directions, n_ways).

        About as far as a plane is that takes the place of the surface; where that is no help, somewhat less than now.
        """
        towards = np.einsum("ij,ikj->ik", surface.normal, turned)
        plane = np.einsum("ij,ij->i", surface.normal, away) - surface.distance
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = plane[:, None] / towards
        helps = (towards > 0.0) & (ahead > 0.0) & (ahead < far[:, None])
        return np.asarray(
            np.where(helps[..., None], ahead[..., None] * _WAYS_TO_PLANE, far[:, None, None] * _WAYS_TRIED)
        )

    def _surface(self, at: FloatArray, far: FloatArray) -> "_Surface":
        """Return where the surface is at which the label changes, by what is judged around points beyond it."""
        free = np.flatnonzero(self.reachable.is_number)
        normal = np.zeros_like(at)
        if self.model.trust in COUNTING_METHODS:
            around = np.random.default_rng(0).normal(size=(2 * len(free) + 32, len(free)))
            around /= np.linalg.norm(around, axis=1, keepdims=True)
            around = np.concatenate([around, -around])
            said = self._around(at, free, (_STEP_OF_WAY * far)[:, None, None] * around)[0]
            slopes, distance = np.einsum("ij,jk->ik", 2.0 * said - 1.0, around), np.full(len(at), np.nan)
            steepness = np.maximum(np.linalg.norm(slopes, axis=1), _TINY)
        else:
            steps = np.concatenate([np.zeros((1, len(free))), _STEP * np.eye(len(free))])
            said = self._around(at, free, np.broadcast_to(steps, (len(at), *steps.shape)))[1]
            slopes = (said[:, 1:] - said[:, :1]) / _STEP
            steepness = np.maximum(np.linalg.norm(slopes, axis=1), _TINY)
            distance = said[:, 0] / steepness
        normal[:, free] = slopes / steepness[:, None]
        return _Surface(normal, distance)

    def _around(self, at: FloatArray, free: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return which points around others have another label, and their margins, both of shape (n, n_steps)."""
        points = np.repeat(at[:, None], steps.shape[1], axis=1)
        points[:, :, free] += steps
        # Not only records within reach: between whole numbers too it shows where another label is.
        is_other, margin = self._opinion(self.model.original(points.reshape(-1, at.shape[1])))
        return is_other.reshape(steps.shape[:2]).astype(np.float64), margin.reshape(steps.shape[:2])


def _apart(leaders: IntArray, direction: FloatArray) -> IntArray:
    """Return the first few of some lines whose directions differ."""
    chosen: list[int] = []
    most = min(max(_TOGETHER // (direction.shape[1] + 1), 2), _MOST_STARTS)
    for line in dict.fromkeys(leaders.tolist()):
        if len(chosen) < most and all(direction[line] @ direction[k] < _SAME_DIRECTION for k in chosen):
            chosen.append(line)
    return np.array(chosen, dtype=np.int64)
