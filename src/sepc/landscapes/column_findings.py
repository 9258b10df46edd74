"""Findings on single columns: those that tell the label, ids, and values whose records contradict others."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from sepc.common.subgroups import Subgroup, frequent_subgroups
from sepc.common.text import listed, percent, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.landscapes.findings import Finding
from sepc.landscapes.linear_dependence import Relation
from sepc.landscapes.source_columns import SourceColumn, level_values
from sepc.partitions.ordering import canonical_order

# A column leaks when the rule "this value, that label" leaves at most this share of the errors that the most frequent
# label makes.
_NEARLY_NONE = 0.05
# With fewer records of other labels than this, a column may do so by chance.
_FEWEST_OTHERS = 10
# Rows in which columns that may leak are looked for; all rows have to confirm it.
_SAMPLE = 5000
# Classes that only lie apart are told apart by measurements, too. A copy of the label leaves a gap between them that is
# this many times as wide as the spread within a class.
_GAP = 5.0
# Without a gap it is suspicious only if every other column leaves this share of the errors.
_MUCH = 0.5
# From so many records on a number that is another one in each of them may be an id.
_FEWEST_FOR_AN_ID = 30
_ALL_DISTINCT = 0.98
# Numbers that are given one after the other fill their range, but for what was removed.
_FILLED = 0.5
# Records whose nearest neighbours are looked up.
_NEIGHBOURS = 2000
_NAMED = 5


class _Teller(NamedTuple):
    """How well one column tells the label."""

    column: SourceColumn
    n_errors: int
    n_others: int
    is_copy: bool

    @property
    def left(self) -> float:
        return self.n_errors / self.n_others


def column_findings(
    X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn], names: Sequence[str]
) -> Iterator[Finding]:
    """Yield findings on columns that tell the label, that are ids, and on values whose records contradict others.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Classes, as numbers.
    columns : sequence of SourceColumn
    names : sequence of d str
        Of the features.
    """
    yield from trap_findings(X, codes, columns)
    yield from _subgroup_findings(X, codes, columns, names)


def trap_findings(X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    """Yield findings on columns that a model should not learn from: those that name a record, or give the label away.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Classes, as numbers.
    columns : sequence of SourceColumn
    """
    ids = [column for column in columns if _is_id(column.values(X), column)]
    yield from _id_findings(X, codes, ids)
    yield from _leak_findings(X, codes, [column for column in columns if column not in ids])


def same_column_findings(
    names: Sequence[str], columns: Sequence[SourceColumn], relations: Sequence[Relation]
) -> Iterator[Finding]:
    """Yield one finding for each group of categories that say the same, from relations between their indicators.

    Parameters
    ----------
    names : sequence of d str
        Of the features.
    columns : sequence of SourceColumn
    relations : sequence of Relation
        Between indicators alone.
    """
    column_of = {int(j): column.name for column in columns for j in column.features}
    groups: dict[tuple[str, ...], list[Relation]] = {}
    for relation in relations:
        terms = (relation.feature, *relation.others)
        # That values are missing in the same rows is how the table is, and nothing to mend.
        if not all(names[j].endswith(" is missing") for j in terms):
            groups.setdefault(tuple(sorted({column_of[j] for j in terms})), []).append(relation)
    for together, found in groups.items():
        equations = shortened([relation.text(names) for relation in found], 2, "such equations", "; ")
        yield Finding(
            "linear-dependence",
            "warning",
            f"{listed(together)} say the same",
            f"For every record {equations}.",
            f"Drop one of these columns, for example {together[-1]}.",
        )


def _is_id(values: FloatArray, column: SourceColumn) -> bool:
    if column.is_one_hot or len(values) < _FEWEST_FOR_AN_ID or not (values == np.rint(values)).all():
        return False
    distinct = np.unique(values)
    if len(distinct) < _ALL_DISTINCT * len(values):
        return False
    fills = len(distinct) >= _FILLED * (distinct[-1] - distinct[0] + 1.0)
    return fills or bool((np.diff(values) > 0.0).all()) or _named_like_an_id(column.name)


def _named_like_an_id(name: str) -> bool:
    words = "".join(c.lower() if c.isalnum() else " " for c in name).split()
    return bool({"id", "ids", "key", "uuid", "nr", "no", "number", "index", "idx"} & set(words)) or name.endswith("Id")


def _id_findings(X: FloatArray, codes: IntArray, ids: Sequence[SourceColumn]) -> Iterator[Finding]:
    for column in ids:
        values = column.values(X)
        distinct = np.unique(values)
        running = len(distinct) >= _FILLED * (distinct[-1] - distinct[0] + 1.0) or bool((np.diff(values) > 0.0).all())
        teller = _teller(X, codes, column)
        sorted_by_label = teller is not None and teller.left <= _NEARLY_NONE
        yield Finding(
            "id-as-feature",
            "problem" if sorted_by_label else "warning",
            f"{column.name} is a running number" if running else f"{column.name} is another number in each record",
            f"{len(distinct)} different whole numbers in {len(X)} records, from {distinct[0]:.15g} to "
            f"{distinct[-1]:.15g}: it names a record, and says nothing of it."
            + (" It tells the label all the same, since the records are sorted by it." if sorted_by_label else ""),
            f"Leave it out (on the command line: --drop {column.name}), or a model will learn it.",
        )


def _leak_findings(X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    n = len(X)
    some = slice(None, None, -(-n // _SAMPLE))
    sampled = [_teller(X[some], codes[some], column) for column in columns]
    tellers = [one for one in sampled if one is not None]
    may_leak = [one.column for one in tellers if one.left <= 2.0 * _NEARLY_NONE]
    others = [one.left for one in tellers if one.column not in may_leak]
    stands_out = bool(others) and min(others) >= _MUCH
    for column in may_leak:
        teller = _teller(X, codes, column)
        if teller is None or teller.left > _NEARLY_NONE or not (teller.is_copy or stands_out):
            continue
        how = "equals" if teller.n_errors == 0 else "nearly equals"
        right = f"all {n} records" if teller.n_errors == 0 else f"{n - teller.n_errors} of {n} records"
        yield Finding(
            "label-leak",
            "problem" if teller.is_copy else "note",
            f"{column.name} {how if teller.is_copy else 'alone nearly tells'} the label",
            f"By {column.name} alone the label of {right} can be told; without it {percent(1 - teller.n_others / n)} "
            "are of the most frequent label.",
            "Check whether it is known before the label is: if not, or if it is the label in other words, leave it out "
            f"(on the command line: --drop {column.name}).",
        )


def _teller(X: FloatArray, codes: IntArray, column: SourceColumn) -> _Teller | None:
    """Return how well a column tells the label: by its levels, or by thresholds, as many as there are classes."""
    n_others = len(codes) - int(np.bincount(codes).max())
    if n_others < _FEWEST_OTHERS:
        return None
    levels = level_values(column, X)
    values = column.values(X) if levels is None else levels
    n_classes = len(np.unique(codes))
    if levels is None:
        # By their order: a tree reads numbers in single precision, where large ones overflow and near ones are equal.
        order = np.unique(values, return_inverse=True)[1][:, None]
        given = DecisionTreeClassifier(max_leaf_nodes=n_classes, random_state=0).fit(order, codes).predict(order)
    else:
        table = np.zeros((int(codes.max()) + 1, len(np.unique(levels))))
        which = np.unique(levels, return_inverse=True)[1]
        np.add.at(table, (codes, which), 1.0)
        given = table.argmax(axis=0)[which]
    n_errors = int(np.count_nonzero(given != codes))
    return _Teller(column, n_errors, n_others, levels is not None or _leaves_a_gap(values, given))


def _leaves_a_gap(values: FloatArray, given: IntArray) -> bool:
    """Return whether groups of values, one for each label, are far apart: a copy of the label, not a measurement.

    So is a measurement that one label does not have, and that is the same number in all of its records.
    """
    groups = sorted((values[given == k] for k in np.unique(given)), key=lambda group: float(group.mean()))
    if any(np.ptp(group) == 0.0 for group in groups):
        return True
    widest = max(float(group.std()) for group in groups)
    gaps = [float(high.min() - low.max()) for low, high in pairwise(groups)]
    return bool(gaps) and min(gaps) > _GAP * widest


def _subgroup_findings(
    X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn], names: Sequence[str]
) -> Iterator[Finding]:
    levels = {str(k): level_values(column, X) for k, column in enumerate(columns)}
    few = {k: values for k, values in levels.items() if values is not None and np.ptp(values) > 0.0}
    if not few:
        return
    rows = canonical_order(X)
    rows = np.sort(rows[np.arange(min(len(rows), _NEIGHBOURS)) * len(rows) // min(len(rows), _NEIGHBOURS)])
    contradicted = _contradicted(X[rows], codes[rows])
    groups = frequent_subgroups(contradicted, {name: values[rows] for name, values in few.items()})
    if not groups:
        return
    groups = [_with_names(group, columns[int(group.column)], names) for group in groups]
    among = "" if len(rows) == len(X) else f" (among {len(rows)} of them, evenly drawn)"
    yield Finding(
        "contradictions-in-subgroup",
        "warning",
        f"records contradict each other most where {groups[0].column} = {groups[0].value}",
        f"Of all records{among} {percent(float(contradicted.mean()))} have another label than the one nearest to them; "
        f"more have where {shortened([group.text for group in groups], _NAMED, 'groups', '; ')}.",
        "Check how labels were given there; if they are right, expect mistakes and low trust among these records.",
    )


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
