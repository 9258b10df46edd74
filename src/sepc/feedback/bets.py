"""Bets on a rise of a rate: fair whichever records were chosen to be labelled, and placed anew with each batch.

Record i gets a label with the chance c_i, which may depend on the record and on all before it; S_i is 1 if it got one,
and L_i is 1 if the verdict on it is wrong. Against "verdicts are wrong at a rate of at most p" a bet multiplies its
wealth by

    1 + lam S_i (L_i - p) / c_i.

A record without a label has the factor 1, so it need not be known. Given all before, and given the record, S_i is drawn
with the chance c_i whatever L_i is, so that the factor's expectation is 1 + lam (P(L_i = 1) - p), which is at most 1 if
the rate is at most p: the chances cancel, whatever they are. The factor must not become negative: c_i is at least
`least`, which is stated before the first record, and lam is less than least / p. By Ville's inequality wealth that
begins with 1 and has such factors ever reaches a with a probability of at most 1 / a, however often one looks; so
does any average of it over bets, over rates, and over when a bet begins, as long as neither they nor their weights
depend on outcomes that are yet to come.

Where all records have labels, the likelihood ratio r**L / (1 + (r - 1) p) of odds that have risen by the factor r is
the factor above with c = 1 and lam_r = (r - 1) / (1 + (r - 1) p), which is less than 1 / p. Where they were chosen,
lam is least * lam_r for the same ratios r. Which of the two it is must be stated with the batch: before its outcomes
are looked at.

References
----------
A. Ramdas, P. Gruenwald, V. Vovk, G. Shafer (2023). Game-Theoretic Statistics and Safe Anytime-Valid Inference.
Statistical Science 38.
I. Waudby-Smith, A. Ramdas (2024). Estimating Means of Bounded Random Variables by Betting. Journal of the Royal
Statistical Society B 86.
"""

from bisect import bisect_left
from math import log

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray

# Factors by which the odds may have risen: one bet on each, with equal stakes.
ODDS_RATIOS = np.array([1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
# A part is named beside the one with the most evidence if it has at least this share of its evidence.
NAMED_FROM = 0.5
LARGEST_LOG = float(np.log(np.finfo(float).max))


def log_factors(
    limits: FloatArray, wrong: BoolArray | FloatArray, chance: FloatArray, least: float = 1.0
) -> FloatArray:
    """Return the logarithm of the factor of each bet for each labelled record, shape (n, n_ratios).

    `limits` has the rates p, `wrong` the losses L (from 0 to 1), `chance` the chances c, each of shape (n,); `least` is
    the lower bound of all chances: 1 where all records have labels.
    """
    rise, p = ODDS_RATIOS - 1.0, limits[:, None]
    stake = least * rise / (1.0 + rise * p)
    return np.asarray(np.log1p(stake * (wrong[:, None] - p) / chance[:, None]))


class SequentialBets:
    """Wealth of bets by several processes, each on several sizes of a rise and several times at which it began.

    Of each bet the share 1 / (j (j + 1)) is placed at the start of batch j and stays in play from there on.

    Parameters
    ----------
    stakes : ndarray of shape (n_processes,)
        Shares of the stake, of sum 1; the share of a process is spread evenly over its bets.
    n_bets : int, default=n_ratios
        Number of bets of each process: on sizes of a rise, unless they are others.

    Attributes
    ----------
    log_wealth : ndarray of shape (n_processes, n_bets)
        Logarithms of the wealth of each bet per unit staked on it, without what is not yet placed.
    gains : ndarray of shape (n_processes, n_bets)
        Logarithms of the gain of each bet, had all of it been placed at the start.
    log_evidence : list of float
        Logarithm of the total wealth after each batch.
    """

    def __init__(self, stakes: FloatArray, n_bets: int = len(ODDS_RATIOS)) -> None:
        self._log_stakes = np.log(stakes)[:, None] - np.log(n_bets)
        shape = (len(stakes), n_bets)
        self.log_wealth: FloatArray = np.full(shape, -np.inf)
        self.gains: FloatArray = np.zeros(shape)
        self.log_evidence: list[float] = []
        # For each bet the largest gain up to now, over all starts, and the number of records before the best start.
        self._best: FloatArray = np.zeros(shape)
        self._starts: IntArray = np.zeros(shape, dtype=np.int64)

    def add(self, gain: FloatArray, n_before: int = 0) -> None:
        """Add the log gains of all bets in a batch, shape (n_processes, n_bets), after `n_before` records."""
        self._starts = np.where(self._best > 0.0, self._starts, n_before)
        self._best = np.maximum(self._best, 0.0) + gain
        self.log_wealth, evidence = self._after(gain)
        self.gains = self.gains + gain
        self.log_evidence.append(evidence)

    def _after(self, gain: FloatArray) -> tuple[FloatArray, float]:
        """Return the log wealth after one more batch: of each bet, and the total."""
        j = len(self.log_evidence) + 1
        wealth = np.logaddexp(self.log_wealth, -np.log(j * (j + 1.0))) + gain
        placed = np.logaddexp.reduce(wealth + self._log_stakes, axis=None)
        return wealth, float(np.logaddexp(placed, -np.log(j + 1.0)))

    def contributions(self) -> FloatArray:
        """Return the logarithm of the wealth of each process, shape (n_processes,)."""
        return np.asarray(np.logaddexp.reduce(self.log_wealth + self._log_stakes, axis=1))

    def each(self) -> FloatArray:
        """Return the logarithm of the wealth of each process per unit staked on it, shape (n_processes,)."""
        wealth = np.logaddexp.reduce(self.log_wealth, axis=1) - np.log(self.log_wealth.shape[1])
        return np.asarray(np.logaddexp(wealth, -np.log(len(self.log_evidence) + 1.0)))

    def since(self, processes: list[int]) -> int:
        """Return the number of records before the best start of the best bet of some processes."""
        return int(self._starts[processes].ravel()[self._best[processes].argmax()])

    def n_needed(self, n: int, log_threshold: float) -> int | None:
        """Return the number of records, in one batch and with the mean gains so far, that would reach a threshold.

        `n` is the number of records so far. None if a million would not be enough.
        """
        each = self.gains / n

        def would_reach(n_more: int) -> bool:
            return self._after(n_more * each)[1] >= log_threshold

        enough = 1
        while not would_reach(enough):
            enough *= 2
            if enough > 1_000_000:
                return None
        return bisect_left(range(enough), True, lo=enough // 2, key=would_reach)


class SequentialTest:
    """Test by sequential bets of several processes against their limits, which are rates from 0 to 1.

    `stakes` are as for `SequentialBets`, `threshold` is the evidence at which the alarm is raised, `least` the lower
    bound of the chances of being labelled.

    Attributes
    ----------
    n : int
        Number of records so far.
    when : int or None
        Number of records when the alarm was raised.
    """

    def __init__(self, limits: FloatArray, stakes: FloatArray, threshold: float, least: float = 1.0) -> None:
        self.limits, self.threshold, self.least = limits, threshold, least
        self.bets = SequentialBets(stakes)
        self.n = 0
        self.when: int | None = None

    @property
    def evidence(self) -> float:
        """Largest wealth so far, per unit staked."""
        return float(np.exp(min(max(self.bets.log_evidence, default=0.0), LARGEST_LOG)))

    def bet(self, gain: FloatArray, n: int) -> bool:
        """Add the log gains of all bets in a batch of n records; return whether it raises the alarm."""
        self.bets.add(gain, self.n)
        self.n += n
        raised = self.when is None and self.bets.log_evidence[-1] >= log(self.threshold) and self._is_rise()
        if raised:
            self.when = self.n
        return raised

    def _is_rise(self) -> bool:
        """Return whether the evidence is of what the alarm is meant for."""
        return True

    def grouped(
        self, gain: FloatArray, process: IntArray, loss: FloatArray | BoolArray, chance: FloatArray | None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Add the gains by labelled records to those of their processes; all arrays but `gain` have the shape (n,).

        `chance` is None where all records have labels. Returns process, loss and weight (number over chance) of each
        group of equal records: sorted groups make sums that do not depend on the order of rows.
        """
        least, chance = (1.0, np.ones(len(process))) if chance is None else (self.least, chance)
        rows: FloatArray = np.column_stack([process, loss, chance]).astype(np.float64)
        groups, sizes = np.unique(rows, axis=0, return_counts=True)
        which, lost, each = groups[:, 0].astype(np.int64), groups[:, 1], groups[:, 2]
        np.add.at(gain, which, sizes[:, None] * log_factors(self.limits[which], lost, each, least))
        return which, lost, sizes / each
