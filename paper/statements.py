"""Statements of the paper as data, and verdicts on them by what comes out."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from math import inf, isfinite
from statistics import median_low
from typing import NamedTuple

import numpy as np

from sepc.common.text import percent

Values = Mapping[str, Sequence[float]]

RULE = (
    "A statement *matches* if the median over the runs of each of its numbers lies in the range that the paper's "
    "words or rounding allow; a larger count or a share from one split that nobody knows may be off by a tenth, or by "
    "three points. It *matches in part* if that holds for some of its numbers, if all of them lie there in one and the "
    "same run, or if another reading that was tried comes to it. Else it *differs*. A verdict is *borderline* if runs "
    "drawn again from those that were made, as many as they are, give another one in more than a twentieth of 400 "
    "draws."
)
# From so many runs on the verdict is tried on runs drawn again; so many draws; and which share may differ.
_ENOUGH_RUNS, _N_DRAWS, _UNSTEADY = 20, 400, 0.05


class Spread(NamedTuple):
    """Values over seeds: how many there are, their (lower) median, the smallest and the largest.

    Examples
    --------
    >>> spread([3.0, 5.0, float("nan"), 4.0])
    Spread(n=3, median=4.0, low=3.0, high=5.0)
    """

    n: int
    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of what is a number among some values.

    Examples
    --------
    >>> spread([1.0, 2.0]).median
    1.0
    """
    known = [value for value in values if isfinite(value)]
    if not known:
        return Spread(0, float("nan"), float("nan"), float("nan"))
    return Spread(len(known), float(median_low(known)), min(known), max(known))


def in_words(value: float, kind: str) -> str:
    """Return a number as the page shows it.

    Parameters
    ----------
    value : float
    kind : {"count", "share", "number", "yes"}

    Examples
    --------
    >>> in_words(30162.0, "count"), in_words(0.5252, "share"), in_words(0.00562, "number"), in_words(1.0, "yes")
    ('30162', '52.5 %', '0.0056', 'yes')
    """
    if not isfinite(value):
        return "none"
    if kind == "yes":
        return "yes" if value else "no"
    if kind == "share":
        return percent(value)
    if kind == "count":
        return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"


def spread_in_words(values: Sequence[float], kind: str) -> str:
    """Return the median and the range of values; once if all are the same.

    Examples
    --------
    >>> spread_in_words([0.5, 0.7, 0.9], "share"), spread_in_words([3.0, 3.0], "count")
    ('70 % (50 % to 90 %)', '3')
    """
    n, middle, low, high = spread(values)
    words = [in_words(value, kind) for value in (middle, low, high)]
    return words[0] if len(set(words)) == 1 or not n else f"{words[0]} ({words[1]} to {words[2]})"


class Expectation(NamedTuple):
    """A number of the paper: which measure it is about, and from where to where its words or rounding let it lie.

    Examples
    --------
    >>> Expectation("paper.n_iter", "iterations", "count", 4, 4).holds(4.0)
    True
    """

    measure: str
    text: str
    kind: str
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Return whether a value lies in the range."""
        return self.low <= value <= self.high

    def range_in_words(self) -> str:
        """Return the range as the page shows it."""
        if self.low == self.high:
            return in_words(self.low, self.kind)
        if self.high == inf:
            return f"at least {in_words(self.low, self.kind)}"
        if self.low in (0.0, -inf):
            return f"at most {in_words(self.high, self.kind)}"
        return f"{in_words(self.low, self.kind)} to {in_words(self.high, self.kind)}"


class Kind(StrEnum):
    """Kinds of verdicts."""

    MATCHES = "matches"
    IN_PART = "matches in part"
    DIFFERS = "differs"


class Verdict(NamedTuple):
    """Verdict on a statement of the paper.

    Attributes
    ----------
    kind : Kind
    sentence : str
        What came out, number by number.
    borderline : str
        What runs drawn again would say, if the verdict moves with the seeds; else empty.
    """

    kind: Kind
    sentence: str
    borderline: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper.

    Attributes
    ----------
    text : str
        What the paper says, in our words.
    reported : str
        Its numbers.
    expects : tuple of Expectation
        All must hold.
    others : tuple of tuples of Expectation
        The same under other readings that were tried.
    note : callable, optional
        Turns the values into a further sentence.
    reason : str
        Why it does not match, in one line that a reader can check; shown where it does not.
    example : str
        A small case that a reader can run, as a doctest.

    Examples
    --------
    >>> four = Statement("Separated after 4 iterations.", "4", (Expectation("n_iter", "iterations", "count", 4, 4),))
    >>> four.verdict({"n_iter": [4.0, 4.0, 5.0]}).sentence
    'Iterations: 4 (4 to 5), expected 4 (in 2 of 3 runs).'
    """

    text: str
    reported: str
    expects: tuple[Expectation, ...]
    others: tuple[tuple[Expectation, ...], ...] = ()
    note: Callable[[Values], str] | None = None
    reason: str = ""
    example: str = ""

    def verdict(self, values: Values) -> Verdict:
        """Return the verdict by the values of its measures, one for each seed.

        Parameters
        ----------
        values : dict of str to sequence of float

        Returns
        -------
        Verdict
        """
        kind = self._kind(values)
        parts = ["; ".join(_outcome(e, values) for e in self.expects)]
        if self.others and kind is not Kind.MATCHES:
            parts.append(self._of_others(values))
        if self.note:
            parts.append(self.note(values))
        sentence = " ".join(f"{part[0].upper()}{part[1:].removesuffix('.')}." for part in parts)
        return Verdict(kind, sentence, self._borderline(kind, values))

    def _borderline(self, kind: Kind, values: Values) -> str:
        """Say what runs drawn again would say, if that is often something else."""
        expectations = [*self.expects, *(e for reading in self.others for e in reading)]
        own = {e.measure: np.array(values[e.measure], dtype=np.float64) for e in expectations}
        n = len(next(iter(own.values())))
        if n < _ENOUGH_RUNS:
            return ""
        draws = np.random.default_rng(0).integers(n, size=(_N_DRAWS, n))
        drawn = Counter(self._kind({name: column[rows].tolist() for name, column in own.items()}) for rows in draws)
        if drawn[kind] >= (1.0 - _UNSTEADY) * _N_DRAWS:
            return ""
        others = (other for other in Kind if drawn[other] and other is not kind)
        told = " and ".join(f"{other.value} in {percent(drawn[other] / _N_DRAWS)}" for other in others)
        return f"borderline: other seeds may say otherwise ({told} of the draws)"

    def _kind(self, values: Values) -> Kind:
        middle = [_is_met(e, values) for e in self.expects]
        if all(middle):
            return Kind.MATCHES
        columns = ([e.holds(value) for value in values[e.measure]] for e in self.expects)
        in_one_run = any(all(run) for run in zip(*columns, strict=True))
        otherwise = any(_are_met(reading, values) for reading in self.others)
        return Kind.IN_PART if any(middle) or in_one_run or otherwise else Kind.DIFFERS

    def _of_others(self, values: Values) -> str:
        """Say which other readings come to the paper's numbers; if none does, how far they go, number by number."""
        met = [e for reading in self.others if _are_met(reading, values) for e in reading]
        if met:
            return "another reading comes to it: " + "; ".join(_outcome(e, values) for e in met)
        numbers = zip_longest(*self.others)
        reach = " and ".join(_reach_in_words([e for e in number if e], values) for number in numbers)
        return f"no other reading that was tried comes to it; they give {reach}"

    def line(self, values: Values) -> str:
        """Return the reason of the verdict in one line: what came out where it matches, else what explains it."""
        if self._kind(values) is not Kind.MATCHES:
            return self.reason
        ours = self.ours(values)
        return ours[0].upper() + ours[1:]

    def ours(self, values: Values) -> str:
        """Return what came out for each of its numbers."""
        words = [f"{e.text}: {spread_in_words(values[e.measure], e.kind)}" for e in self.expects]
        return "; ".join(words)


def _reach_in_words(same: Sequence[Expectation], values: Values) -> str:
    """Return from where to where one number of the paper goes under several readings."""
    reach = spread([value for e in same for value in values[e.measure]])
    low, high = (in_words(value, same[0].kind) for value in (reach.low, reach.high))
    return low if low == high else f"{low} to {high}"


def _n_held(e: Expectation, values: Values) -> int:
    return sum(map(e.holds, values[e.measure]))


def _are_met(reading: Sequence[Expectation], values: Values) -> bool:
    return all(_is_met(e, values) for e in reading)


def _is_met(e: Expectation, values: Values) -> bool:
    return e.holds(spread(values[e.measure]).median)


def _outcome(e: Expectation, values: Values) -> str:
    """Return what came out of one number, and how often it was in the range."""
    n = spread(values[e.measure]).n
    if not n:
        return f"{e.text}: there was nothing to measure"
    held = _n_held(e, values)
    how_often = "in every run" if held == n else f"in {held} of {n} runs" if held else "in no run"
    came_out = spread_in_words(values[e.measure], e.kind)
    if came_out == e.range_in_words():
        return f"{e.text}: {came_out} in every run"
    return f"{e.text}: {came_out}, expected {e.range_in_words()} ({how_often})"
