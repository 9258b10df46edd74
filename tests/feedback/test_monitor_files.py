"""Files of saved monitors: nothing lost, no damage unnoticed."""

import os
from dataclasses import replace

import numpy as np
import pytest
from saved_models import fixture_path

import sepc
from sepc import FeedbackMonitor, InputError, SEPClassifier
from sepc.feedback.drift import SequentialRateTest
from sepc.feedback.monitor_files import FORMAT, fingerprint
from sepc.model.rules import Rules


class TestSave:
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("given", [{}, {"reference": True}])
    def test_a_resumed_monitor_is_the_same_to_the_bit(self, clf, iris, tmp_path, given):
        X, y = iris
        one = FeedbackMonitor(clf, false_alarm_rate=0.03, **({"reference": X[1::4]} if given else {}))
        one.observe(X[3::4], y[3::4]).observe(X[3::8] + 1.0).observe(X[3:6], ["tulip", "rose", y[5]], labels="all")
        one.observe(X[3::4], np.roll(y[3::4], 12), probability=np.linspace(0.05, 1.0, len(X[3::4])))
        one.save(tmp_path / "seen")
        two = FeedbackMonitor.load(tmp_path / "seen", clf)
        for _ in range(2):
            assert repr(one.report().to_dict()) == repr(two.report().to_dict())
            assert one.history().equals(two.history())
            assert one.repartition()[1] == two.repartition()[1]
            for monitor in (one, two):
                monitor.observe(X[7::8] + 0.5, y[7::8], probability=0.5)

    def test_nothing_observed_can_be_saved(self, clf, tmp_path):
        one = FeedbackMonitor(clf)
        one.save(tmp_path / "seen")
        assert FeedbackMonitor.load(tmp_path / "seen", clf).report().to_dict() == one.report().to_dict()
        assert len(one.regions()) == len(one.reliability()) == len(one.history()) == 0

    def test_another_model_is_refused(self, iris, monitor, tmp_path):
        monitor.save(tmp_path / "seen")
        for other in (SEPClassifier().fit(*iris), SEPClassifier(n_imp=3).fit(iris[0][::2], iris[1][::2])):
            with pytest.raises(InputError, match="observed with another model"):
                FeedbackMonitor.load(tmp_path / "seen", other)

    def test_a_damaged_file_is_refused_or_harmless(self, clf, iris, monitor, tmp_path):
        path = tmp_path / "seen"
        monitor.observe(iris[0][3::4], iris[1][3::4]).save(path)
        content = path.read_bytes()
        good = repr(monitor.report().to_dict())
        rng = np.random.default_rng(0)
        for at in rng.choice(len(content), size=300, replace=False).tolist():
            broken = bytearray(content)
            broken[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(broken)
            try:
                found = FeedbackMonitor.load(path, clf)
            except InputError:
                pass
            else:
                assert repr(found.report().to_dict()) == good
                assert np.array_equal(found._observations.labelled()[0], monitor._observations.labelled()[0])
        for broken in (content[:-1], content[: len(content) // 2], b"", b"no archive"):
            path.write_bytes(broken)
            with pytest.raises(InputError, match="damaged"):
                FeedbackMonitor.load(path, clf)

    def test_a_failed_save_leaves_the_old_file(self, monitor, iris, tmp_path, monkeypatch):
        path = tmp_path / "seen"
        monitor.save(path)
        before = path.read_bytes()
        monitor.observe(iris[0][1:5])

        def full(_):
            raise OSError("disk full")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="disk full"):
            monitor.save(path)
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["seen"]

    def test_no_pickle_inside(self, monitor, iris, tmp_path):
        monitor.observe(iris[0][1:5], ["a", "b", "c", "d"]).save(tmp_path / "seen")
        with np.load(tmp_path / "seen", allow_pickle=False) as archive:
            assert all(archive[name].dtype != object for name in archive.files if not name.startswith("manifest"))


@pytest.mark.parametrize("with_reference", [False, True])
def test_files_of_the_first_version_go_on_as_they_did(clf, iris, tmp_path, with_reference):
    """Labels were taken to be there for all records, and errors were counted over all alone."""
    X, y = iris
    known = {"reference": X[1::4], "reference_labels": y[1::4]} if with_reference else {}
    batches = [(X[3::8], y[3::8]), (X[7::8], np.roll(y[7::8], 7))]
    now = FeedbackMonitor(clf, **known)
    n_models = len(now._outside_test.held_out)
    held_out, then = now._error_test.held_out[:n_models], []
    for Z, true in batches:
        now.observe(Z, true, labels="all")
        then.append([len(Z), *(np.count_nonzero(m.predict(Z) != true) for m in now._comparison.models)])
    now.save(tmp_path / "seen")
    header, arrays = FORMAT.read(tmp_path / "seen")
    header = {name: header[name] for name in header if name not in ("errors", "least_probability")}
    arrays = {name: array for name, array in arrays.items() if not name.startswith(("errors_", "chances"))}
    arrays |= {"wrong_held_out": held_out, "wrong_batches": np.array(then)}
    replace(FORMAT, version=1).write(tmp_path / "seen", header, arrays)
    old = FeedbackMonitor.load(tmp_path / "seen", clf)
    test = SequentialRateTest("wrong", held_out, 0.01)
    for n, *hits in then:
        test.add(n, hits)
    assert old.error_drift.evidence == pytest.approx(test.state().evidence)
    assert replace(old.error_drift, parts=(), evidence=test.state().evidence) == test.state()
    assert old.error_drift.n_unstated == 0
    assert old.drift == now.drift
    old.observe(*batches[1], probability=0.5).save(tmp_path / "again")
    assert FeedbackMonitor.load(tmp_path / "again", clf).report() == old.report()


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
@pytest.mark.parametrize(("name", "begins"), [("binary-paper", "7f3ebbdd4bf7"), ("binary-local", "67ba032f9e77")])
def test_the_fingerprint_is_that_of_older_versions_and_another_where_nothing_is_grown(name, begins):
    clf = sepc.load(fixture_path(f"v1-{name}"))
    assert fingerprint(clf).startswith(begins)
    as_found = [Rules.by(r.training_counts, r.sides, r.labels, grows=False) for r in clf._model.rules]
    clf._model = replace(clf._model, rules=as_found)
    assert not fingerprint(clf).startswith(begins)
