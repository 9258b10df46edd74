"""What all displays share: axes to draw on, and for curves of several models the table behind them."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from sepc.common.errors import InputError, SepcError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray


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

        Returns
        -------
        self

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
        """Take the axes that are given, or those of a new figure."""
        self.ax_ = axes_for(ax)
        self.figure_ = self.ax_.figure
        return self.ax_

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


class CurvesDisplay(Display):
    """Base of displays with a curve for each of several models."""

    def __init__(self, curves: Sequence[Any]) -> None:
        self.curves = tuple(curves)

    def _frame(
        self, columns: dict[str, Callable[[Any], FloatArray]], held: Callable[[Any], Any] = lambda _: slice(None)
    ) -> Any:
        """Return a table of the rows of the curves that are `held`, with the name of the model in front."""
        values = {name: [column(curve)[held(curve)] for curve in self.curves] for name, column in columns.items()}
        lengths = map(len, next(iter(values.values())))
        names = [curve.name for curve, n in zip(self.curves, lengths, strict=True) for _ in range(n)]
        return FrameMaker().frame({"model": names, **{name: np.concatenate(of) for name, of in values.items()}})


def require_matplotlib(what: str = "a plot", extra: str = "plot") -> None:
    """Refuse to go on without matplotlib."""
    try:
        import matplotlib.axes  # noqa: F401
    except ImportError as error:
        raise SepcError(f"{what} needs matplotlib, which is not installed. Run: pip install 'sepc[{extra}]'") from error


def axes_for(ax: Any) -> Any:
    """Return the axes to draw on: those given, or those of a new figure."""
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InputError(
            f"ax is a {type(ax).__name__}; expected the axes to draw on. Pass one of those that plt.subplots() "
            "returns, or None for a new figure."
        )
    return ax
