"""Findings on single columns of a table: label leaks, ids, sentinels, codes, and values with contradictory records."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from sepc.common.intervals import Subgroup, frequent_subgroups
from sepc.common.text import listed, percent, shortened
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.landscapes.constants import LEAK_ERRORS, LEAK_GAP, LEAK_OTHERS
from sepc.landscapes.findings import NAMED, Finding, every_record
from sepc.landscapes.known_values import KnownValues, SourceColumn
from sepc.landscapes.linear_dependence import Relation
from sepc.landscapes.value_findings import code_findings, sentinel_findings
from sepc.partitions.ordering import canonical_order


def level_values(column: SourceColumn) -> FloatArray | None:
    """Return the known levels of a column of at most 10 values, taken for a category; None for a measurement."""
    values = column.values[~column.missing]
    if column.is_one_hot:
        return values
    some = values[:: max(-(-len(values) // 500), 1)]  # rules most measurements out quickly
    return values if all(len(np.unique(part)) <= 10 for part in (some, values)) else None


class _Predictor(NamedTuple):
    """How well one column alone, or where it is missing, predicts the label of `n` records."""

    column: SourceColumn
    of_gaps: bool
    n: int
    n_errors: int
    n_others: int
    is_copy: bool

    @property
    def errors_left(self) -> float:
        """Errors, as a share of those of always predicting the most frequent label."""
        return self.n_errors / self.n_others


def column_findings(known: KnownValues, codes: IntArray) -> Iterator[Finding]:
    """Yield findings on columns that mislead a model, and on values whose records contradict others."""
    yield from trap_findings(known.columns, codes)
    yield from _subgroup_findings(known, codes)


def trap_findings(columns: Sequence[SourceColumn], codes: IntArray) -> Iterator[Finding]:
    """Yield findings on what a model should not learn from as it is: those of `sepc fit`."""
    ids = [column for column in columns if _is_id(column)]
    others = [column for column in columns if column not in ids]
    yield from _id_findings(codes, ids)
    yield from _leak_findings(codes, others)
    yield from sentinel_findings(others)
    yield from code_findings(others)


def same_column_findings(
    names: Sequence[str], columns: Sequence[SourceColumn], relations: Sequence[Relation], gappy: BoolArray
) -> Iterator[Finding]:
    """Yield one finding for each group of redundant categories, from relations between indicators alone.

    A column is redundant if relations determine all its features; columns that share a level are only related. `gappy`
    tells the features that some records lack.
    """
    column_of = {int(j): column for column in columns for j in column.features}
    groups: dict[tuple[str, ...], list[Relation]] = {}
    for relation in relations:
        groups.setdefault(tuple(sorted({column_of[j].name for j in relation.terms})), []).append(relation)
    free = {column.name: len(column.features) - column.is_one_hot for column in columns if len(column.features)}
    for together, found in groups.items():
        redundant = [name for name in together if free[name] <= len(found)]
        equations = shortened([relation.text(names) for relation in found], 2, "equation", "; ")
        yield Finding(
            "linear-dependence",
            "warning" if redundant else "note",
            f"{listed(together)} {'say the same' if redundant else 'have a value in common'}",
            f"For {every_record(gappy, *(j for one in found for j in one.terms))} {equations}.",
            f"Drop one of these columns, for example {redundant[-1]}."
            if redundant
            else "Keep them: their other values differ. Volumes are taken without the dimension that they share.",
        )


def _is_id(column: SourceColumn) -> bool:
    values = column.values[~column.missing]
    if column.is_one_hot or column.is_date or len(values) < 30 or not (values == np.rint(values)).all():
        return False
    if len(np.unique(values)) < 0.98 * len(values):
        return False
    return _is_running(values) or _named_like_an_id(column.name)


def _is_running(values: FloatArray) -> bool:
    """Return whether numbers are consecutive: ascending, or filling at least half of their range."""
    distinct = np.unique(values)
    return len(distinct) >= 0.5 * (distinct[-1] - distinct[0] + 1.0) or bool((np.diff(values) > 0.0).all())


def _named_like_an_id(name: str) -> bool:
    words = "".join(c.lower() if c.isalnum() else " " for c in name).split()
    return bool({"id", "ids", "key", "uuid", "nr", "no", "number", "index", "idx"} & set(words)) or name.endswith("Id")


def _id_findings(codes: IntArray, ids: Sequence[SourceColumn]) -> Iterator[Finding]:
    for column in ids:
        values = column.values[~column.missing]
        distinct = np.unique(values)
        predictor = _predictor(codes, column)
        sorted_by_label = predictor is not None and predictor.errors_left <= LEAK_ERRORS
        yield Finding(
            "id-as-feature",
            "problem" if sorted_by_label else "warning",
            f"{column.name} is a running number"
            if _is_running(values)
            else f"{column.name} is a different number in each record",
            f"{len(distinct)} different whole numbers in {len(values)} records, from {distinct[0]:.15g} to "
            f"{distinct[-1]:.15g}: it identifies a record and does not describe it."
            + (" It still tells the label, since the records are sorted by label." if sorted_by_label else ""),
            f"Leave it out (on the command line: --drop {column.name}), or a model will learn it.",
        )


def _leak_findings(codes: IntArray, columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    some = slice(None, None, -(-len(codes) // 5000))  # candidates from these rows are checked on all
    sources = [(column, False) for column in columns] + [(column, True) for column in columns if column.missing.any()]
    sampled = [_predictor(codes, column, of_gaps, some) for column, of_gaps in sources]
    predictors = [one for one in sampled if one is not None]
    may_leak = [(one.column, one.of_gaps) for one in predictors if one.errors_left <= 2.0 * LEAK_ERRORS]
    others = [one.errors_left for one in predictors if one.errors_left > 2.0 * LEAK_ERRORS]
    stands_out = bool(others) and min(others) >= LEAK_OTHERS
    for column, of_gaps in may_leak:
        predictor = _predictor(codes, column, of_gaps)
        if predictor is None or predictor.errors_left > LEAK_ERRORS or not (predictor.is_copy or stands_out):
            continue
        yield _leak(predictor, len(codes))


def _leak(predictor: _Predictor, n_records: int) -> Finding:
    name, n, n_errors = predictor.column.name, predictor.n, predictor.n_errors
    how = "equals" if n_errors == 0 else "nearly equals"
    right = f"all {n} records" if n_errors == 0 else f"{n - n_errors} of {n} records"
    told = f"Whether {name} is missing" if predictor.of_gaps else f"{name} alone"
    where = " by where it is missing" if predictor.of_gaps else ""
    return Finding(
        "label-leak",
        "problem" if predictor.is_copy else "note",
        f"{name} {how if predictor.is_copy else 'alone nearly tells'} the label{where}",
        f"{told} tells the label of {right}{' that have a value there' * (n < n_records)}; without it "
        f"{percent(1 - predictor.n_others / n)} are of the most frequent label.",
        "Check whether it is known before the label. If not, or if it is a copy of the label, leave it out "
        f"(on the command line: --drop {name}).",
    )


def _predictor(
    codes: IntArray, column: SourceColumn, of_gaps: bool = False, rows: slice = slice(None)
) -> _Predictor | None:
    """Return how well a column predicts the label, by its levels or by a tree with one leaf for each class.

    By its known values or, `of_gaps`, by where it has none.
    """
    there = ~column.missing[rows]
    values = there.astype(np.float64) if of_gaps else column.values[rows][there]
    codes = codes[rows] if of_gaps else codes[rows][there]
    n_others = len(codes) - int(np.bincount(codes, minlength=1).max())
    if n_others < 10:  # a column may predict so few by chance
        return None
    # Ranks, since a tree takes numbers in single precision, where large ones overflow and near ones are equal.
    order = np.unique(values, return_inverse=True)[1]
    are_levels = of_gaps or level_values(column) is not None
    if are_levels:
        table = np.zeros((int(codes.max()) + 1, int(order.max()) + 1))
        np.add.at(table, (codes, order), 1.0)
        given = table.argmax(axis=0)[order]
    else:
        tree = DecisionTreeClassifier(max_leaf_nodes=len(np.unique(codes)), random_state=0)
        given = tree.fit(order[:, None], codes).predict(order[:, None])
    n_errors = int(np.count_nonzero(given != codes))
    return _Predictor(column, of_gaps, len(codes), n_errors, n_others, are_levels or _leaves_a_gap(values, given))


def _leaves_a_gap(values: FloatArray, given: IntArray) -> bool:
    """Return whether groups of values, one for each label, are far apart: a copy of the label, not a measurement.

    So is one that is constant in a label, such as a placeholder for missing measurements.
    """
    groups = sorted((values[given == k] for k in np.unique(given)), key=lambda group: float(group.mean()))
    if any(np.ptp(group) == 0.0 for group in groups):
        return True
    widest = max(float(group.std()) for group in groups)
    gaps = [float(high.min() - low.max()) for low, high in pairwise(groups)]
    return bool(gaps) and min(gaps) > LEAK_GAP * widest


def _subgroup_findings(known: KnownValues, codes: IntArray) -> Iterator[Finding]:
    few = {str(k): column for k, column in enumerate(known.columns) if _is_grouping(column)}
    complete = np.flatnonzero(known.complete)
    if not few or len(np.unique(codes[complete])) < 2:
        return
    # What is known of incomplete records may well be near to others.
    points = known.X[complete]
    order = canonical_order(points)
    n = min(len(order), 2000)  # bounds the distance matrices
    some = np.sort(order[np.arange(n) * len(order) // n])
    rows = complete[some]
    contradicted = _contradicted(points[some], codes[rows])
    groups = frequent_subgroups(contradicted, {name: column.values[rows] for name, column in few.items()})
    if not groups:
        return
    groups = [_with_names(group, few[group.column], known.features) for group in groups]
    which = "" if len(complete) == len(codes) else " complete"
    among = f" (in a sample of {n})" if n < len(complete) else ""
    yield Finding(
        "contradictions-in-subgroup",
        "warning",
        f"records contradict each other most where {groups[0].column} = {groups[0].value}",
        f"Of all{which} records{among} {percent(float(contradicted.mean()))} have another label than the nearest "
        f"record; more do where {shortened([group.text for group in groups], NAMED, 'group', '; ')}.",
        "Check how labels were given there. If they are right, expect mistakes and low trust there.",
    )


def _is_grouping(column: SourceColumn) -> bool:
    """Return whether a column has a few different known values."""
    levels = level_values(column)
    return levels is not None and len(levels) > 0 and float(np.ptp(levels)) > 0.0


def _with_names(group: Subgroup, column: SourceColumn, names: Sequence[str]) -> Subgroup:
    return group._replace(column=column.name, value=column.level_name(group.value, names))


def _contradicted(points: FloatArray, codes: IntArray) -> FloatArray:
    """Return 1 for each record whose nearest one has another label, 0.5 if one with the same label is as near."""
    spread = points.std(axis=0)
    points = points[:, spread > 0.0] / spread[spread > 0.0]
    contradicted = np.empty(len(points))
    for k in np.unique(codes):
        here = codes == k
        within = cdist(points[here], points[here])
        np.fill_diagonal(within, np.inf)
        own = within.min(axis=1)
        other = cdist(points[here], points[~here]).min(axis=1)
        contradicted[here] = np.where(other < own, 1.0, np.where(other == own, 0.5, 0.0))
    return contradicted
