"""Refused records on their way to a review desk: in a thread, so that answers do not wait for it."""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from sepc.desk.batches import Batch, joined
from sepc.desk.desk import Desk
from sepc.desk.events import DiskFullError
from sepc.desk.opening import owner
from sepc.serving.server.inputs import Rows
from sepc.serving.server.metrics import Metrics
from sepc.serving.server.scoring import Served, Verdicts

log = logging.getLogger("sepc.serving")
_EVERY, _MOST_WAITING, _AT_ONCE, _LAST_TRIES = 2.0, 100_000, 200, 5
_BY_SERVER = "by the server"  # and not by the model of the desk
_Refused = tuple[Served, Rows, list[int]]


class Review:
    """The refused records that wait for a desk, at most 100,000; those that it does not get are counted."""

    def __init__(self, desk: Desk, metrics: Metrics) -> None:
        self.desk, self.metrics = desk, metrics
        self.name = f"served since {time.strftime('%Y-%m-%d %H:%M:%S')}"
        self._waiting: deque[_Refused] = deque()
        self._n, self._sent = 0, 0
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return self._n

    def add(self, served: Served, rows: Rows, verdicts: Verdicts) -> None:
        """Keep the refused rows for the desk."""
        refused = [k for k, why in enumerate(verdicts.columns["refusal"]) if why is not None]
        with self._lock:
            taken = refused[: _MOST_WAITING - self._n]
            self._n += len(taken)
            self._waiting.extend([(served, rows, taken)] if taken else ())
        self._drop(len(refused) - len(taken), "too many wait")

    def end(self) -> None:
        """Hand over what waits, and end."""
        self._ending.set()
        self._thread.join(30.0)
        self._drop(self._n, "the server ends")
        self.desk.events.close()

    def _run(self) -> None:
        while not self._ending.wait(_EVERY):
            self._hand_over()
        for k in range(_LAST_TRIES):
            time.sleep(_EVERY / _LAST_TRIES if k else 0.0)
            if self._hand_over():
                return

    def _hand_over(self) -> bool:
        """Hand over what waits; return whether the file could be written, else it is for the next time."""
        while some := [self._waiting[k] for k in range(min(len(self._waiting), _AT_ONCE))]:
            try:
                self._send(some)
            except (sqlite3.Error, OSError, DiskFullError) as error:
                self.metrics.count("desk_failures")
                log.error("the desk could not be written, and is tried again: %s", error)  # noqa: TRY400
                return False
        return True

    def _send(self, some: Sequence[_Refused]) -> None:
        """Add the first records to the desk; those that it cannot judge must not spoil the others."""
        asked, why = 0, "the desk does not ask them"
        try:
            batches = self._batches(some)
            digest = f"{self.name} {time.time_ns()}"
            asked = self.desk.add(owner(), self.name, digest, batches, _BY_SERVER)[1]
        except (sqlite3.Error, OSError, DiskFullError):
            raise
        except Exception as error:
            if len(some) > 1:
                for half in (some[: len(some) // 2], some[len(some) // 2 :]):
                    self._send(half)
                return
            why = str(error)
        with self._lock:  # at once: a next try must not send them again
            n = sum(len(self._waiting.popleft()[2]) for _ in some)
            self._n -= n
        self._sent += n
        self.metrics.count("desk_sent", asked)
        self._drop(n - asked, why)

    def _batches(self, some: Sequence[_Refused]) -> list[Batch]:
        """Return records as a desk takes them, those with the same columns together."""
        alike, first = dict[str, list[Batch]](), self._sent + 1
        for served, rows, taken in some:
            which, nobody = np.array(taken), np.zeros(len(rows), dtype=bool)
            unanswered = (nobody if rows.unanswered is None else rows.unanswered)[which]
            groups = None if rows.groups is None else rows.groups[which]
            shown = table = served.table(rows)
            with suppress(Exception):  # of other columns, which no table may hold
                shown = rows.shown()
            one = Batch(shown.take(which), table.take(which), groups, unanswered, 1)
            own = replace(served, clf=self.desk.judge.clf)
            if list(own.columns.kinds.items()) != list(served.columns.kinds.items()):  # another model by now
                one = own.read(own, one.shown)
            alike.setdefault(f"{one.shown.schema}{one.rows.schema}", []).append(one)
        found = []
        for same in map(joined, alike.values()):
            found.append(Batch(same.shown, same.rows, same.groups, same.unanswered, first))
            first += len(same)
        return found

    def _drop(self, n: int, why: str) -> None:
        if n > 0:
            self.metrics.count("desk_dropped", n)
            log.error("%s refused records did not come to the desk: %s", n, why)
