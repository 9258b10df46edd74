"""Counts of verdicts, and labelled records, whatever the order of rows."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import classified_points, decimals, examples, orders

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor


class TestObservations:
    @pytest.mark.slow
    @examples(15)
    @given(classified_points(), st.sampled_from(["local", "paper"]))
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    def test_they_are_those_of_a_plain_loop(self, data, trust):
        rng = np.random.default_rng(0)
        X, y, n_imp = data
        clf = SEPClassifier(n_imp=n_imp, trust=trust).fit(X, y)
        Z = X.mean(0) + 2.0 * X.std(0) * rng.standard_normal((60, X.shape[1]))
        truth = np.array(list("abcd"))[rng.integers(4, size=60)]
        monitor = FeedbackMonitor(clf, reference=Z[:1] + 1.0)
        monitor.observe(Z[:20], truth[:20]).observe(Z[20:30]).observe(Z[30:], truth[30:])
        expected = defaultdict(lambda: [0, 0, 0])
        for i, z in enumerate(Z):
            a = clf.assess(z[None])
            problem = np.searchsorted(clf.classes_, a.label[0]) if len(clf.partitions_) > 1 else 0
            tally = expected[problem, a.region[0]]
            tally[0] += 1
            if not 20 <= i < 30:
                tally[1 if a.label[0] == truth[i] else 2] += 1
        seen = {key: [t.n, t.n_right, t.n_wrong] for key, t in monitor._observations.regions.items()}
        assert seen == dict(expected)
        report = monitor.report()
        assert report.n == 60
        assert report.n_labelled == 50 == sum(b.n for b in report.reliability)
        assert sum(report.unknown_labels.values()) == sum(
            t not in clf.classes_ for i, t in enumerate(truth) if not 20 <= i < 30
        )
        assert report.n_outside == np.count_nonzero(clf.assess(Z).rule == "R3")
        assert report.trust == pytest.approx(clf.trust_score(Z).mean())

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @examples(8)
    @given(st.data())
    def test_the_order_of_rows_in_a_batch_does_not_matter(self, clf, iris, data):
        X, y = iris
        n = data.draw(st.integers(1, 40))
        rows = data.draw(arrays(np.int64, n, elements=st.integers(0, len(X) - 1)))
        odd = data.draw(st.lists(st.sampled_from(["", "", "", "odd", "strange"]), min_size=n, max_size=n))
        truth = np.array([other or label for other, label in zip(odd, y[rows], strict=True)])
        Z = X[rows] + data.draw(decimals((n, 4), 200))
        order = data.draw(orders(n))
        one, two = (FeedbackMonitor(clf, reference=X[1::2]) for _ in range(2))
        one.observe(Z, truth)
        two.observe(Z[order], truth[order])
        assert one.report() == two.report()
        assert one.repartition()[1].accuracy_after == two.repartition()[1].accuracy_after

    def test_unknown_labels_count_as_wrong_and_are_named(self, monitor, iris):
        report = monitor.observe(iris[0][3:9], ["tulip"] * 4 + ["rose"] * 2).report()
        assert report.unknown_labels == {"rose": 2, "tulip": 4}
        assert report.n_wrong == 6
        assert "tulip (4)" in repr(report)


class TestRegions:
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
