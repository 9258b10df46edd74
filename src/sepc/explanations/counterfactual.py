"""Counterfactuals: the smallest change found that would give a record another label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, length_in_words, listed, percent
from sepc.common.typing import BoolArray, FloatArray
from sepc.explanations.vocabulary import Value, Vocabulary, length
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel

# Points on the way into a region at which the label is asked for; the step on which it changes is so divided again.
_WAY_POINTS = 33
_DIVISIONS = 6
# Regions of other labels that are tried, nearest first.
_N_REGIONS = 20
# Training records of other labels that are tried after these.
_N_RECORDS = 5000
_N_FEATURES_IN_TEXT = 3


class Change(NamedTuple):
    """The change of one feature in a counterfactual; `in_units` is the change in standard deviations.

    Of a raw table it is one column, with raw values, None for a missing one; `change` is None unless both are numbers.

    Examples
    --------
    >>> Change("age", 61.0, 58.0, -3.0, -0.3).change
    -3.0
    """

    feature: str
    before: Value
    after: Value
    change: float | None
    in_units: float


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change found that moves the point into a region of another label.

    Attributes
    ----------
    label : object
        The label after the change.
    trust : float
        Trust in it.
    region : str
        The region that the point then lies in.
    distance : float
        Length of the change, in standard deviations if the classifier standardises.
    changes : tuple of Change
        One per feature, those that move most first; of a raw table, one per column that changes.
    point : dict of str to float
        The changed record; of a raw table, with raw values of all columns that count.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> found = clf.explain([2.0]).counterfactual
    >>> found.label, round(found.changes[0].after, 3)
    ('high', 5.0)
    """

    label: Any
    trust: float
    region: str
    distance: float
    changes: tuple[Change, ...]
    point: dict[str, Value]


class Way(NamedTuple):
    """A way into a region of another label: through its nearest point to its middle, in the model's units."""

    length: float
    entry: FloatArray
    middle: FloatArray


def ways_into_regions(model: PartitionModel, x: FloatArray, label: int) -> list[Way]:
    """Return the ways from a point into regions of other labels, shortest first.

    Parameters
    ----------
    model : PartitionModel
    x : ndarray of shape (d,)
        In the units that points come in.
    label : int
        Number of its class.

    Returns
    -------
    list of Way
    """
    z, ways = model.units(x), []
    for problem, rules in enumerate(model.rules):
        # With two classes the one problem is about both; else each problem's side 0 is its class, side 1 the rest.
        side = 1 - label if len(model.rules) == 1 else 0
        if len(model.rules) > 1 and problem == label:
            continue
        distances = rules.stack.distances(z)
        for k in np.flatnonzero(rules.sides == side).tolist():
            E = rules.stack[k]
            ways.append(Way(float(distances[k]), E.project(z[None])[0], E.center))
        ways += [Way(float(np.linalg.norm(x - z)), x, x) for x in rules.isolated]
    return sorted(ways, key=lambda way: way.length)[:_N_REGIONS]


def _way_to_a_record(model: FittedModel, x: FloatArray, label: int, vocabulary: Vocabulary) -> list[Way]:
    """Return the straight way to the nearest training record whose verdict is another label, if there is one near.

    Where the records were left out, to the middle of another class.
    """
    z, records = model.units(x), model.records
    if records is None:
        others = np.delete(model.outline.middles, label, axis=0)
        others = others[~np.isnan(others).any(axis=1)]
    else:
        others = records.points[records.codes != label]
    if not len(others):
        return []
    distances = np.sqrt(np.square(others - z).sum(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_N_RECORDS]
    reached = vocabulary.within_reach(model.original(others[nearest]))
    there = np.flatnonzero(model.decide(reached).label != label)
    return [Way(0.0, z, others[nearest[i]]) for i in there[:1]]


def counterfactual(
    model: FittedModel, x: FloatArray, label: int, vocabulary: Vocabulary, ways: Sequence[Way]
) -> Counterfactual | None:
    """Go into the nearest regions of other labels just until the label changes; return the shortest change.

    Parameters
    ----------
    model : FittedModel
    x : ndarray of shape (d,)
        The point, in the units that points come in.
    label : int
        Number of its class.
    vocabulary : Vocabulary
        Knows to which records it can be changed.
    ways : sequence of Way
        Into regions of other labels, shortest first. If none of them leads to another label, the way to the nearest
        training record that has one is tried.

    Returns
    -------
    Counterfactual or None
        None if no change was found.
    """
    best = _shortest(model, x, label, ways, vocabulary)
    if best is None:  # other labels are outnumbered all along the ways to the centres of their ellipsoids
        best = _shortest(model, x, label, _way_to_a_record(model, x, label, vocabulary), vocabulary)
    if best is None:
        return None

    def enough(X: FloatArray) -> BoolArray:
        return np.asarray(model.decide(X).label != label)

    best = vocabulary.simplest(best, model.units(best) - model.units(x), enough)
    return _as_counterfactual(model, x, best, vocabulary)


def _shortest(
    model: FittedModel, x: FloatArray, label: int, ways: Sequence[Way], vocabulary: Vocabulary
) -> FloatArray | None:
    """Return the nearest record with another label that was found, in the units that records come in."""
    best: FloatArray | None = None
    z, shortest = model.units(x), np.inf
    for way in ways:
        if way.length >= shortest:
            break
        found = _first_change(model, way, label, vocabulary)
        if found is not None and np.linalg.norm(model.units(found) - z) < shortest:
            best, shortest = found, float(np.linalg.norm(model.units(found) - z))
    return best


def _first_change(model: FittedModel, way: Way, label: int, vocabulary: Vocabulary) -> FloatArray | None:
    """Return the first record on the way, from its entry on, that has another label."""

    def at(t: FloatArray) -> FloatArray:
        # What is judged is the record that will be shown, so that it has the label that is shown.
        return vocabulary.within_reach(model.original(way.entry + t[:, None] * (way.middle - way.entry)))

    low, high = 0.0, 1.0
    for _ in range(1 + _DIVISIONS):
        # All points of a step at once: to be asked takes time, hardly more for many points.
        grid = np.linspace(low, high, _WAY_POINTS)
        there = np.asarray(model.decide(at(grid)).label != label)
        if not there.any():
            return None
        first = int(there.argmax())
        if first == 0:
            return np.asarray(at(grid[:1])[0])
        low, high = grid[first - 1], grid[first]
    return np.asarray(at(np.array([high]))[0])


def _as_counterfactual(model: FittedModel, x: FloatArray, after: FloatArray, vocabulary: Vocabulary) -> Counterfactual:
    a = model.assess(after[None], FrameMaker())
    moved = model.units(after) - model.units(x)
    kept = {word.name: vocabulary.asked(word, x) for word in vocabulary.words if vocabulary.keeps(word, after)}
    changes = [
        _change(word.name, vocabulary.asked(word, x), vocabulary.value(word, after), length(moved[word.at]))
        for word in vocabulary.words
        if word.name not in kept
    ]
    return Counterfactual(
        label=plain(a.label[0]),
        trust=float(a.trust[0]),
        region=str(a.region[0]),
        distance=float(np.linalg.norm(moved)),
        changes=tuple(sorted(changes, key=lambda c: -abs(c.in_units))),
        point={word.name: kept.get(word.name, vocabulary.value(word, after)) for word in vocabulary.words},
    )


def _change(name: str, before: Value, after: Value, in_units: float) -> Change:
    step = after - before if isinstance(before, float) and isinstance(after, float) else None
    return Change(name, before, after, step, in_units)


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
