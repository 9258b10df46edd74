"""Observations of a monitor: counts of all verdicts, and the records whose label became known."""

from dataclasses import dataclass
from itertools import pairwise
from math import fsum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.intervals import exact_interval
from sepc.common.messages import message
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import require_labels
from sepc.feedback.expected_accuracy import ExpectedAccuracy
from sepc.feedback.held_out_models import is_outside, predicted_codes
from sepc.feedback.observation_log import LoggedBatch
from sepc.model.assessment import Assessment
from sepc.model.fitted_model import FittedModel
from sepc.model.verdicts import Rule

# Where regions are counted, trust is 1 in every pure one: that is a bin of its own.
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

    def add(self, trust: FloatArray, right: BoolArray | None, *, seen: bool = False) -> None:
        """Count verdicts, `right` or not where that is known; records that were `seen` before count for that alone."""
        if not seen:
            self.n += len(trust)
            self.trust_sum = fsum([self.trust_sum, *trust])
        if right is not None:
            n_right = int(np.count_nonzero(right))
            self.n_right += n_right
            self.n_wrong += len(right) - n_right
            self.labelled_trust_sum = fsum([self.labelled_trust_sum, *trust])

    @property
    def n_labelled(self) -> int:
        """Number of verdicts that have become known as right or wrong."""
        return self.n_right + self.n_wrong

    def measures(self) -> dict[str, Any]:
        """Return the fields that `RegionRecord` and `TrustRecord` have in common."""
        n = self.n_labelled
        low, high = exact_interval(self.n_right, n)
        return {
            "n": self.n,
            "n_right": self.n_right,
            "n_wrong": self.n_wrong,
            "trust": self.trust_sum / self.n if self.n else float("nan"),
            "share_right": self.n_right / n if n else float("nan"),
            "low": low,
            "high": high,
            # Sums of floats may leave the interval by a rounding error, as where trust and its end are 1.
            "calibrated": n == 0 or low - 1e-12 <= self.labelled_trust_sum / n <= high + 1e-12,
        }


class RegionRecord(NamedTuple):
    """Right and wrong verdicts of one region, against the trust that was given.

    `n` counts all records that it decided, `n_right` and `n_wrong` those whose label is known. `trust` is the mean of
    what was given, `share_right` what came true, with its exact 95 % interval from `low` to `high`. `exceeds`: more
    wrong ones than the `n_imp` that an ellipsoid may hold, the paper's sign to partition afresh; of an ensemble each
    row is a label, and `n_imp` is None. `calibrated`: the mean trust of the labelled records lies in the interval.
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


class EncodedLabels(NamedTuple):
    """Labels as numbers, and the labels of all numbers."""

    codes: IntArray
    labels: list[Any]


class Observations:
    """Counts of verdicts, and the labelled records; their order within a batch only matters for that of the latter.

    Attributes
    ----------
    labels : list
        The classes, then the unknown labels in the order in which they came.
    regions : dict of (int, str) to VerdictCounts
        By binary problem and name of the region; of an ensemble, which has no regions of its own, by 0 and the label.
    bins : list of VerdictCounts
        By trust; labelled records only.
    n_outside : int
        Records outside every ellipsoid; of an ensemble strange ones.
    accuracy : ExpectedAccuracy
    """

    def __init__(self, model: FittedModel) -> None:
        self.model = model
        self.labels: list[Any] = [plain(label) for label in model.classes]
        self.regions: dict[tuple[int, str], VerdictCounts] = {}
        self.bins = [VerdictCounts() for _ in range(len(TRUST_EDGES) + 1)]
        self.n_outside = 0
        self.accuracy = ExpectedAccuracy()
        self._records: list[FloatArray] = []
        self._codes: list[IntArray] = []
        self._chances: list[FloatArray] = []  # of the same records; NaN where not stated

    @property
    def unknown(self) -> list[Any]:
        """Labels that the classifier does not know."""
        return self.labels[len(self.model.classes) :]

    def encoded(self, y: Any, n: int, name: str) -> EncodedLabels:
        """Return labels as numbers; unknown ones get the next free numbers. Nothing is kept yet."""
        require_labels(y, name, message("observe-without-labels"))
        values = column_or_1d(y).tolist()
        if len(values) != n:
            raise InputError("labels-length", name=name, n_labels=len(values), n_records=n)
        number = {label: i for i, label in enumerate(self.labels)}
        # Not in the order of the rows, which must not matter.
        for label in sorted({label for label in values if label not in number}, key=lambda label: str(label)):
            number[label] = len(number)
        return EncodedLabels(np.array([number[label] for label in values], dtype=np.int64), list(number))

    def add(self, batch: LoggedBatch, a: Assessment, truth: EncodedLabels | None) -> None:
        """Count a batch of verdicts, given their assessment; keep the records if their true labels are known."""
        label = predicted_codes(self.model, a)
        right = None if truth is None else label == truth.codes
        self.accuracy.add(batch.records, batch.months_of_records(), a.trust, right, seen=batch.seen)
        self.n_outside += 0 if batch.seen else int(np.count_nonzero(is_outside(self.model, a)))
        problem, region = np.zeros_like(label), a.label
        if self.model.partition is not None:
            problem, region = label if len(self.model.partition.rules) > 1 else problem, a.region
        for k in np.unique(problem).tolist():
            mine = np.flatnonzero(problem == k)
            names, back = np.unique(region[mine].astype(str), return_inverse=True)
            for i, name in enumerate(names.tolist()):
                rows = mine[back == i]
                counts = self.regions.setdefault((k, name), VerdictCounts())
                counts.add(a.trust[rows], None if right is None else right[rows], seen=batch.seen)
        if truth is None or right is None:
            return
        which = np.searchsorted(TRUST_EDGES, a.trust, side="right")
        for i in np.unique(which).tolist():
            self.bins[i].add(a.trust[which == i], right[which == i])
        self.labels = truth.labels
        self._records.append(batch.records.copy())
        self._codes.append(truth.codes)
        self._chances.append(batch.chances())

    def labelled(self) -> tuple[FloatArray, IntArray]:
        """Return the records with labels, and the numbers of these."""
        if not self._records:
            return np.empty((0, len(self.model.features))), np.empty(0, dtype=np.int64)
        return np.vstack(self._records), np.concatenate(self._codes)

    def stated(self) -> tuple[FloatArray, FloatArray]:
        """Return the labelled records with a stated chance of being labelled, and these chances."""
        chances = self._all_chances()
        stated = ~np.isnan(chances)
        return self.labelled()[0][stated], chances[stated]

    @property
    def n_unstated(self) -> int:
        """Number of labelled records without a stated chance."""
        return int(np.count_nonzero(np.isnan(self._all_chances())))

    def _all_chances(self) -> FloatArray:
        return np.concatenate([np.empty(0), *self._chances])

    def n_repeated(self) -> int:
        """Return the number of labelled records that repeat an earlier one, label included."""
        records, codes = self.labelled()
        comparable = np.where(np.isnan(records), np.inf, records + 0.0)  # missing values are equal
        return len(codes) - len(np.unique(np.column_stack([comparable, codes]), axis=0))

    def label_array(self, codes: IntArray) -> NDArray[Any]:
        """Return the labels of some numbers, as an array to train with."""
        if not self.unknown:
            return np.asarray(self.model.classes[codes])
        if len({isinstance(label, str) for label in self.labels}) > 1:
            raise InputError("label-type", labels=self.unknown[:3])
        return np.asarray(np.array(self.labels)[codes])

    def region_records(self, n_imp: list[int] | None) -> list[RegionRecord]:
        """Return the row of each region, the most wrong verdicts first.

        `n_imp` has the number that an ellipsoid of each problem may hold; None where there are no ellipsoids.
        """
        # Records with missing values lie in no known region, so that no n_imp applies.
        records = [
            RegionRecord(
                region=name,
                n_imp=None if n_imp is None else n_imp[k],
                exceeds=n_imp is not None and counts.n_wrong > n_imp[k],
                **counts.measures(),
            )
            for (k, name), counts in self.regions.items()
            if n_imp is None or name not in (Rule.unknown.name, "outside")
        ]
        return sorted(records, key=lambda r: (-r.n_wrong, -r.n, r.region))

    def trust_records(self) -> list[TrustRecord]:
        """Return the row of each bin of trust that has records."""
        return [TrustRecord(bin=_BIN_NAMES[i], **c.measures()) for i, c in enumerate(self.bins) if c.n]
