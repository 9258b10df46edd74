"""Preview of promises from held-out predictions of the training records: an estimate, and no promise.

Calibration sets of several sizes are drawn with replacement from the out-of-fold predictions of a calibrated classifier
or an ensemble, and a promise is made with each. The records chose the classifier's settings and calibrated it, which
makes the estimate optimistic; the partitions that predicted them had fewer records, which makes it pessimistic. A
promise needs records that were not used for any of that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from reprlib import repr as repr_in_short
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.text import many, percent
from sepc.common.typing import IntArray
from sepc.common.validation import require_share
from sepc.model.decision import decide_by_probability
from sepc.promises.calibration_verdicts import CalibrationVerdicts, PartRecords
from sepc.promises.parts import LABEL, texts_of
from sepc.promises.promise_request import PromiseRequest, promise_request
from sepc.promises.selection import part_promises
from sepc.promises.trust_threshold import model_of


class PreviewRow(NamedTuple):
    """Estimate for one part, a label or ``all labels``, with `n_calibration` records of all parts together.

    `promised` is the share of calibration sets that allow a promise, `accepted` the mean share of the part's records
    that is accepted, 0 where nothing is promised.
    """

    part: str
    n_calibration: int
    promised: float
    accepted: float


@dataclass(frozen=True, slots=True, repr=False)
class PromisePreview:
    """Estimate of what a promise would accept; `preview_promise` returns it.

    Attributes
    ----------
    rows : tuple of PreviewRow
        For each part and each number of calibration records.
    n_needed : dict of str to int or None
        The least of these numbers from which on four of five calibration sets allow a promise of the part; None if
        none of them suffices.
    n_held_out : int
        Training records behind the estimate, with out-of-fold predictions.
    confidence : float

    Examples
    --------
    >>> PromisePreview((PreviewRow("all labels", 100, 0.9, 0.8),), {"all labels": 100}, 300, 0.95)
    Estimate from 300 training records that were left out, and no promise; confidence 95 %:
      all labels: from about 100 calibration records in all on, 80 % of its labels accepted then, 80 % with 100
    """

    rows: tuple[PreviewRow, ...]
    n_needed: dict[str, int | None]
    n_held_out: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and texts, ready for JSON.

        Examples
        --------
        >>> PromisePreview((), {}, 300, 0.95).to_dict()["n_held_out"]
        300
        """
        return {**asdict(self), "rows": [row._asdict() for row in self.rows]}

    def lines(self) -> list[str]:
        """Return one sentence for each part."""
        return [self._line(part) for part in self.n_needed]

    def _line(self, part: str) -> str:
        own = [row for row in self.rows if row.part == part]
        most, needed = own[-1], self.n_needed[part]
        if needed is None:
            return (
                f"{part}: with {many(most.n_calibration, 'calibration record')} in all {percent(most.promised)} of "
                "such sets allow a promise"
            )
        then = next(row for row in own if row.n_calibration == needed)
        return (
            f"{part}: from about {many(needed, 'calibration record')} in all on, {percent(then.accepted)} of its "
            f"labels accepted then, {percent(most.accepted)} with {most.n_calibration:,}"
        )

    def __repr__(self) -> str:
        few = ", which say little" if self.n_held_out < 100 else ""
        head = (
            f"Estimate from {many(self.n_held_out, 'training record')} that were left out{few}, and no promise; "
            f"confidence {percent(self.confidence)}:"
        )
        return "\n  ".join([head, *self.lines()])


def preview_promise(
    clf: Any,
    *,
    max_error: float | Mapping[Any, float] = 0.05,
    confidence: float = 0.95,
    by: str | None = None,
    max_cost: float | Mapping[Any, float] | None = None,
    costs: Any = None,
    sizes: Sequence[int] = (100, 200, 400, 800, 1600, 3200),
) -> PromisePreview:
    """Estimate what a promise would accept, and how many calibration records it needs, from training records alone.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier or TablePipeline
        Fitted; a single partition with the calibrated trust, which is the default.
    max_error, confidence, max_cost, costs
        As for `select_min_trust`.
    by : {"label"}, optional
        Regions and groups need calibration records.
    sizes : sequence of int, default=(100, 200, 400, 800, 1600, 3200)
        Numbers of calibration records to try.

    Returns
    -------
    PromisePreview

    Notes
    -----
    An estimate, and no promise: the records have shaped the classifier. Contested records count as refused, as they
    will be; strange ones, about one in a hundred, do not.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit(*load_breast_cancer(return_X_y=True))
    >>> found = preview_promise(clf, sizes=(50, 200, 800))
    >>> found.n_needed
    {'all labels': 200}
    """
    require_share(confidence, "confidence", 0.95)
    if by is not None and not (isinstance(by, str) and by == LABEL):
        raise InputError("preview-by", by=repr_in_short(by))
    if not len(sizes) or not all(isinstance(n, Integral) and n >= 1 for n in sizes):
        raise InputError("preview-sizes", sizes=sizes)
    cal = held_out_verdicts(clf)
    request = promise_request(clf, cal, by, float(confidence), max_error, max_cost, costs)
    records, names = request.records(cal), request.parts.names
    rows = []
    for n in sorted({int(n) for n in sizes}):
        shares = _drawn(records, request, float(confidence), n)
        rows += [PreviewRow(name, n, *of_part) for name, of_part in zip(names, shares, strict=True)]
    enough = {row.part: row.n_calibration for row in reversed(rows) if row.promised >= 0.8}
    return PromisePreview(tuple(rows), {name: enough.get(name) for name in names}, len(cal.trust), float(confidence))


def _drawn(records: PartRecords, request: PromiseRequest, confidence: float, n: int) -> list[tuple[float, float]]:
    """Return for each part the share of drawn calibration sets with a promise, and the share that it accepts."""
    rng, names, n_draws = np.random.default_rng(n), request.parts.names, 100
    promised, accepted = np.zeros(len(names)), np.zeros(len(names))
    of_part = np.bincount(records.part, minlength=len(names))
    for _ in range(n_draws):
        rows = rng.integers(len(records.part), size=n)
        for k, part in enumerate(part_promises(records.taken(rows), names, request.criteria, confidence)):
            if part.is_kept:
                promised[k] += 1.0
                sure = records.eligible & (records.part == k) & (records.trust >= part.min_trust)
                accepted[k] += np.count_nonzero(sure) / max(of_part[k], 1)
    return [(p / n_draws, a / n_draws) for p, a in zip(promised.tolist(), accepted.tolist(), strict=True)]


def held_out_verdicts(clf: Any) -> CalibrationVerdicts:
    """Return out-of-fold predictions of the training records, as verdicts; an `InputError` where there are none."""
    model = model_of(clf)
    last = clf.steps[-1][1] if hasattr(clf, "steps") else clf
    points: IntArray = np.empty(0, dtype=np.int64)
    if hasattr(last, "out_of_fold_proba_") and model.records is not None:
        proba = last.out_of_fold_proba_[model.records.rows]
        points = np.flatnonzero(np.isfinite(proba).all(axis=1))
        proba = proba[points]
    elif hasattr(model, "held_out_probabilities"):
        points, proba = model.held_out_probabilities()
    if not len(points):
        raise InputError("preview-without-verdicts", type=type(clf).__name__)
    decision = decide_by_probability(proba, policy=model.policy)
    truth = model.records.codes[points]
    return CalibrationVerdicts(
        classes=texts_of(model.classes).tolist(),
        keys=model.classes.tolist(),
        label=model.classes[decision.label],
        truth=model.classes[truth].tolist(),
        trust=decision.trust,
        wrong=decision.label != truth,
        eligible=~decision.contested,
        main_region=None,
        key=None,
    )
