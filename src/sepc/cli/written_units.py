"""Units of numbers as texts write them: a percent sign, a currency, and others such as mg."""

import re

import pyarrow as pa
from pyarrow import compute

PERCENT = "%"
SPACES = " \\x{a0}\\x{202f}\\x{2009}"
_CURRENCY = r"(?:\p{Sc}|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK)\b)"
_SIGN = rf"(?P<unit>%|{_CURRENCY})"
_LETTER = r"°µμΩ‰\p{L}"
_AMOUNT = (
    rf"^(?P<number>[+-]?[.,]?\d[\d.,'\x{{2019}}{SPACES}]*(?:[eE][+-]?\d+)?)[{SPACES}]*"
    rf"(?P<unit>[{_LETTER}][{_LETTER}\d²³⁻¹/·^.]{{0,15}}|/[{SPACES}]*\d+)$"
)
# Units that are hardly codes: where several occur in a column, the numbers cannot be compared.
_BASE = r"(?:[pnµμumcdkM]?(?:g|m|l|L|s|W|Hz|Wh|V|A|J|cal|Pa|bar|mol|eq|IU|U)|[kMGT]?(?:B|iB|bit|byte))(?:\^?[23²³])?"
_KNOWN = re.compile(
    rf"{_BASE}(?:/{_BASE})?|°[CF]?|min|h|hr|hour|d|day|wk|week|mo|month|y|yr|year|sec|second|minute|lb|oz|in|ft|yd|mi|"
    r"mile|mph|kph|km/h|rpm|bpm|/min|mmHg|ppm|ppb|k|K|M|Mio|mn|bn|mln|gram|kilo|meter|metre|liter|litre|ton|tonne"
)


def is_known(unit: str) -> bool:
    """Return whether a unit is one of many that are no code; most single capital letters may be one."""
    return _KNOWN.fullmatch(unit) is not None and not (len(unit) == 1 and unit.isupper() and unit not in "KMB")


def is_strict(unit: str) -> bool:
    """Return whether numbers without the unit mean something else, as without a percent sign, and unlike a currency."""
    return bool(unit) and not compute.match_substring_regex(pa.array([unit]), f"^{_CURRENCY}$")[0].as_py()


def signs_of(text: pa.Array) -> pa.Array:
    """Return the percent sign or currency of each text, null without one."""
    return compute.struct_field(compute.extract_regex(text, _SIGN), "unit")


def split_amounts(text: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return numbers with a unit behind them as texts, and their units, in the singular; both null for other texts."""
    if not compute.any(compute.match_substring_regex(text, r"\d")).as_py():  # the pattern below takes long to compile
        nothing = pa.nulls(len(text), text.type)
        return nothing, nothing
    parts = compute.extract_regex(compute.utf8_trim_whitespace(text), _AMOUNT)
    number, unit = (compute.struct_field(parts, name) for name in ("number", "unit"))
    unit = compute.replace_substring_regex(unit, rf"\.$|[{SPACES}]", "")
    return compute.utf8_trim_whitespace(number), compute.replace_substring_regex(unit, r"^(\p{L}+[a-rtv-z])s$", r"\1")


def without_unit(text: pa.Array, unit: str = "") -> pa.Array:
    """Return texts stripped of blanks, and of the unit; by default of a percent sign or currency, on either side."""
    trimmed = compute.utf8_trim_whitespace(text)
    if is_strict(unit) and unit != PERCENT:
        numbers, units = split_amounts(trimmed)
        return compute.if_else(compute.fill_null(compute.equal(units, unit), False), numbers, trimmed)
    if not compute.any(compute.match_substring_regex(trimmed, _SIGN)).as_py():
        return trimmed
    bare = compute.replace_substring_regex(trimmed, rf"^([+-]?)\s*{_CURRENCY}\s*", r"\1")
    behind = compute.replace_substring_regex(trimmed, rf"\s*(?:%|{_CURRENCY})$", "")
    return compute.if_else(compute.equal(bare, trimmed), behind, bare)


def has_another_unit(text: pa.Array, unit: str) -> pa.Array:
    """Return which texts have another unit, or none where numbers without one mean something else."""
    if not is_strict(unit):
        return compute.fill_null(compute.not_equal(signs_of(text), unit), False)
    units = signs_of(text) if unit == PERCENT else split_amounts(text)[1]
    return compute.fill_null(compute.not_equal(units, unit), True)
