"""Sequential test of whether more verdicts are wrong than should be: overall, by label and by region, as one test.

Errors are counted in parts of the records: all of them, those of each label given, those of each region. Each model of
the comparison has labels and regions of its own; a process of bets belongs to one part by one model, with a limit from
its held-out records. Half of the stake is on all records, the other half on parts; half of the false-alarm rate is
shared in the same way as the risk of limits that are too low. The evidence is the total wealth: an average of fair bets
is a fair bet, so that looking at many parts does not raise the rate of false alarms.

Where the shares of classes change, errors may become more frequent among those of one label given while they fall in
all. The alarm is raised only if they have risen in all since the part with most of the evidence began to change.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import NAMED_FROM
from sepc.feedback.drift import LABEL, OTHER_REGIONS, OVERALL, REGION, Drift, DriftPart, RateTest
from sepc.feedback.held_out_models import ModelView

# With fewer expected held-out records than this the limit of a region is too high: such regions are one part by label.
_FEW = 20


class Process(NamedTuple):
    """Bets on errors in one part of the records, by the model of this number; `kind` and `name` as in `DriftPart`."""

    kind: str
    model: int
    name: str


class ErrorParts(NamedTuple):
    """Processes, and those that a verdict belongs to.

    `processes` begins with those on all records, one for each model. `of_label`, of shape (n_models, n_classes), has
    the process of each label given, `of_region`, of shape (n_models, n_components), that of each component of the
    models' densities, -1 beyond their number; without such processes they have no columns.
    """

    processes: tuple[Process, ...]
    of_label: IntArray
    of_region: IntArray

    @classmethod
    def overall(cls, n_models: int) -> "ErrorParts":
        """Return processes on all records alone."""
        nothing = np.empty((n_models, 0), dtype=np.int64)
        return cls(tuple(Process(OVERALL, m, OVERALL) for m in range(n_models)), nothing, nothing)

    @classmethod
    def of_held_out(
        cls,
        labels: list[str],
        views: list[ModelView],
        watched_regions: list[NDArray[Any]] | None,
        expected: list[FloatArray] | None = None,
    ) -> "ErrorParts":
        """Return the processes of labels and regions, by the views that the models have of held-out records.

        Which regions are one part together depends on the number of records that shaped them, and not on the held-out
        ones: a region that is merged since few of these fell into it would be underrated there.

        `watched_regions` has for each model the regions of the watched classifier in which its held-out records lie,
        `expected` the expected number of held-out records in each region of the model; both are None where there are no
        regions. A region of the model has the name of the watched one that holds most of its records.
        """
        processes = list(cls.overall(len(views)).processes)
        of_label = np.arange(len(views) * len(labels)).reshape(len(views), -1) + len(processes)
        processes += [Process(LABEL, m, label) for m in range(len(views)) for label in labels]
        most = 0 if watched_regions is None else max(len(view.component_codes) for view in views)
        of_region = np.full((len(views), most), -1, dtype=np.int64)
        for m, (regions, n_expected) in enumerate(zip(watched_regions or (), expected or (), strict=True)):
            _add_regions(processes, of_region[m], m, views[m], regions, n_expected, labels)
        return cls(tuple(processes), of_label, of_region)

    def stakes(self) -> FloatArray:
        """Return the share of the stake that is on each process, shape (n_processes,)."""
        # Other regions share the stake on regions.
        kinds = np.array([REGION if p.kind == OTHER_REGIONS else p.kind for p in self.processes])
        others = sorted(set(kinds.tolist()) - {OVERALL})
        stakes = np.empty(len(kinds))
        for kind in (OVERALL, *others):
            mine = kinds == kind
            share = 1.0 if not others else 0.5 if kind == OVERALL else 0.5 / len(others)
            stakes[mine] = share / np.count_nonzero(mine)
        return stakes

    def of_verdicts(self, m: int, view: ModelView) -> list[IntArray]:
        """Return the processes that the verdicts of model m belong to: an array of shape (n,) for each kind."""
        found = [np.full(len(view.codes), m)]
        if self.of_label.shape[1]:
            found.append(self.of_label[m, view.codes])
        if self.of_region.shape[1] and view.components is not None:
            found.append(self.of_region[m, view.components])
        return found

    def counts(self, views: list[ModelView], codes: list[IntArray]) -> IntArray:
        """Return the numbers of wrong verdicts, and of all, of each process, shape (n_processes, 2)."""
        counts = np.zeros((len(self.processes), 2), dtype=np.int64)
        for m, (view, true) in enumerate(zip(views, codes, strict=True)):
            wrong = view.codes != true
            for which in self.of_verdicts(m, view):
                np.add.at(counts[:, 0], which[wrong], 1)
                np.add.at(counts[:, 1], which, 1)
        return counts


def _add_regions(
    processes: list[Process],
    of_region: IntArray,
    m: int,
    view: ModelView,
    watched_regions: NDArray[Any],
    n_expected: FloatArray,
    labels: list[str],
) -> None:
    """Append the processes of a model's regions, and set their numbers by component."""
    assert view.components is not None
    for c in np.flatnonzero(n_expected >= _FEW).tolist():
        of_region[c] = len(processes)
        names, often = np.unique(watched_regions[view.components == c].astype(str), return_counts=True)
        # Without any held-out record it has no name of its own.
        named = Process(OTHER_REGIONS, m, labels[int(view.component_codes[c])])
        processes.append(Process(REGION, m, str(names[often.argmax()])) if len(names) else named)
    few = np.flatnonzero(n_expected < _FEW)
    for code in np.unique(view.component_codes[few]).tolist():
        of_region[few[view.component_codes[few] == code]] = len(processes)
        processes.append(Process(OTHER_REGIONS, m, labels[code]))


class ErrorTest(RateTest):
    """Test of the rate of wrong verdicts in a stream against that among held-out records, overall and in parts.

    `held_out`, of shape (n_processes, 2), has the numbers of wrong verdicts, and of all, among the held-out records of
    each process; `least` is as in `SequentialTest`. `found` are the parts with most of the evidence at the alarm.
    """

    def __init__(self, parts: ErrorParts, held_out: IntArray, false_alarm_rate: float, least: float) -> None:
        super().__init__("wrong", held_out, parts.stakes(), len(parts.of_label), false_alarm_rate, least)
        self.parts = parts
        self.found: tuple[DriftPart, ...] = ()
        # Total weight of labelled records, and of wrong verdicts, by each model; a record weighs one over its chance.
        self._weights: FloatArray = np.zeros((2, len(parts.of_label)))
        # The sums over models before each batch, by the number of records before it.
        self._weights_before: dict[int, FloatArray] = {}

    def add(self, views: list[ModelView], codes: IntArray, chance: FloatArray | None) -> bool:
        """Add a batch of labelled records; return whether it raises the alarm.

        `views` has the verdicts of each model, `codes` the true classes, `chance` that of each record to be labelled;
        None if all records have labels.
        """
        gain: FloatArray = np.zeros_like(self.bets.gains)
        self._weights_before.setdefault(self.n, self._weights.sum(axis=1))
        for m, view in enumerate(views):
            for k, process in enumerate(self.parts.of_verdicts(m, view)):
                _, wrong, weight = self.grouped(gain, process, view.codes != codes, chance)
                if k == 0:  # all records
                    self._weights[:, m] += [weight.sum(), weight @ wrong]
        raised = self.bet(gain, len(codes))
        if raised:
            self.found = self._largest()
        return raised

    def _is_rise(self) -> bool:
        total, wrong = self._weights.sum(axis=1) - self._weights_before[self._largest()[0].since]
        hits, n_held_out = self.held_out[: self.n_models].sum(axis=0)
        return bool(wrong * n_held_out > hits * total)

    def _largest(self) -> tuple[DriftPart, ...]:
        """Return the parts with most of the wealth, the largest first; all records as one if these have the most."""
        by_part: dict[tuple[str, str], list[int]] = {}
        for i, process in enumerate(self.parts.processes):
            by_part.setdefault((process.kind, process.name), []).append(i)
        each = self.bets.contributions()
        wealth = {part: float(np.logaddexp.reduce(each[rows])) for part, rows in by_part.items()}
        # Of equal wealth the name decides, so that nothing depends on the order of processes.
        ranked = sorted(wealth, key=lambda part: (-wealth[part], part))
        if ranked[0][0] != OVERALL:
            least = wealth[ranked[0]] + np.log(NAMED_FROM)
            ranked = [part for part in ranked if part[0] != OVERALL and wealth[part] >= least][:3]
        else:
            ranked = ranked[:1]
        return tuple(DriftPart(*part, self.bets.since(by_part[part])) for part in ranked)

    def state(self, n_unstated: int = 0) -> Drift:
        """Return the state of the test; `n_unstated` labelled records took no part."""
        total, wrong = self._weights.sum(axis=1).tolist()
        return self.state_with(wrong / total if total else float("nan"), n_unstated, self.found)
