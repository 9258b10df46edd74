"""Tables as plain data: columns with a title and a kind, and rows of values that are ready for JSON."""

from collections.abc import Sequence
from typing import Any

from sepc.common.text import in_words, percent
from sepc.reports.glossary import MEANINGS

# What a column holds: words, a label of the data, or a number of some kind; "exact" ones with all their digits, and
# "meter" is a share that is drawn, too.
KINDS = ("text", "label", "count", "share", "meter", "number", "exact")
NOTHING = "–"  # noqa: RUF001  (a dash where there is no number)


def table(columns: Sequence[tuple[str, str, str]], rows: list[list[Any]], explained: bool = True) -> dict[str, Any]:
    """Return a table; each column is a key, a title and one of `KINDS`.

    What the title of a column means is added; "" if it is plain, or not `explained`.
    """
    known = MEANINGS if explained else {}
    told = [{"key": key, "title": title, "kind": kind, "meaning": known.get(title, "")} for key, title, kind in columns]
    return {"columns": told, "rows": rows}


def cell(value: Any, kind: str) -> str:
    """Return a value as a reader sees it."""
    if value is None:
        return NOTHING
    if kind in ("share", "meter"):
        return percent(value)
    if kind == "count":
        return f"{value:,}"
    if kind == "exact":
        return exact(value)
    return number(value) if kind == "number" else str(value)


def number(value: Any) -> str:
    """Return a number with four digits that matter; what is no number as it is."""
    if value is None:
        return NOTHING
    rounded = f"{value:.4g}" if isinstance(value, float) else ""
    return rounded if rounded and "e+" not in rounded else in_words(value)


def exact(value: float) -> str:
    """Return a number with all its digits."""
    return repr(value).removesuffix(".0")
