"""Laws of RocDisplay and PrecisionRecallDisplay: the curves are scikit-learn's, the marks those of `accepted`."""

import json

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes
from matplotlib.colors import to_rgb
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.svm import LinearSVC

from sepc.plot import PrecisionRecallDisplay, RocDisplay
from sepc.plot.label_curves import Accepted
from sepc.plot.style import class_styles

BOTH = (RocDisplay, PrecisionRecallDisplay)


def by_scikit_learn(kind, true, proba, weight=None):
    """Return the axes, the thresholds and the area of a curve."""
    if kind is RocDisplay:
        return *roc_curve(true, proba, sample_weight=weight), roc_auc_score(true, proba, sample_weight=weight)
    precision, recall, thresholds = precision_recall_curve(true, proba, sample_weight=weight)
    area = average_precision_score(true, proba, sample_weight=weight)
    return recall, precision, [*thresholds, np.inf], area


def place_of(kind, true, got):
    """Return the place of labels that are given to some records, by counts."""
    n_right = np.count_nonzero(true & got)
    recall = n_right / np.count_nonzero(true)
    if kind is RocDisplay:
        return np.count_nonzero(got & ~true) / np.count_nonzero(~true), recall
    return recall, n_right / np.count_nonzero(got)


@pytest.mark.parametrize("kind", BOTH)
class TestLabelCurves:
    def test_numbers_are_those_of_scikit_learn(self, kind, iris):
        clf, X, y = iris
        display = kind.from_estimator(clf, X[1::2], y[1::2], ax=axes())
        frame, proba = display.frame(), clf.predict_proba(X[1::2])
        assert [curve.label for curve in display.curves] == clf.classes_.tolist()
        for k, label in enumerate(clf.classes_):
            *expected, area = by_scikit_learn(kind, y[1::2] == label, proba[:, k])
            part = frame[frame.label == label]
            for column, values in zip(part.columns[2:], expected, strict=True):
                assert part[column].tolist() == list(values)
            assert display.curves[k].area == area
            assert f"{label}: {area:.3f}" in display.ax_.get_legend().get_texts()[k].get_text()
            drawn = display.lines_[k].get_xydata()
            assert drawn.tolist() == np.column_stack(expected[:2]).tolist()

    @pytest.mark.parametrize("min_trust", [0.0, 0.9, {"benign": 0.99, "malignant": 0.6}])
    def test_marks_are_where_accepted_labels_are(self, kind, cancer, min_trust):
        clf, X, y = cancer
        display = kind.from_estimator(clf, X[1::2], y[1::2], min_trust=min_trust, shown=clf.classes_, ax=axes())
        a = clf.assess(X[1::2])
        for curve, mark in zip(display.curves, display.marks_, strict=True):
            got = a.accepted(min_trust) & (a.label == curve.label)
            expected = place_of(kind, y[1::2] == curve.label, got)
            assert mark.get_xydata()[0].tolist() == pytest.approx(expected)
            assert curve.accepted.share == pytest.approx(got.sum() / (a.label == curve.label).sum())
        assert display.ax_.get_legend().get_texts()[-1].get_text() == "accepted labels"

    def test_every_label_that_is_given_lies_on_the_curve(self, kind, cancer):
        clf, X, y = cancer
        proba = clf.predict_proba(X[1::2])
        everything = np.full(len(proba), True)
        display = kind.from_predictions(y[1::2], proba, accepted=everything, labels=clf.classes_, ax=axes())
        place = display.marks_[0].get_xydata()[0]
        curve = display.curves[0]
        assert np.abs(np.column_stack([curve.x, curve.y]) - place).sum(axis=1).min() < 0.02

    def test_of_two_labels_the_rarer_one_is_shown(self, kind, cancer, forest):
        clf, X, y = cancer
        models = {"regions": clf, "forest": forest}
        display = kind.from_estimators(models, X[1::2], y[1::2], ax=axes())
        assert [(curve.name, curve.label) for curve in display.curves] == [(name, "malignant") for name in models]
        assert len({line.get_color() for line in display.lines_}) == 2
        assert len(display.marks_) == 1  # the forest accepts nothing and refuses nothing

    def test_one_model_has_the_colours_of_its_classes(self, kind, iris):
        clf, X, y = iris
        display = kind.from_estimator(clf, X, y, shown=["virginica"], ax=axes())
        assert to_rgb(display.lines_[0].get_color()) == to_rgb(class_styles(clf.classes_)["virginica"].colour)

    def test_other_curves_on_the_axes_stay(self, kind, cancer, forest):
        clf, X, y = cancer
        ax = axes()
        one, two = (kind.from_estimator(model, X, y, ax=ax) for model in (clf, forest))
        assert one.lines_[0].get_color() != two.lines_[0].get_color()
        names = [text.get_text().split(",")[0] for text in ax.get_legend().get_texts()]
        assert sorted(names) == ["RandomForestClassifier", "SEPClassifier", "accepted labels"]

    def test_of_many_labels_those_with_the_smallest_area_are_shown(self, kind):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 12, 600)
        proba = rng.dirichlet(np.ones(12), 600) + (np.arange(12) * (y[:, None] == np.arange(12))) / 20.0
        proba /= proba.sum(axis=1, keepdims=True)
        area = [roc_auc_score(y == k, proba[:, k]) for k in range(12)]
        display = kind.from_predictions(y, proba, ax=axes())
        assert [curve.label for curve in display.curves] == sorted(np.argsort(area)[:8].tolist())

    def test_weights_count(self, kind):
        rng = np.random.default_rng(1)
        y, weight = rng.integers(0, 2, 60), rng.integers(1, 4, 60)
        proba = np.column_stack([1.0 - (score := rng.random(60).round(1)), score])
        accepted = rng.random(60) < 0.5
        some = {"shown": [1], "ax": axes()}
        weighted = kind.from_predictions(y, proba, accepted=accepted, sample_weight=weight, **some)
        repeated = kind.from_predictions(
            *(np.repeat(of, weight, axis=0) for of in (y, proba)), accepted=np.repeat(accepted, weight), **some
        )
        assert weighted.curves[0].area == pytest.approx(repeated.curves[0].area)
        assert weighted.curves[0].accepted == pytest.approx(repeated.curves[0].accepted)
        pd.testing.assert_frame_equal(weighted.frame(), repeated.frame())

    def test_labels_that_some_records_lack_are_refused(self, kind, iris):
        clf, X, y = iris
        with raises("curve-of-one-label", label="setosa"):
            kind.from_estimator(clf, X[:3], y[:3], shown=["setosa"], ax=axes())
        with raises("curve-of-one-label"):
            kind.from_estimator(clf, X[:3], y[:3], ax=axes())
        with raises("label-not-trained", label="rose"):
            kind.from_estimator(clf, X, y, shown=["rose"], ax=axes())

    def test_models_of_other_classes_are_refused(self, kind, iris):
        clf, X, y = iris
        two = LogisticRegression().fit(X[:100], y[:100])
        with raises("models-of-other-classes"):
            kind.from_estimators({"three": clf, "two": two}, X, y, ax=axes())
        with raises("clf-without-confidence", type="LinearSVC"):
            kind.from_estimator(LinearSVC().fit(X, y), X, y, ax=axes())
        with raises("metric-shape", name="y_proba"):
            kind.from_predictions(y, clf.predict_proba(X)[:, 0], ax=axes())


def test_what_is_accepted_goes_through_json():
    for one in (Accepted(0.5, 0.1, 0.4, 0.9), Accepted(0.0, 0.0, 0.0, np.nan)):
        again = Accepted.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
        assert again == pytest.approx(one, nan_ok=True)
