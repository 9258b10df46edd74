"""Sequential test of whether a rate has risen, which may be looked at after every batch, for ever.

New records are compared with held-out ones by the same models: both are new to them, so that without drift both are
outside the ellipsoids (or given a wrong label) at the same rate. A limit above that rate comes from the held-out
records, and bets against "the rate is at most the limit" gain only if it is not; `bets` has the proof. Half of the
false-alarm rate pays for limits that are too low, the other half for the bets.
"""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from sepc.common.intervals import exact_interval, upper_limit
from sepc.common.text import listed, many, percent
from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import ODDS_RATIOS, SequentialBets

_LARGEST_LOG = float(np.log(np.finfo(float).max))
# Kinds of parts.
OVERALL, LABEL, REGION, OTHER_REGIONS = "overall", "label", "region", "other regions"


class MovedFeature(NamedTuple):
    """A feature whose mean in a part differs from that of the training records there, and by how much."""

    feature: str
    shift: float

    def in_words(self) -> str:
        """Return it as part of a sentence."""
        return f"{self.feature} is {abs(self.shift):.1f} standard deviations {'higher' if self.shift > 0 else 'lower'}"


class DriftPart(NamedTuple):
    """A part of the records that the evidence for a rise comes from.

    Attributes
    ----------
    kind : {"overall", "label", "region", "other regions"}
    name : str
        The label that was given, or the region of the watched classifier; of regions with few records, which are one
        part for each label, that label; "overall" if the rise is not confined to a part.
    since : int
        About how many records had been observed, as in `Drift.when`, when it began.
    features : tuple of MovedFeature
        Up to three features whose mean there, among the labelled records since, differs from that in training by more
        than chance explains; the most first.

    Examples
    --------
    >>> DriftPart("region", "faulty#2", 500, (MovedFeature("pressure", 1.5),)).in_words()
    'region faulty#2, since about record 500 (there pressure is 1.5 standard deviations higher than in training)'
    """

    kind: str
    name: str
    since: int
    features: tuple[MovedFeature, ...] = ()

    def in_words(self) -> str:
        """Return it as part of a sentence."""
        kind = {OVERALL: "", OTHER_REGIONS: "other regions of "}.get(self.kind, f"{self.kind} ")
        moved = listed([feature.in_words() for feature in self.features])
        there = f" (there {moved} than in training)" if moved else ""
        since = f"since about record {self.since:,}" if self.since else "from the first record on"
        return f"{kind}{self.name}, {since}{there}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON."""
        return {**self._asdict(), "features": [feature._asdict() for feature in self.features]}


@dataclass(frozen=True, slots=True, repr=False)
class Drift:
    """State of a sequential test of whether something happens more often than it should.

    Attributes
    ----------
    what : str
        What is counted.
    alarm : bool
        Whether the alarm was raised, now or earlier.
    when : int or None
        Number of records observed when it was first raised, at the end of a batch.
    n : int
        Number of records observed; of the alarm on errors those with a label and a stated chance.
    share : float
        Their share of it, by the same models as `expected`; nan before the first record. Records that were chosen to
        be labelled count by one over their chance.
    expected : float
        Share among held-out records, which had no part in shaping the models.
    interval : pair of float
        Exact 95 % interval of `expected`.
    limit : float
        What `share` is tested against: the largest rate that the held-out records leave possible. A drift that stays
        below it cannot be distinguished from chance; more held-out records bring it down.
    evidence : float
        Largest wealth so far per unit staked on a rise above `limit`; no more than 1 is no evidence at all.
    threshold : float
        Evidence at which the alarm is raised.
    false_alarm_rate : float
        Probability, at most, that it is ever raised without drift.
    n_models : int
        How many models count, each by itself: 1 is the classifier itself; several are each fitted without a part of the
        training set, so that they can be asked of that part as of new records.
    n_held_out : int
        Number of held-out records behind `expected`.
    n_needed : int or None
        About how many more records with the same share would raise the alarm; None if none would, or it is raised.
    n_unstated : int
        Labelled records that took no part, since it was not stated how they were chosen to be labelled.
    parts : tuple of DriftPart
        Which parts of the records most of the evidence came from when the alarm was raised; of the alarm on errors.

    Examples
    --------
    >>> test = SequentialRateTest("odd", np.array([[5, 100]]), 0.01)
    >>> for _ in range(5):
    ...     test.add(20, [8])
    >>> test.state()
    Alarm after 40 records: 40 % odd where 5 % (1.6 % to 11.3 %) were expected; false-alarm rate 0.01
    >>> test = SequentialRateTest("odd", np.array([[5, 100]]), 0.01)
    >>> test.add(20, [8])
    >>> test.state().n_needed
    16
    """

    what: str
    alarm: bool
    when: int | None
    n: int
    share: float
    expected: float
    interval: tuple[float, float]
    limit: float
    evidence: float
    threshold: float
    false_alarm_rate: float
    n_models: int = 1
    n_held_out: int = 0
    n_needed: int | None = None
    n_unstated: int = 0
    parts: tuple[DriftPart, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON; what is not known yet is None."""
        fields = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**fields, "interval": list(self.interval), "parts": [part.to_dict() for part in self.parts]}

    def __repr__(self) -> str:
        low, high = map(percent, self.interval)
        said = f"Alarm after {self.when} records" if self.alarm else "No alarm"
        if self.n == 0:
            return f"{said}: nothing observed yet; {percent(self.expected)} {self.what} expected{self._unstated}"
        by = f", by {self.n_models} models that each leave a part of the training records out," * (self.n_models > 1)
        return (
            f"{said}: {percent(self.share)} {self.what}{by} where {percent(self.expected)} ({low} to {high}) "
            f"were expected; false-alarm rate {self.false_alarm_rate:g}{self._why}{self._where}{self._unstated}"
        )

    @property
    def _where(self) -> str:
        return f". Where: {listed([part.in_words() for part in self.parts])}" if self.parts else ""

    @property
    def _unstated(self) -> str:
        if not self.n_unstated:
            return ""
        took = f"{many(self.n_unstated, 'labelled record')} took no part, since it was not said how they were chosen"
        return f". {took} to be labelled: by labels='all', or by the probability of each"

    @property
    def _why(self) -> str:
        """Why there is no alarm, and what it would take; empty if there is one, or chance explains the rise."""
        if self.alarm or not self.share > self.interval[1]:
            return ""
        if self.share <= self.limit and self.n_needed is None:
            return (
                f". Why not: it takes more than {percent(self.limit)}, which {self.n_held_out} held-out records leave "
                "possible without any change; more training records would bring this limit down"
            )
        so_far = f". Why not: the evidence for a rise is {self.evidence:.2g} so far, and {self.threshold:g} is needed"
        if self.n_needed is None:
            return f"{so_far}; the share is too near to {percent(self.limit)}, the limit, for that"
        return f"{so_far}; about {self.n_needed:,} more records with the same share would raise the alarm"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


class SequentialRateTest:
    """Test of one rate in a stream against that among held-out records, for one or several models.

    Half of the false-alarm rate pays for the limits being too low, in equal parts for each model; the other half for
    the bets, which are spread evenly over models, sizes of the rise, and when it began (see `SequentialBets`). All is a
    function of counts per batch, so the order of records within one does not matter.

    Parameters
    ----------
    what : str
        What is counted.
    held_out : ndarray of int, shape (n_models, 2)
        Held-out records that count, and all of them, for each model.
    false_alarm_rate : float

    Attributes
    ----------
    batches : list of list of int
        For each batch how many records it had, and how many of them count by each model.
    bets : SequentialBets
    """

    def __init__(self, what: str, held_out: IntArray, false_alarm_rate: float) -> None:
        self.what, self.held_out, self.false_alarm_rate = what, held_out, false_alarm_rate
        stakes = np.full(len(held_out), 1.0 / len(held_out))
        self.limits = limits_of(held_out, stakes, false_alarm_rate)
        # A rise of the odds by the factor r changes the likelihood of n records, s of which count, to
        # r**s / (1 + (r - 1) * limit)**n.
        self._log_normalizer = np.log1p((ODDS_RATIOS - 1.0) * self.limits[:, None])
        self.bets = SequentialBets(stakes)
        self.batches: list[list[int]] = []

    def add(self, n: int, hits: list[int]) -> None:
        """Take in a batch of `n` records; `hits` of them count by each model."""
        self.batches.append([n, *hits])
        self.bets.add(np.asarray(hits)[:, None] * np.log(ODDS_RATIOS) - n * self._log_normalizer)

    def state(self) -> Drift:
        """Return the state of the test by now."""
        counts = np.array(self.batches, dtype=np.int64).reshape(-1, 1 + len(self.held_out))
        observed = np.cumsum(counts[:, 0])
        raised = np.flatnonzero(np.array(self.bets.log_evidence) >= log_threshold(self.false_alarm_rate))
        total = int(counts[:, 0].sum())
        return drift_state(
            self.what,
            self.held_out,
            self.limits,
            self.false_alarm_rate,
            self.bets,
            n=total,
            when=int(observed[raised[0]]) if len(raised) else None,
            share=float(counts[:, 1:].sum()) / (total * len(self.held_out)) if total else float("nan"),
        )


def limits_of(held_out: IntArray, stakes: FloatArray, false_alarm_rate: float) -> FloatArray:
    """Return the rates that held-out records leave possible, shape (n_processes,).

    `held_out`, of shape (n_processes, 2), has how many count, and out of how many; half of the false-alarm rate is
    shared by the stakes.
    """
    risks = (false_alarm_rate / 2.0 * stakes).tolist()
    return np.array([upper_limit(hits, n, risk) for (hits, n), risk in zip(held_out.tolist(), risks, strict=True)])


def log_threshold(false_alarm_rate: float) -> float:
    """Return the logarithm of the evidence at which an alarm is raised."""
    return float(np.log(2.0 / false_alarm_rate))


def drift_state(
    what: str,
    held_out: IntArray,
    limits: FloatArray,
    false_alarm_rate: float,
    bets: SequentialBets,
    *,
    n: int,
    when: int | None,
    share: float,
    n_unstated: int = 0,
    parts: tuple[DriftPart, ...] = (),
) -> Drift:
    """Return the state of a test of n records by its bets; `held_out` and `limits` have one row for each model."""
    hits, n_held_out = held_out.sum(axis=0).tolist()
    waits = n > 0 and when is None
    return Drift(
        what=what,
        alarm=when is not None,
        when=when,
        n=n,
        share=share,
        expected=hits / n_held_out if n_held_out else float("nan"),
        interval=exact_interval(hits, n_held_out),
        limit=float(limits.mean()),
        evidence=float(np.exp(min(max(bets.log_evidence, default=0.0), _LARGEST_LOG))),
        threshold=2.0 / false_alarm_rate,
        false_alarm_rate=false_alarm_rate,
        n_models=len(held_out),
        n_held_out=n_held_out,
        n_needed=bets.n_needed(n, log_threshold(false_alarm_rate)) if waits else None,
        n_unstated=n_unstated,
        parts=parts,
    )
