"""Report on observed verdicts: overall, by region and by trust."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from sepc.common.text import percent, plural
from sepc.feedback.data_watch import SeriesRecord
from sepc.feedback.drift import Drift
from sepc.feedback.expected_accuracy import AccuracyRecord
from sepc.feedback.observations import RegionRecord, TrustRecord
from sepc.feedback.promise_watch import PromiseDrift

_SHOWN = 5
_REMEDY = "repartition() takes these records into the training set and partitions afresh"


@dataclass(frozen=True, slots=True, repr=False)
class FeedbackReport:
    """Report on the verdicts that a monitor has observed: right and wrong ones, trust, drift.

    Attributes
    ----------
    n, n_labelled, n_right, n_wrong, n_outside : int
        Records observed, those with a label, the right and the wrong among these, and, of all, those outside every
        ellipsoid; of an ensemble strange ones.
    unknown_labels : dict of str to int
        True labels that the classifier does not know, with their numbers; they count as wrong.
    trust : float
        Mean trust given.
    regions : tuple of RegionRecord
        The most wrong verdicts first; of an ensemble one row for each label.
    reliability : tuple of TrustRecord
        Trust given against what came true, in bins of trust; labelled records only.
    drift : Drift
        Whether records have changed, with the share outside every ellipsoid; of an ensemble of strange ones.
    error_drift : Drift or None
        Wrong verdicts; None if the monitor has no labelled records to compare with.
    n_repeated : int
        Labelled records that repeat an earlier one, in all values and in the label. Each counts, though a repeated
        record is no new evidence.
    promise_drift : PromiseDrift or None
        Whether the promise still holds; None if there is none.
    expected_accuracy : tuple of AccuracyRecord
        What the trust expects, and what was observed: of all records, by month, and before and since a column changed.
    series : tuple of SeriesRecord
        Columns, typicality, trust and class shares as `drift` watches them, those with an alarm first.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> from sepc.feedback import FeedbackMonitor
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
    n_repeated: int = 0
    promise_drift: PromiseDrift | None = None
    series: tuple[SeriesRecord, ...] = ()
    expected_accuracy: tuple[AccuracyRecord, ...] = ()

    @property
    def exceeding(self) -> tuple[RegionRecord, ...]:
        """The regions with more wrong verdicts than `n_imp`."""
        return tuple(region for region in self.regions if region.exceeds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dicts, ready for JSON; what is not known is None."""
        fields = {name: _known(value) for name, value in asdict(self).items()}
        for name in ("regions", "reliability", "series", "expected_accuracy"):
            fields[name] = [{k: _known(v) for k, v in item._asdict().items()} for item in getattr(self, name)]
        fields["drift"] = self.drift.to_dict()
        fields["error_drift"] = None if self.error_drift is None else self.error_drift.to_dict()
        fields["promise_drift"] = None if self.promise_drift is None else self.promise_drift.to_dict()
        return fields

    def __repr__(self) -> str:
        return self.text()

    def text(self, remedy: str = _REMEDY) -> str:
        """Return the report for a person; `remedy` says what to do about regions with many wrong verdicts."""
        return "\n".join(self._lines(remedy))

    def _lines(self, remedy: str = _REMEDY) -> list[str]:
        seen = f"{self.n} {plural('record', self.n)} observed, {self.n_labelled} with a label"
        lines = [f"{seen}; by the model itself {self.n_outside} {self.drift.what}"]
        if self.n_labelled:
            share = self.n_right / self.n_labelled
            lines.append(
                f"{self.n_wrong} wrong by the model itself ({percent(share)} right), mean trust {percent(self.trust)}"
            )
        if self.n_repeated:
            lines.append(f"{self.n_repeated} of them repeat an earlier record, label included; each counts")
        if self.unknown_labels:
            names = ", ".join(f"{label} ({n})" for label, n in self.unknown_labels.items())
            lines.append(f"Labels that the classifier does not know, counted as wrong: {names}")
        lines += [
            f"Region {r.region}: {r.n_wrong} wrong of {r.n_right + r.n_wrong}, more than n_imp = {r.n_imp}"
            for r in self.exceeding[:_SHOWN]
        ]
        if len(self.exceeding) > _SHOWN:
            wrong = sum(r.n_wrong for r in self.exceeding[_SHOWN:])
            lines.append(f"and {len(self.exceeding) - _SHOWN} more regions with {wrong} wrong ones between them")
        if self.exceeding:
            lines.append(remedy)
        lines += [repr(state) for state in (self.drift, self.error_drift, self.promise_drift) if state is not None]
        return lines

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{escape(line)}</p>" for line in self._lines())
        return text + "".join(map(_html_table, (self.expected_accuracy, self.regions, self.reliability)))


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
