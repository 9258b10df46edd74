"""SVG pictures from numbers, which take their colours from the page around them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import atan2, ceil, degrees, floor, log10
from typing import Any

import numpy as np

_WIDTH, _HEIGHT = 520, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 12, 50
# Colours that a page offers as the classes c0, c1, ...; further labels take them again, with squares.
N_COLOURS = 8
# Of the lines of promises: left end and width of the two scales, and how high a line is.
_BARS_WIDTH, _BAR_TOP, _BAR_STEP = 720, 26, 26
_ACCEPTED, _LOST = (210, 200), (450, 250)
_MOST_SIGNS = 28
# Shares from 0 to 1, with room for what is drawn at the ends.
_ROOM = (-0.03, 1.03)


def regions_svg(view: dict[str, Any], records: Sequence[int], colours: Sequence[int], right: Sequence[bool]) -> str:
    """Return projections of regions, with test records in the colours of their true labels.

    Parameters
    ----------
    view : dict
        As `projections.views` gives it.
    records : sequence of int
        Rows of the test records whose points the view has.
    colours : sequence of int
        For each point and then for each ellipse, the number of its label.
    right : sequence of bool
        For each point, whether its verdict is right.
    """
    frame = Frame(*((axis["low"], axis["high"]) for axis in view["axes"]))
    dots = [
        _dot(*frame.at(x, y), record, colour, is_right)
        for (x, y), record, colour, is_right in zip(view["points"], records, colours, right, strict=False)
    ]
    shapes = [_ellipse(frame, e, c) for e, c in zip(view["ellipses"], colours[len(dots) :], strict=True)]
    x, y = (axis["title"] for axis in view["axes"])
    return _svg(f"Regions and test records: {view['title']}", frame, x, y, [*shapes, *dots])


def risk_coverage_svg(curve: dict[str, list[float]], coverage: float, risk: float | None) -> str:
    """Return the risk-coverage curve, with a mark that can be moved."""
    highest = _highest(curve)
    frame = Frame(_ROOM, (-0.03 * highest, highest))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(frame.at, curve["coverage"], curve["risk"]))
    x, y = frame.at(coverage, min(risk or 0.0, highest))
    left, bottom = frame.at(0.0, 0.0)
    top_right = frame.at(1.0, highest)
    error = frame.at(1.0, _risk_of_all(curve))[1]
    parts = [
        f'<line class="rule" x1="{left:.1f}" x2="{top_right[0]:.1f}" y1="{error:.1f}" y2="{error:.1f}"/>',
        f'<polyline class="curve" points="{points}"/>',
        f'<g id="mark" data-left="{left}" data-right="{top_right[0]}" data-bottom="{bottom}" data-top="{top_right[1]}" '
        f'data-highest="{highest}"><line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{top_right[1]}"/>'
        f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="6"/></g>',
    ]
    return _svg("Risk-coverage curve", frame, "coverage: share of records accepted", "risk: share of errors", parts)


def reliability_svg(bins: Iterable[dict[str, Any]]) -> str:
    """Return the share of right labels against the trust, with 95 % intervals; large dots stand for many records."""
    frame = Frame(_ROOM, _ROOM)
    (x0, y0), (x1, y1) = frame.at(0.0, 0.0), frame.at(1.0, 1.0)
    parts = [f'<line class="rule" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>']
    bins = list(bins)
    most = max(bin_["n_records"] for bin_ in bins)
    for bin_ in bins:
        x, y = frame.at(bin_["trust"], bin_["accuracy"])
        low, high = (frame.at(0.0, end)[1] for end in bin_["interval"])
        radius = 3.0 + 6.0 * (bin_["n_records"] / most) ** 0.5
        parts.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        parts.append(f'<circle class="bin" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')
    return _svg("Reliability: share of right labels against trust", frame, "trust", "share of right labels", parts)


def promise_svg(bars: Sequence[dict[str, Any]], is_error: bool) -> str:
    """Return one line for each part of a promise: what is accepted, and what is lost there beside what is promised.

    Parameters
    ----------
    bars : sequence of dict
        As `promised_parts.promise_results` gives them.
    is_error : bool
        Whether wrong labels are counted, and not costs.
    """
    ends = [bar[key] for bar in bars for key in ("loss", "high", "limit") if bar[key] is not None]
    limits = [bar["limit"] for bar in bars if bar["limit"] is not None]
    # Intervals of a few records reach far beyond what matters here.
    most = max(1.05 * min(max(ends, default=1.0), 3.0 * max(limits, default=1.0)), 1e-9)
    bottom = _BAR_TOP + _BAR_STEP * len(bars)
    parts = [
        f'<svg viewBox="0 0 {_BARS_WIDTH} {bottom + 34}" role="img" aria-label="Promises: accepted, wrong, promised">',
        f'<text class="title" x="{_ACCEPTED[0] + _ACCEPTED[1] / 2}" y="14">accepted</text>',
        f'<text class="title" x="{_LOST[0] + _LOST[1] / 2}" y="14">{"wrong of these" if is_error else "cost of these"}'
        "</text>",
    ]
    for (left, width), highest in ((_ACCEPTED, 1.0), (_LOST, most)):
        for value in ticks(0.0, highest, 3):
            x, told = (
                left + width * value / highest,
                f"{100 * value:.3g} %" if is_error or left == _ACCEPTED[0] else f"{value:g}",
            )
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_BAR_TOP - 4}" y2="{bottom}"/>')
            parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 17}">{told}</text>')
    for k, bar in enumerate(bars):
        parts += _promise_line(bar, _BAR_TOP + _BAR_STEP * (k + 0.5), most)
    return "".join([*parts, "</svg>"])


def _promise_line(bar: dict[str, Any], y: float, most: float) -> Iterator[str]:
    name = bar["name"] if len(bar["name"]) <= _MOST_SIGNS else f"{bar['name'][: _MOST_SIGNS - 1]}…"
    look = "" if bar["limit"] is not None else " weak"
    (left, width), top = _ACCEPTED, f"{y - 6:.1f}"
    title = f"<title>{escape(bar['name'])}</title>"
    yield f'<text class="name{look}" x="{left - 10}" y="{y + 4:.1f}">{escape(name)}{title}</text>'
    yield f'<rect class="room" x="{left}" y="{top}" width="{width}" height="12"/>'
    if bar["accepted"]:
        reach = width * bar["accepted"]
        yield f'<rect class="taken{look}" x="{left}" y="{top}" width="{reach:.1f}" height="12"/>'
    left, width = _LOST

    def at(value: float) -> float:
        return left + width * min(value / most, 1.0)

    if bar["limit"] is not None:
        x = at(bar["limit"])
        yield f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 10:.1f}" y2="{y + 10:.1f}"/>'
    if bar["low"] is not None:
        yield f'<line class="whisker" x1="{at(bar["low"]):.1f}" x2="{at(bar["high"]):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    if bar["loss"] is not None:
        yield f'<circle class="bin{look}" cx="{at(bar["loss"]):.1f}" cy="{y:.1f}" r="4.5"/>'


@dataclass(frozen=True, slots=True)
class Frame:
    """The ranges of both axes, and where they lie in the picture."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies in the picture."""
        right, down = self.per_unit
        return _LEFT + (x - self.x[0]) * right, _HEIGHT - _BOTTOM + (y - self.y[0]) * down

    @property
    def per_unit(self) -> tuple[float, float]:
        """Length of a step of one to the right, and down."""
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        return width / (self.x[1] - self.x[0]), -height / (self.y[1] - self.y[0])


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two ends."""
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(s - rough))
    return [float(f"{k * step:.12g}") for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _highest(curve: dict[str, list[float]]) -> float:
    """Return how far up to draw: the few surest records alone may have any risk."""
    usual = [r for c, r in zip(curve["coverage"], curve["risk"], strict=True) if c >= 0.1]
    return max(0.01, 1.15 * max(usual, default=0.0), 1.5 * _risk_of_all(curve))


def _risk_of_all(curve: dict[str, list[float]]) -> float:
    """Return the share of errors where all is accepted that can be."""
    return curve["risk"][-1] if curve["risk"] else 0.0


def _ellipse(frame: Frame, ellipse: dict[str, Any], colour: int) -> str:
    factor = np.array(frame.per_unit)[:, None] * np.array(ellipse["factor"])
    axes, radii, _ = np.linalg.svd(factor)
    x, y = frame.at(*ellipse["center"])
    turn = degrees(atan2(axes[1, 0], axes[0, 0]))
    return (
        f'<ellipse class="region c{colour % N_COLOURS}" cx="{x:.1f}" cy="{y:.1f}" rx="{radii[0]:.1f}" '
        f'ry="{radii[1]:.1f}" transform="rotate({turn:.1f} {x:.1f} {y:.1f})">'
        f"<title>{escape(ellipse['region'])}</title></ellipse>"
    )


def _dot(x: float, y: float, record: int, colour: int, right: bool) -> str:
    size = 3.2 if right else 4.6
    style = f'class="dot{"" if right else " wrong"} c{colour % N_COLOURS}" data-record="{record}"'
    if colour // N_COLOURS % 2:  # the colours are used up: squares
        return f'<rect {style} x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}"/>'
    return f'<circle {style} cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'


def _svg(title: str, frame: Frame, x_title: str, y_title: str, parts: Iterable[str]) -> str:
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    box = f'x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}"'
    return "".join(
        [
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">',
            f'<rect class="frame" {box}/>',
            *_axes(frame),
            f'<text class="title" x="{_LEFT + width / 2}" y="{_HEIGHT - 8}">{escape(x_title)}</text>',
            f'<text class="title" transform="translate(13 {_TOP + height / 2}) rotate(-90)">{escape(y_title)}</text>',
            # An inner picture of the same coordinates, which cuts off what leaves the frame.
            f'<svg {box} viewBox="{_LEFT} {_TOP} {width} {height}">',
            *parts,
            "</svg></svg>",
        ]
    )


def _axes(frame: Frame) -> Iterator[str]:
    for value in ticks(*frame.x):
        x, y = frame.at(value, frame.y[0])
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{y + 17:.1f}">{value:.6g}</text>'
    for value in ticks(*frame.y):
        x, y = frame.at(frame.x[0], value)
        yield f'<line class="grid" x1="{x:.1f}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick side" x="{x - 7:.1f}" y="{y + 4:.1f}">{value:.6g}</text>'
