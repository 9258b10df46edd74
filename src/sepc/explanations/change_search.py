"""The search for the smallest change: from a record to the nearest one that has another label.

Lengths are distances between the two records in the units of the model. The search starts at the record itself:

1. It goes along the lines to other records and regions until the label changes, on all lines at once: each step keeps
   the lines whose label has changed by then.
2. Where columns hold one of a few values, it changes one column at a time, takes changes back and exchanges one for
   another, as long as the whole change gets shorter (`exchange_columns`).
3. It refines the numbers: the shortest way to a surface is normal to it, so the direction is turned towards the normal
   of the surface at which the label changes, as long as the change gets shorter.

All evaluated records are ones that the explained one may be changed to. They are evaluated in batches, since one takes
nearly as long as a hundred. The search is deterministic.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.change_limits import ReachableRecords
from sepc.explanations.constants import (
    FURTHER,
    HOPELESS,
    SHARES_OF_RANGE,
    SHARES_OF_WAY,
    SHARES_TAKEN_BACK,
    TURNS_TRIED,
    WAYS_TO_PLANE,
    WAYS_TRIED,
    WORTHWHILE,
)
from sepc.model.decision import HELD_OUT_METHODS
from sepc.model.fitted_model import FittedModel

# Trust methods whose labels come from counts, which have no gradient.
COUNTING_METHODS = (*HELD_OUT_METHODS, "paper")
# A change is shorter if its length falls by more than rounding.
_LESS = 1.0 - 1e-9
_TINY = np.finfo(np.float64).tiny


class Judged(NamedTuple):
    """Evaluated records X, shape (n, d), all of them reachable.

    `length` are the lengths of the changes, `is_other` whether they have another label, `margin` the log odds of the
    most probable other label against that of the explained record, each of shape (n,).
    """

    X: FloatArray
    length: FloatArray
    is_other: BoolArray
    margin: FloatArray


class ChangeSearch:
    """Search for the smallest change of one reachable record, of the class `label`, that leads to another label.

    Attributes
    ----------
    best : ndarray of shape (d,) or None
        The nearest record with another label so far.
    length : float
        Length of the change to it.
    """

    def __init__(self, model: FittedModel, label: int, reachable: ReachableRecords) -> None:
        self.model, self.label, self.reachable = model, label, reachable
        self.z = model.units(reachable.x)
        self.best: FloatArray | None = None
        self.length = np.inf

    def judge(self, X: FloatArray) -> Judged:
        """Evaluate the nearest reachable records, and keep the best of them."""
        X = self.reachable.nearest(X)
        is_other, margin = self._judgement(X)
        judged = Judged(X, self.lengths(X), is_other, margin)
        length = np.where(is_other, judged.length, np.inf)
        nearest = int(length.argmin())
        if length[nearest] < self.length:
            self.best, self.length = X[nearest], float(length[nearest])
        return judged

    def _judgement(self, X: FloatArray) -> tuple[BoolArray, FloatArray]:
        decision = self.model.decide(self.reachable.with_gaps(X))
        log_proba = np.log(np.maximum(decision.proba, _TINY))
        others = np.delete(log_proba, self.label, axis=1).max(axis=1)
        return np.asarray(decision.label != self.label), np.asarray(others - log_proba[:, self.label])

    def lengths(self, X: FloatArray) -> FloatArray:
        """Return the lengths of the changes to records of shape (n, d)."""
        return np.asarray(np.linalg.norm(self.model.units(X) - self.z, axis=1))

    def along_lines(self, ends: FloatArray, steps: int = 3) -> FloatArray:
        """Go along lines to `ends`, in the model's units, until the label changes.

        `steps` points of each line are evaluated first, none beyond the best record so far. Returns changed records, in
        the same units: on those lines of different directions where the label changes first.
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
        for _ in range(3):  # each on the remaining lines
            radii = np.linspace(low, high, steps + 1)
            reached = np.minimum(radii[1:, None], far[live])
            points = (self.z + reached[:, :, None] * direction[live]).reshape(-1, len(self.z))
            is_other = self.judge(self.model.original(points)).is_other.reshape(reached.shape)
            if not is_other.any():
                break
            k = int(is_other.any(axis=1).argmax())
            low, high, steps = float(radii[k]), float(radii[k + 1]), 8
            live = live[is_other[k]]
            leaders = np.concatenate([live, leaders])
        chosen = _apart(leaders, direction)
        starts: FloatArray = self.z + np.minimum(high, far[chosen])[:, None] * direction[chosen]
        return starts

    def refine(self, starts: FloatArray) -> None:
        """Turn the directions to changed records, in the model's units, to shorten the changes in their numbers."""
        if not len(starts) or not self.reachable.is_number.any():
            return
        at, base = starts, np.where(self.reachable.is_number, self.z, starts)
        for turn in range(10):
            away = at - base
            far = np.linalg.norm(away, axis=1)
            at, base, away, far = at[far > 0.0], base[far > 0.0], away[far > 0.0], far[far > 0.0]
            if not len(at):
                return
            direction, (normal, beyond) = away / far[:, None], self._surface(at, far)
            turned = direction[:, None] + TURNS_TRIED[:, None] * (normal - direction)[:, None]
            turned /= np.maximum(np.linalg.norm(turned, axis=2, keepdims=True), _TINY)
            ways = _ways(away, far, turned, normal, beyond)
            tried = base[:, None, None] + ways[..., None] * turned[:, :, None]
            judged = self.judge(self.model.original(tried.reshape(-1, len(self.z))))
            length = np.where(judged.is_other, judged.length, np.inf).reshape(len(at), -1)
            nearest = length.argmin(axis=1)
            X = judged.X.reshape(len(at), -1, len(self.z))[np.arange(len(at)), nearest]
            before = np.linalg.norm(at - self.z, axis=1)
            better = length.min(axis=1) < (1.0 - WORTHWHILE) * before
            if turn > 0:
                better &= length.min(axis=1) < HOPELESS * self.length
            at, base = self.model.units(X)[better], base[better]

    def tighten(self) -> None:
        """Go back from the best record towards the explained one, in its numbers, as far as the label stays."""
        for _ in range(2):
            if self.best is not None:
                base = np.where(self.reachable.is_number, self.reachable.x, self.best)
                self.judge(base + SHARES_OF_WAY[:, None] * (self.best - base))

    def confirm(self) -> None:
        """Confirm the label of the best record; go slightly further if need be."""
        if self.best is None:
            return
        base = np.where(self.reachable.is_number, self.reachable.x, self.best)
        further = self.reachable.nearest(base + FURTHER[:, None] * (self.best - base))
        enough = np.flatnonzero(self.model.decide(self.reachable.with_gaps(further)).label != self.label)
        self.best = further[enough[0]] if len(enough) else None
        self.length = float(self.lengths(self.best[None])[0]) if self.best is not None else np.inf

    def _surface(self, at: FloatArray, far: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return tangent planes of the surface at which the label changes, near points beyond it.

        These are the normals towards other labels, shape (n, d), and the distances of the points from the planes, shape
        (n,); NaN where only labels are known.
        """
        free = np.flatnonzero(self.reachable.is_number)
        normal = np.zeros_like(at)
        if self.model.trust in COUNTING_METHODS:
            around = np.random.default_rng(0).normal(size=(2 * len(free) + 32, len(free)))
            around /= np.linalg.norm(around, axis=1, keepdims=True)
            around = np.concatenate([around, -around])
            judged = self._around(at, free, (0.1 * far)[:, None, None] * around)[0]
            slopes, distance = np.einsum("ij,jk->ik", 2.0 * judged - 1.0, around), np.full(len(at), np.nan)
            steepness = np.maximum(np.linalg.norm(slopes, axis=1), _TINY)
        else:
            step = 1e-4  # of finite differences
            steps = np.concatenate([np.zeros((1, len(free))), step * np.eye(len(free))])
            judged = self._around(at, free, np.broadcast_to(steps, (len(at), *steps.shape)))[1]
            slopes = (judged[:, 1:] - judged[:, :1]) / step
            steepness = np.maximum(np.linalg.norm(slopes, axis=1), _TINY)
            distance = judged[:, 0] / steepness
        normal[:, free] = slopes / steepness[:, None]
        return normal, distance

    def _around(self, at: FloatArray, free: IntArray, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return whether points around others have another label, and their margins, both of shape (n, n_steps)."""
        points = np.repeat(at[:, None], steps.shape[1], axis=1)
        points[:, :, free] += steps
        # These need not be reachable: between whole numbers, too, the model has a gradient.
        is_other, margin = self._judgement(self.model.original(points.reshape(-1, at.shape[1])))
        return is_other.reshape(steps.shape[:2]).astype(np.float64), margin.reshape(steps.shape[:2])


def _ways(away: FloatArray, far: FloatArray, turned: FloatArray, normal: FloatArray, beyond: FloatArray) -> FloatArray:
    """Return lengths to try in some directions, shape (n, n_directions, n_ways).

    About the distance to the tangent plane; where that is no help, somewhat less than now.
    """
    towards = np.einsum("ij,ikj->ik", normal, turned)
    plane = np.einsum("ij,ij->i", normal, away) - beyond
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = plane[:, None] / towards
    helps = (towards > 0.0) & (ahead > 0.0) & (ahead < far[:, None])
    return np.asarray(np.where(helps[..., None], ahead[..., None] * WAYS_TO_PLANE, far[:, None, None] * WAYS_TRIED))


def _apart(leaders: IntArray, direction: FloatArray) -> IntArray:
    """Return the first few of some lines with different directions: of a cosine of less than 0.95."""
    chosen: list[int] = []
    # With a finite difference for each feature about a hundred points, which take about as long as one.
    most = min(max(128 // (direction.shape[1] + 1), 2), 8)
    for line in dict.fromkeys(leaders.tolist()):
        if len(chosen) < most and all(direction[line] @ direction[k] < 0.95 for k in chosen):
            chosen.append(line)
    return np.array(chosen, dtype=np.int64)


class _Option(NamedTuple):
    """A column, and a block of features that it may be changed to."""

    at: slice
    block: FloatArray


def exchange_columns(search: ChangeSearch, bounds: FloatArray) -> None:
    """Change one column, take changes back and exchange one for another, as long as the whole change gets shorter.

    `bounds`, of shape (2, d), has the smallest and the largest number of each feature in training.
    """
    options = list(_options(search, bounds))
    if not options:
        return
    _change_one(search, options)
    for _ in range(20):
        before = search.length
        if search.best is None:
            return
        candidates = np.array(list(_candidates(search, options)))
        shorter = candidates[search.lengths(candidates) < _LESS * before]
        if not len(shorter):
            return
        search.judge(np.unique(shorter, axis=0))
        if search.length >= _LESS * before:
            return


def drop_idle_changes(search: ChangeSearch) -> None:
    """Take back negligible changes of columns, if the label stays without them."""
    if search.best is None:
        return
    without, moved = np.array(search.best), np.abs(search.model.units(search.best) - search.z)
    for word in search.reachable.words:
        if moved[word.at].max() < 1e-4 * search.length:
            without[word.at] = search.reachable.x[word.at]
    judged = search.judge(without[None])
    if judged.is_other[0]:
        search.best, search.length = judged.X[0], float(judged.length[0])


def _options(search: ChangeSearch, bounds: FloatArray) -> Iterator[_Option]:
    reachable = search.reachable
    for word in reachable.words:
        blocks = reachable.vocabulary.values(word)
        if not len(blocks):
            j = word.at.start
            ends = np.clip(bounds[:, j], reachable.low[j], reachable.high[j])
            numbers = [reachable.x[j] + share * (end - reachable.x[j]) for end in ends for share in SHARES_OF_RANGE]
            blocks = np.repeat(reachable.x[None, word.at], len(numbers), axis=0)
            blocks[:, 0] = numbers
        for block in blocks:
            if np.isfinite(block).all() and not np.array_equal(block, reachable.x[word.at]):
                yield _Option(word.at, block)


def _change_one(search: ChangeSearch, options: list[_Option]) -> None:
    """Try all changes of one column; where none is enough, combine those with the largest margins."""
    alone = search.judge(np.array([_with(search.reachable.x, option) for option in options]))
    if alone.is_other.any():
        return
    together, changed = [search.reachable.x], set[int]()
    for k in np.argsort(-alone.margin, kind="stable").tolist():
        if options[k].at.start not in changed and len(changed) < 8:
            changed.add(options[k].at.start)
            together.append(_with(together[-1], options[k]))
    search.judge(np.array(together[1:]))


def _candidates(search: ChangeSearch, options: list[_Option]) -> Iterator[FloatArray]:
    """Yield changes near the best one: with smaller changes of a column, or other columns or values for it."""
    best, x = search.best, search.reachable.x
    assert best is not None
    bases = [best]
    for word in search.reachable.words:
        if not np.array_equal(best[word.at], x[word.at]):
            bases.append(_with(best, _Option(word.at, x[word.at])))
            if not word.is_level:
                back = (best[word.at] + share * (x[word.at] - best[word.at]) for share in SHARES_TAKEN_BACK)
                bases += [_with(best, _Option(word.at, block)) for block in back]
    for base in bases:
        yield base
        yield from (_with(base, option) for option in options)


def _with(x: FloatArray, option: _Option) -> FloatArray:
    changed = np.array(x)
    changed[option.at] = option.block
    return changed
