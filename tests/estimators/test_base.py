"""The base of classifiers: one record, and fits that are interrupted."""

import numpy as np
import pytest
from coded import raises

from sepc import SEPClassifier


def test_one_record_at_a_time(cancer, fitted):
    X, _ = cancer
    assert fitted.explain(X[:1]).label == fitted.explain(X.iloc[0]).label
    with raises("explain-one-record", n_rows=2):
        fitted.explain(X[:2])
    with raises("not-finite", kinds="inf"):
        fitted.explain(X.iloc[0] * np.inf)


def test_interrupting_leaves_the_classifier_as_it_was(cancer, monkeypatch):
    X, y = cancer
    clf = SEPClassifier().fit(X.iloc[:, :3], y)
    before = clf.assess(X.iloc[:, :3]).to_frame()
    attributes = set(vars(clf))
    monkeypatch.setattr("sepc.partitions.run.nearest_of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert set(vars(clf)) == attributes
    assert clf.assess(X.iloc[:, :3]).to_frame().equals(before)
    fresh = SEPClassifier()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not hasattr(fresh, "n_features_in_")
