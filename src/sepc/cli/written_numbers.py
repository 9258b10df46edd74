"""Numbers as texts write them: decimal commas, signs between thousands, percent, currencies."""

from dataclasses import dataclass
from functools import cache

import pyarrow as pa
from pyarrow import compute

from sepc.tables.notation import DECIMALS, ColumnNotation

PERCENT = "%"
_SPACES = " \\x{a0}\\x{202f}\\x{2009}"
# Between thousands, besides the one of comma and point that is not the decimal sign.
_APOSTROPHES = "'\u2019"
_CURRENCY = r"(?:\p{Sc}|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK)\b)"
_UNIT = rf"(?P<unit>%|{_CURRENCY})"
_UNIT_BEFORE = rf"^([+-]?)\s*{_CURRENCY}\s*"
_UNIT_BEHIND = rf"\s*(?:%|{_CURRENCY})$"
_MARK = "[.,]"
_SAMPLE = 1000


@dataclass(frozen=True)
class WrittenNumbers:
    """What texts show of how their numbers are written.

    Attributes
    ----------
    decimals : frozenset of {".", ","}
        Decimal signs by which all of them can be read.
    has_mark : bool
        Whether a point or comma occurs at all.
    example : str
        One that shows the notation best.
    units : tuple of str
        Percent signs and currencies, each once.
    all_have_unit : bool
    plain : str or None
        The decimal sign by which they are bare digits, with nothing between thousands.
    """

    decimals: frozenset[str]
    has_mark: bool
    example: str
    units: tuple[str, ...]
    all_have_unit: bool
    plain: str | None = None

    @property
    def is_ambiguous(self) -> bool:
        """Whether two readings give different numbers."""
        return self.has_mark and len(self.decimals) > 1

    @property
    def certain_decimal(self) -> str | None:
        """The only decimal sign that fits; None if both do, or none is seen."""
        return next(iter(self.decimals)) if self.has_mark and len(self.decimals) == 1 else None


def look_at_numbers(text: pa.Array, thousands: str | None = None, is_bare: bool = False) -> WrittenNumbers | None:
    """Return how the numbers in texts without gaps may be written; None if some are no numbers at all.

    Parameters
    ----------
    text : pyarrow.Array of str
        At least one.
    thousands : str, optional
        What alone may stand between thousands.
    is_bare : bool, default=False
        Whether it is known that they are bare digits with a decimal point, if any; then they are not read once more.
    """
    quick = _look_quickly(text, thousands, is_bare)
    if quick is not None:
        return quick
    if not compute.all(is_number_somehow(text.slice(0, _SAMPLE))).as_py():
        return None
    bare = without_unit(text)
    fits = {decimal: compute.match_substring_regex(bare, pattern(decimal, thousands)) for decimal in DECIMALS}
    if not compute.all(compute.or_(*fits.values())).as_py():
        return None
    marked = compute.match_substring_regex(bare, _MARK)
    units = _units(text)
    return WrittenNumbers(
        decimals=frozenset(decimal for decimal, match in fits.items() if compute.all(match).as_py()),
        has_mark=compute.any(marked).as_py(),
        example=_telling(text, marked),
        units=tuple(units.unique().drop_null().to_pylist()),
        all_have_unit=units.null_count == 0,
    )


def _look_quickly(text: pa.Array, thousands: str | None, is_bare: bool) -> WrittenNumbers | None:
    """Return what `look_at_numbers` does, for bare digits with one decimal sign; None for other texts."""
    for decimal, other in (DECIMALS, DECIMALS[::-1]):
        numbers = None if is_bare else cast_bare(text, decimal)
        if not is_bare and (numbers is None or compute.any(compute.is_inf(numbers)).as_py()):
            continue
        decimals = {decimal}
        by_other = pattern(other, thousands)
        # Most columns show in their first rows that the other sign cannot be meant.
        if all(compute.all(compute.match_substring_regex(part, by_other)).as_py() for part in (text[:_SAMPLE], text)):
            decimals.add(other)
        marked = compute.match_substring(text, decimal)
        has_mark = bool(compute.any(marked).as_py())
        return WrittenNumbers(frozenset(decimals), has_mark, _telling(text, marked), (), False, decimal)
    return None


def cast_bare(text: pa.Array, decimal: str) -> pa.Array | None:
    """Return bare digits as numbers, quickly; None if there is anything else."""
    if decimal == ",":
        if compute.any(compute.match_substring(text, ".")).as_py():
            return None
        text = compute.replace_substring(text, ",", ".")
    try:
        # Other texts mostly show in the first rows; a cast of all of them would make an error of each.
        compute.cast(text[:_SAMPLE], pa.float64())
        return compute.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None


def _units(text: pa.Array) -> pa.Array:
    """Return the unit of each text, null where it has none."""
    return compute.struct_field(compute.extract_regex(text, _UNIT), "unit")


def _telling(text: pa.Array, marked: pa.Array) -> str:
    """Return a text with a mark in it, if there is one; the longest of the first, which shows most."""
    some = text.filter(marked)
    return str(max((some if len(some) else text).slice(0, 20).to_pylist(), key=len))


def are_written_in_two_ways(text: pa.Array) -> tuple[str, str] | None:
    """Return two numbers that cannot have the same decimal sign; None if there are no such."""
    bare = without_unit(text)
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
    """Return what may stand between thousands, for a class of characters."""
    if thousands is None:
        other = "" if decimal is None else DECIMALS[decimal == "."]
        return other + _APOSTROPHES + _SPACES
    return _SPACES if thousands.isspace() else _APOSTROPHES if thousands in _APOSTROPHES else thousands


def without_unit(text: pa.Array) -> pa.Array:
    """Return texts without the blanks around them, and without one unit before or behind the number."""
    trimmed = compute.utf8_trim_whitespace(text)
    if not compute.any(compute.match_substring_regex(trimmed, _UNIT)).as_py():
        return trimmed
    bare = compute.replace_substring_regex(trimmed, _UNIT_BEFORE, r"\1")
    behind = compute.replace_substring_regex(trimmed, _UNIT_BEHIND, "")
    return compute.if_else(compute.equal(bare, trimmed), behind, bare)


def thousands_in(text: pa.Array, decimal: str | None) -> str | None:
    """Return what stands between the thousands of numbers; None if nothing does, or several signs do."""
    bare = without_unit(text)
    signs = {"'": _APOSTROPHES, " ": _SPACES} | ({} if decimal is None else {DECIMALS[decimal == "."]: ""})
    found = [sign for sign in signs if _holds(bare, signs[sign] or sign)]
    return found[0] if len(found) == 1 else None


def _holds(text: pa.Array, signs: str) -> bool:
    return bool(compute.any(compute.match_substring_regex(text, f"[{signs}]")).as_py())


def likely_decimal(text: pa.Array) -> str:
    """Return the decimal sign by which most of the texts are numbers, the point if both fit as many."""
    bare = without_unit(text)
    return max(DECIMALS, key=lambda d: compute.sum(compute.match_substring_regex(bare, pattern(d))).as_py() or 0)


def parse_numbers(text: pa.Array, notation: ColumnNotation) -> tuple[pa.Array, pa.Array]:
    """Return texts as numbers, null where there is no text; and which of them are none in this notation.

    A number with a percent sign is a hundredth: 12.5% is 0.125. A currency is left out.

    Parameters
    ----------
    text : pyarrow.Array of str, n of them
    notation : ColumnNotation

    Returns
    -------
    numbers : pyarrow.Array of n floats
    is_bad : pyarrow.Array of n bools
        Null where there is no text.
    """
    bare = without_unit(text)
    is_bad = compute.invert(compute.match_substring_regex(bare, pattern(notation.decimal, notation.thousands)))
    is_bad = compute.or_(is_bad, _has_another_unit(text, notation.unit))
    digits = compute.replace_substring_regex(bare, f"[{_between(notation.decimal, notation.thousands)}]", "")
    if notation.decimal == ",":
        digits = compute.replace_substring(digits, ",", ".")
    numbers = compute.cast(compute.if_else(is_bad, None, digits), pa.float64())
    return (compute.divide(numbers, 100.0) if notation.unit == PERCENT else numbers), is_bad


def _has_another_unit(text: pa.Array, unit: str) -> pa.Array:
    """Return which texts have another unit; a currency may be left out, a percent sign may not."""
    found = _units(text)
    if unit != PERCENT:
        return compute.fill_null(compute.not_equal(found, unit), False)
    return compute.fill_null(compute.not_equal(found, PERCENT), True)


def is_number_somehow(different: pa.Array) -> pa.Array:
    """Return which texts are numbers, whatever the decimal sign."""
    bare = without_unit(different)
    return compute.or_(*(compute.match_substring_regex(bare, pattern(decimal)) for decimal in DECIMALS))
