"""Explanations of an ensemble's labels: members and regions that are evidence for them, and against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, listed, plural
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel, member_name
from sepc.estimators.ensemble.members import LOWEST, Citation
from sepc.estimators.ensemble.members import Evidence as MemberEvidence
from sepc.explanations.change_limits import ChangeLimits
from sepc.explanations.counterfactual import Counterfactual, changes_of
from sepc.explanations.evidence import Evidence, chain_terms, contributions, evidence_of, log_ratio
from sepc.explanations.explanation import TextExplanation, known_or_none
from sepc.explanations.notes import (
    BeyondNote,
    MissingNote,
    Neighbour,
    PolicyNote,
    beyond_note,
    missing_note,
    nearest_in_words,
    nearest_records,
    policy_note,
)
from sepc.explanations.short_text import Acceptance, Told
from sepc.explanations.vocabulary import Value, Vocabulary, Word
from sepc.model.acceptance import Promise
from sepc.model.partition_model import N_PARTS

# Smaller terms of the log odds are not mentioned.
_AUDIBLE = 0.01
# Orders of the columns in each part of a member: there are many parts.
_ORDERS = 8


class Reach(NamedTuple):
    """Range of a region in one feature, in the original units, whatever view its member has.

    Of a raw table it is a column of numbers or dates; the values of categories have no order.

    Attributes
    ----------
    feature : str
    value : float, str or None
        The value of the explained point; None if it is missing.
    low, high : float, str or None
        None where the region reaches beyond all training records.
    """

    feature: str
    value: Value
    low: Value
    high: Value

    def in_words(self) -> str:
        """Return it as part of a sentence; empty if the region reaches beyond all training records at both ends."""
        low, high = in_words(self.low), in_words(self.high)
        if self.low is None:
            ends = "" if self.high is None else f"up to {high}"
        else:
            ends = f"from {low} on" if self.high is None else low if low == high else f"{low} to {high}"
        return f"{self.feature} {ends}, here {in_words(self.value)}" if ends else ""


class Voice(NamedTuple):
    """The prediction of one member at a point.

    Attributes
    ----------
    member : int
        Its number, from 1.
    features : tuple of str
    evidence : float
        What it adds to the log odds of the label against the runner-up; negative if it speaks against it.
    weight : float
    label : object
        Its own likeliest label.
    region : str
        The region that it likens the point to: one of the label if it speaks for it, else one of the runner-up.
    n_label, n_others : int
        Training records of the explained label, and of other labels, that belong there and did not shape it.
    reach : tuple of Reach
        Where that region lies, the narrowest first; empty for isolated records.
    n_regions : int
        Number of regions that are merged in it.
    """

    member: int
    features: tuple[str, ...]
    evidence: float
    weight: float
    label: Any
    region: str
    n_label: int
    n_others: int
    reach: tuple[Reach, ...] = ()
    n_regions: int = 1

    @property
    def place(self) -> str:
        """The region that it likens the point to, in words."""
        if self.region.endswith("@"):
            return f"records outside every region ({self.region.removesuffix('@')})"
        several = f"{self.n_regions} regions read as one ({self.region.removesuffix('+')})"
        return f"region {self.region}" if self.n_regions == 1 else several

    @property
    def is_borne_out(self) -> bool:
        """Whether the held-out records of its region do not contradict it."""
        return self.n_label == self.n_others or (self.n_label > self.n_others) == (self.evidence > 0.0)


@dataclass(frozen=True, slots=True, repr=False)
class EnsembleExplanation(TextExplanation):
    """The explanation of a label that an ensemble gives to one point.

    The log odds of the label against the runner-up are the sum of what all members add, the leaning and the background;
    `evidence` has the same by columns.

    Attributes
    ----------
    label, runner_up : object
    trust, odds : float
    reason, region : str
        As in `assess`.
    agreement : float
        Weight of the members whose own label is the same, as a share of all weight.
    typicality, stability : float or None
        As in `assess`; None where they are not known.
    strangest_to : tuple of str
        Features whose values do not go with the others or the class, or, where the densities make it strange, those
        beyond all training records, farthest first, and those of the strangest member; empty unless it is strange.
    leaning : float
        The intercept of the log odds: as learnt, and by class priors if these are stated.
    background : float
        What the background component, and records nearby, add to the log odds.
    evidence : Evidence
        What adds up to the log odds: contributions of the columns, and of what is no column.
    acceptance : Acceptance
        Whether the label is accepted by default.
    voices : tuple of Voice
        Of all members; the largest evidence for the label first.
    neighbours : tuple of Neighbour
        The nearest training records.
    counterfactual, actionable_change : Counterfactual or None
    no_change_because : str or None
    nearest_other : Neighbour or None
        As in `Explanation`.
    unit : str
        Of distances.
    limits : str
        What the change had to leave alone, as a part of a sentence; empty if nothing.
    policy : PolicyNote or None
    beyond : BeyondNote or None
        The column whose value lies beyond those of training by more than these justify; None where there is none.
    missing : MissingNote or None
        The missing values and their effect; None where none are missing.
    """

    label: Any
    runner_up: Any
    trust: float
    odds: float
    reason: str
    region: str
    agreement: float
    typicality: float | None
    stability: float | None
    strangest_to: tuple[str, ...]
    leaning: float
    background: float
    evidence: Evidence
    acceptance: Acceptance
    voices: tuple[Voice, ...]
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
    def told(self) -> Told:
        """What the short text says of."""
        return Told(
            self.label,
            self.trust,
            True,
            self.evidence,
            self.acceptance,
            self.reason,
            self.strangest_to[:1],
            None,
            self.stability,
            N_PARTS,
            self.beyond,
            self.missing,
            self.policy,
            None,
            "",
        )

    def sentences(self) -> Iterator[str]:
        """Yield the sentences of the details."""
        if self.missing is not None and self.missing.is_all:
            if self.policy is not None:
                yield from self.policy.sentences(self.label)
            yield from self.missing.sentences()
            return
        speak_for = [v for v in self.voices if v.evidence >= _AUDIBLE]
        against = [v for v in reversed(self.voices) if v.evidence <= -_AUDIBLE]
        yield (
            f"Of {len(self.voices)} members {len(speak_for)} speak for {self.label} and {len(against)} for "
            f"{self.runner_up}."
        )
        yield self._sum()
        yield from self._say("most for it", speak_for)
        yield from self._say("most against it", against)
        if self.policy is not None:
            yield from self.policy.sentences(self.label)
        if self.missing is not None:
            yield from self.missing.sentences()
        if self.beyond is not None:
            yield self.beyond.in_words()
        yield self._caution()
        yield nearest_in_words(self.neighbours, self.unit, self.nearest_other)
        yield self.change_in_words()

    def _say(self, what: str, voices: list[Voice]) -> Iterator[str]:
        for voice, order in zip(voices, (what, "next"), strict=False):
            yield f"{order.capitalize()}, by odds of {np.exp(abs(voice.evidence)):.3g}, is {self._said_by(voice)}."

    def _said_by(self, voice: Voice) -> str:
        known = (reach for reach in voice.reach if reach.value is not None)
        ranges = [text for reach in known if (text := reach.in_words())][:2]
        return (
            f"{member_name(voice.member - 1, voice.features)}, which likens it to {voice.place} beside "
            f"{voice.n_label} held-out {plural('record', voice.n_label)} of {self.label} and {voice.n_others} of other "
            f"labels{'' if voice.is_borne_out else ', although these say otherwise'}"
        ) + (f" ({'; '.join(ranges)})" if ranges else "")

    def _sum(self) -> str:
        """Return a sentence on what the members, the leaning and the background add up to."""
        parts = [
            (sum(voice.evidence for voice in self.voices), "the members"),
            (self.leaning, f"the leaning of the ensemble towards {self.label if self.leaning > 0 else self.runner_up}"),
            (self.background, "the background, whose labels are as frequent as in training"),
        ]
        added = listed([f"{part:+.2f} from {name}" for part, name in parts if abs(part) >= _AUDIBLE])
        whole = sum(part for part, _ in parts)
        return f"The log odds of {self.label} against {self.runner_up} are {whole:.2f}: {added}."

    def _caution(self) -> str:
        if self.reason == "outside":
            return "It lies outside every ellipsoid of the member that is surest: the label rests on what is nearest."
        return ""


def explain_ensemble(
    model: EnsembleModel,
    x: FloatArray,
    vocabulary: Vocabulary | None = None,
    limits: ChangeLimits | None = None,
    promise: Promise | None = None,
) -> EnsembleExplanation:
    """Explain the label of one point, shape (d,), in the original units."""
    vocabulary, limits = vocabulary or Vocabulary(model.features), limits or ChangeLimits()
    X = x[None]
    evidence = model.evidence(X)
    a = model.assess_by(evidence, X, FrameMaker())
    label, other = int(evidence.decision.label[0]), int(evidence.other[0])
    predictions, added = evidence.predictions[:, 0], evidence.added[:, 0]
    cited = _citations(model, X, evidence)
    own = model.classes[predictions.argmax(axis=1)]
    shift = np.ones(len(model.classes)) if model.policy is None else model.policy.shift
    leanings, proba = model.stack.leaning + np.log(shift), evidence.decision.proba[0]
    changes = changes_of(model.for_search, x, label, vocabulary, limits)
    leaning, stated = float(leanings[label] - leanings[other]), log_ratio(shift[[label, other]])
    by_all = log_ratio(proba[[label, other]])
    log_odds, found = contributions(
        _terms(model, X, label, other, vocabulary),
        class_shares=log_ratio(model.class_count[[label, other]]),
        stated=stated,
        by_regions=leaning - stated + float(added.sum()),
        without_nearby=log_ratio(_without_nearby(model, X, proba / shift)[[label, other]]),
        by_all=by_all - stated,
    )
    return EnsembleExplanation(
        label=plain(a.label[0]),
        runner_up=plain(model.classes[other]),
        trust=float(a.trust[0]),
        odds=float(a.odds[0]),
        reason=str(a.reason[0]),
        region=str(a.region[0]),
        agreement=float(a.agreement[0]),
        typicality=known_or_none(a.typicality[0]),
        stability=known_or_none(a.stability[0]),
        strangest_to=_strangest_to(model, X, vocabulary) if a.reason[0] == "strange" else (),
        leaning=leaning,
        background=by_all - leaning - float(added.sum()),
        evidence=evidence_of(model.for_search, x, (label, other), proba, log_odds, found, vocabulary),
        acceptance=Acceptance.of(a, promise),
        voices=tuple(
            Voice(
                member=m + 1,
                features=vocabulary.named([model.features[j] for j in model.members[m].plan.features]),
                evidence=float(added[m]),
                weight=float(model.stack.weights[m]),
                label=plain(own[m]),
                region=str(cited[m].regions[0]),
                n_label=int(cited[m].claimed[0, label]),
                n_others=int(cited[m].claimed[0].sum() - cited[m].claimed[0, label]),
                reach=_reach(model, cited[m], x, vocabulary),
                n_regions=model.n_regions(cited[m]),
            )
            for m in np.argsort(-added, kind="stable").tolist()
        ),
        neighbours=nearest_records(model, x, vocabulary),
        counterfactual=changes.smallest,
        actionable_change=changes.actionable,
        no_change_because=changes.none_because,
        nearest_other=changes.nearest_other,
        unit=model.unit,
        limits=limits.in_words(),
        policy=policy_note(model, proba),
        missing=missing_note(model.for_search, x, float(a.trust[0]), vocabulary),
        beyond=beyond_note(model, x, vocabulary),
    )


def _terms(model: EnsembleModel, X: FloatArray, label: int, other: int, vocabulary: Vocabulary) -> FloatArray:
    """Return the contributions of the columns by all members at one point, X of shape (1, d), shape (n_columns,)."""

    def log_odds(joint: FloatArray) -> FloatArray:
        log_proba = np.maximum(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True), LOWEST)
        return np.asarray(log_proba[..., label] - log_proba[..., other])

    total, views = np.zeros(len(vocabulary.words)), model.views(X)
    for member, weight in zip(model.members, model.stack.weights.tolist(), strict=True):
        seen, points = member.plan.features, member.points(views)
        columns = [np.flatnonzero((seen >= w.at.start) & (seen < w.at.stop)) for w in vocabulary.words]
        for part in member.parts if weight > 0.0 else ():
            of_part = chain_terms(part.densities, part.sees(points)[0], columns, log_odds, _ORDERS)
            total += weight / len(member.parts) * of_part
    return total


def _without_nearby(model: EnsembleModel, X: FloatArray, proba: FloatArray) -> FloatArray:
    """Return probabilities, shape (n_classes,) and up to a factor, of one point without the counts of its place."""
    local = model.strangeness.calibration.local
    if local is None:
        return proba
    place, weight = local.at(model.units(X))
    return np.asarray(proba / proba.sum() - weight * local.shares(place)[0])


def _strangest_to(model: EnsembleModel, X: FloatArray, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the features that make one point, X of shape (1, d), strange."""
    strangeness, log_densities = model.strangeness, model.predictions(X).log_density
    by_member = (log_densities[:, 0] - strangeness.middle) / strangeness.spread
    beyond = model.views.beyond(X)[0]
    relations = strangeness.calibration.relations
    if relations is not None:
        score = float(strangeness.score(log_densities, beyond.max(keepdims=True))[0])
        found = relations.strangest(model.units(X)[0], score)
        if found is not None:
            order = np.argsort(-found.sizes, kind="stable")
            off = relations.columns[order[found.sizes[order] >= min(1.0, found.sizes.max())]]
            return vocabulary.named([model.features[j] for j in off.tolist()])
    outside = [j for j in np.argsort(-beyond, kind="stable").tolist() if beyond[j] > 0.0]
    looked_at = model.members[int(by_member.argmin())].plan.features.tolist()
    return vocabulary.named([model.features[j] for j in dict.fromkeys(outside + looked_at)])


def _citations(model: EnsembleModel, X: FloatArray, evidence: MemberEvidence) -> list[Citation]:
    """Return each member's citation at one point, X of shape (1, d): of the label or of the other, as it prefers."""
    label, other, predictions = evidence.decision.label, evidence.other, evidence.predictions[:, 0]
    speaks_for = predictions[:, label[0]] >= predictions[:, other[0]]
    code, rival = np.where(speaks_for, label, other), np.where(speaks_for, other, label)
    # One copy of the point for each member.
    n = len(model.members)
    of_parts = None if evidence.of_parts is None else np.repeat(evidence.of_parts, n, axis=2)
    return list(model.citations(np.repeat(X, n, axis=0), code, rival, np.arange(n), of_parts))


def _reach(model: EnsembleModel, cited: Citation, x: FloatArray, vocabulary: Vocabulary) -> tuple[Reach, ...]:
    """Return the ranges of the region that a member cites, the narrowest feature first."""
    extent = model.extent(cited.member, cited.part, int(cited.components[0]))
    if extent is None:
        return ()
    words = {word.at.start: word for word in vocabulary.words if not word.is_level}
    features = model.members[cited.member].plan.features
    return tuple(
        Reach(
            words[j].name,
            vocabulary.own_value(words[j], x),
            *(_end(words[j], float(end[i]), len(x), vocabulary) for end in (extent.low, extent.high)),
        )
        for i in np.argsort(extent.half_width, kind="stable").tolist()
        if (j := int(features[i])) in words
    )


def _end(word: Word, end: float, dim: int, vocabulary: Vocabulary) -> Value:
    """Return one end of a region as a value of a column; None if it is beyond all training records."""
    if not np.isfinite(end):
        return None
    # All else is 0, also a feature that marks a number as missing.
    record = np.zeros(dim)
    record[word.at.start] = end
    return vocabulary.value(word, record)
