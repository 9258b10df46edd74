"""What became of the verdicts: by region, by trust, over all."""

from dataclasses import asdict, dataclass
from html import escape
from itertools import pairwise
from math import fsum
from typing import Any, NamedTuple

from sepc.feedback.drift import Drift, exact_interval
from sepc.geometry._checks import FloatArray

# Trust is 1 for every pure region: that is a bin of its own.
TRUST_EDGES = (0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
_BIN_NAMES = (
    f"below {TRUST_EDGES[0]:g}",
    *(f"{low:g} to {high:g}" for low, high in pairwise(TRUST_EDGES)),
    "1",
)


@dataclass(slots=True)
class Tally:
    """Verdicts of one kind; sums do not depend on the order of records within a batch.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.add([0.75, 0.5], n_right=1, n_wrong=1)
    >>> tally.n, tally.trust_sum
    (2, 1.25)
    """

    n: int = 0
    n_right: int = 0
    n_wrong: int = 0
    trust_sum: float = 0.0
    labelled_trust_sum: float = 0.0

    def add(self, trust: FloatArray | list[float], n_right: int = 0, n_wrong: int = 0) -> None:
        """Count verdicts; either all of them have become known as right or wrong, or none."""
        self.n += len(trust)
        self.trust_sum = fsum([self.trust_sum, *trust])
        if n_right + n_wrong:
            self.n_right += n_right
            self.n_wrong += n_wrong
            self.labelled_trust_sum = fsum([self.labelled_trust_sum, *trust])

    @property
    def n_labelled(self) -> int:
        """How many have become known as right or wrong."""
        return self.n_right + self.n_wrong


class RegionRecord(NamedTuple):
    """What became of the verdicts of one region.

    `n` counts all records that it decided, `n_right` and `n_wrong` those whose label is known. `trust` is the mean
    that was given, `share_right` what came true of it with its exact 95 % interval from `low` to `high`. `exceeds`:
    more wrong ones than the `n_imp` that an ellipsoid may hold, the paper's sign to partition afresh. `calibrated`:
    the mean trust of the labelled records lies in the interval.

    Examples
    --------
    >>> region_record("benign#1", Tally(12, 7, 3, 11.9, 9.9), n_imp=2).exceeds
    True
    """

    region: str
    n: int
    n_right: int
    n_wrong: int
    trust: float
    share_right: float
    low: float
    high: float
    n_imp: int
    exceeds: bool
    calibrated: bool


class TrustRecord(NamedTuple):
    """What became of the verdicts whose trust lay in one bin; fields as in `RegionRecord`.

    Examples
    --------
    >>> trust_record(6, Tally(12, 7, 3, 12.0, 10.0)).bin
    '1'
    """

    bin: str
    n: int
    n_right: int
    n_wrong: int
    trust: float
    share_right: float
    low: float
    high: float
    calibrated: bool


def region_record(region: str, tally: Tally, n_imp: int) -> RegionRecord:
    """Return what is known of a region."""
    *fields, calibrated = _outcome(tally)
    return RegionRecord._make([region, *fields, n_imp, tally.n_wrong > n_imp, calibrated])


def trust_record(which: int, tally: Tally) -> TrustRecord:
    """Return what is known of a bin of trust."""
    return TrustRecord._make([_BIN_NAMES[which], *_outcome(tally)])


def _outcome(tally: Tally) -> tuple[Any, ...]:
    n = tally.n_labelled
    low, high = exact_interval(tally.n_right, n)
    trust = tally.trust_sum / tally.n if tally.n else float("nan")
    share = tally.n_right / n if n else float("nan")
    # Sums of floats may leave the interval by a rounding error: a trust of 1 is met by an interval that ends at 1.
    calibrated = n == 0 or low - 1e-12 <= tally.labelled_trust_sum / n <= high + 1e-12
    return tally.n, tally.n_right, tally.n_wrong, trust, share, low, high, calibrated


@dataclass(frozen=True, slots=True, repr=False)
class FeedbackReport:
    """What became of the verdicts that a monitor has seen.

    Attributes
    ----------
    n, n_labelled, n_right, n_wrong, n_outside : int
        Records observed, those with a label, the right and the wrong among these, and, of all, those outside every
        ellipsoid.
    unknown_labels : dict of str to int
        True labels that the classifier does not know, and how often they came; they count as wrong.
    trust : float
        Mean trust given.
    regions : tuple of RegionRecord
        The most wrong verdicts first.
    reliability : tuple of TrustRecord
        Trust given against what came true, in bins of trust; labelled records only.
    drift : Drift
        Records outside every ellipsoid.
    error_drift : Drift or None
        Wrong verdicts; None if the monitor has no labelled records to compare with.

    Examples
    --------
    >>> from sepc import FeedbackMonitor, SEPClassifier
    >>> clf = SEPClassifier(n_imp=0).fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> report = FeedbackMonitor(clf).observe([[1.0], [1.5], [8.0]], ["low", "high", "high"]).report()
    >>> report.n, report.n_wrong, report.exceeding[0].region
    (3, 1, 'low#1')
    """

    n: int
    n_labelled: int
    n_right: int
    n_wrong: int
    n_outside: int
    unknown_labels: dict[str, int]
    trust: float
    regions: tuple[RegionRecord, ...]
    reliability: tuple[TrustRecord, ...]
    drift: Drift
    error_drift: Drift | None

    @property
    def exceeding(self) -> tuple[RegionRecord, ...]:
        """The regions with more wrong verdicts than `n_imp`."""
        return tuple(region for region in self.regions if region.exceeds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON; what is not known is None."""
        fields = {name: _known(value) for name, value in asdict(self).items()}
        for name in ("regions", "reliability"):
            fields[name] = [{k: _known(v) for k, v in item._asdict().items()} for item in getattr(self, name)]
        fields["drift"] = self.drift.to_dict()
        fields["error_drift"] = None if self.error_drift is None else self.error_drift.to_dict()
        return fields

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        seen = f"{self.n} record{'' if self.n == 1 else 's'} observed"
        lines = [f"{seen}, {self.n_labelled} with a label, {self.n_outside} outside every ellipsoid"]
        if self.n_labelled:
            share = self.n_right / self.n_labelled
            lines.append(f"{self.n_wrong} wrong ({100 * share:.3g} % right), mean trust {100 * self.trust:.3g} %")
        if self.unknown_labels:
            names = ", ".join(f"{label} ({n})" for label, n in self.unknown_labels.items())
            lines.append(f"Labels that the classifier does not know, counted as wrong: {names}")
        lines += [
            f"Region {r.region}: {r.n_wrong} wrong of {r.n_right + r.n_wrong}, more than n_imp = {r.n_imp}"
            for r in self.exceeding
        ]
        if self.exceeding:
            lines.append("repartition() takes these records into the training set and partitions afresh")
        lines += [repr(state) for state in (self.drift, self.error_drift) if state is not None]
        return lines

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{escape(line)}</p>" for line in self._lines())
        return text + _html_table(self.regions) + _html_table(self.reliability)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _html_table(rows: tuple[Any, ...]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0]._fields)
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
