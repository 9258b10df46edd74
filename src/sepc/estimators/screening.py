"""Screening of very wide training sets: a model reads the columns whose ranks tell the labels apart best.

The ranks of a column have the statistic of Kruskal and Wallis (1952), which no monotone scale changes. Of thousands of
columns some tell the labels of a few records apart by chance. So columns are chosen anew without each part of the
records, and that part is judged by densities in these columns: how many are read, trust and typicality all come from
records whose labels have had no say in what they are judged by.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import TrainingSet, has_gaps
from sepc.estimators.constants import CORE_RECORDS, MOST_COLUMNS, NUMBERS_READ, RECORDS_A_COLUMN
from sepc.estimators.density_fit import Choice, Search
from sepc.estimators.held_out_parts import parts_of
from sepc.estimators.records import Apart, ArrangedSet, Core
from sepc.model.incomplete import completed
from sepc.model.partition_model import N_PARTS
from sepc.partitions.ordering import canonical_rows
from sepc.partitions.run import PartitionOptions


class Screened(NamedTuple):
    """A wide training set in canonical order, in the columns that are to be read, shape (n_read,)."""

    training: ArrangedSet
    columns: IntArray


def is_wide(training: TrainingSet) -> bool:
    """Return whether a training set has so many columns that a model reads only some of them."""
    n, d = training.X.shape
    return bool(d > max(MOST_COLUMNS, n) and n <= CORE_RECORDS)


def screened(training: TrainingSet, n_imp: int | float | None, only_counts: bool = False) -> Screened:
    """Choose the columns of a wide training set; the log loss of held-out records chooses their number.

    Features of one column of a table, by their names, go together. With `only_counts` the records of the last part only
    count, and have no say in the choice of the columns.
    """
    order = _canonical_order(training)
    X, codes = training.X[order], training.codes[order].astype(np.int64)
    part = parts_of(_filled(X), codes)
    shaping = part != N_PARTS - 1 if only_counts else np.full(len(X), True)
    whole, *of_parts = (_ranked(X[seen], codes[seen]) for seen in (shaping, *(part != k for k in range(N_PARTS))))
    tried = []
    for size in _sizes(len(X)):
        columns, places = _best(whole, training.features, size)
        # Each part has columns of the same ranks as the whole.
        apart = Apart(part, [_core(X[:, ranked[places]], codes) for ranked in of_parts])
        tried.append((columns, replace(_core(X[:, columns], codes), apart=apart)))
    best, core = tried[0] if len(tried) == 1 else min(tried, key=lambda one: _loss(one[1], training.classes, n_imp))
    arranged = ArrangedSet(
        core.points,
        order if training.rows is None else training.rows[order],
        np.bincount(codes),
        training.classes,
        training.n_rows,
        core.gaps,
        ~shaping if only_counts else None,
        core.apart,
    )
    return Screened(arranged, best)


def separations(X: FloatArray, codes: NDArray[np.integer]) -> FloatArray:
    """Return how well the ranks of each column tell classes apart, shape (d,): the statistic of Kruskal and Wallis.

    NaN counts for nothing.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [10.0, 2.0], [20.0, 3.0]])
    >>> separations(X, np.array([0, 0, 1, 1])).round(1).tolist()
    [2.4, 0.0]
    """
    known = ~np.isnan(X)
    n = np.count_nonzero(known, axis=0)
    # Infinity ranks above all known values of its column.
    ranks = rankdata(np.where(known, X, np.inf), axis=0) - 0.5 * (n + 1.0)
    ranks[~known] = 0.0
    between = np.zeros(X.shape[1])
    for k in range(int(codes.max()) + 1):
        own = codes == k
        between += np.square(ranks[own].sum(axis=0)) / np.maximum(np.count_nonzero(known[own], axis=0), 1)
    total = np.square(ranks).sum(axis=0)
    return np.asarray((n - 1.0) * between / np.where(total > 0.0, total, np.inf))


def _ranked(X: FloatArray, codes: IntArray) -> IntArray:
    """Return the columns in the order of their separations, the best first."""
    return np.argsort(-separations(X, codes), kind="stable")


def _canonical_order(training: TrainingSet) -> IntArray:
    """Return the order of rows by class, and by coordinates within each; gaps order those equal but for them."""
    filled, gaps = _filled(training.X), np.isnan(training.X)
    by_gaps = np.lexsort(gaps.T) if gaps.any() else np.arange(len(filled))
    return by_gaps[canonical_rows(filled[by_gaps], training.codes[by_gaps], len(training.classes))]


def _filled(X: FloatArray) -> FloatArray:
    """Return records with medians in place of missing values."""
    gaps = np.isnan(X)
    return np.where(gaps, np.nanmedian(X, axis=0), X) if gaps.any() else X


def _core(X: FloatArray, codes: IntArray) -> Core:
    """Return records with NaN where values are missing as a core."""
    points, gaps = completed(X) if has_gaps(X) else (X, None)
    return Core(points, codes, gaps)


def _sizes(n: int) -> list[int]:
    """Return the numbers of columns that are tried for n records."""
    return [size for size in NUMBERS_READ if size <= max(n / RECORDS_A_COLUMN, NUMBERS_READ[0])]


def _loss(core: Core, classes: NDArray[Any], n_imp: int | float | None) -> float:
    """Return the log loss of held-out records, each in columns that were chosen without its part."""
    assert core.apart is not None
    standardised = replace(core, apart=core.apart.in_units(True))
    search = Search.of(standardised, classes, np.ones(core.points.shape[1]), n_imp, PartitionOptions())
    return search.made(Choice()).mean_loss


def _best(ranked: IntArray, features: Sequence[str], size: int) -> tuple[IntArray, IntArray]:
    """Return about `size` columns, ascending, and the place of each in their order by rank.

    All features of the columns of a table that the first ones belong to, but those that would be too many.
    """
    members: dict[str, list[int]] = {}
    for j, name in enumerate(features):
        members.setdefault(_table_column(name), []).append(j)
    chosen: set[int] = set()
    for j in ranked.tolist():
        together = members[_table_column(features[j])]
        if j not in chosen and (not chosen or len(chosen) + len(together) <= size):
            chosen.update(together)
        if len(chosen) >= size:
            break
    columns, place = np.array(sorted(chosen)), np.argsort(ranked)
    return columns, place[columns]


def _table_column(feature: str) -> str:
    """Return the column of a table that an encoder has made a feature of, by the name of the feature."""
    return feature.rstrip("'").partition(" = ")[0].removesuffix(" is missing")
