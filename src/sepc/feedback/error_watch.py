"""Sequential test of whether more verdicts are wrong than should be: over all, by label and by region, as one.

Each part of the records, by each model, has a limit of its own from its held-out records, and bets of its own. Half of
the stake is on all records alike, the other half on parts; in the same shares half of the false-alarm rate pays
for limits that are too low. The evidence is the wealth of all bets together: an average of fair bets is a fair bet, so
that looking at many parts does not raise the rate of false alarms.
"""

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import SequentialBets, log_factors
from sepc.feedback.drift import OVERALL, Drift, DriftPart, drift_state, limits_of, log_threshold
from sepc.feedback.error_parts import ErrorParts
from sepc.feedback.held_out_models import ModelView

_MOST_PARTS = 3
# A part is named beside the one with the most evidence if it has this share of that, or more.
_NAMED_FROM = 0.5


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
        n_models = len(parts.of_label)
        # Of each model: labelled records, and wrong verdicts on them, each record by one over its chance.
        self._weights: FloatArray = np.zeros((2, n_models))
        # Of each bet: the largest gain up to now, over when it began, and how many records there were before that.
        self._best: FloatArray = np.zeros_like(self.bets.gains)
        self._starts: IntArray = np.zeros(self._best.shape, dtype=np.int64)

    def add(self, views: list[ModelView], codes: IntArray, chance: FloatArray | None) -> bool:
        """Take in a batch of labelled records; return whether it has raised the alarm.

        Parameters
        ----------
        views : list of ModelView
            What each model says of them.
        codes : ndarray of int, shape (n,)
            Their true classes.
        chance : ndarray of shape (n,), or None
            With which each was chosen to be labelled; None if all records have labels.
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
        self._starts = np.where(self._best > 0.0, self._starts, self.n)
        self._best = np.maximum(self._best, 0.0) + gain
        self.bets.add(gain)
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
            least = wealth[ranked[0]] + np.log(_NAMED_FROM)
            ranked = [part for part in ranked if part[0] != OVERALL and wealth[part] >= least][:_MOST_PARTS]
        else:
            ranked = ranked[:1]
        return tuple(DriftPart(*part, self._since(by_part[part])) for part in ranked)

    def _since(self, processes: list[int]) -> int:
        """Return how many records there were before the best bet of some processes had to begin to gain the most."""
        best = self._best[processes]
        return int(self._starts[processes].ravel()[best.argmax()])

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
