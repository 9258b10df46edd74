"""Numbers as texts write them: decimal commas and thousands separators, with or without a unit."""

from dataclasses import dataclass
from functools import cache

import pyarrow as pa
from pyarrow import compute

from sepc.cli.written_times import parse_times
from sepc.cli.written_units import PERCENT, SPACES, has_another_unit, signs_of, without_unit
from sepc.tables.notation import CLOCK, DECIMALS, ColumnNotation

_APOSTROPHES = "'\u2019"
SAMPLE = 1000


@dataclass(frozen=True)
class WrittenNumbers:
    """Evidence of the notation of numbers in their texts."""

    decimals: frozenset[str]  # decimal signs with which all texts are numbers
    has_mark: bool  # whether a point or comma occurs
    example: str  # the text that shows the notation best
    units: tuple[str, ...]  # percent signs, currencies and others, each once; empty for numbers without among others
    all_have_unit: bool
    plain: str | None = None  # the decimal sign with which all are digits without thousands separators

    @property
    def unit(self) -> str:
        """The first unit; empty if there is none."""
        return self.units[0] if self.units else ""

    @property
    def is_ambiguous(self) -> bool:
        """Whether the two decimal signs give different numbers."""
        return self.has_mark and len(self.decimals) > 1

    @property
    def certain_decimal(self) -> str | None:
        """The only decimal sign that fits; None if both do, or none occurs."""
        return next(iter(self.decimals)) if self.has_mark and len(self.decimals) == 1 else None


def look_at_numbers(text: pa.Array, thousands: str | None = None, is_bare: bool = False) -> WrittenNumbers | None:
    """Return how the numbers in one or more texts, none missing, may be written; None if some are no numbers.

    Parameters
    ----------
    text : pyarrow.Array of str
    thousands : str, optional
        The only thousands separator to accept.
    is_bare : bool, default=False
        Whether all are known to be digits with at most a decimal point, so that they need not be parsed again.
    """
    quick = _look_quickly(text, thousands, is_bare)
    if quick is not None:
        return quick
    if not compute.all(is_number_somehow(text.slice(0, SAMPLE))).as_py():
        return None
    bare = without_unit(text)
    fits = {decimal: compute.match_substring_regex(bare, pattern(decimal, thousands)) for decimal in DECIMALS}
    if not compute.all(compute.or_(*fits.values())).as_py():
        return None
    marked = compute.match_substring_regex(bare, "[.,]")
    units = signs_of(text)
    return WrittenNumbers(
        decimals=frozenset(decimal for decimal, match in fits.items() if compute.all(match).as_py()),
        has_mark=compute.any(marked).as_py(),
        example=_best_example(text, marked),
        units=tuple(units.unique().drop_null().to_pylist()),
        all_have_unit=units.null_count == 0,
    )


def _look_quickly(text: pa.Array, thousands: str | None, is_bare: bool) -> WrittenNumbers | None:
    """Return the result of `look_at_numbers` for bare digits with one decimal sign; None for other texts."""
    for decimal, other in (DECIMALS, DECIMALS[::-1]):
        numbers = None if is_bare else cast_bare(text, decimal)
        if not is_bare and (numbers is None or compute.any(compute.is_inf(numbers)).as_py()):
            continue
        decimals = {decimal}
        by_other = pattern(other, thousands)
        # Most columns show in their first rows that the other sign cannot be meant.
        if all(compute.all(compute.match_substring_regex(part, by_other)).as_py() for part in (text[:SAMPLE], text)):
            decimals.add(other)
        marked = compute.match_substring(text, decimal)
        has_mark = bool(compute.any(marked).as_py())
        return WrittenNumbers(frozenset(decimals), has_mark, _best_example(text, marked), (), False, decimal)
    return None


def cast_bare(text: pa.Array, decimal: str) -> pa.Array | None:
    """Return bare digits as numbers; None if there is anything else."""
    if decimal == ",":
        if compute.any(compute.match_substring(text, ".")).as_py():
            return None
        text = compute.replace_substring(text, ",", ".")
    try:
        # Other texts mostly show in the first rows; a cast of all of them would make an error of each.
        compute.cast(text[:SAMPLE], pa.float64())
        return compute.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None


def _best_example(text: pa.Array, marked: pa.Array) -> str:
    """Return the longest of the first 20 texts with a point or comma, of all texts if none has one."""
    some = text.filter(marked)
    return str(max((some if len(some) else text).slice(0, 20).to_pylist(), key=len))


def are_written_in_two_ways(text: pa.Array, unit: str) -> tuple[str, str] | None:
    """Return two numbers that cannot have the same decimal sign; None if there are none."""
    bare = without_unit(text, unit)
    fits = [compute.match_substring_regex(bare, pattern(decimal)) for decimal in DECIMALS]
    only = [text.filter(compute.and_not(one, other)) for one, other in (fits, fits[::-1])]
    return (only[0][0].as_py(), only[1][0].as_py()) if all(map(len, only)) else None


@cache
def pattern(decimal: str | None, thousands: str | None = None) -> str:
    """Return the pattern of numbers without a unit; `decimal` None allows neither point nor comma."""
    groups = rf"[1-9]\d{{0,2}}(?:[{_between(decimal, thousands)}]\d{{3}})+"
    if decimal is None:
        return rf"^[+-]?(?:{groups}|\d+)(?:[eE][+-]?\d+)?$"
    point = f"[{decimal}]"
    return rf"^[+-]?(?:(?:{groups}|\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?$"


def _between(decimal: str | None, thousands: str | None) -> str:
    """Return the thousands separators, for a class of characters in a pattern."""
    if thousands is None:
        other = "" if decimal is None else DECIMALS[decimal == "."]
        return other + _APOSTROPHES + SPACES
    return SPACES if thousands.isspace() else _APOSTROPHES if thousands in _APOSTROPHES else thousands


def thousands_in(text: pa.Array, decimal: str | None, unit: str) -> str | None:
    """Return the thousands separator of numbers; None if there are none, or several."""
    bare = without_unit(text, unit)
    signs = {"'": _APOSTROPHES, " ": SPACES} | ({} if decimal is None else {DECIMALS[decimal == "."]: ""})
    found = [sign for sign in signs if _holds(bare, signs[sign] or sign)]
    return found[0] if len(found) == 1 else None


def _holds(text: pa.Array, signs: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(text, f"[{signs}]")).as_py())


def likely_decimal(text: pa.Array) -> str:
    """Return the decimal sign with which most of the texts are numbers, the point if both fit equally many."""
    bare = without_unit(text)
    return max(DECIMALS, key=lambda d: compute.sum(compute.match_substring_regex(bare, pattern(d))).as_py() or 0)


def parse_numbers(text: pa.Array, notation: ColumnNotation) -> tuple[pa.Array, pa.Array]:
    """Return texts as numbers, and which of them are no numbers in this notation; both null where a text is missing.

    12.5% becomes 0.125, 13:45 becomes 13.75; the unit of an amount is dropped.
    """
    if notation.unit == CLOCK:
        return parse_times(text)
    bare = without_unit(text, notation.unit)
    is_bad = compute.invert(compute.match_substring_regex(bare, pattern(notation.decimal, notation.thousands)))
    is_bad = compute.or_(is_bad, has_another_unit(text, notation.unit))
    digits = compute.replace_substring_regex(bare, f"[{_between(notation.decimal, notation.thousands)}]", "")
    if notation.decimal == ",":
        digits = compute.replace_substring(digits, ",", ".")
    numbers = compute.cast(compute.if_else(is_bad, None, digits), pa.float64())
    return (compute.divide(numbers, 100.0) if notation.unit == PERCENT else numbers), is_bad


def is_number_somehow(different: pa.Array) -> pa.Array:
    """Return which texts are numbers with either decimal sign."""
    bare = without_unit(different)
    return compute.or_(*(compute.match_substring_regex(bare, pattern(decimal)) for decimal in DECIMALS))
