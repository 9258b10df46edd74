"""What a desk's model can learn, in a process of its own: ``python -m sepc.desk.learning``, which `jobs` starts.

Its input is one line of JSON, perhaps followed by a table of training records; each line that it prints is JSON, too: a
step, then the result or an error. It ends when its input does, for then the desk has ended.
"""

import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sepc.common.atomic_files import discard_unfinished
from sepc.common.days import today
from sepc.common.errors import InputError, SepcError, SepcWarning
from sepc.common.messages import message
from sepc.desk.decided import ArrivedRows, DecidedRecords, arrived, labelled, learned_before
from sepc.desk.events import Events
from sepc.desk.judge import Judge, file_digest
from sepc.desk.knowledge import share_of
from sepc.desk.new_promise import promised_anew
from sepc.desk.opening import judge_of
from sepc.desk.training_records import lacks_training_records, with_training_records
from sepc.feedback import FeedbackMonitor, FeedbackReport
from sepc.feedback.chances import LEAST_PROBABILITY
from sepc.feedback.observation_log import LoggedBatch
from sepc.feedback.observations import Observations
from sepc.feedback.partition_changes import refitted
from sepc.feedback.watched import Watched
from sepc.persist import save

Step = Callable[[str], None]
# Labels that a monitor looks at together: where a change began is known to this number of labels.
_AT_ONCE = 25


# The watch.


def watch(events: Events, judge: Judge, step: Step) -> dict[str, Any]:
    """Return what a `FeedbackMonitor` says of all rows that came to a model, and of the labels that they got.

    All rows come first, without labels. Then the random sample, in the order in which it was decided, with the chance
    of each record to be in it; then all other decided records, which count in regions alone: which of these are decided
    so far depends on their trust. `since` is about the first record after the latest change that was found, None
    without an alarm.
    """
    step("reading")
    rows = list(arrived(events, judge.number))
    sample = labelled(events, "measured_label", _sampled(judge), "counted, record")
    others = labelled(events, "decided_label", f"NOT sampled AND model = {judge.number:d}")
    step("fitting")
    chance = {some.event: some.chance for some in rows}
    least = min((share for share in chance.values() if share > 0.0), default=LEAST_PROBABILITY)
    monitor = FeedbackMonitor(judge.clf, least_probability=least)
    step("comparing")
    for some in (some for some in rows if len(some.batch)):
        monitor.observe(judge.rows(some.batch.rows), dates=[some.day] * len(some.batch))
    if sample is not None:
        chances = np.array([chance[view["chunk"]] for view in sample.views])
        turn = np.arange(len(chances)) // _AT_ONCE
        for which in (turn == k for k in np.unique(turn)):
            _observe(monitor, judge, sample.part(which), probability=chances[which])
    if others is not None:
        _observe(monitor, judge, others)
    report = monitor.report()
    states = (report.drift, report.error_drift, report.promise_drift)
    return {
        "report": report.to_dict(),
        "text": report.text(message("desk-refit-remedy")),
        "alarms": [repr(state) for state in states if state is not None and state.alarm],
        "since": _since(events, report, rows, [] if sample is None else sample.views),
    }


def _sampled(judge: Judge) -> str:
    """Return the condition of the decided records of the random sample that came to a model."""
    return f"sampled AND measured IS NOT NULL AND model = {judge.number:d}"


def _observe(monitor: FeedbackMonitor, judge: Judge, records: DecidedRecords, **chosen: Any) -> None:
    rows, labels = judge.rows(records.batch.rows), judge.label_array(records.labels)
    monitor.observe(rows, labels, groups=records.batch.groups, seen=True, **chosen)


def _since(events: Events, report: FeedbackReport, rows: list[ArrivedRows], sample: list[Any]) -> int | None:
    """Return the first record of the event in which the latest change began; None without an alarm."""
    of_rows = [some.event for some in rows for _ in range(len(some.batch))]
    began = [of_rows[part.since :] for part in report.drift.parts[:1]]
    of_sample = [view["chunk"] for view in sample]
    # Labels are looked at some at a time: the first ones of these may be from before the change.
    if report.error_drift is not None and report.error_drift.alarm:
        began.append(of_sample[report.error_drift.parts[0].since :][:_AT_ONCE][-1:])
    if report.promise_drift is not None and report.promise_drift.since is not None:
        accepted = [chunk for chunk, view in zip(of_sample, sample, strict=True) if view["is_audit"]]
        began.append(accepted[report.promise_drift.since :][:_AT_ONCE][-1:])
    chunks = [some[0] for some in began if some]
    first = events.one("SELECT min(record) FROM queue WHERE chunk >= ?", max(chunks)) if chunks else None
    return None if first is None else int(first)


# The refit.


def refit(events: Events, judge: Judge, step: Step, output: str, since: int | None = None) -> dict[str, Any]:
    """Fit the model to what was decided, too, and write it to `output`; return what has changed.

    Every second record of the random sample that came to the model in force is held back, from the record `since` on:
    these make the new promise and judge the new model. All others that are decided are learned; without the other half
    of the sample errors among accepted labels would stay. After a change, of which `since` speaks, it tries how much to
    forget of old records.
    """
    step("reading")
    everything = labelled(events, "decided_label")
    condition = f"{_sampled(judge)} AND record >= {since or 0:d} AND record % 2 = 0"
    held_back = labelled(events, "measured_label", condition)
    of_held = set() if held_back is None else set(held_back.numbers)
    known = learned_before(events) | of_held
    new = [] if everything is None else [number not in known for number in everything.numbers]
    if everything is None or not any(new):
        raise InputError("desk-nothing-to-learn", n=len(of_held))
    step("fitting")
    added = everything.part(np.array(new))
    clf, changes = _refitted(judge, added, step, is_after_change=since is not None)
    after = Judge(clf, judge.number + 1, judge.min_trust)
    step("promising")
    promise, core = promised_anew(after, judge.clf.promise, held_back), clf.core
    core.sign(promise)
    core.about_ = core.about_._replace(fitted_on=today())
    step("comparing")
    old, labels = (one.verdicts(everything.batch).label for one in (judge, after))
    decided = {
        "record": everything.numbers,
        "label": everything.labels,
        "before": old,
        "after": labels,
        "right": [label == true for label, true in zip(labels, everything.labels, strict=True)],
        "held_back": [number in of_held for number in everything.numbers],
    }
    judged = None if held_back is None else {"before": _judged(judge, held_back), "after": _judged(after, held_back)}
    step("writing")
    save(clf, output)
    return {
        "path": output,
        "digest": file_digest(Path(output)),
        "number": after.number,
        "changes": changes.to_dict(),
        "text": repr(replace(changes, promise_withdrawn=promise is not None and not promise.is_kept)),
        "promise": None if promise is None else promise.to_dict() | {"text": repr(promise)},
        "learned": added.numbers,
        "decided": decided,
        "held_back": judged,
    }


def _refitted(judge: Judge, added: DecidedRecords, step: Step, *, is_after_change: bool) -> Any:
    """Return the model that has learned these records, too, and what has changed."""
    watched = Watched(judge.clf)
    found, points = Observations(watched.model), judge.points(added.batch)
    labels = judge.label_array(added.labels).tolist()
    truth = found.encoded(labels, len(labels), "labels")
    found.add(LoggedBatch(points, labels, None), watched.judged(points), truth)
    if is_after_change:
        try:
            return refitted(watched, found, 1, "auto", lambda k, n: step(f"fitting {k} of {n}"))
        except InputError as error:
            if error.code != "too-few-to-choose-forgetting":
                raise
    return refitted(watched, found, 1, None, None)


def _judged(judge: Judge, held_back: DecidedRecords) -> dict[str, Any]:
    """Return how many labels of records that it has not learned are right, accepted, and wrong among these."""
    verdicts = judge.verdicts(held_back.batch)
    right = np.array(verdicts.label) == np.array(held_back.labels)
    accepted = np.array([why is None for why in verdicts.refusal])
    n_wrong = int((accepted & ~right).sum())
    return share_of(int(right.sum()), len(right)) | {"accepted": int(accepted.sum()), "wrong": n_wrong}


# The process.


def run(job: dict[str, Any], training: bytes, step: Step) -> dict[str, Any]:
    """Do a job on the events as they are when it begins; return its result."""
    events = Events(job["db"], create=False)
    events.reader.execute("BEGIN")
    as_of = events.one("SELECT coalesce(max(id), 0) FROM events")
    step("loading")
    judge = judge_of(Path(job["model"]), job["digest"], job["number"], job["given"], job["min_trust"])
    if lacks_training_records(judge.clf):
        judge = Judge(_completed(judge, training), judge.number, judge.min_trust)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", SepcWarning)
        if job["kind"] == "watch":
            found = watch(events, judge, step)
        else:
            found = refit(events, judge, step, job["output"], job["since"])
    return found | {"as_of": as_of, "notes": [str(one.message) for one in noted]}


def _completed(judge: Judge, training: bytes) -> Any:
    """Return the model with its training records, which a table in Arrow's format holds; the last column is labels."""
    if not training:
        raise InputError("desk-training-needed")
    table = pa.ipc.open_stream(training).read_all()
    labels = table.columns[-1].cast(pa.string()).to_pylist()
    known = np.isin(labels, judge.labels)
    rows = table.select(table.column_names[:-1]).filter(known)
    return with_training_records(judge.clf, judge.rows(rows), judge.label_array(np.array(labels)[known].tolist()))


def main() -> None:
    """Do the job of the standard input."""
    with open(0, "rb", buffering=0, closefd=False) as source:
        job = json.loads(source.readline())
        training = bytearray()
        while len(training) < job["n_training"] and (some := source.read(job["n_training"] - len(training))):
            training += some
    threading.Thread(target=_end_with_the_desk, daemon=True).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no half-written file stays
    if hasattr(os, "nice"):
        os.nice(10)  # people wait for the desk
    try:
        _say({"result": run(job, bytes(training), lambda step: _say({"step": step}))})
    except Exception as error:  # whatever it is, the desk goes on
        _say({"error": told(error)})


def told(error: Exception) -> str:
    """Return the text that the page shows for an error of a job."""
    return str(error) if isinstance(error, SepcError) else message("desk-job-failed", why=repr(error))


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line, default=str), flush=True)


def _end_with_the_desk() -> None:
    while os.read(0, 1):
        pass
    discard_unfinished()
    os._exit(1)


if __name__ == "__main__":
    main()
