"""Figures for a column of a page, the same to the byte each time they are drawn."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.statements import spread
from sepc.common.atomic_files import written_whole
from sepc.common.errors import SepcError
from sepc.common.typing import FloatArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.plot import RegionTrustDisplay
from sepc.plot.style import TINY, class_styles, label_axes

# Width of a column, and of a page of two columns, in inches.
COLUMN, PAGE = 3.4, 7.0
DOTS_PER_INCH = 200
_MOST_NAMES = 12
_LOOK: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": "small",
    "svg.hashsalt": "sepc",
    "hatch.linewidth": 0.4,
    "axes.unicode_minus": False,
}
# What would change from day to day, or from one version of matplotlib to the next.
_NO_METADATA: Mapping[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the page; the settings of the user are as they were afterwards."""
    try:
        from matplotlib import style as mpl_style
    except ImportError as error:
        raise SepcError("matplotlib-missing", what="a figure", extra="plot") from error
    with mpl_style.context(["default", _LOOK]):
        yield


def panels(n_columns: int, n_rows: int = 1, height: float = 2.7) -> tuple[Any, Any]:
    """Return a figure and its axes: as wide as a column for one panel, as a page for several.

    Parameters
    ----------
    n_columns, n_rows : int
    height : float, default=2.7
        Of each row, in inches.

    Returns
    -------
    figure : matplotlib Figure
    axes : matplotlib Axes, or an array of them
    """
    from matplotlib.figure import Figure

    width = COLUMN if n_columns == 1 else PAGE
    figure = Figure(figsize=(width, n_rows * height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns)


def save(figure: Any, folder: Path, name: str) -> list[str]:
    """Write a figure as PNG and as SVG; return the names of the files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(panels(1)[0], Path(folder), "empty")
    ['empty.png', 'empty.svg']
    """
    files = []
    for kind, metadata in _NO_METADATA.items():
        with written_whole(folder / f"{name}.{kind}") as file:
            figure.savefig(file, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
        files.append(f"{name}.{kind}")
    return files


def scatter(ax: Any, X: FloatArray, y: NDArray[Any], names: tuple[str, str], pale: bool = False) -> None:
    """Draw labelled points of two features, each class in its colour and shape."""
    for label, look in class_styles(np.unique(y)).items():
        ax.scatter(
            *X[y == label].T,
            s=11,
            color=look.colour,
            marker=look.marker,
            linewidths=0.3,
            edgecolors="white",
            alpha=0.3 if pale else 1.0,
            label=None if pale else str(label),
            rasterized=True,
        )
    label_axes(ax, *names)


def ellipse(ax: Any, E: Ellipsoid, **look: Any) -> None:
    """Draw the outline of an ellipsoid of two features."""
    ax.plot(*E.boundary(257).T, **{"linewidth": 1.2, **look})


def legend(ax: Any, **where: Any) -> None:
    """Draw a legend in small letters."""
    ax.legend(**{"fontsize": TINY, "framealpha": 0.8, **where})


def regions_by_label(
    ax: Any,
    regions: NDArray[Any],
    predicted: NDArray[Any],
    trust: FloatArray,
    classes: NDArray[Any],
    across: str,
    line: str = "trust",
) -> None:
    """Draw the paper's bar-and-line figure: test points in each region by predicted label, and the trust there.

    Up to a dozen regions are named; more are only numbered.

    Parameters
    ----------
    ax : matplotlib Axes
    regions : ndarray of str, shape (n,)
        Region of each point.
    predicted : ndarray of shape (n,)
    trust : ndarray of shape (n,)
    classes : ndarray of shape (n_classes,)
    across : str
        What the regions are called.
    line : str, default="trust"
        What the line shows.

    Examples
    --------
    >>> regions = np.array(["a#1", "a#1", "b#1"])
    >>> figure, ax = panels(1)
    >>> regions_by_label(ax, regions, np.array([0, 0, 1]), np.ones(3), np.array([0, 1]), "regions")
    >>> [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    ['called 0', 'called 1', 'trust']
    """
    names, where = np.unique(regions.astype(str), return_inverse=True)
    counts = np.column_stack([np.bincount(where[predicted == c], minlength=len(names)) for c in classes])
    mean = np.bincount(where, weights=trust) / counts.sum(axis=1)
    order = np.lexsort((names, -mean))
    display = RegionTrustDisplay(
        names[order].tolist(), counts[order], mean[order], classes.tolist(), classes, "test points"
    ).plot(ax)
    ax.yaxis.get_major_locator().set_params(integer=True)
    if len(names) > _MOST_NAMES:
        every = len(names) // 8
        ax.set_xticks(np.arange(0, len(names), every), [str(k + 1) for k in range(0, len(names), every)], rotation=0)
    display.line_.set(markersize=2.5, linewidth=0.9)
    label_axes(ax, f"{across}, the most trusted first", "test points")
    label_axes(display.trust_ax_, "", line)
    texts = [*(f"called {name}" for name in classes), line]
    for text, words in zip(display.trust_ax_.get_legend().get_texts(), texts, strict=True):
        text.set_text(words)


def ranges(ax: Any, at: NDArray[Any], values: list[list[float]], **look: Any) -> None:
    """Draw medians as a line and, behind it, the range of the values at each place."""
    found = [spread(column) for column in values]
    ax.plot(at, [s.median for s in found], **{"markersize": 4, "linewidth": 1.2, **look})
    ax.fill_between(at, [s.low for s in found], [s.high for s in found], color=look["color"], alpha=0.15, linewidth=0)
