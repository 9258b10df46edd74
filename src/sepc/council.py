"""What the fit of an ensemble leaves behind: members, the weights of their opinions, and who leads where."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.assessment import Assessment
from sepc.census import records_are_missing
from sepc.frames import FrameMaker
from sepc.geometry._checks import FloatArray, Rows
from sepc.members import Member, log_probability
from sepc.model import Model, Outcome, Outline, TrainingRecords
from sepc.rules import Rule, Rules, Verdicts
from sepc.stacking import Stack
from sepc.views import PLAIN, Views

# A label is contested where members with more than this share of the weight have another one.
_DISSENT = 1.0 / 3.0
_PART_NAMES = "abc"


class Lead(NamedTuple):
    """What one part of a member says of some points.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which points.
    regions : ndarray of str, shape (n,)
        The regions that they most likely belong to, with the member and the part.
    counts : ndarray of int, shape (n, 2)
        Training points that were left out and belong there, too: of the label, and of all others.
    verdicts : Verdicts
        Where the points lie, by the rules of the paper; what grown ellipsoids hold is not counted.
    rules : Rules
        That gave these verdicts.

    Examples
    --------
    >>> Lead._fields
    ('rows', 'regions', 'counts', 'verdicts', 'rules')
    """

    rows: Rows
    regions: NDArray[np.object_]
    counts: Rows
    verdicts: Verdicts
    rules: Rules


class Evidence(NamedTuple):
    """What the members say of n points.

    Attributes
    ----------
    opinions : ndarray of shape (n_members, n, n_classes)
        Log probabilities.
    added : ndarray of shape (n_members, n)
        What each adds to the log odds of the label against the likeliest other one.
    label, other : ndarray of int, shape (n,)
        Numbers of these two classes.
    trust : ndarray of shape (n,)
        Probability of the label.

    Examples
    --------
    >>> Evidence._fields
    ('opinions', 'added', 'label', 'other', 'trust')
    """

    opinions: FloatArray
    added: FloatArray
    label: Rows
    other: Rows
    trust: FloatArray


@dataclass(frozen=True, eq=False)
class Council:
    """An ensemble that judges points in their original units.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    features : list of str
    views : Views
    class_count : ndarray of int, shape (n_classes,)
        Training points of each class.
    records : pair of TrainingRecords, or None
        The training points in both views; None where they were left out.
    outline : Outline
        Of the plain view.
    members : list of Member
    stack : Stack
    known : dict of (int, int) to list of Rules
        Of those parts of members that were asked for by now; of all of them where the records were left out.

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
    >>> council = SEPEnsembleClassifier(n_estimators=2).fit(X, [0] * 4 + [1] * 4)._model
    >>> council.outcome(np.array([[1.0], [8.0]])).label.tolist()
    [0, 1]
    """

    classes: NDArray[Any]
    class_count: Rows
    features: list[str]
    views: Views
    records: tuple[TrainingRecords, TrainingRecords] | None
    outline: Outline
    members: list[Member]
    stack: Stack
    known: dict[tuple[int, int], list[Rules]] = field(default_factory=dict, repr=False)

    def units(self, X: FloatArray) -> FloatArray:
        """Return the points as they are: each member has units of its own."""
        return X

    def opinions(self, X: FloatArray) -> FloatArray:
        """Return each member's log probabilities, shape (n_members, n, n_classes)."""
        views = self.views(X)
        return np.stack([member.opinion(views) for member in self.members])

    def outcome(self, X: FloatArray) -> Outcome:
        """Return labels, trust and probabilities."""
        views = self.views(X)
        proba = self.stack.posterior(member.opinion(views) for member in self.members)
        return Outcome(proba.argmax(axis=1), proba.max(axis=1), proba)

    def evidence(self, X: FloatArray) -> Evidence:
        """Return what each member adds to the log odds of the label against the likeliest other one."""
        opinions = self.opinions(X)
        proba = self.stack.posterior(opinions)
        label, trust, every = proba.argmax(axis=1), proba.max(axis=1), np.arange(len(X))
        proba[every, label] = -1.0
        other = proba.argmax(axis=1)
        added = self.stack.weights[:, None] * (opinions[:, every, label] - opinions[:, every, other])
        return Evidence(opinions, added, label, other, trust)

    def rules(self, member: int, part: int) -> list[Rules]:
        """Return the rules of a part of a member; kept once they were asked for."""
        if (member, part) not in self.known:
            if self.records is None:
                raise records_are_missing("this")
            points = [records.points for records in self.records]
            self.known[member, part] = self.members[member].rules(points, self.records[PLAIN].codes, part)
        return self.known[member, part]

    def leads(self, X: FloatArray, label: Rows, other: Rows, leader: Rows) -> Iterator[Lead]:
        """Yield what the leading member of each point says of it, by the part that speaks most clearly.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        label, other : ndarray of int, shape (n,)
            The label, and the one it is held against.
        leader : ndarray of int, shape (n,)
            Number of the member.
        """
        views = self.views(X)
        for m in np.unique(leader).tolist():
            plan = self.members[m].plan
            mine = np.flatnonzero(leader == m)
            points = views[plan.view][mine][:, plan.features]
            said = np.stack([log_probability(part.densities, points) for part in self.members[m].parts])
            every = np.arange(len(mine))
            clearest = (said[:, every, label[mine]] - said[:, every, other[mine]]).argmax(axis=0)
            for part in np.unique(clearest).tolist():
                for k in np.unique(label[mine[clearest == part]]).tolist():
                    chosen = (clearest == part) & (label[mine] == k)
                    yield self._lead(m, part, k, mine[chosen], points[chosen])

    def _lead(self, member: int, part: int, label: int, rows: Rows, points: FloatArray) -> Lead:
        known = self.rules(member, part)
        rules = known[0] if len(known) == 1 else known[label]
        chosen = self.members[member].parts[part]
        claims = chosen.densities.claims(points)
        regions = np.array([self.region_name(member, part, chosen.names[c]) for c in claims], dtype=object)
        held, own = chosen.claimed[claims].sum(axis=1), chosen.claimed[claims, label]
        return Lead(rows, regions, np.column_stack([own, held - own]), rules.judge(points, count_outside=False), rules)

    def region_name(self, member: int, part: int, region: str) -> str:
        """Return the name of a region with the member and the part that it belongs to."""
        return f"{member + 1}{_PART_NAMES[part]}:{region}"

    def assess(self, X: FloatArray, frames: FrameMaker) -> "CouncilAssessment":
        """Return a full record of each point."""
        return CouncilAssessment(self, X, frames)

    def for_outcomes(self) -> Self:
        """Return the same council without what outcomes do not need."""
        return replace(self, records=None, known={})

    def for_assessments(self) -> Self:
        """Return the council as it is: it counts its records when it is asked to."""
        return self

    @cached_property
    def plain(self) -> "PlainCouncil":
        """The same council, asked in standard deviations of the features."""
        return PlainCouncil.of(self)


class CouncilAssessment(Assessment):
    """One record per point; region, rule, counts and distance are those of the member that speaks most for the label.

    Attributes
    ----------
    counts : ndarray of int, shape (n, 2)
        Training points of the label, and of all others, that belong to the same region and did not shape it.
    agreement : ndarray of shape (n,)
        Weight of the members whose own label is the same, as a share of all weight.

    Examples
    --------
    >>> from sepc import SEPEnsembleClassifier
    >>> X = [[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]]
    >>> a = SEPEnsembleClassifier(n_estimators=2).fit(X, ["low"] * 4 + ["high"] * 4).assess([[1.0], [8.0]])
    >>> a.label.tolist(), a.agreement.tolist()
    (['low', 'high'], [1.0, 1.0])
    """

    _FIELDS: ClassVar[tuple[str, ...]] = (*Assessment._FIELDS, "agreement")

    def __init__(self, council: Council, X: FloatArray, frames: FrameMaker) -> None:
        said = council.evidence(X)
        n = len(said.label)
        self.label, self.trust = council.classes[said.label], said.trust
        self.counts, self.distance = np.zeros((n, 2), dtype=np.int64), np.zeros(n)
        rule = np.zeros(n, dtype=np.int64)
        self._leads = list(council.leads(X, said.label, said.other, said.added.argmax(axis=0)))
        for lead in self._leads:
            self.counts[lead.rows], rule[lead.rows] = lead.counts, lead.verdicts.rule
            self.distance[lead.rows] = lead.verdicts.distance
        self.agreement = _agreement(council.stack.weights, said.opinions.argmax(axis=2) == said.label)
        outnumbered = self.counts[:, 0] < self.counts[:, 1]
        self.rule = np.array([r.name for r in Rule])[rule]
        self.reason = self.reasons(rule, outnumbered | (self.agreement < 1.0 - _DISSENT))
        self._classes, self._frames = council.classes, frames

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {**super()._columns(), "agreement": self.agreement}

    @cached_property
    def region(self) -> NDArray[np.object_]:
        """The region that the point most likely belongs to, by the member that speaks most for the label, shape (n,).

        ``4b:benign#2`` is the second ellipsoid of benign in the second part of the fourth member.
        """
        region = np.empty(len(self), dtype=object)
        for lead in self._leads:
            region[lead.rows] = lead.regions
        return region

    @cached_property
    def error_bound(self) -> FloatArray:
        """The paper's bound on the error in that member's overlap of ellipsoids, shape (n,); NaN elsewhere."""
        bound = np.empty(len(self))
        for lead in self._leads:
            every = np.arange(len(lead.rows))
            bound[lead.rows] = lead.rules.error_bounds(lead.verdicts.regions, every)
        return bound


def _agreement(weights: FloatArray, same: NDArray[np.bool_]) -> FloatArray:
    """Return the share of the weight whose members have the same label; all count alike if none has any weight."""
    worth = weights if weights.any() else np.ones_like(weights)
    return np.asarray((worth[:, None] * same).sum(axis=0) / worth.sum())


@dataclass(frozen=True, eq=False)
class PlainCouncil(Model):
    """A council that is asked in standard deviations of the features, for distances between records.

    Examples
    --------
    >>> issubclass(PlainCouncil, Model)
    True
    """

    council: Council

    @classmethod
    def of(cls, council: Council) -> "PlainCouncil":
        """Return the council in other units."""
        return cls(
            classes=council.classes,
            class_count=council.class_count,
            features=council.features,
            mean=council.views.mean[PLAIN],
            scale=council.views.scale[PLAIN],
            unit="standard deviations",
            records=None if council.records is None else council.records[PLAIN],
            outline=council.outline,
            rules=[],
            trust="ensemble",
            densities=None,
            council=council,
        )

    def outcome_of(self, X: FloatArray) -> Outcome:
        """Return labels, trust and probabilities of points in the units that they came in."""
        return self.council.outcome(X)

    def assess_of(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point in the units that it came in."""
        return self.council.assess(X, frames)


def member_name(number: int, features: Sequence[str]) -> str:
    """Return what a member is called in texts.

    Examples
    --------
    >>> member_name(0, ["age", "income", "debt", "rent"])
    'member 1 (age, income, debt and 1 more)'
    """
    first = ", ".join(features[:3])
    rest = f" and {len(features) - 3} more" if len(features) > 3 else ""
    return f"member {number + 1} ({first}{rest})"
