"""Linear terms in the calibration of a classifier: in all of its answers, and nowhere without calibration."""

from dataclasses import replace

import array_api_strict as xp
import numpy as np
import pytest
import sklearn
from sklearn.metrics import log_loss

import sepc
from sepc import SEPClassifier, SEPEnsembleClassifier


def records(n, seed, d=15):
    """Return records of which a straight line tells the label, with tails that densities blur."""
    rng = np.random.default_rng(seed)
    X = np.sinh(1.3 * rng.normal(size=(n, d)))
    return X, (np.arcsinh(X[:, :5]).sum(axis=1) + rng.logistic(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def clf():
    return SEPClassifier().fit(*records(300, 0))


def test_they_tell_what_densities_lose(clf):
    X, y = records(2000, 1)
    model = clf.model_
    without = replace(model, fit=replace(model.fit, calibration=replace(model.calibration, linear=None)))
    assert model.calibration.linear is not None
    assert log_loss(y, clf.predict_proba(X)) < log_loss(y, without.decide(X).proba)
    assert without.key() != model.key()


def test_no_record_depends_on_the_others_and_the_fit_not_on_their_order(clf):
    X, y = records(300, 0)
    proba = clf.predict_proba(X[:50])
    assert np.array_equal(proba, np.vstack([clf.predict_proba(x[None]) for x in X[:50]]))
    assert np.array_equal(proba, clf.predict_proba(np.asfortranarray(X[:50])))
    order = np.random.default_rng(0).permutation(len(X))
    assert np.array_equal(SEPClassifier().fit(X[order], y[order]).predict_proba(X[:50]), proba)


@pytest.mark.slow
def test_explanations_add_up(clf):
    for x in records(5, 2)[0]:
        for asked in (x, np.where(np.arange(len(x)) == 1, np.nan, x)):
            why = clf.explain(asked)
            assert why.table()["contribution"].sum() == pytest.approx(why.evidence.log_odds, abs=1e-9)
            odds = np.log(why.trust / why.evidence.rival_probability)
            assert odds == pytest.approx(why.evidence.log_odds, abs=1e-9)
            assert sum(one.share for one in why.shares if one.label == why.label) == pytest.approx(why.trust)
            assert clf.predict([list(why.counterfactual.point.values())])[0] == why.counterfactual.label


def test_a_file_and_an_array_elsewhere_have_them(clf, tmp_path, monkeypatch):
    X = records(50, 3)[0]
    proba = clf.predict_proba(X)
    for training_rows in (True, False):
        sepc.save(clf, tmp_path / "model.sepc", training_rows=training_rows)
        assert np.array_equal(sepc.load(tmp_path / "model.sepc").predict_proba(X), proba)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        np.testing.assert_allclose(np.asarray(clf.predict_proba(xp.asarray(X))), proba, rtol=0.0, atol=1e-9)


@pytest.mark.slow
def test_gaps_weights_and_labels_are_of_no_concern():
    X, y = records(300, 0)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    clf = SEPClassifier().fit(X, np.array(["no", "yes"])[y], sample_weight=np.full(len(y), 2))
    assert clf.model_.calibration.linear is not None
    proba = clf.predict_proba(np.vstack([X[:20], np.full(X.shape[1], np.nan)]))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba[-1], np.bincount(y) / len(y))


@pytest.mark.parametrize(
    "without", [SEPClassifier(trust="raw"), SEPClassifier(standardize=False)], ids=["raw", "not standardised"]
)
def test_without_calibration_or_units_there_are_none(without):
    assert without.fit(*records(300, 0)).model_.calibration.linear is None


def test_members_of_an_ensemble_have_none():
    model = SEPEnsembleClassifier(n_estimators=2).fit(*records(100, 0)).model_
    assert model.strangeness.calibration.linear is None
