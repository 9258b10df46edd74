"""Lanes: threads that answer requests, those that wait together, so that the event loop never does."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from sepc.desk.guard import Refused

log = logging.getLogger("sepc.serving")
_TOGETHER, _BYTES_TOGETHER = 128, 256 << 10
_WAITING_BYTES = 512 << 20
_GATHERING = 0.001  # seconds


class Job:
    """A request in a lane: its body, what reads and writes it, the outputs that it asks for, and its answer to come."""

    __slots__ = ("data", "found", "future", "outputs", "read", "write")

    def __init__(
        self, data: bytes, read: Callable[..., Any], write: Callable[..., Any], outputs: frozenset[str] = frozenset()
    ) -> None:
        self.data, self.read, self.write, self.outputs = data, read, write, outputs
        self.found: Any = None  # its answer, or an exception
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Lane:
    """A queue of bounded length, and the threads that answer it by `work`, which sets `found` of each job."""

    def __init__(self, work: Callable[[Sequence[Job]], None], n_threads: int = 1, most: int = 512) -> None:
        self.work, self.most = work, most
        self._waiting: deque[Job] = deque()
        self._n_bytes, self._ended, self._changed = 0, False, threading.Condition()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def __len__(self) -> int:
        return len(self._waiting)

    async def answer(self, job: Job) -> Any:
        """Return the answer to a job; raise a `Refused` at once if too many wait."""
        with self._changed:
            if self._ended or len(self._waiting) >= self.most or self._n_bytes > _WAITING_BYTES:
                raise Refused(503, "too many requests wait; send this one again in a while.")
            self._waiting.append(job)
            self._n_bytes += len(job.data)
            self._changed.notify()
        found = await job.future
        if isinstance(found, Exception):
            raise found
        return found

    def _run(self) -> None:
        jobs: list[Job] = []
        while jobs := self._next(after_several=len(jobs) > 1):
            try:
                # Nobody waits any longer for what has taken too long.
                self.work([job for job in jobs if not job.future.cancelled()])
            except Exception as error:
                log.exception("a lane")
                for job in jobs:
                    job.found = error
            with suppress(RuntimeError):  # the loop has ended, and with it all who wait
                jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs)

    def _next(self, after_several: bool) -> list[Job]:
        """Return jobs that wait, at least one; none at the end."""
        with self._changed:
            while not self._waiting:
                if self._ended:
                    return []
                self._changed.wait()
        if after_several:
            time.sleep(_GATHERING)  # who was answered just now asks again, and is judged at no cost
        with self._changed:
            jobs = [self._waiting.popleft()]
            n_bytes = len(jobs[0].data)
            while self._waiting and len(jobs) < _TOGETHER and n_bytes + len(self._waiting[0].data) <= _BYTES_TOGETHER:
                jobs.append(self._waiting.popleft())
                n_bytes += len(jobs[-1].data)
            self._n_bytes -= n_bytes
        return jobs

    def end(self) -> None:
        """Answer what waits, and end the threads."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(10.0)


def _deliver(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if not job.future.done():
            job.future.set_result(job.found)  # errors too: of one that nobody fetches asyncio would complain
