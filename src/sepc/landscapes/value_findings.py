"""Findings on values that are no measurements: sentinels for missing ones, codes, one value in several spellings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from sepc.common.text import listed, nearly_same, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.landscapes.constants import CODES_REPEAT, FIRST_DIGITS, GAP_OF_ANY, GAP_OF_LONG, GAP_OF_SHORT, ROUND_AMOUNTS
from sepc.landscapes.findings import NAMED, Finding
from sepc.landscapes.known_values import SourceColumn

_CUSTOMARY = re.compile(r"-?(7+|8+|9+|9+[678]|9+\.9+)")
_NAMES_OF_CODES = {"zip", "zipcode", "postcode", "postalcode", "postal", "plz", "code", "sku", "ean", "fips"}


def sentinel_findings(columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    """Yield a finding for each set of values that stand for missing ones, it seems, with the columns that have it."""
    told: dict[tuple[float, ...], dict[str, str]] = {}
    for column in columns:
        if column.is_one_hot or column.is_date:
            continue
        known = column.values[~column.missing]
        found = [value for value in _sentinels(known) if not _are_copies(column.values == value, columns)]
        if found:
            rest = known[~np.isin(known, found)]
            counts = listed([f"{value:.12g} in {np.count_nonzero(known == value)}" for value in found])
            text = f"{column.name} is {counts} of {len(known)} records; its other values go from"
            told.setdefault(tuple(found), {})[column.name] = f"{text} {rest.min():.6g} to {rest.max():.6g}"
    for values, texts in told.items():
        words = [f"{value:.12g}" for value in values]
        yield Finding(
            "sentinel-value",
            "warning",
            f"{listed(words)} may stand for a missing value: {shortened(texts, NAMED, 'column')}",
            f"{shortened(texts.values(), NAMED, 'column', '. ')}.",
            f"Find out what is meant. If no value, say so (on the command line: "
            f"{' '.join(f'--missing={word}' for word in words)}, for all columns; in Python, put NaN there): else it "
            "counts as a measurement.",
        )


def _sentinels(known: FloatArray) -> list[float]:
    """Return the values at either end, up to three, that are repeated and far from all others."""
    distinct, counts = np.unique(known, return_counts=True)
    n = len(distinct)
    if max([*counts[:3], *counts[-3:]], default=0) < 2:
        return []
    for low, high in sorted(product(range(4), repeat=2), key=sum, reverse=True)[:-1]:
        rest = distinct[low : max(n - high, 0)]
        if len(rest) < 2:
            continue
        ends = [slice(0, low), slice(n - high, n)]
        if all(_are_sentinels(distinct[end], counts[end], rest) for end in ends if end.start < end.stop):
            return [float(value) for end in ends for value in distinct[end]]
    return []


def _are_sentinels(end: FloatArray, counts: IntArray, rest: FloatArray) -> bool:
    """Return whether values at one end of a column are repeated and far from `rest`, both ascending.

    How far is enough depends on whether they are customary ones, such as 99 and -999.
    """
    are_customary = all(_CUSTOMARY.fullmatch(f"{value:.12g}") for value in end)
    if counts.min() < (2 if are_customary else 3) or not (are_customary or (len(end) == 1 and end[0] != 0.0)):
        return False
    gap = max(rest[0] - end[-1], end[0] - rest[-1])
    if end[-1] < 0.0 <= rest[0] and len(rest) >= 10 and counts.min() > 2:  # alone below zero
        times = GAP_OF_SHORT if are_customary else GAP_OF_ANY
        return bool(gap >= times * np.diff(rest[: len(rest) // 2 + 1]).max())
    if not are_customary:
        return len(rest) >= 5 and bool(gap >= GAP_OF_ANY * np.ptp(rest))
    return bool(gap >= (GAP_OF_LONG if np.abs(end).min() >= 100.0 else GAP_OF_SHORT) * np.ptp(rest))


def _are_copies(rows: IntArray, columns: Sequence[SourceColumn]) -> bool:
    """Return whether some rows are the same record several times."""
    return len(columns) > 1 and all(bool((np.diff(column.values[rows]) == 0.0).all()) for column in columns)


def code_findings(columns: Sequence[SourceColumn]) -> Iterator[Finding]:
    """Yield findings on columns of numbers that look like codes, not like amounts."""
    for column in columns:
        known = column.values[~column.missing]
        if column.is_one_hot or column.is_date or len(known) < 30 or not (known == np.rint(known)).all():
            continue
        distinct = np.unique(known)
        least, most = (len(f"{end:.0f}") for end in distinct[[0, -1]])
        if distinct[0] < 0.0 or most < 4 or len(distinct) < 10:
            continue
        # Those of postcodes that begin with a zero have lost it.
        if (_is_named_like_codes(column.name) and least >= most - 1) or (least == most and _spread_like_codes(known)):
            yield code_finding(
                column.name, len(distinct), f"of {most if least == most else f'{most - 1} or {most}'} digits"
            )


def _is_named_like_codes(name: str) -> bool:
    return bool(_NAMES_OF_CODES & set(re.split(r"[\W_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())))


def _spread_like_codes(known: FloatArray) -> bool:
    """Return whether numbers of one length begin with each digit, are repeated, and seldom round, unlike amounts."""
    if known.min() < 1e4 or CODES_REPEAT * len(np.unique(known)) > len(known):
        return False
    firsts = np.bincount((known // 10.0 ** (len(f"{known[0]:.0f}") - 1)).astype(np.int64), minlength=10)[1:]
    return bool(firsts.min() >= FIRST_DIGITS * len(known) and np.mean(known % 10.0 == 0.0) < ROUND_AMOUNTS)


def code_finding(name: str, n_different: int, form: str) -> Finding:
    """Return the finding on a column of codes that are read as numbers; `form` says how they look."""
    return Finding(
        "code-as-number",
        "warning",
        f"{name} looks like a code, and is read as a number",
        f"{n_different} different whole numbers {form}: as amounts, codes that are near each other count as alike.",
        f"If they are codes, take them for categories (on the command line: --categorical-features {name}) or leave "
        f"them out (--drop {name}); if they are amounts, nothing need be done.",
    )


def padded_code_finding(name: str, texts: Iterable[str]) -> Finding | None:
    """Return a finding on the different texts of a column of numbers, if they were written with zeros in front."""
    texts = set(texts)
    widths = {len(text) for text in texts}
    if len(texts) < 3 or len(widths) > 1 or min(widths) < 4 or not all(re.fullmatch(r"\d+", text) for text in texts):
        return None
    if not any(text[0] == "0" for text in texts):
        return None
    return code_finding(name, len(texts), f"of {min(widths)} digits, with zeros in front")


def spelling_finding(name: str, counts: Mapping[str, int]) -> Finding | None:
    """Return a finding on the texts of a category, with their numbers, if some differ only in case or blanks."""
    groups = nearly_same(counts)
    if not groups:
        return None
    told = [listed([f"{text!r} in {counts[text]}" for text in group]) for group in groups]
    return Finding(
        "value-in-two-spellings",
        "warning",
        f"{name} has values that differ only in case or blanks",
        f"Records have {shortened(told, NAMED, 'group', '; ')}: they count as different values.",
        "If they mean the same, write them alike.",
    )
