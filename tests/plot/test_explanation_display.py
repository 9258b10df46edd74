"""Laws of ExplanationDisplay: bars add up to the log odds, and a strip shows where the value lies."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes
from raw_tables import patients
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.plot import ExplanationDisplay


@pytest.mark.parametrize("n", [1, 4, 40])
def test_bars_add_up_to_the_log_odds_however_many_columns_are_drawn(cancer, n):
    clf, X, _ = cancer
    why = clf.explain(X.iloc[1])
    display = ExplanationDisplay.from_estimator(clf, X.iloc[1], explanation=why, max_columns=n, ax=axes())
    assert display.pair == (why.label, why.evidence.rival)
    assert display.frame()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
    *bars, total = display.bars_
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert [bar.get_x() for bar in bars] == pytest.approx([0.0, *ends[:-1]])
    assert total.get_width() == pytest.approx(ends[-1])
    d = X.shape[1]
    assert len(bars) == min(n, d) + 3 + (n < d)
    assert sum(strip is not None for strip in display.strips) == min(n, d)


def test_a_strip_shows_the_record_among_those_of_both_labels(cancer):
    clf, X, _ = cancer
    x = X.iloc[1].copy()
    x["mean area"] = 98050.0
    display = ExplanationDisplay.from_estimator(clf, x, max_columns=30, ax=axes())
    for row, strip in zip(display.rows, display.strips, strict=True):
        if strip is not None:
            assert (strip.value > 1.0) == row.startswith("mean area ")
            assert (np.diff(strip.usual) >= 0.0).all()
            assert all(0.0 <= dots.min() <= dots.max() <= 1.0 for dots in strip.dots)


@pytest.mark.parametrize("trust", ["local", "paper"])
def test_tables_show_shares_of_values_and_gaps(trust):
    table, y = patients()
    clf = make_table_pipeline(SEPClassifier(trust=trust)).fit(table, y)
    record = table.iloc[3].astype(object).to_dict() | {"age": None}
    display = ExplanationDisplay.from_estimator(clf, pd.DataFrame([record]), ax=axes())
    strips = {row.split(" ")[0]: strip for row, strip in zip(display.rows, display.strips, strict=True)}
    assert strips["color"].value is None
    assert ((strips["color"].usual >= 0.0) & (strips["color"].usual <= 1.0)).all()
    assert strips["weight"].value is not None
    display.figure_.draw_without_rendering()


def test_ensembles_pipelines_and_models_without_records_are_drawn(iris):
    clf, X, y = iris
    X, y = np.asarray(X), np.asarray(y)
    ensemble = SEPEnsembleClassifier(n_estimators=2).fit(X[::2], y[::2])
    scaled = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    for model in (ensemble, scaled):
        display = ExplanationDisplay.from_estimator(model, X[1], ax=axes())
        assert len(display.strips[0].dots[0])
    without = SEPClassifier().fit(X, y)
    without.model_ = without.model_.for_assessments()
    display = ExplanationDisplay.from_estimator(without, X[1], ax=axes())
    assert not len(display.strips[0].dots[0])
    assert np.isfinite(display.strips[0].usual).all()
    with raises("display-needs-regions", display="ExplanationDisplay", type="DummyClassifier"):
        ExplanationDisplay.from_estimator(DummyClassifier().fit(X, y), X[1])
    with raises("not-a-positive-integer", name="max_columns", value=0):
        ExplanationDisplay.from_estimator(clf, X[1], max_columns=0)
