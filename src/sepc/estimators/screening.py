"""Screening of very wide training sets: a model reads the columns whose ranks tell the labels apart best.

Of thousands of columns some tell the labels of a few records apart by chance. So columns are chosen anew without each
part of the records, and that part is judged by densities in these columns: how many are read, trust and typicality all
come from records whose labels have had no say in what they are judged by.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import TrainingSet, has_gaps
from sepc.estimators.density_fit import Choice, Search
from sepc.estimators.held_out_parts import parts_of
from sepc.estimators.records import Apart, ArrangedSet, Core
from sepc.model.incomplete import completed
from sepc.model.partition_model import N_PARTS
from sepc.model.telling_columns import best_columns, numbers_read, ranked_columns
from sepc.partitions.ordering import canonical_rows
from sepc.partitions.run import PartitionOptions


class Screened(NamedTuple):
    """A wide training set in canonical order, in the columns that are to be read, shape (n_read,)."""

    training: ArrangedSet
    columns: IntArray


def screened(training: TrainingSet, n_imp: int | float | None, only_counts: bool = False) -> Screened:
    """Choose the columns of a wide training set; the log loss of held-out records chooses their number.

    Features of one column of a table, by their names, go together. With `only_counts` the records of the last part only
    count, and have no say in the choice of the columns.
    """
    order = _canonical_order(training)
    X, codes = training.X[order], training.codes[order].astype(np.int64)
    part = parts_of(_filled(X), codes)
    shaping = part != N_PARTS - 1 if only_counts else np.full(len(X), True)
    whole, *of_parts = (
        ranked_columns(X[seen], codes[seen]) for seen in (shaping, *(part != k for k in range(N_PARTS)))
    )
    tried = []
    for size in numbers_read(len(X)):
        columns, places = best_columns(whole, training.features, size)
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


def _loss(core: Core, classes: NDArray[Any], n_imp: int | float | None) -> float:
    """Return the log loss of held-out records, each in columns that were chosen without its part."""
    assert core.apart is not None
    standardised = replace(core, apart=core.apart.in_units(True))
    search = Search.of(standardised, classes, np.ones(core.points.shape[1]), n_imp, PartitionOptions())
    return search.made(Choice()).mean_loss
