"""Rows that a state between calls holds already: the same file again, or labels that have come since.

Rows are told by their values, so that equal ones are taken for the same only where a whole batch is.
"""

from collections import Counter
from typing import Any

import numpy as np

from sepc.cli.console import note
from sepc.common.errors import InputError
from sepc.common.text import many
from sepc.common.typing import FloatArray
from sepc.feedback.observation_log import LoggedBatch, ObservationLog

NEW, KNOWN, SEEN = "new", "known", "seen without labels"


def how_known(log: ObservationLog | None, records: FloatArray, labels: list[Any] | None, how: str | None) -> str:
    """Return whether rows are new, known, or were seen without the labels that they have now; say so.

    Parameters
    ----------
    log : ObservationLog or None
    records : ndarray of shape (n, d)
        Rows as the model reads them.
    labels : list or None
        None if they have none.
    how : str or None
        What is said of how labelled rows were chosen: all, probability, or nothing.
    """
    if log is None or not log.batches:
        return NEW
    rows = _rows(records)
    if labels is not None:
        return _labelled(log, rows, labels, how)
    if _within(rows, sum((_rows(batch.records) for batch in log.batches if not batch.seen), Counter())):
        _note_known(log, len(records), log.batches[0].day)
        return KNOWN
    return NEW


def _labelled(log: ObservationLog, rows: Counter[bytes], labels: list[Any], how: str | None) -> str:
    told = sorted(map(str, labels))
    for batch in log.batches:
        if batch.labels is None or sorted(map(str, batch.labels)) != told or _rows(batch.records) != rows:
            continue
        if _how(batch) != how:
            raise InputError(
                f"{log.path} holds the same {many(len(labels), 'row')} since {batch.day}, {_in_words(_how(batch))}, "
                f"and now {_in_words(how)}; expected what was said then. Say the same, or start a new file."
            )
        _note_known(log, len(labels), batch.day)
        return KNOWN
    waiting = sum((_rows(batch.records) for batch in log.batches if batch.labels is None), Counter())
    waiting -= sum((_rows(batch.records) for batch in log.batches if batch.seen), Counter())
    if _within(rows, waiting):
        note(f"{log.path} holds {many(len(labels), 'row')} like these without labels; now only their labels count.")
        return SEEN
    return NEW


def _rows(records: FloatArray) -> Counter[bytes]:
    alike = np.where(np.isnan(records), np.nan, records + 0.0)  # one NaN, one zero
    return Counter(row.tobytes() for row in alike)


def _within(rows: Counter[bytes], known: Counter[bytes]) -> bool:
    return all(known[row] >= n for row, n in rows.items())


def _how(batch: LoggedBatch) -> str | None:
    return "all" if batch.all_labelled else None if batch.chance is None else "probability"


def _in_words(how: str | None) -> str:
    if how is None:
        return "without a word on how they were chosen to be labelled"
    return "with --labels all" if how == "all" else "with --probability"


def _note_known(log: ObservationLog, n: int, day: str) -> None:
    note(f"{log.path} holds the same {many(n, 'row')} since {day}; they are not counted again.")
