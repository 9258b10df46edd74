"""Gaps of a record: cells that tell nothing of it, and how usual so many of them are.

A cell is a gap if its value is missing, or is a text of a category that the training set does not have. In a training
row that is a text that no other training row has: without this row it would not have been seen. So rows of the
training set and new ones are counted alike, and the share of the training rows that have at least as many gaps says
how strange a new row is. Missing values that stay missing do not count: such a row is judged by what is there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.tables.cells import as_category, read_cells
from sepc.tables.columns import CATEGORY, Column, feature_slices


def gaps_of_new_rows(columns: tuple[Column, ...], raw: Mapping[str, Any]) -> dict[str, BoolArray]:
    """Return which cells of new rows are gaps that count, by column; columns that were left out have none.

    Parameters
    ----------
    columns : tuple of Column
    raw : dict of str to column
        Cells as they came in, n of each.

    Returns
    -------
    dict of str to ndarray of bool, shape (n,)
    """
    return {column.name: _is_new(column, raw[column.name]) for column, _ in feature_slices(columns)}


def _is_new(column: Column, raw: Any) -> BoolArray:
    if column.kind != CATEGORY:
        return _is_missing(column, raw)
    cells = as_category(read_cells(raw))
    known = {*column.levels, *column.pooled}
    # The last entry is for the code -1, where there is no text.
    return np.array([text not in known for text in cells.texts] + [not column.keeps_gaps])[cells.codes]


def _is_missing(column: Column, raw: Any) -> BoolArray:
    missing = column.missing(raw)
    return np.zeros_like(missing) if column.keeps_gaps else missing


def count_gaps_in_training(columns: tuple[Column, ...], raw: Mapping[str, Any]) -> IntArray:
    """Return how many training rows have no gap, one, two and so on.

    Parameters
    ----------
    columns : tuple of Column
    raw : dict of str to column
        Cells as they came in, n of each.

    Returns
    -------
    ndarray of int, shape (most_gaps + 1,)
    """
    gaps = [_is_unique(column, raw[column.name]) for column, _ in feature_slices(columns)]
    return np.bincount(np.sum(gaps, axis=0, dtype=np.int64))


def _is_unique(column: Column, raw: Any) -> BoolArray:
    if column.kind != CATEGORY:
        return _is_missing(column, raw)
    cells = as_category(read_cells(raw))
    rows_of_text = np.bincount(cells.codes + 1, minlength=len(cells.texts) + 1)[1:]
    return np.append(rows_of_text == 1, not column.keeps_gaps)[cells.codes]


def typicality_of_gaps(n_gaps: IntArray, counts: IntArray) -> FloatArray:
    """Return the share of the training rows that have at least as many gaps.

    Parameters
    ----------
    n_gaps : ndarray of int, shape (n,)
    counts : ndarray of int, shape (most_gaps + 1,)
        As `count_gaps_in_training` returns them.

    Returns
    -------
    ndarray of shape (n,)
        1 where there is no gap.
    """
    at_least = np.append(np.cumsum(counts[::-1])[::-1], 0) / counts.sum()
    return np.asarray(at_least[np.minimum(n_gaps, len(counts))])
