"""What a report shows is escaped and plain."""

import json

import numpy as np

from sepc import FeedbackMonitor, SEPClassifier


def test_what_is_shown_is_escaped_and_plain(iris):
    X, y = iris[0], np.where(iris[1] == "setosa", "<b>", "c&d")
    monitor = FeedbackMonitor(SEPClassifier().fit(X[::2], y[::2])).observe(X[1::2], y[1::2])
    report = monitor.report()
    html = report._repr_html_() + monitor.drift._repr_html_() + monitor.repartition()[1]._repr_html_()
    assert "<b>" not in html
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["n"] == 75
    assert "75 records observed" in repr(report)
