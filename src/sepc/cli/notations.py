"""Notation of the columns of a file: by options, by their texts, or by the notation that a model remembers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TypeVar

import pyarrow as pa
from pyarrow import compute

from sepc.cli.console import note
from sepc.cli.written_amounts import look_at_amounts, look_at_times
from sepc.cli.written_dates import (
    ORDER_IN_WORDS,
    are_in_two_orders,
    have_short_years,
    parse_dates,
    possible_orders,
    telling_date,
)
from sepc.cli.written_numbers import (
    WrittenNumbers,
    are_written_in_two_ways,
    look_at_numbers,
    parse_numbers,
    thousands_in,
)
from sepc.cli.written_times import are_written_in_two_forms
from sepc.cli.written_units import PERCENT, is_strict, signs_of, split_amounts
from sepc.common.errors import InputError
from sepc.common.messages import message
from sepc.common.text import shortened
from sepc.tables.notation import CLOCK, DECIMALS, ColumnNotation

_MARK_IN_WORDS = {".": "decimal point", ",": "decimal comma"}
_BETWEEN_IN_WORDS = {".": "points", ",": "commas", "'": "apostrophes", " ": "blanks"}
T = TypeVar("T")


@dataclass(frozen=True)
class GivenNotation:
    """Notation of a file by the options of a command; None where they do not specify it."""

    decimal: str | None = None
    thousands: str | None = None
    date: str | None = None  # "dmy" or "mdy"
    delimiter: str | None = None  # of this file
    usual_delimiter: str | None = None  # of the file that a model was fitted to

    @property
    def default_decimal(self) -> str | None:
        """Decimal sign without other evidence: a point, if commas separate columns; else unknown."""
        return "." if self.delimiter in (None, ",") else None

    @property
    def is_another_form(self) -> bool:
        """Whether the delimiter differs from that in training; then the notation of numbers may differ, too."""
        return None not in (self.delimiter, self.usual_delimiter) and self.delimiter != self.usual_delimiter

    @property
    def decimal_sign(self) -> str | None:
        """Decimal sign by `decimal`, or as the one that is not `thousands`."""
        return DECIMALS[self.thousands == "."] if self.thousands in DECIMALS else self.decimal


def find_notations(
    columns: Mapping[str, pa.Array],
    given: GivenNotation,
    remembered: Mapping[str, ColumnNotation],
    bare: Collection[str] = (),
) -> dict[str, ColumnNotation]:
    """Return the notation of the columns that hold numbers or dates only.

    Options come first, then texts that allow a single notation. Ambiguous texts take the notation that the model
    remembers, if the unambiguous columns agree with it; else that of these columns; else they are refused.

    Parameters
    ----------
    columns : dict of str to pyarrow.Array of str
        Null where a value is missing.
    given : GivenNotation
    remembered : dict of str to ColumnNotation
        Of the file that a model was fitted to.
    bare : collection of str, optional
        Columns that are known to hold digits with at most a decimal point.
    """
    numbers: dict[str, WrittenNumbers] = {}
    dates: dict[str, tuple[str, ...]] = {}
    for name, text in columns.items():
        known = text.drop_null()
        if not len(known):
            continue
        if (seen := look_at_numbers(known, given.thousands, name in bare)) is not None:
            numbers[name] = seen
        elif possible := possible_orders(known):
            dates[name] = possible
        elif have_short_years(known):
            raise InputError("date-two-digit-years", name=name, example=known[0].as_py(), instead=instead_of(name))
        elif (orders := are_in_two_orders(known)) is not None:
            raise InputError("date-orders-mixed", name=name, one=orders[0], other=orders[1], instead=instead_of(name))
        elif (seen := look_at_times(known) or look_at_amounts(known, given.thousands)) is not None:
            numbers[name] = seen
    decimals = _decimals(numbers, given, remembered)
    found = {
        name: _of_numbers(name, columns[name], seen, decimals[name], given, remembered.get(name))
        for name, seen in numbers.items()
    }
    certain = {possible[0] for possible in dates.values() if len(possible) == 1}
    common = _only(certain & {"dmy", "mdy"})
    for name, possible in dates.items():
        before = remembered[name].date if name in remembered else None
        example = telling_date(columns[name].drop_null())
        found[name] = ColumnNotation(date=_order(name, example, possible, given.date, common or before))
    return found


def instead_of(name: str) -> str:
    """Return the options that say that a column holds no numbers or dates."""
    return f"--categorical-features {quote(name)}, --drop {quote(name)}"


def _only(values: Iterable[T]) -> T | None:
    """Return the only different value; None if there are several, or none."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def _decimals(
    numbers: Mapping[str, WrittenNumbers], given: GivenNotation, remembered: Mapping[str, ColumnNotation]
) -> dict[str, str | None]:
    if given.decimal_sign is not None:
        for name, seen in numbers.items():
            if seen.has_mark and given.decimal_sign not in seen.decimals:
                raise InputError(
                    "number-mark-contradicted",
                    name=name,
                    example=seen.example,
                    mark=_MARK_IN_WORDS[given.decimal_sign],
                    instead=instead_of(name),
                )
        return dict.fromkeys(numbers, given.decimal_sign)
    before = {name: one.decimal for name, one in remembered.items() if one.decimal is not None}
    certain = {name: seen.certain_decimal for name, seen in numbers.items() if seen.certain_decimal is not None}
    alike = not given.is_another_form and all(before.get(name, d) == d for name, d in certain.items())
    found: dict[str, str | None] = {}
    of_others = _only(certain.values()) or (_only(before.values()) if alike else None)
    for name, seen in numbers.items():
        usual = (before.get(name) if alike else None) or of_others
        by_default = given.default_decimal if seen.has_mark and "," not in seen.example else None
        found[name] = certain.get(name) or usual or by_default
        if found[name] is None and seen.is_ambiguous:
            raise _ambiguous(name, seen, bool(certain))
    return found


def _ambiguous(name: str, seen: WrittenNumbers, others_differ: bool) -> InputError:
    value = {decimal: _value(seen.example, ColumnNotation(decimal, unit=seen.unit)) for decimal in DECIMALS}
    why = message("columns-written-both-ways" if others_differ else "nothing-in-file-tells")
    return InputError(
        "decimal-mark-unclear",
        name=name,
        example=seen.example,
        with_comma=value[","],
        with_point=value["."],
        why=why,
        instead=instead_of(name),
    )


def _of_numbers(
    name: str,
    text: pa.Array,
    seen: WrittenNumbers,
    decimal: str | None,
    given: GivenNotation,
    before: ColumnNotation | None,
) -> ColumnNotation:
    if not seen.decimals:
        one, other = are_written_in_two_ways(text.drop_null(), seen.unit) or (seen.example, seen.example)
        raise InputError("decimal-marks-mixed", name=name, one=one, other=other, instead=instead_of(name))
    _require_one_unit(name, seen, text.drop_null())
    if seen.unit == CLOCK:
        _require_unit_as_before(name, seen, before)
        return ColumnNotation(unit=CLOCK)
    thousands = given.thousands or (None if decimal == seen.plain else thousands_in(text, decimal, seen.unit))
    _require_unit_as_before(name, seen, before)
    if before is None or before.date is not None:
        return ColumnNotation(decimal, thousands, seen.unit)
    if thousands is None and decimal == before.decimal:
        thousands = before.thousands
    return ColumnNotation(decimal, thousands, seen.unit or before.unit)


def _require_one_unit(name: str, seen: WrittenNumbers, known: pa.Array) -> None:
    if seen.unit == CLOCK:
        if forms := are_written_in_two_forms(known):
            raise InputError("times-mixed", name=name, one=forms[0], other=forms[1], instead=instead_of(name))
        return
    if len(seen.units) > 1:
        units_of = compute.fill_null(compute.coalesce(split_amounts(known)[1], signs_of(known)), "")
        examples = {unit: known[compute.index(units_of, unit).as_py()].as_py() for unit in seen.units}
        units = " and ".join(
            f"{unit!r} ({examples[unit]!r})" if unit else f"none ({examples['']!r})" for unit in examples
        )
        raise InputError("units-mixed", name=name, units=units, instead=instead_of(name))
    if seen.unit == PERCENT and not seen.all_have_unit:
        raise InputError("percent-mixed", name=name, instead=instead_of(name))


def _require_unit_as_before(name: str, seen: WrittenNumbers, notation: ColumnNotation | None) -> None:
    before = seen.unit if notation is None or notation.date is not None else notation.unit
    if seen.unit == before or ("" in (seen.unit, before) and not is_strict(seen.unit or before)):
        return
    raise InputError(
        "unit-differs-from-model", name=name, example=seen.example, before=_with_unit(before), now=_with_unit(seen.unit)
    )


def _with_unit(unit: str) -> str:
    return f"in {unit}" if unit else "without a sign behind them"


def _order(name: str, example: str, possible: tuple[str, ...], given: str | None, usual: str | None) -> str:
    order = possible[0] if len(possible) == 1 else given or usual
    if order in ("dmy", "mdy") and given not in (None, order):
        raise InputError(
            "date-order-contradicted", name=name, example=example, order=ORDER_IN_WORDS[given], option=given
        )
    if order not in possible:
        day_first, month_first = (_value(example, ColumnNotation(date=one)) for one in ("dmy", "mdy"))
        raise InputError(
            "date-order-unclear",
            name=name,
            example=example,
            day_first=day_first,
            month_first=month_first,
            instead=instead_of(name),
        )
    return order


def common_decimal(notations: Iterable[ColumnNotation]) -> str | None:
    """Return the decimal sign of all columns that show one; None if they differ, or none does."""
    return _only(one.decimal for one in notations if one.decimal is not None)


def note_notations(
    columns: Mapping[str, pa.Array],
    found: Mapping[str, ColumnNotation],
    remembered: Mapping[str, ColumnNotation],
    bare: Collection[str] = (),
) -> None:
    """Print notes on columns in an unusual notation, unless a model remembers it."""
    alike: dict[ColumnNotation, dict[str, str]] = {}
    # Where both decimal signs occur, both are worth a note.
    signs = DECIMALS if {",", "."} <= {notation.decimal for notation in found.values()} else (",",)
    for name, notation in found.items():
        if name in bare and notation.decimal not in signs:
            continue
        example = _example(columns[name].drop_null(), notation)
        if remembered.get(name) != notation and _in_words(notation, example, signs):
            alike.setdefault(notation, {})[name] = example
    for notation, examples in alike.items():
        words = {example: _in_words(notation, example, signs) for example in examples.values()}
        example = max(words, key=lambda one: len(words[one]))
        columns_of_it, value = shortened(examples, 6), _value(example, notation)
        note("read-as", columns=columns_of_it, example=example, value=value, notation=words[example])


def _example(known: pa.Array, notation: ColumnNotation) -> str:
    if notation.date is None and (seen := look_at_numbers(known, notation.thousands)) is not None:
        return seen.example
    return str(known[0].as_py())


def _in_words(notation: ColumnNotation, example: str, signs: Sequence[str]) -> str:
    """Return the unusual parts of a notation that an example has."""
    if notation.date is not None:
        return "" if notation.date == "ymd" else ORDER_IN_WORDS[notation.date]
    if notation.unit == CLOCK:
        return "times, in hours"
    words = [_MARK_IN_WORDS[sign] for sign in signs if sign == notation.decimal and sign in example]
    between = thousands_in(pa.array([example]), notation.decimal, notation.unit)
    if between is not None:
        words.append(f"{_BETWEEN_IN_WORDS[between]} between thousands")
    if notation.unit:
        words.append("a percentage is a share of 1" if notation.unit == PERCENT else f"amounts in {notation.unit}")
    return ", ".join(words)


def _value(example: str, notation: ColumnNotation) -> str:
    """Return the value of a text, as an unambiguous text."""
    text = pa.array([example])
    if notation.date is not None:
        return str(parse_dates(text, notation.date)[0].cast(pa.string())[0].as_py()).removesuffix(" 00:00:00.000000")
    number = parse_numbers(text, notation)[0][0].as_py()
    if notation.unit == CLOCK and number is not None:
        return f"{number:.6g}"
    return str(int(number)) if number is not None and number.is_integer() else str(number)
