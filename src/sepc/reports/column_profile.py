"""Profile of each column of the test records: what is missing, how many values there are, and how labels differ."""

from collections import Counter
from typing import Any

import numpy as np

from sepc.common.text import in_words, percent, shortened
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject

# Labels, and values of a category, that are told of; the others are many.
_N_LABELS = 6
_N_VALUES = 3
_SAME = 1e-9


def column_profile(subject: Subject) -> dict[str, Any]:
    """Return one row for each column of the test records, as they were handed in: a table, ready for JSON.

    Records that were trained on have no part in it.
    """
    columns = [
        ("column", "column", "text"),
        ("n_missing", "missing", "count"),
        ("n_distinct", "distinct", "count"),
        ("range", "values", "text"),
        ("n_beyond", "beyond training", "count"),
        ("by_label", "by true label", "text"),
    ]
    beyond, ordered = _beyond_training(subject), {word.name for word in subject.words if not word.is_level}
    rows = []
    for name, values in zip(subject.columns, subject.cells, strict=True):
        known = [value for value in values if value is not None]
        labels = [subject.labels[code] for value, code in zip(values, subject.truth, strict=True) if value is not None]
        told = _numbers if all(_is_number(value) for value in known) else _ordered if name in ordered else _values
        reach, by_label = told(known, labels, subject.labels) if known else ("", "")
        rows.append([name, len(values) - len(known), len(set(known)), reach, beyond.get(name), by_label])
    return table(columns, rows)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    values, of = np.array(known, dtype=np.float64), np.array(labels, dtype=object)
    medians = [f"{_short(np.median(values[of == label]))} of {label}" for label in every if (of == label).any()]
    return f"{_short(values.min())} to {_short(values.max())}", f"median {shortened(medians, _N_LABELS, 'labels')}"


def _ordered(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    """Return the first and the last of dates, and the middle one of each label."""
    dates, of = np.array(known, dtype=object), np.array(labels, dtype=object)
    middles = [
        f"{label} {sorted(of_label)[len(of_label) // 2]}" for label in every if len(of_label := dates[of == label])
    ]
    return f"{min(known)} to {max(known)}", f"median {shortened(middles, _N_LABELS, 'labels')}"


def _values(known: list[Any], labels: list[str], every: list[str]) -> tuple[str, str]:
    """Return the most frequent values with their shares, and how frequent the first of them is for each label."""
    counts = Counter(map(str, known))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    told = shortened([f"{value} ({percent(n / len(known))})" for value, n in ranked], _N_VALUES, "values")
    first = ranked[0][0]
    is_first, of = np.array([str(value) == first for value in known]), np.array(labels, dtype=object)
    shares = [f"{percent(is_first[of == label].mean())} of {label}" for label in every if (of == label).any()]
    return told, f"{first}: {shortened(shares, _N_LABELS, 'labels')}"


def _short(value: float) -> str:
    """Return a number in at most six digits, whole ones in full."""
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else in_words(float(f"{value:.6g}"))


def _beyond_training(subject: Subject) -> dict[str, int]:
    """Return how many test records lie beyond the range of the training records in each column of numbers."""
    points, _ = subject.training
    if not len(points):
        return {}
    low, high = points.min(axis=0), points.max(axis=0)
    # Equal values may differ in their last digits once they are standardised.
    beyond = np.count_nonzero((subject.points < low - _SAME) | (subject.points > high + _SAME), axis=0)
    return {word.name: int(beyond[word.at.start]) for word in subject.words if not word.is_level}
