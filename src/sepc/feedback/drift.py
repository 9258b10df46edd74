"""Sequential test of whether a rate has risen, valid at any time.

New records are compared with held-out ones by the same models: both are new to them, so that without drift both are
outside the ellipsoids (or given a wrong label) at the same rate. The held-out records give an upper confidence limit of
that rate, and bets against "the rate is at most the limit" gain only if it is not; `bets` has the proof. Half of the
false-alarm rate is the risk that a limit is too low, the other half that of the bets.
"""

from dataclasses import asdict, dataclass
from html import escape
from math import log
from typing import Any, NamedTuple

import numpy as np

from sepc.common.intervals import exact_interval, upper_limit
from sepc.common.text import listed, many, percent, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.bets import ODDS_RATIOS, SequentialTest

# Kinds of parts.
OVERALL, LABEL, REGION, OTHER_REGIONS = "overall", "label", "region", "other regions"
COLUMN, TYPICALITY, TRUST, CLASS_SHARES, OUTSIDE = "column", "typicality", "trust", "class shares", "outside"
# Those of the records themselves, besides the share outside.
SERIES = (COLUMN, TYPICALITY, TRUST, CLASS_SHARES)
_PARTS_SHOWN = 5


class MovedFeature(NamedTuple):
    """A feature whose mean in a part differs from that of the training records there, and by how much."""

    feature: str
    shift: float

    def in_words(self) -> str:
        """Return it as part of a sentence."""
        return f"{self.feature} is {abs(self.shift):.1f} standard deviations {'higher' if self.shift > 0 else 'lower'}"


class DriftPart(NamedTuple):
    """A part of the records with evidence for a rise.

    Attributes
    ----------
    kind : str
        Of errors "overall", "label", "region" or "other regions"; of the records themselves "column", "typicality",
        "trust", "class shares" or "outside".
    name : str
        The given label, or the region of the watched classifier; regions with few records are one part for each label,
        with its name; "overall" if the rise is not confined to a part. The column. Else as `kind`.
    since : int
        About the number of observed records, as in `Drift.when`, when it began.
    features : tuple of MovedFeature
        Up to three features whose mean there, among the labelled records since, differs from that in training by more
        than chance explains; the most first.
    change : str
        What has changed in the records themselves, in words; empty of errors.

    Examples
    --------
    >>> DriftPart("region", "faulty#2", 500, (MovedFeature("pressure", 1.5),)).in_words()
    'region faulty#2, since about record 500 (there pressure is 1.5 standard deviations higher than in training)'
    >>> DriftPart("column", "pressure", 500, (), "1.5 standard deviations higher than in training").in_words()
    'column pressure, since about record 500 (1.5 standard deviations higher than in training)'
    """

    kind: str
    name: str
    since: int
    features: tuple[MovedFeature, ...] = ()
    change: str = ""

    def in_words(self) -> str:
        """Return it as part of a sentence."""
        kind = {OVERALL: "", OTHER_REGIONS: "other regions of "}.get(self.kind, f"{self.kind} ")
        kind = "" if self.kind == self.name else kind
        moved = listed([feature.in_words() for feature in self.features])
        there = f" (there {moved} than in training)" if moved else f" ({self.change})" if self.change else ""
        return f"{kind}{self.name}, {self.began()}{there}"

    def began(self) -> str:
        """Return when it began, as part of a sentence."""
        return f"since about record {self.since:,}" if self.since else "from the first record on"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists, ready for JSON."""
        return {**self._asdict(), "features": [feature._asdict() for feature in self.features]}


@dataclass(frozen=True, slots=True, repr=False)
class Drift:
    """State of a sequential test of whether the rate of some event has risen, or of whether records have changed.

    Attributes
    ----------
    what : str
        What is counted.
    alarm : bool
        Whether the alarm was raised, now or earlier: by the share, or by another series that is watched with it.
    when : int or None
        Number of records observed when it was first raised, at the end of a batch.
    n : int
        Number of records observed; of the alarm on errors those with a label and a stated chance.
    share : float
        Share of the observed records that count, by the same models as `expected`; nan before the first record. Records
        that were chosen to be labelled have the weight of one over their chance.
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
        Number of models: 1 is the classifier itself; several are each fitted without a fold of the training set, which
        is as new to them as observed records are.
    n_held_out : int
        Number of held-out records behind `expected`.
    n_needed : int or None
        About the number of further records with the same share that would raise the alarm; None if none would, or it is
        raised.
    n_unstated : int
        Labelled records without a stated chance of being labelled, which do not count.
    parts : tuple of DriftPart
        Parts of the records with most of the evidence when the alarm on errors was raised. Of the alarm on records
        themselves all series that have raised it so far, in the order in which they did.

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
        series = [part.in_words() for part in self.parts if part.kind in SERIES]
        said += f": {shortened(series, _PARTS_SHOWN)}; " if series else ": "
        if self.n == 0:
            return f"{said}nothing observed yet; {percent(self.expected)} {self.what} expected{self._unstated}"
        by = f", by {self.n_models} models that each leave a part of the training records out," * (self.n_models > 1)
        return (
            f"{said}{percent(self.share)} {self.what}{by} where {percent(self.expected)} ({low} to {high}) "
            f"were expected; false-alarm rate {self.false_alarm_rate:g}{self._why}{self._where}{self._unstated}"
        )

    @property
    def _where(self) -> str:
        parts = [part for part in self.parts if part.kind not in SERIES]
        if parts and parts[0].kind == OUTSIDE:
            return f". The share has risen {parts[0].began()}"
        return f". Where: {listed([part.in_words() for part in parts])}" if parts else ""

    @property
    def _unstated(self) -> str:
        if not self.n_unstated:
            return ""
        took = f"{many(self.n_unstated, 'labelled record')} took no part, since it was not said how they were chosen"
        return f". {took} to be labelled: by labels='all', or by the probability of each"

    @property
    def why_not(self) -> str | None:
        """Why a rise raises no alarm: "below-limit", "near-limit" or "few-records"; None without such a rise."""
        if self.alarm or not self.share > self.interval[1]:
            return None
        if self.n_needed is not None:
            return "few-records"
        return "below-limit" if self.share <= self.limit else "near-limit"

    @property
    def _why(self) -> str:
        """Why there is no alarm, and what it would take."""
        if self.why_not is None:
            return ""
        if self.why_not == "below-limit":
            return (
                f". Why not: it takes more than {percent(self.limit)}, which {self.n_held_out} held-out records leave "
                "possible without any change; more training records would bring this limit down"
            )
        so_far = f". Why not: the evidence for a rise is {self.evidence:.2g} so far, and {self.threshold:g} is needed"
        if self.why_not == "near-limit":
            return f"{so_far}; the share is too near to {percent(self.limit)}, the limit, for that"
        return f"{so_far}; about {self.n_needed:,} more records with the same share would raise the alarm"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


class RateTest(SequentialTest):
    """Test of a rate against that among held-out records.

    Half of the false-alarm rate is the risk that limits are too low, shared by the stakes; the other half that of bets.
    `what` is counted; `held_out`, of shape (n_processes, 2), has the held-out records that count, and all of them, for
    each process. The first `n_models` processes are those on all records.
    """

    def __init__(
        self, what: str, held_out: IntArray, stakes: FloatArray, n_models: int, rate: float, least: float = 1.0
    ) -> None:
        risks = (rate / 2.0 * stakes).tolist()
        limits = [upper_limit(hits, n, risk) for (hits, n), risk in zip(held_out.tolist(), risks, strict=True)]
        super().__init__(np.array(limits), stakes, 2.0 / rate, least)
        self.what, self.held_out, self.false_alarm_rate, self.n_models = what, held_out, rate, n_models

    def state_with(self, share: float, n_unstated: int = 0, parts: tuple[DriftPart, ...] = ()) -> Drift:
        """Return the state of the test, given the share of the records that count."""
        hits, n_held_out = self.held_out[: self.n_models].sum(axis=0).tolist()
        waits = self.n > 0 and self.when is None
        return Drift(
            what=self.what,
            alarm=self.when is not None,
            when=self.when,
            n=self.n,
            share=share,
            expected=hits / n_held_out if n_held_out else float("nan"),
            interval=exact_interval(hits, n_held_out),
            limit=float(self.limits[: self.n_models].mean()),
            evidence=self.evidence,
            threshold=self.threshold,
            false_alarm_rate=self.false_alarm_rate,
            n_models=self.n_models,
            n_held_out=n_held_out,
            n_needed=self.bets.n_needed(self.n, log(self.threshold)) if waits else None,
            n_unstated=n_unstated,
            parts=parts,
        )


class SequentialRateTest(RateTest):
    """Test of one rate in a stream, by one or several models with equal stakes.

    It depends on the counts of each batch alone, so that the order of records within one does not matter.

    Parameters
    ----------
    what : str
        What is counted.
    held_out : ndarray of int, shape (n_models, 2)
        Held-out records that count, and all of them, for each model.
    false_alarm_rate : float
    """

    def __init__(self, what: str, held_out: IntArray, false_alarm_rate: float) -> None:
        n = len(held_out)
        super().__init__(what, held_out, np.full(n, 1.0 / n), n, false_alarm_rate)
        # A rise of the odds by the factor r changes the likelihood of n records, s of which count, by the factor
        # r**s / (1 + (r - 1) * limit)**n.
        self._log_normalizer = np.log1p((ODDS_RATIOS - 1.0) * self.limits[:, None])
        self.batches: list[list[int]] = []  # numbers of records, and of those that count by each model
        self.since = 0  # about the number of records before the rise, at the alarm

    def add(self, n: int, hits: list[int]) -> None:
        """Add a batch of `n` records; `hits` of them count by each model."""
        self.batches.append([n, *hits])
        if self.bet(np.asarray(hits)[:, None] * np.log(ODDS_RATIOS) - n * self._log_normalizer, n):
            self.since = self.bets.since(list(range(len(hits))))

    def state(self) -> Drift:
        """Return the state of the test."""
        n_hits = sum(sum(hits) for _, *hits in self.batches)
        return self.state_with(n_hits / (self.n * self.n_models) if self.n else float("nan"))
