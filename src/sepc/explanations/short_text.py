"""The short text of an explanation: at most four sentences.

They are the label and its trust, the evidence for it, the strongest doubt, and what to do. The strongest doubt is the
first of `Doubt` that holds; what to do follows from the refusal of the label (see `sepc.model.acceptance`) and from the
doubt: accept the label, look again at a value, or ask somebody.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.text import in_words, listed, many, percent, percents_apart, shortened
from sepc.explanations.evidence import COUNTS, ColumnEvidence, Evidence
from sepc.explanations.notes import BeyondNote, MissingNote, PolicyNote
from sepc.explanations.usual_values import rounded
from sepc.model.acceptance import DISAGREEMENT, Promise
from sepc.model.assessment import Assessment

# From this multiple of the middle value on, a text tells the multiple.
_MANY_TIMES = 3.0


class Doubt(StrEnum):
    """The strongest doubt in a label."""

    no_values = "no values"
    beyond = "beyond"
    strange = "strange"
    disagreement = "disagreement"
    contested = "contested"
    missing = "missing"
    unconfirmed = "unconfirmed"
    outside = "outside"
    unstable = "unstable"
    against = "against"
    none = "none"


# Doubts in the values of the record, which leave no evidence to speak of.
_OF_VALUES = (Doubt.no_values, Doubt.beyond, Doubt.strange)


class Advice(StrEnum):
    """What to do with a label."""

    accept = "accept"
    look_again = "look again"
    ask = "ask"


class Acceptance(NamedTuple):
    """Whether a label is accepted by default.

    Attributes
    ----------
    refusal : str or None
        Why it is not, as in `Assessment.refusals`; None where it is accepted.
    min_trust : float or None
        Trust from which it is accepted; None where nothing is promised of it, and where a promise by groups decides:
        a record alone does not show its group.
    """

    refusal: str | None
    min_trust: float | None

    @classmethod
    def of(cls, a: Assessment, promise: Promise | None) -> "list[Acceptance]":
        """Return the acceptance of each record of an assessment."""
        a.promise = promise
        try:
            limits, min_trust = a.limits(), None
        except InputError:  # a promise by groups
            limits, min_trust = np.full(len(a), np.nan), 0.0
        known = [limit if np.isfinite(limit) else None for limit in limits.tolist()]
        return [cls(*pair) for pair in zip(a.refusals(min_trust).tolist(), known, strict=True)]


class Told(NamedTuple):
    """What the short text says of: fields of an explanation, and the sentence on evidence where no column is named.

    `unusual` are the columns with the most unusual values of a strange record, `expected` what its other values make
    expected of the first of them; None where that is not known. `caution` is a doubt in counts, else None.
    """

    label: Any
    trust: float
    is_calibrated: bool
    evidence: Evidence
    acceptance: Acceptance
    reason: str
    unusual: tuple[str, ...]
    expected: Any
    stability: float | None
    n_partitions: int
    beyond: BeyondNote | None
    missing: MissingNote | None
    policy: PolicyNote | None
    caution: Doubt | None
    otherwise: str
    has_trust: bool = True

    @property
    def doubt(self) -> Doubt:
        """The strongest doubt."""
        if self.missing is not None and self.missing.is_all:
            return Doubt.no_values
        if self.beyond is not None:
            return Doubt.beyond
        if self.reason == "strange":
            return Doubt.strange
        if self.reason == DISAGREEMENT:
            return Doubt.disagreement
        if self.acceptance.refusal == "contested" or self.reason == "contested":
            return Doubt.contested
        if self.missing is not None:
            return Doubt.missing
        if self.caution is not None:
            return self.caution
        if self.stability is not None and self.stability < 1.0:
            return Doubt.unstable
        return Doubt.against if self.evidence.named(-1.0) else Doubt.none

    @property
    def advice(self) -> Advice:
        """What to do."""
        if self.doubt in _OF_VALUES:
            return Advice.look_again
        if self.acceptance.refusal is None:
            return Advice.ask if self.doubt in (Doubt.outside, Doubt.unconfirmed) else Advice.accept
        by_trust = self.policy is None or self.policy.costs is None
        return Advice.look_again if self.missing is not None and self.missing.helps and by_trust else Advice.ask

    def sentences(self) -> Iterator[str]:
        """Yield up to four sentences; empty ones are dropped."""
        yield self.verdict()
        if self.doubt not in _OF_VALUES:
            yield self._evidence()
        yield self.doubt_in_words()
        yield self.advice_in_words()

    def verdict(self) -> str:
        """Return the sentence on the label and its trust."""
        if not self.has_trust:
            return f"Predicted {self.label}."
        raw = "" if self.is_calibrated else " (not calibrated)"
        costs = self.policy is not None and self.policy.costs is not None and self.evidence.log_odds < 0.0
        why = ", since this label can be expected to cost least" if costs else ""
        return f"Predicted {self.label} with a trust of {percent(self.trust)}{raw}{why}."

    def _evidence(self) -> str:
        named = self.evidence.named(1.0)
        if named:
            return f"Main evidence for {self.label}: {self.values(named)}."
        return self.otherwise or (
            f"No single value decides: only together they are more usual for {self.label} than for "
            f"{self.evidence.rival}."
        )

    def values(self, columns: Sequence[ColumnEvidence]) -> str:
        """Return values of columns beside what is usual for the two labels, as a part of a sentence."""
        return listed([c.in_words(self.label, self.evidence.rival, k == 0) for k, c in enumerate(columns)])

    def doubt_in_words(self) -> str:
        """Return the sentence on the strongest doubt; empty without any."""
        against, share = self.evidence.named(-1.0), percent(self.evidence.rival_probability)
        match self.doubt:
            case Doubt.no_values:
                which = "is most frequent" if self.policy is None or self.policy.costs is None else "costs least"
                return f"All its values are missing: the label is only the one that {which}."
            case Doubt.beyond:
                return "" if self.beyond is None else self.beyond.in_words()
            case Doubt.strange:
                return self._strange()
            case Doubt.disagreement:
                why = f": {self.values(against[:2])}" if against else ""
                return f"With the regions {self.evidence.rival} is more likely ({share}){why}."
            case Doubt.contested:
                if COUNTS in self.evidence.others:
                    return "It is a close call: the records that decide are of several labels."
                why = f", and {self.values(against[:1])}" if against else ""
                return f"It is a close call: {self.evidence.rival} has a probability of {share}{why}."
            case Doubt.missing:
                return self._missing()
            case Doubt.unconfirmed:
                return "No record confirms the label there: only those that shaped the region have it."
            case Doubt.outside if not self.has_trust:
                return "There are no records to count, and so there is no trust in the label."
            case Doubt.outside:
                return "It lies outside every region, so the label is a guess from what is nearest."
            case Doubt.unstable:
                others = self.n_partitions - round((self.stability or 0.0) * self.n_partitions)
                models = f"{self.n_partitions} models, each made without a part of the training records"
                return f"Of {models}, {others} {'give' if others > 1 else 'gives'} another label."
            case Doubt.against:
                return f"Main evidence for {self.evidence.rival}: {self.values(against[:2])}."
        return ""

    def _missing(self) -> str:
        assert self.missing is not None
        n = len(self.missing.features)
        told = f"{n} of {many(self.missing.n_features, 'value')} {'are' if n > 1 else 'is'} missing"
        hardly = self.missing.expected_trust is not None and not self.missing.helps
        rest = f"; {'they' if n > 1 else 'it'} would hardly change the trust" if hardly else ""
        return f"{told} ({shortened(self.missing.features, 5)}){rest}."

    def _strange(self) -> str:
        """Return a sentence on the most unusual values of a strange record."""
        by = f", above all in {listed(self.unusual[:2])}" if self.unusual else ""
        return f"The record is strange, unlike nearly all training records{by}."

    def advice_in_words(self) -> str:
        """Return the sentence on what to do."""
        match self.advice:
            case Advice.accept:
                return self._accept()
            case Advice.look_again:
                return self._look_again()
        return self._ask()

    def _accept(self) -> str:
        least = self.acceptance.min_trust
        if least is None:
            return "Accept it if the promise for its group allows it."
        if self.policy is not None and self.policy.costs is not None and least == 0.0:
            asked = self.policy.asking is not None
            return f"Accept it: {'to ask a person' if asked else 'another label'} can be expected to cost no less."
        trust, limit = percents_apart(self.trust, least)
        return f"Accept it: {trust} reaches the limit of {limit}."

    def _look_again(self) -> str:
        if self.beyond is not None:
            return f"Check {self.beyond.column} again; if it is right, ask a person."
        if self.doubt == Doubt.strange:
            return self._check_again()
        assert self.missing is not None
        if self.doubt == Doubt.no_values:
            return "Ask for the values before you use it."
        one, trust = self.missing.most_worth, self.missing.worth
        if one is None:
            one, trust = "the missing values", self.missing.expected_trust
        return f"Ask for {one}: a trust of {percent(trust or 0.0)} could then be expected."

    def _check_again(self) -> str:
        by_name = {c.column: c for c in self.evidence.columns}
        found = by_name.get(self.unusual[0]) if self.unusual else None
        if found is None:
            return "Check where the record comes from before you use the label."
        value, usual = found.value, found.usual
        if usual is None or usual.share is not None or not isinstance(value, float):
            never = (
                usual is not None and usual.share == 0.0 and (found.rival_usual is None or not found.rival_usual.share)
            )
            how = "is not usual" if not never else f"does not occur with {self.label} or {self.evidence.rival}"
            return f"Check {found.column} again: {in_words(value)} {how}; if it is right, ask a person."
        others = [one for one in (usual, found.rival_usual) if one is not None]
        low, high = min(float(one.low) for one in others), max(float(one.high) for one in others)  # type: ignore[arg-type]
        middle = float(usual.middle)  # type: ignore[arg-type]
        if middle > 0.0 and value >= _MANY_TIMES * middle and value > high:
            how = f"is {rounded(round(value / middle, 0))} times the usual {rounded(middle)}"
        elif not low <= value <= high:
            how = f"is {'above' if value > high else 'below'} the usual {rounded(low)} to {rounded(high)}"
        elif self.expected is not None:
            how = f"does not go with the other values, which make {rounded(self.expected)} expected"
        else:
            how = f"is within the usual {rounded(low)} to {rounded(high)}, but not with these other values"
        return f"Check {found.column} again: {in_words(value)} {how}; if it is right, ask a person."

    def _ask(self) -> str:
        first = self.evidence.named(-1.0) if self.doubt in (Doubt.contested, Doubt.against) else ()
        check = f", and check {first[0].column} first" if first else ""
        least = self.acceptance.min_trust or 0.0
        match self.acceptance.refusal:
            case "cost":
                return "Ask a person: that can be expected to cost less than the label."
            case "promise":
                return "Ask a person: nothing is promised of such records."
            case "no region":
                return "Ask a person: with so few records the model has no region to stand on."
            case "contested" | "disagreement" | None:
                return f"Ask a person{check}."
        trust, limit = percents_apart(self.trust, least)
        return f"Ask a person{check}: {trust} is below the limit of {limit}."
