"""ReliabilityDisplay: share of right labels against their confidence."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray
from sepc.metrics import expected_calibration_error, reliability_curve
from sepc.plot.base import CurvesDisplay
from sepc.plot.scores import predictions
from sepc.plot.style import GREY, TINY, height_of, label_axes, short, style


class ReliabilityCurve(NamedTuple):
    """Bins of one model, as `sepc.metrics.reliability_curve` returns them, and its expected calibration error.

    `confidences`, `accuracies` and `counts` have the shape (n_bins,).
    """

    name: str
    confidences: FloatArray
    accuracies: FloatArray
    counts: FloatArray
    ece: float

    @property
    def edges(self) -> FloatArray:
        """Limits of the bins, shape (n_bins + 1,)."""
        return np.linspace(0.0, 1.0, len(self.counts) + 1)

    def intervals(self) -> FloatArray:
        """Return the Clopper-Pearson intervals (95 %) of the shares of right labels, shape (n_bins, 2)."""
        return np.array(
            [
                exact_interval(n * right, n) if n else (np.nan, np.nan)
                for n, right in zip(self.counts, self.accuracies, strict=True)
            ]
        )


class ReliabilityDisplay(CurvesDisplay):
    """Reliability diagram of the predicted labels of one or several models.

    Records are binned by the confidence in their label, in bins of equal width. A calibrated classifier lies on the
    diagonal. Vertical lines are 95 % intervals (Clopper-Pearson); bars at the bottom show the number of records in
    each bin, written above the fullest one. The legend gives the expected calibration error.

    Parameters
    ----------
    curves : sequence of ReliabilityCurve

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib ErrorbarContainer
        One for each curve.
    bars_ : list of matplotlib BarContainer
        One for each curve.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], n_bins=2, ax=Figure().subplots()
    ... )
    >>> display.frame()[["model", "confidence", "accuracy", "n"]].round(2)
       model  confidence  accuracy    n
    0  model         0.1       0.0  1.0
    1  model         0.8       1.0  3.0
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        confidence: Any = None,
        *,
        name: str | None = None,
        labels: Any = None,
        sample_weight: Any = None,
        n_bins: int = 15,
        ax: Any = None,
    ) -> Self:
        """Show predicted labels and their confidence.

        Parameters
        ----------
        y_true, y_pred, confidence, labels, sample_weight, n_bins
            As for `sepc.metrics.expected_calibration_error`: labels with their confidence, or probabilities alone.
        name : str, optional
            Of the model.
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> sure = [0.9, 0.9, 0.9, 0.6]
        >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0, 0, 0, 1], sure, ax=Figure().subplots())
        >>> round(display.curves[0].ece, 3)
        0.275
        """
        options = {"labels": labels, "sample_weight": sample_weight, "n_bins": n_bins}
        return cls([_curve(y_true, y_pred, confidence, name or "model", **options)]).plot(ax)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_bins: int = 15,
        ax: Any = None,
    ) -> Self:
        """Show several classifiers on the same records.

        Parameters
        ----------
        models : dict
            Fitted classifiers by name.
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True labels.
        sample_weight, n_bins, ax
            As for `from_predictions`.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.dummy import DummyClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0]], [0, 1, 1, 1]
        >>> models = {"prior": DummyClassifier().fit(X, y)}
        >>> ReliabilityDisplay.from_estimators(models, X, y, ax=Figure().subplots()).frame().accuracy.tolist()
        [0.75]
        """
        options = {"sample_weight": sample_weight, "n_bins": n_bins}
        return cls([_curve(y, *predictions(clf, X), name, **options) for name, clf in models.items()]).plot(ax)

    def frame(self) -> Any:
        """Return one row per model and bin that is not empty.

        Returns
        -------
        pandas.DataFrame
            Limits of the bin, which includes the upper one, its mean confidence, share of right labels with 95 %
            interval, and number of records.

        Examples
        --------
        >>> curve = ReliabilityCurve("a", np.array([0.2, 0.8]), np.array([0.0, 0.5]), np.array([5.0, 10.0]), 0.3)
        >>> ReliabilityDisplay([curve]).frame()[["bin_low", "bin_high", "n"]]
           bin_low  bin_high     n
        0      0.0       0.5   5.0
        1      0.5       1.0  10.0
        """
        columns = {
            "bin_low": lambda curve: curve.edges[:-1],
            "bin_high": lambda curve: curve.edges[1:],
            "confidence": lambda curve: curve.confidences,
            "accuracy": lambda curve: curve.accuracies,
            "low": lambda curve: curve.intervals()[:, 0],
            "high": lambda curve: curve.intervals()[:, 1],
            "n": lambda curve: curve.counts,
        }
        return self._frame(columns, rows=lambda curve: curve.counts > 0)

    def _draw(self, ax: Any) -> None:
        ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.9, linestyle=":", label="as sure as right")
        self.bars_ = [self._draw_bars(curve, k) for k, curve in enumerate(self.curves)]
        self.lines_ = [self._draw_curve(curve, k) for k, curve in enumerate(self.curves)]
        self._name_tallest()
        lowest = min(float(curve.edges[np.flatnonzero(curve.counts)[0]]) for curve in self.curves)
        label_axes(ax, "confidence in the label", "share of labels that are right")
        legend = ax.legend(loc="upper left", fontsize=TINY, frameon=False, borderaxespad=0.2)
        top = 1.04 / (1.0 - height_of(legend, ax))  # the legend has room of its own
        ax.set(xlim=(lowest - 0.02, 1.02), ylim=(0.0, top), yticks=np.linspace(0.0, 1.0, 6))

    def _draw_curve(self, curve: ReliabilityCurve, number: int) -> Any:
        look, held = style(number), curve.counts > 0
        right = curve.accuracies[held]
        around = np.abs(curve.intervals()[held] - right[:, None]).T
        drawn = self.ax_.errorbar(
            curve.confidences[held],
            right,
            yerr=around,
            color=look.colour,
            linestyle=look.line,
            marker=look.marker,
            linewidth=1.2,
            markersize=4,
            elinewidth=0.8,
            label=f"{short(curve.name, 30)} (ECE {curve.ece:.3f})",
        )
        for interval in drawn[2]:
            interval.set_alpha(0.5)
        return drawn

    def _draw_bars(self, curve: ReliabilityCurve, number: int) -> Any:
        look, width = style(number), 0.9 / (len(curve.counts) * len(self.curves))
        start = curve.edges[:-1] + (0.05 / len(curve.counts)) + number * width
        height = 0.18 * curve.counts / self._most
        return self.ax_.bar(
            start, height, width, align="edge", color=look.colour, hatch=look.hatch, alpha=0.3, edgecolor="white"
        )

    @property
    def _most(self) -> float:
        """Number of records in the fullest bin."""
        return max(float(curve.counts.max()) for curve in self.curves)

    def _name_tallest(self) -> None:
        bar = max((bar for bars in self.bars_ for bar in bars), key=lambda bar: bar.get_height())
        place = (bar.get_x() + bar.get_width() / 2.0, bar.get_height() + 0.01)
        self.ax_.annotate(f"{self._most:g}", place, fontsize=TINY, ha="center", va="bottom", color="0.25")


def _curve(y_true: Any, y_pred: Any, confidence: Any, name: str, **options: Any) -> ReliabilityCurve:
    ece = expected_calibration_error(y_true, y_pred, confidence, **options)
    return ReliabilityCurve(name, *reliability_curve(y_true, y_pred, confidence, **options), ece)
