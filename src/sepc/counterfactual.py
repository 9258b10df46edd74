"""What would have to change for another label: the smallest step into a region that has it."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.frames import FrameMaker, plain
from sepc.geometry._checks import FloatArray
from sepc.model import Model

# Points on the way into a region at which the label is asked for; the last step is then halved this many times.
_WAY_POINTS = 33
_HALVINGS = 30
# Regions of other labels that are tried, nearest first.
_N_REGIONS = 20
# Training records of other labels that are tried after these.
_N_RECORDS = 5000


class Change(NamedTuple):
    """What a counterfactual does to one feature; `in_units` is the change in standard deviations.

    Examples
    --------
    >>> Change("age", 61.0, 58.0, -3.0, -0.3).change
    -3.0
    """

    feature: str
    before: float
    after: float
    change: float
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
        One per feature, those that move most first.
    point : dict of str to float
        The changed record.

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
    point: dict[str, float]


class _Way(NamedTuple):
    """A way into a region of another label: through its nearest point to its middle."""

    length: float
    entry: FloatArray
    middle: FloatArray


def _ways(model: Model, z: FloatArray, label: int) -> list[_Way]:
    """Return the ways into regions of other labels, shortest first."""
    ways = []
    for problem, rules in enumerate(model.rules):
        # With two classes the one problem is about both; else each problem's side 0 is its class, side 1 the rest.
        side = 1 - label if len(model.rules) == 1 else 0
        if len(model.rules) > 1 and problem == label:
            continue
        distances = rules.stack.distances(z)
        for k in np.flatnonzero(rules.sides == side).tolist():
            E = rules.stack[k]
            ways.append(_Way(float(distances[k]), E.project(z[None])[0], E.center))
        ways += [_Way(float(np.linalg.norm(x - z)), x, x) for x in rules.isolated]
    return sorted(ways, key=lambda way: way.length)[:_N_REGIONS]


def _way_to_a_record(model: Model, z: FloatArray, label: int) -> list[_Way]:
    """Return the straight way to the nearest training record whose verdict is another label, if there is one near.

    Where the records were left out, to the middle of another class.
    """
    if model.records is None:
        others = np.delete(model.outline.middles, label, axis=0)
        others = others[~np.isnan(others).any(axis=1)]
    else:
        others = model.points[model.codes != label]
    if not len(others):
        return []
    distances = np.sqrt(np.square(others - z).sum(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_N_RECORDS]
    there = np.flatnonzero(model.outcome(others[nearest]).label != label)
    return [_Way(0.0, z, others[nearest[i]]) for i in there[:1]]


def counterfactual(model: Model, z: FloatArray, label: int) -> Counterfactual | None:
    """Go into the nearest regions of other labels just until the label changes; return the shortest change.

    Parameters
    ----------
    model : Model
    z : ndarray of shape (d,)
        The point, in the model's units.
    label : int
        Number of its class.

    Returns
    -------
    Counterfactual or None
        None if no change was found.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> counterfactual(model, model.units(np.array([1.0])), 0).region
    '1#1'
    """
    best = _shortest(model, z, label, _ways(model, z, label))
    if best is None:  # other labels are outnumbered all along the ways to the centres of their ellipsoids
        best = _shortest(model, z, label, _way_to_a_record(model, z, label))
    return None if best is None else _as_counterfactual(model, z, best)


def _shortest(model: Model, z: FloatArray, label: int, ways: list[_Way]) -> FloatArray | None:
    best: FloatArray | None = None
    length = np.inf
    for way in ways:
        if way.length >= length:
            break
        found = _first_change(model, way, label)
        if found is not None and np.linalg.norm(found - z) < length:
            best, length = found, float(np.linalg.norm(found - z))
    return best


def _first_change(model: Model, way: _Way, label: int) -> FloatArray | None:
    """Return the first point of the way, from its entry on, that has another label."""

    def at(t: FloatArray) -> FloatArray:
        # There and back again: the record that is shown must have the label that is shown.
        return model.units(model.original(way.entry + t[:, None] * (way.middle - way.entry)))

    def changed(t: FloatArray) -> np.ndarray:
        return np.asarray(model.outcome(at(t)).label != label)

    grid = np.linspace(0.0, 1.0, _WAY_POINTS)
    there = changed(grid)
    if not there.any():
        return None
    first = int(there.argmax())
    low, high = grid[max(first - 1, 0)], grid[first]
    for _ in range(_HALVINGS if first else 0):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if changed(np.array([middle]))[0] else (middle, high)
    found: FloatArray = at(np.array([high]))[0]
    return found


def _as_counterfactual(model: Model, z: FloatArray, target: FloatArray) -> Counterfactual:
    a = model.assess(target[None], FrameMaker())
    before, after = model.original(z), model.original(target)
    order = np.argsort(-np.abs(target - z), kind="stable")
    changes = tuple(
        Change(
            model.features[j],
            float(before[j]),
            float(after[j]),
            float(after[j] - before[j]),
            float(target[j] - z[j]),
        )
        for j in order
    )
    return Counterfactual(
        label=plain(a.label[0]),
        trust=float(a.trust[0]),
        region=str(a.region[0]),
        distance=float(np.linalg.norm(target - z)),
        changes=changes,
        point=dict(zip(model.features, after.tolist(), strict=True)),
    )
