"""Displays as SVG that stands inside an HTML page and takes its colours and its font from there."""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree as ET

from sepc.plot.base import require_matplotlib
from sepc.plot.style import COLOURS, GREY

# CSS variables of the page: `--c0`, `--c1`, ... for classes; black is the colour of the text around the picture.
_VARIABLES = {
    **{colour.lower(): f"var(--c{k})" for k, colour in enumerate(COLOURS)},
    "#000000": "currentColor",
    "#ffffff": "var(--page)",
    GREY: "var(--soft)",
    "#404040": "var(--soft)",
    "#cccccc": "var(--line)",
}


@contextmanager
def page_settings() -> Iterator[None]:
    """Draw by matplotlib's own settings, whatever the user's are: texts stay texts, and ids are not random."""
    require_matplotlib("a picture", "report")
    import matplotlib as mpl
    from matplotlib import style

    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "sepc"}
    with style.context("default"), mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has other fonts
        yield


def new_axes(width: float, height: float) -> Any:
    """Return the axes of a figure of some size in inches, whose pixels are the units of its SVG.

    Margins are fixed, for numbers of eight digits and titles: a layout engine would take half of the drawing time.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=72).add_axes((0.165, 0.155, 0.82, 0.8))


def as_svg(figure: Any, name: str, title: str) -> ET.Element:
    """Return a figure as an SVG element for a page, with a title for screen readers; call it within `page_settings`.

    The name is put before all ids, so that they are unique on a page with several pictures: an artist with the gid
    "dots" is the element "<name>-dots".
    """
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    svg = ET.fromstring(text.getvalue())
    for unused in [child for child in svg if child.tag.endswith("metadata") or child.find("{*}style") is not None]:
        svg.remove(unused)
    for element in svg.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: _on_a_page(key, value, name) for key, value in element.items()}
    svg.attrib = {"viewBox": svg.attrib["viewBox"], "role": "img", "aria-label": title}
    return svg


def by_id(svg: ET.Element, id_: str) -> ET.Element:
    """Return the element with some id."""
    return next(element for element in svg.iter() if element.get("id") == id_)


def place_in(ax: Any, x: float, y: float) -> tuple[float, float]:
    """Return the coordinates of a point of some axes in the SVG of their figure, once that is made."""
    right, up = ax.transData.transform((x, y)).tolist()
    return right, float(ax.figure.bbox.height) - up


def _on_a_page(key: str, value: str, name: str) -> str:
    """Return the value of an attribute with the ids of this picture, and the colours and the font of the page."""
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href"):
        return value.replace("#", f"#{name}-", 1)
    if key == "d":
        return " ".join(value.split())
    if key == "style":
        value = re.sub("#[0-9a-f]{6}", lambda found: _VARIABLES.get(found[0], found[0]), value)
        value = re.sub("(?:'[^']*', )+sans-serif", "var(--font)", value)
    return value.replace("url(#", f"url(#{name}-")
