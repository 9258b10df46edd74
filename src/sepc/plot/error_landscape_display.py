"""ErrorLandscapeDisplay: error rates of failing regions, with intervals, beside those elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, Self

import numpy as np

from sepc.common.frames import FrameMaker
from sepc.common.text import percent
from sepc.landscapes.failing_regions import ErrorLandscape, error_landscape
from sepc.plot.base import Display
from sepc.plot.style import COLOURS, GREY, SMALL, TINY, label_axes, literal

_LETTERS_OF_LINE = 34


@dataclass(eq=False, repr=False)
class ErrorLandscapeDisplay(Display):
    """Error rate of each region as a bar with its interval, and that elsewhere as an upright line.

    Beside each bar stands the share of all errors that the region holds.

    Parameters
    ----------
    regions : sequence of dict
        Of each region the fields of `FailingRegion` by name.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
    text_ : list of matplotlib Text
        Shares of all errors.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> numbers = {"error_rate": 0.8, "low": 0.6, "high": 0.9, "elsewhere": 0.1, "share_of_errors": 0.3}
    >>> display = ErrorLandscapeDisplay([{"rule": "age above 61", "n_tested": 30, "n_errors": 24, **numbers}])
    >>> display.plot(Figure().subplots()).text_[0].get_text()
    '24 of 30, 30 % of all errors'
    """

    regions: Sequence[dict[str, Any]]

    @classmethod
    def from_landscape(cls, landscape: ErrorLandscape, *, ax: Any = None) -> Self:
        """Show what `error_landscape` has found.

        Parameters
        ----------
        landscape : ErrorLandscape
        ax : matplotlib Axes, optional
            A new figure by default.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.dummy import DummyClassifier
        >>> from sepc.landscapes import error_landscape
        >>> X = np.linspace(0.0, 1.0, 400)[:, None]
        >>> found = error_landscape(DummyClassifier().fit(X, np.zeros(400)), X, X[:, 0] > 0.9)
        >>> ErrorLandscapeDisplay.from_landscape(found, ax=Figure().subplots()).frame()["rule"].tolist()
        ['x0 above 0.9']
        """
        return cls([region.row() for region in landscape.regions]).plot(ax)

    @classmethod
    def from_estimator(cls, clf: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> Self:
        """Show where a classifier fails on held-out records.

        Parameters
        ----------
        clf : fitted classifier
        X : table of shape (n, n_columns)
        y : array-like of shape (n,)
            True labels.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            As for `error_landscape`.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from sklearn.dummy import DummyClassifier
        >>> X = np.linspace(0.0, 1.0, 400)[:, None]
        >>> clf = DummyClassifier().fit(X, np.zeros(400))
        >>> display = ErrorLandscapeDisplay.from_estimator(clf, X, X[:, 0] > 0.9, ax=Figure().subplots())
        >>> display.frame()["error_rate"].tolist()
        [1.0]
        """
        return cls.from_landscape(error_landscape(clf, X, y, **options), ax=ax)

    def frame(self) -> Any:
        """Return one row per region: rule, error rate with its interval, that elsewhere, and share of all errors.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> ErrorLandscapeDisplay([]).frame().columns.tolist()[:3]
        ['rule', 'n_tested', 'n_errors']
        """
        names = ("rule", "n_tested", "n_errors", "error_rate", "low", "high", "elsewhere", "share_of_errors")
        return FrameMaker().frame({name: [region[name] for region in self.regions] for name in names})

    def _draw(self, ax: Any) -> None:
        at = np.arange(len(self.regions))
        rates, low, high, elsewhere = (
            np.array([region[name] for region in self.regions]) for name in ("error_rate", "low", "high", "elsewhere")
        )
        self.bars_ = ax.barh(at, rates, 0.5, color=COLOURS[1])
        ax.hlines(at, low, high, color="black", linewidth=1.3)
        ax.vlines(elsewhere, at - 0.4, at + 0.4, color=GREY, linewidth=2.4, label="elsewhere")
        self.text_ = [
            ax.text(0.01, y + 0.3, self._holds(region), fontsize=TINY, va="top")
            for y, region in zip(at.tolist(), self.regions, strict=True)
        ]
        label_axes(ax, "share of wrong labels", "")
        ax.set_yticks(at, [literal(fill(region["rule"], _LETTERS_OF_LINE)) for region in self.regions], fontsize=SMALL)
        ax.set(xlim=(0.0, 1.0), ylim=(max(len(self.regions), 1) - 0.4, -0.6))
        if self.regions:
            ax.legend(fontsize=TINY, frameon=False, loc="lower right")
        else:
            ax.text(0.5, 0.5, "no region is known to fail", transform=ax.transAxes, ha="center", fontsize=SMALL)

    @staticmethod
    def _holds(region: dict[str, Any]) -> str:
        share = percent(region["share_of_errors"])
        return f"{region['n_errors']} of {region['n_tested']}, {share} of all errors"
