"""Plans of the members of an ensemble: which view, and which features."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, STEPS

# What a column without relevance gets of the chances of the most relevant one: relevance alone misses what only two
# columns together tell.
_FLOOR = 0.2
# Of so many members the last one sees steps: with one in three the rank on the sets that constants are chosen by is no
# better. The others see the values and their scores by turns.
_ROUND = 5


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a member: its view, the numbers of its features, and its seed."""

    view: int
    features: IntArray
    seed: int


def columns_of(d: int, groups: Sequence[IntArray]) -> list[IntArray]:
    """Return d features as columns: those of one category together, others by themselves, in their order."""
    alone = np.setdiff1d(np.arange(d), np.concatenate([*groups, np.empty(0, dtype=np.int64)]))
    return sorted([*groups, *alone[:, None]], key=lambda column: int(column[0]))


def plans(
    columns: Sequence[IntArray],
    chances: FloatArray,
    n_members: int,
    sizes: Sequence[int],
    most_features: int,
    has_numbers: bool,
    rng: np.random.Generator,
) -> list[Plan]:
    """Choose views and features of the members.

    Views take turns, and so do sizes. Columns are drawn without replacement, relevant ones more often.

    Parameters
    ----------
    columns : sequence of ndarray of int
        Features of each column.
    chances : ndarray of shape (n_columns,)
        As `column_chances` returns them.
    n_members : int
    sizes : sequence of int
        Numbers of columns; at most those that vary are drawn.
    most_features : int
        Columns that come last in a draw are left out where all of them together have more features.
    has_numbers : bool
        Whether a column is more than a category: else there is nothing to cut into steps.
    rng : Generator

    Returns
    -------
    list of Plan
    """
    able = int(np.count_nonzero(chances))
    widths = np.array([len(column) for column in columns])
    out = []
    for k in range(n_members):
        view, turn = _turn(k, _ROUND if has_numbers else n_members + 1)
        size = min(sizes[turn % len(sizes)], able)
        drawn = rng.choice(len(chances), size, replace=False, p=chances)
        fitting = max(int(np.searchsorted(np.cumsum(widths[drawn]), most_features, side="right")), 1)
        features = np.sort(np.concatenate([columns[j] for j in drawn[:fitting]]))
        out.append(Plan(view, features, int(rng.integers(2**31))))
    return out


def _turn(k: int, in_round: int) -> tuple[int, int]:
    """Return the view of the k-th member, from 0, and the number of its size among all turns."""
    rounds, place = divmod(k, in_round)
    if place == in_round - 1:
        return STEPS, rounds
    pair, which = divmod(k - rounds, 2)
    return (PLAIN, SCORES)[which], pair


def column_chances(X: FloatArray, codes: IntArray, columns: Sequence[IntArray]) -> FloatArray:
    """Return the chance of each column to be drawn first: by how much its ranks differ between the classes.

    The measure is the correlation ratio of the ranks, of a category that of all its features together. Columns that do
    not vary are never drawn.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
    columns : sequence of ndarray of int
        Features of each column.

    Returns
    -------
    ndarray of shape (n_columns,)
        Their sum is 1.
    """
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    total = np.square(ranks).sum(axis=0)
    between = np.zeros(X.shape[1])
    for k in range(codes.max() + 1):
        mine = ranks[codes == k]
        between += len(mine) * np.square(mine.mean(axis=0))
    total, between = (np.array([values[column].sum() for column in columns]) for values in (total, between))
    varies = total > 0.0
    if not varies.any():
        return np.full(len(columns), 1.0 / len(columns))
    relevance = np.sqrt(between / np.where(varies, total, 1.0))
    chances = np.where(varies, relevance + _FLOOR * relevance.max() + 1e-9, 0.0)
    return np.asarray(chances / chances.sum())
