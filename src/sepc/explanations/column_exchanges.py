"""Exchanges of columns: which of a few values to take in which columns, so that a change is as small as can be."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray
from sepc.explanations.change_search import ChangeSearch

# Numbers to try in one column: at these shares of the way to the ends of its range.
_SHARES_OF_RANGE = (0.1, 0.25, 0.5, 1.0)
# How far the numbers of a change are taken back.
_SHARES_TAKEN_BACK = (0.03, 0.1, 0.25, 0.5)
# Columns that are changed together at most where no smaller change leads to another label, and exchanges at most.
_MOST_TOGETHER, _MOST_EXCHANGES = 8, 20
_LESS = 1.0 - 1e-9
# Columns that move by less than this share of the whole change need not.
_IDLE = 1e-4


class _Option(NamedTuple):
    """Features of one column that it may be changed to, and which column that is."""

    at: slice
    block: FloatArray


def exchange_columns(search: ChangeSearch, bounds: FloatArray) -> None:
    """Change one column, take changes back and exchange one for another, as long as the whole change gets shorter.

    Parameters
    ----------
    search : ChangeSearch
        It notes the best record.
    bounds : ndarray of shape (2, d)
        Smallest and largest number of each feature in training.
    """
    options = list(_options(search, bounds))
    if not options:
        return
    _change_one(search, options)
    for _ in range(_MOST_EXCHANGES):
        before = search.length
        if search.best is None:
            return
        candidates = np.array(list(_candidates(search, options)))
        shorter = candidates[search.lengths(candidates) < _LESS * before]
        if not len(shorter):
            return
        search.judge(np.unique(shorter, axis=0))
        if search.length >= _LESS * before:
            return


def drop_idle_changes(search: ChangeSearch) -> None:
    """Take back what the best change changes by next to nothing, if the label stays without it."""
    if search.best is None:
        return
    without, moved = np.array(search.best), np.abs(search.model.units(search.best) - search.z)
    for word in search.reachable.words:
        if moved[word.at].max() < _IDLE * search.length:
            without[word.at] = search.reachable.x[word.at]
    judged = search.judge(without[None])
    if judged.is_other[0]:
        search.best, search.length = judged.X[0], float(judged.length[0])


def _options(search: ChangeSearch, bounds: FloatArray) -> Iterator[_Option]:
    reachable = search.reachable
    for word in reachable.words:
        blocks = reachable.vocabulary.values(word)
        if not len(blocks):
            j = word.at.start
            ends = np.clip(bounds[:, j], reachable.low[j], reachable.high[j])
            numbers = [reachable.x[j] + share * (end - reachable.x[j]) for end in ends for share in _SHARES_OF_RANGE]
            blocks = np.repeat(reachable.x[None, word.at], len(numbers), axis=0)
            blocks[:, 0] = numbers
        for block in blocks:
            if np.isfinite(block).all() and not np.array_equal(block, reachable.x[word.at]):
                yield _Option(word.at, block)


def _change_one(search: ChangeSearch, options: list[_Option]) -> None:
    """Try all changes of one column; where none is enough, more and more of those that bring another label nearest."""
    alone = search.judge(np.array([_with(search.reachable.x, option) for option in options]))
    if alone.is_other.any():
        return
    together, changed = [search.reachable.x], set[int]()
    for k in np.argsort(-alone.margin, kind="stable").tolist():
        if options[k].at.start not in changed and len(changed) < _MOST_TOGETHER:
            changed.add(options[k].at.start)
            together.append(_with(together[-1], options[k]))
    search.judge(np.array(together[1:]))


def _candidates(search: ChangeSearch, options: list[_Option]) -> Iterator[FloatArray]:
    """Yield changes near the best one: with less of a column, and with another column or value for it."""
    best, x = search.best, search.reachable.x
    assert best is not None
    bases = [best]
    for word in search.reachable.words:
        if not np.array_equal(best[word.at], x[word.at]):
            bases.append(_with(best, _Option(word.at, x[word.at])))
            if not word.is_level:
                back = (best[word.at] + share * (x[word.at] - best[word.at]) for share in _SHARES_TAKEN_BACK)
                bases += [_with(best, _Option(word.at, block)) for block in back]
    for base in bases:
        yield base
        yield from (_with(base, option) for option in options)


def _with(x: FloatArray, option: _Option) -> FloatArray:
    changed = np.array(x)
    changed[option.at] = option.block
    return changed
