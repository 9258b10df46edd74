"""Sequential test of whether a rate has risen, which may be looked at after every batch, for ever.

New records are compared with held-out ones by the same models: both are new to them, so that without drift both are
outside the ellipsoids (or given a wrong label) at the same rate. A limit above that rate comes from the held-out
records, and bets against "the rate is at most the limit" gain only if it is not. By Ville's inequality the wealth of
such bets ever reaches c times the stake with a probability of at most 1 / c, however often one looks.

References
----------
A. Ramdas, P. Gruenwald, V. Vovk, G. Shafer (2023). Game-Theoretic Statistics and Safe Anytime-Valid Inference.
Statistical Science 38.
"""

from bisect import bisect_left
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from sepc.common.intervals import exact_interval, upper_limit
from sepc.common.text import percent
from sepc.common.typing import FloatArray, IntArray

# By how much the odds may have risen: one bet on each, with equal stakes.
_LOG_ODDS_RATIOS = np.log([1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
# Whatever takes more records than this is never told.
_MOST_RECORDS = 1_000_000
_LARGEST_LOG = float(np.log(np.finfo(float).max))


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
        Number of records observed.
    share : float
        Their share of it, by the same models as `expected`; nan before the first record.
    expected : float
        Share among held-out records, which had no part in shaping the models.
    interval : pair of float
        Exact 95 % interval of `expected`.
    limit : float
        What `share` is tested against: the largest rate that the held-out records leave possible. A drift that stays
        below it cannot be told from chance; more held-out records bring it down.
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON; what is not known yet is None."""
        fields = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**fields, "interval": list(self.interval)}

    def __repr__(self) -> str:
        low, high = map(percent, self.interval)
        said = f"Alarm after {self.when} records" if self.alarm else "No alarm"
        if self.n == 0:
            return f"{said}: nothing observed yet; {percent(self.expected)} {self.what} expected"
        by = f", by {self.n_models} models that each leave a part of the training records out," * (self.n_models > 1)
        return (
            f"{said}: {percent(self.share)} {self.what}{by} where {percent(self.expected)} ({low} to {high}) "
            f"were expected; false-alarm rate {self.false_alarm_rate:g}{self._why}"
        )

    @property
    def _why(self) -> str:
        """Why there is no alarm, and what it would take; empty if there is one, or chance explains the rise."""
        if self.alarm or not self.share > self.interval[1]:
            return ""
        if self.share <= self.limit:
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
    the bets. They are spread evenly over models and sizes of the rise, and over when it began: of each, the share
    1 / (j (j + 1)) is placed at the start of batch j and stays in play from there on. All is a function of counts per
    batch, so the order of records within one does not matter.

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
    log_evidence : list of float
        Logarithm of the wealth after each batch.

    Examples
    --------
    >>> test = SequentialRateTest("odd", np.array([[5, 100], [6, 100]]), 0.01)
    >>> test.add(20, [1, 1])
    >>> test.state().alarm, round(test.state().limit, 3)
    (False, 0.151)
    """

    def __init__(self, what: str, held_out: IntArray, false_alarm_rate: float) -> None:
        self.what, self.held_out, self.false_alarm_rate = what, held_out, false_alarm_rate
        risk = false_alarm_rate / 2.0 / len(held_out)
        self.limits = np.array([upper_limit(hits, n, risk) for hits, n in held_out.tolist()])
        # A rise of the odds by the factor r changes the likelihood of n records, s of which count, to
        # r**s / (1 + (r - 1) * limit)**n.
        self._log_normalizer = np.log1p(np.expm1(_LOG_ODDS_RATIOS) * self.limits[:, None])
        self._log_bets: FloatArray = np.full(self._log_normalizer.shape, -np.inf)
        self.batches: list[list[int]] = []
        self.log_evidence: list[float] = []

    def add(self, n: int, hits: list[int]) -> None:
        """Take in a batch of `n` records; `hits` of them count by each model."""
        self.batches.append([n, *hits])
        j = len(self.batches)
        gain = np.asarray(hits)[:, None] * _LOG_ODDS_RATIOS - n * self._log_normalizer
        self._log_bets = np.logaddexp(self._log_bets, -np.log(j * (j + 1.0))) + gain
        mean = np.logaddexp.reduce(self._log_bets, axis=None) - np.log(self._log_bets.size)
        not_yet_placed = -np.log(j + 1.0)
        self.log_evidence.append(float(np.logaddexp(mean, not_yet_placed)))

    def _n_needed(self, shares: FloatArray) -> int | None:
        """Return how many more records with these shares, by each model, would raise the alarm."""

        def would_raise(n: int) -> bool:
            bets = np.logaddexp(self._log_bets, -np.log((j + 1) * (j + 2.0)))
            bets = bets + n * (shares[:, None] * _LOG_ODDS_RATIOS - self._log_normalizer)
            mean = np.logaddexp.reduce(bets, axis=None) - np.log(bets.size)
            return bool(np.logaddexp(mean, -np.log(j + 2.0)) >= np.log(2.0 / self.false_alarm_rate))

        j, enough = len(self.batches), 1
        while not would_raise(enough):
            enough *= 2
            if enough > _MOST_RECORDS:
                return None
        return bisect_left(range(enough), True, lo=enough // 2, key=would_raise)

    def state(self) -> Drift:
        """Return the state of the test by now."""
        threshold = 2.0 / self.false_alarm_rate
        counts = np.array(self.batches, dtype=np.int64).reshape(-1, 1 + len(self.held_out))
        observed = np.cumsum(counts[:, 0])
        raised = np.flatnonzero(np.array(self.log_evidence) >= np.log(threshold))
        hits, n = self.held_out.sum(axis=0).tolist()
        total = int(counts[:, 0].sum())
        waits = total > 0 and not len(raised)
        return Drift(
            what=self.what,
            alarm=len(raised) > 0,
            when=int(observed[raised[0]]) if len(raised) else None,
            n=total,
            share=float(counts[:, 1:].sum()) / (total * len(self.held_out)) if total else float("nan"),
            expected=hits / n if n else float("nan"),
            interval=exact_interval(hits, n),
            limit=float(self.limits.mean()),
            evidence=float(np.exp(min(max(self.log_evidence, default=0.0), _LARGEST_LOG))),
            threshold=threshold,
            false_alarm_rate=self.false_alarm_rate,
            n_models=len(self.held_out),
            n_held_out=n,
            n_needed=self._n_needed(counts[:, 1:].sum(axis=0) / total) if waits else None,
        )
