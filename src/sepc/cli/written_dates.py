"""Dates as texts write them: 31.01.2020, 01/31/2020 2:30 PM, 31-JAN-2020."""

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
_FORMATS = {"dmy": ["%d-%m-%Y"], "mdy": ["%m-%d-%Y"], "ymd": ["%Y-%m-%d"], "named": ["%d-%b-%Y", "%d-%B-%Y"]}
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Other ways to write the formats, in lower case.
_REPLACED = {
    r"^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)": r"\1-\3-\4",
    r"^(\d{1,2})(?:\.? |-|)([a-z]+)\.?(?: |-|)(\d{4})(?!\d)": r"\1-\2-\3",
    r"(?:(?<=\d)t|,?\s+)(\d{1,2}:)": r" \1",
    r"\s*([ap])\.?m\.?$": r" \1m",
}
_FRACTION = r"(:\d{2}:\d{2})(\.\d{1,9})"


def possible_orders(text: pa.Array) -> tuple[str, ...]:
    """Return the orders of day, month and year by which all texts, none missing, are dates."""
    different, orders = text.unique(), tuple(_FORMATS)
    for some in (different.slice(0, 1000), different):  # other texts mostly show in the first rows
        orders = tuple(order for order in orders if not np.isnat(_parsed(some, order)).any())
    # Points stand between dates that begin with the day: 01.02.2020 is in February.
    if "mdy" in orders and "dmy" in orders and _all_match(different, r"^\s*\d{1,2}\.\d"):
        orders = ("dmy",)
    return orders


def is_date_somehow(different: pa.Array) -> pa.Array:
    """Return which texts are dates, in any order."""
    return pa.array(~np.all([np.isnat(_parsed(different, order)) for order in _FORMATS], axis=0))


def have_short_years(text: pa.Array) -> bool:
    """Return whether all texts are dates but for the century."""
    return _all_match(text, r"^\s*\d{1,2}[./-]\d{1,2}[./-]\d{2}\s*$")


def _all_match(text: pa.Array, pattern: str) -> bool:
    return bool(compute.all(compute.match_substring_regex(text, pattern)).as_py())


def parse_dates(text: pa.Array, order: str) -> tuple[pa.Array, pa.Array]:
    """Return texts as timestamps, and which of them are no dates in this order; both null where a text is missing."""
    coded = text.dictionary_encode()
    dates = _parsed(coded.dictionary, order)
    return pa.array(dates).take(coded.indices), pa.array(np.isnat(dates)).take(coded.indices)


def _parsed(different: pa.Array, order: str) -> NDArray[np.datetime64]:
    """Return different texts as dates, NaT for others."""
    texts = pd.Series(different.to_pylist(), dtype=object).astype(str).str.strip().str.lower()
    for pattern, replacement in _REPLACED.items():
        texts = texts.str.replace(pattern, replacement, regex=True)
    # The formats of pandas reach the year 9999 in whole seconds alone.
    fraction = texts.str.extract(_FRACTION)[1].astype(float).fillna(0.0).to_numpy()
    texts = texts.str.replace(_FRACTION, r"\1", regex=True)
    dates = np.full(len(texts), "NaT", "datetime64[us]")
    for form, time in product(_FORMATS[order], _TIMES):
        bad = np.isnat(dates)
        if bad.any():
            dates[bad] = pd.to_datetime(texts[bad], format=form + time, errors="coerce").to_numpy("datetime64[us]")
    return np.asarray(dates + np.rint(fraction * 1e6).astype("timedelta64[us]"))
