"""ErrorLandscapeDisplay: what is drawn are the numbers of the landscape."""

import numpy as np
import pytest
from drawings import axes
from sklearn.dummy import DummyClassifier

from sepc.landscapes import error_landscape
from sepc.plot import ErrorLandscapeDisplay


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    return DummyClassifier().fit(X, np.zeros(600)), X, rng.random(600) < np.where(X[:, 1] > 0.9, 0.9, 0.1)


def test_bars_are_error_rates(data):
    found = error_landscape(*data)
    display = ErrorLandscapeDisplay.from_landscape(found, ax=axes())
    frame = display.frame()
    assert frame["rule"].tolist() == [one.rule for one in found.regions]
    assert [bar.get_width() for bar in display.bars_] == frame["error_rate"].tolist()
    (one,) = found.regions
    assert display.text_[0].get_text().startswith(f"{one.n_errors} of {one.n_tested}, ")
    assert [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()] == [one.rule]
    intervals, elsewhere = display.ax_.collections
    assert intervals.get_segments()[0][:, 0].tolist() == [one.low, one.high]
    assert set(elsewhere.get_segments()[0][:, 0].tolist()) == {one.elsewhere}


def test_any_classifier_can_be_shown(data):
    display = ErrorLandscapeDisplay.from_estimator(*data, max_fdr=1e-6, ax=axes())
    assert len(display.frame()) == 1


def test_no_region_is_said_to_be_none():
    display = ErrorLandscapeDisplay([]).plot(axes())
    assert "no region" in display.ax_.texts[0].get_text()
    assert len(display.frame()) == 0
