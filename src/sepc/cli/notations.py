"""How the columns of a file are written: by what they show, by what a model remembers, or by what options say."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TypeVar

import pyarrow as pa

from sepc.cli.console import note
from sepc.cli.written_dates import ORDER_IN_WORDS, WrittenDates, have_short_years, look_at_dates, parse_dates
from sepc.cli.written_numbers import (
    PERCENT,
    WrittenNumbers,
    are_written_in_two_ways,
    likely_decimal,
    look_at_numbers,
    parse_numbers,
    thousands_in,
)
from sepc.common.errors import InputError
from sepc.common.text import shortened
from sepc.tables.notation import DECIMALS, ColumnNotation

_MARK_IN_WORDS = {".": "decimal point", ",": "decimal comma"}
_BETWEEN_IN_WORDS = {".": "points", ",": "commas", "'": "apostrophes", " ": "blanks"}
T = TypeVar("T")


@dataclass(frozen=True)
class GivenNotation:
    """What options say of how a file is written; None where they say nothing.

    Attributes
    ----------
    decimal, thousands : str or None
    date : {"dmy", "mdy"} or None
    delimiter : str or None
        Of the file. Where it is a comma, a point in a number is a decimal point unless something tells otherwise.
    usual_delimiter : str or None
        Of the file that a model has learned from. Where the two differ, its numbers may be written differently, too.
    """

    decimal: str | None = None
    thousands: str | None = None
    date: str | None = None
    delimiter: str | None = None
    usual_delimiter: str | None = None

    @property
    def default_decimal(self) -> str | None:
        """The decimal sign where nothing tells: commas that part columns leave the point; else none is sure."""
        return "." if self.delimiter in (None, ",") else None

    @property
    def is_another_form(self) -> bool:
        """Whether the file is not of the form that a model has learned from."""
        return None not in (self.delimiter, self.usual_delimiter) and self.delimiter != self.usual_delimiter

    @property
    def decimal_sign(self) -> str | None:
        """The decimal sign that follows from both."""
        return DECIMALS[self.thousands == "."] if self.thousands in DECIMALS else self.decimal


def find_notations(
    columns: Mapping[str, pa.Array],
    given: GivenNotation,
    remembered: Mapping[str, ColumnNotation],
    bare: Collection[str] = (),
) -> dict[str, ColumnNotation]:
    """Return how the columns are written that hold numbers or dates and nothing else.

    What options say comes first, then what a column shows that can be read in one way only. What can be read in two
    ways is read as the model remembers it, if the columns that leave no choice are written like that; else as these
    are; else it is refused.

    Parameters
    ----------
    columns : dict of str to pyarrow.Array of str
        Null where a value is missing.
    given : GivenNotation
    remembered : dict of str to ColumnNotation
        Of the file that a model has learned from.
    bare : collection of str, optional
        Columns that are known to hold bare digits with a decimal point, if any.

    Returns
    -------
    dict of str to ColumnNotation
    """
    numbers: dict[str, WrittenNumbers] = {}
    dates: dict[str, WrittenDates] = {}
    for name, text in columns.items():
        known = text.drop_null()
        if not len(known):
            continue
        if (seen := look_at_numbers(known, given.thousands, name in bare)) is not None:
            numbers[name] = seen
        elif (seen_dates := look_at_dates(known)) is not None:
            dates[name] = seen_dates
        else:
            _require_one_way(name, known)
    decimals = _decimals(numbers, given, remembered)
    orders = _orders(dates, given, remembered)
    found = {
        name: _of_numbers(name, columns[name], seen, decimals[name], given, remembered.get(name))
        for name, seen in numbers.items()
    }
    return found | {name: ColumnNotation(date=order) for name, order in orders.items()}


def _require_one_way(name: str, known: pa.Array) -> None:
    """Raise an error if all texts are dates, but for the century."""
    if have_short_years(known):
        raise InputError(
            f"column {name!r} holds dates with years of two digits, such as {known[0].as_py()!r}; expected four, such "
            f"as 31.01.2020. Write them so, or say what else is meant: {_instead(name)}."
        )


def _instead(name: str) -> str:
    return f"--categorical-features {quote(name)}, --drop {quote(name)}"


def _only(values: Iterable[T]) -> T | None:
    """Return what all values are; None if there are several, or none."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _decimals(
    numbers: Mapping[str, WrittenNumbers], given: GivenNotation, remembered: Mapping[str, ColumnNotation]
) -> dict[str, str | None]:
    if given.decimal_sign is not None:
        for name, seen in numbers.items():
            if seen.has_mark and given.decimal_sign not in seen.decimals:
                raise InputError(
                    f"column {name!r} holds {seen.example!r}, which is no number with a "
                    f"{_MARK_IN_WORDS[given.decimal_sign]}. Correct --decimal or --thousands, or say what else is "
                    f"meant: {_instead(name)}."
                )
        return dict.fromkeys(numbers, given.decimal_sign)
    before = {name: one.decimal for name, one in remembered.items() if one.decimal is not None}
    certain = {name: seen.certain_decimal for name, seen in numbers.items() if seen.certain_decimal is not None}
    alike = not given.is_another_form and all(before.get(name, d) == d for name, d in certain.items())
    found: dict[str, str | None] = {}
    for name, seen in numbers.items():
        usual = (before.get(name) if alike else None) or _only(certain.values())
        usual = usual or (_only(before.values()) if alike else None)
        by_default = given.default_decimal if seen.has_mark and "," not in seen.example else None
        found[name] = certain.get(name) or usual or by_default
        if found[name] is None and seen.is_ambiguous:
            raise _two_readings(name, seen, bool(certain))
    return found


def _two_readings(name: str, seen: WrittenNumbers, others_differ: bool) -> InputError:
    value = {decimal: _value(seen.example, ColumnNotation(decimal, unit=_unit_of(seen))) for decimal in DECIMALS}
    why = "The other columns are written in both ways" if others_differ else "Nothing in the file tells"
    return InputError(
        f"column {name!r} holds {seen.example!r}: is that {value[',']} or {value['.']}? {why}. Say it: "
        f"--decimal , for {value[',']}, --decimal . for {value['.']}; or {_instead(name)}."
    )


def _unit_of(seen: WrittenNumbers) -> str:
    return seen.units[0] if seen.units else ""


def _of_numbers(
    name: str,
    text: pa.Array,
    seen: WrittenNumbers,
    decimal: str | None,
    given: GivenNotation,
    before: ColumnNotation | None,
) -> ColumnNotation:
    if not seen.decimals:
        one, other = are_written_in_two_ways(text.drop_null()) or (seen.example, seen.example)
        raise InputError(
            f"column {name!r} holds {one!r} and {other!r}, numbers that are written in two ways; expected one. "
            f"Correct it, or say what is meant: {_instead(name)}."
        )
    thousands = given.thousands or (None if decimal == seen.plain else thousands_in(text, decimal))
    if before is None or before.date is not None:
        _require_one_unit(name, seen)
        return ColumnNotation(decimal, thousands, _unit_of(seen))
    _require_unit_as_before(name, seen, before.unit)
    if thousands is None and decimal == before.decimal:
        thousands = before.thousands
    return ColumnNotation(decimal, thousands, _unit_of(seen) or before.unit)


def _require_one_unit(name: str, seen: WrittenNumbers) -> None:
    if len(seen.units) > 1:
        units = " and ".join(map(repr, seen.units))
        raise InputError(
            f"column {name!r} holds numbers in {units}; expected one unit. Convert them first, or say what is meant: "
            f"{_instead(name)}."
        )
    if _unit_of(seen) == PERCENT and not seen.all_have_unit:
        raise InputError(
            f"column {name!r} holds numbers with % and without; expected one kind, since 50% is 0.5 here. Correct it, "
            f"or say what is meant: {_instead(name)}."
        )


def _require_unit_as_before(name: str, seen: WrittenNumbers, before: str) -> None:
    _require_one_unit(name, seen)
    unit = _unit_of(seen)
    if unit == before or (PERCENT not in (unit, before) and "" in (unit, before)):
        return
    raise InputError(
        f"column {name!r} holds {seen.example!r}; the model has learned numbers {_with_unit(before)} there. "
        f"Write the file alike, or fit a model to numbers {_with_unit(unit)}."
    )


def _with_unit(unit: str) -> str:
    return f"in {unit}" if unit else "without a sign behind them"


def _orders(
    dates: Mapping[str, WrittenDates], given: GivenNotation, remembered: Mapping[str, ColumnNotation]
) -> dict[str, str]:
    certain = {name: seen.orders[0] for name, seen in dates.items() if len(seen.orders) == 1}
    found = {}
    for name, seen in dates.items():
        before = remembered[name].date if name in remembered else None
        common = _only(order for order in certain.values() if order in ("dmy", "mdy"))
        order = certain.get(name) or given.date or common or before
        if order in ("dmy", "mdy") and given.date not in (None, order):
            raise InputError(
                f"column {name!r} has dates such as {seen.example!r}, which cannot all be {ORDER_IN_WORDS[given.date]}."
                f" Correct --date {given.date}, or the dates."
            )
        if order not in seen.orders:
            day_first, month_first = (_value(seen.example, ColumnNotation(date=one)) for one in ("dmy", "mdy"))
            raise InputError(
                f"column {name!r} holds {seen.example!r}: is that {day_first} or {month_first}? Nothing in the file "
                f"tells. Say it: --date dmy for {day_first}, --date mdy for {month_first}; or {_instead(name)}."
            )
        found[name] = order
    return found


def notation_of_strays(text: pa.Array, others: Iterable[ColumnNotation]) -> ColumnNotation:
    """Return how a column of numbers is most likely written that holds something else too."""
    common = _only(one.decimal for one in others if one.decimal is not None)
    return ColumnNotation(common or likely_decimal(text))


def common_decimal(notations: Iterable[ColumnNotation]) -> str:
    """Return the decimal sign of a file: a comma, if no column shows a point."""
    return _only(one.decimal for one in notations if one.decimal is not None) or "."


def tell_notations(
    columns: Mapping[str, pa.Array],
    found: Mapping[str, ColumnNotation],
    remembered: Mapping[str, ColumnNotation],
    bare: Collection[str] = (),
) -> None:
    """Say how columns are read that are written in an unusual way, unless a model has learned it so."""
    alike: dict[ColumnNotation, dict[str, str]] = {}
    # Where both signs occur, neither goes without saying.
    signs = DECIMALS if {",", "."} <= {notation.decimal for notation in found.values()} else (",",)
    for name, notation in found.items():
        if name in bare and notation.decimal not in signs:
            continue  # digits and points, read as everybody reads them
        example = _example(columns[name].drop_null(), notation)
        if remembered.get(name) != notation and _in_words(notation, example, signs):
            alike.setdefault(notation, {})[name] = example
    for notation, examples in alike.items():
        words = {example: _in_words(notation, example, signs) for example in examples.values()}
        example = max(words, key=lambda one: len(words[one]))
        note(f"{shortened(examples, 6)}: {example!r} is read as {_value(example, notation)} ({words[example]})")


def _example(known: pa.Array, notation: ColumnNotation) -> str:
    if notation.date is None and (seen := look_at_numbers(known, notation.thousands)) is not None:
        return seen.example
    return str(known[0].as_py())


def _in_words(notation: ColumnNotation, example: str, signs: Sequence[str]) -> str:
    """Return what is unusual in an example of a notation."""
    if notation.date is not None:
        return "" if notation.date == "ymd" else ORDER_IN_WORDS[notation.date]
    words = [_MARK_IN_WORDS[sign] for sign in signs if sign == notation.decimal and sign in example]
    between = thousands_in(pa.array([example]), notation.decimal)
    if between is not None:
        words.append(f"{_BETWEEN_IN_WORDS[between]} between thousands")
    if notation.unit:
        words.append("a percentage is a share of 1" if notation.unit == PERCENT else f"amounts in {notation.unit}")
    return ", ".join(words)


def _value(example: str, notation: ColumnNotation) -> str:
    """Return what a text is read as, in a text that leaves no doubt."""
    text = pa.array([example])
    if notation.date is not None:
        return str(parse_dates(text, notation.date)[0].cast(pa.string())[0].as_py()).removesuffix(" 00:00:00.000000")
    number = parse_numbers(text, notation)[0][0].as_py()
    return str(int(number)) if number is not None and number.is_integer() else str(number)
