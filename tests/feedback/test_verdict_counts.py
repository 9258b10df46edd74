"""Rows of regions: they agree with the report, and with the partition."""

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor


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
