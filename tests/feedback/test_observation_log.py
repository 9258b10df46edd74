"""The log of observations: nothing is lost, and nothing is changed without being noticed."""

import json
import shutil
from copy import deepcopy
from datetime import date

import numpy as np
import pandas as pd
import pytest
from coded import raises

from sepc import InputError, SEPClassifier, SEPEnsembleClassifier, make_table_pipeline, select_min_trust
from sepc.feedback import FeedbackMonitor
from sepc.feedback.observation_log import LoggedBatch, ObservationLog, _line

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(900) < 0.4, "ill", "well")
X = RNG.normal(size=(900, 2)) + np.where(Y == "ill", 2.2, 0.0)[:, None]
BATCHES = [slice(start, start + 40) for start in range(500, 740, 40)]


@pytest.fixture(scope="module")
def clf():
    made = SEPClassifier(n_imp=0.1).fit(X[:200], Y[:200])
    return made.sign(select_min_trust(made, X[200:500], Y[200:500], max_error=0.15, by="label"))


def told(monitor):
    """Return everything that a monitor says, but for what it is called."""
    return monitor.report().to_dict(), monitor.history().to_dict("list"), monitor.series().to_dict("list")


def feed(monitor, batches=BATCHES):
    for k, rows in enumerate(batches):
        how = ({"labels": "all"}, {"probability": np.where(X[rows, 0] > 0, 1.0, 0.2)}, {})[k % 3]
        monitor.observe(X[rows], Y[rows], **how)
        monitor.observe(X[rows] + 0.1)
    return monitor


class TestResume:
    @pytest.mark.slow
    def test_it_says_what_a_monitor_says_that_never_stopped(self, clf, tmp_path):
        whole = told(feed(FeedbackMonitor(clf)))
        path = tmp_path / "watch.log"
        for k in range(len(BATCHES)):
            monitor = FeedbackMonitor.resume(clf, path)
            how = ({"labels": "all"}, {"probability": np.where(X[BATCHES[k], 0] > 0, 1.0, 0.2)}, {})[k % 3]
            monitor.observe(X[BATCHES[k]], Y[BATCHES[k]], **how).observe(X[BATCHES[k]] + 0.1)
        assert told(FeedbackMonitor.resume(clf, path)) == told(monitor) == whole

    @pytest.mark.slow
    def test_a_monitor_with_a_reference_goes_on_with_the_same_one(self, clf, tmp_path):
        path, known = tmp_path / "watch.log", {"reference": X[700:800], "reference_labels": Y[700:800]}
        monitor = feed(FeedbackMonitor.resume(clf, path, **known), BATCHES[:2])
        assert told(FeedbackMonitor.resume(clf, path, **known)) == told(monitor)
        others = {}, {"reference": X[700:800]}, {"reference": X[701:801], "reference_labels": Y[701:801]}
        for other in others:
            with raises("log-settings-differ"):
                FeedbackMonitor.resume(clf, path, **other)

    @pytest.mark.slow
    def test_a_file_that_ends_anywhere_goes_on_from_the_last_whole_batch(self, clf, named, tmp_path):
        path = tmp_path / "watch.log"
        feed(FeedbackMonitor.resume(clf, path), BATCHES[:2])
        whole = path.read_bytes()
        ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
        rng = np.random.default_rng(0)
        for cut in [*rng.integers(ends[0], len(whole), 12).tolist(), ends[1], ends[1] + 1, len(whole) - 1]:
            path.write_bytes(whole[:cut])
            log = ObservationLog(path, *named)
            n = sum(end <= cut for end in ends) - 1
            assert len(log.batches) == n
            assert log.n_lost == cut - ends[n]
            log.append(LoggedBatch(X[:3], ["ill"] * 3, None, False))
            again = ObservationLog(path, *named)
            assert (len(again.batches), again.n_lost) == (n + 1, 0)

    @pytest.mark.slow
    def test_same_numbers_after_a_sudden_end(self, clf, tmp_path):
        path = tmp_path / "watch.log"
        feed(FeedbackMonitor.resume(clf, path), BATCHES[:3])
        expected = told(feed(FeedbackMonitor(clf), BATCHES[:3]))
        with path.open("ab") as file:
            file.write(b'{"day": "2026-01-01", "shape": [3')
        assert told(FeedbackMonitor.resume(clf, path)) == expected

    @pytest.mark.slow
    def test_any_other_change_is_noticed(self, clf, named, tmp_path):
        path = tmp_path / "watch.log"
        feed(FeedbackMonitor.resume(clf, path), BATCHES[:2])
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        rng = np.random.default_rng(1)
        changed = []
        for at in rng.integers(0, len(whole) - 1, 25).tolist():
            other = bytearray(whole)
            other[at] = other[at] ^ 1
            changed.append(bytes(other))
        changed += [
            b"".join(lines[:1] + lines[2:]),
            b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
            b"",
            b"a,b\n1,2\n",
        ]
        changed.append(b"".join([*lines, lines[-1]]))
        for content in changed:
            path.write_bytes(content)
            with raises("log-damaged"):
                ObservationLog(path, *named)

    @pytest.mark.parametrize("place", ["format", "version", "batch"])
    def test_whole_lines_of_another_kind_are_refused(self, named, tmp_path, place):
        path, (model, settings) = tmp_path / "watch.log", named
        header = {"format": "sepc observations", "version": 1, "model": model, "settings": settings}
        first, check = _line(header | {"format": {"format": "diary"}, "version": {"version": 2}}.get(place, {}), "")
        path.write_bytes(first + (_line({"day": "2026-01-01"}, check)[0] if place == "batch" else b""))
        with raises({"version": "log-newer"}.get(place, "log-damaged")):
            ObservationLog(path, *named)

    @pytest.mark.slow
    def test_what_belongs_to_something_else_is_refused(self, clf, tmp_path):
        path = tmp_path / "watch.log"
        feed(FeedbackMonitor.resume(clf, path), BATCHES[:1])
        other = SEPClassifier().fit(X[:100], Y[:100])
        with raises("log-of-another-model"):
            FeedbackMonitor.resume(other, path)
        with raises("log-settings-differ") as caught:
            FeedbackMonitor.resume(clf, path, false_alarm_rate=0.1)
        assert [caught.value.fields[when].split(",")[0] for when in ("before", "now")] == [
            "false_alarm_rate=0.01",
            "false_alarm_rate=0.1",
        ]

    def test_it_goes_on_with_the_refitted_model_and_with_its_new_promise(self, clf, tmp_path):
        path, later = tmp_path / "watch.log", [slice(740, 780), slice(780, 820)]
        old = feed(FeedbackMonitor.resume(clf, path), BATCHES[:2])
        new, changes = old.repartition()
        assert changes.promise_withdrawn
        assert not new.promise.is_kept
        one = FeedbackMonitor.resume(new, path)
        assert (one.report().n, one.log.n_elsewhere) == (0, old.report().n)
        one.observe(X[later[0]], Y[later[0]], labels="all")
        new.sign(select_min_trust(new, X[200:500], Y[200:500], max_error=0.15))
        two = FeedbackMonitor.resume(new, path).observe(X[later[1]], Y[later[1]], labels="all")
        alone = FeedbackMonitor(new.sign(None)).observe(X[later[0]], Y[later[0]], labels="all")
        alone.observe(X[later[1]], Y[later[1]], labels="all")
        assert two.error_drift == alone.error_drift
        assert 0 < two.promise_drift.n <= 40  # of the accepted labels since it was signed
        # The old model can go on, too, if the new one is given up.
        again = FeedbackMonitor.resume(clf, path)
        assert told(again) == told(old)
        again.observe(X[later[0]], Y[later[0]], labels="all")
        both = [FeedbackMonitor.resume(model, path).report().n for model in (clf, new)]
        assert both == [old.report().n + 40, 80]

    def test_a_batch_that_is_refused_leaves_no_trace_in_the_file(self, clf, tmp_path):
        path = tmp_path / "watch.log"
        monitor = FeedbackMonitor.resume(clf, path)
        before = path.read_bytes()
        for bad in ({"probability": 0.0}, {"probability": 1.5}, {"probability": 0.001}, {"labels": "some"}):
            with pytest.raises(InputError):
                monitor.observe(X[:3], Y[:3], **bad)
        with raises("log-label"):
            monitor.observe(X[:2], np.array([date(2026, 1, 1), date(2026, 1, 2)], dtype=object))
        assert path.read_bytes() == before
        assert monitor.report().n == 0

    @pytest.mark.slow
    def test_a_second_writer_is_noticed_and_nothing_of_its_is_lost(self, clf, tmp_path):
        one, two = (FeedbackMonitor.resume(clf, tmp_path / "w.log") for _ in range(2))
        two.observe(X[500:550])
        with raises("log-changed"):
            one.observe(X[550:557])
        assert one.report().n == 0
        assert FeedbackMonitor.resume(clf, tmp_path / "w.log").report().n == 50
        (tmp_path / "w.log").unlink()
        with raises("log-gone"):
            two.observe(X[:3])

    @pytest.mark.slow
    def test_labels_that_come_later_do_not_count_the_records_again(self, clf, tmp_path):
        later = FeedbackMonitor.resume(clf, tmp_path / "w.log").observe(X[500:560])
        later.observe(X[500:530], Y[500:530], labels="all", seen=True)
        found, history, series = told(later)
        assert (found["n"], found["n_labelled"], found["error_drift"]["n"]) == (60, 30, 30)
        assert history["observed"] == [60]
        assert told(FeedbackMonitor.resume(clf, tmp_path / "w.log")) == (found, history, series)
        at_once = FeedbackMonitor(clf).observe(X[500:530], Y[500:530], labels="all")
        assert at_once.report().to_dict()["error_drift"] == found["error_drift"]
        with raises("seen-without-y-true"):
            later.observe(X[:3], seen=True)

    @pytest.mark.slow
    def test_ensembles_and_tables(self, tmp_path):
        table = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 1, "high", "low"))
        pipeline = make_table_pipeline().fit(table[:200], Y[:200])
        one = FeedbackMonitor.resume(pipeline, tmp_path / "t.log").observe(table[500:560], Y[500:560], labels="all")
        assert told(FeedbackMonitor.resume(pipeline, tmp_path / "t.log")) == told(one)
        ensemble = SEPEnsembleClassifier(n_estimators=2, random_state=0).fit(X[:120], Y[:120])
        one = FeedbackMonitor.resume(ensemble, tmp_path / "e.log").observe(X[500:560], Y[500:560], labels="all")
        assert told(FeedbackMonitor.resume(ensemble, tmp_path / "e.log")) == told(one)

    @pytest.mark.slow
    def test_evidence_of_several_batches_adds_up(self, tmp_path):
        """None of them would ring by itself: two of twelve records are far away."""
        clf = SEPClassifier(n_imp=0.1).fit(X[:400], Y[:400])
        rng, path, alone = np.random.default_rng(2), tmp_path / "watch.log", []
        fresh = FeedbackMonitor(clf)
        for _ in range(8):
            batch = X[rng.integers(500, 900, 12)]
            batch[:2] += 9.0
            alone.append(deepcopy(fresh).observe(batch).drift.alarm)
            together = FeedbackMonitor.resume(clf, path).observe(batch)
        assert not any(alone)
        assert together.drift.share > 1.5 * fresh.drift.expected
        assert together.drift.alarm

    @pytest.mark.slow
    def test_a_copy_goes_on_by_itself(self, clf, tmp_path):
        feed(FeedbackMonitor.resume(clf, tmp_path / "a.log"), BATCHES[:1])
        shutil.copy(tmp_path / "a.log", tmp_path / "b.log")
        FeedbackMonitor.resume(clf, tmp_path / "b.log").observe(X[:5])
        assert FeedbackMonitor.resume(clf, tmp_path / "a.log").report().n == 80


@pytest.fixture(scope="module")
def named(clf, tmp_path_factory):
    """What the file of a monitor of this classifier says of model and settings."""
    log = FeedbackMonitor.resume(clf, tmp_path_factory.mktemp("named") / "a.log").log
    first = json.loads(log.path.read_text().splitlines()[0])
    return first["model"], first["settings"]
