"""Watch of new records as such: of each column, of how typical they are and how sure their verdicts, of class shares.

Each is a series that `rank_bets` compares with a reference: columns and class shares with those of the training set, or
of the reference that a monitor was given; typicality and trust by each model of the comparison with those of records
that are as new to it as observed ones.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sepc.common.text import percent
from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import LARGEST_LOG
from sepc.feedback.drift import CLASS_SHARES, COLUMN, TRUST, TYPICALITY, DriftPart
from sepc.feedback.held_out_models import ModelView, Reference
from sepc.feedback.rank_bets import EDGES, WIDTHS, Ranks, RankTest, RarityRanks

_KINDS = (CLASS_SHARES, COLUMN, TYPICALITY, TRUST)


class SeriesRecord(NamedTuple):
    """State of one watched series.

    Attributes
    ----------
    kind : {"column", "typicality", "trust", "class shares"}
    name : str
        Of a column; else as `kind`.
    evidence, threshold : float
        Largest wealth so far, and that at which the alarm is raised; of several models that of the largest evidence.
    when, since : int or None
        Number of records observed when the alarm was raised, and about that number when the change began.
    change : str
        What has changed since, in words; empty without an alarm.
    """

    kind: str
    name: str
    evidence: float
    threshold: float
    when: int | None
    since: int | None
    change: str


class DataWatch:
    """Watch of columns, typicality, trust and class shares, each kind with the same share of a false-alarm rate.

    Parameters
    ----------
    features : list of str
        Names of the columns.
    reference : Reference
    rate : float
        False-alarm rate of each kind: columns, typicality together with trust, class shares.
    """

    def __init__(self, features: list[str], reference: Reference, rate: float) -> None:
        judged = {
            (m, k): view.scores[:, k]
            for m, view in enumerate(reference.views)
            for k in range(view.scores.shape[1])
            if not np.isnan(view.scores[:, k]).all()
        }
        self._judged = list(judged)
        self._series = [(COLUMN, name) for name in features]
        self._series += [(kind := (TYPICALITY, TRUST)[k], kind) for _, k in judged]
        self._held_out = [*reference.records.T, *judged.values()]
        self._ranks = [Ranks(values) for values in self._held_out]
        risks = [rate / len(features)] * len(features) + [rate / max(len(judged), 1)] * len(judged)
        self._class_counts, self._rarity = reference.class_counts, None
        if reference.class_counts is not None:
            self._rarity = RarityRanks(reference.class_counts)
            self._series.append((CLASS_SHARES, CLASS_SHARES))
            risks.append(rate)
        self._test = RankTest(np.array(risks))
        self._changes: dict[int, str] = {}
        self.n = 0
        # For what an alarm says: number of records before, values of each series but class shares, and true classes.
        self._batches: list[tuple[int, FloatArray, IntArray]] = []

    def add(
        self,
        records: FloatArray,
        views: list[ModelView],
        codes: IntArray | None,
        labels: list[Any],
        *,
        seen: bool,
        chosen: bool = False,
    ) -> None:
        """Add a batch.

        `records` are in the units of the model, `codes` the true classes if all records of the batch are meant to have
        labels, else None; `labels` has their names. Of records that were `seen` before the classes alone count, and of
        those that were `chosen`, some more likely than others, nothing.
        """
        values = np.column_stack([records, *(views[m].scores[:, k] for m, k in self._judged)])
        rng = np.random.default_rng([self.n, self._test.n_batches])
        true = np.empty(0, dtype=np.int64) if codes is None or self._rarity is None else codes
        keys = [true, *values.T] if len(true) else values.T
        order = rng.permutation(np.lexsort(keys))
        u = rng.random((len(values), len(self._series)))
        counts = np.zeros((len(self._series), len(WIDTHS)), dtype=np.int64)
        counted = not (seen or chosen)
        if counted:
            for k, ranks in enumerate(self._ranks):
                counts[k] = _in_cells(ranks.add(values[order, k], u[:, k]))
        if self._rarity is not None and len(true):
            counts[-1] = _in_cells(self._rarity.add(true[order], u[:, -1]))
        self._batches.append((self.n, values[order][: None if counted else 0], true))
        before, self.n = self.n, self.n + (0 if seen else len(values))
        for k in np.flatnonzero(self._test.add(counts, before, self.n)).tolist():
            self._changes[k] = self._change(k, labels)

    def records(self) -> list[SeriesRecord]:
        """Return one row for each series, those of several models as one; alarms first, the earliest on top."""
        test = self._test
        # Of models the one with the first alarm, and with the largest share of the evidence that it takes.
        first = np.where(test.when < 0, np.iinfo(np.int64).max, test.when)
        kinds = np.array([_KINDS.index(kind) for kind, _ in self._series])
        order = np.lexsort([test.log_thresholds - test.log_evidence, kinds, first])
        found: dict[tuple[str, str], SeriesRecord] = {}
        for k in order.tolist():
            found.setdefault(self._series[k], self._record(k))
        return list(found.values())

    def _record(self, k: int) -> SeriesRecord:
        test, raised = self._test, k in self._changes
        kind, name = self._series[k]
        return SeriesRecord(
            kind=kind,
            name=name,
            evidence=float(np.exp(min(test.log_evidence[k], LARGEST_LOG))),
            threshold=float(np.exp(test.log_thresholds[k])),
            when=int(test.when[k]) if raised else None,
            since=int(test.since[k]) if raised else None,
            change=self._changes.get(k, ""),
        )

    def parts(self) -> Iterator[tuple[int, DriftPart]]:
        """Yield the number of records at each alarm, and the series that raised it."""
        for record in self.records():
            if record.when is not None and record.since is not None:
                yield record.when, DriftPart(record.kind, record.name, record.since, (), record.change)

    def _change(self, k: int, labels: list[Any]) -> str:
        since = int(self._test.since[k])
        recent = [(values, codes) for before, values, codes in self._batches if before >= since]
        if self._series[k][0] == CLASS_SHARES:
            assert self._class_counts is not None
            return _change_of_shares(self._class_counts, np.concatenate([codes for _, codes in recent]), labels)
        after = np.sort(np.concatenate([values[:, k] for values, _ in recent]))  # sums do not depend on row order
        if self._series[k][0] == COLUMN:
            return _change_of_column(self._held_out[k], after)
        before = float(np.nanmean(self._held_out[k]))
        return f"{float(np.nanmean(after)):.2f} on average, where {before:.2f} was in training"


def _in_cells(ranks: FloatArray) -> IntArray:
    return np.bincount(np.searchsorted(EDGES, ranks), minlength=len(WIDTHS))


def _change_of_shares(counts: IntArray, codes: IntArray, labels: list[Any]) -> str:
    """Return the class whose share has changed most, as it adds to the relative entropy, in words."""
    after = np.bincount(codes, minlength=max(len(counts), len(labels)))
    before = np.pad(counts, (0, len(after) - len(counts)))
    share, expected = after / after.sum(), before / before.sum()
    gain = share * np.log((after + 1.0) * before.sum() / ((before + 1.0) * after.sum()))
    k = int(np.argmax(np.abs(gain)))
    is_now, was = (percent(float(shares[k])) for shares in (share, expected))
    return f"{labels[k]} is {is_now} of the records, where {was} was in training"


def _change_of_column(before: FloatArray, after: FloatArray) -> str:
    """Return what has changed in a column, in words."""
    gaps = [float(np.isnan(values).mean()) for values in (before, after)]
    if abs(gaps[1] - gaps[0]) > 0.05:
        return f"{percent(gaps[1])} missing, where {percent(gaps[0])} was in training"
    before, after = before[~np.isnan(before)], after[~np.isnan(after)]
    if not len(before) or not len(after) or not np.ptp(before) > 0.0:
        return "other values than in training"
    top = before.max()
    if len(np.unique(before)) == 2 and np.isin(after, before).all():
        shares = [percent(float((values == top).mean())) for values in (after, before)]
        return f"{shares[0]} at the larger value, where {shares[1]} was in training"
    shift = float((after.mean() - before.mean()) / before.std())
    if abs(shift) > 3.0 * np.sqrt(1.0 / len(before) + 1.0 / len(after)):
        return f"{abs(shift):.1f} standard deviations {'higher' if shift > 0 else 'lower'} than in training"
    spread = float(after.std() / before.std())
    if not 0.8 < spread < 1.25:
        return f"{spread:.1f} times the standard deviation of training"
    return "another distribution than in training, around the same mean"
