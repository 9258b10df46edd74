"""What all displays share: one look for each class, axes to draw on, and words that fit."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sepc.errors import InputError, SepcError
from sepc.frames import plain
from sepc.geometry._checks import FloatArray

# Okabe and Ito's colours, which the colour-blind can tell apart; without the yellow, which is too pale for lines.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Lists of different lengths: what looks alike in one way differs in another.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
_LINES = ("-", "--", "-.", ":")
_HATCHES = ("", "///", "...", "\\\\\\", "xxx")
GREY = "#777777"
# Fonts are sized relative to the user's setting.
SMALL, TINY = "small", "x-small"


class Style(NamedTuple):
    """How one class, or one model, looks: in colour and, for those who see none, in shape.

    Examples
    --------
    >>> Style("#0072B2", "o", "-", "").marker
    'o'
    """

    colour: str
    marker: str
    line: str
    hatch: str


def style(k: int) -> Style:
    """Return the look of number k; the first 28 differ in colour or line, and neighbours in everything.

    Examples
    --------
    >>> len({style(k)[:3:2] for k in range(28)})
    28
    """
    return Style(*(looks[k % len(looks)] for looks in (_COLOURS, _MARKERS, _LINES, _HATCHES)))


def class_styles(classes: Iterable[Any]) -> dict[Any, Style]:
    """Return the look of each class, the same in all displays.

    Parameters
    ----------
    classes : iterable of labels
        In the order of ``clf.classes_``.

    Returns
    -------
    dict
        A `Style` for each label.

    Examples
    --------
    >>> class_styles(["benign", "malignant"])["malignant"].colour
    '#D55E00'
    """
    return {plain(label): style(k) for k, label in enumerate(classes)}


def axes_for(ax: Any) -> Any:
    """Return the axes to draw on: those given, or those of a new figure.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> axes_for(ax) is ax
    True
    """
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise SepcError("a plot needs matplotlib, which is not installed. Run: pip install 'sepc[plot]'") from error
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InputError(
            f"ax is a {type(ax).__name__}; expected the axes to draw on. Pass one of those that plt.subplots() "
            "returns, or None for a new figure."
        )
    return ax


def pale(colours: FloatArray, depth: FloatArray | float) -> FloatArray:
    """Mix colours with white: depth 1 is the colour itself, 0 is white.

    Examples
    --------
    >>> pale(np.array([0.0, 0.5, 1.0]), 0.5).tolist()
    [0.5, 0.75, 1.0]
    """
    return np.asarray(1.0 - np.asarray(depth) * (1.0 - colours))


def ink_on(rgb: FloatArray) -> str:
    """Return black or white, whichever has more contrast on a colour (by the relative luminance of WCAG).

    Examples
    --------
    >>> ink_on(np.array([0.0, 0.45, 0.70])), ink_on(np.array([0.9, 0.9, 0.9]))
    ('white', 'black')
    """
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear[:3] @ [0.2126, 0.7152, 0.0722])
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def short(name: Any, n: int = 18) -> str:
    """Return a name as text of at most n characters; the middle of longer ones is left out.

    Examples
    --------
    >>> short("malignant#12 & benign#3", 15)
    'maligna…enign#3'
    """
    text, tail = str(name), (n - 1) // 2
    return literal(text if len(text) <= n else f"{text[: n - 1 - tail]}…{text[len(text) - tail :]}")


def literal(text: str) -> str:
    r"""Return what makes matplotlib show a text as it is: no formula, and a legend entry whatever it begins with.

    Examples
    --------
    >>> literal("cost in $"), literal("_id")
    ('cost in \\$', ' _id')
    """
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def settle(ax: Any) -> Any:
    """Let the layout of the figure take place; return the box of the axes, in pixels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> settle(Figure(figsize=(4.0, 3.0), dpi=100).add_axes((0.0, 0.0, 1.0, 1.0))).width.item()
    400.0
    """
    ax.figure.figure.draw_without_rendering()
    return ax.get_window_extent()


def height_of(legend: Any, ax: Any) -> float:
    """Return the share of the height of the axes that their legend takes, half at most.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> height_of(ax.legend(handles=[legend_entry("a")]), ax) < 0.2
    True
    """
    box = settle(ax)
    return min(float(legend.get_window_extent().height / box.height), 0.5)


def points_of(size: str) -> float:
    """Return a relative font size in points, by the user's settings.

    Examples
    --------
    >>> points_of("x-small") < points_of("medium")
    True
    """
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=size).get_size_in_points())


def emptiest_corner(ax: Any, points: FloatArray) -> str:
    """Return the corner of the axes where the fewest points are, as the place of a legend.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> emptiest_corner(ax, np.array([[0.9, 0.9], [0.1, 0.9], [0.1, 0.1]]))
    'lower right'
    """
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    across, up = ((points - [left, bottom]) / [right - left, top - bottom]).T
    crowd = {
        f"{row} {column}": np.count_nonzero(vertical & horizontal)
        for row, vertical in (("upper", up > 0.65), ("lower", up < 0.35))
        for column, horizontal in (("right", across > 0.5), ("left", across < 0.5))
    }
    return min(crowd, key=crowd.__getitem__)


def legend_entry(label: Any, **look: Any) -> Any:
    """Return a line for a legend, which is drawn nowhere else.

    Examples
    --------
    >>> legend_entry("benign", color="black", marker="o").get_label()
    'benign'
    """
    from matplotlib.lines import Line2D

    return Line2D([], [], label=short(label), **look)


def label_axes(ax: Any, across: str, up: str) -> None:
    """Name the two axes, in letters that fit a narrow column.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> label_axes(ax, "coverage", "risk")
    >>> ax.get_xlabel()
    'coverage'
    """
    ax.set_xlabel(literal(across), fontsize=SMALL)
    ax.set_ylabel(literal(up), fontsize=SMALL)
    ax.tick_params(labelsize=TINY)
