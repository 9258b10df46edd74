"""Counts of right and wrong verdicts: of each region, and of each bin of trust."""

from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Any, NamedTuple

from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray

# Trust is 1 for every pure region: that is a bin of its own.
TRUST_EDGES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_BIN_NAMES = (
    f"below {TRUST_EDGES[0]:g}",
    *(f"{low:g} to {high:g}" for low, high in pairwise(TRUST_EDGES)),
    "1",
)


@dataclass(slots=True)
class VerdictCounts:
    """Counts of verdicts, and sums of their trust. Sums do not depend on the order of records within a batch."""

    n: int = 0
    n_right: int = 0
    n_wrong: int = 0
    trust_sum: float = 0.0
    labelled_trust_sum: float = 0.0

    def add(self, trust: FloatArray | list[float], n_right: int = 0, n_wrong: int = 0, *, seen: bool = False) -> None:
        """Count verdicts; either all of them have become known as right or wrong, or none.

        Those that were `seen` were counted before, when it was not known.
        """
        if not seen:
            self.n += len(trust)
            self.trust_sum = fsum([self.trust_sum, *trust])
        if n_right + n_wrong:
            self.n_right += n_right
            self.n_wrong += n_wrong
            self.labelled_trust_sum = fsum([self.labelled_trust_sum, *trust])

    @property
    def n_labelled(self) -> int:
        """Number of verdicts that have become known as right or wrong."""
        return self.n_right + self.n_wrong


class RegionRecord(NamedTuple):
    """Right and wrong verdicts of one region, against the trust that was given.

    `n` counts all records that it decided, `n_right` and `n_wrong` those whose label is known. `trust` is the mean
    that was given, `share_right` what came true of it with its exact 95 % interval from `low` to `high`. `exceeds`:
    more wrong ones than the `n_imp` that an ellipsoid may hold, the paper's sign to partition afresh; of an ensemble
    each row is a label, `n_imp` is None, and nothing exceeds it. `calibrated`: the mean trust of the labelled records
    lies in the interval.
    """

    region: str
    n: int
    n_right: int
    n_wrong: int
    trust: float
    share_right: float
    low: float
    high: float
    n_imp: int | None
    exceeds: bool
    calibrated: bool


class TrustRecord(NamedTuple):
    """Right and wrong verdicts whose trust lay in one bin; fields as in `RegionRecord`."""

    bin: str
    n: int
    n_right: int
    n_wrong: int
    trust: float
    share_right: float
    low: float
    high: float
    calibrated: bool


def region_record(region: str, counts: VerdictCounts, n_imp: int | None) -> RegionRecord:
    """Return the row of a region in the tables of a report."""
    *fields, calibrated = _measures(counts)
    exceeds = n_imp is not None and counts.n_wrong > n_imp
    return RegionRecord._make([region, *fields, n_imp, exceeds, calibrated])


def trust_record(which: int, counts: VerdictCounts) -> TrustRecord:
    """Return the row of a bin of trust in the tables of a report."""
    return TrustRecord._make([_BIN_NAMES[which], *_measures(counts)])


def _measures(counts: VerdictCounts) -> tuple[Any, ...]:
    n = counts.n_labelled
    low, high = exact_interval(counts.n_right, n)
    trust = counts.trust_sum / counts.n if counts.n else float("nan")
    share = counts.n_right / n if n else float("nan")
    # Sums of floats may leave the interval by a rounding error: a trust of 1 is met by an interval that ends at 1.
    calibrated = n == 0 or low - 1e-12 <= counts.labelled_trust_sum / n <= high + 1e-12
    return counts.n, counts.n_right, counts.n_wrong, trust, share, low, high, calibrated
