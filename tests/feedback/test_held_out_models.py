"""Models fitted without a part of the training set, and what they are compared on."""

import numpy as np
import pytest
from coded import raises

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.held_out_models import parts_of


class TestHeldOutModels:
    def test_it_looks_at_new_records_through_models_that_have_seen_neither(self, clf, iris):
        monitor = FeedbackMonitor(clf)
        X, y = iris[0][::2], iris[1][::2]
        rows = clf.model_.rows
        parts = [np.sort(rows[part]) for part in parts_of(clf.model_, 3)]
        assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(X)))
        for part, (outside, n) in zip(parts, monitor._outside_test.held_out.tolist(), strict=True):
            rest = np.setdiff1d(np.arange(len(X)), part)
            one = SEPClassifier().fit(X[rest], y[rest])
            assert (outside, n) == (np.count_nonzero(one.assess(X[part]).rule == "R3"), len(part))

    @pytest.mark.slow
    def test_the_parts_do_not_depend_on_the_order_of_the_training_rows(self, iris):
        X, y = iris
        order = np.random.default_rng(0).permutation(len(X))
        one, two = (FeedbackMonitor(SEPClassifier().fit(X[rows], y[rows])).drift for rows in (np.arange(150), order))
        assert (one.expected, one.limit) == (two.expected, two.limit)

    def test_training_records_are_no_reference(self, clf, iris):
        with raises("reference-has-training-records", n_known=75, n_rows=75):
            FeedbackMonitor(clf, reference=iris[0][::2])
