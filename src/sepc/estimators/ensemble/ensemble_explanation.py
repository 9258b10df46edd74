"""Explanations of an ensemble's labels: members and regions that are evidence for them, and against."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, listed, plural
from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel, member_name
from sepc.estimators.ensemble.members import LOWEST, Citation
from sepc.estimators.ensemble.members import Evidence as MemberEvidence
from sepc.explanations.change_limits import ChangeLimits
from sepc.explanations.counterfactual import Counterfactual, changes_of
from sepc.explanations.evidence import Evidence, chain_terms, contributions, differences, evidences_of, log_ratio
from sepc.explanations.explanation import TextExplanation, known_or_none
from sepc.explanations.neighbours import Neighbour, nearest_in_words, nearest_of_others, nearest_records
from sepc.explanations.notes import BeyondNote, MissingNote, PolicyNote, beyond_note, missing_notes, policy_note
from sepc.explanations.short_text import Acceptance, Told
from sepc.explanations.vocabulary import Value, Vocabulary, Word
from sepc.model.acceptance import Promise
from sepc.model.calibration import STRANGE
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
    X: FloatArray,
    vocabularies: Sequence[Vocabulary] | None = None,
    limits: ChangeLimits | None = None,
    promise: Promise | None = None,
) -> list[EnsembleExplanation]:
    """Explain the labels of points, shape (n, d), in the original units; parameters as for a single partition."""
    vocabularies = vocabularies or [Vocabulary(model.features)] * len(X)
    if not len(X):
        return []
    vocabulary, evidence = vocabularies[0], model.evidence(X)
    a = model.assess_by(evidence, X, FrameMaker())
    labels, others, proba = evidence.decision.label, evidence.other, evidence.decision.proba
    codes = np.column_stack([labels, others])
    shift = np.ones(len(model.classes)) if model.policy is None else model.policy.shift
    leanings = model.stack.leaning + np.log(shift)
    leaning = leanings[labels] - leanings[others]
    terms, without_nearby = _terms(model, X, codes, vocabulary), _without_nearby(model, X, proba / shift)
    log_odds, found, background = np.empty(len(X)), [], np.empty(len(X))
    for i, pair in enumerate(codes):
        stated, by_all, by_members = (
            log_ratio(shift[pair]),
            log_ratio(proba[i, pair]),
            float(evidence.added[:, i].sum()),
        )
        background[i] = by_all - leaning[i] - by_members
        log_odds[i], added_up = contributions(
            terms[i],
            class_shares=log_ratio(model.class_count[pair]),
            stated=stated,
            by_regions=float(leaning[i]) - stated + by_members,
            without_nearby=log_ratio(without_nearby[i, pair]),
            by_all=by_all - stated,
        )
        found.append(added_up)
    for_search = model.for_search
    by_column = evidences_of(for_search, X, codes, proba, log_odds, found, vocabularies)
    near, acceptance = nearest_records(model, X, vocabulary), Acceptance.of(a, promise)
    nearest_others = nearest_of_others(model, X, labels, vocabulary)
    voices, strangest_to = _voices(model, X, evidence, vocabularies), _strangest_to(model, X, a.typicality, vocabulary)
    missing = missing_notes(for_search, X, a.trust, vocabulary)
    in_words = "" if limits is None else limits.in_words()
    explanations = []
    for i, label in enumerate(a.label):
        changes = changes_of(for_search, X[i], int(labels[i]), vocabularies[i], limits)
        explanations.append(
            EnsembleExplanation(
                label=plain(label),
                runner_up=plain(model.classes[others[i]]),
                trust=float(a.trust[i]),
                odds=float(a.odds[i]),
                reason=str(a.reason[i]),
                region=str(a.region[i]),
                agreement=float(a.agreement[i]),
                typicality=known_or_none(a.typicality[i]),
                stability=known_or_none(a.stability[i]),
                strangest_to=strangest_to.get(i, ()),
                leaning=float(leaning[i]),
                background=float(background[i]),
                evidence=by_column[i],
                acceptance=acceptance[i],
                voices=voices[i],
                neighbours=near[i],
                counterfactual=changes.smallest,
                actionable_change=changes.actionable,
                no_change_because=changes.none_because,
                nearest_other=nearest_others[i],
                unit=model.unit,
                limits=in_words,
                policy=policy_note(model, proba[i]),
                missing=missing[i],
                beyond=beyond_note(model, X[i], vocabularies[i]),
            )
        )
    return explanations


def _terms(model: EnsembleModel, X: FloatArray, codes: IntArray, vocabulary: Vocabulary) -> FloatArray:
    """Return the contributions of the columns by all members at points, shape (n, n_columns)."""

    def log_odds(joint: FloatArray, rows: IntArray) -> FloatArray:
        log_proba = np.maximum(joint - np.logaddexp.reduce(joint, axis=-1, keepdims=True), LOWEST)
        return differences(log_proba, codes[rows])

    total, views = np.zeros((len(X), len(vocabulary.words))), model.views(X)
    for member, weight in zip(model.members, model.stack.weights.tolist(), strict=True):
        seen, points = member.plan.features, member.points(views)
        columns = [np.flatnonzero((seen >= w.at.start) & (seen < w.at.stop)) for w in vocabulary.words]
        for part in member.parts if weight > 0.0 else ():
            of_part = chain_terms(part.densities, part.sees(points), columns, log_odds, _ORDERS)
            total += weight / len(member.parts) * of_part
    return total


def _without_nearby(model: EnsembleModel, X: FloatArray, proba: FloatArray) -> FloatArray:
    """Return probabilities, shape (n, n_classes) and up to factors, of points without the counts of their places."""
    local = model.strangeness.calibration.local
    if local is None:
        return proba
    place, weight = local.at(model.units(X))
    return np.asarray(proba / proba.sum(axis=1, keepdims=True) - weight[:, None] * local.shares(place))


def _strangest_to(
    model: EnsembleModel, X: FloatArray, typicality: FloatArray, vocabulary: Vocabulary
) -> dict[int, tuple[str, ...]]:
    """Return the features that make points strange, by the rows of those that are."""
    rows = np.flatnonzero(typicality < STRANGE)
    if not len(rows):
        return {}
    strangeness, log_densities, Z = model.strangeness, model.predictions(X[rows]).log_density, model.units(X[rows])
    beyond, relations = model.views.beyond(X[rows]), strangeness.calibration.relations
    scores, found = strangeness.score(log_densities, beyond.max(axis=1)), {}
    by_member = (log_densities - strangeness.middle[:, None]) / strangeness.spread[:, None]
    for i, row in enumerate(rows.tolist()):
        off = None if relations is None else relations.strangest(Z[i], float(scores[i]))
        if relations is not None and off is not None:
            order = np.argsort(-off.sizes, kind="stable")
            features = relations.columns[order[off.sizes[order] >= min(1.0, off.sizes.max())]].tolist()
        else:
            outside = [j for j in np.argsort(-beyond[i], kind="stable").tolist() if beyond[i, j] > 0.0]
            looked_at = model.members[int(by_member[:, i].argmin())].plan.features.tolist()
            features = list(dict.fromkeys(outside + looked_at))
        found[row] = vocabulary.named([model.features[j] for j in features])
    return found


def _voices(
    model: EnsembleModel, X: FloatArray, evidence: MemberEvidence, vocabularies: Sequence[Vocabulary]
) -> list[tuple[Voice, ...]]:
    """Return the predictions of all members at points, the largest evidence for the label first."""
    label, n = evidence.decision.label, len(model.members)
    own, reaches = evidence.predictions.argmax(axis=2), _Reaches(model, vocabularies[0])
    named = [vocabularies[0].named([model.features[j] for j in member.plan.features]) for member in model.members]
    found: dict[tuple[int, int], Voice] = {}
    for cited in _citations(model, X, evidence):
        m = cited.member
        for at, (row, component) in enumerate(zip(cited.rows.tolist(), cited.components.tolist(), strict=True)):
            i, claimed = row // n, cited.claimed[at]
            found[i, m] = Voice(
                member=m + 1,
                features=named[m],
                evidence=float(evidence.added[m, i]),
                weight=float(model.stack.weights[m]),
                label=plain(model.classes[own[m, i]]),
                region=str(cited.regions[at]),
                n_label=int(claimed[label[i]]),
                n_others=int(claimed.sum() - claimed[label[i]]),
                reach=reaches.of(m, cited.part, component, X[i], vocabularies[i]),
                n_regions=model.n_regions(m, cited.part, component),
            )
    orders = np.argsort(-evidence.added, axis=0, kind="stable").T.tolist()
    return [tuple(found[i, m] for m in order) for i, order in enumerate(orders)]


def _citations(model: EnsembleModel, X: FloatArray, evidence: MemberEvidence) -> Iterator[Citation]:
    """Return each member's citations at points: of the label or of the other, as it prefers.

    Each point is there once for each member: a row divided by their number is that of the point.
    """
    n, rows = len(model.members), np.arange(len(X))
    label, other, predictions = evidence.decision.label, evidence.other, evidence.predictions
    speaks_for = (predictions[:, rows, label] >= predictions[:, rows, other]).T
    code = np.where(speaks_for, label[:, None], other[:, None]).ravel()
    rival = np.where(speaks_for, other[:, None], label[:, None]).ravel()
    of_parts = None if evidence.of_parts is None else np.repeat(evidence.of_parts, n, axis=2)
    return model.citations(np.repeat(X, n, axis=0), code, rival, np.tile(np.arange(n), len(X)), of_parts)


class _Reaches:
    """The ranges of the regions that members cite; they are kept."""

    def __init__(self, model: EnsembleModel, vocabulary: Vocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.words = {word.at.start: word for word in vocabulary.words if not word.is_level}
        self._known: dict[tuple[int, int, int], list[tuple[Word, Value, Value]]] = {}

    def of(self, member: int, part: int, component: int, x: FloatArray, vocabulary: Vocabulary) -> tuple[Reach, ...]:
        """Return the ranges of a region, the narrowest feature first, with the values of a point."""
        key = member, part, component
        if key not in self._known:
            self._known[key] = list(self._ends(*key))
        return tuple(Reach(w.name, vocabulary.own_value(w, x), *ends) for w, *ends in self._known[key])

    def _ends(self, member: int, part: int, component: int) -> Iterator[tuple[Word, Value, Value]]:
        extent = self.model.extent(member, part, component)
        if extent is None:
            return
        features = self.model.members[member].plan.features
        for i in np.argsort(extent.half_width, kind="stable").tolist():
            word = self.words.get(int(features[i]))
            if word is not None:
                ends = (float(end[i]) for end in (extent.low, extent.high))
                low, high = (_end(word, end, len(self.model.features), self.vocabulary) for end in ends)
                yield word, low, high


def _end(word: Word, end: float, dim: int, vocabulary: Vocabulary) -> Value:
    """Return one end of a region as a value of a column; None if it is beyond all training records."""
    if not np.isfinite(end):
        return None
    # All else is 0, also a feature that marks a number as missing.
    record = np.zeros(dim)
    record[word.at.start] = end
    return vocabulary.value(word, record)
