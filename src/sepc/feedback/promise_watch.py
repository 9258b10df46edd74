"""Test of whether a promise on accepted labels still holds, part by part.

The promised limit is known, so that no held-out records are needed: bets are against "of the labels that are accepted
in this part no larger share is wrong, or their mean cost is no larger". They are those of `bets`, one process for each
part, with equal stakes; the evidence is the total wealth.
"""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from sepc.common.text import listed, many, percent
from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import NAMED_FROM, SequentialTest
from sepc.model.assessment import Assessment
from sepc.promises import TrustThreshold
from sepc.promises.parts import ALL, EVERYTHING, GROUP, GROUPS

NOT_ACCEPTED = -1


class PromisedPart(NamedTuple):
    """Accepted labels in one part: the promised limit, the number with a known truth, and what they lose.

    `limit` is the largest share of wrong labels, or the largest mean cost; `loss` the share of wrong ones, or the mean
    cost, with weights of one over the chance of being labelled, nan without any.
    """

    name: str
    limit: float
    n: int
    loss: float


@dataclass(frozen=True, slots=True, repr=False)
class PromiseDrift:
    """State of the test of whether a promise still holds.

    Attributes
    ----------
    by, bounds : str
        As in `TrustThreshold`.
    made_on : str
        The day of the promise.
    alarm : bool
        Whether the alarm was raised, now or earlier.
    when : int or None
        Number of accepted labels with a known truth when it was first raised.
    broken : tuple of str
        The parts that most of the evidence came from then.
    since : int or None
        About the number of such labels when it began.
    n : int
        Accepted labels with a known truth so far.
    parts : tuple of PromisedPart
    evidence, threshold, false_alarm_rate : float
        As in `Drift`.

    Examples
    --------
    >>> promise = TrustThreshold(0.9, 0.05, 0.95, 200, 150, 1, 0.75, 0.04, "Fine.", made_on="2026-03-01")
    >>> test = PromiseTest(promise, 0.01, 0.05)
    >>> test.add(np.zeros(40, dtype=int), np.repeat([0.0, 1.0], 20), None)
    True
    >>> test.state()
    Alarm after 40 accepted labels: the promise of 2026-03-01 no longer holds; 50 % wrong where at most 5 % was promised
    """

    by: str
    bounds: str
    made_on: str
    alarm: bool
    when: int | None
    broken: tuple[str, ...]
    since: int | None
    n: int
    parts: tuple[PromisedPart, ...]
    evidence: float
    threshold: float
    false_alarm_rate: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON; what is not known yet is None."""
        parts = [part._replace(loss=part.loss if part.n else None)._asdict() for part in self.parts]  # type: ignore[arg-type]
        return {**asdict(self), "broken": list(self.broken), "parts": parts}

    def __repr__(self) -> str:
        promise = f"the promise of {self.made_on}" if self.made_on else "the promise"
        if not self.alarm:
            return f"No alarm: {promise} is not refuted by {many(self.n, 'accepted label')} with a known truth"
        kind = "group" if self.by in (GROUP, GROUPS) else self.by
        where = "" if self.by == ALL else f" in {kind} {listed(list(self.broken))}"
        since = f" since about label {self.since:,}" if self.since else ""
        losses = "; ".join(self._in_words(part) for part in self.parts if part.name in self.broken)
        return f"Alarm after {self.when:,} accepted labels: {promise} no longer holds{where}{since}; {losses}"

    def _in_words(self, part: PromisedPart) -> str:
        if self.bounds == "error":
            loss = f"{percent(part.loss)} wrong where at most {percent(part.limit)} was promised"
        else:
            loss = f"a mean cost of {part.loss:.3g} where at most {part.limit:g} was promised"
        return loss if len(self.broken) < 2 else f"{part.name}: {loss}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


class PromiseTest(SequentialTest):
    """Test of a promise by accepted labels with a known truth; `least` as in `SequentialTest`."""

    def __init__(self, promise: TrustThreshold, false_alarm_rate: float, least: float) -> None:
        self.promise, self.false_alarm_rate, parts = promise, false_alarm_rate, promise.thresholds
        promised = [k for k, part in enumerate(parts) if part.is_kept]
        self.names = [parts[k].part or EVERYTHING for k in promised]
        self._promised = np.array([parts[k].limit for k in promised])
        self._number = np.full(len(parts) + 1, NOT_ACCEPTED)
        self._number[promised] = np.arange(len(promised))
        self._costs = None if promise.costs is None else np.array(promise.costs)
        # Bets take losses from 0 to 1.
        self._unit = 1.0 if self._costs is None else max(float(self._costs.max()), float(self._promised.max()), 1e-300)
        n = len(promised)
        super().__init__(self._promised / self._unit, np.full(n, 1.0 / n), 1.0 / false_alarm_rate, least)
        self.since: int | None = None
        self.broken: tuple[str, ...] = ()
        self._n: IntArray = np.zeros(n, dtype=np.int64)
        self._weights: FloatArray = np.zeros((2, n))

    @classmethod
    def of(cls, promise: Any, false_alarm_rate: float, least: float) -> "PromiseTest | None":
        """Return the test of a promise; None where nothing is promised."""
        is_kept = isinstance(promise, TrustThreshold) and promise.is_kept
        return cls(promise, false_alarm_rate, least) if is_kept else None

    def parts_of(self, a: Assessment, groups: Any = None) -> IntArray:
        """Return the promised part that each accepted record is in, shape (n,); -1 for refused ones."""
        accepted = a.accepted(self.promise, groups=groups)
        return np.where(accepted, self._number[self.promise.part_of(a, groups)], NOT_ACCEPTED)

    def losses(self, given: IntArray, true: IntArray) -> FloatArray:
        """Return the loss by each label, shape (n,): 1 if it is wrong, or its cost; the largest for an unknown one."""
        if self._costs is None:
            return np.asarray(given != true, dtype=np.float64)
        known = true < len(self._costs)
        return np.where(known, self._costs[np.where(known, true, 0), given], self._costs.max())

    def add(self, part: IntArray, loss: FloatArray, chance: FloatArray | None) -> bool:
        """Add a batch of labelled records; return whether it raises the alarm.

        `part` is that of `parts_of`, `loss` that of `losses`, `chance` that of each record to be labelled; None if all
        records have labels.
        """
        taken = np.flatnonzero(part != NOT_ACCEPTED)
        gain: FloatArray = np.zeros_like(self.bets.gains)
        chances = None if chance is None else chance[taken]
        process, lost, weight = self.grouped(gain, part[taken], loss[taken] / self._unit, chances)
        self._n += np.bincount(part[taken], minlength=len(self._n))
        np.add.at(self._weights[0], process, weight)
        np.add.at(self._weights[1], process, weight * lost)
        raised = self.bet(gain, len(taken))
        if raised:
            wealth = self.bets.contributions()
            named = np.flatnonzero(wealth >= wealth.max() + np.log(NAMED_FROM)).tolist()
            self.broken, self.since = tuple(self.names[k] for k in named), self.bets.since(named)
        return raised

    def state(self) -> PromiseDrift:
        """Return the state of the test."""
        total, lost = self._weights
        means = np.divide(lost * self._unit, total, out=np.full(len(total), np.nan), where=total > 0.0).tolist()
        parts = zip(self.names, self._promised.tolist(), self._n.tolist(), means, strict=True)
        return PromiseDrift(
            by=self.promise.by,
            bounds=self.promise.bounds,
            made_on=self.promise.made_on,
            alarm=self.when is not None,
            when=self.when,
            broken=self.broken,
            since=self.since,
            n=self.n,
            parts=tuple(PromisedPart(*part) for part in parts),
            evidence=self.evidence,
            threshold=self.threshold,
            false_alarm_rate=self.false_alarm_rate,
        )
