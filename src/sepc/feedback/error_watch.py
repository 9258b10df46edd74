"""Sequential test of whether more verdicts are wrong than should be: over all, by label and by region, as one.

Errors are counted in parts of the records: all of them, those of each label given, those of each region. Each model of
the comparison has labels and regions of its own; a process of bets belongs to one part by one model, with a limit from
its held-out records. Half of the stake is on all records alike, the other half on parts; in the same shares half of the
false-alarm rate pays for limits that are too low. The evidence is the wealth of all bets together: an average of fair
bets is a fair bet, so that looking at many parts does not raise the rate of false alarms.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import NAMED_FROM, SequentialBets, log_factors
from sepc.feedback.drift import (
    LABEL,
    OTHER_REGIONS,
    OVERALL,
    REGION,
    Drift,
    DriftPart,
    drift_state,
    limits_of,
    log_threshold,
)
from sepc.feedback.held_out_models import ModelView

# With fewer held-out records than this, as can be expected, a region leaves too high a rate possible: such regions are
# one part by label.
_FEW = 20


class Process(NamedTuple):
    """Bets on errors in one part of the records, by one model.

    Attributes
    ----------
    kind : {"overall", "label", "region", "other regions"}
    model : int
        Number of the model.
    name : str
        As in `DriftPart`.
    """

    kind: str
    model: int
    name: str


class ErrorParts(NamedTuple):
    """Processes, and which of them a verdict has a part in.

    Attributes
    ----------
    processes : tuple of Process
        Those on all records first, one for each model.
    of_label : ndarray of int, shape (n_models, n_classes)
        Process of each label given; no columns where there is none.
    of_region : ndarray of int, shape (n_models, n_components)
        Process of each component of the models' densities, -1 beyond their number; no columns where there is none.
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
        """Return the processes of labels and regions, by what the models say of held-out records.

        Which regions are one part together depends on how many records shaped them, and not on the held-out ones: a
        region that is taken into a pool since few of these fell into it would be underrated there.

        Parameters
        ----------
        labels : list of str
        views : list of ModelView
            What each model says of the records that it was made without.
        watched_regions : list of ndarray of str, or None
            For each model the regions of the watched classifier in which these records lie: a region of the model has
            the name of the one that holds most of its records. None where there are no regions.
        expected : list of ndarray of shape (n_components,), or None
            For each model how many held-out records each of its regions can be expected to have.

        Returns
        -------
        ErrorParts
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
        # Other regions have a part in the stake on regions.
        kinds = np.array([REGION if p.kind == OTHER_REGIONS else p.kind for p in self.processes])
        others = sorted(set(kinds.tolist()) - {OVERALL})
        stakes = np.empty(len(kinds))
        for kind in (OVERALL, *others):
            mine = kinds == kind
            share = 1.0 if not others else 0.5 if kind == OVERALL else 0.5 / len(others)
            stakes[mine] = share / np.count_nonzero(mine)
        return stakes

    def of_verdicts(self, m: int, view: ModelView) -> list[IntArray]:
        """Return the processes that the verdicts of model m have a part in: an array of shape (n,) for each kind."""
        found = [np.full(len(view.codes), m)]
        if self.of_label.shape[1]:
            found.append(self.of_label[m, view.codes])
        if self.of_region.shape[1] and view.components is not None:
            found.append(self.of_region[m, view.components])
        return found

    def counts(self, views: list[ModelView], codes: list[IntArray]) -> IntArray:
        """Return the wrong verdicts, and all, of each process, by views of records of these classes.

        Returns
        -------
        ndarray of int, shape (n_processes, 2)
        """
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
    """Append the processes of a model's regions, and fill in their numbers by component."""
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


class ErrorTest:
    """Test of the rate of wrong verdicts in a stream against that among held-out records, as a whole and in parts.

    Parameters
    ----------
    parts : ErrorParts
    held_out : ndarray of int, shape (n_processes, 2)
        Wrong verdicts, and all, among the held-out records of each process.
    false_alarm_rate : float
    least : float
        What no chance of being labelled is below.

    Attributes
    ----------
    n : int
        Labelled records by now.
    when : int or None
        How many there were when the alarm was raised.
    found : tuple of DriftPart
        Where most of the evidence came from by then; whoever has the records may add the features that have moved.
    """

    def __init__(self, parts: ErrorParts, held_out: IntArray, false_alarm_rate: float, least: float) -> None:
        self.parts, self.held_out, self.false_alarm_rate, self.least = parts, held_out, false_alarm_rate, least
        stakes = parts.stakes()
        self.limits = limits_of(held_out, stakes, false_alarm_rate)
        self.bets = SequentialBets(stakes)
        self.n = 0
        self.when: int | None = None
        self.found: tuple[DriftPart, ...] = ()
        # Of each model: labelled records, and wrong verdicts on them, each record by one over its chance.
        self._weights: FloatArray = np.zeros((2, len(parts.of_label)))

    def add(self, views: list[ModelView], codes: IntArray, chance: FloatArray | None) -> bool:
        """Take in a batch of labelled records; return whether it has raised the alarm.

        `views` has the verdicts of each model, `codes` the true classes, `chance` that of each record to be labelled;
        None if all records have labels.
        """
        least = 1.0 if chance is None else self.least
        chance = np.ones(len(codes)) if chance is None else chance
        gain: FloatArray = np.zeros_like(self.bets.gains)
        for m, view in enumerate(views):
            wrong = view.codes != codes
            for k, which in enumerate(self.parts.of_verdicts(m, view)):
                # Alike records together, and sorted: sums must not depend on the order of rows.
                alike, often = np.unique(np.column_stack([which, wrong, chance]), axis=0, return_counts=True)
                process = alike[:, 0].astype(np.int64)
                factors = log_factors(self.limits[process], alike[:, 1], alike[:, 2], least)
                np.add.at(gain, process, often[:, None] * factors)
                if k == 0:  # all records
                    worth = often / alike[:, 2]
                    self._weights[:, m] += [worth.sum(), worth @ alike[:, 1]]
        self.bets.add(gain, self.n)
        self.n += len(codes)
        raised = self.when is None and self.bets.log_evidence[-1] >= log_threshold(self.false_alarm_rate)
        if raised:
            self.when, self.found = self.n, self._largest()
        return raised

    def _largest(self) -> tuple[DriftPart, ...]:
        """Return the parts that hold most of the wealth, the most first; all records alike if these hold the most."""
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
        """Return the state of the test by now; `n_unstated` labelled records took no part."""
        n_models = self._weights.shape[1]
        total, wrong = self._weights.sum(axis=1).tolist()
        return drift_state(
            "wrong",
            self.held_out[:n_models],
            self.limits[:n_models],
            self.false_alarm_rate,
            self.bets,
            n=self.n,
            when=self.when,
            share=wrong / total if total else float("nan"),
            n_unstated=n_unstated,
            parts=self.found,
        )
