"""FeedbackMonitor: the paper's story, honest alarms, nothing lost."""

import json
import os
from collections import defaultdict

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import labelled_points, seeds

from sepc import FeedbackMonitor, InputError, SEPClassifier
from sepc.feedback.comparison import parts_of
from sepc.feedback.drift import Watch, exact_interval, upper_limit
from sepc.feedback.store import fingerprint


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def clf(iris):
    X, y = iris
    return SEPClassifier().fit(X[::2], y[::2])


@pytest.fixture
def monitor(clf, iris):
    return FeedbackMonitor(clf, reference=iris[0][1::4], reference_labels=iris[1][1::4])


def gaussians(n, rng, d=2):
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, d))
    X[:, 0] += 3.0 * y
    return X, y


@pytest.fixture(scope="module")
def story():
    data = load_breast_cancer(as_frame=True)
    X = data.data[["worst radius", "worst texture", "worst smoothness"]]
    y = data.target_names[data.target]
    malignant, benign = np.flatnonzero(y == "malignant"), np.flatnonzero(y == "benign")
    by_size = malignant[np.argsort(X["worst radius"].to_numpy()[malignant], kind="stable")]
    small, large = by_size[:80], np.sort(by_size[80:])
    train = np.r_[large[::2], benign[::2]]
    clf = SEPClassifier(trust="paper").fit(X.iloc[train], y[train])
    monitor = FeedbackMonitor(clf)
    feed = np.random.default_rng(0).permutation(np.r_[small[::2], large[1::4], benign[1::4]])
    for batch in np.array_split(feed, 6):
        monitor.observe(X.iloc[batch], y[batch])
    later = small[1::2]
    return clf, monitor, monitor.repartition(), (X.iloc[later], y[later]), (X.iloc[benign[3::4]], y[benign[3::4]])


class TestTheStoryOfThePaper:
    """The training set lacks the small malignant tumours; feedback brings them in."""

    def test_the_missing_group_is_called_benign_with_high_trust(self, story):
        clf, _, _, (X, y), _ = story
        a = clf.assess(X)
        assert np.mean(a.label == y) <= 0.4
        assert a.trust[a.label != y].mean() > 0.99

    def test_the_monitor_names_the_regions_whose_errors_exceed_n_imp(self, story):
        _, monitor, _, _, _ = story
        worst = monitor.report().exceeding[0]
        assert "benign" in worst.region
        assert worst.n_wrong > worst.n_imp == 2
        assert not worst.calibrated
        assert worst.region in repr(monitor)

    def test_errors_ring(self, story):
        assert story[1].error_drift.alarm

    def test_the_group_gets_its_own_ellipsoid(self, story):
        _, _, (_, changes), _, _ = story
        assert any(e.label == "malignant" and 2 * e.n_observed > e.n_members for e in changes.appeared)
        assert changes.accuracy_after > changes.accuracy_before
        assert all(flip.row >= changes.n_before for flip in changes.flips)
        assert {flip.true for flip in changes.flips if flip.after == flip.true} >= {"malignant"}

    def test_the_new_partition_is_right_on_later_records(self, story):
        _, _, (new, _), (X, y), (X_benign, y_benign) = story
        assert new.score(X, y) >= 0.8
        assert new.score(X_benign, y_benign) >= 0.9


class TestTallies:
    @settings(max_examples=30, deadline=None)
    @given(seeds())
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_they_are_those_of_a_plain_loop(self, seed):
        rng = np.random.default_rng(seed)
        A, B, n_imp = labelled_points(seed)
        X, y = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
        if seed % 2 and len(A) > 3:
            y[: len(A) // 2] = 2
        clf = SEPClassifier(n_imp=n_imp).fit(X, y)
        Z = X.mean(0) + 2.0 * X.std(0) * rng.standard_normal((60, X.shape[1]))
        truth = rng.integers(4, size=60)
        monitor = FeedbackMonitor(clf, reference=Z[:1] + 1.0)
        monitor.observe(Z[:20], truth[:20]).observe(Z[20:30]).observe(Z[30:], truth[30:])
        expected = defaultdict(lambda: [0, 0, 0])
        for i, z in enumerate(Z):
            a = clf.assess(z[None])
            problem = a.label[0] if len(clf.classes_) > 2 else 0
            tally = expected[problem, a.region[0]]
            tally[0] += 1
            if not 20 <= i < 30:
                tally[1 if a.label[0] == truth[i] else 2] += 1
        seen = {key: [t.n, t.n_right, t.n_wrong] for key, t in monitor._seen.regions.items()}
        assert seen == dict(expected)
        report = monitor.report()
        assert report.n == 60
        assert report.n_labelled == 50 == sum(b.n for b in report.reliability)
        assert sum(report.unknown_labels.values()) == sum(
            t not in clf.classes_ for i, t in enumerate(truth) if not 20 <= i < 30
        )
        assert report.n_outside == np.count_nonzero(clf.assess(Z).rule == "R3")
        assert report.trust == pytest.approx(clf.trust_score(Z).mean())

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @settings(max_examples=20, deadline=None)
    @given(seeds())
    def test_the_order_of_rows_in_a_batch_does_not_matter(self, clf, iris, seed):
        X, y = iris
        rng = np.random.default_rng(seed)
        rows = rng.choice(len(X), size=40)
        truth = np.where(rng.random(40) < 0.2, rng.choice(["odd", "strange"], size=40), y[rows])
        Z = X[rows] + rng.standard_normal((40, 4))
        order = rng.permutation(40)
        one, two = (FeedbackMonitor(clf, reference=X[1::2]) for _ in range(2))
        one.observe(Z, truth)
        two.observe(Z[order], truth[order])
        assert one.report() == two.report()
        assert one.repartition()[1].accuracy_after == two.repartition()[1].accuracy_after

    def test_regions_agree_with_the_report(self, monitor, iris):
        monitor.observe(iris[0][3::4], iris[1][3::4])
        frame = monitor.regions()
        assert frame["n"].sum() == monitor.report().n
        assert ((frame["low"] <= frame["share_right"]) & (frame["share_right"] <= frame["high"])).all()
        assert (frame["exceeds"] == (frame["n_wrong"] > frame["n_imp"])).all()
        assert frame["n_wrong"].is_monotonic_decreasing

    def test_n_imp_is_the_count_of_the_partition(self, iris):
        X, y = iris
        clf = SEPClassifier(n_imp=0.1).fit(X[::2], y[::2])
        frame = FeedbackMonitor(clf, reference=X[1::2]).observe(X[1::2], y[1::2]).regions()
        assert set(frame["n_imp"]) == {clf.partitions_[0].n_imp} == {2}

    def test_unknown_labels_count_as_wrong_and_are_named(self, monitor, iris):
        report = monitor.observe(iris[0][3:9], ["tulip"] * 4 + ["rose"] * 2).report()
        assert report.unknown_labels == {"rose": 2, "tulip": 4}
        assert report.n_wrong == 6
        assert "tulip (4)" in repr(report)


class TestDrift:
    def test_the_limit_is_exceeded_as_often_as_stated(self):
        for n, p, risk in ((20, 0.3, 0.05), (100, 0.02, 0.01), (50, 0.9, 0.1)):
            hits = np.arange(n + 1)
            fails = np.array([upper_limit(k, n, risk) < p for k in hits.tolist()])
            assert binom.pmf(hits, n, p)[fails].sum() <= risk

    @settings(max_examples=50, deadline=None)
    @given(st.integers(0, 60), st.integers(0, 60))
    def test_the_interval_holds_the_share_and_mirrors(self, hits, misses):
        low, high = exact_interval(hits, hits + misses)
        assert 0.0 <= low <= high <= 1.0
        assert hits + misses == 0 or low <= hits / (hits + misses) <= high
        assert exact_interval(misses, hits + misses) == pytest.approx((1 - high, 1 - low))

    def test_bets_are_fair(self):
        """At the limit the expected winnings are the stake, whatever the batches."""
        held_out = np.array([[3, 40], [5, 40]])
        sizes, limits = (3, 1, 4), Watch("odd", held_out, 0.05).limits

        def expected_winnings(rates):
            mean = 0.0
            for outcome in np.ndindex(*(n + 1 for n in sizes for _ in limits)):
                watch, probability = Watch("odd", held_out, 0.05), 1.0
                for i, n in enumerate(sizes):
                    hits = list(outcome[2 * i : 2 * i + 2])
                    watch.add(n, hits)
                    probability *= binom.pmf(hits, n, rates).prod()
                mean += probability * np.exp(watch.log_evidence[-1])
            return mean

        assert expected_winnings(limits) == pytest.approx(1.0)
        assert expected_winnings(0.7 * limits) < 1.0
        assert expected_winnings(1.4 * limits) > 1.0

    def test_false_alarms_are_as_rare_as_stated(self):
        """Many lives of a monitor, training set and stream drawn anew each time."""
        rate, runs = 0.2, 60
        alarms = {"drift": 0, "errors": 0}
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            monitor = FeedbackMonitor(SEPClassifier().fit(*gaussians(60, rng)), false_alarm_rate=rate)
            for _ in range(5):
                monitor.observe(*gaussians(100, rng))
            alarms["drift"] += monitor.drift.alarm
            alarms["errors"] += monitor.error_drift.alarm
        assert max(alarms.values()) <= binom.isf(0.001, runs, rate)

    def test_a_shift_rings_soon_and_only_once(self):
        rng = np.random.default_rng(0)
        monitor = FeedbackMonitor(SEPClassifier().fit(*gaussians(200, rng)))
        for _ in range(10):
            monitor.observe(gaussians(50, rng)[0])
        assert not monitor.drift.alarm
        for _ in range(10):
            monitor.observe(gaussians(50, rng)[0] + 3.0)
        first = monitor.drift
        assert first.alarm
        assert 500 < first.when <= 600
        for _ in range(40):
            monitor.observe(gaussians(50, rng)[0])
        assert (monitor.drift.alarm, monitor.drift.when) == (True, first.when)
        assert len(monitor.history()) == 60

    def test_it_looks_at_new_records_through_models_that_have_seen_neither(self, clf, iris):
        monitor = FeedbackMonitor(clf)
        X, y = iris[0][::2], iris[1][::2]
        rows = clf._model.rows
        parts = [np.sort(rows[part]) for part in parts_of(clf._model, 3)]
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(X)))
        for part, (outside, n) in zip(parts, monitor._watch_outside.held_out.tolist(), strict=True):
            rest = np.setdiff1d(np.arange(len(X)), part)
            one = SEPClassifier().fit(X[rest], y[rest])
            assert (outside, n) == (np.count_nonzero(one.assess(X[part]).rule == "R3"), len(part))

    def test_the_parts_do_not_depend_on_the_order_of_the_training_rows(self, iris):
        X, y = iris
        order = np.random.default_rng(0).permutation(len(X))
        one, two = (FeedbackMonitor(SEPClassifier().fit(X[rows], y[rows])).drift for rows in (np.arange(150), order))
        assert (one.expected, one.limit) == (two.expected, two.limit)

    def test_training_records_are_no_reference(self, clf, iris):
        with pytest.raises(InputError, match="75 training records among 75"):
            FeedbackMonitor(clf, reference=iris[0][::2])

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_tiny_training_sets_have_no_say(self):
        clf = SEPClassifier().fit([[0.0, 1.0], [4.0, 5.0]], ["a", "b"])
        monitor = FeedbackMonitor(clf).observe([[99.0, 99.0]] * 50)
        assert not monitor.drift.alarm
        assert monitor.drift.limit == 1.0
        json.dumps(monitor.report().to_dict(), allow_nan=False)


class TestRepartition:
    def test_training_rows_keep_their_numbers_and_values(self, iris):
        X, y = iris
        order = np.random.default_rng(1).permutation(len(X))
        old, fresh = order[:100], order[100:]
        clf = SEPClassifier().fit(X[old], y[old])
        new, changes = FeedbackMonitor(clf, reference=X[fresh]).observe(X[fresh], y[fresh]).repartition()
        model = new._model
        assert np.allclose(model.original(model.points)[np.argsort(model.rows)], X[order], rtol=1e-12)
        assert np.array_equal(model.classes[model.codes][np.argsort(model.rows)], y[order])
        assert (changes.n_before, changes.n_added) == (100, 50)
        assert changes.accuracy_before == clf.score(X[fresh], y[fresh])
        assert changes.accuracy_after == new.score(X[fresh], y[fresh])
        json.dumps(changes.to_dict())

    def test_flips_are_the_verdicts_that_differ(self, clf, iris):
        X, y = iris[0][1::2], iris[1][1::2]
        new, changes = FeedbackMonitor(clf, reference=X).observe(X, y).repartition()
        before, after = clf.predict(X), new.predict(X)
        rows = np.flatnonzero(before != after)
        assert [(f.row, f.before, f.after, f.true) for f in changes.flips] == [
            (75 + i, before[i], after[i], y[i]) for i in rows
        ]

    def test_each_new_ellipsoid_is_kept_changed_or_new(self, clf, iris):
        X, y = iris[0][1::2], iris[1][1::2]
        new, changes = FeedbackMonitor(clf, reference=X).observe(X, y).repartition()
        old_names = {name for rules in clf._model.rules for name in rules.names}
        new_names = [name for rules in new._model.rules for name in rules.names]
        named = [e.region for e in (*changes.appeared, *changes.changed)]
        assert len(named) == len(set(named))
        assert set(named) <= set(new_names)
        assert {e.was for e in (*changes.disappeared, *changes.changed)} <= old_names

    def test_the_classifier_stays_as_it_was(self, clf, iris, monitor):
        before = fingerprint(clf)
        monitor.observe(iris[0][1::2], iris[1][1::2]).repartition()
        assert fingerprint(clf) == before

    @pytest.mark.parametrize("library", [pd, pl])
    def test_frames_and_names_stay(self, library, iris):
        X = library.DataFrame({name: iris[0][:, j] for j, name in enumerate("abcd")})
        clf = SEPClassifier().fit(X[::2], iris[1][::2])
        monitor = FeedbackMonitor(clf).observe(X[1::2], iris[1][1::2])
        new, _ = monitor.repartition()
        assert list(new.feature_names_in_) == list("abcd")
        assert isinstance(new.regions(), library.DataFrame)
        assert isinstance(monitor.regions(), library.DataFrame)

    def test_an_unknown_label_becomes_a_class(self, clf, iris):
        Z = iris[0][1:50:2] + 20.0
        new, _ = FeedbackMonitor(clf, reference=iris[0][1::2]).observe(Z, ["tulip"] * 25).repartition()
        assert "tulip" in new.classes_
        assert (new.predict(Z) == "tulip").all()

    def test_labels_of_another_type_cannot_be_trained_with(self, clf, iris):
        monitor = FeedbackMonitor(clf, reference=iris[0][1::2]).observe(iris[0][1:3], [7, 8])
        with pytest.raises(InputError, match=r"\[7, 8\], of another type"):
            monitor.repartition()

    def test_too_few_records_are_refused(self, monitor, iris):
        monitor.observe(iris[0][1:3], iris[1][1:3]).observe(iris[0][5:9])
        with pytest.raises(InputError, match="2 labelled records were observed; expected at least min_records = 3"):
            monitor.repartition(min_records=3)
        with pytest.raises(InputError, match="min_records is 0"):
            monitor.repartition(min_records=0)


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
                assert np.array_equal(found._seen.labelled()[0], monitor._seen.labelled()[0])
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


class TestBadInput:
    def test_a_refused_batch_leaves_no_trace(self, monitor, iris):
        X, y = iris[0][1:5], iris[1][1:5]
        before = repr(monitor.observe(X, y).report().to_dict())
        for Z, labels, message in (
            (X, y[:3], "y_true has 3 labels for 4 records"),
            (X, [None, *y[1:]], "no label in 1 rows, first in row 0"),
            (X, [1.0, 2.0, np.nan, 1.0], "no label in 1 rows, first in row 2"),
            (np.full((2, 4), np.nan), y[:2], "NaN"),
            (X[:, :3], y, "features"),
            (X[:0], y[:0], "0 sample"),
            (X, y[:, None][:, [0, 0]], "1d array"),
        ):
            with pytest.raises(ValueError, match=message):
                monitor.observe(Z, labels)
        assert repr(monitor.report().to_dict()) == before

    def test_parameters_are_checked(self, clf, iris):
        for options, message in (
            ({"false_alarm_rate": 0.0}, "false_alarm_rate is 0.0"),
            ({"false_alarm_rate": "low"}, "false_alarm_rate is 'low'"),
            ({"folds": 1}, "folds is 1"),
            ({"reference_labels": iris[1]}, "came without reference"),
            ({"reference": iris[0][1:5], "reference_labels": iris[1][1:4]}, "reference_labels has 3 labels for 4"),
        ):
            with pytest.raises(InputError, match=message):
                FeedbackMonitor(clf, **options)

    def test_only_a_fitted_classifier_can_be_watched(self, iris):
        with pytest.raises(NotFittedError):
            FeedbackMonitor(SEPClassifier())
        with pytest.raises(InputError, match="pass its last step"):
            FeedbackMonitor(make_pipeline(StandardScaler(), SEPClassifier()).fit(*iris))

    def test_a_classifier_that_was_fitted_again_is_noticed(self, iris):
        clf = SEPClassifier().fit(iris[0][::2], iris[1][::2])
        monitor = FeedbackMonitor(clf)
        clf.fit(*iris)
        with pytest.raises(InputError, match="fitted again"):
            monitor.observe(iris[0][1:3])


def test_what_is_shown_is_escaped_and_plain(iris):
    X, y = iris[0], np.where(iris[1] == "setosa", "<b>", "c&d")
    monitor = FeedbackMonitor(SEPClassifier().fit(X[::2], y[::2])).observe(X[1::2], y[1::2])
    report = monitor.report()
    html = report._repr_html_() + monitor.drift._repr_html_() + monitor.repartition()[1]._repr_html_()
    assert "<b>" not in html
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["n"] == 75
    assert "75 records observed" in repr(report)
