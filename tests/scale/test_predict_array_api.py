"""Predictions for arrays of other libraries: they stay where they are, and say what NumPy's say.

The library is array_api_strict, which refuses whatever the array API standard does not promise.
"""

import array_api_strict as xp
import numpy as np
import pandas as pd
import pytest
import sklearn
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from strategies import classified_points, examples

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.common.text import TRUST_METHODS
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE
from sepc.scale import array_api
from sepc.scale.array_api import Place

HERE, THERE = xp.Device("CPU_DEVICE"), xp.Device("device1")
NUMBERS = ("trust", "odds", "counts", "distance", "local_overlap")


@pytest.fixture(autouse=True)
def arrays_stay_where_they_are(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn insists on it
    with sklearn.config_context(array_api_dispatch=True):
        yield


def there(X, device=THERE):
    return xp.asarray(X, device=device)


def here(array, device=THERE):
    assert type(array) is type(xp.asarray([1]))
    assert array.device == device
    return np.asarray(xp.asarray(array, device=HERE))


def clear(clf, X):
    """Return the points that no boundary passes within rounding."""
    Z = clf.model_.units(X)
    gauges = np.column_stack([rules.stack.gauges(Z) for rules in clf.model_.rules])
    return X[(np.abs(gauges - 1.0 - MEMBERSHIP_TOLERANCE) > 1e-13).all(axis=1)]


def agree(clf, X):
    """Check every answer for an array elsewhere against NumPy's."""
    Y = there(X)
    proba, expected = here(clf.predict_proba(Y)), clf.predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(here(clf.trust_score(Y)), clf.trust_score(X), rtol=0, atol=1e-9)
    # Labels may differ where they are equally likely but for rounding.
    top = np.sort(expected, axis=1)
    X = X[top[:, -1] - top[:, -2] > 1e-9] if clf.trust == "local" else X
    if len(X):
        same_records(clf, X)


def same_records(clf, X):
    found, expected = clf.assess(there(X)), clf.assess(X)
    for name in ("rule", "reason", "region"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    for label in (found.label, clf.predict(there(X))):
        np.testing.assert_array_equal(label if clf.classes_.dtype.kind == "U" else here(label), expected.label)
    np.testing.assert_array_equal(here(found.counts), expected.counts)
    np.testing.assert_allclose(here(found.trust), expected.trust, rtol=0, atol=1e-9)
    np.testing.assert_allclose(here(found.distance), expected.distance, rtol=1e-9)
    for overlap in (here(found.local_overlap), found.to_numpy().local_overlap):
        np.testing.assert_allclose(overlap, expected.local_overlap, rtol=0, atol=1e-9)


class TestAgreement:
    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # isolated points are wanted here
    @examples(30)
    @given(classified_points(), st.sampled_from(TRUST_METHODS))
    def test_answers_are_those_for_numpy_arrays(self, data, trust):
        X, y, n_imp = data
        clf = SEPClassifier(n_imp=n_imp, trust=trust).fit(X, y)
        rng = np.random.default_rng(0)
        pairs = X[rng.integers(len(X), size=(2, 60))]
        new = clear(clf, np.vstack([X, pairs.mean(axis=0), 3.0 * pairs[0] - 2.0 * pairs[1]]))
        if len(new):
            agree(clf, new)

    @pytest.mark.slow
    @pytest.mark.parametrize("trust", TRUST_METHODS)
    def test_more_ellipsoids_than_bits_in_a_word(self, trust):
        rng = np.random.default_rng(0)
        X, y = make_classification(1500, 2, n_redundant=0, n_clusters_per_class=1, random_state=1)
        clf = SEPClassifier(trust=trust, n_imp=2).fit(X, y)
        assert len(clf.model_.rules[0].stack) > 64
        new = clear(clf, rng.normal(size=(400, 2)))
        assert {"R1", "R2a", "R3"} <= set(clf.assess(new).rule)
        agree(clf, new)

    @pytest.mark.slow
    @pytest.mark.parametrize("trust", ["local", "paper"])
    def test_ellipsoids_of_different_labels_around_points_of_several_problems(self, trust):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(240, 2)), np.repeat(["a", "b", "c"], 80)
        X[y == "b", 0] += 1.5
        X[y == "c", 1] += 1.5
        clf = SEPClassifier(n_imp=15, trust=trust).fit(X, y)
        a = clf.assess(X)
        assert set(a.label[~np.isnan(a.local_overlap)]) == {"a", "b", "c"}
        assert np.isnan(a.local_overlap).any()
        agree(clf, clear(clf, X))

    @pytest.mark.slow
    @pytest.mark.parametrize("trust", TRUST_METHODS)
    def test_blocks_of_few_rows(self, trust, monkeypatch):
        monkeypatch.setattr(array_api, "_TABLE", 100)
        X, y = load_iris(return_X_y=True)
        clf = SEPClassifier(trust=trust).fit(X[::2], y[::2])
        agree(clf, clear(clf, X))

    @pytest.mark.filterwarnings("ignore::sepc.SepcWarning")
    @pytest.mark.parametrize("trust", TRUST_METHODS)
    def test_isolated_points_without_any_ellipsoid(self, trust):
        clf = SEPClassifier(trust=trust).fit([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]], ["a", "b"])
        assert len(clf.model_.rules[0].stack) == 0
        X = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [9.0, 1.0, 0.0]])
        assert clf.assess(X).region.tolist() == ["a@1", "a@1|b@1", "b@1"]
        same_records(clf, X)

    @pytest.mark.parametrize(("trust", "region"), [("paper", "0#1|1#1"), ("local", "~0#1|~1#1")])
    def test_equally_near_ellipsoids(self, trust, region):
        clf = SEPClassifier(standardize=False, trust=trust).fit(
            [[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]], [0] * 3 + [1] * 3
        )
        X = np.array([[3.0], [2.5], [1.0]])
        assert clf.assess(X).region[0] == region
        same_records(clf, X)


class TestKinds:
    @pytest.fixture(scope="class")
    @classmethod
    def iris(cls):
        return load_iris(return_X_y=True)

    def test_numbers_stay_and_text_comes_here(self, iris):
        X, y = iris
        clf = SEPClassifier().fit(X, y)
        a = clf.assess(there(X))
        assert here(clf.predict(there(X))).dtype == y.dtype
        for array in (a.label, clf.predict_proba(there(X)), *(getattr(a, name) for name in NUMBERS)):
            here(array)
        assert all(isinstance(getattr(a, name), np.ndarray) for name in ("rule", "reason", "region"))
        assert len(a) == 150
        assert repr(a) == repr(clf.assess(X))
        pd.testing.assert_frame_equal(a.to_frame()[["label", "region"]], clf.assess(X).to_frame()[["label", "region"]])

    def test_labels_that_are_text_are_numpy_arrays(self, iris):
        X, y = iris
        clf = SEPClassifier().fit(X, np.array(["x", "y", "z"])[y])
        assert isinstance(clf.predict(there(X)), np.ndarray)
        assert isinstance(clf.assess(there(X)).label, np.ndarray)

    @pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.bool_])
    def test_labels_of_other_numbers(self, dtype):
        X, y = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat([0, 1], 3).astype(dtype)
        clf = SEPClassifier().fit(X, y)
        assert here(clf.predict(there(X))).tolist() == y.tolist()

    def test_single_precision_is_converted(self, iris):
        X, y = iris
        clf = SEPClassifier().fit(X, y)
        single = X.astype(np.float32)
        proba = clf.predict_proba(there(single))
        assert proba.dtype == xp.float64
        np.testing.assert_allclose(here(proba), clf.predict_proba(single.astype(np.float64)), atol=1e-9)

    @pytest.mark.slow
    @pytest.mark.parametrize("min_trust", [0.8, {0: 0.99, 1: 0.5, 2: 1.0}])
    @pytest.mark.parametrize("allow_outside", [True, False])
    @pytest.mark.parametrize("trust", ["local", "counts"])
    def test_acceptance(self, iris, trust, min_trust, allow_outside):
        X, y = iris
        clf = SEPClassifier(trust=trust).fit(X[::2], y[::2])
        how = {"min_trust": min_trust, "min_typicality": 0.05, "allow_outside": allow_outside}
        accepted = here(clf.assess(there(X)).accepted(**how))
        assert accepted.tolist() == clf.assess(X).accepted(**how).tolist()
        assert clf.assess(there(X)).refusals(**how).tolist() == clf.assess(X).refusals(**how).tolist()
        assert 0 < accepted.sum() < len(X)
        assert clf.predict_or_abstain(there(X), min_trust).tolist() == clf.predict_or_abstain(X, min_trust).tolist()

    @pytest.mark.parametrize("trust", ["local", "raw", "paper"])
    def test_points_beyond_reach_are_refused_by_the_same_feature(self, trust):
        X, y = load_iris(return_X_y=True)
        clf = SEPClassifier(trust=trust).fit(X, y)
        new = X[::3].copy()
        new[::2, 1] = -9.0
        a, expected = clf.assess(there(new)), clf.assess(new)
        for min_typicality in (0.0, 0.01):
            accepted = here(a.accepted(0.5, min_typicality))
            assert accepted.tolist() == expected.accepted(0.5, min_typicality).tolist()
        assert a.refusals().tolist() == expected.refusals().tolist()
        assert here(a.is_beyond).tolist() == expected.is_beyond.tolist()
        assert a.beyond.tolist() == a.to_numpy().beyond.tolist() == expected.beyond.tolist()
        assert a.out_of_range() == a.to_numpy().out_of_range() == expected.out_of_range() == {"x1": (25, 0)}

    def test_nothing_changes_unless_scikit_learn_is_told(self, iris):
        X, y = iris
        clf = SEPClassifier().fit(X, y)
        with sklearn.config_context(array_api_dispatch=False):
            assert isinstance(clf.predict_proba(there(X, HERE)), np.ndarray)

    @pytest.mark.slow
    def test_numpy_arrays_and_frames_are_as_ever(self, iris):
        X, y = iris
        clf = SEPClassifier().fit(X, y)
        for table in (X, X.tolist()):
            assert isinstance(clf.predict_proba(table), np.ndarray)
        named = SEPClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
        assert isinstance(named.predict_proba(pd.DataFrame(X, columns=list("abcd"))), np.ndarray)


class TestErrors:
    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls):
        return SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])

    def test_gaps_are_named_and_only_their_rows_come_here(self, fitted, monkeypatch):
        fetched, fetch = [], Place.fetch
        monkeypatch.setattr(Place, "fetch", lambda place, array: fetched.append(array.shape) or fetch(place, array))
        X = np.zeros((1000, 1))
        X[3], X[700] = np.nan, np.inf
        with raises("not-finite", kinds="NaN and inf", columns="0 (2 rows)"):
            fitted.predict(there(X))
        assert fetched == [(2, 1)]

    def test_the_number_of_features(self, fitted):
        with pytest.raises(ValueError, match="X has 2 features, but SEPClassifier is expecting 1 features"):
            fitted.predict(there(np.zeros((3, 2))))

    def test_a_device_without_double_precision(self, fitted):
        with raises("device-without-doubles"):
            fitted.predict(xp.zeros((3, 1), dtype=xp.float32, device=xp.Device("no_float64")))

    def test_an_ensemble_reads_numpy_arrays(self):
        clf = SEPEnsembleClassifier(n_estimators=2).fit(np.arange(8.0)[:, None], np.repeat([0, 1], 4))
        with raises("array-not-read", library="array_api_strict"):
            clf.predict(there(np.zeros((3, 1))))

    def test_an_unfitted_classifier(self):
        with pytest.raises(ValueError, match="not fitted"):
            SEPClassifier().predict(there(np.zeros((3, 1))))
