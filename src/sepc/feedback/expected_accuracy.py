"""Expected accuracy: what the trust says of new records, before any label, and what came true where labels are known.

If the trust is calibrated, the label of a record with the trust t is right with the probability t. Of n records, the
mean of t is then the expected share of right labels, and the number of wrong ones is a sum of independent events with
the probabilities 1 - t (Poisson binomial). A drift that the trust does not see makes it too high: compare it with
labels.
"""

from collections import defaultdict
from collections.abc import Iterator
from math import fsum
from reprlib import repr as repr_in_short
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from sepc.common.errors import InputError
from sepc.common.intervals import exact_interval
from sepc.common.text import percent
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.fitted_model import in_one_way

# From this variance of the number of wrong labels on it is taken for normal.
_LARGE_VARIANCE = 25.0
_TAIL = 0.025


class AccuracyRecord(NamedTuple):
    """Expected and observed accuracy of some records.

    Attributes
    ----------
    part : str
        "all", a month, or the records before or since a column began to change.
    n : int
        Number of records.
    expected, low, high : float
        Expected share of right labels, and the interval that holds that of these n records with a probability of 95 %,
        both if the trust is calibrated.
    n_labelled : int
        Number of records with a known label.
    expected_labelled, observed, observed_low, observed_high : float or None
        Of these: the expected share of right labels, the observed one, and its exact 95 % interval; None without any.
    """

    part: str
    n: int
    expected: float
    low: float
    high: float
    n_labelled: int
    expected_labelled: float | None
    observed: float | None
    observed_low: float | None
    observed_high: float | None


class ExpectedAccuracy:
    """Trust given to all records, and the verdicts that have become known as right or wrong."""

    def __init__(self) -> None:
        self._rows: list[FloatArray] = []
        self._trust: FloatArray = np.empty(0)
        self._right: FloatArray = np.empty(0)  # NaN where it is not known
        self._months: NDArray[np.str_] = np.empty(0, dtype="U7")

    def add(
        self, rows: FloatArray, months: list[str], trust: FloatArray, right: BoolArray | None, *, seen: bool
    ) -> None:
        """Add a batch; of records that were `seen` before without labels, it is now known whether they are right."""
        if seen:
            if right is not None:
                some, which = self._without_label(rows)
                self._right[some] = right[which]
            return
        self._rows.append(rows)
        self._trust = np.concatenate([self._trust, trust])
        self._right = np.concatenate([self._right, np.full(len(trust), np.nan) if right is None else right])
        self._months = np.concatenate([self._months, np.array(months, dtype="U7")])

    def _without_label(self, rows: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the earliest records without a label that equal some of the rows, and the numbers of these rows."""
        waiting: dict[bytes, list[int]] = defaultdict(list)
        everything = in_one_way(np.vstack(self._rows)) if self._rows else rows[:0]
        for i in np.flatnonzero(np.isnan(self._right))[::-1].tolist():
            waiting[everything[i].tobytes()].append(i)
        pairs = [
            (waiting[row.tobytes()].pop(), k) for k, row in enumerate(in_one_way(rows)) if waiting.get(row.tobytes())
        ]
        found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def records(self, changed: list[tuple[str, int]]) -> tuple[AccuracyRecord, ...]:
        """Return a row for all records, for each of several months, and before and since columns began to change.

        `changed` has the names of these columns, and the number of records before.
        """
        return tuple(self._record(part, some) for part, some in self._parts(changed) if some.any())

    def _parts(self, changed: list[tuple[str, int]]) -> Iterator[tuple[str, BoolArray]]:
        numbers = np.arange(len(self._trust))
        yield "all", numbers >= 0
        months = np.unique(self._months).tolist()
        if len(months) > 1:
            # Records without a date last.
            yield from (
                (month or "no date", self._months == month) for month in sorted(months, key=lambda m: (not m, m))
            )
        for name, since in changed:
            if not since:  # as all
                continue
            yield f"column {name}, before", numbers < since
            yield f"column {name}, since record {since:,}", numbers >= since

    def _record(self, part: str, some: BoolArray) -> AccuracyRecord:
        trust, right = self._trust[some], self._right[some]
        known = ~np.isnan(right)
        n_labelled, n_right = int(known.sum()), int(right[known].sum())
        low, high = accuracy_interval(trust)
        observed: tuple[float | None, ...] = (None,) * 4
        if n_labelled:
            observed = fsum(trust[known]) / n_labelled, n_right / n_labelled, *exact_interval(n_right, n_labelled)
        return AccuracyRecord(part, len(trust), fsum(trust) / len(trust), low, high, n_labelled, *observed)


def accuracy_interval(trust: FloatArray) -> tuple[float, float]:
    """Return bounds of the share of right labels that hold with a probability of 95 % if the trust is calibrated."""
    chances = np.sort(1.0 - trust)
    mean, variance, n = fsum(chances), fsum(chances * (1.0 - chances)), len(chances)
    if variance > _LARGE_VARIANCE:
        half = norm.isf(_TAIL) * np.sqrt(variance) + 0.5
        return max(0.0, 1.0 - (mean + half) / n), min(1.0, 1.0 - (mean - half) / n)
    at_most = np.cumsum(_wrong_probabilities(chances, int(mean + 10.0 * np.sqrt(variance)) + 20))
    fewest, most = np.searchsorted(at_most, [_TAIL * (1.0 + 1e-9), 1.0 - _TAIL]).tolist()
    return 1.0 - min(most, n) / n, 1.0 - fewest / n


def _wrong_probabilities(chances: FloatArray, most: int) -> FloatArray:
    """Return the probabilities of 0, 1, ... and `most` wrong labels, given the chance of each to be wrong."""
    found = np.zeros(most + 1)
    found[0] = 1.0
    for chance in chances[chances > 0.0].tolist():
        found[1:] = found[1:] * (1.0 - chance) + found[:-1] * chance
        found[0] *= 1.0 - chance
    return found


def months_of(dates: Any, n: int) -> list[str] | None:
    """Return the month of each of n records, as in 2026-03, empty for one without a date; None without `dates`."""
    if dates is None:
        return None
    try:
        days = np.asarray(dates, dtype="datetime64[D]")
    except (TypeError, ValueError) as error:
        raise InputError("dates-not-dates", dates=repr_in_short(dates)) from error
    if days.shape != (n,):
        raise InputError("dates-shape", shape=days.shape, n_records=n)
    return [month.replace("NaT", "") for month in np.datetime_as_string(days, unit="M").tolist()]


def in_short(record: AccuracyRecord) -> dict[str, str]:
    """Return a row of a table for a person."""

    def share(value: float | None, low: float | None, high: float | None) -> str:
        return (
            ""
            if value is None or low is None or high is None
            else f"{percent(value)} ({percent(low)} to {percent(high)})"
        )

    expected = record.expected_labelled
    return {
        "records": record.part,
        "number": f"{record.n:,}",
        "expected right": share(record.expected, record.low, record.high),
        "with a label": f"{record.n_labelled:,}",
        "expected of these": "" if expected is None else percent(expected),
        "right": share(record.observed, record.observed_low, record.observed_high),
    }
