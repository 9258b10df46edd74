"""Records of a desk with their rows and labels, as monitors and refits take them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import BoolArray
from sepc.desk.batches import Batch, joined, unpacked
from sepc.desk.events import Events
from sepc.desk.intake import Terms
from sepc.desk.views import DECIDED


@dataclass(frozen=True, slots=True)
class DecidedRecords:
    """Records with a label, n of each: their rows in the queue, their values, and the labels as texts."""

    views: list[Any]
    batch: Batch
    labels: list[str]

    def part(self, which: BoolArray) -> "DecidedRecords":
        """Return some of them, by flags of shape (n,)."""
        rows = np.flatnonzero(which)
        views, labels = ([values[k] for k in rows.tolist()] for values in (self.views, self.labels))
        return DecidedRecords(views, self.batch.taken(rows), labels)

    @property
    def numbers(self) -> list[int]:
        """Their numbers on the desk."""
        return [view["record"] for view in self.views]


def labelled(events: Events, label: str, condition: str = "1", order: str = "record") -> DecidedRecords | None:
    """Return the decided records of a condition that have a label in this column of the queue; None without any.

    Rows without an answer of the other model are left out: the model has not judged them.
    """
    sql = f"SELECT * FROM queue WHERE state = ? AND {label} IS NOT NULL AND label IS NOT NULL AND {condition}"
    views = events.rows(f"{sql} ORDER BY {order}", DECIDED)
    return DecidedRecords(views, _rows_of(events, views), [view[label] for view in views]) if views else None


def _rows_of(events: Events, views: Sequence[Any]) -> Batch:
    by_chunk: dict[int, list[int]] = {}
    for k, view in enumerate(views):
        by_chunk.setdefault(view["chunk"], []).append(k)
    parts = [
        unpacked(events.data(chunk), 1).taken(np.array([views[k]["place"] for k in some]))
        for chunk, some in by_chunk.items()
    ]
    return joined(parts).taken(np.argsort(np.concatenate(list(by_chunk.values()))))


class ArrivedRows(NamedTuple):
    """The rows of one event that have an answer, and its day; `chance` is that of each to be in the random sample."""

    event: int
    batch: Batch
    day: str
    chance: float


def arrived(events: Events, model: int) -> Iterator[ArrivedRows]:
    """Yield all rows that came while the model of a number was in force, but for those chosen elsewhere, in order."""
    audit = Terms().audit
    for event in events.of_kind("terms", "rows"):
        if event.kind == "terms":
            audit = event.body["audit"]
        elif event.body["model"] == model and not event.body.get("chosen"):
            batch = unpacked(events.data(event.id), event.body["first"])
            yield ArrivedRows(event.id, batch.taken(np.flatnonzero(~batch.unanswered)), event.at[:10], audit)


def learned_before(events: Events) -> set[int]:
    """Return the numbers of the records that a refit whose model was taken over has learned from."""
    return {number for event in events.of_kind("model") for number in event.body.get("learned", ())}
