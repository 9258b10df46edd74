"""Laws of RiskCoverageDisplay: the curves are those of `metrics`."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from drawings import axes
from sklearn.svm import LinearSVC

from sepc import metrics
from sepc.plot import RiskCoverageDisplay


class TestRiskCoverage:
    def test_numbers_are_those_of_the_metrics(self, cancer, forest):
        clf, X, y = cancer
        models = {"regions": clf, "forest": forest}
        display = RiskCoverageDisplay.from_estimators(models, X[1::2], y[1::2], ax=axes())
        frame = display.frame()
        confidence = {"regions": clf.trust_score(X[1::2]), "forest": forest.predict_proba(X[1::2]).max(axis=1)}
        for name, model in models.items():
            outcome = y[1::2], model.predict(X[1::2]), confidence[name]
            part = frame[frame.model == name]
            expected = metrics.risk_coverage_curve(*outcome)
            for column, values in zip(("coverage", "risk", "threshold"), expected, strict=True):
                assert part[column].tolist() == values.tolist()
            entry = f"{name}: {1000 * metrics.aurc(*outcome):.1f}"
            assert entry in [text.get_text() for text in display.ax_.get_legend().get_texts()]

    def test_the_mean_of_the_line_is_the_area_with_any_ties(self, cancer, forest):
        _, X, y = cancer
        display = RiskCoverageDisplay.from_estimator(forest, X[1::2], y[1::2], ax=axes())
        (curve,), n = display.curves, len(y[1::2])
        assert len(curve.coverages) < n / 5  # many ties
        assert curve.at(np.arange(1, n + 1) / n).mean() == pytest.approx(curve.aurc)
        x, risk = display.lines_[0].get_xydata().T
        assert np.interp(curve.coverages, x, risk) == pytest.approx(curve.risks)

    def test_references_are_the_best_and_the_expected_order(self, cancer):
        clf, X, y = cancer
        display = RiskCoverageDisplay.from_estimator(clf, X[1::2], y[1::2], reference=True, ax=axes())
        right = clf.predict(X[1::2]) == y[1::2]
        others = [line for line in display.ax_.get_lines() if line is not display.lines_[0] and len(line.get_xdata())]
        perfect, chance = others
        best = RiskCoverageDisplay.from_predictions(right, np.ones(len(right), bool), right.astype(float), ax=axes())
        assert perfect.get_ydata() == pytest.approx(best.curves[0].at(perfect.get_xdata()))
        assert chance.get_ydata() == pytest.approx(np.mean(~right))

    def test_other_curves_on_the_axes_stay(self, cancer, forest):
        clf, X, y = cancer
        ax = axes()
        one = RiskCoverageDisplay.from_estimator(clf, X, y, ax=ax)
        two = RiskCoverageDisplay.from_estimator(forest, X, y, ax=ax)
        assert two.lines_[0].get_color() != one.lines_[0].get_color()
        assert len(ax.get_legend().get_texts()) == 2
        again = one.plot(axes())
        assert again is one
        assert again.ax_ is not ax

    def test_weights_count(self):
        y, p, c = [0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6]
        weighted = RiskCoverageDisplay.from_predictions(y, p, c, sample_weight=[1, 2, 0, 3], ax=axes())
        repeated = RiskCoverageDisplay.from_predictions(
            np.repeat(y, [1, 2, 0, 3]), np.repeat(p, [1, 2, 0, 3]), np.repeat(c, [1, 2, 0, 3]), ax=axes()
        )
        pd.testing.assert_frame_equal(weighted.frame(), repeated.frame())

    def test_probabilities_alone_will_do(self):
        proba = [[0.7, 0.3], [0.4, 0.6], [0.1, 0.9]]
        display = RiskCoverageDisplay.from_predictions([0, 0, 1], proba, labels=[0, 1], ax=axes())
        assert display.frame().threshold.tolist() == [0.9, 0.7, 0.6]

    def test_a_classifier_that_cannot_say_how_sure_it_is_is_refused(self, cancer):
        _, X, y = cancer
        clf = LinearSVC(max_iter=10**5).fit(X / X.std(), y)
        with raises("clf-without-confidence", type="LinearSVC"):
            RiskCoverageDisplay.from_estimator(clf, X, y, ax=axes())
