"""Exact confidence limits of a proportion (Clopper and Pearson), and subgroups whose proportion stands out."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

from sepc.common.frames import plain
from sepc.common.typing import FloatArray


def exact_interval(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share; (0, 1) if nothing was observed.

    Parameters
    ----------
    hits, n : int or float
        Counts, or sums of weights.
    confidence : float, default=0.95

    Returns
    -------
    low, high : float
    """
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    return low, upper_limit(hits, n, tail)


def upper_limit(hits: float, n: float, risk: float) -> float:
    """Return a limit that the true share exceeds with a probability of at most `risk`."""
    return float(betainccinv(hits + 1, n - hits, risk)) if hits < n else 1.0


class Subgroup(NamedTuple):
    """The `n` records with one value of a column, and the share of an event among them and among all others."""

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
    """Return the values of columns with which an event is clearly more frequent than without, by its excess.

    Groups have 20 records or more and 1.5 times the share of the others; the exact intervals of both shares do not
    overlap, with a confidence of 99 % over all values (Bonferroni).

    Parameters
    ----------
    counts : ndarray of shape (n,)
        1 for each record with the event, 0 without, a number between where it is undecided.
    columns : dict of str to ndarray of shape (n,)
        Values of each column, few different ones.
    """
    levels = {name: np.unique(values, return_inverse=True) for name, values in columns.items()}
    n_values = sum(len(values) for values, _ in levels.values())
    if not n_values:
        return []
    confidence = 1.0 - 0.01 / n_values
    total, n = float(counts.sum()), len(counts)
    found = []
    for name, (values, codes) in levels.items():
        sizes, hits = np.bincount(codes), np.bincount(codes, weights=counts)
        for value, size, hit in zip(values.tolist(), sizes.tolist(), hits.tolist(), strict=True):
            if not 20 <= size <= n - 20:
                continue
            share, elsewhere = hit / size, (total - hit) / (n - size)
            apart = exact_interval(hit, size, confidence)[0] > exact_interval(total - hit, n - size, confidence)[1]
            if apart and share >= 1.5 * elsewhere:
                found.append(Subgroup(name, plain(value), size, share, elsewhere))
    return sorted(found, key=lambda group: -group.n * (group.share - group.elsewhere))
