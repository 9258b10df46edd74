"""Acceptance: labels that are accepted, and by what if nothing is asked for."""

import dask.array as da
import numpy as np
import pytest
from coded import raises, warns
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier, select_min_trust
from sepc.model.calibration import STRANGE


class TestAsked:
    def test_accepted_labels_have_the_trust_asked_for(self, cancer, fitted):
        X, _ = cancer
        a = fitted.assess(X)
        ordinary = a.typicality >= STRANGE
        assert ordinary.mean() > 0.98
        assert np.array_equal(a.accepted(0.99), ordinary & (a.trust >= 0.99))
        assert not a.accepted(0.0, allow_outside=False)[a.rule == "R3"].any()
        limits = {"benign": 0.9, "malignant": 0.999}
        expected = ordinary & (a.trust >= np.where(a.label == "benign", 0.9, 0.999))
        assert np.array_equal(a.accepted(limits), expected)
        labels = fitted.predict_or_abstain(X, limits)
        assert labels.dtype == object
        assert np.array_equal([label is not None for label in labels], expected)
        asked = fitted.predict_or_abstain(X, limits, abstain_label="?")
        assert np.array_equal(asked == "?", ~expected)
        assert np.array_equal(asked[expected], a.label[expected])

    @pytest.mark.parametrize(
        ("min_trust", "refusal"),
        [
            (-0.1, raises("not-between-0-and-1", name="min_trust", value=-0.1)),
            (1.5, raises("not-between-0-and-1", name="min_trust", value=1.5)),
            ("high", raises("not-between-0-and-1", name="min_trust", value="high")),
            ({"benign": 0.5}, raises("min-trust-without-entry", labels=["malignant"])),
            (
                {"benign": None, "malignant": 0.5},
                raises("not-between-0-and-1", name="min_trust['benign']", value=None),
            ),
        ],
    )
    def test_bad_thresholds_are_refused(self, cancer, fitted, min_trust, refusal):
        with refusal:
            fitted.predict_or_abstain(cancer[0][:3], min_trust)


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2, :5], y[::2], X[1::2, :5], y[1::2]


def on_dask(X):
    return da.from_array(X, chunks=(100, -1))


@pytest.mark.parametrize("kind", [np.asarray, on_dask])
class TestByDefault:
    def agree(self, clf, X, kind, expected):
        """Check that everything that accepts labels does so by default as expected; some are, some are not."""
        a, abstained = clf.assess(kind(X)), clf.predict_or_abstain(kind(X))
        assert 0 < expected.sum() < len(X)
        assert np.array_equal(np.asarray(a.accepted()), expected)
        assert np.array_equal(np.asarray(a.refusals()) == None, expected)  # noqa: E711
        for labels in (a.label_or(None), abstained):
            assert np.array_equal([label is not None for label in np.asarray(labels).tolist()], expected)

    def test_a_trust_of_0_95(self, halves, kind):
        X, y, new, _ = halves
        clf = SEPClassifier().fit(X, y)
        self.agree(clf, new, kind, clf.assess(new).accepted(0.95))

    def test_costs_alone_where_they_are_known(self, halves, kind):
        X, y, new, _ = halves
        clf = SEPClassifier().fit(X, y).under(costs={0: {1: 20.0}, 1: {0: 1.0}, None: 0.3})
        a = clf.assess(new)
        assert (a.accepted(0.0) & ~a.accepted(0.95)).any()
        self.agree(clf, new, kind, a.accepted(0.0))

    @pytest.mark.parametrize("by", [None, "label", "region"])
    def test_the_signed_promise_before_all_else(self, halves, kind, by):
        X, y, new, truth = halves
        clf = SEPClassifier().fit(X, y)
        promise = select_min_trust(clf, new, truth, max_error=0.15, by=by)
        clf = clf.sign(promise)
        expected = clf.assess(new).accepted(promise)
        assert not np.array_equal(expected, clf.assess(new).accepted(0.95))
        self.agree(clf, new, kind, expected)
        self.agree(clf.sign(None), new, kind, clf.assess(new).accepted(0.95))

    def test_a_promise_that_could_not_be_given_accepts_nothing(self, halves, kind):
        X, y, new, truth = halves
        clf = SEPClassifier().fit(X, y)
        nothing = select_min_trust(clf, new[:20], truth[:20], max_error=0.01)
        assert nothing.min_trust == np.inf
        with warns("promise-accepts-nothing"):
            given = clf.sign(nothing).predict_or_abstain(kind(new))
        assert set(np.asarray(given).tolist()) == {None}
        for min_trust in (nothing, nothing.min_trust, {0: 0.0, 1: np.inf}):
            refusals = np.asarray(clf.assess(kind(new)).refusals(min_trust))
            refused = refusals[clf.predict(new) == 1] if isinstance(min_trust, dict) else refusals
            assert set(refused.tolist()) <= {"promise", "strange", "contested", "beyond"}
            assert "promise" in refused

    @pytest.mark.parametrize("terms", [{"min_typicality": 0.0}, {"min_typicality": 0.2}, {"allow_outside": False}])
    def test_on_other_terms_a_promise_accepts_nothing(self, halves, kind, terms):
        X, y, new, truth = halves
        clf = SEPClassifier().fit(X, y)
        clf = clf.sign(select_min_trust(clf, new, truth, max_error=0.15))
        assert not np.asarray(clf.assess(kind(new)).accepted(**terms)).any()
        if "min_typicality" in terms:
            with warns("promise-for-typicality", given=terms["min_typicality"], made=0.01):
                assert not any(np.asarray(clf.predict_or_abstain(kind(new), **terms)).tolist())


def test_what_dask_returns_knows_the_promise(halves):
    X, y, new, truth = halves
    clf = SEPClassifier().fit(X, y)
    clf = clf.sign(select_min_trust(clf, new, truth, max_error=0.15))
    assert clf.assess(on_dask(new)).compute().promise == clf.promise


def test_costs_withdraw_a_promise_that_was_made_without_them(halves):
    X, y, new, truth = halves
    clf = SEPClassifier().fit(X, y)
    promise = select_min_trust(clf, new, truth, max_error=0.15)
    clf, costs = clf.sign(promise), {0: {1: 20.0}, 1: {0: 1.0}, None: 0.3}
    with warns("promise-accepts-nothing"):
        assert not any(clf.predict_or_abstain(new, costs=costs).tolist())
    careful = clf.under(costs=costs)
    assert (careful.promise.status, careful.promise.max_error) == ("withdrawn", 0.15)
    assert careful.under().promise == promise
    assert careful.explain(new[0]).acceptance.refusal is not None
    with raises("promise-of-another-model"):
        careful.assess(new).accepted(promise)
    with raises("promise-of-another-model"):
        careful.sign(promise)
