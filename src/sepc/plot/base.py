"""Bases of the displays: axes to draw on, and curves of several models with the table behind them."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from sepc.common.errors import InputError, SepcError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.plot.scores import last_step


class Display:
    """Base of all displays.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc.plot import ConfusionDisplay
        >>> display = ConfusionDisplay(np.array([[5, 0, 1], [2, 7, 0]]), np.array(["cat", "dog"]))
        >>> display.plot(Figure().subplots()).text_[1, 0].get_text()
        '2'
        """
        self._draw(self._on(ax))
        return self

    def _on(self, ax: Any) -> Any:
        """Set and return the axes: those given, or those of a new figure."""
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


class CurvesDisplay(Display):
    """Base of displays with a curve for each of several models."""

    from_estimators: Callable[..., Self]

    def __init__(self, curves: Sequence[Any]) -> None:
        self.curves = tuple(curves)

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, name: str | None = None, **options: Any) -> Self:
        """Show any classifier, by its trust score or, if it has none, by its largest probability.

        Parameters
        ----------
        clf : fitted classifier
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True labels.
        name : str, optional
            By default the name of its class, or of that of the last step of a pipeline.
        **options
            `sample_weight`, `ax`, and `n_bins` or `reference`, as for `from_estimators`.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sepc import SEPClassifier
        >>> from sepc.plot import RiskCoverageDisplay
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> display = RiskCoverageDisplay.from_estimator(clf, [[1.0], [4.0], [7.0]], [0, 0, 1], ax=Figure().subplots())
        >>> display.curves[0].name, display.curves[0].risks.round(2).tolist()
        ('SEPClassifier', [0.0, 0.0, 0.33])
        """
        return cls.from_estimators({name or type(last_step(clf)).__name__: clf}, X, y, **options)

    def _frame(
        self, columns: dict[str, Callable[[Any], FloatArray]], rows: Callable[[Any], Any] = lambda _: slice(None)
    ) -> Any:
        """Return a table of some rows of each curve, by default all, with the name of the model in front."""
        values = {name: [column(curve)[rows(curve)] for curve in self.curves] for name, column in columns.items()}
        lengths = map(len, next(iter(values.values())))
        names = [curve.name for curve, n in zip(self.curves, lengths, strict=True) for _ in range(n)]
        return FrameMaker().frame({"model": names, **{name: np.concatenate(of) for name, of in values.items()}})


def require_matplotlib(what: str = "a plot", extra: str = "plot") -> None:
    """Refuse to go on without matplotlib."""
    try:
        import matplotlib.axes  # noqa: F401
    except ImportError as error:
        raise SepcError("matplotlib-missing", what=what, extra=extra) from error


def axes_for(ax: Any) -> Any:
    """Return the axes to draw on: those given, or those of a new figure."""
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InputError("ax-type", type=type(ax).__name__)
    return ax
