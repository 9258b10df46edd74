"""How a text file writes its values: remembered with a model, so that new files are read alike."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sepc.common.errors import InputError

DECIMALS = (".", ",")
# The order of day, month and year; in "named" the month is a word.
DATE_ORDERS = ("dmy", "mdy", "ymd", "named")
# The unit of times such as 13:45, which are read as hours.
CLOCK = "h:mm"


@dataclass(frozen=True, slots=True)
class ColumnNotation:
    """How the numbers or dates of one column are written.

    Attributes
    ----------
    decimal : {".", ","} or None
        None if no number has shown it.
    thousands : str or None
        Thousands separator; None if no number has shown it.
    unit : str
        A percent sign, the sign of a currency, another unit such as ``mg``, or ``h:mm`` for times; empty for bare
        numbers.
    date : {"dmy", "mdy", "ymd", "named"} or None
        Order of day, month and year, or that the month is a word; None for numbers. Dates with the year first, or with
        the month as a word, may be among those in another order.
    """

    decimal: str | None = None
    thousands: str | None = None
    unit: str = ""
    date: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> "ColumnNotation":
        """Return the notation that `to_dict` described; raise an `InputError` if it cannot be one."""
        if not isinstance(values, Mapping) or set(values) != {"decimal", "thousands", "unit", "date"}:
            raise InputError("notation-state", values=values)
        notation = cls(**values)
        sound = (
            notation.decimal in (None, *DECIMALS)
            and notation.date in (None, *DATE_ORDERS)
            and (notation.thousands is None or isinstance(notation.thousands, str))
            and isinstance(notation.unit, str)
        )
        if not sound or (notation.decimal is not None and notation.decimal == notation.thousands):
            raise InputError("notation-fields", fields=dict(values))
        return notation


@dataclass(frozen=True)
class TextNotation:
    """How a text file is written.

    Attributes
    ----------
    separator : str or None
        Between the columns; None for a file of another format.
    columns : dict of str to ColumnNotation
        Of the columns of texts that are numbers or dates.
    """

    separator: str | None = None
    columns: Mapping[str, ColumnNotation] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, ready for JSON."""
        columns = {name: notation.to_dict() for name, notation in self.columns.items()}
        return {"separator": self.separator, "columns": columns}

    @classmethod
    def from_dict(cls, values: Any) -> "TextNotation":
        """Return the notation that `to_dict` described; raise an `InputError` if it cannot be one."""
        known = isinstance(values, Mapping) and set(values) == {"separator", "columns"}
        if not known or not isinstance(values["columns"], Mapping):
            raise InputError("file-notation-state")
        separator = values["separator"]
        if separator is not None and not (isinstance(separator, str) and len(separator) == 1):
            raise InputError("separator-not-one-character", separator=separator)
        columns = {str(name): ColumnNotation.from_dict(column) for name, column in values["columns"].items()}
        return cls(separator, columns)
