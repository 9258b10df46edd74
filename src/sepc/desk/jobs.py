"""Jobs of a desk: a watch or a refit in a process of its own, one at a time, while the desk keeps answering."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sepc.common.errors import InputError
from sepc.common.messages import message
from sepc.desk.desk import Desk
from sepc.desk.learning import told
from sepc.desk.opening import about_model, in_force, judge_of, model_file
from sepc.desk.training_records import lacks_training_records

WATCH, REFIT = "watch", "refit"
RUNNING, DONE, FAILED, CANCELLED = "running", "done", "failed", "cancelled"
_PATIENCE = 5.0  # seconds for a cancelled process to end by itself
# Returns the training records, as the model takes them, and their labels.
Training = Callable[[], tuple[pa.Table, Sequence[Any]]]


@dataclass
class _Job:
    kind: str
    person: str
    spec: dict[str, Any]
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    state: str = RUNNING
    step: str = "starting"
    result: dict[str, Any] | None = None
    error: str | None = None
    process: "subprocess.Popen[bytes] | None" = None

    def end(self, state: str, error: str | None = None) -> None:
        if self.state == RUNNING:
            self.state, self.error, self.ended = state, error, time.monotonic()


class Jobs:
    """The job that runs, or that has run last.

    `training` reads the training records for a model that was saved without them; None if nobody has named them.
    """

    def __init__(self, desk: Desk, training: Training | None = None) -> None:
        self.desk, self._training = desk, training
        self._lock = threading.RLock()
        self._last: dict[str, _Job] = {}
        self._job: _Job | None = None

    @property
    def needs_training(self) -> bool:
        """Whether a job needs the training records, and nobody has named them."""
        return self._training is None and lacks_training_records(self.desk.judge.clf)

    def start(self, kind: str, person: str) -> None:
        """Start a watch or a refit, which takes account of the latest change that the last watch has found."""
        assert kind in (WATCH, REFIT)
        if self.needs_training:
            raise InputError("desk-training-needed")
        with self._lock:
            if self._job is not None and self._job.state == RUNNING:
                raise InputError("desk-job-running", kind=self._job.kind)
            job = self._job = _Job(kind, person, self._spec(kind))
            self._last.pop(kind, None)  # whose file a refit replaces
        threading.Thread(target=self._follow, args=(job,), daemon=True).start()

    def _spec(self, kind: str) -> dict[str, Any]:
        output = str(model_file(self.desk.events.path, self.desk.judge.number + 1))
        since = self._results().get(WATCH, {}).get("since")
        return in_force(self.desk) | {"kind": kind, "output": output, "since": since}

    def _results(self) -> dict[str, dict[str, Any]]:
        """Return the results of the last jobs that are done, for the model in force."""
        number = self.desk.judge.number
        return {job.kind: job.result for job in self._last.values() if job.result and job.spec["number"] == number}

    def _follow(self, job: _Job) -> None:
        """Run a job to its end."""
        try:
            training = self._training_records()
            with self._lock:
                if job.state != RUNNING:
                    return
                command = [sys.executable, "-m", "sepc.desk.learning"]
                job.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            with job.process as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(job.spec | {"n_training": len(training)}).encode() + b"\n" + training)
                process.stdin.flush()  # and stays open: its end is that of the desk
                for line in process.stdout:
                    self._take(job, json.loads(line))
            job.end(FAILED, message("desk-job-died", code=process.returncode))
        except Exception as error:  # whatever it is, the page reports it
            job.end(FAILED, told(error))

    def _training_records(self) -> bytes:
        if self._training is None or not lacks_training_records(self.desk.judge.clf):
            return b""
        table, labels = self._training()
        whole = table.append_column("\x00label", pa.array([str(label) for label in labels]))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, whole.schema) as writer:
            writer.write_table(whole)
        return bytes(sink.getvalue())

    def _take(self, job: _Job, line: Mapping[str, Any]) -> None:
        """Take what the process reports."""
        with self._lock:
            if "step" in line:
                job.step = line["step"]
            elif "error" in line:
                job.end(FAILED, line["error"])
            elif job.state == RUNNING:
                job.result, self._last[job.kind] = line["result"], job
                job.end(DONE)

    def status(self) -> dict[str, Any]:
        """Return kind, state, step, seconds, result and error of the job that runs or ran last; state None without one.

        `last` has the results of the last jobs of each kind that are done, for the model in force.
        """
        with self._lock:
            if self._job is None:
                return {"state": None, "last": self._results()}
            job = self._job
            seconds = round((job.ended or time.monotonic()) - job.began, 1)
            told = {name: getattr(job, name) for name in ("kind", "person", "state", "step", "result", "error")}
            return {**told, "seconds": seconds, "last": self._results()}

    def cancel(self) -> None:
        """End the job that runs, if there is one; nothing of it stays."""
        with self._lock:
            job = self._job
            if job is None or job.state != RUNNING:
                return
            job.end(CANCELLED)
            if job.process is not None:
                job.process.terminate()
                try:
                    job.process.wait(_PATIENCE)
                except subprocess.TimeoutExpired:
                    job.process.kill()
                    job.process.wait()
            if job.kind == REFIT:
                Path(job.spec["output"]).unlink(missing_ok=True)

    def take_over(self, person: str) -> int:
        """Put the model of the last refit in force; return its number on the desk."""
        with self._lock:
            found, given = self._refitted(), self._last[REFIT].spec["given"]
            path, digest, number = Path(found["path"]), found["digest"], found["number"]
            judge = judge_of(path, digest, number, given, self.desk.judge.min_trust)
            learning = {name: found[name] for name in ("text", "learned", "held_back", "as_of")}
            self.desk.take_over(person, judge, about_model(number, path, digest, judge.clf, given) | learning)
            return judge.number

    def discard(self) -> None:
        """Remove the model of the last refit."""
        with self._lock:
            Path(self._refitted()["path"]).unlink(missing_ok=True)
            del self._last[REFIT]

    def _refitted(self) -> dict[str, Any]:
        found = self._results().get(REFIT)
        if found is None:
            raise InputError("desk-no-refit")
        return found
