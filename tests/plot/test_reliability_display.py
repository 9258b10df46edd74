"""Laws of ReliabilityDisplay: the bins are those of `metrics`, with exact intervals."""

import numpy as np
import pytest
from coded import raises
from drawings import axes
from scipy.stats import binomtest

from sepc import metrics
from sepc.plot import ReliabilityDisplay


class TestReliability:
    @pytest.mark.parametrize("n_bins", [1, 4, 15])
    def test_bins_add_up_to_the_calibration_error(self, iris, n_bins):
        clf, X, y = iris
        display = ReliabilityDisplay.from_estimator(clf, X[1::2], y[1::2], n_bins=n_bins, ax=axes())
        frame = display.frame()
        outcome = y[1::2], clf.predict(X[1::2]), clf.trust_score(X[1::2])
        ece = metrics.expected_calibration_error(*outcome, n_bins=n_bins)
        assert (frame.n * np.abs(frame.accuracy - frame.confidence)).sum() / frame.n.sum() == pytest.approx(ece)
        assert f"(ECE {ece:.3f})" in display.ax_.get_legend().get_texts()[1].get_text()
        trust = outcome[2]
        for row in frame.itertuples():
            assert row.n == np.count_nonzero((trust > row.bin_low) & (trust <= row.bin_high))

    @pytest.mark.slow
    def test_intervals_are_exact(self, cancer, forest):
        _, X, y = cancer
        for row in ReliabilityDisplay.from_estimator(forest, X[1::2], y[1::2], ax=axes()).frame().itertuples():
            expected = binomtest(round(row.n * row.accuracy), int(row.n)).proportion_ci(method="exact")
            assert (row.low, row.high) == pytest.approx((expected.low, expected.high))

    def test_several_models_share_the_axes(self, cancer, forest):
        clf, X, y = cancer
        display = ReliabilityDisplay.from_estimators({"a": clf, "b": forest}, X, y, ax=axes())
        assert display.frame().groupby("model").n.sum().tolist() == [len(X), len(X)]
        tallest = max(bar.get_height() for bars in display.bars_ for bar in bars)
        assert f"{display.frame().n.max():g}" in [text.get_text() for text in display.ax_.texts]
        for curve, bars in zip(display.curves, display.bars_, strict=True):
            heights = np.array([bar.get_height() for bar in bars])
            assert heights / tallest == pytest.approx(curve.counts / display.frame().n.max())

    def test_the_curve_is_drawn_where_the_bins_are(self):
        display = ReliabilityDisplay.from_predictions([0, 0, 1], [0, 0, 0], [0.9, 0.8, 0.2], n_bins=2, ax=axes())
        assert display.lines_[0][0].get_xydata() == pytest.approx(np.array([[0.2, 0.0], [0.85, 1.0]]))

    def test_confidences_that_are_no_probabilities_are_refused(self):
        with raises("metric-not-probabilities", name="confidence"):
            ReliabilityDisplay.from_predictions([0, 1], [0, 1], [3.0, 0.5], ax=axes())
