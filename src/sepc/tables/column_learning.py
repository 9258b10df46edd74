"""Learning of columns: the kind of each one, the values that get features, and notes on the encoding."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.common.text import nearly_same, plural, shortened
from sepc.common.typing import FloatArray
from sepc.landscapes.findings import Finding
from sepc.landscapes.value_findings import padded_code_finding, spelling_finding
from sepc.tables.cells import (
    BOOL,
    DATE,
    MISSING,
    NUMBER,
    OTHER,
    TEXT,
    Cells,
    are_long_names,
    as_category,
    as_kind,
    date_text,
    parsed,
    read_cells,
    text_of,
)
from sepc.tables.columns import CATEGORY, LEFT_OUT, NOT_READ, Column

# Texts without features that are dates or numbers in another notation, and how to convert these.
WRITTEN_TEXTS = "texts that look like"
_WRITTEN = {
    ("dates", "for example by pandas.to_datetime(column, dayfirst=True)"): re.compile(
        r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}( .*)?"
    ),
    ("numbers", 'for example by pandas.read_csv(path, decimal=",", thousands=".")'): re.compile(
        r"[-+$€£]?\d+([.,' ]\d+)+ ?%?"
    ),
    ("numbers with a unit", "for example by column.str.removesuffix(' mg').astype(float)"): re.compile(
        r"[-+]?\d[\d.,]*\s*[^\W\d_°]{1,8}|[-+]?\d[\d.,]*\s*°[CF]?"
    ),
    ("times", "for example by pandas.to_timedelta(column + ':00')"): re.compile(
        r"\d{1,3}:\d{2}(:\d{2})?( ?[AaPp]\.?[Mm]\.?)?"
    ),
    ("two numbers", "for example by column.str.split('/', expand=True).astype(float)"): re.compile(
        r"\d+([.,]\d+)?\s*[/x]\s*\d+([.,]\d+)?"
    ),
}


class Limits(NamedTuple):
    """Limits to the values of a column that get a feature of their own."""

    min_rows: int  # least number of rows with such a value, or with none
    max_levels: int
    keep_gaps: bool = False  # whether missing values stay missing, where they have no feature of their own


def learn_column(name: str, raw: Any, limits: Limits, is_category: bool = False) -> Column:
    """Return the encoding of a column; `is_category` makes it a category whatever it holds."""
    cells = read_cells(raw)
    kind = CATEGORY if is_category else _kind_of(cells)
    if kind == CATEGORY:
        return _learn_category(name, as_category(cells), limits)
    return _learn_number(name, kind, as_kind(cells, kind, name), limits)


def _kind_of(cells: Cells) -> str:
    """Return the kind of a column: that of its type, or a kind that all of its texts can be parsed as."""
    if cells.kind != TEXT:
        return cells.kind
    if are_long_names(cells.texts):
        return CATEGORY
    readable = (kind for kind in (NUMBER, BOOL, DATE) if not np.isnan(parsed(cells.texts, kind)).any())
    return CATEGORY if cells.fixed else next(readable, CATEGORY)


def _learn_number(name: str, kind: str, values: FloatArray, limits: Limits) -> Column:
    known = values[~np.isnan(values)]
    n_missing = len(values) - len(known)
    if not len(known):
        return Column(name, LEFT_OUT, n_missing=n_missing, reason="no row has a value")
    low, high = float(known.min()), float(known.max())
    flagged = n_missing >= limits.min_rows
    if low == high and not flagged:
        only = Column(name, kind, whole=True, low=low).value_of(low)
        return Column(name, LEFT_OUT, n_missing=n_missing, reason=f"{text_of(only)} in all rows")
    origin = low if kind == DATE else 0.0
    median = float(np.median(known))
    return Column(
        name,
        kind,
        fill=np.floor(median) if kind == BOOL else median - origin,
        origin=origin,
        low=low,
        high=high,
        whole=bool((known == np.rint(known)).all()),
        decimals=_decimals(known),
        flagged=flagged,
        n_missing=n_missing,
        keeps_gaps=limits.keep_gaps,
    )


def _decimals(numbers: FloatArray) -> int:
    """Return the number of digits after the point that write numbers exactly; -1 if six are too few."""
    return next((n for n in range(7) if np.array_equal(np.round(numbers, n), numbers)), -1)


def _learn_category(name: str, cells: Cells, limits: Limits) -> Column:
    counts = np.bincount(cells.codes + 1, minlength=len(cells.texts) + 1)
    n_missing, counts = int(counts[0]), counts[1:]
    by_frequency = sorted(zip((-counts).tolist(), cells.texts.tolist(), strict=True))
    by_frequency = [(-count, text) for count, text in by_frequency if count]
    n_known = len(cells.codes) - n_missing
    reason = _reason_against([text for _, text in by_frequency], n_known)
    frequent = [text for n, text in by_frequency[: limits.max_levels] if n >= limits.min_rows and text != OTHER]
    pooled = sorted({text for _, text in by_frequency} - {*frequent})
    if n_missing >= limits.min_rows:
        frequent.append(MISSING)
    elif n_missing and not limits.keep_gaps:
        pooled.append(MISSING)
    levels = (*frequent, OTHER) if pooled else tuple(frequent)
    if not reason and len(levels) < 2:
        too_rare = f"none of its {len(by_frequency)} values occurs in {limits.min_rows} rows"
        reason = too_rare if pooled else f"{levels[0]} in all rows"
    if reason:
        return Column(name, LEFT_OUT, n_missing=n_missing, reason=reason)
    return Column(name, CATEGORY, levels, tuple(pooled), n_missing=n_missing, keeps_gaps=limits.keep_gaps)


def _reason_against(texts: Sequence[str], n_known: int) -> str:
    """Return why different texts of `n_known` cells get no features; empty if they do."""
    n_values = len(texts)
    if n_values > 30 and n_values > 0.5 * n_known:  # such texts identify records
        for (looks_like, remedy), form in _WRITTEN.items():
            if sum(form.fullmatch(text) is not None for text in texts) >= 0.9 * n_values:
                return f"{WRITTEN_TEXTS} {looks_like}, such as {texts[0]!r}; convert them first, {remedy}"
        return (
            f"text with {n_values} different values in {n_known} rows, which rather names a record than says something"
        )
    return "" if n_values else "no row has a value"


def finding_on_texts(column: Column, raw: Any) -> Finding | None:
    """Return a finding on how the values of a column are written, if there is one."""
    if column.kind == CATEGORY and nearly_same((*column.levels, *column.pooled)):
        cells = as_category(read_cells(raw))
        counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.texts))
        return spelling_finding(column.name, dict(sorted(zip(cells.texts.tolist(), counts.tolist(), strict=True))))
    if column.kind == NUMBER and (cells := read_cells(raw)).kind == TEXT:
        return padded_code_finding(column.name, cells.texts.tolist())
    return None


def notes_on(columns: tuple[Column, ...], n_features: int) -> list[str]:
    """Return sentences on the encoding of the columns."""
    unchanged = [c.name for c in columns if c.kind == NUMBER and not c.n_missing]
    notes = [f"Numbers, taken as they are: {shortened(unchanged, 6)}."] if unchanged else []
    is_told = set(unchanged)
    notes += [
        f"{c.name}: {_features(c)}{_missing(c)}." for c in columns if c.name not in is_told and c.reason != NOT_READ
    ]
    if n_unread := sum(c.reason == NOT_READ for c in columns):
        notes.append(
            f"{n_unread:,} of {len(columns):,} columns are not read, since others tell the labels apart better; new "
            "tables need not have them."
        )
    if n_features > 300:  # from here on a fit of an ensemble takes several times as long as that of a forest
        notes.append(
            f"The table became {n_features} features. If a fit takes too long, drop columns that say little, or set a "
            "smaller max_levels."
        )
    return notes


def _features(column: Column) -> str:
    if column.kind == CATEGORY:
        return _category(column)
    if column.kind == DATE:
        return f"dates, as days since the earliest one, {date_text(column.origin, column.whole)}"
    return {NUMBER: "numbers", BOOL: "true or false, as 1 or 0"}.get(column.kind, f"left out: {column.reason}")


def _category(column: Column) -> str:
    own = [level for level in column.levels if level not in (MISSING, OTHER)]
    rare = len([text for text in column.pooled if text != MISSING])
    if len(column.levels) == 2:
        features = f"one feature that says whether it is {column.levels[1]}"
    else:
        features = f"one feature for each{f' of the {len(own)} most frequent ones' if rare else ''}"
    pooled = f"; {rare} rare {plural('value', rare)} count{'' if rare > 1 else 's'} as {OTHER}" if rare else ""
    return f"category with {len(own) + rare} {plural('value', len(own) + rare)}, {features}{pooled}"


def _missing(column: Column) -> str:
    if not column.n_missing or column.kind == LEFT_OUT:
        return ""
    n = f"; {column.n_missing} missing {plural('value', column.n_missing)}"
    if column.keeps_gaps and (MISSING not in column.levels if column.kind == CATEGORY else column.varies):
        stay = "stays missing" if column.n_missing == 1 else "stay missing"
        return f"{n} {stay}{', and a feature says which' if column.flagged else ''}"
    if column.kind == CATEGORY:
        return f"{n} count{'s' if column.n_missing == 1 else ''} as {MISSING if MISSING in column.levels else OTHER}"
    if not column.varies:
        return f"{n}, and a feature says which; all others are the same"
    median = column.value_of(column.fill)
    stand_in = f"the median, {f'{median:.4g}' if column.kind == NUMBER else median}"
    return f"{n} became {stand_in}{', and a feature says which' if column.flagged else ''}"
