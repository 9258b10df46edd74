"""Values of the texts in a file: numbers and dates in the notation of each column, missing values."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import replace
from shlex import quote

import pyarrow as pa
from pyarrow import compute

from sepc.cli.notations import GivenNotation, common_decimal, find_notations, instead_of, note_notations
from sepc.cli.written_amounts import is_amount_of_most, is_number_with_marks, is_two_numbers
from sepc.cli.written_dates import is_date_somehow, looks_like_date, parse_dates
from sepc.cli.written_numbers import cast_bare, is_number_somehow, likely_decimal, parse_numbers
from sepc.cli.written_times import is_time
from sepc.common.errors import InputError
from sepc.common.typing import LARGEST_COORDINATE
from sepc.tables.cells import LARGEST_EXACT, MISSING_TEXTS, NUMBER_RULE, CellError, are_long_names
from sepc.tables.notation import CLOCK, ColumnNotation, TextNotation

_WITHOUT_WIDTH = r"[\x{200b}-\x{200f}\x{2060}\x{feff}]"
_UNUSUAL = rf"[\x{{2212}}\x{{ff0b}}-\x{{ff19}}]|{_WITHOUT_WIDTH}"


class CellParser:
    """Parser of the columns of one file.

    Parameters
    ----------
    missing : iterable of str, optional
        Texts of missing values, besides `sepc.tables.cells.MISSING_TEXTS`; a number means all of its notations.
    given : GivenNotation, optional
        Notation by options.
    remembered : dict of str to ColumnNotation, optional
        Notation of the file that a model was fitted to.

    Attributes
    ----------
    notations : dict of str to ColumnNotation
        Of columns of numbers and dates; empty before `look_at`.
    """

    def __init__(
        self,
        missing: Iterable[str] = (),
        given: GivenNotation | None = None,
        remembered: Mapping[str, ColumnNotation] | None = None,
    ) -> None:
        self.missing = pa.array(["", *missing])
        numbers, _ = parse_numbers(self.missing, ColumnNotation("."))
        self.missing_numbers = numbers.drop_null()
        self.given = given or GivenNotation()
        self.remembered = remembered or {}
        self.notations: dict[str, ColumnNotation] = {}
        self._bare: dict[str, tuple[pa.Array, pa.Array]] = {}  # columns of bare digits, and their numbers

    @classmethod
    def of(cls, options: Namespace, delimiter: str | None, remembered: TextNotation | None = None) -> "CellParser":
        """Return the parser for the options of a command, and the notation that a model remembers."""
        before = remembered or TextNotation()
        signs = {name: getattr(options, name, None) for name in ("decimal", "thousands", "date")}
        given = GivenNotation(**signs, delimiter=delimiter, usual_delimiter=before.separator)
        return cls(options.missing, given, before.columns)

    def look_at(self, columns: Mapping[str, pa.Array]) -> None:
        """Find the notation of columns, by the texts of a file or of its beginning; print notes on unusual ones."""
        texts = {}
        for name, column in columns.items():
            if is_text(column):
                text = self.texts(column)
                numbers = cast_bare(text, ".")
                # Texts of finite numbers have no blanks around them, and no words for missing values among them.
                if numbers is not None and compute.all(compute.is_finite(numbers)).as_py() is not False:
                    self._bare[name] = column, numbers
                else:
                    text = self._known_texts(column)
                if not _are_names(text):
                    texts[name] = text
        self.notations = find_notations(texts, self.given, self.remembered, self._bare)
        note_notations(texts, self.notations, self.remembered, self._bare)

    def take_as_learned(self, columns: Mapping[str, pa.Array]) -> None:
        """Take columns for numbers, or for dates if a model remembers these, even with other texts among them.

        `values` then refuses the other texts.
        """
        for name, column in columns.items():
            if name not in self.notations and is_text(column):
                decimal = common_decimal(self.notations.values()) or likely_decimal(self._known_texts(column))
                self.notations[name] = self.remembered.get(name) or ColumnNotation(decimal)

    def values(self, name: str, column: pa.Array, rows_before: int = 0) -> pa.Array:
        """Return a column of texts as numbers or dates, or as texts if it holds others; other columns unchanged.

        `rows_before` is the number of rows of the file above, for messages.
        """
        if not is_text(column):
            return self._without_missing(_typed(name, column))
        notation = self.notations.get(name)
        if notation is None:
            return self.texts(column)
        if notation.date is not None:
            return self._dates(name, column, notation.date, rows_before)
        if notation.decimal is None:
            notation = replace(notation, decimal=self.given.default_decimal)
        quick = notation.decimal is not None and not notation.unit
        looked_at, numbers = self._bare.get(name, (None, None))
        if looked_at is not column or not quick or notation.decimal != ".":
            numbers = cast_bare(self.texts(column), str(notation.decimal)) if quick else None
        if numbers is None:
            text = self._known_texts(column)
            numbers, is_bad = parse_numbers(text, notation)
            require_none(name, text, is_bad, rows_before, _number_rule(notation))
        is_large = compute.greater(compute.abs(numbers), LARGEST_COORDINATE)
        require_none(name, column, is_large, rows_before, NUMBER_RULE)
        return self._without_missing(numbers)

    def _without_missing(self, values: pa.Array) -> pa.Array:
        """Return a column without the numbers that stand for missing values."""
        kind = values.type
        if not len(self.missing_numbers) or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return values
        found = compute.is_in(compute.cast(values, pa.float64(), safe=False), value_set=self.missing_numbers)
        return compute.if_else(found, None, values)

    def _dates(self, name: str, column: pa.Array, order: str, rows_before: int) -> pa.Array:
        text = self._known_texts(column)
        dates, is_bad = parse_dates(text, order)
        if order == "ymd" and compute.any(is_bad).as_py():
            return text  # the table encoder parses more of these, such as time zones
        example = {"dmy": "31.01.2024", "mdy": "01/31/2024"}.get(order, "31 Jan 2024")
        require_none(name, text, is_bad, rows_before, f"a date such as {example}, as in the other rows")
        return dates

    def texts(self, column: pa.Array) -> pa.Array:
        """Return a column as texts, null where the value is missing."""
        text = compute.cast(column, pa.string())
        is_missing_here = compute.is_in(text, value_set=self.missing)
        return compute.if_else(is_missing_here, None, text) if compute.any(is_missing_here).as_py() else text

    def _known_texts(self, column: pa.Array) -> pa.Array:
        """Return texts stripped of blanks, null for all missing values."""
        text = compute.utf8_trim_whitespace(_plain(self.texts(column)))
        return compute.if_else(is_missing(text), None, text)


def _plain(text: pa.Array) -> pa.Array:
    """Return texts with ASCII digits and minus signs, and without characters that take no space."""
    if not compute.any(compute.match_substring_regex(text, _UNUSUAL)).as_py():
        return text
    text = compute.replace_substring_regex(compute.utf8_normalize(text, "NFKC"), _WITHOUT_WIDTH, "")
    return compute.replace_substring(text, "\u2212", "-")


def _typed(name: str, column: pa.Array) -> pa.Array:
    """Return a column that is no text as numbers, dates or truths of a type that all commands know."""
    require_flat(name, column)
    if pa.types.is_float16(column.type):
        return compute.cast(column, pa.float32())
    if pa.types.is_time(column.type):
        return _hours(compute.cast(column, pa.time64("us")))
    return _hours(compute.cast(column, pa.duration("us"))) if pa.types.is_duration(column.type) else column


def _hours(times: pa.Array) -> pa.Array:
    """Return microseconds in hours, as times such as 13:45 are read."""
    return compute.divide(compute.cast(compute.cast(times, pa.int64()), pa.float64()), 3.6e9)


def require_flat(name: str, column: pa.Array) -> None:
    """Raise an `InputError` for a column of lists, structs or maps."""
    if pa.types.is_nested(column.type):
        raise InputError("column-nested", name=name, type=column.type, instead=f"--drop {quote(name)}")


def _are_names(text: pa.Array) -> bool:
    """Return whether texts are numbers with more digits than a float holds, and so names."""
    n_digits = len(str(LARGEST_EXACT))
    without_point = text.filter(compute.invert(compute.match_substring(text, ".")))  # quicker than the pattern
    if not compute.any(compute.match_substring_regex(without_point, rf"^[+-]?\d{{{n_digits},}}$")).as_py():
        return False
    return are_long_names(text.unique().drop_null().to_pylist())


def require_none(name: str, column: pa.Array, is_bad: pa.Array, rows_before: int, rule: str) -> None:
    """Raise a `CellError` for the first cell that is bad by its flag."""
    row = compute.index(is_bad, True).as_py()
    if row >= 0:
        raise CellError("cell-value", column=name, value=column[row].as_py(), row=rows_before + row + 1, rule=rule)


def _number_rule(notation: ColumnNotation) -> str:
    if notation.unit == CLOCK:
        return "a time such as 13:45"
    comma = " with a decimal comma" if notation.decimal == "," else ""
    unit = f" in {notation.unit}" if notation.unit else ""
    point = "" if notation.decimal else " without a point or comma, unless --decimal says which is which"
    return f"a finite number{comma}{unit}{point}"


def is_text(column: pa.Array) -> bool:
    """Return whether a column is text, and no category."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_missing(text: pa.Array) -> pa.Array:
    """Return which texts stand for missing values in every table."""
    lowered = compute.utf8_lower(compute.utf8_trim_whitespace(text))
    return compute.is_in(lowered, value_set=pa.array(sorted(MISSING_TEXTS)))


_UNREADABLE = {
    "date-unreadable": looks_like_date,
    "two-numbers": is_two_numbers,
    "number-with-marks": is_number_with_marks,
}
_KINDS = {
    "numbers": is_number_somehow,
    "dates": is_date_somehow,
    "times": is_time,
    "amounts in one unit": is_amount_of_most,
}


def require_no_strays(column: pa.Array, name: str) -> None:
    """Raise an `InputError` for texts whose values would be lost: a few among many numbers or dates, two in one text.

    Many are 10 different ones, few a fifth of all different texts.
    """
    different = column.unique().drop_null()
    different = different.filter(compute.invert(is_missing(different)))
    if not len(different):
        return
    for kind, is_one in _KINDS.items():
        fits = is_one(different)
        strays = different.filter(compute.invert(fits))
        n_strays, n_fits = len(strays), len(different) - len(strays)
        # Digits without a letter, such as (1,234) or 1,23,456, were meant to be numbers, too.
        digits_only = n_strays <= n_fits and not compute.any(compute.match_substring_regex(strays, r"\p{L}")).as_py()
        if n_strays and n_fits >= 10 and (n_strays <= 0.2 * len(different) or digits_only):
            raise _refusal(column, name, strays[0].as_py(), kind)
    for code, looks_so in _UNREADABLE.items():
        found = different.filter(looks_so(different))
        if len(found) >= max(10, 0.8 * len(different)):
            example = found[0].as_py()
            row = compute.index(column, example).as_py() + 1
            raise InputError(code, name=name, example=example, row=row, instead=instead_of(name))


def _refusal(column: pa.Array, name: str, stray: str, kind: str) -> InputError:
    return InputError(
        "stray-value",
        name=name,
        kind=kind,
        stray=stray,
        row=compute.index(column, stray).as_py() + 1,
        missing_option=_option("--missing", stray),
        categorical_option=_option("--categorical-features", name),
        drop_option=_option("--drop", name),
    )


def _option(name: str, value: str) -> str:
    """Return an option as a shell takes it."""
    return f"{name}{'=' if value.startswith('-') else ' '}{quote(value)}"
