"""Position of a point among the ellipsoids, and the features behind it."""

from typing import NamedTuple

import numpy as np

from sepc.common.text import in_words
from sepc.common.typing import FloatArray
from sepc.common.validation import has_gaps
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.geometry.ellipsoid import Ellipsoid, is_held
from sepc.model.assessment import Assessment
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule


class FeatureShare(NamedTuple):
    """Share of one feature in the depth of a point inside an ellipsoid, or in its distance outside.

    Of a raw table it is one column, with raw values, None for a missing one. Where these are levels (`is_level`), not
    numbers, the reference is the most frequent one in the ellipsoid, and `usual` its share of the training records
    there; None where that is not known. `from_others`: the reference is what the other values predict.
    """

    feature: str
    value: Value
    reference: Value
    share: float
    is_level: bool = False
    usual: float | None = None
    from_others: bool = False

    def in_words(self, reference: str) -> str:
        """Return it as part of a sentence, with a name of the reference of numbers."""
        is_usual = self.is_level or self.reference is None
        share = "" if self.usual is None else f", {100.0 * self.usual:.0f} %"
        if is_usual and self.value == self.reference:
            return f"{self.feature} ({in_words(self.value)}{share})"
        reference = "by the other values" if self.from_others else reference
        compared = "mostly" if is_usual else "centre" if self.value is None else reference
        return f"{self.feature} ({in_words(self.value)}; {compared} {in_words(self.reference)}{share})"


class RegionNote(NamedTuple):
    """An ellipsoid that holds the point, or the one nearest to it.

    `gauge` is 0 at the centre and 1 on the boundary; `n_label` and `n_others` count the training records of the
    ellipsoid's label and of all others in it.
    """

    region: str
    label: str
    n_label: int
    n_others: int
    gauge: float
    distance: float


class Place(NamedTuple):
    """Relevant ellipsoids of a point, and the shares of features in its depth or distance."""

    regions: tuple[RegionNote, ...]
    features: tuple[FeatureShare, ...]


def place_of(model: PartitionModel, rules: Rules, x: FloatArray, a: Assessment, vocabulary: Vocabulary) -> Place:
    """Return the place of a point among the ellipsoids of the rules that decide it, given its assessment.

    It has no regions and no features where there is no ellipsoid, or where values are missing.
    """
    z = model.units(x)
    if has_gaps(z):
        return Place((), ())
    gauges = rules.stack.gauges(z[None])[0]
    which = _relevant(rules, gauges, z, a)
    return Place(
        tuple(_note(rules, k, gauges[k], z) for k in which),
        _features(model, rules.stack[which[0]], x, vocabulary) if which else (),
    )


def _relevant(rules: Rules, gauges: FloatArray, z: FloatArray, a: Assessment) -> list[int]:
    """Return the relevant ellipsoids: those around the point, of its label first, else the nearest of each label."""
    if a.rule[0] != Rule.R3.name:
        inside = np.flatnonzero(is_held(gauges)).tolist()
        return sorted(inside, key=lambda k: (rules.labels[int(rules.sides[k])] != str(a.label[0]), gauges[k]))
    distances = rules.stack.distances(z)
    nearest = [np.flatnonzero(rules.sides == side) for side in range(len(rules.labels))]
    best = [int(k[np.argmin(distances[k])]) for k in nearest if len(k)]
    return sorted(best, key=lambda k: float(distances[k]))[:2]


def _note(rules: Rules, k: int, gauge: float, z: FloatArray) -> RegionNote:
    side = int(rules.sides[k])
    own = int(rules.counts[k, side])
    others = int(rules.counts[k].sum()) - own
    distance = float(rules.stack[k].distance(z[None])[0])
    return RegionNote(rules.names[k], rules.labels[side], own, others, float(gauge), distance)


def _features(model: PartitionModel, E: Ellipsoid, x: FloatArray, vocabulary: Vocabulary) -> tuple[FeatureShare, ...]:
    """Return the share of each column in the squared gauge of a point inside, or the squared distance outside."""
    z = model.units(x)
    nearest = E.project(z[None])[0]
    if np.array_equal(nearest, z):
        # The squared gauge is a sum over features; with correlated features some terms may be negative.
        away = z - E.center
        terms = np.maximum(away * (E.axes @ ((away @ E.axes) / np.square(E.radii))), 0.0)
        nearest = E.center
    else:
        terms = np.square(z - nearest)
    shares = terms / (terms.sum() or 1.0)
    reference, center = model.original(nearest), model.original(E.center)
    held = None
    if model.records is not None and any(word.is_level for word in vocabulary.words):
        held = model.original(model.records.points[is_held(E.gauge(model.records.points))])
    found = []
    for word in vocabulary.words:
        value = vocabulary.own_value(word, x)
        usual, share = vocabulary.reference(word, center if word.is_level or value is None else reference), None
        if word.is_level and held is not None and len(held):
            usual, share = vocabulary.most_usual(word, held)
        found.append(FeatureShare(word.name, value, usual, float(shares[word.at].sum()), word.is_level, share))
    return tuple(sorted(found, key=lambda f: -f.share))
