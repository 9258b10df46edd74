"""What a promise bounds among accepted labels: the share of wrong ones, or the expected cost of each.

Both find the lowest safe threshold of a part of the calibration records, and tell how many of them it takes. Risks are
probabilities that what is promised does not hold.
"""

from dataclasses import dataclass
from typing import Protocol

from sepc.common.intervals import upper_limit
from sepc.common.typing import FloatArray
from sepc.promises import cost_thresholds, safe_thresholds
from sepc.promises.safe_thresholds import SafeThreshold


class Criterion(Protocol):
    """A limit, and tests of whether it is kept."""

    @property
    def limit(self) -> float:
        """What is promised to be kept."""

    @property
    def is_out_of_reach(self) -> bool:
        """Whether no number of records would show that it is kept."""

    def threshold(self, trust: FloatArray, loss: FloatArray, risk: float) -> SafeThreshold | None:
        """Return the lowest threshold that keeps the limit; None where there is none to be found."""

    def needed(self, risk: float) -> int:
        """Return how many records suffice if none of them loses anything; 0 where no record is needed."""

    def bound(self, mean: float, n: int, level: float) -> float:
        """Return an upper bound on the mean loss of n accepted records, at the level of a test that passed."""


@dataclass(frozen=True, slots=True)
class ErrorLimit:
    """At most this share of the accepted labels is wrong; the loss of a wrong one is 1."""

    limit: float
    is_out_of_reach: bool = False

    def threshold(self, trust: FloatArray, loss: FloatArray, risk: float) -> SafeThreshold | None:  # noqa: D102
        return safe_thresholds.lowest_safe_threshold(trust, loss > 0.0, self.limit, 1.0 - risk)

    def needed(self, risk: float) -> int:  # noqa: D102
        return safe_thresholds.records_needed(self.limit, 1.0 - risk)

    def bound(self, mean: float, n: int, level: float) -> float:  # noqa: D102
        return min(upper_limit(round(mean * n), n, level), self.limit)


@dataclass(frozen=True, slots=True)
class CostLimit:
    """An accepted label can be expected to cost at most this; each costs from `least` to `most`."""

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
        """Whether every label costs more, or as much: no finite number of records would show that it does not."""
        return not self.is_kept_by_all and self.least >= self.limit

    def threshold(self, trust: FloatArray, loss: FloatArray, risk: float) -> SafeThreshold | None:  # noqa: D102
        if self.is_kept_by_all:
            return SafeThreshold(0.0, len(trust), risk)
        if self.is_out_of_reach or not len(trust):
            return None
        scaled = (loss - self.least) / (self.most - self.least)
        return cost_thresholds.lowest_affordable_threshold(trust, scaled, self._scaled, risk)

    def needed(self, risk: float) -> int:  # noqa: D102
        if self.is_kept_by_all:
            return 0
        return cost_thresholds.records_needed(max(self._scaled, 1e-9), risk)

    def bound(self, mean: float, n: int, level: float) -> float:  # noqa: D102
        if self.is_kept_by_all:
            return self.most
        width = self.most - self.least
        highest = cost_thresholds.upper_mean((mean - self.least) / width * n, n, level)
        return min(self.least + width * highest, self.limit)
