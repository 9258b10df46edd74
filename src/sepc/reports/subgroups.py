"""Results by subgroup: accuracy and coverage for each value of a column of categories."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.common.typing import BoolArray
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject

# The most frequent values of a column have a row of their own; the others are one group.
N_VALUES = 8


class Subgroup(NamedTuple):
    """Test records with one value of a column: flags of shape (n,)."""

    column: str
    value: str
    members: BoolArray


def subgroup_results(subject: Subject, min_trust: float) -> dict[str, Any]:
    """Return the results of all subgroups of the test records, ready for JSON.

    ``table``, one row for each value of each column of categories, and ``notes``, sentences on subgroups whose labels
    are right less often than those of all other records by more than chance (Fisher's exact test).
    """
    groups, accepted = list(subgroups(subject)), subject.accepted(min_trust)
    columns = [
        ("column", "column", "text"),
        ("value", "value", "text"),
        ("n_records", "records", "count"),
        ("accuracy", "right", "share"),
        ("interval", "95 % interval", "text"),
        ("coverage", "accepted", "share"),
        ("accuracy_accepted", "right of these", "share"),
        ("interval_accepted", "95 % interval", "text"),
    ]
    rows = []
    for group in groups:
        n, share, interval = _right(subject.right, group.members)
        n_accepted, share_accepted, interval_accepted = _right(subject.right, group.members & accepted)
        rows.append([group.column, group.value, n, share, interval, n_accepted / n, share_accepted, interval_accepted])
    return {"table": table(columns, rows), "notes": _standing_out(subject.right, groups)}


def subgroups(subject: Subject) -> Iterator[Subgroup]:
    """Yield the subgroups of all columns that hold categories, column by column, the most frequent value first.

    Those are columns of texts, booleans, or numbers with at most 6 values; no dates, and no identifiers. A column with
    one value only has no subgroups.
    """
    is_level = {word.name: word.is_level for word in subject.words}
    for name, values in zip(subject.columns, subject.cells, strict=True):
        texts = np.array(["missing" if value is None else _text(value) for value in values], dtype=object)
        if _holds_categories(values, is_level.get(name, False)):
            yield from _of_column(name, texts)


def _holds_categories(values: list[Any], is_level: bool) -> bool:
    known = [value for value in values if value is not None]
    n_distinct = len(set(known))
    if n_distinct + (len(known) < len(values)) < 2:
        return False
    if is_level or all(isinstance(value, bool) for value in known):
        return True
    are_numbers = all(isinstance(value, (int, float)) for value in known)
    most = max(0.5 * len(known), 2)  # texts with more values are identifiers
    return n_distinct <= (min(most, 6) if are_numbers else most)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of_column(name: str, texts: NDArray[np.object_]) -> Iterator[Subgroup]:
    values = [value for value, _ in sorted(Counter(texts.tolist()).items(), key=lambda item: (-item[1], item[0]))]
    # One value more is shown rather than called "1 other value".
    n_shown = len(values) if len(values) <= N_VALUES + 1 else N_VALUES
    for value in values[:n_shown]:
        yield Subgroup(name, value, np.asarray(texts == value))
    rest = set(values[n_shown:])
    if rest:
        yield Subgroup(name, f"{len(rest):,} other values", np.array([text in rest for text in texts.tolist()]))


def _right(right: BoolArray, among: BoolArray) -> tuple[int, float | None, str | None]:
    """Return the number of records, the share that is right, and its interval in words."""
    n, n_right = int(np.count_nonzero(among)), int(np.count_nonzero(right & among))
    if not n:
        return 0, None, None
    low, high = (percent(end) for end in exact_interval(n_right, n))
    return n, n_right / n, f"{low} to {high}"


def _standing_out(right: BoolArray, groups: list[Subgroup]) -> list[str]:
    """Return sentences on groups with a lower accuracy than all other records, by Fisher's exact test."""
    notes = []
    for group in groups:
        counts = [
            [np.count_nonzero(group.members & right), np.count_nonzero(group.members & ~right)],
            [np.count_nonzero(~group.members & right), np.count_nonzero(~group.members & ~right)],
        ]
        if fisher_exact(counts, alternative="less").pvalue >= 0.05 / len(groups):
            continue
        (own, own_wrong), (others, others_wrong) = counts
        notes.append(
            f"Where {group.column} is {group.value}, {own:,} of {many(int(own + own_wrong), 'label')} are right "
            f"({percent(own / (own + own_wrong))}); of the others {others:,} of {others + others_wrong:,} "
            f"({percent(others / (others + others_wrong))}), which chance does not explain."
        )
    return notes
