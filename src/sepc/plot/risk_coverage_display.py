"""RiskCoverageDisplay: share of wrong labels among those accepted, against their share of all records."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from sepc.common.typing import FloatArray
from sepc.metrics import aurc, risk_coverage_curve
from sepc.plot.base import CurvesDisplay
from sepc.plot.scores import predictions
from sepc.plot.style import GREY, TINY, into_emptiest_place, label_axes, short, style

_FIRST = 0.002
_GID = "sepc risk-coverage"


class RiskCurve(NamedTuple):
    """Curve of one model, as `sepc.metrics.risk_coverage_curve` returns it, and the area under it.

    `coverages`, `risks` and `thresholds` have the shape (n_thresholds,).
    """

    name: str
    coverages: FloatArray
    risks: FloatArray
    thresholds: FloatArray
    aurc: float

    def at(self, coverage: FloatArray) -> FloatArray:
        """Return the expected risk at any coverages above 0: the number of errors rises linearly within ties."""
        errors = np.interp(coverage, np.append(0.0, self.coverages), np.append(0.0, self.coverages * self.risks))
        return np.asarray(errors / coverage)


class RiskCoverageDisplay(CurvesDisplay):
    """Risk against coverage, of one or several models.

    Records are accepted in the order of their confidence. Coverage is the share that is accepted, risk the share of
    wrong labels among these. Marks are the coverages that thresholds can achieve; between them the line shows the
    expected risk of accepting tied records in random order. The legend gives the area under each curve (AURC).

    Parameters
    ----------
    curves : sequence of RiskCurve

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each curve.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> one = RiskCoverageDisplay.from_predictions([0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.8, 0.6], name="one", ax=ax)
    >>> two = RiskCoverageDisplay.from_predictions([0, 0, 1, 1], [0, 0, 1, 0], [0.6, 0.9, 0.9, 0.9], name="two", ax=ax)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one: 62.5', 'two: 312.5']
    >>> one.frame()
      model  coverage  risk  threshold
    0   one      0.25  0.00        0.9
    1   one      0.75  0.00        0.8
    2   one      1.00  0.25        0.6
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
        reference: bool = False,
        ax: Any = None,
    ) -> Self:
        """Show the curve of predicted labels and their confidence.

        Parameters
        ----------
        y_true, y_pred, confidence, labels, sample_weight
            As for `sepc.metrics.risk_coverage_curve`: labels with their confidence, or probabilities alone.
        name : str, optional
            Of the model.
        reference : bool, default=False
            Whether to add the curves of a perfect and of a random order of the same labels.
        ax : matplotlib Axes, optional
            Axes with other curves keep them. A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> truth, given, sure = [0, 0, 1, 1], [0, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]
        >>> display = RiskCoverageDisplay.from_predictions(truth, given, sure, reference=True, ax=Figure().subplots())
        >>> display.curves[0].risks.tolist()
        [0.0, 0.0, 0.0, 0.25]
        """
        curve = _curve(y_true, y_pred, confidence, name or "model", labels=labels, sample_weight=sample_weight)
        return cls([curve]).plot(ax, reference=reference)

    @classmethod
    def from_estimators(
        cls,
        models: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        reference: bool = False,
        ax: Any = None,
    ) -> Self:
        """Show the curves of several classifiers on the same records.

        Parameters
        ----------
        models : dict
            Fitted classifiers by name.
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True labels.
        sample_weight, reference, ax
            As for `from_predictions`.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.dummy import DummyClassifier
        >>> from sepc import SEPClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
        >>> models = {"regions": SEPClassifier().fit(X, y), "prior": DummyClassifier().fit(X, y)}
        >>> display = RiskCoverageDisplay.from_estimators(models, X, y, ax=Figure().subplots())
        >>> [(curve.name, curve.aurc) for curve in display.curves]
        [('regions', 0.0), ('prior', 0.5)]
        """
        curves = [
            _curve(y, *predictions(clf, X), name, labels=None, sample_weight=sample_weight)
            for name, clf in models.items()
        ]
        return cls(curves).plot(ax, reference=reference)

    def plot(self, ax: Any = None, *, reference: bool = False) -> Self:
        """Draw it, beside the curves that the axes already have.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.
        reference : bool, default=False
            Whether to add the curves of a perfect and of a random order of the same labels.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> curve = RiskCurve("a", np.array([0.5, 1.0]), np.array([0.0, 0.25]), np.array([0.9, 0.6]), 0.1)
        >>> RiskCoverageDisplay([curve]).plot(Figure().subplots()).lines_[0].get_label()
        'a: 100.0'
        """
        ax = self._on(ax)
        n_before = sum(line.get_gid() == _GID for line in ax.get_lines())
        self.lines_ = [self._draw_curve(curve, n_before + k) for k, curve in enumerate(self.curves)]
        if reference:
            for curve, line in zip(self.curves, self.lines_, strict=True):
                _draw_references(ax, float(curve.risks[-1]), line.get_color())
        label_axes(ax, "coverage (share of records answered)", "risk (share of wrong labels)")
        ax.set_xlim(0.0, 1.0)
        ax.autoscale(axis="y")
        ax.set_ylim(bottom=0.0)
        drawn = np.vstack([line.get_xydata() for line in ax.get_lines() if line.get_gid() == _GID])
        small = {"fontsize": TINY, "title_fontsize": TINY}
        legend = ax.legend(loc="upper left", title="AURC x 1000", framealpha=0.8, **small)
        into_emptiest_place(legend, ax, drawn)
        return self

    def frame(self) -> Any:
        """Return one row per model and threshold: coverage, risk, and the lowest confidence that is accepted.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> curve = RiskCurve("a", np.array([0.5, 1.0]), np.array([0.0, 0.25]), np.array([0.9, 0.6]), 0.1)
        >>> RiskCoverageDisplay([curve]).frame().risk.tolist()
        [0.0, 0.25]
        """
        return self._frame(
            {
                "coverage": lambda curve: curve.coverages,
                "risk": lambda curve: curve.risks,
                "threshold": lambda curve: curve.thresholds,
            }
        )

    def _draw_curve(self, curve: RiskCurve, number: int) -> Any:
        look = style(number)
        x = np.union1d(np.linspace(_FIRST, curve.coverages[-1], 500), curve.coverages)
        marked = len(curve.coverages) <= 25  # marks at each threshold help while they are few
        (line,) = self.ax_.plot(
            x,
            curve.at(x),
            color=look.colour,
            linestyle=look.line,
            linewidth=1.4,
            marker=look.marker if marked else None,
            markevery=np.searchsorted(x, curve.coverages).tolist() if marked else None,
            markersize=3.5,
            label=f"{short(curve.name, 30)}: {1000.0 * curve.aurc:.1f}",
            gid=_GID,
        )
        return line


def _curve(y_true: Any, y_pred: Any, confidence: Any, name: str, **options: Any) -> RiskCurve:
    coverages, risks, thresholds = risk_coverage_curve(y_true, y_pred, confidence, **options)
    return RiskCurve(name, coverages, risks, thresholds, aurc(y_true, y_pred, confidence, **options))


def _draw_references(ax: Any, error: float, colour: str) -> None:
    """Draw the curves of a perfect and of a random order with the same share of errors."""
    x = np.linspace(_FIRST, 1.0, 500)
    look = {"color": colour, "linewidth": 0.8, "alpha": 0.6}
    known = set(ax.get_legend_handles_labels()[1])
    for y, line, name in (
        (np.maximum(0.0, 1.0 - (1.0 - error) / x), ":", "perfect order"),
        (np.full_like(x, error), (0, (6, 3)), "random order"),
    ):
        ax.plot(x, y, linestyle=line, **look)
        if name not in known:  # a grey entry speaks for all models
            ax.plot([], [], linestyle=line, color=GREY, linewidth=0.8, label=name)
