"""The assessment: one record for each new point, for a person to read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.calibration import STRANGE
from sepc.model.decision import Decision, deciding_problem, label_counts
from sepc.model.promise import Promise
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule, Verdicts

REASONS = ("inside", "overlap", "outside", "contested", "strange", "incomplete", "no values")
_REASON_OF_RULE = np.array([0, 1, 1, 2, 5])  # R1, R2a, R2b, R3, unknown
_CONTESTED, _STRANGE, _NO_VALUES = 3, 4, 6

# Why a label is not accepted; of several reasons the first.
NO_REGION, IS_STRANGE, IS_CONTESTED, IS_OUTSIDE, LOW_TRUST = "no region", "strange", "contested", "outside", "trust"
TOO_DEAR, NO_VALUES, NO_PROMISE = "cost", REASONS[_NO_VALUES], "promise"
# Reasons of records with gaps: nothing is said of them where there are none.
OF_GAPS = ("incomplete", NO_VALUES)
REFUSALS = {
    NO_VALUES: "all values of the record are missing",
    NO_REGION: "the model has no region to stand on",
    IS_STRANGE: "the record is strange",
    IS_CONTESTED: "another label is nearly as likely, or the records there are divided",
    IS_OUTSIDE: "the record is outside of every region",
    NO_PROMISE: "nothing is promised of such records",
    LOW_TRUST: "the trust is too low",
    TOO_DEAR: "asking a person costs less",
}


class UsualTrust(float):
    """Trust from which a label is accepted if nobody asks for another; where costs decide, none is needed."""


USUAL_TRUST = UsualTrust(0.95)
# What holds for all points of an assessment alike.
_OF_MODEL = ("_classes", "_has_regions", "_has_costs", "model_key")


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
        several whose intersection holds none, so that their union decides. ``R3``: in none, so that the nearest
        decides: as it is if the trust is the paper's, else grown until it touches the point. ``unknown``: values are
        missing, and with some of the values that could stand there the point would lie in an ellipsoid.
    reason : ndarray of str, shape (n,)
        ``no values`` (all are missing), else ``strange`` (a typicality below 0.01), else ``contested`` (another label
        has a third of the probability or more; where counts decide: equal counts, or an ellipsoid outnumbered by the
        other label), else ``outside`` (R3), ``overlap`` (R2a, R2b), ``inside`` (R1) or ``incomplete`` (unknown).
    contested : ndarray of bool, shape (n,)
        Whether the label is contested, strange or not.
    region : ndarray of str, shape (n,)
        Name of the deciding region: ``benign#2`` is benign's second ellipsoid, ``&`` an intersection, ``|`` a union,
        ``~`` marks an ellipsoid that was grown, ``@`` an isolated training point. Where nothing is grown, the region
        of a point outside has the plain name of the nearest ellipsoid, and its rule tells that it lies outside.
    counts : ndarray of int, shape (n, 2)
        Training points of that label, and of all others, in the deciding region; none where values are missing.
    distance : ndarray of shape (n,)
        To the nearest ellipsoid or isolated point, 0 inside of one; in standard deviations if the classifier
        standardises. NaN where values are missing.
    known : ndarray of shape (n,)
        Share of the features that are there: 1 unless values are missing.
    typicality : ndarray of shape (n,)
        Share of the training records, each judged by a partition that had not seen it, that are at least as strange:
        near 0 is strange. NaN where it is not known: for other readings than "local".
    stability : ndarray of shape (n,)
        Share of the partitions without a part of the training records that give the same label, made when it is asked
        for; NaN where there are none.
    main_region : ndarray of object, shape (n,)
        Name of the label's region that gives most of its probability, made when it is asked for; None where regions
        give none, as for other readings than "local" and "raw", and in ensembles.
    local_overlap : ndarray of shape (n,)
        How alike the ellipsoids of different labels that hold the point are there, up to one half; NaN where no two do.
    expected_cost, asking_cost : ndarray of shape (n,)
        What giving the label, and asking a person instead, can be expected to cost; NaN where it is not known.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]
    >>> a = SEPClassifier().fit(X, ["low"] * 3 + ["high"] * 3).assess([[1.5], [3.0]])
    >>> a.label.tolist(), a.reason.tolist(), a.region.tolist()
    (['low', 'low'], ['inside', 'outside'], ['low#1', '~low#1'])
    >>> a.accepted(min_trust=0.9, allow_outside=False).tolist()
    [True, False]
    """

    # What makes up an assessment; all the rest follows from it.
    _FIELDS: ClassVar[tuple[str, ...]] = (
        "label",
        "trust",
        "rule",
        "reason",
        "contested",
        "region",
        "counts",
        "distance",
        "typicality",
        "stability",
        "main_region",
        "local_overlap",
        "expected_cost",
        "asking_cost",
        "known",
    )

    def __init__(
        self,
        decision: Decision,
        verdicts: Sequence[Verdicts],
        rules: Sequence[Rules],
        classes: NDArray[Any],
        frames: FrameMaker,
        stability: Callable[[], FloatArray] | None = None,
        main_region: Callable[[], NDArray[np.object_]] | None = None,
        key: Callable[[], str] | None = None,
    ) -> None:
        problem = deciding_problem(decision.label, len(verdicts))[0]
        rows = np.arange(len(problem))
        rule, distance = (
            np.stack([getattr(v, field) for v in verdicts])[problem, rows] for field in ("rule", "distance")
        )
        self.label = classes[decision.label]
        self.trust = decision.trust
        self.counts = label_counts(decision.label, verdicts)
        self.distance = distance
        self.rule = np.array([r.name for r in Rule])[rule]
        self.typicality = np.full(len(rows), np.nan) if decision.typicality is None else decision.typicality
        self.known = np.ones(len(rows)) if decision.known is None else decision.known
        self.reason = self.reasons(rule, decision.contested, self.typicality, self.known)
        self._classes, self._problem = classes, problem
        self._rules, self._verdicts, self._stability = rules, verdicts, stability
        self._main_region, self._key = main_region, key
        self._frames = frames
        self.contested, self._has_regions = decision.contested, any(len(r.sides) for r in rules)
        self._take_costs(decision)

    def _take_costs(self, decision: Decision) -> None:
        """Take over what labels, and asking a person, can be expected to cost."""
        unknown = np.full(len(self), np.nan)
        self._has_costs = decision.cost is not None
        self.expected_cost = unknown if decision.cost is None else decision.cost
        self.asking_cost = unknown if decision.asking is None else decision.asking

    @staticmethod
    def reasons(rule: IntArray, contested: BoolArray, typicality: FloatArray, known: FloatArray) -> NDArray[np.str_]:
        """Return the reason that goes with each rule, or that the label is contested, or the point strange or empty."""
        reason = np.where(contested, _CONTESTED, _REASON_OF_RULE[rule])
        reason = np.where(typicality < STRANGE, _STRANGE, reason)
        return np.array(REASONS)[np.where(known > 0.0, reason, _NO_VALUES)]

    @cached_property
    def stability(self) -> FloatArray:
        """Share of the partitions without a part of the training records that give the same label, shape (n,)."""
        unknown = np.full(len(self), np.nan)
        # Where no value is known there is nothing to agree on.
        return unknown if self._stability is None else np.where(self.known > 0.0, self._stability(), unknown)

    @cached_property
    def main_region(self) -> NDArray[np.object_]:
        """Name of the label's region that gives most of its probability, shape (n,); None where regions give none."""
        return np.full(len(self), None, dtype=object) if self._main_region is None else self._main_region()

    @cached_property
    def model_key(self) -> str | None:
        """What tells the model that made it from others; None where that is not known."""
        return None if self._key is None else self._key()

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
        vars(whole).update(fields, **first._of_model(), _frames=frames)
        return whole

    def taken(self, rows: IntArray) -> Self:
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
        vars(some).update(fields, **self._of_model(), _frames=FrameMaker())
        return some

    def __getstate__(self) -> dict[str, Any]:
        # Copies for other processes hold what is said of the points, and no training records.
        return {name: getattr(self, name) for name in (*self._FIELDS, "_frames")} | self._of_model()

    def _of_model(self) -> dict[str, Any]:
        """Return what holds for all points alike."""
        return {name: getattr(self, name) for name in _OF_MODEL}

    def __len__(self) -> int:
        return len(self.trust)

    @cached_property
    def region(self) -> NDArray[np.object_]:
        """Name of the deciding region, shape (n,)."""
        region = np.empty(len(self), dtype=object)
        for k, rows in self._by_problem():
            region[rows] = self._verdicts[k].regions.names(rows)
        return region

    @cached_property
    def local_overlap(self) -> FloatArray:
        """How alike the ellipsoids of different labels that hold the point are there, shape (n,).

        Two ellipsoids, each read as a normal distribution, have densities f and g at the point; the number is
        ``min(f, g) / (f + g)`` of the two of different labels that hold the point and are most alike there: one half
        where nothing tells them apart, next to 0 where one of them is far the denser. NaN where no two ellipsoids of
        different labels hold the point.

        It compares two densities at one point. It bounds no error, and is no probability of one: it knows neither how
        frequent the labels are, nor the other ellipsoids around the point.
        """
        overlap = np.full(len(self), np.nan)
        for k, rows in self._by_problem():
            between = rows[self._verdicts[k].between_labels[rows]]
            overlap[between] = self._rules[k].local_overlaps(self._verdicts[k].points[between])
        return overlap

    def _by_problem(self) -> Iterator[tuple[int, IntArray]]:
        for k in np.unique(self._problem).tolist():
            yield k, np.flatnonzero(self._problem == k)

    @property
    def odds(self) -> FloatArray:
        """Trust as odds, ``trust / (1 - trust)``; infinite for a trust of 1."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.trust / (1.0 - self.trust))

    def accepted(
        self,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        allow_outside: bool = True,
        *,
        groups: Any = None,
    ) -> BoolArray:
        """Return which labels to accept; the others are for a person to look at.

        Accepted is a label that is trusted, of a point that is not strange, and that is not contested. A point without
        any value has none, nor has a model without any region. Where costs are known, these decide in place of trust
        and contest: accepted is a label that can be expected to cost no more than asking a person, and that is trusted
        if a trust is asked for.

        Parameters
        ----------
        min_trust : float, dict or promise, default=0.95
            Trust from which a label is accepted, between 0 and 1; a dict gives one number for each label. What
            `sepc.select_min_trust` returns goes here as it is. By default 0 where costs are known.
        min_typicality : float, default=0.01
            Typicality from which a label is accepted: about this share of ordinary points is refused as strange. A
            typicality that is not known refuses nothing.
        allow_outside : bool, default=True
            Whether points outside every ellipsoid may be accepted.
        groups : array-like of shape (n,) or (n, n_groups), optional
            The groups that the points belong to, if the promise goes by groups.

        Returns
        -------
        ndarray of bool, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).accepted({0: 0.9, 1: 1.0}).tolist()
        [True, False]
        """
        refused = self._refused(min_trust, min_typicality, allow_outside, groups)
        return np.asarray(~np.logical_or.reduce(list(refused.values())))

    def refusals(
        self,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        allow_outside: bool = True,
        *,
        groups: Any = None,
    ) -> NDArray[np.object_]:
        """Return why labels are not accepted, of several reasons the first.

        Parameters
        ----------
        min_trust, min_typicality, allow_outside, groups
            As for `accepted`.

        Returns
        -------
        ndarray of object, shape (n,)
            ``no values`` (all are missing), ``no region`` (the model has none), ``strange``, ``contested``, ``outside``
            (if it is not allowed), ``promise`` (of such records nothing is promised), ``trust`` (too low) or ``cost``
            (asking a person costs less); None where the label is accepted.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [3.5], [4.0]]).refusals(min_trust=0.9).tolist()
        [None, 'contested', 'trust']
        """
        why = np.full(len(self), None, dtype=object)
        refused = self._refused(min_trust, min_typicality, allow_outside, groups)
        for reason in reversed(REFUSALS):
            why[refused[reason]] = reason
        return why

    def _refused(
        self,
        min_trust: float | Mapping[Any, float] | Promise,
        min_typicality: float,
        allow_outside: bool,
        groups: Any,
    ) -> dict[str, BoolArray]:
        """Return which points are refused, by reason, each of shape (n,)."""
        limits, least = self.limits(min_trust, groups), _as_share(min_typicality, "min_typicality")
        return {
            NO_VALUES: self.known == 0.0,
            NO_REGION: np.full(len(self), not self._has_regions),
            IS_STRANGE: self.typicality < least,
            IS_CONTESTED: self.contested & (not self._has_costs),
            IS_OUTSIDE: (self.rule == Rule.R3.name) & (not allow_outside),
            NO_PROMISE: np.isinf(limits),
            LOW_TRUST: self.trust < limits,
            TOO_DEAR: self.expected_cost > self.asking_cost,
        }

    def label_or(
        self,
        abstain_label: Any,
        min_trust: float | Mapping[Any, float] | Promise = USUAL_TRUST,
        min_typicality: float = STRANGE,
        *,
        groups: Any = None,
    ) -> NDArray[np.object_]:
        """Return the accepted labels, and `abstain_label` in place of the others.

        Parameters
        ----------
        abstain_label : object
        min_trust : float, dict or promise, default=0.95
        min_typicality : float, default=0.01
        groups : array-like, optional
            As for `accepted`.

        Returns
        -------
        ndarray of object, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [3.5]]).label_or("unsure").tolist()
        [0, 'unsure']
        """
        labels = self.label.astype(object)
        labels[~self.accepted(min_trust, min_typicality, groups=groups)] = abstain_label
        return labels

    def no_more_typical_than(self, typicality: FloatArray) -> Self:
        """Return the same assessment with typicalities that are at most these, shape (n,); what is strange says so.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).no_more_typical_than(np.array([0.0, 1.0])).reason.tolist()
        ['strange', 'inside']
        """
        return self.with_numbers(typicality=np.fmin(self.typicality, typicality))

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same assessment with other values of some fields, of shape (n,), and the reasons that follow."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))  # what is made when it is asked for stays so
        for name, values in numbers.items():
            setattr(other, name, np.broadcast_to(values, len(self)))
        rule = np.array([Rule[name] for name in self.rule], dtype=np.int64)
        other.reason = self.reasons(rule, other.contested, other.typicality, other.known)
        return other

    def limits(self, min_trust: float | Mapping[Any, float] | Promise, groups: Any = None) -> FloatArray:
        """Return the trust from which on each label is accepted, shape (n,); infinite where nothing is promised.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [8.0]]).limits({0: 0.9, 1: 0.8}).tolist()
        [0.9, 0.8]
        """
        if isinstance(min_trust, Promise):
            return min_trust.limits(self, groups)
        if groups is not None:
            raise InputError(
                f"groups were given, and min_trust={min_trust!r} does not ask for them; expected a promise by groups "
                "in its place. Pass what select_min_trust(..., by=groups) returned."
            )
        if isinstance(min_trust, UsualTrust) and self._has_costs:
            return np.zeros(len(self))
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
        0      0   0.92    0#1        3         0
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
            "typicality": self.typicality,
            "stability": self.stability,
            **({"expected_cost": self.expected_cost, "asking_cost": self.asking_cost} if self._has_costs else {}),
        }

    def __repr__(self) -> str:
        counts = {reason: np.count_nonzero(self.reason == reason) for reason in REASONS}
        words = [f"{n} {reason}" for reason, n in counts.items() if n or reason not in OF_GAPS]
        return (
            f"Assessment of {len(self)} points: {', '.join(words)}; "
            f"{np.count_nonzero(self.trust >= 0.95)} with a trust of at least 0.95"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"


def _as_share(value: Any, name: str) -> float:
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0.0 <= value <= 1.0:
        return float(value)
    if value is None:
        raise InputError(
            f"{name} is None, as select_min_trust returns it where no threshold can promise what was asked; expected a "
            "number between 0 and 1. Accept no label, or ask for a promise that can be kept."
        )
    raise InputError(f"{name} is {value!r}; expected a number between 0 and 1, such as 0.95.")
