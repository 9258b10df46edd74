"""Changes of few columns: which columns, and how far to begin with.

With the odds of another label as a linear function of slopes g, the shortest change of some columns of numbers that
gives another label is in proportion to ``inv(A) g``, where g and A are of these columns alone. A level of a category is
another one, or it is not; then numbers do the rest. Sets of columns are compared by the length of such a change, for
slopes at several places: the odds are not linear.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.explanations.change_search import ChangeSearch, Judged
from sepc.explanations.constants import SETS_COMPARED, SETS_REFINED, SETS_TRIED, STEP, TIMES_BEST

_NOTHING = 1e-12  # odds that are none


class Moves(NamedTuple):
    """Changes of single columns: small ones of numbers, to other values of levels.

    `step`, shape (n, d), are the changes, `column` their columns, and `is_number` whether these are numbers.
    """

    step: FloatArray
    column: IntArray
    is_number: BoolArray

    @classmethod
    def of(cls, search: ChangeSearch) -> "Moves":
        """Return the moves that a record may make."""
        reachable, columns = search.reachable, []
        steps = [np.empty((0, len(search.z)))]
        for number, word in enumerate(reachable.words):
            if reachable.is_number[word.at.start]:
                step = np.zeros((1, len(search.z)))
                step[0, word.at.start] = STEP / np.sqrt(search.metric[word.at.start, word.at.start])
            else:
                blocks = reachable.vocabulary.values(word)
                X = np.repeat(reachable.x[None], len(blocks), axis=0)
                X[:, word.at] = blocks
                step = search.model.units(X) - search.z
            steps.append(step[(step != 0.0).any(axis=1)])
            columns += [number] * len(steps[-1])
        column = np.array(columns, dtype=np.int64)
        is_number = np.array([reachable.is_number[word.at.start] for word in reachable.words], dtype=bool)
        return cls(np.concatenate(steps), column, is_number[column])


def few_columns(search: ChangeSearch, places: FloatArray, others: FloatArray) -> tuple[Judged, BoolArray]:
    """Return changes of few columns to refine, and the features that these consist of, shape (n, d).

    Slopes are those at some places, shape (m, d); a change may also take over values of other records, shape (k, d).
    """
    moves = Moves.of(search)
    square = moves.step @ search.metric @ moves.step.T
    nothing = np.empty((0, len(search.z)))
    cost, starts, free = [np.empty(0)], [nothing], [nothing.astype(bool)]
    for slopes in _effects(search, places, moves):
        for sets, shares, length, of_odds in _sets(slopes, square, moves, search.max_columns):
            # No change of few columns is shorter than the best of all.
            least = length if search.best is None else search.best.length
            for factor in TIMES_BEST:
                far = np.where(moves.is_number[sets], (factor * least / length)[:, None], 1.0)
                starts.append(search.z + np.einsum("ij,ijk->ik", far * shares, moves.step[sets]))
                free.append((moves.step[sets] != 0.0).any(axis=1))
                cost.append(of_odds)
    Z, of, cheap = np.concatenate(starts), np.concatenate(free), np.argsort(np.concatenate(cost), kind="stable")
    name = _names(of)
    cheapest = cheap[_first_of_each(name[cheap])[:SETS_TRIED]]
    of_sets, mine = of[cheapest], np.isin(name, name[cheapest])
    taken = np.where(of_sets[:, None], others, search.z).reshape(-1, len(search.z))
    of = np.concatenate([of[mine], np.repeat(of_sets, len(others), axis=0)])
    judged = search.judge(np.concatenate([Z[mine], taken]))
    order = judged.order
    best = order[_first_of_each(_names(of)[order])[:SETS_REFINED]]
    return judged.among(best), of[best]


def _names(sets: BoolArray) -> IntArray:
    """Return a number for each set of features, shape (n, d): the same for those that are equal."""
    return np.asarray(sets @ np.random.default_rng(0).integers(1 << 40, size=sets.shape[1]))


def _first_of_each(names: IntArray) -> IntArray:
    """Return the places at which each number comes first, ascending."""
    return np.sort(np.unique(names, return_index=True)[1])


def _effects(search: ChangeSearch, places: FloatArray, moves: Moves) -> FloatArray:
    """Return what each move adds to the odds at some places, shape (m, n_moves)."""
    before = np.repeat(places[:, None], len(moves.step), axis=1)
    for row in np.flatnonzero(~moves.is_number).tolist():  # from the own level to another one
        at = search.reachable.words[moves.column[row]].at
        before[:, row, at] = search.z[at]
    points = np.stack([before, before + moves.step])
    odds = search.slack(points.reshape(-1, len(search.z)))[0][:, 0].reshape(points.shape[:-1])
    return np.asarray(odds[1] - odds[0])


def _sets(
    slopes: FloatArray, square: FloatArray, moves: Moves, most: int
) -> Iterator[tuple[IntArray, FloatArray, FloatArray, FloatArray]]:
    """Yield sets of moves of one column, of two and so on, that promise the shortest changes, with their `_shares`."""
    n, column = len(moves.column), moves.column
    sets = np.arange(n)[:, None]
    for size in range(1, most + 1):
        if size > 1:
            wider = np.column_stack([np.repeat(sets, n, axis=0), np.tile(np.arange(n), len(sets))])
            wider = np.sort(wider[(column[wider[:, :-1]] != column[wider[:, -1:]]).all(axis=1)], axis=1)
            sets = wider[np.unique(wider @ n ** np.arange(size), return_index=True)[1]]
        if not len(sets):
            return
        shares, length, cost = _shares(slopes[sets], square[sets[:, :, None], sets[:, None]], moves.is_number[sets])
        best = np.argsort(cost, kind="stable")[:SETS_COMPARED]
        sets = sets[best]
        yield sets, shares[best], length[best], cost[best]


def _shares(g: FloatArray, A: FloatArray, is_number: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share of each move of some sets, shape (n, size), the length of the change, and that per odds gained.

    Odds of 1 are another label. `g` are the slopes, shape (n, size), and A the products of moves, (n, size, size).
    """
    both = is_number[:, :, None] & is_number[:, None]
    direction = np.linalg.solve(np.where(both, A, np.eye(g.shape[1])), (g * is_number)[..., None])[..., 0]
    gained = (g * ~is_number).sum(axis=1)
    worth = (g * direction).sum(axis=1)
    scale = np.where(worth > _NOTHING, np.maximum(1.0 - gained, 0.0) / np.maximum(worth, _NOTHING), 0.0)
    shares = np.where(is_number, direction * scale[:, None], 1.0)
    length = np.maximum(np.sqrt(np.einsum("ij,ijk,ik->i", shares, A, shares)), 1e-9)
    return shares, length, length / np.clip(gained + scale * worth, 1e-9, 1.0)
