"""Common style of all displays: one look for each class, and letters that fit."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sepc.common.frames import plain
from sepc.common.typing import FloatArray

# Okabe and Ito's colours, which the colour-blind can distinguish; without the yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lists of different lengths: two looks that agree in one of them differ in another.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
_LINES = ("-", "--", "-.", ":")
_HATCHES = ("", "///", "...", "\\\\\\", "xxx")
GREY = "#777777"
# Fonts are sized relative to the user's setting.
SMALL, TINY = "small", "x-small"


class Style(NamedTuple):
    """Look of one class, or one model: in colour and, for those who see none, in shape."""

    colour: str
    marker: str
    line: str
    hatch: str


def style(k: int) -> Style:
    """Return the look of number k; the first 28 differ in colour or line, and neighbours in everything."""
    return Style(*(looks[k % len(looks)] for looks in (COLOURS, MARKERS, _LINES, _HATCHES)))


def class_styles(classes: Iterable[Any]) -> dict[Any, Style]:
    """Return the look of each class, the same in all displays; classes in the order of ``clf.classes_``."""
    return {plain(label): style(k) for k, label in enumerate(classes)}


def pale(colours: FloatArray, depth: FloatArray | float) -> FloatArray:
    """Mix colours with white: depth 1 is the colour itself, 0 is white."""
    return np.asarray(1.0 - np.asarray(depth) * (1.0 - colours))


def ink_on(rgb: FloatArray) -> str:
    """Return black or white, whichever has more contrast on a colour (by the relative luminance of WCAG)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear[:3] @ [0.2126, 0.7152, 0.0722])
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def short(name: Any, n: int = 18) -> str:
    """Return a name as text of at most n characters; longer ones lose their middle."""
    text, tail = str(name), (n - 1) // 2
    return literal(text if len(text) <= n else f"{text[: n - 1 - tail]}…{text[len(text) - tail :]}")


def literal(text: str) -> str:
    r"""Return a text escaped for matplotlib: no formula, and a legend entry even if it begins with ``_``."""
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def settle(ax: Any) -> Any:
    """Apply the layout of the figure; return the box of the axes, in pixels."""
    ax.figure.figure.draw_without_rendering()
    return ax.get_window_extent()


def height_of(legend: Any, ax: Any) -> float:
    """Return the height of the legend as a share of that of the axes, at most 0.5."""
    box = settle(ax)
    return min(float(legend.get_window_extent().height / box.height), 0.5)


def points_of(size: str) -> float:
    """Return a relative font size in points, by the user's settings."""
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def fitting_size(cell: tuple[float, float], n_letters: int) -> float:
    """Return a font size at which n letters fit into a cell, but no larger than that of other text."""
    width, height = cell
    return min(0.85 * width / (0.62 * max(n_letters, 2)), 0.75 * height, points_of("medium"))


def cell_size(ax: Any, n_columns: int, n_rows: int) -> tuple[float, float]:
    """Return width and height, in points, of a cell of a table that fills the axes."""
    box = settle(ax)
    return float(box.width * 72.0 / ax.figure.dpi / n_columns), float(box.height * 72.0 / ax.figure.dpi / n_rows)


def into_emptiest_place(legend: Any, ax: Any, points: FloatArray) -> None:
    """Move a legend to the place where it hides the fewest points."""
    box, own = settle(ax), legend.get_window_extent()
    across, up = ((ax.transData.transform(points) - [box.x0, box.y0]) / [box.width, box.height]).T
    width, height = own.width / box.width + 0.03, own.height / box.height + 0.03
    rows = {"upper": up > 1.0 - height, "lower": up < height, "center": np.abs(up - 0.5) < height / 2.0}
    columns = {"right": across > 1.0 - width, "left": across < width, "center": np.abs(across - 0.5) < width / 2.0}
    crowd = {
        " ".join(dict.fromkeys((row, column))): np.count_nonzero(rows[row] & columns[column])
        for row in rows
        for column in columns
    }
    legend.set_loc(min(crowd, key=crowd.__getitem__))


def legend_entry(label: Any, **look: Any) -> Any:
    """Return a line that is drawn in a legend only."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=short(label), **look)


def label_axes(ax: Any, across: str, up: str) -> None:
    """Name the two axes, in letters that fit a narrow column."""
    ax.set_xlabel(literal(across), fontsize=SMALL)
    ax.set_ylabel(literal(up), fontsize=SMALL)
    ax.tick_params(labelsize=TINY)
