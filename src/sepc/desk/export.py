"""Decisions as a table: the records as they came, and beside them what was decided by whom, and by which model."""

import io
import json
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from sepc.desk.batches import unpacked
from sepc.desk.events import Events

# Forms of the export, with their media types.
FORMS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet", "jsonl": "application/jsonl"}
_ADDED = pa.schema(
    [
        ("desk_record", pa.int64()),
        ("desk_file", pa.string()),
        ("desk_row", pa.int64()),
        ("desk_decision", pa.string()),
        ("desk_label", pa.string()),
        ("desk_reason", pa.string()),
        ("desk_note", pa.string()),
        ("desk_people", pa.string()),
        ("desk_opinions", pa.string()),
        ("desk_at", pa.string()),
        ("desk_blind", pa.bool_()),
        ("desk_chance", pa.float64()),
        ("desk_model", pa.string()),
        ("desk_model_label", pa.string()),
        ("desk_trust", pa.float64()),
        ("desk_refusal", pa.string()),
        ("desk_region", pa.string()),
        ("desk_promise", pa.string()),
    ]
)


def decisions(events: Events) -> pa.Table:
    """Return one row for each decided record: its columns, then those of the desk, whose names begin with ``desk_``."""
    models = {event.body["number"]: event.body for event in events.of_kind("model")}
    rows = events.rows("SELECT * FROM queue WHERE state = 'decided' ORDER BY chunk, place")
    by_chunk: dict[int, list[Any]] = {}
    for row in rows:
        by_chunk.setdefault(row["chunk"], []).append(row)
    tables = [_of_chunk(events, chunk, mine, models) for chunk, mine in by_chunk.items()]
    return pa.concat_tables(tables, promote_options="permissive") if tables else _ADDED.empty_table()


def _of_chunk(events: Events, chunk: int, rows: list[Any], models: dict[int, Any]) -> pa.Table:
    shown = unpacked(events.data(chunk), 1).shown.take([row["place"] for row in rows])
    shown = shown.select([name for name in shown.column_names if not name.startswith("desk_")])
    added = pa.Table.from_pylist([_decision(events, row, models) for row in rows], schema=_ADDED)
    for name in _ADDED.names:
        shown = shown.append_column(name, added[name])
    return shown


def _decision(events: Events, row: Any, models: dict[int, Any]) -> dict[str, Any]:
    found = events.rows(
        "SELECT * FROM decisions WHERE record = ? AND undone IS NULL AND kind <> 'postpone' ORDER BY event",
        row["record"],
    )
    last, model = found[-1], models[found[-1]["model"]]
    return {
        "desk_record": row["record"],
        "desk_file": row["file"],
        "desk_row": row["row"],
        "desk_decision": row["decision"],
        "desk_label": row["decided_label"],
        "desk_reason": last["reason"],
        "desk_note": last["note"],
        "desk_people": "; ".join(dict.fromkeys(one["person"] for one in found)),
        "desk_opinions": "; ".join(f"{one['person']}: {one['label'] or one['kind']}" for one in found),
        "desk_at": last["at"],
        "desk_blind": bool(found[0]["blind"]),
        "desk_chance": row["chance"],
        "desk_model": f"{model['number']} ({model['digest'][:12]})",
        "desk_model_label": last["model_label"],
        "desk_trust": last["model_trust"],
        "desk_refusal": last["refusal"],
        "desk_region": last["region"],
        "desk_promise": model["promise"],
    }


def exported(events: Events, form: str) -> bytes:
    """Return the decisions in a form of `FORMS`."""
    table, sink = decisions(events), io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, sink)
    elif form == "csv":
        csv.write_csv(table, sink)
    else:
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
        sink.write("".join(f"{line}\n" for line in lines).encode())
    return sink.getvalue()
