"""Parts of the records: which verdicts belong to which, and how the stake is shared."""

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor
from sepc.feedback.error_parts import ErrorParts
from sepc.feedback.held_out_models import ModelView


@pytest.fixture
def views():
    """Return what two models say of 60 records: regions of 30, 25 and 5 records, of 45 and 15."""
    one = np.repeat([0, 1, 2], [30, 25, 5])
    two = np.repeat([0, 1], [45, 15])
    return [
        ModelView(60, 0, np.array([0, 1, 1])[one], one, np.array([0, 1, 1])),
        ModelView(60, 0, two, two, np.array([0, 1])),
    ]


class TestErrorParts:
    def test_regions_that_few_held_out_records_are_expected_in_are_one_part_by_label(self, views):
        regions = [np.repeat(["a#1", "a#2", "b#1"], [20, 10, 30])] * 2
        expected = [np.array([31.0, 22.0, 7.0]), np.array([44.0, 16.0])]
        parts = ErrorParts.of_held_out(["a", "b"], views, regions, expected)
        assert [tuple(p) for p in parts.processes] == [
            ("overall", 0, "overall"),
            ("overall", 1, "overall"),
            ("label", 0, "a"),
            ("label", 0, "b"),
            ("label", 1, "a"),
            ("label", 1, "b"),
            ("region", 0, "a#1"),
            ("region", 0, "b#1"),
            ("other regions", 0, "b"),
            ("region", 1, "a#1"),
            ("other regions", 1, "b"),
        ]
        assert parts.of_region.tolist() == [[6, 7, 8], [9, 10, -1]]
        stakes = parts.stakes()
        assert stakes[:2].tolist() == [0.25] * 2
        assert stakes[2:6].tolist() == [0.0625] * 4
        assert stakes[6:] == pytest.approx(np.full(5, 0.05))
        counts = parts.counts(views, [np.zeros(60, dtype=np.int64)] * 2)
        assert counts[:, 1].tolist() == [60, 60, 30, 30, 45, 15, 30, 25, 5, 45, 15]
        assert counts[:, 0].tolist() == [30, 15, 0, 30, 0, 15, 0, 25, 5, 0, 15]

    def test_without_regions_labels_have_half_of_the_stake(self, views):
        parts = ErrorParts.of_held_out(["a", "b"], views, None)
        assert parts.stakes().tolist() == [0.25] * 2 + [0.125] * 4
        assert parts.of_region.shape == (2, 0)

    def test_each_kind_of_part_holds_each_verdict_once(self, clf):
        monitor = FeedbackMonitor(clf)
        test = monitor._error_test
        kinds = np.array([p.kind.replace("other regions", "region") for p in test.parts.processes])
        for kind in ("overall", "label", "region"):
            assert test.held_out[kinds == kind, 1].sum() == 75
        before = test.held_out[kinds == "overall", 0].sum()
        assert all(test.held_out[kinds == kind, 0].sum() == before for kind in ("label", "region"))

    def test_readings_without_densities_have_labels_alone(self, iris):
        clf = SEPClassifier(trust="paper").fit(iris[0][::2], iris[1][::2])
        kinds = {p.kind for p in FeedbackMonitor(clf)._error_test.parts.processes}
        assert kinds == {"overall", "label"}
