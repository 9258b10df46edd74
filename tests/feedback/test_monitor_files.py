"""Files of saved monitors: nothing lost, no damage unnoticed."""

import os
from dataclasses import replace

import numpy as np
import pytest
from saved_models import fixture_path

import sepc
from sepc import FeedbackMonitor, InputError, SEPClassifier
from sepc.feedback.monitor_files import fingerprint
from sepc.model.rules import Rules


class TestSave:
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("given", [{}, {"reference": True}])
    def test_a_resumed_monitor_is_the_same_to_the_bit(self, clf, iris, tmp_path, given):
        X, y = iris
        one = FeedbackMonitor(clf, false_alarm_rate=0.03, **({"reference": X[1::4]} if given else {}))
        one.observe(X[3::4], y[3::4]).observe(X[3::8] + 1.0).observe(X[3:6], ["tulip", "rose", y[5]])
        one.save(tmp_path / "seen")
        two = FeedbackMonitor.load(tmp_path / "seen", clf)
        for _ in range(2):
            assert repr(one.report().to_dict()) == repr(two.report().to_dict())
            assert one.history().equals(two.history())
            assert one.repartition()[1] == two.repartition()[1]
            for monitor in (one, two):
                monitor.observe(X[7::8] + 0.5, y[7::8])

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


@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
@pytest.mark.parametrize(("name", "begins"), [("binary-paper", "7f3ebbdd4bf7"), ("binary-local", "67ba032f9e77")])
def test_the_fingerprint_is_that_of_older_versions_and_another_where_nothing_is_grown(name, begins):
    clf = sepc.load(fixture_path(f"v1-{name}"))
    assert fingerprint(clf).startswith(begins)
    as_found = [Rules.by(r.training_counts, r.sides, r.labels, grows=False) for r in clf._model.rules]
    clf._model = replace(clf._model, rules=as_found)
    assert not fingerprint(clf).startswith(begins)
