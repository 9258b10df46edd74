"""Explanations: why a record gets its label, in words that a domain expert can check."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, length_in_words, listed, percent, plural
from sepc.common.typing import FloatArray
from sepc.explanations.counterfactual import Counterfactual, counterfactual, ways_into_regions
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.geometry.ellipsoid import Ellipsoid, is_held
from sepc.model.assessment import Assessment
from sepc.model.decision import deciding_problem
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule

_N_NEIGHBOURS = 5
_N_FEATURES_IN_TEXT = 3

_RULES = {
    Rule.R1.name: "it lies in exactly one ellipsoid",
    Rule.R2a.name: "it lies in several ellipsoids, and the training records that all of them share decide",
    Rule.R2b.name: "it lies in several ellipsoids that share no training record, so all their records decide",
}
# By whether ellipsoids are grown.
_R3 = {
    False: "it lies outside every ellipsoid, so the nearest one decides, as it is",
    True: "it lies outside every ellipsoid, so the nearest one, grown until it touches the point, decides",
}
_PLACES = {
    Rule.R1.name: "it lies in exactly one ellipsoid",
    Rule.R2a.name: "it lies in several ellipsoids that share training records",
    Rule.R2b.name: "it lies in several ellipsoids that share no training record",
    Rule.R3.name: "it lies outside every ellipsoid; this is the nearest one, grown until it touches the point",
}
# An ellipsoid that need not grow by more than this share is only just missed.
_NEARLY_INSIDE = 0.2


def rules_in_words(grows: bool) -> dict[str, str]:
    """Return when each rule applies, as the end of a sentence on a record.

    Parameters
    ----------
    grows : bool
        Whether the nearest ellipsoid is grown to a record outside of all before its training records are counted.

    Examples
    --------
    >>> rules_in_words(grows=False)["R3"]
    'it lies outside every ellipsoid, so the nearest one decides, as it is'
    """
    return {**_RULES, Rule.R3.name: _R3[grows]}


class FeatureShare(NamedTuple):
    """The share of one feature in how deep inside, or how far outside, the point lies.

    Of a raw table it is one column, with raw values; `is_level` then says whether these are some of a few, not numbers,
    and None is a missing one. The reference is in that case what is most usual in the ellipsoid.

    Examples
    --------
    >>> FeatureShare("age", 61.0, 40.0, 0.8).in_words("centre")
    'age (61; centre 40)'
    >>> FeatureShare("color", "red", "blue", 0.8, True).in_words("centre")
    'color (red; mostly blue)'
    """

    feature: str
    value: Value
    reference: Value
    share: float
    is_level: bool = False

    def in_words(self, reference: str) -> str:
        """Return it as part of a sentence, with a word for what a number is compared to."""
        usual = self.is_level or self.reference is None
        if usual and self.value == self.reference:
            return f"{self.feature} ({in_words(self.value)})"
        compared = "mostly" if usual else "centre" if self.value is None else reference
        return f"{self.feature} ({in_words(self.value)}; {compared} {in_words(self.reference)})"


class RegionNote(NamedTuple):
    """An ellipsoid that the point lies in, or the one nearest to it.

    `gauge` is 0 at the centre and 1 on the boundary; `n_label` and `n_others` count the training records of the
    ellipsoid's label and of all others in it.

    Examples
    --------
    >>> RegionNote("benign#1", "benign", 264, 1, 0.6, 0.0).gauge
    0.6
    """

    region: str
    label: str
    n_label: int
    n_others: int
    gauge: float
    distance: float


class Neighbour(NamedTuple):
    """A training record near the point: its row in the training set, its label, and how far it is.

    Examples
    --------
    >>> Neighbour(17, "benign", 0.4, {"age": 61.0}).row
    17
    """

    row: int
    label: Any
    distance: float
    values: dict[str, Value]


class TextExplanation(ABC):
    """An explanation: fields that become a paragraph, and plain values."""

    __slots__ = ()
    odds: float
    counterfactual: Counterfactual | None

    @abstractmethod
    def sentences(self) -> Iterator[str]:
        """Yield what is to be said, sentence by sentence; empty ones do not count."""

    @property
    def text(self) -> str:
        """One plain paragraph."""
        return " ".join(sentence for sentence in self.sentences() if sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON; an infinite odds is None."""
        out = {field.name: _in_plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        out["odds"] = self.odds if np.isfinite(self.odds) else None
        if self.counterfactual is not None:
            changes = _in_plain(self.counterfactual.changes)
            out["counterfactual"] = {**asdict(self.counterfactual), "changes": changes}
        return {**out, "text": self.text}

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text)}</p>"


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
    counts : dict of str to int
        Training records in the deciding region: of the label, and of all others.
    regions : tuple of RegionNote
        The ellipsoids that the point lies in, or the nearest one of each label if it lies in none.
    features : tuple of FeatureShare
        What its depth or its distance is made of, largest share first; the reference is the centre of the ellipsoid
        for a point inside, and the nearest point of it for a point outside.
    neighbours : tuple of Neighbour
        The nearest training records.
    counterfactual : Counterfactual or None
        None if no change into a region of another label was found.
    unit : str
        What distances are measured in.
    reading : str
        How the regions are read: the `trust` of the classifier.
    counted : {"training", "held-out"}
        Which records the counts are of: of all training records, or of those that shaped no ellipsoid.
    grows : bool
        Whether the nearest ellipsoid is grown to a point outside of all before its training records are counted.
    is_of_older_rule : bool
        Whether it is so in this model alone, which was saved when it was the rule.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> why = clf.explain([1.5])
    >>> why.region, why.counts, sorted(why.to_dict())[:3]
    ('low#1', {'low': 3, 'others': 0}, ['counted', 'counterfactual', 'counts'])
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
    regions: tuple[RegionNote, ...]
    features: tuple[FeatureShare, ...]
    neighbours: tuple[Neighbour, ...]
    counterfactual: Counterfactual | None
    unit: str
    counted: str
    reading: str
    grows: bool
    is_of_older_rule: bool

    def sentences(self) -> Iterator[str]:
        """Yield what is to be said, sentence by sentence."""
        yield from (self._verdict(), self._counts(), self._place(), self._caution())
        yield nearest_in_words(self.neighbours, self.unit)
        yield change_in_words(self.counterfactual, self.unit)

    def _verdict(self) -> str:
        sure = f"Predicted {self.label} with a trust of {percent(self.trust)}"
        if self.reading == "local":
            return f"{sure}: its probability, with each ellipsoid read as a local distribution."
        older = ", by the rule of the time when the model was made" if self._is_of_older_rule_here else ""
        return f"{sure} (rule {self.rule}: {rules_in_words(self.grows)[self.rule]}{older})."

    @property
    def _is_of_older_rule_here(self) -> bool:
        return self.is_of_older_rule and self.rule == Rule.R3.name

    def _counts(self) -> str:
        own, others = self.counts.values()
        region = (
            f"It belongs to the region {self.region} ({_PLACES[self.rule]}), which holds"
            if self.reading == "local"
            else f"The region that decides, {self.region}, holds"
        )
        return f"{region} {own} {self.counted} {plural('record', own)} of {self.label} and {others} of other labels."

    def _place(self) -> str:
        if not self.regions:
            return f"The nearest training record is {self._length(self.distance)} away."
        note = self.regions[0]
        most = [f for f in self.features[:_N_FEATURES_IN_TEXT] if f.share >= 0.05]
        if self.rule == Rule.R3.name:
            place, reference = f"It lies {self._length(note.distance)} outside {note.region}", "it reaches to"
        else:
            place = f"It lies at {percent(note.gauge)} of the way from the centre of {note.region} to its boundary"
            reference = "centre"
        parts = [f.in_words(reference) for f in most]
        return f"{place}, mostly by {listed(parts)}." if parts else f"{place}."

    def _caution(self) -> str:
        if not any(self.counts.values()):
            return (
                "The label is that of the records that shaped this region, and nothing confirms it: do not rely on it "
                "without a second look."
            )
        if self.reason == "contested" and self.reading == "local":
            return "Other labels are as many there, or more: do not rely on this label without a second look."
        if self.reason == "contested":
            return (
                "The records that decide are evenly split, or most of them are not of the group they are in: do not "
                "rely on this label without a second look."
            )
        if self.reason == "outside" and not (self.regions and self.regions[0].gauge <= 1.0 + _NEARLY_INSIDE):
            return "No group of training records covers it: treat the label as a guess from what is nearest."
        if self.local_overlap is not None and self.reason == "overlap":
            return f"Labels overlap here: look at the counts before relying on it. {_alike(self.local_overlap)}"
        return ""

    def _length(self, distance: float) -> str:
        return length_in_words(distance, self.unit)


def explain(model: PartitionModel, x: FloatArray, vocabulary: Vocabulary | None = None) -> Explanation:
    """Explain the verdict on one point.

    Parameters
    ----------
    model : PartitionModel
    x : ndarray of shape (d,)
        The point, in the units that points come in.
    vocabulary : Vocabulary, optional
        What to speak of; the features by default.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> explain(model, model.units(np.array([1.0]))).label
    0
    """
    vocabulary = vocabulary or Vocabulary(model.features)
    z = model.units(x)
    decision, verdicts = model.judge(z[None])
    a = Assessment(decision, verdicts, model.rules, model.classes, FrameMaker())
    label = int(decision.label[0])
    rules = model.rules[int(deciding_problem(decision.label, len(model.rules))[0][0])]
    gauges = rules.stack.gauges(z[None])[0]
    which = _told_of(rules, gauges, z, a)
    own, others = (int(n) for n in a.counts[0])
    return Explanation(
        label=plain(a.label[0]),
        trust=float(a.trust[0]),
        odds=float(a.odds[0]),
        rule=str(a.rule[0]),
        reason=str(a.reason[0]),
        region=str(a.region[0]),
        counts={str(a.label[0]): own, "others": others},
        distance=float(a.distance[0]),
        local_overlap=None if np.isnan(a.local_overlap[0]) else float(a.local_overlap[0]),
        regions=tuple(_note(rules, k, gauges[k], z) for k in which),
        features=_features(model, rules.stack[which[0]], x, vocabulary) if which else (),
        neighbours=nearest_records(model, x, vocabulary),
        counterfactual=counterfactual(model, x, label, vocabulary, ways_into_regions(model, x, label)),
        unit=model.unit,
        counted="training" if rules.training_counts.all_counted else "held-out",
        reading=model.trust,
        grows=model.grows,
        is_of_older_rule=model.is_of_older_rule,
    )


def _alike(local_overlap: float) -> str:
    """Tell how alike two ellipsoids are at a point, by the share of each in the sum of both densities."""
    return (
        "Read as normal distributions, the two of these ellipsoids of different labels that are most alike at this "
        f"point have {percent(1.0 - local_overlap)} and {percent(local_overlap)} of their joint density there: 50 % "
        "each would be no difference."
    )


def _told_of(rules: Rules, gauges: FloatArray, z: FloatArray, a: Assessment) -> list[int]:
    """Return the ellipsoids to speak of, the one that matters most first."""
    if a.rule[0] != Rule.R3.name:
        inside = np.flatnonzero(is_held(gauges)).tolist()
        return sorted(inside, key=lambda k: (rules.labels[int(rules.sides[k])] != str(a.label[0]), gauges[k]))
    distances = rules.stack.distances(z)
    nearest = [np.flatnonzero(rules.sides == side) for side in (0, 1)]
    best = [int(k[np.argmin(distances[k])]) for k in nearest if len(k)]
    return sorted(best, key=lambda k: float(distances[k]))


def _note(rules: Rules, k: int, gauge: float, z: FloatArray) -> RegionNote:
    side = int(rules.sides[k])
    own, others = int(rules.counts[k, side]), int(rules.counts[k, 1 - side])
    distance = float(rules.stack[k].distance(z[None])[0])
    return RegionNote(rules.names[k], rules.labels[side], own, others, float(gauge), distance)


def _features(model: PartitionModel, E: Ellipsoid, x: FloatArray, vocabulary: Vocabulary) -> tuple[FeatureShare, ...]:
    """Say what the gauge of a point inside, or the distance of one outside, is made of."""
    z = model.units(x)
    nearest = E.project(z[None])[0]
    if np.array_equal(nearest, z):
        # The square of the gauge is a sum over features; where features compensate each other terms are negative.
        away = z - E.center
        terms = np.maximum(away * (E.axes @ ((away @ E.axes) / np.square(E.radii))), 0.0)
        nearest = E.center
    else:
        terms = np.square(z - nearest)
    shares = terms / (terms.sum() or 1.0)
    reference, center = model.original(nearest), model.original(E.center)
    told = []
    for word in vocabulary.words:
        value = vocabulary.asked(word, x)
        usual = vocabulary.value(word, center if word.is_level or value is None else reference)
        told.append(FeatureShare(word.name, value, usual, float(shares[word.at].sum()), word.is_level))
    return tuple(sorted(told, key=lambda f: -f.share))


def nearest_records(model: FittedModel, x: FloatArray, vocabulary: Vocabulary) -> tuple[Neighbour, ...]:
    """Return the training records nearest to a point in the units that points come in; none where they were left out.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> nearest_records(model, np.array([1.2]), Vocabulary(["x0"]))[0].row
    1
    """
    if model.records is None:
        return ()
    points, codes, rows = model.records
    distances = np.sqrt(np.square(points - model.units(x)).sum(axis=1))
    n = min(_N_NEIGHBOURS, len(distances))
    nearest = np.argpartition(distances, n - 1)[:n]
    nearest = nearest[np.lexsort((rows[nearest], distances[nearest]))]
    return tuple(
        Neighbour(
            int(rows[i]),
            plain(model.classes[codes[i]]),
            float(distances[i]),
            vocabulary.record(model.original(points[i])),
        )
        for i in nearest
    )


def nearest_in_words(neighbours: Sequence[Neighbour], unit: str) -> str:
    """Return a sentence about the nearest training records; none if none are known.

    Examples
    --------
    >>> nearest_in_words([Neighbour(4, "low", 0.5, {"x0": 1.0})], "units")
    'The nearest training records are row 4 (low, 0.5 units away).'
    """
    near = [f"row {n.row} ({n.label}, {length_in_words(n.distance, unit)} away)" for n in neighbours[:3]]
    return f"The nearest training records are {listed(near)}." if near else ""


def change_in_words(found: Counterfactual | None, unit: str) -> str:
    """Return a sentence about the smallest change to another label.

    Examples
    --------
    >>> change_in_words(None, "units")
    'No change into a region of another label was found.'
    """
    if found is None:
        return "No change into a region of another label was found."
    most = [
        c
        for n, c in enumerate(found.changes)
        # Another value of a category is never a small change.
        if c.change is None or (n < _N_FEATURES_IN_TEXT and abs(c.in_units) >= 0.05 * found.distance)
    ]
    parts = [f"{c.feature} from {in_words(c.before)} to {in_words(c.after)}" for c in most]
    rest = "" if len(most) == len(found.changes) else ", and smaller changes elsewhere"
    return (
        f"The smallest change found that would make it {found.label} ({found.region}, trust "
        f"{percent(found.trust)}) is {length_in_words(found.distance, unit)} long: {listed(parts)}{rest}."
    )
