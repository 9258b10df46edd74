"""Has a rate risen? A sequential test that may be looked at after every batch, for ever.

New records are compared with held-out ones by the same models: both are new to them, so that without drift both are
strange to them (or judged wrongly) at the same rate. A limit above that rate comes from the held-out records, and bets
against "the rate is at most the limit" gain only if it is not. By Ville's inequality the winnings of such bets ever
reach c times the stake with a probability of at most 1 / c, however often one looks.

References
----------
A. Ramdas, P. Gruenwald, V. Vovk, G. Shafer (2023). Game-Theoretic Statistics and Safe Anytime-Valid Inference.
Statistical Science 38.
"""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv

from sepc.geometry._checks import FloatArray, Rows

# By how much the odds may have risen: one bet on each, with equal stakes.
_LOG_ODDS_RATIOS = np.log([1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0])
_LARGEST_LOG = float(np.log(np.finfo(float).max))


def exact_interval(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share; (0, 1) if nothing was observed.

    Examples
    --------
    >>> low, high = exact_interval(0, 10)
    >>> low, round(high, 3)
    (0.0, 0.308)
    """
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    return low, upper_limit(hits, n, tail)


def upper_limit(hits: int, n: int, risk: float) -> float:
    """Return a limit that the true rate exceeds with a probability of at most `risk`; exact, for independent trials.

    Examples
    --------
    >>> round(upper_limit(0, 100, 0.05), 3), upper_limit(0, 0, 0.05)
    (0.03, 1.0)
    """
    return float(betainccinv(hits + 1, n - hits, risk)) if hits < n else 1.0


@dataclass(frozen=True, slots=True, repr=False)
class Drift:
    """Whether something happens more often than it should.

    Attributes
    ----------
    what : str
        What is counted.
    alarm : bool
        Whether it rang, now or earlier.
    when : int or None
        Number of records observed when it first rang, at the end of a batch.
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
        Largest winnings so far per unit staked on a rise above `limit`; no more than 1 is no evidence at all.
    threshold : float
        Evidence at which the alarm rings.
    false_alarm_rate : float
        Probability, at most, that it ever rings without drift.

    Examples
    --------
    >>> watch = Watch("odd", np.array([[5, 100]]), 0.01)
    >>> for _ in range(5):
    ...     watch.add(20, [8])
    >>> watch.state()
    Alarm after 40 records: 40 % odd where 5 % (1.64 to 11.3 %) were expected; false-alarm rate 0.01
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON; what is not known yet is None."""
        fields = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**fields, "interval": list(self.interval)}

    def __repr__(self) -> str:
        low, high = (f"{100 * x:.3g}" for x in self.interval)
        said = f"Alarm after {self.when} records" if self.alarm else "No alarm"
        if self.n == 0:
            return f"{said}: nothing observed yet; {100 * self.expected:.3g} % {self.what} expected"
        return (
            f"{said}: {100 * self.share:.3g} % {self.what} where {100 * self.expected:.3g} % ({low} to {high} %) "
            f"were expected; false-alarm rate {self.false_alarm_rate:g}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


class Watch:
    """Compares one rate in a stream with that among held-out records, for one or several models.

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
        Logarithm of the winnings after each batch.

    Examples
    --------
    >>> watch = Watch("odd", np.array([[5, 100], [6, 100]]), 0.01)
    >>> watch.add(20, [1, 1])
    >>> watch.state().alarm, round(watch.state().limit, 3)
    (False, 0.151)
    """

    def __init__(self, what: str, held_out: Rows, false_alarm_rate: float) -> None:
        self.what, self.held_out, self.false_alarm_rate = what, held_out, false_alarm_rate
        risk = false_alarm_rate / 2.0 / len(held_out)
        self.limits = np.array([upper_limit(hits, n, risk) for hits, n in held_out.tolist()])
        # A rise of the odds by the factor r changes the likelihood of n records, s of which count, to
        # r**s / (1 + (r - 1) * limit)**n.
        self._price = np.log1p(np.expm1(_LOG_ODDS_RATIOS) * self.limits[:, None])
        self._log_bets: FloatArray = np.full(self._price.shape, -np.inf)
        self.batches: list[list[int]] = []
        self.log_evidence: list[float] = []

    def add(self, n: int, hits: list[int]) -> None:
        """Take in a batch of `n` records; `hits` of them count by each model."""
        self.batches.append([n, *hits])
        j = len(self.batches)
        gain = np.asarray(hits)[:, None] * _LOG_ODDS_RATIOS - n * self._price
        self._log_bets = np.logaddexp(self._log_bets, -np.log(j * (j + 1.0))) + gain
        mean = np.logaddexp.reduce(self._log_bets, axis=None) - np.log(self._log_bets.size)
        not_yet_placed = -np.log(j + 1.0)
        self.log_evidence.append(float(np.logaddexp(mean, not_yet_placed)))

    def state(self) -> Drift:
        """Return what is known by now."""
        threshold = 2.0 / self.false_alarm_rate
        counts = np.array(self.batches, dtype=np.int64).reshape(-1, 1 + len(self.held_out))
        observed = np.cumsum(counts[:, 0])
        rang = np.flatnonzero(np.array(self.log_evidence) >= np.log(threshold))
        hits, n = self.held_out.sum(axis=0).tolist()
        total = int(counts[:, 0].sum())
        return Drift(
            what=self.what,
            alarm=len(rang) > 0,
            when=int(observed[rang[0]]) if len(rang) else None,
            n=total,
            share=float(counts[:, 1:].sum()) / (total * len(self.held_out)) if total else float("nan"),
            expected=hits / n if n else float("nan"),
            interval=exact_interval(hits, n),
            limit=float(self.limits.mean()),
            evidence=float(np.exp(min(max(self.log_evidence, default=0.0), _LARGEST_LOG))),
            threshold=threshold,
            false_alarm_rate=self.false_alarm_rate,
        )
