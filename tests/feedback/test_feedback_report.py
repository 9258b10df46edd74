"""What a report shows is escaped and plain."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor


def test_what_is_shown_is_escaped_and_plain(iris):
    X, y = iris[0], np.where(iris[1] == "setosa", "<b>", "c&d")
    monitor = FeedbackMonitor(SEPClassifier().fit(X[::2], y[::2])).observe(X[1::2], y[1::2])
    report = monitor.report()
    html = report._repr_html_() + monitor.drift._repr_html_() + monitor.repartition()[1]._repr_html_()
    assert "<b>" not in html
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["n"] == 75
    assert "75 records " in repr(report)


def test_repeated_records_are_counted_and_told():
    X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
    monitor = FeedbackMonitor(SEPClassifier().fit(X, y)).observe([[0.5], [7.0], [0.5]], [0, 1, 0])
    assert monitor.report().n_repeated == 1
    monitor.observe([[7.0], [7.0]], [1, 0])
    assert monitor.report().n_repeated == 2
    assert repr(monitor.report()) != repr(replace(monitor.report(), n_repeated=0))


@pytest.mark.slow
def test_many_regions_with_wrong_verdicts_are_told_in_a_few_lines():
    X, y = np.arange(200.0)[:, None], np.arange(200) // 10 % 2
    report = FeedbackMonitor(SEPClassifier(n_imp=0).fit(X, y)).observe(X + 0.1, 1 - y).report()
    assert len(report.exceeding) > 6
    named = [region.region for region in report.exceeding if f" {region.region}: " in repr(report)]
    assert len(named) == 5
    assert f" {len(report.exceeding) - 5} more " in repr(report)
