"""Dates as texts write them: 31.01.2020, 01/31/2020 2:30 PM, 31-JAN-2020, Friday, January 31, 2020."""

from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

ORDER_IN_WORDS = {
    "dmy": "day, month, year",
    "mdy": "month, day, year",
    "ymd": "year, month, day",
    "named": "day, month by name, year",
}
_NAMED = ["%d-%b-%Y", "%d-%B-%Y"]
# By these, the first that fits: dates with the year first or the month as a word may be among others.
_FORMATS = {
    "ymd": ["%Y-%m-%d"],
    "named": ["%Y-%m-%d", *_NAMED],
    "dmy": ["%d-%m-%Y", "%Y-%m-%d", *_NAMED],
    "mdy": ["%m-%d-%Y", "%Y-%m-%d", *_NAMED],
}
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Other ways to write the formats, in lower case.
_REPLACED = {
    r"^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+": "",
    r"\s+": " ",
    r"^(\d{1,2})(?:st|nd|rd|th) (?:of )?": r"\1 ",
    r"^([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?!\d)": r"\2 \1 \3",
    r"^(\d{1,2}[. -]{1,2}[a-z]+)\.?, (\d{4})(?!\d)": r"\1 \2",
    r"\bsept\b": "sep",
    # A month alone begins with its first day.
    r"^(\d{4})-(\d{1,2})$": r"\1-\2-1",
    r"^(\d{1,2})[-/.](\d{4})$": r"\2-\1-1",
    r"^([a-z]{3,})\.?[ -](\d{4})$": r"1-\1-\2",
    r"^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)": r"\1-\3-\4",
    r"^(\d{1,2})(?:\.? |-|)([a-z]+)\.?(?: |-|)(\d{4})(?!\d)": r"\1-\2-\3",
    r"(?:(?<=\d)t|,?\s+)(\d{1,2}:)": r" \1",
    r"\s*([ap])\.?m\.?$": r" \1m",
}
_ZONE = r"^\d{4}-\d{2}-\d{2}.*\d(?:z|[+-]\d{2}(?::?\d{2})?)$"
_FRACTION = r"(:\d{2}:\d{2})(\.\d{1,9})"


def possible_orders(text: pa.Array) -> tuple[str, ...]:
    """Return the orders of day, month and year by which all texts, none missing, are dates; both if two fit."""
    different, orders = text.unique(), tuple(_FORMATS)
    for some in (different.slice(0, 1000), different):  # other texts mostly show in the first rows
        orders = tuple(order for order in orders if not np.isnat(_parsed(some, order)).any())
    if orders and orders[0] in ("ymd", "named"):
        return orders[:1]
    # Points stand between dates that begin with the day: 01.02.2020 is in February.
    if "mdy" in orders and "dmy" in orders and _all_match(different, r"^\s*\d{1,2}\.\d"):
        orders = ("dmy",)
    return orders


def is_date_somehow(different: pa.Array) -> pa.Array:
    """Return which texts are dates, in any order."""
    return pa.array(~np.all([np.isnat(_parsed(different, order)) for order in _FORMATS], axis=0))


def telling_date(text: pa.Array) -> str:
    """Return the first text that is another date with the month first than with the day first, else the first one."""
    different = text.unique()
    differ = _parsed(different, "dmy") != _parsed(different, "mdy")
    return str(different[int(differ.argmax())].as_py())


def are_in_two_orders(text: pa.Array) -> tuple[str, str] | None:
    """Return two dates of texts that are all dates, but not in one order; None for other texts."""
    different = text.unique()
    if (
        not compute.all(is_date_somehow(different[:1000])).as_py()
        or not compute.all(is_date_somehow(different)).as_py()
    ):
        return None
    only = [different.filter(pa.array(np.isnat(_parsed(different, order)))) for order in ("dmy", "mdy")]
    return (only[1][0].as_py(), only[0][0].as_py()) if all(map(len, only)) else None


def have_short_years(text: pa.Array) -> bool:
    """Return whether all texts are dates, some of them but for the century."""
    month = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    date = rf"(?i)^\s*(?:\d{{1,2}}[./-]\d{{1,2}}[./-]|(?:\d{{1,2}}[ -])?(?:{month})[a-z]*[ -])\d{{2}}"
    some = text[:1000]
    is_short = compute.match_substring_regex(some, rf"{date}(?:,?\s+\d{{1,2}}:.*)?\s*$")
    is_date = rf"{date}(?:\d{{2}})?\b"
    return bool(compute.any(is_short).as_py()) and _all_match(some, is_date) and _all_match(text, is_date)


def looks_like_date(different: pa.Array) -> pa.Array:
    """Return which texts have a year, a day and a word, or numbers as dates have: 31. Januar 2020, 1/2/2020."""
    year, word, day = r"(?:19|20)\d\d", r"\p{L}{3,}\.?", r"\d{1,2}"
    forms = (
        rf"{day}[.\s-]*(?:\p{{L}}{{1,2}} )?{word}[\s,-]*(?:\p{{L}}{{1,2}} )?{year}",
        rf"{word}[\s-]+{day}(?:\p{{L}}{{2}})?,?[\s-]+{year}",
        rf"{day}[./-]{day}[./-]{year}",
        rf"{year}[\s/-]?[QWqw]\d{{1,2}}",
        rf"[QWqw]\d{{1,2}}[\s/-]?{year}",
    )
    return compute.match_substring_regex(different, rf"^\s*(?:{word}[,\s]+)?(?:{'|'.join(forms)})(?:\D.*)?$")


def _all_match(text: pa.Array, pattern: str) -> bool:
    return bool(compute.all(compute.match_substring_regex(text, pattern)).as_py())


def parse_dates(text: pa.Array, order: str) -> tuple[pa.Array, pa.Array]:
    """Return texts as timestamps, and which of them are no dates in this order; both null where a text is missing."""
    coded = text.dictionary_encode()
    dates = _parsed(coded.dictionary, order)
    return pa.array(dates).take(coded.indices), pa.array(np.isnat(dates)).take(coded.indices)


def _parsed(different: pa.Array, order: str) -> NDArray[np.datetime64]:
    """Return different texts as dates, NaT for others."""
    if not compute.any(compute.match_substring_regex(different, r"\d{4}")).as_py():  # without a year no text is a date
        return np.full(len(different), "NaT", "datetime64[us]")
    texts = pd.Series(different.to_pylist(), dtype=object).astype(str).str.strip().str.lower()
    for pattern, replacement in _REPLACED.items():
        texts = texts.str.replace(pattern, replacement, regex=True)
    may_fit = texts.str.contains(r"\d{4}").to_numpy()
    # The formats of pandas reach the year 9999 in whole seconds alone.
    fraction = texts.str.extract(_FRACTION)[1].astype(float).fillna(0.0).to_numpy()
    texts = texts.str.replace(_FRACTION, r"\1", regex=True)
    dates = np.full(len(texts), "NaT", "datetime64[us]")
    for form, time in product(_FORMATS[order], _TIMES):
        bad = np.isnat(dates) & may_fit
        if bad.any():
            dates[bad] = pd.to_datetime(texts[bad], format=form + time, errors="coerce").to_numpy("datetime64[us]")
    dates = dates + np.rint(fraction * 1e6).astype("timedelta64[us]")
    zoned = np.isnat(dates) & texts.str.contains(_ZONE).to_numpy()
    if zoned.any():
        given = pd.Series(different.to_pylist(), dtype=object)[zoned].str.strip().str.upper()
        utc = pd.to_datetime(given, format="ISO8601", errors="coerce", utc=True)
        dates[zoned] = utc.dt.tz_convert(None).to_numpy("datetime64[us]")
    return np.asarray(dates)
