"""Bets on ranks: whether values still come from where a reference came from, valid at any time and for few records.

The reference has n values. Value t of a stream gets its rank among the reference and the stream up to itself,

    p_t = (number of these below it + u_t * number of these equal to it) / (n + t),

where it counts as equal to itself, and u_t is uniform on (0, 1). If reference and stream are exchangeable, then p_1,
p_2, ... are independent and uniform, however small n is: few records cost power, never validity. So a density f on
(0, 1), chosen in advance, is a fair bet: its factor f(p_t) has the mean 1. Wealth that begins with 1 reaches a with a
probability of at most 1 / a, however often one looks (Ville).

The bets are densities that are constant on the cells of a grid: normal distributions of the score of p, shifted or
wider or narrower, and a share that falls into one cell or tail. Each has the same stake in each series, and is placed
anew with each batch (`SequentialBets`).

Each series has a risk, and an alarm at a wealth of 1 over it; the risks add up to that of any alarm. The mean of the
wealth of several series would be no martingale: ranks of one column are independent of its own past, and not of the
past of all others.

Ranks depend on the order within a batch. Batches are shuffled by a generator that is seeded by the number of records
before, which also draws u: the order in which rows came does not matter, and the same batches give the same ranks.

References
----------
V. Vovk, A. Gammerman, G. Shafer (2022). Algorithmic Learning in a Random World, chapter 8. Springer.
V. Vovk (2021). Testing randomness online. Statistical Science 36.
Y. J. Choe, A. Ramdas (2024). Combining evidence across filtrations. arXiv 2402.09698.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.feedback.bets import SequentialBets

_TAIL = np.array([0.002, 0.005, 0.01, 0.02, 0.05])
# Ends of the cells, without 0 and 1.
EDGES: FloatArray = np.concatenate([_TAIL, np.linspace(0.1, 0.9, 17), 1.0 - _TAIL[::-1]])
_ENDS = np.concatenate([[0.0], EDGES, [1.0]])
WIDTHS: FloatArray = np.diff(_ENDS)
# Mean and deviation of the normal scores by which a bet gains most.
_NORMAL = [
    *((sign * shift, 1.0) for sign in (-1.0, 1.0) for shift in (0.25, 0.5, 1.0, 2.0)),
    *((0.0, deviation) for deviation in (0.5, 0.75, 1.5, 2.5)),
]
# Ranges of p, each with an additional share of the values; in the tails a small one tells, such as of a new class.
_TAILS = [
    *((0.0, end) for end in (0.005, 0.02, 0.05)),
    *((1.0 - end, 1.0) for end in (0.005, 0.02, 0.05)),
]
_RANGES = [*_TAILS, *((k / 20.0, (k + 2) / 20.0) for k in range(19))]
_WITHIN = [*((0.03, ends) for ends in _TAILS), *((share, ends) for share in (0.1, 0.25) for ends in _RANGES)]
# Rows whose ranks among each other are found at once.
_CHUNK = 512


def _densities() -> FloatArray:
    """Return the density of each bet on each cell, shape (n_bets, n_cells)."""
    scores = ndtri(_ENDS)
    normal = [np.diff(ndtr((scores - mean) / deviation)) / WIDTHS for mean, deviation in _NORMAL]
    within = [
        1.0 - share + share * np.diff(np.clip((_ENDS - low) / (high - low), 0.0, 1.0)) / WIDTHS
        for share, (low, high) in _WITHIN
    ]
    return np.array(normal + within)


DENSITIES: FloatArray = _densities()


class Ranks:
    """Ranks of a stream among a reference of shape (n,) and itself; missing values are the largest, and equal."""

    def __init__(self, reference: FloatArray) -> None:
        self._seen = np.sort(_comparable(reference))

    def add(self, values: FloatArray, u: FloatArray) -> FloatArray:
        """Add values and return their ranks from 0 to 1, each of shape (n,)."""
        parts = [np.empty(0)]
        for start in range(0, len(values), _CHUNK):
            some = _comparable(values[start : start + _CHUNK])
            below = np.searchsorted(self._seen, some)
            equal = np.searchsorted(self._seen, some, side="right") - below
            below += np.tril(some < some[:, None]).sum(axis=1)
            equal += np.tril(some == some[:, None]).sum(axis=1)
            n = len(self._seen) + 1 + np.arange(len(some))
            parts.append((below + u[start : start + _CHUNK] * equal) / n)
            self._seen = np.sort(np.concatenate([self._seen, some]), kind="stable")
        return np.concatenate(parts)


def _comparable(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), np.inf, values)


class RarityRanks:
    """Ranks of labels by how often each has come so far, itself included: a new label is the rarest.

    `counts`, of shape (n_classes,), are those of the reference.
    """

    def __init__(self, counts: IntArray) -> None:
        self.counts = np.array(counts, dtype=np.int64)

    def add(self, codes: IntArray, u: FloatArray) -> FloatArray:
        """Add labels and return their ranks from 0 to 1, each of shape (n,)."""
        n_new = int(codes.max(initial=-1)) + 1 - len(self.counts)
        self.counts = np.pad(self.counts, (0, max(n_new, 0)))
        ranks = np.empty(len(codes))
        for t, code in enumerate(codes.tolist()):
            self.counts[code] += 1
            mine = self.counts[code]
            below, equal = (self.counts[which].sum() for which in (self.counts < mine, self.counts == mine))
            ranks[t] = (below + u[t] * equal) / self.counts.sum()
        return ranks


class RankTest:
    """Test of several series by bets on their ranks.

    Parameters
    ----------
    risks : ndarray of shape (n_series,)
        Probability, at most, of a false alarm by each series.

    Attributes
    ----------
    when : ndarray of int, shape (n_series,)
        Number of records when the alarm of each series was raised, at the end of a batch; -1 without one.
    since : ndarray of int, shape (n_series,)
        About the number of records when it began; -1 without an alarm.
    log_evidence : ndarray of shape (n_series,)
        Logarithm of the largest wealth so far.
    """

    def __init__(self, risks: FloatArray) -> None:
        n = len(risks)
        self.log_thresholds: FloatArray = -np.log(risks)
        self.log_evidence: FloatArray = np.zeros(n)
        self.when: IntArray = np.full(n, -1)
        self.since: IntArray = np.full(n, -1)
        self._bets = SequentialBets(np.full(n, 1.0 / n), len(DENSITIES))

    @property
    def n_batches(self) -> int:
        """Number of batches so far."""
        return len(self._bets.log_evidence)

    def add(self, counts: IntArray, n_before: int, n_after: int) -> BoolArray:
        """Add a batch by the counts of ranks in each cell, shape (n_series, n_cells); return which alarms it raises."""
        self._bets.add(counts.astype(np.float64) @ np.log(DENSITIES).T, n_before)
        wealth = self._bets.each()
        self.log_evidence = np.maximum(self.log_evidence, wealth)
        raised = (self.when < 0) & (wealth >= self.log_thresholds)
        for k in np.flatnonzero(raised).tolist():
            self.when[k], self.since[k] = n_after, self._bets.since([k])
        return raised
