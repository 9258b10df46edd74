"""Batches of rows that come to a desk, and how an event keeps them."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, IntArray

# Rows of one event: it is read as a whole when one of its records is shown.
ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows as a person sees them and as a model takes them, n of each.

    `shown` are the columns as they came, `rows` those that the model needs. `groups`, of shape (n,), are those of a
    promise by groups, or None; `unanswered`, of shape (n,), says for which rows another model has no answer. The first
    row has the number `first` in its file, from 1.
    """

    shown: pa.Table
    rows: pa.Table
    groups: NDArray[Any] | None
    unanswered: BoolArray
    first: int

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def digest(self) -> str:
        """Return a digest of all rows."""
        return hashlib.sha256(self.packed()).hexdigest()

    def part(self, start: int) -> "Batch":
        """Return the rows of one event, from `start` on."""
        which = slice(start, start + ROWS_AT_ONCE)
        return Batch(
            self.shown.slice(start, ROWS_AT_ONCE),
            self.rows.slice(start, ROWS_AT_ONCE),
            None if self.groups is None else self.groups[which],
            self.unanswered[which],
            self.first + start,
        )

    def taken(self, rows: IntArray) -> "Batch":
        """Return some of the rows, in any order."""
        groups = None if self.groups is None else self.groups[rows]
        return Batch(self.shown.take(rows), self.rows.take(rows), groups, self.unanswered[rows], self.first)

    def packed(self) -> bytes:
        """Return the rows as bytes."""
        groups = self.shown.num_rows * [None] if self.groups is None else self.groups.tolist()
        beside = pa.table({"group": pa.array(groups, pa.string()), "unanswered": self.unanswered})
        streams = [_stream(table) for table in (self.shown, self.rows, beside)]
        sizes = np.array([len(stream) for stream in streams], dtype="<i8").tobytes()
        return zlib.compress(sizes + b"".join(streams), 1)


def unpacked(data: bytes, first: int) -> Batch:
    """Return the rows that `Batch.packed` has made bytes of."""
    whole = zlib.decompress(data)
    ends = 24 + np.cumsum([0, *np.frombuffer(whole[:24], dtype="<i8").tolist()])
    shown, rows, beside = (pa.ipc.open_stream(whole[start:end]).read_all() for start, end in pairwise(ends))
    groups = beside["group"].to_numpy(zero_copy_only=False)
    has_groups = beside["group"].null_count < len(beside)
    return Batch(shown, rows, groups if has_groups else None, beside["unanswered"].to_numpy(), first)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return the rows of one batch or more as one; a column may be of whole numbers in one and of others in another."""
    shown, rows = (
        pa.concat_tables([getattr(batch, name) for batch in batches], promote_options="permissive")
        for name in ("shown", "rows")
    )
    groups = None
    if any(batch.groups is not None for batch in batches):
        groups = np.concatenate([np.full(len(b), None) if b.groups is None else b.groups for b in batches])
    return Batch(shown, rows, groups, np.concatenate([batch.unanswered for batch in batches]), batches[0].first)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
