"""From counts to a label, its trust and its reason: what a person gets to read for each point."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sepc.errors import InputError
from sepc.frames import FrameMaker
from sepc.geometry._checks import FloatArray, Rows
from sepc.rules import Rule, Rules, Verdicts

# Lead of the chosen label's probability where the counts are equal.
_HAIR = 1e-9

REASONS = ("inside", "overlap", "outside", "contested")
_REASON_OF_RULE = np.array([0, 1, 1, 2])  # R1, R2a, R2b, R3
_CONTESTED = 3

# Ways to read the regions. By their counts: as the paper does, as a share, as a lower bound of that share; or as local
# densities.
TRUSTS = ("local", "counts", "bound", "paper")
# The share of a label is below the lower bound with this probability.
_BELOW_BOUND = 0.05


def trust_of(own: Rows, other: Rows, n_own: int | Rows, n_other: int | Rows) -> FloatArray:
    """Return the paper's trust in a label, by Bayes' formula from counts.

    Parameters
    ----------
    own, other : ndarray of int, shape (n,)
        Training points of that label, and of the other, in the deciding region.
    n_own, n_other : int or ndarray of int
        The same in the whole training set.

    Returns
    -------
    ndarray of shape (n,)
        Above 0, at most 1.

    Examples
    --------
    Region 61 of the paper's figure for the Adult data holds 1 and 5 points:

    >>> trust_of(np.array([5]), np.array([1]), 204, 438).round(3).tolist()
    [0.737]
    """
    return np.asarray(1.0 / (1.0 + other * n_other / ((own + 1.0) * (n_own + 1.0))))


def share_of(own: Rows, other: Rows) -> FloatArray:
    """Return the smoothed share of a label in the deciding region.

    Examples
    --------
    >>> share_of(np.array([8]), np.array([0])).tolist()
    [0.9]
    """
    return np.asarray((own + 1.0) / (own + other + 2.0))


def lower_bound_of(own: Rows, other: Rows) -> FloatArray:
    """Return what the share of a label in the deciding region exceeds with a probability of 95 %.

    Every share is equally likely before the counts are seen, so that 2 points of 2 say less than 2000 of 2000.

    Examples
    --------
    >>> lower_bound_of(np.array([2, 2000]), np.array([0, 0])).round(3).tolist()
    [0.368, 0.999]
    """
    return np.asarray(betaincinv(own + 1.0, other + 1.0, _BELOW_BOUND))


@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """The outcome for n points, as numbers.

    Attributes
    ----------
    label : ndarray of int, shape (n,)
        Number of the class.
    trust : ndarray of shape (n,)
    proba : ndarray of shape (n, n_classes)
    counts : ndarray of int, shape (n, 2)
        Training points of the label, and of all others, in the deciding region.
    contested : ndarray of bool, shape (n,)
    problem : ndarray of int, shape (n,)
        Number of the binary problem whose partition decided.

    Examples
    --------
    >>> Decision.__slots__[:3]
    ('label', 'trust', 'proba')
    """

    label: Rows
    trust: FloatArray
    proba: FloatArray
    counts: Rows
    contested: NDArray[np.bool_]
    problem: Rows


def decide(verdicts: Sequence[Verdicts], rules: Sequence[Rules], class_counts: Rows, trust: str = "paper") -> Decision:
    """Choose a label for each point by the counts in the deciding region.

    Parameters
    ----------
    verdicts : sequence of Verdicts
        Of one binary problem (first class against second), or of one per class (that class against the rest).
    rules : sequence of Rules
        Of the same problems.
    class_counts : ndarray of int, shape (n_classes,)
        Training points of each class.
    trust : {"paper", "counts", "bound"}, default="paper"
        What stands for the trust: the paper's formula, the smoothed share of the label in the deciding region, or
        what that share exceeds with a probability of 95 %.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> X, side = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat([0, 1], 3)
    >>> rules = Rules(partition(X[:3], X[3:]), X, side, ("low", "high"))
    >>> decision = decide([rules.judge(np.array([[7.0]]))], [rules], np.array([3, 3]))
    >>> decision.label.tolist(), decision.trust.tolist(), decision.proba.tolist()
    ([1], [1.0], [[0.2, 0.8]])
    """
    if len(class_counts) == 2:
        decision = _decide_binary(verdicts[0], rules[0], class_counts)
    else:
        decision = _decide_among_several(verdicts, rules, class_counts)
    if trust == "counts":
        return replace(decision, trust=share_of(*decision.counts.T))
    return replace(decision, trust=lower_bound_of(*decision.counts.T)) if trust == "bound" else decision


def decide_by(proba: FloatArray, verdicts: Sequence[Verdicts]) -> Decision:
    """Choose the likeliest label for each point.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
    verdicts : sequence of Verdicts
        As for `decide`: what the deciding regions hold. A label that is outnumbered there is contested.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from sepc.partitioning import partition
    >>> X, side = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat([0, 1], 3)
    >>> rules = Rules(partition(X[:3], X[3:]), X, side, ("low", "high"))
    >>> decision = decide_by(np.array([[0.7, 0.3]]), [rules.judge(np.array([[7.0]]))])
    >>> decision.label.tolist(), decision.trust.tolist(), decision.counts.tolist(), decision.contested.tolist()
    ([0], [0.7], [[0, 3]], [True])
    """
    label = proba.argmax(axis=1)
    rows = np.arange(len(label))
    if len(verdicts) == 1:
        problem, own = np.zeros_like(label), label
    else:
        problem, own = label, np.zeros_like(label)
    by_side = np.stack([v.counts for v in verdicts])[problem, rows]
    counts = np.column_stack([by_side[rows, own], by_side[rows, 1 - own]])
    return Decision(label, proba[rows, label], proba, counts, counts[:, 0] <= counts[:, 1], problem)


def _sides(verdicts: Verdicts, n_a: int, n_b: int) -> tuple[Rows, FloatArray]:
    """Return which side each point belongs to, and the trust in that."""
    a, b = verdicts.counts.T
    trust_a, trust_b = trust_of(a, b, n_a, n_b), trust_of(b, a, n_b, n_a)
    prefers_b = (trust_b > trust_a) | ((trust_b == trust_a) & (n_b > n_a))
    # Where nothing is counted the label is theirs who shaped the region.
    prefers_b = np.where((a + b == 0) & (verdicts.owner >= 0), verdicts.owner == 1, prefers_b)
    side = np.where(a == b, prefers_b, b > a).astype(np.int64)
    return side, np.where(side == 0, trust_a, trust_b)


def _is_contested(verdicts: Verdicts, rules: Rules, side: Rows) -> NDArray[np.bool_]:
    """Return where the counts are equal, or an ellipsoid is outnumbered by points of the other label."""
    contested = verdicts.counts[:, 0] == verdicts.counts[:, 1]
    alone = verdicts.lead >= 0
    contested[alone] |= rules.sides[verdicts.lead[alone]] != side[alone]
    return np.asarray(contested)


def _decide_binary(verdicts: Verdicts, rules: Rules, class_counts: Rows) -> Decision:
    side, trust = _sides(verdicts, *class_counts.tolist())
    rows = np.arange(len(side))
    own, other = verdicts.counts[rows, side], verdicts.counts[rows, 1 - side]
    lead = np.where(own == other, _HAIR, 0.0)
    proba = np.empty((len(side), 2))
    proba[rows, side], proba[rows, 1 - side] = share_of(own, other) + lead, share_of(other, own) - lead
    contested = _is_contested(verdicts, rules, side)
    return Decision(side, trust, proba, np.column_stack([own, other]), contested, np.zeros_like(side))


def _decide_among_several(verdicts: Sequence[Verdicts], rules: Sequence[Rules], class_counts: Rows) -> Decision:
    total = int(class_counts.sum())
    share = np.column_stack([share_of(*v.counts.T) for v in verdicts])
    trust, contested = np.empty_like(share), np.empty(share.shape, dtype=bool)
    for k, (v, r, n) in enumerate(zip(verdicts, rules, class_counts.tolist(), strict=True)):
        side, in_side = _sides(v, n, total - n)
        trust[:, k] = np.where(side == 0, in_side, 1.0 - in_side)
        contested[:, k] = _is_contested(v, r, side)
    label = _first_best(share, trust, np.broadcast_to(class_counts, share.shape))
    rows = np.arange(len(label))
    proba = share / share.sum(axis=1, keepdims=True)
    tied = np.count_nonzero(share == share[rows, label][:, None], axis=1) > 1
    proba[rows[tied], label[tied]] += _HAIR
    proba[tied] /= 1.0 + _HAIR
    counts = np.stack([v.counts for v in verdicts])[label, rows]
    return Decision(label, trust[rows, label], proba, counts, contested[rows, label], label)


def _first_best(*criteria: NDArray[Any]) -> Rows:
    """Return the column that is largest by the first criterion; ties by the next ones, then the first column."""
    best = np.ones(criteria[0].shape, dtype=bool)
    for values in criteria:
        masked = np.where(best, values, -np.inf)
        best = masked == masked.max(axis=1, keepdims=True)
    return np.asarray(best.argmax(axis=1))


class Assessment:
    """One record per point: which label, how sure, why.

    Attributes
    ----------
    label : ndarray of shape (n,)
        One of the classes.
    trust : ndarray of shape (n,)
        Trust in that label.
    rule : ndarray of str, shape (n,)
        ``R1``: in exactly one ellipsoid. ``R2a``: in several whose intersection holds training points. ``R2b``: in
        several whose intersection holds none, so that their union decides. ``R3``: in none, so that the nearest is
        grown until it touches the point.
    reason : ndarray of str, shape (n,)
        ``contested`` (equal counts, or an ellipsoid outnumbered by the other label), else ``outside`` (R3),
        ``overlap`` (R2a, R2b) or ``inside`` (R1).
    region : ndarray of str, shape (n,)
        Name of the deciding region: ``benign#2`` is benign's second ellipsoid, ``&`` an intersection, ``|`` a union,
        ``~`` marks an ellipsoid that was grown, ``@`` an isolated training point.
    counts : ndarray of int, shape (n, 2)
        Training points of that label, and of all others, in the deciding region.
    distance : ndarray of shape (n,)
        To the nearest ellipsoid or isolated point, 0 inside of one; in standard deviations if the classifier
        standardises.
    error_bound : ndarray of shape (n,)
        The paper's bound on the error where ellipsoids of different labels overlap; NaN elsewhere.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]
    >>> a = SEPClassifier().fit(X, ["low"] * 3 + ["high"] * 3).assess([[1.5], [3.0]])
    >>> a.label.tolist(), a.reason.tolist(), a.region.tolist()
    (['low', 'low'], ['inside', 'outside'], ['low#1', '~low#1'])
    >>> a.accepted(min_trust=0.95, allow_outside=False).tolist()
    [True, False]
    """

    # What makes up an assessment; all the rest follows from it.
    _FIELDS: ClassVar[tuple[str, ...]] = (
        "label",
        "trust",
        "rule",
        "reason",
        "region",
        "counts",
        "distance",
        "error_bound",
    )

    def __init__(
        self,
        decision: Decision,
        verdicts: Sequence[Verdicts],
        rules: Sequence[Rules],
        classes: NDArray[Any],
        frames: FrameMaker,
    ) -> None:
        rows = np.arange(len(decision.label))
        rule, distance = (
            np.stack([getattr(v, field) for v in verdicts])[decision.problem, rows] for field in ("rule", "distance")
        )
        self.label = classes[decision.label]
        self.trust = decision.trust
        self.counts = decision.counts
        self.distance = distance
        self.rule = np.array([r.name for r in Rule])[rule]
        self.reason = self.reasons(rule, decision.contested)
        self._classes, self._problem = classes, decision.problem
        self._rules, self._regions = rules, [v.regions for v in verdicts]
        self._frames = frames

    @staticmethod
    def reasons(rule: Rows, contested: NDArray[np.bool_]) -> NDArray[np.str_]:
        """Return the reason that goes with each rule, or that the label is contested."""
        return np.array(REASONS)[np.where(contested, _CONTESTED, _REASON_OF_RULE[rule])]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the assessment of all points, those of the first part first.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> Assessment.joined([clf.assess([[0.5]]), clf.assess([[8.0]])]).label.tolist()
        [0, 1]
        """
        first = parts[0]
        whole = type(first).__new__(type(first))
        fields = {name: np.concatenate([getattr(part, name) for part in parts]) for name in first._FIELDS}
        frames = FrameMaker.joined([part._frames for part in parts])
        vars(whole).update(fields, _classes=first._classes, _frames=frames)
        return whole

    def taken(self, rows: Rows) -> Self:
        """Return the assessment of some of the points, of each as often as it is in `rows`, as for plain arrays.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).taken(np.array([1, 0, 1])).label.tolist()
        [1, 0, 1]
        """
        some = type(self).__new__(type(self))
        fields = {name: getattr(self, name)[rows] for name in self._FIELDS}
        vars(some).update(fields, _classes=self._classes, _frames=FrameMaker())
        return some

    def __getstate__(self) -> dict[str, Any]:
        # Copies for other processes hold what is said of the points, and no training records.
        return {name: getattr(self, name) for name in (*self._FIELDS, "_classes", "_frames")}

    def __len__(self) -> int:
        return len(self.trust)

    @cached_property
    def region(self) -> NDArray[np.object_]:
        """Name of the deciding region, shape (n,)."""
        region = np.empty(len(self), dtype=object)
        for k, rows in self._by_problem():
            region[rows] = self._regions[k].names(rows)
        return region

    @cached_property
    def error_bound(self) -> FloatArray:
        """The paper's bound on the error of the label where ellipsoids of different labels overlap, shape (n,).

        The overlapping coefficient of the two ellipsoids of different labels, around the point, that overlap most; each
        is read as a normal distribution. NaN where no two ellipsoids of different labels hold the point. It speaks of
        these two distributions, not of the classes as a whole.
        """
        bound = np.empty(len(self))
        for k, rows in self._by_problem():
            bound[rows] = self._rules[k].error_bounds(self._regions[k], rows)
        return bound

    def _by_problem(self) -> Iterator[tuple[int, Rows]]:
        for k in np.unique(self._problem).tolist():
            yield k, np.flatnonzero(self._problem == k)

    @property
    def odds(self) -> FloatArray:
        """Trust as odds, ``trust / (1 - trust)``; infinite for a trust of 1."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.trust / (1.0 - self.trust))

    def accepted(self, min_trust: float | Mapping[Any, float] = 0.95, allow_outside: bool = True) -> NDArray[np.bool_]:
        """Return which labels to accept; the others are for a person to look at.

        Parameters
        ----------
        min_trust : float or dict, default=0.95
            Trust from which a label is accepted, between 0 and 1; a dict gives one number for each label.
        allow_outside : bool, default=True
            Whether points outside every ellipsoid may be accepted.

        Returns
        -------
        ndarray of bool, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).accepted({0: 0.9, 1: 1.0}).tolist()
        [True, False]
        """
        enough = self.trust >= self.limits(min_trust)
        return enough if allow_outside else enough & (self.rule != Rule.R3.name)

    def label_or(self, abstain_label: Any, min_trust: float | Mapping[Any, float] = 0.95) -> NDArray[np.object_]:
        """Return the accepted labels, and `abstain_label` in place of the others.

        Parameters
        ----------
        abstain_label : object
        min_trust : float or dict, default=0.95
            As for `accepted`.

        Returns
        -------
        ndarray of object, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [3.5]]).label_or("unsure").tolist()
        [0, 'unsure']
        """
        labels = self.label.astype(object)
        labels[~self.accepted(min_trust)] = abstain_label
        return labels

    def limits(self, min_trust: float | Mapping[Any, float]) -> FloatArray:
        """Return the trust from which on each label is accepted, shape (n,).

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).limits({0: 0.9, 1: 0.8}).tolist()
        [0.9, 0.8]
        """
        if not isinstance(min_trust, Mapping):
            return np.full(len(self), _as_share(min_trust, "min_trust"))
        missing = [label for label in self._classes.tolist() if label not in min_trust]
        if missing:
            raise InputError(
                f"min_trust has no entry for {missing}; expected one number for each label. "
                "Add these labels, or give one number for all."
            )
        limits = np.empty(len(self))
        for label in self._classes.tolist():
            limits[self.label == label] = _as_share(min_trust[label], f"min_trust[{label!r}]")
        return limits

    def to_frame(self) -> Any:
        """Return one row per point as a data frame.

        A pandas or a polars frame, as the points came in; pandas for plain arrays. A pandas index is kept.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5]]).to_frame()[["label", "trust", "region", "n_label", "n_others"]].round(2)
           label  trust region  n_label  n_others
        0      0   0.99    0#1        3         0
        """
        return self._frames.frame(self._columns(), rows=True)

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "label": self.label,
            "trust": self.trust,
            "odds": self.odds,
            "rule": self.rule,
            "reason": self.reason,
            "region": self.region,
            "n_label": self.counts[:, 0],
            "n_others": self.counts[:, 1],
            "distance": self.distance,
        }

    def __repr__(self) -> str:
        words = [f"{np.count_nonzero(self.reason == reason)} {reason}" for reason in REASONS]
        return (
            f"Assessment of {len(self)} points: {', '.join(words)}; "
            f"{np.count_nonzero(self.trust >= 0.95)} with a trust of at least 0.95"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"


def _as_share(value: Any, name: str) -> float:
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    raise InputError(f"{name} is {value!r}; expected a number between 0 and 1, such as 0.95.")
