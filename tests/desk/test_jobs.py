"""Jobs of a desk: a process that can be cancelled, whose model takes over only when it is told to."""

import json
import os
import subprocess
import sys
import time

import pyarrow as pa
import pytest
from coded import codes_in, raises
from desks import classifier, decide_all, new_desk, records, truth

from sepc import save
from sepc.desk.events import Events
from sepc.desk.jobs import CANCELLED, DONE, FAILED, REFIT, RUNNING, WATCH, Jobs
from sepc.desk.opening import judge_in_force

pytestmark = [pytest.mark.processes, pytest.mark.slow]
_PATIENCE = 120.0


def ended(jobs):
    """Return the status of a job when it has ended."""
    begun = time.monotonic()
    while jobs.status()["state"] == RUNNING:
        assert time.monotonic() < begun + _PATIENCE
        time.sleep(0.05)
    return jobs.status()


@pytest.fixture
def desk(tmp_path):
    made = new_desk(tmp_path, audit=0.4)
    decide_all(made, "ada", truth(made))
    return made


def files(desk):
    return sorted(path.name for path in desk.events.path.parent.glob("*.sepc"))


def test_a_watch_then_a_refit_then_another_model_is_in_force(desk):
    jobs = Jobs(desk)
    assert jobs.status() == {"state": None, "last": {}}
    jobs.start(WATCH, "ada")
    with raises("desk-job-running", kind=WATCH):
        jobs.start(REFIT, "ben")
    with raises("desk-no-refit"):
        jobs.take_over("ada")
    watched = ended(jobs)
    assert (watched["state"], watched["error"]) == (DONE, None)
    assert watched["result"]["report"]["n"] == 200
    jobs.start(REFIT, "ben")
    refitted = ended(jobs)
    assert (refitted["state"], refitted["error"]) == (DONE, None)
    assert desk.judge.number == 1
    assert jobs.take_over("ben") == 2
    assert judge_in_force(desk.events).number == desk.judge.number == 2
    last = desk.events.of_kind("model")[-1]
    assert last.person == "ben"
    assert last.body["learned"] == refitted["result"]["learned"]
    assert len(files(desk)) == 2
    assert desk.events.verify()[0] > 0
    # What was found of the old model says nothing of the new one.
    assert jobs.status()["last"] == {}
    with raises("desk-no-refit"):
        jobs.take_over("ada")


def test_a_discarded_model_leaves_no_file(desk):
    jobs = Jobs(desk)
    jobs.start(REFIT, "ada")
    assert ended(jobs)["state"] == DONE
    jobs.discard()
    assert files(desk) == ["model.sepc"]
    with raises("desk-no-refit"):
        jobs.take_over("ada")


def test_a_model_file_that_was_swapped_does_not_take_over(desk):
    jobs = Jobs(desk)
    jobs.start(REFIT, "ada")
    save(classifier(), ended(jobs)["result"]["path"])
    with raises("desk-model-changed", number=2):
        jobs.take_over("ada")
    assert desk.judge.number == 1


def test_a_cancelled_job_leaves_nothing(desk):
    jobs = Jobs(desk)
    jobs.start(REFIT, "ada")
    jobs.cancel()
    assert ended(jobs)["state"] == CANCELLED
    assert files(desk) == ["model.sepc"]
    jobs.start(WATCH, "ada")
    assert ended(jobs)["state"] == DONE
    jobs.cancel()
    assert jobs.status()["state"] == DONE


def test_a_refit_that_is_cancelled_as_it_ends_leaves_no_file(desk):
    jobs = Jobs(desk)
    jobs.start(REFIT, "ada")
    while jobs.status()["step"] != "writing":
        time.sleep(0.01)
    jobs.cancel()
    assert jobs.status()["state"] in (CANCELLED, DONE)
    assert (len(files(desk)) == 2) is (jobs.status()["state"] == DONE)


def test_an_error_of_a_job_is_told(tmp_path):
    jobs = Jobs(new_desk(tmp_path))
    jobs.start(REFIT, "ada")
    found = ended(jobs)
    assert found["state"] == FAILED
    assert codes_in(found["error"]) == {"desk-nothing-to-learn"}


def test_a_model_without_records_asks_for_the_training_file(tmp_path):
    save(classifier(), tmp_path / "model.sepc", training_rows=False)
    desk = new_desk(tmp_path)
    decide_all(desk, "ada", truth(desk))
    with raises("desk-training-needed"):
        Jobs(desk).start(REFIT, "ada")
    X, y = records(300)
    jobs = Jobs(desk, lambda: (pa.Table.from_pandas(X, preserve_index=False), y))
    assert not jobs.needs_training
    jobs.start(REFIT, "ada")
    assert ended(jobs)["result"]["changes"]["n_before"] == 300


def test_a_process_ends_with_its_desk(desk):
    spec = {**Jobs(desk)._spec(REFIT), "n_training": 0}
    with subprocess.Popen(
        [sys.executable, "-m", "sepc.desk.learning"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.stdin.write(json.dumps(spec).encode() + b"\n")
        process.stdin.flush()
        assert b"loading" in process.stdout.readline()
        process.stdin.close()  # as when the desk is killed
        assert process.wait(_PATIENCE) == 1
    assert files(desk) == ["model.sepc"]
    assert not [name for name in os.listdir(desk.events.path.parent) if name.endswith(".tmp")]
    Events(desk.events.path).verify()
