"""Position of a point among the ellipsoids, and the features behind it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepc.common.text import in_words
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.vocabulary import Value, Vocabulary
from sepc.geometry.ellipsoid import is_held
from sepc.model.assessment import Assessment
from sepc.model.decision import deciding_problem
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


def places_of(
    model: PartitionModel, X: FloatArray, labels: IntArray, a: Assessment, vocabularies: Sequence[Vocabulary]
) -> list[Place]:
    """Return the places of points, shape (n, d), among the ellipsoids of the rules that decide them, as assessed.

    `labels`, shape (n,), are the numbers of their labels. A place has no regions and no features where there is no
    ellipsoid, or where values are missing.
    """
    Z, places = np.ascontiguousarray(model.units(X)), [Place((), ())] * len(X)
    complete, (problems, _) = ~np.isnan(Z).any(axis=1), deciding_problem(labels, len(model.rules))
    for problem in np.unique(problems[complete]).tolist():
        rules, rows = model.rules[problem], np.flatnonzero(complete & (problems == problem))
        if not len(rules.stack):
            continue
        among = _Ellipsoids(model, rules, Z[rows], a.rule[rows] == Rule.R3.name, vocabularies[0])
        for i, row in enumerate(rows.tolist()):
            which = among.relevant(i, str(a.label[row]))
            places[row] = Place(
                tuple(among.note(i, k) for k in which), among.features(which[0], X[row], Z[row], vocabularies[row])
            )
    return places


class _Ellipsoids:
    """The ellipsoids of some rules, and points of shape (n, d); `is_outside` are those outside of all."""

    def __init__(
        self, model: PartitionModel, rules: Rules, Z: FloatArray, is_outside: BoolArray, vocabulary: Vocabulary
    ) -> None:
        self.model, self.rules, self.vocabulary = model, rules, vocabulary
        self.gauges, self.is_outside = rules.stack.gauges(Z), is_outside
        # What is inside of an ellipsoid has no distance to it.
        self.distances = np.zeros_like(self.gauges)
        for k, E in enumerate(rules.stack.ellipsoids if is_outside.any() else ()):
            self.distances[is_outside, k] = E.distance(Z[is_outside])
        self._usual: dict[int, dict[str, tuple[Value, float]]] = {}

    def relevant(self, i: int, label: str) -> list[int]:
        """Return the ellipsoids around a point, of its label first, else the nearest of each label."""
        rules, gauges, distances = self.rules, self.gauges[i], self.distances[i]
        if not self.is_outside[i]:
            inside = np.flatnonzero(is_held(gauges)).tolist()
            return sorted(inside, key=lambda k: (rules.labels[int(rules.sides[k])] != label, gauges[k]))
        nearest = [np.flatnonzero(rules.sides == side) for side in range(len(rules.labels))]
        best = [int(k[np.argmin(distances[k])]) for k in nearest if len(k)]
        return sorted(best, key=lambda k: float(distances[k]))[:2]

    def note(self, i: int, k: int) -> RegionNote:
        """Return the note on an ellipsoid and a point."""
        rules, side = self.rules, int(self.rules.sides[k])
        own = int(rules.counts[k, side])
        others = int(rules.counts[k].sum()) - own
        gauge, distance = float(self.gauges[i, k]), float(self.distances[i, k])
        return RegionNote(rules.names[k], rules.labels[side], own, others, gauge, distance)

    def features(self, k: int, x: FloatArray, z: FloatArray, vocabulary: Vocabulary) -> tuple[FeatureShare, ...]:
        """Return the share of each column in the squared gauge of a point inside, or the squared distance outside."""
        E = self.rules.stack[k]
        nearest = E.project(z[None])[0]
        if np.array_equal(nearest, z):
            # The squared gauge is a sum over features; with correlated features some terms may be negative.
            away = z - E.center
            terms = np.maximum(away * (E.axes @ ((away @ E.axes) / np.square(E.radii))), 0.0)
            nearest = E.center
        else:
            terms = np.square(z - nearest)
        shares = terms / (terms.sum() or 1.0)
        (reference, center), known = self.model.original(np.array([nearest, E.center])), self._usual_of(k)
        found = []
        for word in vocabulary.words:
            value, share = vocabulary.own_value(word, x), float(shares[word.at].sum())
            if word.name in known:
                usual, of_records = known[word.name]
                found.append(FeatureShare(word.name, value, usual, share, True, of_records))
            else:
                usual = vocabulary.reference(word, center if word.is_level or value is None else reference)
                found.append(FeatureShare(word.name, value, usual, share, word.is_level))
        return tuple(sorted(found, key=lambda f: -f.share))

    def _usual_of(self, k: int) -> dict[str, tuple[Value, float]]:
        """Return the most usual levels of the training records in an ellipsoid, and their shares, by column."""
        if k not in self._usual:
            levels = [word for word in self.vocabulary.words if word.is_level]
            self._usual[k] = {}
            if self.model.records is not None and levels:
                points = self.model.records.points
                held = self.model.original(points[is_held(self.rules.stack[k].gauge(points))])
                self._usual[k] = {w.name: self.vocabulary.most_usual(w, held) for w in levels if len(held)}
        return self._usual[k]
