"""Findings on single columns of a table: label leaks, ids, and values with contradictory records."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from sepc.common.errors import InputError
from sepc.common.intervals import Subgroup, frequent_subgroups
from sepc.common.text import listed, percent, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.landscapes.constants import LEAK_ERRORS, LEAK_GAP, LEAK_OTHERS
from sepc.landscapes.findings import NAMED, Finding
from sepc.landscapes.linear_dependence import Relation
from sepc.partitions.ordering import canonical_order


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """One column of a table, or its indicator of missing values, with its features.

    `features` has their numbers: one, or those of all levels of a category, which are then `is_one_hot`. `is_encoded`:
    the features are other than the column itself. A date may have equal steps and is still no id.
    """

    name: str
    features: IntArray
    is_one_hot: bool
    is_encoded: bool
    is_date: bool = False

    def values(self, X: FloatArray) -> FloatArray:
        """Return the level of a category, or the measurement, of each record, shape (n,)."""
        return X[:, self.features].argmax(axis=1).astype(np.float64) if self.is_one_hot else X[:, self.features[0]]

    def level_name(self, value: float, names: Sequence[str]) -> str:
        """Return the name of a level, as in that of its feature."""
        own = names[self.features[int(value)] if self.is_one_hot else self.features[0]]
        if self.is_encoded and own.endswith(" is missing"):
            return "missing" if value else "not missing"
        if not self.is_encoded or " = " not in own:
            return f"{value:g}"
        level = own.partition(" = ")[2]
        return level if self.is_one_hot or value == 1.0 else f"not {level}"


def source_columns(
    X: FloatArray, names: Sequence[str], columns: Mapping[str, Sequence[str]] | None, dates: Collection[str] = ()
) -> list[SourceColumn]:
    """Return the columns of a table by the names of their features; without `columns` each feature is one by itself.

    A column of numbers with missing values gives two: its numbers, and the indicator of missing values. `dates` names
    the columns of dates.
    """
    number = {name: j for j, name in enumerate(names)}
    if columns is None:
        columns = {name: [name] for name in names}
    unknown = [feature for features in columns.values() for feature in features if feature not in number]
    if unknown:
        raise InputError("columns-unknown-feature", feature=unknown[0], features=list(names)[:5])
    found = []
    for name, features in columns.items():
        which = np.array([number[feature] for feature in features], dtype=np.int64)
        is_encoded = list(features) != [name]
        if len(which) > 1 and _is_one_hot(X[:, which]):
            found.append(SourceColumn(name, which, True, is_encoded))
        else:
            found += [SourceColumn(name, which[[k]], False, is_encoded, name in dates) for k in range(len(which))]
    return found


def _is_one_hot(part: FloatArray) -> bool:
    return bool(np.isin(part, (0.0, 1.0)).all() and (part.sum(axis=1) == 1.0).all())


def level_values(column: SourceColumn, X: FloatArray) -> FloatArray | None:
    """Return the levels of a column of at most 10 values, taken for a category, shape (n,); None for a measurement."""
    values = column.values(X)
    if column.is_one_hot:
        return values
    some = values[:: -(-len(values) // 500)]  # rules most measurements out quickly
    return values if all(len(np.unique(part)) <= 10 for part in (some, values)) else None


class _Predictor(NamedTuple):
    """How well one column alone predicts the label."""

    column: SourceColumn
    n_errors: int
    n_others: int
    is_copy: bool

    @property
    def errors_left(self) -> float:
        """Errors, as a share of those of always predicting the most frequent label."""
        return self.n_errors / self.n_others


def column_findings(
    X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn], names: Sequence[str]
) -> Iterator[Finding]:
    """Yield findings on label leaks, on ids, and on values whose records contradict others."""
    yield from trap_findings(X, codes, columns)
    yield from _subgroup_findings(X, codes, columns, names)


def trap_findings(X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    """Yield findings on columns that a model should not learn from, ids and label leaks: those of `sepc fit`."""
    ids = [column for column in columns if _is_id(column.values(X), column)]
    yield from _id_findings(X, codes, ids)
    yield from _leak_findings(X, codes, [column for column in columns if column not in ids])


def same_column_findings(
    names: Sequence[str], columns: Sequence[SourceColumn], relations: Sequence[Relation]
) -> Iterator[Finding]:
    """Yield one finding for each group of redundant categories, from relations between indicators alone."""
    column_of = {int(j): column.name for column in columns for j in column.features}
    groups: dict[tuple[str, ...], list[Relation]] = {}
    for relation in relations:
        terms = (relation.feature, *relation.others)
        # Values that are missing in the same rows are nothing to mend.
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


def _id_findings(X: FloatArray, codes: IntArray, ids: Sequence[SourceColumn]) -> Iterator[Finding]:
    for column in ids:
        values = column.values(X)
        distinct = np.unique(values)
        predictor = _predictor(X, codes, column)
        sorted_by_label = predictor is not None and predictor.errors_left <= LEAK_ERRORS
        yield Finding(
            "id-as-feature",
            "problem" if sorted_by_label else "warning",
            f"{column.name} is a running number"
            if _is_running(values)
            else f"{column.name} is a different number in each record",
            f"{len(distinct)} different whole numbers in {len(X)} records, from {distinct[0]:.15g} to "
            f"{distinct[-1]:.15g}: it identifies a record and does not describe it."
            + (" It still tells the label, since the records are sorted by label." if sorted_by_label else ""),
            f"Leave it out (on the command line: --drop {column.name}), or a model will learn it.",
        )


def _leak_findings(X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    n = len(X)
    some = slice(None, None, -(-n // 5000))  # candidates from these rows are checked on all
    sampled = [_predictor(X[some], codes[some], column) for column in columns]
    predictors = [one for one in sampled if one is not None]
    may_leak = [one.column for one in predictors if one.errors_left <= 2.0 * LEAK_ERRORS]
    others = [one.errors_left for one in predictors if one.column not in may_leak]
    stands_out = bool(others) and min(others) >= LEAK_OTHERS
    for column in may_leak:
        predictor = _predictor(X, codes, column)
        if predictor is None or predictor.errors_left > LEAK_ERRORS or not (predictor.is_copy or stands_out):
            continue
        how = "equals" if predictor.n_errors == 0 else "nearly equals"
        right = f"all {n} records" if predictor.n_errors == 0 else f"{n - predictor.n_errors} of {n} records"
        yield Finding(
            "label-leak",
            "problem" if predictor.is_copy else "note",
            f"{column.name} {how if predictor.is_copy else 'alone nearly tells'} the label",
            f"{column.name} alone tells the label of {right}; without it "
            f"{percent(1 - predictor.n_others / n)} are of the most frequent label.",
            "Check whether it is known before the label. If not, or if it is a copy of the label, leave it out "
            f"(on the command line: --drop {column.name}).",
        )


def _predictor(X: FloatArray, codes: IntArray, column: SourceColumn) -> _Predictor | None:
    """Return how well a column predicts the label, by its levels or by a tree with one leaf for each class."""
    n_others = len(codes) - int(np.bincount(codes).max())
    if n_others < 10:  # a column may predict so few by chance
        return None
    levels = level_values(column, X)
    values = column.values(X) if levels is None else levels
    n_classes = len(np.unique(codes))
    if levels is None:
        # Ranks, since a tree takes numbers in single precision, where large ones overflow and near ones are equal.
        order = np.unique(values, return_inverse=True)[1][:, None]
        given = DecisionTreeClassifier(max_leaf_nodes=n_classes, random_state=0).fit(order, codes).predict(order)
    else:
        table = np.zeros((int(codes.max()) + 1, len(np.unique(levels))))
        which = np.unique(levels, return_inverse=True)[1]
        np.add.at(table, (codes, which), 1.0)
        given = table.argmax(axis=0)[which]
    n_errors = int(np.count_nonzero(given != codes))
    return _Predictor(column, n_errors, n_others, levels is not None or _leaves_a_gap(values, given))


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


def _subgroup_findings(
    X: FloatArray, codes: IntArray, columns: Sequence[SourceColumn], names: Sequence[str]
) -> Iterator[Finding]:
    levels = {str(k): level_values(column, X) for k, column in enumerate(columns)}
    few = {k: values for k, values in levels.items() if values is not None and np.ptp(values) > 0.0}
    if not few:
        return
    rows = canonical_order(X)
    n = min(len(rows), 2000)  # bounds the distance matrices
    rows = np.sort(rows[np.arange(n) * len(rows) // n])
    contradicted = _contradicted(X[rows], codes[rows])
    groups = frequent_subgroups(contradicted, {name: values[rows] for name, values in few.items()})
    if not groups:
        return
    groups = [_with_names(group, columns[int(group.column)], names) for group in groups]
    among = "" if len(rows) == len(X) else f" (in a sample of {len(rows)})"
    yield Finding(
        "contradictions-in-subgroup",
        "warning",
        f"records contradict each other most where {groups[0].column} = {groups[0].value}",
        f"Of all records{among} {percent(float(contradicted.mean()))} have another label than the nearest record; "
        f"more do where {shortened([group.text for group in groups], NAMED, 'groups', '; ')}.",
        "Check how labels were given there. If they are right, expect mistakes and low trust there.",
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
