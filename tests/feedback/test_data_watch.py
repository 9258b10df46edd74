"""Watch of columns, typicality, trust and class shares: few false alarms, soon found changes, named series."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.data_watch import DataWatch
from sepc.feedback.held_out_models import ModelView, Reference, representative_rows
from sepc.model.fitted_model import TrainingRecords

PLACES = np.zeros((4, 10))
PLACES[1, :3], PLACES[2, 2:5], PLACES[3, 5:8] = 2.5, -2.5, 3.0


def records(n, rng, shares=(1.0, 1.0, 1.0), shifted=0.0):
    """Return records of up to four classes around places of their own, and their labels."""
    y = rng.choice(len(shares), p=np.array(shares) / np.sum(shares), size=n)
    X = rng.standard_normal((n, 10)) + PLACES[y]
    X[:, 8] += shifted
    return X, np.array(["a", "b", "c", "d"])[y]


def fitted(seed=0):
    return SEPClassifier().fit(*records(450, np.random.default_rng(seed)))


def delay(monitor, seed, labels=False, **changed):
    """Return how many records after a change an alarm comes; the change comes after 300 unchanged ones."""
    rng, n, how = np.random.default_rng(seed), 0, {"labels": "all"} if labels else {}
    while not monitor.drift.alarm and n < 1300:
        X, y = records(25, rng, **(changed if n >= 300 else {}))
        monitor.observe(X, y if labels else None, **how)
        n += 25
    return n - 300


@pytest.fixture(scope="module")
def clf():
    return fitted()


class TestSeries:
    @pytest.mark.study
    def test_false_alarms_are_as_rare_as_stated(self):
        rate, runs, alarms = 0.2, 60, 0
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            y, Z = rng.integers(2, size=600), rng.standard_normal((600, 3))
            Z[:, 1] = Z[:, 0] > 1.0
            Z[rng.random(600) < 0.1, 2] = np.nan
            scores = np.column_stack([np.abs(Z[:, 0]), rng.random(600)])
            views = [ModelView(0, 0, y, scores=scores)]
            first = Reference(Z[:50], np.bincount(y[:50]), [views[0]._replace(scores=scores[:50])])
            watch = DataWatch(["a", "b", "c"], first, rate / 3.0)
            for batch in np.array_split(np.arange(50, 600), 22):
                some = [view._replace(codes=y[batch], scores=scores[batch]) for view in views]
                watch.add(Z[batch], some, y[batch], [0, 1], seen=False)
            alarms += any(record.when for record in watch.records())
        assert alarms <= binom.isf(0.001, runs, rate)

    @pytest.mark.slow
    def test_a_shift_of_one_deviation_in_one_of_ten_columns_is_found_within_a_hundred_records(self, clf):
        fresh = [FeedbackMonitor(clf, reference=records(300, np.random.default_rng(9 + k))[0]) for k in range(5)]
        delays = [delay(monitor, k, shifted=1.0) for k, monitor in enumerate(fresh)]
        assert min(delays) > 0
        assert np.median(delays) <= 100
        for monitor in fresh:
            part = monitor.drift.parts[0]
            assert part[:2] == ("column", "x8")
            assert abs(part.since - 300) <= 50
            assert " higher " in part.change
            assert "column x8" in repr(monitor.drift)
            assert monitor.series()["name"].tolist()[0] == "x8"

    @pytest.mark.slow
    @pytest.mark.parametrize(("labels", "most"), [(False, 250), (True, 100)])
    def test_a_new_class_is_found_and_named_where_labels_tell(self, clf, labels, most):
        monitor = FeedbackMonitor(clf)
        assert 0 < delay(monitor, 1, labels, shares=(0.28, 0.28, 0.29, 0.15)) <= most
        if labels:
            assert monitor.drift.parts[0].kind == "class shares"
            assert monitor.drift.parts[0].change.startswith("d is ")
        else:
            assert monitor.drift.parts[0].kind in ("column", "typicality", "trust")

    @pytest.mark.slow
    def test_missing_values_are_named(self, clf):
        monitor, rng = FeedbackMonitor(clf), np.random.default_rng(3)
        for _ in range(8):
            X, _ = records(25, rng)
            X[:8, 2] = np.nan
            monitor.observe(X)
        found = {part.name: part.change for part in monitor.drift.parts}
        assert "missing" in found["x2"]

    @pytest.mark.slow
    def test_all_that_have_rung_are_told_and_keep_what_was_told(self, clf):
        monitor, rng = FeedbackMonitor(clf), np.random.default_rng(4)
        for k in range(16):
            X, _ = records(25, rng)
            X[:, 8] += 2.0 * (k >= 4)
            X[:, 9] += 2.0 * (k >= 8)
            monitor.observe(X)
            if monitor.drift.alarm and k < 8:
                first = monitor.drift
        assert monitor.drift.when == first.when
        assert monitor.drift.parts[0] == first.parts[0]
        assert {part.name for part in monitor.drift.parts} >= {"x8", "x9"}

    @pytest.mark.slow
    def test_the_order_of_rows_does_not_matter_and_later_labels_count_alone(self, clf):
        rng = np.random.default_rng(5)
        one, two, later = (FeedbackMonitor(clf) for _ in range(3))
        for _ in range(4):
            X, y = records(40, rng, shifted=0.3)
            X[:5, 0] = 0.0
            order = rng.permutation(40)
            one.observe(X, y, labels="all")
            two.observe(X[order], y[order], labels="all")
            later.observe(X).observe(X[order], y[order], labels="all", seen=True)
        assert one.report().to_dict() == two.report().to_dict()
        columns = [[r for r in m.report().series if r.kind != "class shares"] for m in (one, later)]
        assert [r[:2] for r in columns[0]] == [r[:2] for r in columns[1]]
        shares = next(r for r in later.report().series if r.kind == "class shares")
        assert shares.evidence > 0.0

    @pytest.mark.slow
    @pytest.mark.parametrize("rest_first", [True, False])
    def test_labels_of_chosen_records_ring_no_alarm_on_records(self, clf, rest_first):
        """Refused records, as they get labels, lie elsewhere than all records do."""
        monitor, rng = FeedbackMonitor(clf, least_probability=0.05), np.random.default_rng(7)
        for week in range(20):
            X, y = records(100, rng)
            audit = monitor.audit(X, share=0.05, seed=week)
            some, chances = audit.chosen, audit.probability[audit.chosen]
            if rest_first:
                monitor.observe(X)
            monitor.observe(X[some], y[some], probability=chances, seen=rest_first)
        assert not monitor.drift.alarm
        assert monitor.error_drift.n == monitor.report().n_labelled > 100
        assert monitor.drift.n == (2000 if rest_first else 0)

    def test_without_labels_of_the_reference_class_shares_are_not_watched(self, clf):
        monitor = FeedbackMonitor(clf, reference=records(50, np.random.default_rng(6))[0])
        assert "class shares" not in set(monitor.series()["kind"])


class TestClassShares:
    """Errors among records called ill rise where ill ones become rare, though they fall in all."""

    @staticmethod
    def patients(n, rng, ill):
        y = np.where(rng.random(n) < ill, "ill", "well")
        X = rng.standard_normal((n, 2))
        odd = rng.random(n) < np.where(y == "ill", 0.25, 0.03)
        X[:, 0] += np.where((y == "ill") ^ odd, 3.5, -2.0)
        return X, y

    @pytest.mark.slow
    def test_a_change_of_class_shares_is_no_error_while_errors_fall(self):
        rng = np.random.default_rng(0)
        monitor = FeedbackMonitor(SEPClassifier().fit(*self.patients(900, rng, 0.5)))
        for _ in range(12):
            monitor.observe(*self.patients(100, rng, 0.08), labels="all")
        state = monitor.error_drift
        assert state.share < state.expected
        assert not state.alarm
        assert "class shares" in {part.kind for part in monitor.drift.parts}

    @pytest.mark.slow
    def test_errors_that_rise_in_all_still_ring(self):
        rng = np.random.default_rng(0)
        monitor = FeedbackMonitor(SEPClassifier().fit(*self.patients(900, rng, 0.08)))
        for _ in range(12):
            monitor.observe(*self.patients(100, rng, 0.5), labels="all")
        assert monitor.error_drift.alarm


def test_records_that_are_kept_of_many_stand_for_all_of_them():
    codes = np.repeat([0, 1], [300, 100])
    kept = TrainingRecords(np.arange(400.0)[:, None], codes, np.arange(400))
    model = SimpleNamespace(records=kept, class_count=np.array([9000, 1000]), original=lambda Z: Z)
    rows = representative_rows(model)
    assert np.bincount(codes[rows]).tolist() == [300, 33]
    assert len(np.unique(rows)) == 333
    whole = SimpleNamespace(records=kept, class_count=np.array([300, 100]), original=lambda Z: Z)
    assert representative_rows(whole).tolist() == list(range(400))
