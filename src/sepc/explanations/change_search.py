"""The search for the smallest change: from a record to the nearest ordinary one that has another label.

A change d of a record, in the units of the model, has the length sqrt(d' A d). For columns of numbers A is the inverse
of their covariance within classes (`model.relations`): a Mahalanobis distance, by which columns that always move
together are near if they do, and far if they part. Other columns, and all where a model has learnt no relations, count
by themselves: there A is the identity, and the length that of the change in standard deviations.

A record will do if the model gives it another label, and if its typicality is at least that asked for; the way there
need not be typical. The search

1. starts at the nearest training records that will do, and at centres of regions, and goes back along the lines to the
   explained record as far as what it meets there will do (`shrink`),
2. shortens the change in its numbers: both conditions, as linear functions near the best change, give the shortest one
   that they allow, and points on the way there are tried (`refine`),
3. takes back changes of single columns (`take_back`),
4. changes only as many columns as the second, actionable form of the change may have: those sets of columns that
   promise the shortest change by the slopes of the odds (`change_columns`),
5. takes back parts of the changes of single columns, where another model decides, whose odds may go in steps
   (`tighten`).

All records that are offered are ones that the explained one may be changed to. They are evaluated in batches, since one
takes nearly as long as a hundred. The search is deterministic.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from sepc.common.text import AROUND
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.change_limits import ReachableRecords
from sepc.explanations.constants import (
    INWARD,
    KEPT_CUTS,
    LINES_AT_ONCE,
    POINTS_ABOUT,
    ROUNDS,
    SHARES_OF_STEP,
    SPREADS,
    STEP,
    TIGHTENED,
    WORTHWHILE,
)
from sepc.model.decision import HELD_OUT_METHODS
from sepc.model.fitted_model import FittedModel

_TINY = np.finfo(np.float64).tiny
# What will do does so by more than rounding; a change is shorter if its length falls by more than that.
_SURELY = 1e-9
_LESS = 1.0 - 1e-9


def change_metric(model: FittedModel) -> FloatArray:
    """Return the matrix A of the lengths of changes, shape (d, d); see the module."""
    metric = np.eye(len(model.features))
    relations = None if model.typicality_by is None else model.typicality_by.relations
    if relations is not None:
        of_both = np.outer(relations.scale, relations.scale)
        metric[np.ix_(relations.columns, relations.columns)] = relations.precision / of_both
    return metric


class Judged(NamedTuple):
    """Evaluated records, all of them reachable: in the units of the model, Z of shape (n, d).

    `length` are the lengths of the changes and `lack` is what is missing in label and typicality, 0 where both will do,
    each of shape (n,).
    """

    Z: FloatArray
    length: FloatArray
    lack: FloatArray

    def among(self, rows: IntArray) -> "Judged":
        """Return some of them."""
        return Judged(self.Z[rows], self.length[rows], self.lack[rows])

    def and_(self, other: "Judged") -> "Judged":
        """Return these and others."""
        return Judged(*(np.concatenate(of) for of in zip(self, other, strict=True)))

    @property
    def order(self) -> IntArray:
        """The best records first: those that will do by their lengths, then the others."""
        return np.lexsort((self.length, self.lack))


class Found(NamedTuple):
    """A changed record, X of shape (d,) in the original units, and the length of the change."""

    X: FloatArray
    length: float


class ChangeSearch:
    """Search for the smallest changes of one reachable record of the class `label`.

    Attributes
    ----------
    best : Found or None
        The smallest change so far.
    best_of_few : Found or None
        The same of those that change at most `max_columns` columns.
    meets_other_labels : bool
        Whether any record with another label was met, ordinary or not.
    """

    def __init__(
        self, model: FittedModel, label: int, reachable: ReachableRecords, min_typicality: float, max_columns: int
    ) -> None:
        self.model, self.label, self.reachable, self.max_columns = model, label, reachable, max_columns
        self.z, self.metric = model.units(reachable.x), change_metric(model)
        self.root = np.linalg.cholesky(self.metric)
        self.best: Found | None = None
        self.best_of_few: Found | None = None
        self.meets_other_labels = False
        by = model.typicality_by
        self.least_score, self.score_unit = -np.inf, 1.0
        if by is not None and min_typicality > 0.0:
            self.least_score = by.least_score(min_typicality)
            # From the middle of the training records to the strangest of a hundred.
            unit = by.least_score(0.5) - by.least_score(0.01)
            self.score_unit = unit if unit > _SURELY else 1.0
        self.odds_unit = 1.0
        self.odds_unit = max(-float(self.slack(self.z[None])[0][0, 0]), 0.1)
        self.starts = [word.at.start for word in reachable.vocabulary.words]

    def judge(self, Z: FloatArray) -> Judged:
        """Evaluate the nearest reachable records to points, and keep the best of them."""
        if not len(Z):
            return Judged(Z, np.empty(0), np.empty(0))
        # What is as it was but for rounding is as it was.
        X = np.where(np.abs(Z - self.z) <= _SURELY, self.reachable.x, self.model.original(Z))
        X = self.reachable.nearest(X)
        Z = self.model.units(X)
        slack, is_other = self.slack(Z, X)
        lack = np.maximum(-slack, 0.0).sum(axis=1)
        goes_by_odds = self.has_slopes and self.is_smooth
        sure = is_other & (slack > _SURELY).all(axis=1) if goes_by_odds else is_other & (slack[:, 1] > _SURELY)
        lack = np.where(sure, 0.0, lack + _SURELY)
        length = self.lengths(Z)
        n_changed = np.count_nonzero(np.logical_or.reduceat(self.reachable.x != X, self.starts, axis=1), axis=1)
        self.meets_other_labels |= bool(is_other.any())
        few = sure & (n_changed <= self.max_columns)
        self.best = _shorter(self.best, X, np.where(sure, length, np.inf))
        self.best_of_few = _shorter(self.best_of_few, X, np.where(few, length, np.inf))
        return Judged(Z, length, lack)

    @property
    def has_slopes(self) -> bool:
        """Whether odds have slopes; those from counts go in steps."""
        return self.model.trust not in (*HELD_OUT_METHODS, "paper")

    @property
    def is_smooth(self) -> bool:
        """Whether odds go without steps, and show the label: those of any other model need not."""
        return self.model.trust != AROUND

    def slack(self, Z: FloatArray, X: FloatArray | None = None) -> tuple[FloatArray, BoolArray]:
        """Return by how much points have another label and are ordinary, shape (n, 2), and which have another label.

        The first is in units of the explained record's odds, the second in that of scores; both fall short below 0.
        """
        X = self.model.original(Z) if X is None else X
        decision, scores = self.model.decide_with_scores(self.reachable.with_gaps(X))
        policy = self.model.policy
        if policy is None or policy.costs is None:
            worth = np.log(np.maximum(decision.proba, _TINY))
        else:  # the label that costs least
            worth = -np.log(np.maximum(decision.proba @ policy.costs, _TINY))
        odds = np.delete(worth, self.label, axis=1).max(axis=1) - worth[:, self.label]
        surplus = np.ones(len(Z)) if scores is None else (scores - self.least_score) / self.score_unit
        slack = np.column_stack([odds / self.odds_unit, np.minimum(surplus, 1e3)])
        return slack, np.asarray(decision.label != self.label)

    def lengths(self, Z: FloatArray) -> FloatArray:
        """Return the lengths of the changes to records of shape (n, d), in the units of the model."""
        return np.asarray(np.linalg.norm((Z - self.z) @ self.root, axis=1))

    def shrink(self, Z: FloatArray) -> Judged:
        """Go from points back along the lines to the explained record; return the nearest that will do on each."""
        low, high = np.zeros(len(Z)), np.ones(len(Z))
        for n_points in LINES_AT_ONCE:
            shares = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, n_points + 1)[1:]
            judged = self.judge((self.z + shares[:, :, None] * (Z - self.z)[:, None]).reshape(-1, len(self.z)))
            does = judged.lack.reshape(shares.shape) == 0.0
            # The last point on a line does, or none does.
            first = np.where(does.any(axis=1), does.argmax(axis=1), n_points - 1)
            every = np.arange(len(Z))
            high, low = shares[every, first], np.where(first > 0, shares[every, first - 1], low)
        last = every * n_points + first
        return judged.among(last)

    def refine(self, judged: Judged, free: BoolArray) -> None:
        """Shorten changes in some of their numbers.

        Which features of each record are free, shape (n, d). Both conditions are ``slopes @ u >= levels`` near a point,
        where u has the length of the change; the shortest u is a problem of least distance.
        """
        lines = [_Line(self, Z, of) for Z, of in zip(judged.Z, free & self.reachable.is_number, strict=True)]
        found = [(lack, length) for lack, length in zip(judged.lack.tolist(), judged.length.tolist(), strict=True)]
        for _ in range(ROUNDS if len(lines) else 0):
            slack = self.slack(np.concatenate([line.probes() for line in lines]))[0]
            first = 0
            for line in lines:
                line.cut(slack[first : first + len(line.u) + 1])
                first += len(line.u) + 1
            judged = self.judge(np.concatenate([line.steps() for line in lines]))
            for i, line in enumerate(lines):
                rows = slice(i * len(INWARD), (i + 1) * len(INWARD))
                lack, length = judged.lack[rows], judged.length[rows]
                k = int(np.lexsort((length, lack))[0])
                now = float(lack[k]), float(length[k])
                line.go_on(k if now < (found[i][0], _LESS * found[i][1]) else None)
                found[i] = min(found[i], now)

    def wander(self) -> None:
        """Try points about the way to the best record: at random, and the same ones each time."""
        rng = np.random.default_rng(0)
        for spread in SPREADS:
            if self.best is not None:
                away = rng.normal(size=(POINTS_ABOUT, len(self.z)))
                away *= spread * self.best.length / np.linalg.norm(away, axis=1, keepdims=True)
                shares = np.linspace(0.5, 1.0, POINTS_ABOUT)[:, None]
                self.judge(self.z + shares * (self.model.units(self.best.X) - self.z) + away)

    def largest_moves(self, Z: FloatArray) -> FloatArray:
        """Return changes to points, shape (n, d), in the few columns alone that move most."""
        moves = np.maximum.reduceat(np.abs(Z - self.z), self.starts, axis=1)
        least = np.sort(moves, axis=1)[:, -min(self.max_columns, moves.shape[1])]
        some = np.repeat(moves >= least[:, None], np.diff([*self.starts, len(self.z)]), axis=1)
        return np.where(some, Z, self.z)

    def take_back(self) -> None:
        """Take back changes of single columns of the best record, and refine what is left, while it gets shorter."""
        for _ in range(len(self.starts)):
            if self.best is None:
                return
            before, Z = self.best.length, self.model.units(self.best.X)
            changed = [word.at for word in self.reachable.words if not np.array_equal(Z[word.at], self.z[word.at])]
            without = np.repeat(Z[None], 1 + len(changed), axis=0)
            for row, at in enumerate(changed):
                without[row, at] = self.z[at]
            judged = self.judge(without)
            best = judged.order[:1]
            self.refine(judged.among(best), np.ones((1, len(Z)), dtype=bool))
            if self.best.length >= (1.0 - WORTHWHILE) * before:
                return

    def tighten(self) -> None:
        """Take back parts of the changes of single columns of the best records, while these get shorter."""
        shares = np.linspace(0.0, 1.0, TIGHTENED, endpoint=False)
        for name in ("best", "best_of_few"):
            before = np.inf
            while (found := getattr(self, name)) is not None and found.length < (1.0 - WORTHWHILE) * before:
                before, Z = found.length, self.model.units(found.X)
                tried = np.repeat(Z[None], len(self.reachable.words) * TIGHTENED, axis=0)
                for k, word in enumerate(self.reachable.words):
                    rows = slice(k * TIGHTENED, (k + 1) * TIGHTENED)
                    tried[rows, word.at] = self.z[word.at] + shares[:, None] * (Z - self.z)[word.at]
                self.judge(tried)


class _Line:
    """The way of one record to a shorter change of its free features, in coordinates u in which lengths are those of u.

    ``Z = origin + basis @ u``; where other features have moved, the shortest change of the free ones is not none, and
    the origin is there.
    """

    def __init__(self, search: ChangeSearch, Z: FloatArray, free: BoolArray) -> None:
        own, rest = np.flatnonzero(free), np.flatnonzero(~free)
        root = np.linalg.cholesky(search.metric[np.ix_(own, own)])
        self.basis, self.origin = np.zeros((len(Z), len(own))), Z.copy()
        self.basis[own] = np.linalg.inv(root).T
        drawn = self.basis[own] @ self.basis[own].T @ search.metric[np.ix_(own, rest)] @ (Z - search.z)[rest]
        self.origin[own] = search.z[own] - drawn
        self.u = root.T @ (Z - self.origin)[own]
        self.at, self.cuts = self.u, list[tuple[FloatArray, FloatArray]]()

    def probes(self) -> FloatArray:
        """Return the point at which conditions are made linear, and one a step away in each coordinate."""
        return self._points(np.concatenate([self.at[None], self.at + STEP * np.eye(len(self.u))]))

    def cut(self, slack: FloatArray) -> None:
        """Take the slack at the probes, shape (1 + k, 2), as further linear conditions, and find the shortest u."""
        slopes = (slack[1:] - slack[0]).T / STEP
        self.cuts = [*self.cuts[1 - KEPT_CUTS :], (slopes, slopes @ self.at - slack[0])]
        found = _least(*(np.concatenate(of) for of in zip(*self.cuts, strict=True)))
        if found is None:
            self.cuts = self.cuts[-1:]
            found = _least(*self.cuts[0])
        self.target = self.at if found is None else found
        self.inward = (slopes / np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), _TINY)).sum(axis=0)

    def steps(self) -> FloatArray:
        """Return points on the way there, and further in."""
        way = self.target - self.u
        self.tried = self.u + SHARES_OF_STEP[:, None] * way + INWARD[:, None] * (np.linalg.norm(way) * self.inward)
        return self._points(self.tried)

    def go_on(self, better: int | None) -> None:
        """Go on from the best of the points tried, if it is better."""
        if better is not None:
            self.u = self.tried[better]
        self.at = self.u if better is not None else 0.5 * (self.u + self.target)

    def _points(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.origin + u @ self.basis.T)


def _shorter(found: Found | None, X: FloatArray, lengths: FloatArray) -> Found | None:
    first = int(lengths.argmin())
    if np.isinf(lengths[first]) or (found is not None and lengths[first] >= _LESS * found.length):
        return found
    return Found(X[first], float(lengths[first]))


def _least(slopes: FloatArray, levels: FloatArray) -> FloatArray | None:
    """Return the shortest u with ``slopes @ u >= levels``; None if there is none.

    Nonnegative least squares solve it: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    size = np.linalg.norm(slopes, axis=1)
    steep = size > 1e-9
    if not steep.any():
        return None
    E = np.concatenate([slopes[steep].T, levels[None, steep]]) / size[steep]
    aim = np.zeros(len(E))
    aim[-1] = 1.0
    try:
        rest = E @ nnls(E, aim)[0] - aim
    except RuntimeError:  # too many iterations
        return None
    return None if abs(rest[-1]) < 1e-9 else -rest[:-1] / rest[-1]
