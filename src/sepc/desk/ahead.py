"""Evidence for the records that come next, prepared by a process of its own: ``python -m sepc.desk.ahead``.

The explanation of one record takes ten times as long as that of one among many, and a desk should answer meanwhile. The
process reads one line of JSON with the model, then lines with the numbers of some records; it answers each with a line
of the evidence for them.
"""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sepc.desk.desk import Desk, Filters
from sepc.desk.events import Events
from sepc.desk.evidence import evidence_for
from sepc.desk.opening import in_force, judge_of

_AT_ONCE = 32
# Of the queue: a person, filters and an order.
Part = tuple[str, Filters, str]


class Ahead:
    """The process that prepares evidence for a desk, and the thread that asks it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._worker, self._lock = ThreadPoolExecutor(1, "ahead"), threading.Lock()
        self._last: Future[None] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._number = 0

    def after(self, *part: Any) -> None:
        """Begin to prepare what comes next in a part of the queue, unless most of it is known."""
        with self._lock:
            if self._last is None or self._last.done():
                self._last = self._worker.submit(self._prepare, part)

    def _prepare(self, part: Part) -> None:
        numbers = [int(row["record"]) for row in self.desk.listed(*part, 2 * _AT_ONCE)]
        missing = [number for number in numbers if not self.desk.has_evidence(number)][:_AT_ONCE]
        if 2 * len(missing) > _AT_ONCE:
            self.desk.keep_evidence(self.desk.judge.number, missing, self._asked(missing))

    def _asked(self, numbers: list[int]) -> list[Any]:
        """Return the evidence for records by the process; none if it has ended."""
        if self._process is None or self._number != self.desk.judge.number:
            self._end_process()
            self._number = self.desk.judge.number
            command = [sys.executable, "-m", "sepc.desk.ahead"]
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._say(in_force(self.desk))
        self._say(numbers)
        assert self._process.stdout is not None
        found: list[Any] = json.loads(self._process.stdout.readline() or "[]")
        return found

    def _say(self, line: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def end(self) -> None:
        """Prepare nothing more."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._end_process()


def main() -> None:
    """Answer the lines of the standard input until it ends."""
    if hasattr(os, "nice"):
        os.nice(5)  # who waits for an answer comes first
    asked = json.loads(sys.stdin.readline())
    path = Path(asked["model"])
    judge = judge_of(path, asked["digest"], asked["number"], asked["given"], asked["min_trust"])
    desk = Desk(Events(asked["db"], create=False), judge)
    for line in sys.stdin:
        found = evidence_for(judge, [desk.record(number).batch for number in json.loads(line)])
        print(json.dumps(found, default=_plain), flush=True)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


if __name__ == "__main__":
    main()
