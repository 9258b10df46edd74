"""The assessment: one record for each new point, for a person to read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model import acceptance
from sepc.model.acceptance import BEYOND, DISAGREEMENT, NO_VALUES, MinTrust, Promise, Terms
from sepc.model.calibration import STRANGE
from sepc.model.decision import Decision, deciding_problem, label_counts
from sepc.model.reach import Reach
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule, Verdicts

REASONS = ("inside", "overlap", "outside", "contested", DISAGREEMENT, "strange", BEYOND, "incomplete", NO_VALUES)
# Reasons that are not mentioned where no record has them.
SELDOM = (BEYOND, DISAGREEMENT, "incomplete", NO_VALUES)

# Columns of what several models say: members of an ensemble, or another model and regions.
OF_SEVERAL = ("agreement", "given_label", "given_trust", "region_label", "region_trust")

Maker = Callable[["Assessment"], Any]


class Assessment:
    """One record per point: which label, how sure, why.

    Columns other than those of every decision are made on their first use.

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
        ``no values`` (all are missing), else ``beyond`` (see there), else ``strange`` (a typicality below 0.01), else
        ``disagreement`` (see `disagrees`), else ``contested`` (another label has a third of the probability or more;
        where counts decide: equal counts, or an ellipsoid outnumbered by the other label), else ``outside`` (R3),
        ``overlap`` (R2a, R2b), ``inside`` (R1) or ``incomplete`` (unknown).
    beyond : ndarray of object, shape (n,)
        Name of the column whose value lies beyond those of training by more than these justify, of several columns the
        one with the farthest value; None where there is none, as for the trust methods "paper", "counts" and "bound".
        About one in a hundred ordinary records has such a value: see `model.reach`.
    is_beyond : ndarray of bool, shape (n,)
        Whether there is such a column.
    sides : ndarray of int, shape (n, n_features)
        -1 where a value is smaller than all of training, 1 where it is larger, else 0; `out_of_range` counts them.
    disagrees : ndarray of bool, shape (n,)
        Whether, around another model whose labels are kept, a label other than the model's has the largest probability.
    contested : ndarray of bool, shape (n,)
        Whether the label is contested, strange or not.
    region : ndarray of str, shape (n,)
        Name of the deciding region: ``benign#2`` is benign's second ellipsoid, ``&`` an intersection, ``|`` a union,
        ``~`` marks an ellipsoid that was grown, ``@`` an isolated training point. Where nothing is grown, the region
        of a point outside has the plain name of the nearest ellipsoid, and its rule shows that it lies outside.
    counts : ndarray of int, shape (n, 2)
        Training points of that label, and of all others, in the deciding region; none where values are missing.
    distance : ndarray of shape (n,)
        To the nearest ellipsoid or isolated point, 0 inside of one; in standard deviations if the classifier
        standardises. NaN where values are missing.
    known : ndarray of shape (n,)
        Share of known features: 1 unless values are missing.
    typicality : ndarray of shape (n,)
        Share of the held-out training records that are at least as strange: near 0 is strange. By the density, or by
        a value that does not go with its class or with the other values (`model.relations`).
        NaN where it is not known: for other trust methods than "local".
    stability : ndarray of shape (n,)
        Share of the partitions with a held-out part of the training records that give the same label; NaN without any.
    main_region : ndarray of object, shape (n,)
        Name of the label's region that gives most of its probability; None where regions give none, as for other
        trust methods than "local" and "raw", and in ensembles.
    local_overlap : ndarray of shape (n,)
        How alike the ellipsoids of different labels that hold the point are there. Of two ellipsoids, each taken for a
        normal distribution, with the densities f and g at the point it is ``min(f, g) / (f + g)``; of several the
        largest: one half where nothing distinguishes them, near 0 where one of them is far the denser. NaN where no
        two ellipsoids of different labels hold the point. It bounds no error, and is no probability of one: it knows
        neither how frequent the labels are, nor the other ellipsoids around the point.
    expected_cost, asking_cost : ndarray of shape (n,)
        Expected costs of giving the label, and of abstaining; NaN where they are not known.
    agreement : ndarray of shape (n,)
        Of an ensemble alone: weight of the members whose own label is the same, as a share of all weight.
    given_label, given_trust, region_label, region_trust : ndarray of shape (n,)
        Around another model alone: the model's own label and its own probability of it, NaN where it gives none; the
        label of the regions by themselves, and its probability.
    odds : ndarray of shape (n,)
        Trust as odds, ``trust / (1 - trust)``; infinite for a trust of 1.
    promise : Promise or None
        The signed promise of the classifier that made it; by default it decides which labels are accepted.
    decision : Decision or None
        The labels and probabilities that it was made from; None of parts and of points that are not in memory.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]
    >>> a = SEPClassifier().fit(X, ["low"] * 3 + ["high"] * 3).assess([[1.5], [3.0]])
    >>> a.label.tolist(), a.reason.tolist(), a.region.tolist()
    (['low', 'low'], ['inside', 'outside'], ['low#1', '~low#1'])
    >>> a.accepted(min_trust=0.75, allow_outside=False).tolist()
    [True, False]
    """

    label: NDArray[Any]
    trust: FloatArray
    odds: FloatArray
    rule: NDArray[np.str_]
    reason: NDArray[np.str_]
    beyond: NDArray[np.object_]
    is_beyond: BoolArray
    sides: NDArray[np.int8]
    disagrees: BoolArray
    contested: BoolArray
    region: NDArray[np.object_]
    counts: IntArray
    distance: FloatArray
    typicality: FloatArray
    stability: FloatArray
    main_region: NDArray[np.object_]
    local_overlap: FloatArray
    expected_cost: FloatArray
    asking_cost: FloatArray
    known: FloatArray
    agreement: FloatArray
    model_key: str | None
    promise: Promise | None = None
    decision: Decision | None = None

    def __init__(
        self,
        columns: Mapping[str, Any],
        frames: FrameMaker,
        classes: NDArray[Any],
        has_regions: bool,
        has_costs: bool,
        key: Callable[[], str] | None = None,
        features: Sequence[str] = (),
    ) -> None:
        # A column is an array of any library, or a function of the assessment that makes it on its first use.
        self.names, self._frames = tuple(columns), frames
        self._makers: dict[str, Maker] = dict(DERIVED)
        self._makers |= {name: column for name, column in columns.items() if callable(column)}
        self._makers["model_key"] = lambda _: None if key is None else key()
        vars(self).update({name: column for name, column in columns.items() if not callable(column)})
        self.classes, self.has_regions, self.has_costs = classes, has_regions, has_costs
        self.features = tuple(features)

    @classmethod
    def of(
        cls,
        decision: Decision,
        verdicts: Sequence[Verdicts] | Callable[[], Sequence[Verdicts]],
        rules: Sequence[Rules],
        classes: NDArray[Any],
        frames: FrameMaker,
        stability: Callable[[], FloatArray] | None = None,
        main_region: Callable[[], NDArray[np.object_]] | None = None,
        key: Callable[[], str] | None = None,
        values: "ReachedValues | None" = None,
        more: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the assessment of points in memory by one partition.

        Parameters
        ----------
        decision : Decision
        verdicts : sequence of Verdicts, or callable
            Of each binary problem; a function returns them when a column first needs them.
        rules : sequence of Rules
            Of the same problems.
        classes : ndarray of shape (n_classes,)
        frames : FrameMaker
        stability, main_region, key : callable, optional
            Return the columns, and the key of the model.
        values : ReachedValues, optional
            The points in the units that they came in.
        more : mapping, optional
            Further columns.
        """
        columns = {
            **decision_columns(decision, classes),
            **_VerdictColumns(decision.label, verdicts, rules).makers(),
            "stability": stability_where_known(stability),
            "main_region": lambda a: np.full(len(a), None, dtype=object) if main_region is None else main_region(),
            **(_NOWHERE_BEYOND if values is None else values.makers()),
            **({} if more is None else more),
        }
        has_regions = any(len(r.sides) for r in rules)
        features = () if values is None else values.features
        made = cls(columns, frames, classes, has_regions, decision.cost is not None, key, features)
        made.decision = decision
        return made

    def __getattr__(self, name: str) -> Any:
        """Make a column on its first use."""
        makers = vars(self).get("_makers", {})
        if name not in makers:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        made = vars(self)[name] = makers[name](self)
        return made

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._makers]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the assessment of all points, those of the first part first."""
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in parts[0].names}
        return parts[0]._with_columns(columns, FrameMaker.joined([part._frames for part in parts]))

    def taken(self, rows: IntArray) -> Self:
        """Return the assessment of the points in `rows`, which may repeat, as for plain arrays."""
        return self._with_columns({name: getattr(self, name)[rows] for name in self.names}, FrameMaker())

    def _with_columns(self, columns: Mapping[str, Any], frames: FrameMaker) -> Self:
        """Return an assessment of other points by the same model."""
        other = type(self).__new__(type(self))
        Assessment.__init__(
            other, columns, frames, self.classes, self.has_regions, self.has_costs, features=self.features
        )
        other.model_key, other.promise = self.model_key, self.promise
        return other

    def __getstate__(self) -> dict[str, Any]:
        # Pickles hold the columns, and no training records.
        shared = ("classes", "has_regions", "has_costs", "model_key", "promise", "features")
        made = {name: getattr(self, name) for name in (*self.names, *shared)}
        return made | {"names": self.names, "_frames": self._frames, "_makers": dict(DERIVED)}

    def __len__(self) -> int:
        return int(self.trust.shape[0])

    def accepted(
        self,
        min_trust: MinTrust = None,
        min_typicality: float = STRANGE,
        allow_outside: bool = True,
        *,
        groups: Any = None,
    ) -> BoolArray:
        """Return which labels to accept; the others are for review.

        Accepted is a label that is trusted, of a point that is neither strange nor beyond reach (see `beyond`), and
        that is neither contested nor less likely than another (see `disagrees`). A point without any value has none,
        nor has a model without any region. Where costs are known, these decide in place of trust and contest: accepted
        is a label whose expected cost is at most that of abstaining, and that is trusted if `min_trust` is given.

        Parameters
        ----------
        min_trust : float, dict or promise, optional
            Trust from which a label is accepted, between 0 and 1; a dict gives one number for each label. What
            `sepc.select_min_trust` returns goes here as it is. By default the promise that the classifier has signed;
            without one 0 where costs are known, which then decide, else 0.95.
        min_typicality : float, default=0.01
            Typicality from which a label is accepted: about this share of ordinary points is refused as strange. A
            typicality that is not known refuses nothing. With 0 points beyond reach are accepted, too.
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
        return self._evaluated(acceptance.accepted, Terms(min_trust, min_typicality, allow_outside, groups))

    def refusals(
        self,
        min_trust: MinTrust = None,
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
            ``no values`` (all are missing), ``no region`` (the model has none), ``beyond``, ``strange``,
            ``disagreement``, ``contested``, ``outside`` (if it is not allowed), ``promise`` (of such records nothing is
            promised), ``trust`` (too low) or ``cost`` (abstaining costs less); None where the label is accepted.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [3.5], [4.0]]).refusals(min_trust=0.9).tolist()
        [None, 'contested', 'trust']
        """
        return self._evaluated(acceptance.refusals, Terms(min_trust, min_typicality, allow_outside, groups))

    def label_or(
        self, abstain_label: Any, min_trust: MinTrust = None, min_typicality: float = STRANGE, *, groups: Any = None
    ) -> NDArray[np.object_]:
        """Return the accepted labels, else `abstain_label`, shape (n,); parameters as for `accepted`.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier(trust="raw").fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [3.5]]).label_or("unsure").tolist()
        [0, 'unsure']
        """
        terms = Terms(min_trust, min_typicality, groups=groups)
        return self._evaluated(acceptance.label_or, terms, abstain_label)

    def _evaluated(self, question: Callable[..., NDArray[Any]], terms: Terms, *args: Any) -> NDArray[Any]:
        """Return what a function of `acceptance` returns; assessments elsewhere evaluate it where their columns are."""
        return question(self, terms, *args)

    def out_of_range(self) -> dict[str, tuple[int, int]]:
        """Return how many values of each feature are smaller, and how many larger, than all of training.

        Features without such values are left out. Labels are not refused for each of them: see `beyond`.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [10.0], [-900.0]]).out_of_range()
        {'x0': (1, 1)}
        """
        sides = np.asarray(self.sides)
        below, above = (np.count_nonzero(sides == side, axis=0).tolist() for side in (-1, 1))
        return {name: (m, n) for name, m, n in zip(self.features, below, above, strict=True) if m or n}

    def limits(self, min_trust: MinTrust = None, groups: Any = None) -> FloatArray:
        """Return the trust from which each label is accepted, shape (n,); infinite where nothing is promised."""
        return acceptance.trust_limits(self, min_trust, groups)

    def no_more_typical_than(self, typicality: FloatArray) -> Self:
        """Return the same assessment with typicalities, and reasons, that are at most these, shape (n,)."""
        return self.with_numbers(typicality=np.fmin(self.typicality, typicality))

    def with_numbers(self, **numbers: Any) -> Self:
        """Return the same assessment with other values of some columns, of shape (n,), and what follows from them."""
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))  # columns not yet made stay so
        for derived in set(DERIVED).difference(self.names):
            vars(other).pop(derived, None)
        vars(other).update({name: np.broadcast_to(values, len(self)) for name, values in numbers.items()})
        return other

    def to_frame(self) -> Any:
        """Return one row per point as a data frame.

        A pandas or a polars frame, as the points came in; pandas for plain arrays. A pandas index is kept.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5]]).to_frame()[["label", "trust", "region", "n_label", "n_others"]].round(2)
           label  trust region  n_label  n_others
        0      0    0.8    0#1        3         0
        """
        return self._frames.frame(self.shown(), rows=True)

    def shown(self) -> dict[str, NDArray[Any]]:
        """Return the columns that `to_frame` shows; some, such as `main_region`, are attributes only."""
        costs = ("expected_cost", "asking_cost") if self.has_costs else ()
        names = ("distance", "typicality", "stability", *costs, *[n for n in self.names if n in OF_SEVERAL])
        return {
            **{name: getattr(self, name) for name in ("label", "trust", "odds", "rule", "reason", "region")},
            "n_label": self.counts[:, 0],
            "n_others": self.counts[:, 1],
            **{name: getattr(self, name) for name in names},
        }

    def __repr__(self) -> str:
        counts = {reason: np.count_nonzero(self.reason == reason) for reason in REASONS}
        words = [f"{n} {reason}" for reason, n in counts.items() if n or reason not in SELDOM]
        return (
            f"Assessment of {len(self)} points: {', '.join(words)}; "
            f"{np.count_nonzero(self.trust >= 0.95)} with a trust of at least 0.95"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"


class ReachedValues(NamedTuple):
    """Points of shape (n, d) in the units that they came in, the names of their features, and the model's reach."""

    X: FloatArray
    features: Sequence[str]
    reach: Reach

    def makers(self) -> dict[str, Maker]:
        """Return makers of the columns on values beyond those of training."""
        return {
            "beyond": lambda _: self.reach.named(self.X, self.features),
            "sides": lambda _: self.reach.sides(self.X),
        }


# Where the points are not known as they came.
_NOWHERE_BEYOND: dict[str, Maker] = {
    "beyond": lambda a: np.full(len(a), None, dtype=object),
    "sides": lambda a: np.empty((len(a), 0), dtype=np.int8),
}


def _odds(a: Assessment) -> FloatArray:
    with np.errstate(divide="ignore"):
        return a.trust / (1.0 - a.trust)


def _reason(a: Assessment) -> NDArray[np.str_]:
    """Return the first that holds: no value, beyond, strange, disagreement, contested, or the reason of the rule."""
    holds = [
        a.known == 0.0,
        a.is_beyond,
        a.typicality < STRANGE,
        a.disagrees,
        a.contested,
        a.rule == Rule.R1.name,
        a.rule == Rule.R3.name,
        a.rule == Rule.unknown.name,
    ]
    names = [NO_VALUES, BEYOND, "strange", DISAGREEMENT, "contested", "inside", "outside", "incomplete"]
    which = np.select(holds, [REASONS.index(name) for name in names], REASONS.index("overlap"))
    return np.asarray(np.array(REASONS)[which])


def _disagrees(a: Assessment) -> BoolArray:
    return a.contested & False  # of the same library, wherever the columns are


def _is_beyond(a: Assessment) -> BoolArray:
    return np.asarray(a.beyond != None, dtype=bool)  # noqa: E711


# Columns that follow from others.
DERIVED: dict[str, Maker] = {"odds": _odds, "reason": _reason, "is_beyond": _is_beyond, "disagrees": _disagrees}


def decision_columns(decision: Decision, classes: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of an assessment that a decision has; columns may also be functions that make them."""
    unknown = np.full(len(decision.label), np.nan)
    return {
        "label": classes[decision.label],
        "trust": decision.trust,
        "contested": decision.contested,
        "typicality": unknown if decision.typicality is None else decision.typicality,
        "known": np.ones(len(unknown)) if decision.known is None else decision.known,
        "expected_cost": unknown if decision.cost is None else decision.cost,
        "asking_cost": unknown if decision.asking is None else decision.asking,
    }


def stability_where_known(stability: Callable[[], FloatArray] | None) -> Maker:
    """Return a maker of the column: NaN without other partitions, or without any known value."""
    return lambda a: np.where(a.known > 0.0, np.nan if stability is None else stability(), np.nan)


class _VerdictColumns:
    """The columns of an assessment that come from the verdicts of the binary problems on labels, shape (n,)."""

    def __init__(
        self,
        label: IntArray,
        verdicts: Sequence[Verdicts] | Callable[[], Sequence[Verdicts]],
        rules: Sequence[Rules],
    ) -> None:
        self._label, self._given, self._rules = label, verdicts, rules

    def makers(self) -> dict[str, Maker]:
        """Return makers of the columns."""
        return {
            "rule": lambda _: np.array([r.name for r in Rule])[self._deciding("rule")],
            "distance": lambda _: self._deciding("distance"),
            "counts": lambda _: label_counts(self._label, self._verdicts),
            "region": self._region,
            "local_overlap": self._local_overlap,
        }

    @cached_property
    def _verdicts(self) -> Sequence[Verdicts]:
        return self._given() if callable(self._given) else self._given

    @cached_property
    def _problem(self) -> IntArray:
        """The problem that decides each label."""
        return deciding_problem(self._label, len(self._rules))[0]

    def _deciding(self, field: str) -> Any:
        """Return what the deciding problem's verdict on each point has in a field."""
        return np.stack([getattr(v, field) for v in self._verdicts])[self._problem, np.arange(len(self._label))]

    def _by_problem(self) -> Iterator[tuple[int, IntArray]]:
        for k in np.unique(self._problem).tolist():
            yield k, np.flatnonzero(self._problem == k)

    def _region(self, a: Assessment) -> NDArray[np.object_]:
        region = np.empty(len(a), dtype=object)
        for k, rows in self._by_problem():
            region[rows] = self._verdicts[k].regions.names(rows)
        return region

    def _local_overlap(self, a: Assessment) -> FloatArray:
        overlap = np.full(len(a), np.nan)
        for k, rows in self._by_problem():
            between = rows[self._verdicts[k].between_labels[rows]]
            overlap[between] = self._rules[k].local_overlaps(self._verdicts[k].points[between])
        return overlap
