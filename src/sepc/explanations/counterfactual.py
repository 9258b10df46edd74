"""Counterfactuals: the smallest change found that would give a record another label and leave it an ordinary one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import FrameMaker, plain
from sepc.common.text import in_words, length_in_words, listed, percent
from sepc.common.typing import FloatArray
from sepc.explanations.change_columns import few_columns
from sepc.explanations.change_limits import ChangeLimits, ReachableRecords
from sepc.explanations.change_search import ChangeSearch, Found
from sepc.explanations.constants import LINES_ASKED, LOOKED_AT, MOST_LINES, REFINED, STARTS
from sepc.explanations.vocabulary import Value, Vocabulary, length
from sepc.geometry.threads import one_blas_thread
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import DensityModel, PartitionModel

# Why there is no change: nothing may change; no record with another label was found; none of those is ordinary; it was
# not looked for. Around another model also: from features there is no way back to what it takes; it is not there; its
# answers are columns of the table.
NOTHING_MAY_CHANGE, NO_OTHER_LABEL, NONE_ORDINARY = "nothing-may-change", "no-other-label", "none-ordinary"
NOT_ASKED, NO_WAY_BACK, NO_ESTIMATOR, GIVEN_SCORES = "not-asked", "no-way-back", "no-estimator", "given-scores"


class Change(NamedTuple):
    """The change of one column in a counterfactual; `in_units` is the change in standard deviations.

    Of a raw table it has raw values, None for a missing one; `change` is None unless both are numbers.
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
    """The smallest change found that gives the record another label and leaves it an ordinary one.

    Attributes
    ----------
    label : object
        The label after the change.
    trust : float
        Trust in it.
    typicality : float or None
        Typicality of the changed record; None where it is not known.
    region : str
        The region that the point then lies in.
    distance : float
        Length of the change d, ``sqrt(d' A d)`` in standard deviations if the classifier standardises. A is the inverse
        of the covariance within classes, as far as the model knows it, so that columns which always move together are
        near if they do; for other columns the identity.
    changes : tuple of Change
        One per column that changes, those that move most first.
    point : dict of str to float
        The changed record; of a raw table, with raw values of all columns that count.
    """

    label: Any
    trust: float
    typicality: float | None
    region: str
    distance: float
    changes: tuple[Change, ...]
    point: dict[str, Value]


class Changes(NamedTuple):
    """What would give a record another label.

    Attributes
    ----------
    smallest : Counterfactual or None
        The smallest change; None where none is within reach.
    actionable : Counterfactual or None
        The smallest of at most `max_columns` columns.
    none_because : str or None
        Why there is no smallest change: one of the codes above.
    """

    smallest: Counterfactual | None
    actionable: Counterfactual | None
    none_because: str | None


def changes_of(
    model: FittedModel, x: FloatArray, label: int, vocabulary: Vocabulary, limits: ChangeLimits | None
) -> Changes:
    """Return what would give a record of a class, with the number `label`, another label.

    `x`, of shape (d,), is the record in the original units, whose missing values stay missing. Without limits no change
    is looked for.
    """
    if limits is None:
        return Changes(None, None, NOT_ASKED)
    reachable = ReachableRecords(vocabulary, limits, x)
    search = ChangeSearch(model, label, reachable, limits.min_typicality, limits.max_columns)
    with one_blas_thread():  # for many small products
        if not reachable.words:
            return Changes(None, None, NOTHING_MAY_CHANGE)
        _search(search, _others(search))

    if search.best is None:
        return Changes(None, None, NONE_ORDINARY if search.meets_other_labels else NO_OTHER_LABEL)
    found = [search.best] if search.best_of_few is None else [search.best, search.best_of_few]
    told = _as_counterfactuals(model, x, found, reachable, vocabulary)
    return Changes(told[0], None if search.best_of_few is None else told[1], None)


def _search(search: ChangeSearch, others: FloatArray) -> None:
    """Run all steps of a search from others, shape (n, d): training records or centres, the nearest first."""
    starts, first = np.empty((0, len(search.z))), 0
    for last in LOOKED_AT:
        if len(starts) < STARTS and first < len(others):
            judged = search.judge(others[first:last])
            starts = np.concatenate([starts, judged.Z[judged.lack == 0.0]])
            first = last
    starts = starts[np.argsort(search.lengths(starts), kind="stable")][:STARTS]
    if search.has_slopes:
        judged = search.shrink(starts) if len(starts) else search.judge(others[: LOOKED_AT[0]])
        judged = judged.among(judged.order[:REFINED])
        # Odds change most on the way.
        places = search.z + np.array([[0.0], [0.5], [1.0]]) * (judged.Z[:1] - search.z)
        few, free = few_columns(search, places, starts)
        search.refine(judged.and_(few), np.concatenate([np.ones(judged.Z.shape, dtype=bool), free]))
    if len(others) and not (search.has_slopes and search.is_smooth):
        # Counts make small islands of other labels: any line may meet one.
        most, points = (MOST_LINES if search.is_smooth else LINES_ASKED), others
        if search.is_smooth and search.model.records is not None:
            points = search.model.records.points
        lines = points[np.linspace(0, len(points) - 1, min(len(points), most)).astype(int)]
        search.shrink(lines)
        search.shrink(search.largest_moves(lines))
        if search.is_smooth:
            search.wander()
    if any(word.is_level for word in search.reachable.words):
        search.take_back()
    if not search.is_smooth:
        search.tighten()


def _others(search: ChangeSearch) -> FloatArray:
    """Return records of other labels, shape (n, d), the nearest first; centres where no records are kept."""
    model = search.model
    if model.records is None:
        others = [np.delete(model.outline.middles, search.label, axis=0), *_centers(model, search.label)]
        points = np.concatenate(others)
        return np.asarray(points[~np.isnan(points).any(axis=1)])
    among = np.flatnonzero(model.records.codes != search.label)
    # What the record has no value of does not tell how near another one is.
    points = np.where(search.reachable.gaps, search.z, model.records.points[among])
    return points[np.argsort(search.lengths(points), kind="stable")[: LOOKED_AT[-1]]]


def _centers(model: FittedModel, label: int) -> list[FloatArray]:
    """Return the means of the components, or the centres of the ellipsoids, of other labels; none of an ensemble."""
    if isinstance(model, DensityModel):
        return [model.densities.mean(int(k))[None] for k in np.flatnonzero(model.densities.codes != label)]
    if isinstance(model, PartitionModel):
        return [E.center[None] for rules in model.rules for E in rules.stack.ellipsoids]
    return []


def _as_counterfactuals(
    model: FittedModel, x: FloatArray, found: list[Found], reachable: ReachableRecords, vocabulary: Vocabulary
) -> list[Counterfactual]:
    X = reachable.with_gaps(np.array([one.X for one in found]))
    a, moved = model.assess(X, FrameMaker()), np.nan_to_num(model.units(X) - model.units(x))
    out = []
    for i, after in enumerate(X):
        kept = {
            word.name: vocabulary.own_value(word, x)
            for word in vocabulary.words
            if np.array_equal(after[word.at], x[word.at], equal_nan=True)
        }
        changed = [word for word in vocabulary.words if word.name not in kept]
        values = {word.name: vocabulary.proposed(word, after) for word in changed}
        changes = [_change(w.name, vocabulary.own_value(w, x), values[w.name], length(moved[i, w.at])) for w in changed]
        typicality = float(a.typicality[i])
        out.append(
            Counterfactual(
                label=plain(a.label[i]),
                trust=float(a.trust[i]),
                typicality=None if np.isnan(typicality) else typicality,
                region=str(a.region[i]),
                distance=found[i].length,
                changes=tuple(sorted(changes, key=lambda c: -abs(c.in_units))),
                point={word.name: {**kept, **values}[word.name] for word in vocabulary.words},
            )
        )
    return out


def _change(name: str, before: Value, after: Value, in_units: float) -> Change:
    step = after - before if isinstance(before, float) and isinstance(after, float) else None
    # A number that can be missing is two features, whose length has no sign.
    return Change(name, before, after, step, in_units if step is None else float(np.copysign(in_units, step)))


# What a text says where there is no change.
_NONE = {
    NOTHING_MAY_CHANGE: "Nothing may change, so there is no change to another label",
    NO_OTHER_LABEL: "No change to another label was found",
    NONE_ORDINARY: "No change to an ordinary record of another label was found",
}
_NOT_LOOKED_FOR = {
    NOT_ASKED: "",
    NO_WAY_BACK: "No change was looked for, since nothing leads from the encoder's features back to a record.",
    NO_ESTIMATOR: "No change was looked for, since the model itself is not there to be asked.",
    GIVEN_SCORES: "No change was looked for, since the model's answers are columns of the table: it cannot be asked.",
}


def change_in_words(
    smallest: Counterfactual | None,
    actionable: Counterfactual | None,
    none_because: str | None,
    unit: str,
    limits: str = "",
    has_trust: bool = True,
    makes: str = "that would make it",
) -> str:
    """Return one or two sentences on the smallest changes to another label; the arguments are those of `Changes`.

    `unit` is that of lengths, `limits` are those in words; without `has_trust` trust is not mentioned. `makes` stands
    before the other label.
    """
    if none_because in _NOT_LOOKED_FOR:
        return _NOT_LOOKED_FOR[none_because]
    if smallest is None:
        return f"{_NONE[none_because or NO_OTHER_LABEL]}{limits}."
    most = [
        c
        for n, c in enumerate(smallest.changes)
        # Another value of a category is never a small change.
        if c.change is None or (n < 3 and abs(c.in_units) >= 0.05 * abs(smallest.changes[0].in_units))
    ]
    rest = "" if len(most) == len(smallest.changes) else ", and smaller changes elsewhere"
    trust = f" (trust {percent(smallest.trust)})" if has_trust else ""
    said = (
        f"The smallest change found{limits} {makes} {smallest.label}{trust} is "
        f"{length_in_words(smallest.distance, unit)} long: {_parts(most)}{rest}."
    )
    if actionable is None or actionable == smallest:
        return said
    return f"{said} With fewer columns: {actionable.label} by {_parts(actionable.changes)}."


def _parts(changes: Iterable[Change]) -> str:
    return listed([f"{c.feature} from {in_words(c.before)} to {in_words(c.after)}" for c in changes])
