"""Values of the texts in a file: numbers where they are plainly that, labels, missing values."""

from collections.abc import Iterable
from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from sepc.common.errors import InputError
from sepc.tables.cells import MISSING_TEXTS

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
# With signs between the thousands, or a comma before the decimals: what is meant depends on the country.
_OTHER_NUMBER = r"^\s*[+-]?(\d{1,3}([.,' \x{a0}\x{202f}]\d{3})+([.,]\d+)?|\d*,\d+)\s*$"
_WITH_COMMA = r"^(\s*[+-]?\d*),(\d+\s*)$"
_WHOLE_NUMBER = r"^(0|-?[1-9]\d{0,17})$"
_MANY_LABELS = 50
# A text column with so many different numbers, and so few other texts, was meant to hold numbers.
_MANY_NUMBERS = 30
_FEW_STRAYS = 0.2


class CellParser:
    """Parser of the columns of one file.

    Parameters
    ----------
    missing : iterable of str, optional
        Texts of missing values, besides those that every table knows (`sepc.tables.cells.MISSING_TEXTS`).
    delimiter : str, optional
        Of the file. Where it is a semicolon, a comma may be a decimal point.

    Examples
    --------
    >>> CellParser(["unknown"]).cells(pa.array(["1.5", "unknown", ""])).to_pylist()
    [1.5, None, None]
    >>> CellParser(delimiter=";").cells(pa.array(["1,5"])).to_pylist()
    [1.5]
    >>> CellParser().cells(pa.array(["1,5", " x"])).to_pylist()
    ['1,5', ' x']
    """

    def __init__(self, missing: Iterable[str] = (), delimiter: str | None = None) -> None:
        self.missing = pa.array(["", *missing])
        self.decimal_comma = delimiter == ";"

    def cells(self, column: pa.Array) -> pa.Array:
        """Return a column of texts as numbers if Arrow can read them all, else as texts; others as they are.

        What is left as texts may still be numbers: the table encoder looks closer, and names what is none.
        """
        if not is_text(column):
            return column
        if pa.types.is_string(column.type) and (numbers := _cast(column)) is not None:
            return numbers
        text = self.texts(column)
        if self.decimal_comma:
            text = compute.replace_substring_regex(text, _WITH_COMMA, r"\1.\2")
        numbers = _cast(text)
        return text if numbers is None else numbers

    def texts(self, column: pa.Array) -> pa.Array:
        """Return a column as texts, null where the value is missing.

        Examples
        --------
        >>> CellParser(["unknown"]).texts(pa.array(["01", "", "unknown"])).to_pylist()
        ['01', None, None]
        """
        text = compute.cast(column, pa.string())
        return compute.if_else(compute.is_in(text, value_set=self.missing), None, text)


def _cast(text: pa.Array) -> pa.Array | None:
    """Return texts as numbers; None if some are none, or too large to be one: then the text says more."""
    try:
        numbers = compute.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None
    return None if compute.any(compute.is_inf(numbers)).as_py() else numbers


def is_text(column: pa.Array) -> bool:
    """Return whether a column is text, and no category.

    Examples
    --------
    >>> is_text(pa.array(["a"])), is_text(pa.array([1])), is_text(pa.array(["a"]).dictionary_encode())
    (True, False, False)
    """
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def parse_labels(column: pa.Array, cell_parser: CellParser, name: str) -> NDArray[Any]:
    """Return labels: whole numbers if all are, else the texts as they stand; None where one is missing.

    Parameters
    ----------
    column : pyarrow.Array of n values
    cell_parser : CellParser
    name : str
        Of the column, for messages.

    Returns
    -------
    ndarray of int or object, shape (n,)

    Examples
    --------
    >>> parse_labels(pa.array(["1", "0"]), CellParser(), "y").tolist()
    [1, 0]
    >>> parse_labels(pa.array(["01", "NA", "0"]), CellParser(), "y").tolist()
    ['01', None, '0']
    """
    text = cell_parser.texts(column)
    text = compute.if_else(_is_missing(text), None, text)
    different = text.unique().drop_null()
    _require_class_labels(different, name)
    labels = np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)
    if not len(different) or not compute.all(compute.match_substring_regex(different, _WHOLE_NUMBER)).as_py():
        return labels
    whole = compute.cast(text, pa.int64())
    return np.array(whole.to_pylist(), dtype=object if text.null_count else np.int64)


def _is_missing(text: pa.Array) -> pa.Array:
    lowered = compute.utf8_lower(compute.utf8_trim_whitespace(text))
    return compute.is_in(lowered, value_set=pa.array(sorted(MISSING_TEXTS)))


def _require_class_labels(different: pa.Array, name: str) -> None:
    if len(different) <= _MANY_LABELS:
        return
    if compute.all(compute.match_substring_regex(different, _NUMBER)).as_py():
        raise InputError(
            f"column {name!r} holds {len(different)} different numbers, such as {different[0].as_py()}; expected the "
            "labels of classes. Check --target, or sort the numbers into classes first."
        )


def require_no_strays(column: pa.Array, name: str) -> None:
    """Raise an `InputError` if texts stand among the many numbers of a column: as a category it would be lost.

    Parameters
    ----------
    column : pyarrow.Array of str
    name : str

    Examples
    --------
    >>> require_no_strays(pa.array([*map(str, range(100)), "old"]), "age")
    Traceback (most recent call last):
    sepc.common.errors.InputError: column 'age' holds numbers, but 'old' in row 101; expected numbers only. Correct \
it, or say what is meant: --missing old if it stands for no value, --category age if these are no numbers, --drop age.
    """
    different = column.unique().drop_null()
    different = different.filter(compute.invert(_is_missing(different)))
    is_number = compute.match_substring_regex(different, _NUMBER)
    others = different.filter(compute.invert(is_number))
    in_other_ways = others.filter(compute.match_substring_regex(others, _OTHER_NUMBER))
    n_strays = len(others) - len(in_other_ways)
    n_numbers = len(different) - n_strays
    if n_numbers < _MANY_NUMBERS or n_strays > _FEW_STRAYS * len(different):
        return
    if len(in_other_ways):
        raise _refusal(column, name, in_other_ways[0].as_py(), "digits with nothing between them but a decimal point")
    if n_strays:
        raise _refusal(column, name, others[0].as_py(), "numbers only")


def _refusal(column: pa.Array, name: str, stray: str, rule: str) -> InputError:
    return InputError(
        f"column {name!r} holds numbers, but {stray!r} in row {compute.index(column, stray).as_py() + 1}; expected "
        f"{rule}. Correct it, or say what is meant: {_option('--missing', stray)} if it stands for no value, "
        f"{_option('--category', name)} if these are no numbers, {_option('--drop', name)}."
    )


def _option(name: str, value: str) -> str:
    """Return an option as a shell takes it."""
    return f"{name}{'=' if value.startswith('-') else ' '}{quote(value)}"
