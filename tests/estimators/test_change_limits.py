"""Limits of changes that a classifier keeps: explanations honour them, files and refits hold them."""

import numpy as np
import pandas as pd
import pytest
from coded import raises

from sepc import SEPClassifier, SEPEnsembleClassifier, load, make_table_pipeline, save
from sepc.feedback import FeedbackMonitor


def patients(n=80):
    rng = np.random.default_rng(0)
    ill = np.arange(n) % 2 == 0
    table = pd.DataFrame(
        {
            "age": np.round(rng.normal(45.0, 8.0, n) + 12.0 * ill),
            "pressure": np.round(rng.normal(120.0, 8.0, n) + 12.0 * ill),
            "since": pd.date_range("2020-01-01", periods=n, freq="7D"),
            "smoker": rng.choice(["yes", "no"], n),
        }
    )
    return table, np.where(ill, "ill", "well")


def changed(why):
    return {change.feature for change in why.counterfactual.changes}


@pytest.mark.parametrize("classifier", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=2)], ids=str)
def test_explanations_honour_kept_limits_unless_others_are_given(classifier, tmp_path):
    table, y = patients()
    clf = make_table_pipeline(classifier).fit(table, y)
    one = table.iloc[[1]]
    free = clf.explain(one)
    clf.limit_changes(fixed=["age"], ranges={"pressure": (None, 150)})
    save(clf, tmp_path / "model.sepc")
    for kept in (clf, load(tmp_path / "model.sepc"), clf.under(class_prior={"ill": 0.4})):
        why = kept.explain(one)
        assert "age" not in changed(why)
        assert why.limits == " with age as it is and pressure up to 150"
    assert clf.explain(one, fixed=(), ranges={}) == free
    # What is given takes the place of what is kept, also of the other kind for the same column.
    assert clf.explain(one, fixed="smoker").limits == " with smoker as it is and pressure up to 150"
    assert clf.explain(one, fixed="pressure").limits == " with pressure as it is"
    assert clf.explain(one, ranges={"age": (20, None)}).limits == " with age from 20"
    assert clf.limit_changes()["classifier"].change_limits is None


def test_they_are_checked_when_they_are_kept():
    table, y = patients()
    clf = make_table_pipeline().fit(table, y)
    with raises("change-unknown-column"):
        clf.limit_changes(fixed="weight")
    with raises("range-of-category"):
        clf.limit_changes(ranges={"smoker": (0, 1)})
    with raises("range-empty"):
        clf["classifier"].limit_changes(ranges={"age": (60, 20)})


def test_a_fit_forgets_them_and_a_refit_with_feedback_does_not():
    table, y = patients()
    X = table[["age", "pressure"]]
    clf = SEPClassifier().fit(X[:60], y[:60]).limit_changes(fixed="age")
    monitor = FeedbackMonitor(clf)
    monitor.observe(X[60:], y[60:])
    new, _ = monitor.repartition(min_records=10)
    assert new.change_limits.fixed == ("age",)
    assert clf.fit(X, y).change_limits is None
