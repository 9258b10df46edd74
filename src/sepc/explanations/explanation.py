"""Explanations: the reasons for the label of a record, for a domain expert."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from typing import Any, Self

import numpy as np

from sepc.common.frames import FrameMaker, numbered, plain
from sepc.common.text import length_in_words, listed, many, percent, plural
from sepc.common.typing import FloatArray, IntArray, RowNumbers
from sepc.explanations.change_limits import ChangeLimits
from sepc.explanations.counterfactual import Counterfactual, change_in_words, changes_of
from sepc.explanations.evidence import Evidence, evidences_of, log_ratio
from sepc.explanations.neighbours import Neighbour, nearest_in_words, nearest_of_others, nearest_records
from sepc.explanations.notes import BeyondNote, MissingNote, PolicyNote, beyond_note, missing_notes, policy_note
from sepc.explanations.places import FeatureShare, RegionNote, places_of
from sepc.explanations.region_words import region_words
from sepc.explanations.shares import RegionShare, reasons, shares_in_words, strange_features
from sepc.explanations.short_text import Acceptance, Doubt, Told
from sepc.explanations.vocabulary import Vocabulary
from sepc.model.acceptance import Promise
from sepc.model.assessment import Assessment, ReachedValues
from sepc.model.calibration import STRANGE
from sepc.model.decision import deciding_problem
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.model.verdicts import Rule

_OUTSIDE = "No group of training records covers it: treat the label as a guess from what is nearest."
_NO_ELLIPSOID = "The model has no ellipsoid here: with so few records for so many features none can be made."


def rules_in_words(grows: bool) -> dict[str, str]:
    """Return the condition of each rule, as the end of a sentence on a record; `grows` as in `Explanation`."""
    nearest = (
        "the nearest one, grown until it touches the point, decides" if grows else "the nearest one decides, as it is"
    )
    return {
        Rule.R1.name: "it lies in exactly one ellipsoid",
        Rule.R2a.name: "it lies in several ellipsoids, and the training records that all of them share decide",
        Rule.R2b.name: "it lies in several ellipsoids that share no training record, so all their records decide",
        Rule.R3.name: f"it lies outside every ellipsoid, so {nearest}",
    }


def _regions_by_rule(rule: str, region: str, named: str, grows: bool) -> str:
    """Return the deciding region of the paper's rule, as the middle of a sentence on its records."""
    if rule == Rule.R1.name:
        return f"it lies in one ellipsoid, {named}, which holds"
    if rule == Rule.R2a.name:
        return f"it lies in several ellipsoids, and what {named} share holds"
    if rule == Rule.R2b.name:
        return f"it lies in several ellipsoids that share no training record: {named} hold"
    if region.rpartition("@")[2].isdigit():
        return f"it lies outside every ellipsoid: the record next to it, {region}, stands for"
    grown = ", grown until it touches the record" if grows else ""
    return f"it lies outside every ellipsoid: the nearest one{grown}, {named}, holds"


class TextExplanation(ABC):
    """Base of explanations: fields with texts of two lengths, a table, and a dict of plain values."""

    __slots__ = ()
    label: Any
    trust: float
    odds: float
    evidence: Evidence
    counterfactual: Counterfactual | None
    actionable_change: Counterfactual | None
    no_change_because: str | None
    nearest_other: Neighbour | None
    neighbours: tuple[Neighbour, ...]
    unit: str
    limits: str
    policy: PolicyNote | None
    missing: MissingNote | None

    @property
    @abstractmethod
    def told(self) -> Told:
        """What the short text says of."""

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the details; empty ones are dropped."""

    def change_in_words(self, has_trust: bool = True) -> str:
        """Return the sentences on what would give another label."""
        changes = self.counterfactual, self.actionable_change, self.no_change_because
        return change_in_words(*changes, self.unit, self.limits, has_trust)

    @property
    def text(self) -> str:
        """At most four sentences: label and trust, the evidence for it, the strongest doubt, and what to do."""
        return joined(self.told.sentences())

    @property
    def details(self) -> str:
        """The rest: regions and their shares, log odds, the paper's rule, neighbours, changes."""
        return joined(self.sentences())

    @property
    def doubt(self) -> str:
        """The strongest doubt, a value of `Doubt`."""
        return self.told.doubt.value

    @property
    def advice(self) -> str:
        """What to do: "accept", "look again" or "ask"."""
        return self.told.advice.value

    def table(self) -> Any:
        """Return one row per column: its value, what is usual for the label and its rival, and its contribution.

        Returns
        -------
        pandas.DataFrame
            Contributions add up to ``evidence.log_odds``; the last rows are those of what is no column. A category has
            the shares of the label's and the rival's records with the same value.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
        >>> why = clf.explain([1.5])
        >>> why.table()[["column", "value", "usual", "rival_usual"]].values[0].tolist()
        ['x0', 1.5, '0.2 to 1.8', '5.2 to 8.4']
        >>> bool(abs(why.table()["contribution"].sum() - why.evidence.log_odds) < 1e-9)
        True
        """
        return self.evidence.table()

    def with_rows_from(self, first: RowNumbers) -> Self:
        """Return the same with the rows of training records counted from `first` instead of 0, or by their numbers."""
        near = tuple(one._replace(row=numbered(one.row, first)) for one in self.neighbours)
        other = self.nearest_other
        other = None if other is None else other._replace(row=numbered(other.row, first))
        return replace(self, neighbours=near, nearest_other=other)  # type: ignore[type-var]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON; infinite odds are None."""
        out = {field.name: _in_plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        out["odds"] = self.odds if np.isfinite(self.odds) else None
        for name, change in (("counterfactual", self.counterfactual), ("actionable_change", self.actionable_change)):
            if change is not None:
                out[name] = {**asdict(change), "changes": _in_plain(change.changes)}
        return {**out, "doubt": self.doubt, "advice": self.advice, "text": self.text, "details": self.details}

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        details = f"<details><summary>Details</summary><p>{escape(self.details)}</p></details>"
        return f"<p>{escape(self.text)}</p>{details}"


def joined(sentences: Iterable[str]) -> str:
    """Return sentences as one text; empty ones are dropped."""
    return " ".join(sentence for sentence in sentences if sentence)


def _in_plain(value: Any) -> Any:
    """Return named tuples as dicts and other tuples as lists, at any depth."""
    if not isinstance(value, tuple):
        return value
    if hasattr(value, "_asdict"):
        return {name: _in_plain(item) for name, item in value._asdict().items()}
    return [_in_plain(item) for item in value]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(TextExplanation):
    """The explanation of the label of one point.

    Attributes
    ----------
    label, trust, odds, rule, reason, region, distance, local_overlap
        As in `Assessment`; no local overlap is None.
    typicality, stability : float or None
        As in `Assessment`; None where they are not known.
    n_partitions : int
        Number of partitions without a fold of the training records behind the stability; 0 where there are none.
    shares : tuple of RegionShare
        Shares of the probability of the label, which add up to the trust, and of that of its strongest rival, by region
        and background component; the largest share of each first. Empty where trust comes from counts.
    evidence : Evidence
        What adds up to the log odds of the label against its strongest rival: contributions of the columns, and of what
        is no column. A model that counts records has no contributions of columns.
    acceptance : Acceptance
        Whether the label is accepted by default.
    strange_features : tuple of FeatureShare
        The most unusual values of a strange point, the largest share first; the reference is the mean of the records of
        the region where it is least strange, or what the other values, or the class, make expected. Empty for other
        points.
    counts : dict of str to int
        Training records in the deciding region: of the label, and of all ``others`` (``all others`` if the label itself
        is called so).
    regions : tuple of RegionNote
        The ellipsoids that hold the point, or the nearest one of each label if none does.
    descriptions : dict of str to str
        The regions that are named, in words.
    features : tuple of FeatureShare
        Shares of the features in its depth or its distance, largest first; the reference is the centre of the ellipsoid
        for a point inside, and its nearest point for a point outside.
    neighbours : tuple of Neighbour
        The nearest training records.
    counterfactual : Counterfactual or None
        The smallest change to an ordinary record of another label; None if none was found.
    actionable_change : Counterfactual or None
        The smallest of those that change a few columns only, at most `max_columns`; None if none was found.
    no_change_because : str or None
        Why there is no change: ``"nothing-may-change"``, ``"no-other-label"``, or ``"none-ordinary"`` where only
        strange records with another label were found.
    nearest_other : Neighbour or None
        The nearest training record of another label, by the length of the change to it; None where records are not
        kept.
    unit : str
        Unit of distances.
    trust_method : str
        The `trust` of the classifier.
    counted : {"training", "held-out"}
        Which records are counted: all training records, or those that shaped no ellipsoid.
    grows : bool
        Whether the nearest ellipsoid is grown to a point outside of all before its training records are counted.
    limits : str
        Limits of the change, as a part of a sentence; empty without any.
    policy : PolicyNote or None
        Class priors and costs; None where nothing was stated.
    beyond : BeyondNote or None
        The column whose value lies beyond those of training by more than these justify; None where there is none.
    missing : MissingNote or None
        Missing values and their effect on the trust; None where none are missing. A record with some has no `regions`
        and no `features`.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> why = clf.explain([1.5])
    >>> why.region, why.counts, sorted(why.to_dict())[:3]
    ('low#1', {'low': 3, 'others': 0}, ['acceptance', 'actionable_change', 'advice'])
    >>> [(one.region, one.label, round(one.share, 1)) for one in why.shares if one.label == why.label]
    [('low#1', 'low', 0.6), ('background', 'low', 0.2)]
    """

    label: Any
    trust: float
    odds: float
    rule: str
    reason: str
    region: str
    counts: dict[str, int]
    distance: float
    local_overlap: float | None
    typicality: float | None
    stability: float | None
    n_partitions: int
    shares: tuple[RegionShare, ...]
    evidence: Evidence
    acceptance: Acceptance
    strange_features: tuple[FeatureShare, ...]
    regions: tuple[RegionNote, ...]
    features: tuple[FeatureShare, ...]
    neighbours: tuple[Neighbour, ...]
    counterfactual: Counterfactual | None
    actionable_change: Counterfactual | None
    no_change_because: str | None
    nearest_other: Neighbour | None
    unit: str
    counted: str
    trust_method: str
    grows: bool
    descriptions: dict[str, str]
    limits: str = ""
    policy: PolicyNote | None = None
    missing: MissingNote | None = None
    beyond: BeyondNote | None = None

    @property
    def told(self) -> Told:
        """What the short text says of."""
        unusual = self.strange_features
        expected = unusual[0].reference if unusual and unusual[0].from_others else None
        return Told(
            self.label,
            self.trust,
            self.trust_method != "raw",
            self.evidence,
            self.acceptance,
            self.reason,
            tuple(f.feature for k, f in enumerate(unusual) if k == 0 or f.share >= 0.25),
            expected,
            self.stability,
            self.n_partitions,
            self.beyond,
            self.missing,
            self.policy,
            None if self.shares else self._doubt_in_counts,
            self._evidence_without_columns(),
            bool(self.shares or self.regions or self.missing is not None),
        )

    @property
    def _doubt_in_counts(self) -> Doubt | None:
        if not self.regions or (self.reason == "outside" and not self._is_nearly_inside):
            return Doubt.outside
        return None if any(self.counts.values()) else Doubt.unconfirmed

    def _evidence_without_columns(self) -> str:
        """Return a sentence on the evidence where no column is named; empty if there is nothing special to say."""
        if self.shares:
            best = self.shares[0]
            if best.is_background:
                return "Few training records are near: the label is little more than the more frequent one."
            alike = best.in_words(description=self.descriptions.get(best.region, ""))
            return f"No single value decides: as a whole it is most like {alike}."
        if not self.regions:
            return f"It is the label of {self._nearest_record}: the model has no region here."
        return self._counts("nearest region" if self.rule == Rule.R3.name else "region that decides")

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the details."""
        if self.missing is not None and self.missing.is_all:
            if self.policy is not None:
                yield from self.policy.sentences(self.label)
            yield from self.missing.sentences()
            return
        if self.shares:
            yield from self._by_probability()
        elif self.regions:
            yield from (self._rule_in_words(), self._counts(), self._place(), self._caution_of_counts())
        else:
            yield from (self._nearest_decides(), self._place())
        yield nearest_in_words(self.neighbours, self.unit, self.nearest_other)
        yield self.change_in_words(bool(self.shares or self.regions))

    def _by_probability(self) -> Iterator[str]:
        """Yield the regions behind the label, the log odds, cautions, and the result of the paper's rule."""
        stated = self.policy is not None and self.policy.class_prior is not None
        yield from shares_in_words(self.shares, self.trust, stated, self.descriptions)
        yield self.evidence.sum_in_words(self.label)
        if self.policy is not None:
            yield from self.policy.sentences(self.label)
        if self.missing is not None:
            yield from self.missing.sentences()
        if self.beyond is not None:
            yield self.beyond.in_words()
        yield self.strange_in_words()
        yield from (self._stability_in_words(), self.by_the_paper(), self._place(), self._caution_of_place())

    def strange_in_words(self) -> str:
        """Return a sentence on how strange the record is, and by what; empty if it is not."""
        if self.typicality is None or self.typicality >= STRANGE:
            return ""
        how_many = f"{percent(self.typicality)} of" if self.typicality > 0.0 else "none of"
        made_by = listed([f.in_words("on average") for f in self.strange_features[:3]])
        return (
            f"The record is strange: {how_many} the training records, each judged unseen, "
            f"{'are' if self.typicality > 0.0 else 'is'} at least as strange."
            + (f" Most unusual: {made_by}." if made_by else "")
        )

    def _stability_in_words(self) -> str:
        if self.stability is None or self.stability >= 1.0:
            return ""
        same = round(self.stability * self.n_partitions)
        return (
            f"Of {many(self.n_partitions, 'partition')} without a part of the training records, {same or 'none'} "
            f"{'give' if same > 1 else 'gives'} the same label."
        )

    @property
    def rule_disagrees(self) -> bool:
        """Whether the region that the paper's rule looks at holds more records of other labels than of this one."""
        own, others = self.counts.values()
        return others > own

    def by_the_paper(self) -> str:
        """Return a sentence on the result of the paper's rule."""
        own, others = self.counts.values()
        if self.missing is not None:
            if self.rule != Rule.R3.name:
                return "Which of the paper's rules applies is unknown: where it lies depends on what is missing."
            return (
                "By the paper's rule R3 it lies outside every ellipsoid, whatever the missing values are; which one is "
                "nearest depends on them."
            )
        if not self.regions:
            same = "this" if own else "another"
            decides = f"By the paper's rule {self.rule} {self._nearest_record} decides, which is of {same} label."
            return f"{_NO_ELLIPSOID} {decides}"
        otherwise = ", which speaks against the label" if self.rule_disagrees else ""
        place = _regions_by_rule(self.rule, self.region, self._deciding, self.grows)
        return (
            f"By the paper's rule {self.rule} {place} {own} {self.counted} {plural('record', own)} of {self.label} and "
            f"{others} of other labels{otherwise}."
        )

    def _caution_of_place(self) -> str:
        if not self.regions:
            return ""
        if self.reason == "outside" and self.typicality is not None:
            return (
                f"That it lies outside does not make it strange: {percent(self.typicality)} of the training records, "
                "each judged unseen, are at least as strange."
            )
        if self.reason == "outside" and not self._is_nearly_inside:
            return _OUTSIDE
        if self.local_overlap is not None and self.reason == "overlap":
            return f"Ellipsoids of different labels overlap here. {_alike(self.local_overlap)}"
        return ""

    def _rule_in_words(self) -> str:
        return f"Rule {self.rule} decides: {rules_in_words(self.grows)[self.rule]}."

    def _nearest_decides(self) -> str:
        return f"Rule {self.rule} decides: the label is that of {self._nearest_record}. {_NO_ELLIPSOID}"

    @property
    def _nearest_record(self) -> str:
        return f"the nearest training record ({self.region})"

    def _named(self, region: str) -> str:
        """Return a region by its number, with its description where no shares were told of it."""
        description = "" if self.shares else self.descriptions.get(region.removeprefix("~"), "")
        return region.removeprefix("~") + (f" ({description})" if description else "")

    @property
    def _deciding(self) -> str:
        """The ellipsoids that decide, by their numbers."""
        if self.rule in (Rule.R2a.name, Rule.R2b.name):
            return listed([note.region for note in self.regions])
        return self._named(self.region)

    def _counts(self, what: str = "region that decides") -> str:
        own, others = self.counts.values()
        return (
            f"The {what}, {self._deciding}, holds {own} {self.counted} {plural('record', own)} of "
            f"{self.label} and {others} of other labels."
        )

    def _place(self) -> str:
        if self.missing is not None:
            return ""
        if not self.regions:
            # Otherwise the neighbours are named at the end.
            return "" if self.neighbours else f"The nearest training record is {self._length(self.distance)} away."
        note = self.regions[0]
        most = [f for f in self.features[:3] if f.share >= 0.05]
        if self.rule == Rule.R3.name:
            place = f"It lies {self._length(note.distance)} outside {note.region}"
            reference = "the region's nearest point has"
        else:
            place = f"It lies at {percent(note.gauge)} of the way from the centre of {note.region} to its boundary"
            reference = "centre"
        parts = [f.in_words(reference) for f in most]
        return f"{place}, mostly by {listed(parts)}." if parts else f"{place}."

    @property
    def _is_nearly_inside(self) -> bool:
        """Whether an ellipsoid with radii larger by a fifth would hold it."""
        return bool(self.regions) and self.regions[0].gauge <= 1.2

    def _caution_of_counts(self) -> str:
        if not any(self.counts.values()):
            return (
                "The label is that of the records that shaped this region, and nothing confirms it: do not rely on it "
                "without a second look."
            )
        if self.reason == "contested":
            return (
                "The records that decide are evenly split, or most of them are not of the group they are in: do not "
                "rely on this label without a second look."
            )
        if self.reason == "outside" and not self._is_nearly_inside:
            return _OUTSIDE
        if self.local_overlap is not None and self.reason == "overlap":
            return f"Labels overlap here: look at the counts before relying on it. {_alike(self.local_overlap)}"
        return ""

    def _length(self, distance: float) -> str:
        return length_in_words(distance, self.unit)


def explain(
    model: PartitionModel,
    X: FloatArray,
    vocabularies: Sequence[Vocabulary] | None = None,
    limits: ChangeLimits | None = None,
    promise: Promise | None = None,
) -> list[Explanation]:
    """Explain the labels of points, shape (n, d), in the original units.

    `vocabularies`, one for each point, have the names and values of columns, by default those of the features; `limits`
    restrict the change, which without any is not looked for; `promise` decides which labels are accepted.
    """
    vocabularies = vocabularies or [Vocabulary(model.features)] * len(X)
    if not len(X):
        return []
    Z, vocabulary = model.units(X), vocabularies[0]
    decision, verdicts = model.judge(Z)
    values = ReachedValues(X, model.features, model.outline.reach)
    a = Assessment.of(decision, verdicts, model.rules, model.classes, FrameMaker(), values=values)
    labels, proba = decision.label, decision.proba
    codes = with_rivals(labels, proba)
    problems, _ = deciding_problem(labels, len(model.rules))
    is_counted = ["training" if rules.training_counts.all_counted else "held-out" for rules in model.rules]
    found = reasons(model, X, codes, vocabulary) if isinstance(model, DensityModel) else None
    if found is None:
        log_odds = np.array([log_ratio(one[pair]) for one, pair in zip(proba, codes, strict=True)])
    else:
        log_odds = np.array([one.log_odds for one in found])
    terms = None if found is None else [one.contributions for one in found]
    evidence = evidences_of(model, X, codes, proba, log_odds, terms, vocabularies)
    places, acceptance = places_of(model, X, labels, a, vocabularies), Acceptance.of(a, promise)
    stability, near = model.stability(Z, labels), nearest_records(model, X, vocabulary)
    others, missing = nearest_of_others(model, X, labels, vocabulary), missing_notes(model, X, a.trust, vocabulary)
    n_partitions = len(model.fit.held_out) if isinstance(model, DensityModel) else 0
    described, in_words = region_words(model, vocabulary), "" if limits is None else limits.in_words()
    explanations = []
    for i, (label, (own, of_others)) in enumerate(zip(a.label, a.counts.tolist(), strict=True)):
        changes = changes_of(model, X[i], int(labels[i]), vocabularies[i], limits)
        explanations.append(
            Explanation(
                label=plain(label),
                trust=float(a.trust[i]),
                odds=float(a.odds[i]),
                rule=str(a.rule[i]),
                reason=str(a.reason[i]),
                region=str(a.region[i]),
                counts={str(label): own, "others" if str(label) != "others" else "all others": of_others},
                distance=float(a.distance[i]),
                local_overlap=known_or_none(a.local_overlap[i]),
                typicality=known_or_none(a.typicality[i]),
                stability=known_or_none(stability[i]),
                n_partitions=n_partitions,
                shares=() if found is None else found[i].shares,
                evidence=evidence[i],
                acceptance=acceptance[i],
                strange_features=strange_features(model, X[i], vocabularies[i]) if a.typicality[i] < STRANGE else (),
                regions=places[i].regions,
                features=places[i].features,
                neighbours=near[i],
                counterfactual=changes.smallest,
                actionable_change=changes.actionable,
                no_change_because=changes.none_because,
                nearest_other=others[i],
                unit=model.unit,
                counted=is_counted[problems[i]],
                trust_method=model.trust,
                grows=model.grows,
                descriptions=described,
                limits=in_words,
                policy=policy_note(model, proba[i]),
                missing=missing[i],
                beyond=beyond_note(model, X[i], vocabularies[i]),
            )
        )
    return explanations


def with_rivals(labels: IntArray, proba: FloatArray) -> IntArray:
    """Return labels and their most probable rivals, as numbers of classes, shape (n, 2)."""
    others = proba.copy()
    others[np.arange(len(labels)), labels] = -1.0
    return np.column_stack([labels, others.argmax(axis=1)])


def known_or_none(value: float) -> float | None:
    """Return a number, or None in place of NaN."""
    return None if np.isnan(value) else float(value)


def _alike(local_overlap: float) -> str:
    """Return a sentence on the local overlap: the share of each of two densities in their sum."""
    return (
        "Read as normal distributions, the two of these ellipsoids of different labels that are most alike at this "
        f"point have {percent(1.0 - local_overlap)} and {percent(local_overlap)} of their joint density there: 50 % "
        "each would be no difference."
    )
