"""Columns of amounts with a unit, of times, and of two numbers in one text: 23.3 mg, 13:45, 120/80."""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
from pyarrow import compute

from sepc.cli.written_numbers import SAMPLE, WrittenNumbers, is_number_somehow, look_at_numbers
from sepc.cli.written_times import is_time
from sepc.cli.written_units import is_known, split_amounts
from sepc.tables.notation import CLOCK

_NUMBER = r"\d+(?:[.,]\d+)?"
_PART = r"(?:[hdmsyw]|hours?|hrs?|days?|weeks?|years?|months?|mins?|secs?|wks?|yrs?|mo|feet|ft|in|lbs?|oz|kg|km|cm)\.?"
_MARKS = r"(?:\s*[^\p{L}\d.,\s-]\s*)"
_BETWEEN = rf"(?:\s*{_PART}\s*{_MARKS}*|{_MARKS}+|\s*x\s*|,\s+)"
_TWO_NUMBERS = (
    rf"(?i)^(?:{_MARKS}*[+-]?{_NUMBER}{_BETWEEN}[+-]?{_NUMBER}\s*(?:{_PART})?{_MARKS}*|P(?:\d+D)?T(?:{_NUMBER}[HMS])+|"
    r"\d+ days?,? .*\d:\d\d)$"
)
_MARKED = (
    rf"^(?:{_MARKS}+[+-]?{_NUMBER}{_MARKS}*|[+-]?{_NUMBER}{_MARKS}+|[+-]?\d[\d.,]*\s*--?|"
    r"[+-]?\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d*)?|[+-]?\d+ +\d+/\d+)$"
)


def look_at_amounts(text: pa.Array, thousands: str | None = None) -> WrittenNumbers | None:
    """Return how one or more amounts are written, none missing; None unless all are numbers with a unit.

    Several units, or numbers without one among them, count only if all of these units are known ones.
    """
    for part in (text[:SAMPLE], text):  # other texts mostly show in the first rows
        numbers, units = split_amounts(part)
        without = part.filter(compute.is_null(units))
        if len(without) == len(part) or compute.all(is_number_somehow(without)).as_py() is False:
            return None
    different = [*units.unique().drop_null().to_pylist(), *([""] if len(without) else [])]
    if len(different) > 1 and not all(map(is_known, filter(None, different))):
        return None
    bare = compute.coalesce(numbers, text)
    seen = look_at_numbers(bare, thousands)
    if seen is None:
        return None
    example = text[compute.index(bare, seen.example).as_py()].as_py()
    return replace(seen, example=example, units=tuple(different), all_have_unit=not len(without), plain=None)


def look_at_times(text: pa.Array) -> WrittenNumbers | None:
    """Return how one or more times are written, none missing; None unless all are times."""
    for part in (text[:SAMPLE], text):
        if not compute.all(is_time(part)).as_py():
            return None
    return WrittenNumbers(frozenset("."), False, str(text[0].as_py()), (CLOCK,), True)


def is_amount_of_most(different: pa.Array) -> pa.Array:
    """Return which texts are numbers with the most frequent unit, if that is a known one."""
    units = split_amounts(different)[1]
    counted = Counter(units.drop_null().to_pylist())
    most = counted.most_common(1)[0][0] if counted else ""
    return compute.fill_null(compute.equal(units, most if is_known(most) else None), False)


def is_two_numbers(different: pa.Array) -> pa.Array:
    """Return which texts are two numbers: 120/80, 20 x 30, 5.1 ± 0.2, 3h 20m, PT3H20M; ranges such as 5-9 are none."""
    return compute.match_substring_regex(different, _TWO_NUMBERS)


def is_number_with_marks(different: pa.Array) -> pa.Array:
    """Return which texts are a number among marks, or in another form: '5.1', 5.1*, ="5.1", 5.1-, 1,23,456, 2 1/2."""
    return compute.match_substring_regex(different, _MARKED)
