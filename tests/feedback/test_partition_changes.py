"""Changes from one partition to the next."""

import re

import numpy as np

from sepc.feedback import FeedbackMonitor
from sepc.feedback.partition_changes import EllipsoidChange, PartitionChanges


class TestPartitionChanges:
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
        old_names = {name for rules in clf.model_.rules for name in rules.names}
        new_names = [name for rules in new.model_.rules for name in rules.names]
        named = [e.region for e in (*changes.appeared, *changes.changed)]
        assert len(named) == len(set(named))
        assert set(named) <= set(new_names)
        assert {e.was for e in (*changes.disappeared, *changes.changed)} <= old_names


def test_many_new_ellipsoids_are_told_in_a_few_lines():
    new = tuple(EllipsoidChange("appeared", f"bad#{k}", None, "bad", 10 + k, k) for k in range(1, 124))
    told = repr(PartitionChanges(500, 200, new, (), 0.8, 0.9)).splitlines()
    assert len(told) == 8
    assert re.findall(r"[\w#]*\d+", told[1]) == ["bad#123", "133", "123"]
    assert re.findall(r"\d+", told[6]) == ["118"]
