"""Columns of very wide tables that tell the labels apart best, by their ranks.

The ranks of a column have the statistic of Kruskal and Wallis (1952), which no monotone scale changes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sepc.common.typing import FloatArray, IntArray

# Of more columns than this, and than records, only some are read: up to here a fit takes seconds and its file has a few
# megabytes; both grow with the square of the number of columns, and faster.
MOST_COLUMNS = 500
# Of more records a fit sees a sample, and numbers that are as many would hardly fit into memory.
MOST_RECORDS = 20_000
# Numbers of columns that are then tried, and the least number of records for each: with more columns than records
# nearly all new records would be strange.
NUMBERS_READ = (4, 8, 16, 32, 64, 128)
RECORDS_A_COLUMN = 4


def is_wide(n: int, d: int) -> bool:
    """Return whether a model reads only some of the d columns of n records."""
    return d > max(MOST_COLUMNS, n) and n <= MOST_RECORDS


def numbers_read(n: int) -> list[int]:
    """Return the numbers of columns that are tried for n records."""
    return [size for size in NUMBERS_READ if size <= max(n / RECORDS_A_COLUMN, NUMBERS_READ[0])]


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


def ranked_columns(X: FloatArray, codes: IntArray) -> IntArray:
    """Return the columns in the order of their separations, the best first."""
    return np.argsort(-separations(X, codes), kind="stable")


def best_columns(ranked: IntArray, features: Sequence[str], size: int) -> tuple[IntArray, IntArray]:
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
