"""Explanations around another model: what it says and how often it was right, what the regions say, and both together.

The log odds of the label against its strongest rival are a sum: the weighted log odds of the model's answer, those of
the regions, a correction of each label, and what a background component takes back from too sure a sum. The columns
take part in it through the regions alone; what they mean to the model is not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from sepc.common.intervals import exact_interval
from sepc.common.text import listed, many, percent, shortened
from sepc.explanations.counterfactual import Counterfactual, change_in_words
from sepc.explanations.evidence import Evidence
from sepc.explanations.explanation import Explanation, TextExplanation, joined
from sepc.explanations.neighbours import Neighbour, nearest_in_words
from sepc.explanations.notes import BeyondNote, MissingNote, PolicyNote
from sepc.explanations.places import FeatureShare
from sepc.explanations.shares import RegionShare, shares_in_words
from sepc.explanations.short_text import Acceptance, Doubt, Told

# Parts of the log odds of a label; that of the model is called by its class.
REGIONS, REST_OF_REGIONS, CORRECTION = "regions", "regions besides columns", "label correction"
BACKGROUND, FAR_AWAY, STATED = "background", "distance to all records", "stated class shares"
_NO_VALUES = "All its values are missing, so the regions know nothing of it but how frequent the labels are."
AUDIBLE = 0.005
# Doubts that a text tells instead of what the regions say.
_TOLD = (Doubt.no_values, Doubt.beyond, Doubt.strange, Doubt.disagreement, Doubt.contested, Doubt.missing)


class TrustPart(NamedTuple):
    """One part of the log odds of a label against its strongest rival.

    Attributes
    ----------
    part : str
    says : float or None
        Log odds by the model, or by the regions, alone; None for other parts.
    weight : float or None
        Weight of these.
    log_odds : float
        What it adds: the product of both, where there are two.
    """

    part: str
    says: float | None
    weight: float | None
    log_odds: float

    def in_words(self) -> str:
        """Return it as a part of a sentence."""
        if self.weight is None:
            return f"{self.log_odds:+.2f} from the {self.part}"
        who, whose = (f"the {REGIONS}", "their") if self.part == REGIONS else (self.part, "its")
        return f"{self.log_odds:+.2f} from {who} ({self.weight:.2g} of {whose} {self.says:+.2f})"


class HeldOutRecord(NamedTuple):
    """How often the other model was right on held-out records to which it gave the same label.

    Attributes
    ----------
    region, description : str or None
        The region of these records, and it in words; None where all with this label count, since too few of them are
        in the region, or since the explained record has no values.
    right, n : int
    low, high : float
        Ends of the 95 % interval by Clopper and Pearson.
    all_right, all_n : int
        The same of all such records, wherever they are.
    """

    region: str | None
    description: str | None
    right: int
    n: int
    low: float
    high: float
    all_right: int
    all_n: int

    def in_words(self, name: str, label: Any) -> str:
        """Return it as a part of a sentence that speaks of the model already."""
        if not self.n:
            return f"it gave {label} to no held-out record"
        place = ""
        if self.region is not None:
            place = f"in {self.region}" + (f" ({self.description})" if self.description else "")
        where = f"held-out records {place}" if place else "all held-out records"
        return (
            f"of {where} that {name} labelled {label}, it was right on {self.right:,} of {self.n:,} "
            f"({percent(self.low)} to {percent(self.high)})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class TrustedExplanation(TextExplanation):
    """The explanation of the label of one record, around another model.

    Attributes
    ----------
    label, trust, odds, reason, region
        As in `Assessment`.
    typicality, stability : float or None
        As in `Assessment`; None where they are not known.
    model : str
        Class of the other model.
    model_label : object
        The label that it gives.
    model_probability : float or None
        Its own probability of that; None if it gives none.
    keeps_label : bool
        Whether the label is that of the other model whatever the regions say.
    held_out : HeldOutRecord
        How often it was right on held-out records like this one.
    regions : Explanation
        What the regions say by themselves, without neighbours and changes.
    parts : tuple of TrustPart
        What adds up to the log odds of the label against its strongest rival.
    evidence : Evidence
        The same, with the part of the regions by columns.
    acceptance : Acceptance
        Whether the label is accepted by default.
    strange_features : tuple of FeatureShare
        The most unusual values of a strange record.
    neighbours : tuple of Neighbour
        The nearest training records.
    counterfactual : Counterfactual or None
        The smallest change found to an ordinary record to which the other model, asked about it, gives another label;
        None if none was found.
    actionable_change : Counterfactual or None
        The smallest of those that change at most `max_columns` columns.
    no_change_because : str or None
        Why there is no change: as in `Explanation`, or ``"no-way-back"`` from the features of an encoder to records,
        ``"no-estimator"`` where the model is not there, ``"given-scores"`` where its answers are columns.
    nearest_other : Neighbour or None
        The nearest training record of another label.
    unit, limits, policy, missing, beyond
        As in `Explanation`.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sepc import TrustedClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
    >>> why = TrustedClassifier(GaussianNB(), cv=3).fit(X, y).explain([1.5])
    >>> why.model, why.model_label, why.held_out.n, why.counterfactual.label
    ('GaussianNB', 'low', 3, 'high')
    >>> bool(abs(sum(one.log_odds for one in why.parts) - why.evidence.log_odds) < 1e-9)
    True
    """

    label: Any
    trust: float
    odds: float
    reason: str
    region: str
    typicality: float | None
    stability: float | None
    model: str
    model_label: Any
    model_probability: float | None
    keeps_label: bool
    held_out: HeldOutRecord
    regions: Explanation
    parts: tuple[TrustPart, ...]
    evidence: Evidence
    acceptance: Acceptance
    strange_features: tuple[FeatureShare, ...]
    neighbours: tuple[Neighbour, ...]
    counterfactual: Counterfactual | None
    actionable_change: Counterfactual | None
    no_change_because: str | None
    nearest_other: Neighbour | None
    unit: str
    limits: str = ""
    policy: PolicyNote | None = None
    missing: MissingNote | None = None
    beyond: BeyondNote | None = None

    @property
    def shares(self) -> tuple[RegionShare, ...]:
        """Shares of the regions in their own probability of a label, as in `Explanation`."""
        return self.regions.shares

    @property
    def told(self) -> Told:
        """What the short text says of."""
        of_regions = self.regions.told
        return of_regions._replace(
            label=self.label,
            trust=self.trust,
            evidence=self.evidence,
            acceptance=self.acceptance,
            reason=self.reason,
            unusual=tuple(one.feature for one in self.strange_features[:1]) or of_regions.unusual,
            stability=self.stability,
            missing=self.missing,
            policy=self.policy,
            caution=None,
        )

    @property
    def text(self) -> str:
        """At most four sentences: label and trust, the model, the strongest doubt or the regions, and what to do."""
        told = self.told
        predicted = f"Predicted {self.label} with a trust of {percent(self.trust)}."
        third = told.doubt_in_words() if told.doubt in _TOLD else self._regions_in_words()
        if told.doubt == Doubt.no_values:
            third = _NO_VALUES
        first = predicted if self.keeps_label else told.verdict()
        return joined((first, self._model_in_words(), third, told.advice_in_words()))

    def _model_in_words(self) -> str:
        same, own = self.model_label == self.label, self.model_probability
        says = "says so" if same else f"says {self.model_label}"
        if own is not None:
            says = f"gives it {percent(own)}" if same else f"{says} ({percent(own)})"
        return f"{self.model[0].upper()}{self.model[1:]} {says}; {self.held_out.in_words('it', self.model_label)}."

    def _regions_in_words(self) -> str:
        own, named = self.regions, self.regions.evidence.named(1.0)
        same = own.label == self.label
        says = "The regions agree" if same else f"The regions alone say {own.label}"
        why = f": {own.told.values(named)}" if named else ""
        return f"{says}, with {percent(own.trust)}{why}."

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the details."""
        if self.missing is None or not self.missing.is_all:
            yield self._sum()
            yield self._balance()
            yield self._everywhere()
            yield from self._by_regions()
        if self.policy is not None:
            yield from self.policy.sentences(self.label)
        if self.missing is not None:
            yield self._missing_in_words(self.missing)
        if self.beyond is not None:
            yield self.beyond.in_words()
        yield nearest_in_words(self.neighbours, self.unit, self.nearest_other)
        yield self.change_in_words()

    def _sum(self) -> str:
        added = listed([part.in_words() for part in self.parts if abs(part.log_odds) >= AUDIBLE])
        return f"The log odds of {self.label} against {self.evidence.rival} are {self.evidence.log_odds:.2f}: {added}."

    def _balance(self) -> str:
        """Return a sentence on which of the two moved the trust more."""
        own, regions = (part.log_odds for part in self.parts[:2])
        if own * regions <= 0.0:
            return "" if abs(own) < AUDIBLE or abs(regions) < AUDIBLE else "The two pull in opposite directions."
        share = own / (own + regions)
        return (
            f"Of what the two add, {percent(share)} is from {self.model} and {percent(1.0 - share)} from the regions."
        )

    def _everywhere(self) -> str:
        held = self.held_out
        if held.region is None:
            return ""
        low, high = exact_interval(held.all_right, held.all_n)
        everywhere = held._replace(region=None, right=held.all_right, n=held.all_n, low=low, high=high)
        told = everywhere.in_words(self.model, self.model_label)
        return f"{told[0].upper()}{told[1:]}."

    def _by_regions(self) -> Iterator[str]:
        own = self.regions
        if own.shares:
            subject = f"The regions alone say {own.label}; their trust in it"
            yield from shares_in_words(own.shares, own.trust, False, own.descriptions, subject)
            yield own.evidence.sum_in_words(own.label)
        yield own.strange_in_words()
        yield own.by_the_paper()

    @staticmethod
    def _missing_in_words(missing: MissingNote) -> str:
        """Return a sentence: the label need not rest on the known values alone, as the regions do."""
        if missing.is_all:
            return _NO_VALUES
        n, names = len(missing.features), shortened(missing.features, 5)
        verb = "are" if n > 1 else "is"
        return f"Of {many(missing.n_features, 'value')} {n} {verb} missing ({names}); the regions rest on the others."

    def change_in_words(self, has_trust: bool = True) -> str:
        """Return the sentences on what would make the other model give another label."""
        changes = self.counterfactual, self.actionable_change, self.no_change_because
        makes = f"after which {self.model} says" if self.keeps_label else "that would make it"
        return change_in_words(*changes, self.unit, self.limits, has_trust, makes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON; infinite odds are None."""
        # Without arguments `super` does not know a class with slots.
        return {**super(TrustedExplanation, self).to_dict(), "regions": self.regions.to_dict()}
