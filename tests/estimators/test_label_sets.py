"""Label sets that hold the true label as often as they promise."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from sepc import InputError, SepcError, SEPClassifier
from sepc.estimators.label_sets import LabelScores, LabelSetMixin, set_threshold


class KnownProbabilities(LabelSetMixin, BaseEstimator):
    """A fitted classifier whose records are the probabilities."""

    def __init__(self, n_classes):
        self.n_classes, self.classes_ = n_classes, np.arange(n_classes)

    def fit(self):
        """Scikit-learn knows estimators by it."""

    def predict_proba(self, X):
        return np.asarray(X)


def draw_probabilities(rng, n, shares, grid=None):
    """Return labels of given shares, and probabilities that overrate the frequent ones; rounded to a grid, if any."""
    y = rng.choice(len(shares), size=n, p=shares)
    scores = rng.normal(size=(n, len(shares))) + np.log(shares)
    scores[np.arange(n), y] += 1.5
    proba = np.exp(scores)
    proba /= proba.sum(axis=1, keepdims=True)
    return y, proba if grid is None else np.round(proba * grid) / grid


class TestLabelSets:
    @given(
        st.lists(st.integers(0, 8), min_size=1, max_size=40),
        st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.95]),
    )
    def test_of_n_plus_one_scores_enough_would_be_in_the_set_of_the_others(self, scores, coverage):
        """The exact law behind the promise: each of the records is equally likely to be the new one."""
        scores = np.array(scores, dtype=float)
        held = [scores[i] >= set_threshold(np.delete(scores, i), coverage) for i in range(len(scores))]
        assert np.mean(held) >= coverage - 1e-12

    @given(st.integers(1, 60), st.sampled_from([0.05, 0.3, 0.5, 0.8, 0.9, 0.95]))
    def test_without_ties_no_more_than_needed(self, n, coverage):
        scores = np.random.default_rng(n).permutation(np.arange(n + 1.0))
        held = [scores[i] >= set_threshold(np.delete(scores, i), coverage) for i in range(n + 1)]
        assert np.mean(held) < coverage + 1 / (n + 1) + 1e-12

    def test_decimal_coverages_are_read_as_they_are_written(self):
        for n, coverage in ((9, 0.9), (19, 0.95), (99, 0.99), (9, 0.7), (99, 0.07)):
            k = round((1 - coverage) * (n + 1))
            assert set_threshold(np.arange(1.0, n + 1), coverage) == k
            assert set_threshold(np.arange(1.0, n), coverage) == (k - 1 or -np.inf)

    @pytest.mark.parametrize("grid", [None, 10])
    def test_coverage_in_simulation_overall_and_within_each_class(self, grid):
        rng, shares, runs, n = np.random.default_rng(0), np.array([0.8, 0.15, 0.05]), 200, 300
        held, within, seen = 0, np.zeros(3), np.zeros(3)
        for _ in range(runs):
            y, proba = draw_probabilities(rng, 2 * n, shares, grid)
            clf = KnownProbabilities(3).calibrate(proba[:n], y[:n])
            new = np.arange(n), y[n:]
            held += clf.predict_set(proba[n:], 0.9).sets[new].sum()
            hits = clf.predict_set(proba[n:], 0.9, per_class=True).sets[new]
            within += np.bincount(y[n:], weights=hits, minlength=3)
            seen += np.bincount(y[n:], minlength=3)
        # Within a run the records share their threshold: the margin is for means over runs.
        assert held / (runs * n) >= 0.9 - 0.005
        assert (within / seen >= 0.9 - 4 * 0.3 / np.sqrt(runs * 15)).all()
        if grid is None:
            assert held / (runs * n) <= 0.9 + 0.01
            assert (within / seen <= 0.9 + 0.07).all()

    def test_a_class_without_enough_records_is_always_in_the_set_and_that_is_said(self):
        proba = np.column_stack([np.linspace(0.5, 1.0, 30), np.linspace(0.5, 0.0, 30)])
        clf = KnownProbabilities(2).calibrate(proba, np.repeat([1, 0], [3, 27]))
        found = clf.predict_set(proba, per_class=True)
        assert found.always == (1,)
        assert found.sets[:, 1].all()
        assert repr(found).endswith(": 1")
        assert clf.predict_set(proba).always == ()
        assert KnownProbabilities(2).calibrate(proba[:2], [0, 1]).predict_set(proba).always == (0, 1)

    @given(st.integers(0, 99), st.booleans())
    def test_more_coverage_means_larger_sets(self, seed, per_class):
        y, proba = draw_probabilities(np.random.default_rng(seed), 80, np.array([0.6, 0.3, 0.1]))
        clf = KnownProbabilities(3).calibrate(proba[:50], y[:50])
        sets = [clf.predict_set(proba[50:], c, per_class).sets for c in (0.1, 0.5, 0.8, 0.95, 0.999)]
        assert all((small <= large).all() for small, large in pairwise(sets))
        assert sets[-1].all()

    def test_what_came_in_comes_out(self):
        X, y = load_iris(return_X_y=True)
        y = np.array(["setosa", "versicolor", "virginica"])[y]
        clf = SEPClassifier().fit(X[::2], y[::2]).calibrate(pd.DataFrame(X[1::2]).to_numpy(), pd.Series(y[1::2]))
        plain = clf.predict_set(X[1::2])
        assert plain.labels()[0] == ("setosa",)
        assert (plain.size == plain.sets.sum(axis=1)).all()
        assert len(plain) == 75
        table = clf.predict_set(pd.DataFrame(X[1::2], index=range(7, 82)).set_axis(range(4), axis=1)).to_frame()
        assert table.index.tolist() == list(range(7, 82))
        assert table.columns.tolist() == ["n_labels", "kind", "has setosa", "has versicolor", "has virginica"]
        assert set(table.kind) <= {"empty", "single", "several"}
        polars = SEPClassifier().fit(pl.DataFrame(X[::2]), y[::2]).calibrate(pl.DataFrame(X[1::2]), y[1::2])
        assert isinstance(polars.predict_set(pl.DataFrame(X[1::2])).to_frame(), pl.DataFrame)
        kinds = [np.count_nonzero(table.kind == kind) for kind in ("empty", "single", "several")]
        assert "{} empty, {} single, {} several".format(*kinds) in repr(plain)
        assert plain._repr_html_().startswith("<p>PredictionSets of 75 ")

    def test_a_later_fit_forgets_a_copy_keeps_and_a_clone_starts_anew(self):
        X, y = load_iris(return_X_y=True)
        clf = SEPClassifier().fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
        sets = clf.predict_set(X).sets
        assert (pickle.loads(pickle.dumps(clf)).predict_set(X).sets == sets).all()
        with raises("not-calibrated", SepcError, type="SEPClassifier"):
            clone(clf).fit(X, y).predict_set(X)
        with pytest.raises(InputError):
            clf.fit(X, np.zeros(len(X)))
        assert (clf.predict_set(X).sets == sets).all()
        with raises("not-calibrated", SepcError, type="SEPClassifier"):
            clf.fit(X[1::2], y[1::2]).predict_set(X)

    @pytest.mark.parametrize(
        ("y", "refusal"),
        [
            ([0, 5], raises("set-label-unknown", label=5, classes=[0, 1])),
            (["0", "1"], raises("set-label-unknown", label="0")),
            ([0], raises("labels-shape", what="cal", shape=(1,), n_rows=2)),
            ([0, None], raises("labels-missing", name="y_cal", n_missing=1, row=1)),
        ],
    )
    def test_wrong_calibration_records_are_named(self, y, refusal):
        with refusal:
            KnownProbabilities(2).calibrate([[0.5, 0.5], [0.2, 0.8]], y)

    @pytest.mark.parametrize("coverage", [0, 1.0, -0.1, "90", True, float("nan")])
    def test_what_is_no_coverage_is_refused(self, coverage):
        clf = KnownProbabilities(2).calibrate([[0.5, 0.5]], [0])
        with raises("not-strictly-between-0-and-1", name="coverage", value=coverage, example=0.9):
            clf.predict_set([[0.5, 0.5]], coverage)

    def test_the_classifier_must_be_fitted(self):
        for call in (lambda c: c.calibrate([[0.0]], [0]), lambda c: c.predict_set([[0.0]])):
            with pytest.raises(NotFittedError):
                call(SEPClassifier())

    def test_thresholds_are_those_of_each_class(self):
        calibration = LabelScores(np.arange(30.0), np.repeat([0, 1, 2], [19, 9, 2]), 3)
        assert calibration.thresholds(0.9, per_class=True).tolist() == [1.0, 19.0, -np.inf]
        assert calibration.thresholds(0.9, per_class=False).tolist() == [2.0] * 3
