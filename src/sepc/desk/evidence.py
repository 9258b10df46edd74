"""What a model has to say of records, as plain values."""

from collections.abc import Sequence
from typing import Any

from sepc.common.text import in_words
from sepc.desk.batches import Batch, joined
from sepc.desk.judge import Judge
from sepc.explanations.usual_values import Usual
from sepc.explanations.vocabulary import Value
from sepc.reports.record_verdicts import evidence_rows, strip

_MOST_STRIPS = 6  # labels of which what is usual is drawn

# "columns", by name what is usual in them, and the "verdict", None without an answer of another model.
Evidence = dict[str, Any]


def evidence_for(judge: Judge, records: Sequence[Batch]) -> list[Evidence]:
    """Return the evidence for batches of one record each; those with the same columns are explained at once."""
    found: dict[int, Evidence] = {}
    by_columns: dict[str, list[int]] = {}
    for k, record in enumerate(records):
        by_columns.setdefault(str(record.rows.schema), []).append(k)
    for some in by_columns.values():
        batch = joined([records[k] for k in some])
        for k, columns, why in zip(some, judge.columns(batch), judge.explain(batch), strict=True):
            found[k] = {
                "columns": {column.name: _column(column.value, column.usual) for column in columns},
                "verdict": None if records[k].unanswered[0] else _verdict(why),
            }
    return [found[k] for k in range(len(records))]


def _column(value: Value, usual: Sequence[Usual | None]) -> dict[str, Any]:
    """Return a value and what is usual in its column by label, in words and whether it fits, and a strip of it."""
    words = [("" if one is None else one.in_words(), _fits(value, one)) for one in usual]
    drawn = strip(value, usual) if len(usual) <= _MOST_STRIPS else None
    return {"value": in_words(value), "usual": words, "strip": drawn}


def _fits(value: Value, usual: Usual | None) -> bool:
    if usual is None or not (isinstance(value, float) and isinstance(usual.low, float)):
        return False
    return usual.low <= value <= usual.high  # type: ignore[operator]


def _verdict(why: Any) -> dict[str, Any]:
    rows = evidence_rows(why.evidence)
    return {
        "text": why.text,
        "label": str(why.label),
        "rival": str(why.evidence.rival),
        "log_odds": why.evidence.log_odds,
        "evidence": rows,
        "most": max((abs(row["contribution"]) for row in rows), default=0.0) or 1.0,
        "neighbours": [
            {
                "label": str(near.label),
                **{name: getattr(near, name) for name in ("row", "distance", "n_equal", "share")},
            }
            for near in why.neighbours
        ],
        "unit": why.unit,
    }
