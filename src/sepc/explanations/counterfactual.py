"""Counterfactuals: the smallest change found that would give a record another label."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import ENSEMBLE, in_words, length_in_words, listed, percent, shortened
from sepc.common.typing import FloatArray
from sepc.common.validation import has_gaps
from sepc.explanations.change_limits import ChangeLimits, ReachableRecords
from sepc.explanations.change_search import COUNTING_METHODS, ChangeSearch, drop_idle_changes, exchange_columns
from sepc.explanations.constants import MOST_LINES, MOST_RECORDS, N_RECORDS
from sepc.explanations.vocabulary import Value, Vocabulary, length
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.threads import one_blas_thread
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel

# Where regions overlap, counts make small islands of other labels, and normal scores jump at repeated values: any
# line may meet another label. Lines to training records are then searched, with this number of points on each.
_POINTS_ON_LINES = {**dict.fromkeys(COUNTING_METHODS, 4), ENSEMBLE: 1}


class Change(NamedTuple):
    """The change of one feature in a counterfactual; `in_units` is the change in standard deviations.

    Of a raw table it is one column, with raw values, None for a missing one; `change` is None unless both are numbers.
    """

    feature: str
    before: Value
    after: Value
    change: float | None
    in_units: float

    def in_words(self) -> str:
        """Return it as a short text."""
        return f"{self.feature}: {in_words(self.before)} -> {in_words(self.after)}"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change found that gives the record another label.

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
    beyond : tuple of str
        Features or columns in which the change leads beyond the range of the training records.
    """

    label: Any
    trust: float
    region: str
    distance: float
    changes: tuple[Change, ...]
    point: dict[str, Value]
    beyond: tuple[str, ...] = ()


def counterfactual(
    model: FittedModel, x: FloatArray, label: int, vocabulary: Vocabulary, limits: ChangeLimits, regions: FloatArray
) -> Counterfactual | None:
    """Return the smallest change found that gives a record another label; None if there is none.

    `x`, of shape (d,), is the record in the original units, whose missing values stay missing, and `label` the number
    of its class; `regions`, of shape (n, d), are points in regions of other labels, in the model's units.
    """
    reachable = ReachableRecords(vocabulary, limits, x)
    if not reachable.words:
        return None
    search = ChangeSearch(model, label, reachable)
    bounds = _bounds(model, vocabulary, x)
    with one_blas_thread():  # for many small products
        _search(search, regions, bounds)
    if search.best is None:
        return None
    return _as_counterfactual(model, x, reachable.with_gaps(search.best[None])[0], vocabulary, bounds)


def _search(search: ChangeSearch, regions: FloatArray, bounds: FloatArray) -> None:
    """Run all steps of a search."""
    model, reachable = search.model, search.reachable
    starts = _along_lines(search, regions)
    has_values = any(len(reachable.vocabulary.values(word)) for word in reachable.words)
    if has_values or search.best is None:
        exchange_columns(search, bounds)
        starts = starts[:0] if search.best is None else model.units(search.best[None])
    search.refine(starts)
    search.tighten()
    if model.records is not None and model.trust in _POINTS_ON_LINES:
        every = _nearest(search, model.records.points)
        lines = every[np.linspace(0, len(every) - 1, min(len(every), MOST_LINES)).astype(int)]
        before, starts = search.length, search.along_lines(lines, _POINTS_ON_LINES[model.trust])
        if search.length < before:
            search.refine(starts)
            search.tighten()
    if has_values:
        exchange_columns(search, bounds)
    drop_idle_changes(search)
    search.confirm()


def _along_lines(search: ChangeSearch, regions: FloatArray) -> FloatArray:
    """Go to the nearest training records of other labels and into regions; return the nearest changed records.

    Where the model has no records, to the middles of the other classes.
    """
    model = search.model
    if model.records is None:
        others = np.delete(model.outline.middles, search.label, axis=0)
        return search.along_lines(np.concatenate([others[~np.isnan(others).any(axis=1)], regions]))
    others = _nearest(search, model.records.points[model.records.codes != search.label])
    starts = search.along_lines(np.concatenate([others[:N_RECORDS], regions]))
    # The model may give this label to most records of other labels, too.
    return starts if len(starts) or len(others) <= N_RECORDS else search.along_lines(others[N_RECORDS:MOST_RECORDS])


def _nearest(search: ChangeSearch, points: FloatArray) -> FloatArray:
    """Return points, shape (n, d), those nearest to the record first."""
    return points[np.argsort(np.square(points - search.z).sum(axis=1), kind="stable")]


def ways_into_regions(model: PartitionModel, x: FloatArray, label: int) -> FloatArray:
    """Return centres and nearest points of the 10 nearest regions of other labels, in the model's units, (n, d)."""
    z = model.units(x)
    if has_gaps(z):  # distances are not known
        return np.empty((0, len(z)))
    regions: list[tuple[float, Ellipsoid]] = []
    for problem, rules in enumerate(model.rules):
        # One problem has all classes as sides; of several, each has its class as side 0 and the rest as side 1.
        is_of_other = rules.sides != label if len(model.rules) == 1 else rules.sides == 0
        if len(model.rules) > 1 and problem == label:
            continue
        distances = rules.stack.distances(z)
        regions += [(float(distances[k]), rules.stack[k]) for k in np.flatnonzero(is_of_other).tolist()]
    nearest = sorted(regions, key=lambda pair: pair[0])[:10]
    points = [point for _, E in nearest for point in (E.project(z[None])[0], E.center)]
    return np.array(points).reshape(-1, len(z))


def _bounds(model: FittedModel, vocabulary: Vocabulary, x: FloatArray) -> FloatArray:
    """Return the smallest and the largest number of each feature in training, shape (2, d); NaN where unknown."""
    bounds = np.full((2, len(x)), np.nan)
    if model.records is not None:
        points = model.records.points
        bounds[:] = model.original(np.stack([points.min(axis=0), points.max(axis=0)]))
    for word in vocabulary.words:
        known = vocabulary.bounds(word)
        if known is not None:
            bounds[:, word.at.start] = known
    return bounds


def _as_counterfactual(
    model: FittedModel, x: FloatArray, after: FloatArray, vocabulary: Vocabulary, bounds: FloatArray
) -> Counterfactual:
    a = model.assess(after[None], FrameMaker())
    moved = np.where(np.isnan(x), 0.0, model.units(after) - model.units(x))
    kept = {
        word.name: vocabulary.own_value(word, x)
        for word in vocabulary.words
        if vocabulary.keeps(word, after) or has_gaps(after[word.at])
    }
    changes = [
        _change(word.name, vocabulary.own_value(word, x), vocabulary.proposed(word, after), length(moved[word.at]))
        for word in vocabulary.words
        if word.name not in kept
    ]
    return Counterfactual(
        label=plain(a.label[0]),
        trust=float(a.trust[0]),
        region=str(a.region[0]),
        distance=float(np.linalg.norm(moved)),
        changes=tuple(sorted(changes, key=lambda c: -abs(c.in_units))),
        point={word.name: kept.get(word.name, vocabulary.proposed(word, after)) for word in vocabulary.words},
        beyond=tuple(
            word.name
            for word in vocabulary.words
            if word.name not in kept and not word.is_level and _is_beyond(x, after, bounds, word.at.start)
        ),
    )


def _is_beyond(x: FloatArray, after: FloatArray, bounds: FloatArray, j: int) -> bool:
    """Return whether a change leads away from the range of a feature in training; never for unknown bounds."""
    low, high = bounds[:, j]
    slack = 1e-6 * (high - low)
    return bool((after[j] < min(low - slack, x[j])) or (after[j] > max(high + slack, x[j])))


def _change(name: str, before: Value, after: Value, in_units: float) -> Change:
    step = after - before if isinstance(before, float) and isinstance(after, float) else None
    # A number that can be missing is two features, whose length has no sign.
    return Change(name, before, after, step, in_units if step is None else float(np.copysign(in_units, step)))


def change_in_words(found: Counterfactual | None, unit: str, limits: str = "", has_trust: bool = True) -> str:
    """Return one or two sentences on the smallest change to another label.

    `unit` is that of its length, `limits` are those in words; without `has_trust` its trust is not mentioned.
    """
    if found is None:
        return f"No change to another label was found{limits}."
    most = [
        c
        for n, c in enumerate(found.changes)
        # Another value of a category is never a small change.
        if c.change is None or (n < 3 and abs(c.in_units) >= 0.05 * found.distance)
    ]
    parts = [f"{c.feature} from {in_words(c.before)} to {in_words(c.after)}" for c in most]
    rest = "" if len(most) == len(found.changes) else ", and smaller changes elsewhere"
    beyond = f" No training record goes so far in {shortened(found.beyond, 3)}." if found.beyond else ""
    trust = f" (trust {percent(found.trust)})" if has_trust else ""
    return (
        f"The smallest change found{limits} that would make it {found.label}{trust} is "
        f"{length_in_words(found.distance, unit)} long: {listed(parts)}{rest}.{beyond}"
    )
