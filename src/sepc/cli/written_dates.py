"""Dates as texts write them: 31.01.2020, 01/31/2020 2:30 PM, 31-JAN-2020."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from sepc.common.typing import BoolArray

_TIME = (
    r"(?:(?:T|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d{1,9})?))?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_MARK = r"(?P<mark>[./-])"
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PATTERNS = {
    "dmy": rf"(?P<day>\d{{1,2}}){_MARK}(?P<month>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}",
    "mdy": rf"(?P<month>\d{{1,2}}){_MARK}(?P<day>\d{{1,2}})(?P=mark)(?P<year>\d{{4}}){_TIME}",
    "ymd": rf"(?P<year>\d{{4}}){_MARK}(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}}){_TIME}",
    "named": rf"(?P<day>\d{{1,2}})(?:\.? |-|)(?P<month>(?i:{_MONTH}))\.?(?: |-|)(?P<year>\d{{4}}){_TIME}",
}
_SHORT_YEAR = r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2}\s*$"
# Nobody writes the month first and points between: of 01.02.2020 the first is the day.
_POINTS = r"^\s*\d{1,2}\.\d"
ORDER_IN_WORDS = {
    "dmy": "day, month, year",
    "mdy": "month, day, year",
    "ymd": "year, month, day",
    "named": "day, month by name, year",
}


@dataclass(frozen=True)
class WrittenDates:
    """What texts show of how their dates are written.

    Attributes
    ----------
    orders : tuple of str
        Orders of day, month and year by which all of them can be read.
    example : str
    """

    orders: tuple[str, ...]
    example: str


def look_at_dates(text: pa.Array) -> WrittenDates | None:
    """Return how the dates in texts without gaps may be written; None if some are no dates."""
    different = text.unique()
    orders = tuple(order for order in _PATTERNS if not _parsed(different, order)[1].any())
    if "mdy" in orders and "dmy" in orders and compute.all(compute.match_substring_regex(different, _POINTS)).as_py():
        orders = ("dmy",)
    return WrittenDates(orders, different[0].as_py()) if orders else None


def is_date_somehow(different: pa.Array) -> BoolArray:
    """Return which texts are dates, in whatever order."""
    return np.asarray(np.any([~_parsed(different, order)[1] for order in _PATTERNS], axis=0))


def have_short_years(text: pa.Array) -> bool:
    """Return whether all texts are dates but for the century."""
    return bool(compute.all(compute.match_substring_regex(text, _SHORT_YEAR)).as_py())


def parse_dates(text: pa.Array, order: str) -> tuple[pa.Array, pa.Array]:
    """Return texts as dates, null where there is no text; and which of them are none in this order.

    Parameters
    ----------
    text : pyarrow.Array of str, n of them
    order : {"dmy", "mdy", "ymd", "named"}

    Returns
    -------
    dates : pyarrow.Array of n timestamps
    is_bad : pyarrow.Array of n bools
        Null where there is no text.
    """
    coded = text.dictionary_encode()
    stamps, bad = _parsed(coded.dictionary, order)
    known = pa.array(stamps, pa.timestamp("us"), mask=bad)
    return known.take(coded.indices), pa.array(bad).take(coded.indices)


def _parsed(different: pa.Array, order: str) -> tuple[np.ndarray, BoolArray]:
    """Return the microseconds since 1970 of different texts, and which are no dates."""
    texts = pd.Series(different.to_pylist(), dtype=object).astype(str).str.strip()
    parts = texts.str.extract(f"^(?:{_PATTERNS[order]})$")
    if order == "named":
        parts["month"] = parts["month"].str[:3].str.lower().map({name: k for k, name in enumerate(_MONTHS, 1)})
    year, month, day, hour, minute, second = (
        pd.to_numeric(parts[name]).to_numpy(np.float64) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    afternoon = parts["half"].str.lower().str[0].to_numpy()
    hour, minute, second = np.nan_to_num(hour), np.nan_to_num(minute), np.nan_to_num(second)
    twelve_hours = pd.notna(afternoon)
    bad = ~((month >= 1) & (month <= 12) & (day >= 1) & (year >= 1))
    bad |= (minute >= 60) | (second >= 60) | (hour >= 24) | (twelve_hours & ~((hour >= 1) & (hour <= 12)))
    hour = np.where(twelve_hours, hour % 12 + 12 * (afternoon == "p"), hour)
    months = np.where(bad, 0, (year - 1970) * 12 + month - 1).astype(np.int64).astype("datetime64[M]")
    first = months.astype("datetime64[D]")
    bad |= day > ((months + 1).astype("datetime64[D]") - first).astype(np.int64)
    days = first.astype(np.int64) + np.where(bad, 1, day).astype(np.int64) - 1
    seconds = days * 86_400 + (hour * 3600 + minute * 60).astype(np.int64)
    return np.where(bad, 0, seconds * 1_000_000 + np.rint(second * 1e6).astype(np.int64)), bad
