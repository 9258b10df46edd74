"""Labels in a column of a file: whole numbers if all are, else texts without the blanks around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from sepc.cli.cell_values import CellParser, is_missing
from sepc.cli.console import note
from sepc.cli.written_numbers import is_number_somehow
from sepc.common.errors import InputError
from sepc.common.text import shortened

_WHOLE_NUMBER = r"^(0|-?[1-9]\d{0,17})$"
_MANY_LABELS = 50
_PAIRS_SHOWN = 3


def parse_labels(column: pa.Array, cell_parser: CellParser, name: str) -> NDArray[Any]:
    """Return labels: whole numbers if all are, else the texts, without blanks around them; None where one is missing.

    Parameters
    ----------
    column : pyarrow.Array of n values
    cell_parser : CellParser
    name : str
        Of the column, for messages.

    Returns
    -------
    ndarray of int or object, shape (n,)
    """
    text = compute.utf8_trim_whitespace(cell_parser.texts(column))
    text = compute.if_else(is_missing(text), None, text)
    different = text.unique().drop_null()
    _require_class_labels(different, name)
    _require_no_nul(text, name)
    labels = np.asarray(text.to_numpy(zero_copy_only=False), dtype=object)
    if not len(different) or not compute.all(compute.match_substring_regex(different, _WHOLE_NUMBER)).as_py():
        _tell_lookalikes(different.to_pylist(), name)
        return labels
    whole = compute.cast(text, pa.int64())
    return np.array(whole.to_pylist(), dtype=object if text.null_count else np.int64)


def _require_class_labels(different: pa.Array, name: str) -> None:
    if len(different) <= _MANY_LABELS:
        return
    if compute.all(is_number_somehow(different)).as_py():
        raise InputError(
            f"column {name!r} holds {len(different)} different numbers, such as {different[0].as_py()}; expected the "
            "labels of classes. Check --target, or sort the numbers into classes first."
        )


def _require_no_nul(text: pa.Array, name: str) -> None:
    row = compute.index(compute.match_substring(text, "\x00"), True).as_py()
    if row >= 0:
        raise InputError(
            f"column {name!r} holds {text[row].as_py()!r} in row {row + 1}, a label with a NUL character; expected "
            "text. Export the file again, or name its --encoding, such as utf-16."
        )


def _tell_lookalikes(labels: Sequence[str], name: str) -> None:
    """Say which labels differ in the case of letters or in the spelling of a number alone: they may be one class."""
    alike: dict[Any, list[str]] = {}
    for label in labels:
        alike.setdefault(_in_essence(label), []).append(label)
    doubtful = [" and ".join(map(repr, group)) for group in alike.values() if len(group) > 1]
    if doubtful:
        note(
            f"column {name!r} has labels that are nearly the same and count as different classes: "
            f"{shortened(doubtful, _PAIRS_SHOWN)}."
        )


def _in_essence(label: str) -> Any:
    try:
        return float(label)
    except ValueError:
        return " ".join(label.casefold().split())
