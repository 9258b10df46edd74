"""Subgroups of records in which something happens clearly more often than in the others."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import plain
from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray

# A group of fewer records is too small to speak of.
_FEWEST = 20
# So many times as often as elsewhere is worth a word, once chance is excluded.
_TIMES = 1.5
_RISK = 0.01


class Subgroup(NamedTuple):
    """Records with one value of a column, among which something happens often.

    Attributes
    ----------
    column : str
    value : object
    n : int
        Number of its records.
    share : float
        In how many of them it happens.
    elsewhere : float
        The same share among all other records.
    """

    column: str
    value: Any
    n: int
    share: float
    elsewhere: float

    @property
    def text(self) -> str:
        """The group and both shares, in words."""
        here, there = (f"{100 * share:.2g}" for share in (self.share, self.elsewhere))
        return f"{self.column} = {self.value} ({here} of 100, against {there} of 100 elsewhere; {self.n:,} records)"


def frequent_subgroups(counts: FloatArray, columns: Mapping[str, NDArray[Any]]) -> list[Subgroup]:
    """Return the values of columns with which something happens clearly more often than without.

    The exact intervals of both shares must be apart, with a confidence of 99 % over all values that are looked at.

    Parameters
    ----------
    counts : ndarray of shape (n,)
        1 for each record where it happens, 0 where it does not, something between where it is undecided.
    columns : dict of str to ndarray of shape (n,)
        Values of each column, few different ones.

    Returns
    -------
    list of Subgroup
        The most records above what is usual elsewhere first.
    """
    levels = {name: np.unique(values, return_inverse=True) for name, values in columns.items()}
    n_looked_at = sum(len(values) for values, _ in levels.values())
    if not n_looked_at:
        return []
    confidence = 1.0 - _RISK / n_looked_at
    total, n = float(counts.sum()), len(counts)
    found = []
    for name, (values, codes) in levels.items():
        sizes, hits = np.bincount(codes), np.bincount(codes, weights=counts)
        for value, size, hit in zip(values.tolist(), sizes.tolist(), hits.tolist(), strict=True):
            if not _FEWEST <= size <= n - _FEWEST:
                continue
            share, elsewhere = hit / size, (total - hit) / (n - size)
            apart = exact_interval(hit, size, confidence)[0] > exact_interval(total - hit, n - size, confidence)[1]
            if apart and share >= _TIMES * elsewhere:
                found.append(Subgroup(name, plain(value), size, share, elsewhere))
    return sorted(found, key=lambda group: -group.n * (group.share - group.elsewhere))
