"""Limits that a promise keeps among accepted labels, on the error rate or the expected cost, and shares of its risk.

Both limits find the lowest safe threshold of a part of the calibration records, and the number of records that it
needs. The risk of a promise is the probability that it does not hold.

A share of the risk that goes to a part with too few calibration records is lost: no threshold could pass there, even
if no label were wrong. So m parts get an equal share, and the others nothing, where m is the largest number such that
m parts have enough records at the m-th share. That depends on counts of records alone, not on which labels were wrong,
so that the shares may be treated as fixed beforehand. Parts are independent, so that the m-th share is
``1 - (1 - risk) ** (1 / m)``, a little more than ``risk / m`` (Sidak's correction).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import expm1, log1p

from sepc.common.intervals import upper_limit
from sepc.common.typing import FloatArray
from sepc.promises.safe_thresholds import (
    SafeThreshold,
    lowest_affordable_threshold,
    lowest_safe_threshold,
    records_needed,
    records_needed_for_cost,
    upper_mean,
)


@dataclass(frozen=True, slots=True)
class ErrorLimit:
    """At most this share of the accepted labels is wrong; the loss of a wrong one is 1."""

    limit: float
    is_out_of_reach: bool = False

    def threshold(self, trust: FloatArray, loss: FloatArray, risk: float) -> SafeThreshold | None:
        """Return the lowest threshold that keeps the limit; None if there is none."""
        return lowest_safe_threshold(trust, loss > 0.0, self.limit, 1.0 - risk)

    def needed(self, risk: float) -> int:
        """Return the number of records that suffices if none of them loses anything."""
        return records_needed(self.limit, 1.0 - risk)

    def bound(self, mean: float, n: int, level: float) -> float:
        """Return an upper bound on the mean loss of n accepted records, at the level of a test that passed."""
        return min(upper_limit(round(mean * n), n, level), self.limit)


@dataclass(frozen=True, slots=True)
class CostLimit:
    """The expected cost of an accepted label is at most this; each costs from `least` to `most`.

    The methods are those of `ErrorLimit`.
    """

    limit: float
    least: float
    most: float

    @property
    def _scaled(self) -> float:
        """The limit in units in which labels cost from 0 to 1."""
        return (self.limit - self.least) / (self.most - self.least)

    @property
    def is_kept_by_all(self) -> bool:
        """Whether no label can cost more."""
        return self.most <= self.limit

    @property
    def is_out_of_reach(self) -> bool:
        """Whether every label costs at least the limit: no number of records would show that it is kept."""
        return not self.is_kept_by_all and self.least >= self.limit

    def threshold(self, trust: FloatArray, loss: FloatArray, risk: float) -> SafeThreshold | None:  # noqa: D102
        if self.is_kept_by_all:
            return SafeThreshold(0.0, len(trust), risk)
        if self.is_out_of_reach or not len(trust):
            return None
        scaled = (loss - self.least) / (self.most - self.least)
        return lowest_affordable_threshold(trust, scaled, self._scaled, risk)

    def needed(self, risk: float) -> int:  # noqa: D102
        if self.is_kept_by_all:
            return 0
        return records_needed_for_cost(max(self._scaled, 1e-9), risk)

    def bound(self, mean: float, n: int, level: float) -> float:  # noqa: D102
        if self.is_kept_by_all:
            return self.most
        width = self.most - self.least
        highest = upper_mean((mean - self.least) / width * n, n, level)
        return min(self.least + width * highest, self.limit)


Criterion = ErrorLimit | CostLimit


def equal_share(risk: float, m: int) -> float:
    """Return the risk of each of m independent promises that all hold with a probability of ``1 - risk`` (Sidak)."""
    return risk if m == 1 else -expm1(log1p(-risk) / m)


def shared_risks(sizes: Sequence[int], criteria: Sequence[Criterion], risk: float) -> list[float]:
    """Return the share of the risk of parts with these numbers of records; 0 where nothing can be promised."""
    for m in range(len(sizes), 0, -1):
        share = equal_share(risk, m)
        room = {k: n / max(criteria[k].needed(share), 1) for k, n in enumerate(sizes)}
        able = [k for k, n in enumerate(sizes) if n >= criteria[k].needed(share)]
        if len(able) >= m:
            # Of more than m, those with the largest share of the records that they need.
            chosen = set(sorted(able, key=lambda k: (-room[k], k))[:m])
            return [share if k in chosen else 0.0 for k in range(len(sizes))]
    return [0.0] * len(sizes)
