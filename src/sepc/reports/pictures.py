"""Pictures of a report: displays as SVG, drawn from the numbers of its content."""

from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from sepc.common.text import percent
from sepc.plot.error_landscape_display import ErrorLandscapeDisplay
from sepc.plot.label_curves import Accepted, LabelCurve
from sepc.plot.partition_display import PartitionDisplay
from sepc.plot.planes import Outline
from sepc.plot.precision_recall_display import PrecisionRecallDisplay
from sepc.plot.reliability_display import ReliabilityCurve, ReliabilityDisplay
from sepc.plot.risk_coverage_display import RiskCoverageDisplay, RiskCurve
from sepc.plot.roc_display import RocDisplay
from sepc.plot.style import COLOURS, GREY, SMALL, TINY, label_axes, short
from sepc.plot.svg import as_svg, by_id, new_axes, page_settings, place_in
from sepc.reports.performance import N_BINS

_SIZE = (4.7, 3.6)


def pictures(content: dict[str, Any], rightly: Sequence[bool]) -> dict[str, list[str]]:
    """Return the pictures of a report by name, as SVG for its page; `rightly` flags test records with right labels."""
    promised = content["promise"] or {"bars": []}
    with page_settings():
        found = {
            "regions": [_regions(content, k, rightly) for k in range(len(content["picture"]["views"]))],
            "curve": [_risk_coverage(content["results"])],
            "labels": _labels(content["results"]["label_curves"]),
            "reliability": [_reliability(content["results"], content["card"]["model"])],
            "failing": [_failing(content["failing"]["regions"])] if content["failing"]["regions"] else [],
            "promise": [_promise(promised)] if promised["bars"] else [],
        }
        return {name: [tostring(svg, encoding="unicode") for svg in drawn] for name, drawn in found.items()}


def _regions(content: dict[str, Any], number: int, rightly: Sequence[bool]) -> Element:
    """Return projections of regions, with test records in the look of their true labels; wrong ones have a ring."""
    view, records = content["picture"]["views"][number], np.array(content["picture"]["records"], dtype=int)
    x, y = view["axes"]
    codes = np.array(content["records"]["truth"])[records]
    ax = new_axes(*_SIZE)
    display = PartitionDisplay(
        outlines=[
            Outline(e["region"], e["label"], 0, np.array(e["center"]), np.array(e["factor"])) for e in view["ellipses"]
        ],
        points=np.reshape(view["points"], (-1, 2)),
        codes=codes,
        isolated=(),
        classes=np.array(content["labels"], dtype=object),
        axis_names=(x["title"], y["title"]),
        limits=((x["low"], x["high"]), (y["low"], y["high"])),
    ).plot(ax, legend=False)
    if not y["title"]:  # of one feature, heights mean nothing
        ax.set_yticks([])
    for k, dots in enumerate(display.points_):
        dots.set(rasterized=False, gid=f"dots-{k}")
    for k, ellipse in enumerate(display.ellipses_):
        ellipse.set_gid(f"region-{k}")
    wrong = display.points[~np.array(rightly, dtype=bool)[records]]
    ax.scatter(*wrong.T, s=34, facecolors="none", edgecolors="black", linewidths=1.0, gid="wrong")
    name = f"regions-{number}"
    svg = as_svg(ax.figure, name, f"Regions and test records: {view['title']}")
    for k, outline in enumerate(display.outlines):
        SubElement(by_id(svg, f"{name}-region-{k}"), "title").text = outline.region
    for k in range(len(display.points_)):
        dots = by_id(svg, f"{name}-dots-{k}").iter("use")
        for dot, record in zip(dots, records[codes == k].tolist(), strict=True):
            dot.set("data-record", str(record))
    return svg


def _risk_coverage(result: dict[str, Any]) -> Element:
    """Return the risk-coverage curve, with a mark that the page moves."""
    coverages, risks, thresholds = (np.array(result["curve"][key]) for key in ("coverage", "risk", "threshold"))
    ax, of_all = new_axes(*_SIZE), risks[-1] if len(risks) else 0.0
    if len(risks):
        RiskCoverageDisplay([RiskCurve("", coverages, risks, thresholds, result["aurc"])]).plot(ax)
        ax.get_legend().remove()
    # The few surest records alone may have any risk.
    highest = float(max(0.01, 1.15 * max(risks[coverages >= 0.1], default=0.0), 1.5 * of_all))
    ax.axhline(of_all, color=GREY, linestyle="--", linewidth=0.9)
    label_axes(ax, "coverage: share of records accepted", "risk: share of errors")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.03 * highest, highest))
    svg = as_svg(ax.figure, "curve", "Risk-coverage curve")
    (left, bottom), (right, top) = place_in(ax, 0.0, 0.0), place_in(ax, 1.0, highest)
    risk = 0.0 if result["at"]["accuracy"] is None else 1.0 - result["at"]["accuracy"]
    x, y = place_in(ax, result["at"]["coverage"], min(risk, highest))
    ends = {"data-left": left, "data-right": right, "data-bottom": bottom, "data-top": top, "data-highest": highest}
    mark = SubElement(svg, "g", {"id": "mark", **_rounded(ends)})
    SubElement(mark, "line", {"class": "mark", **_rounded({"x1": x, "x2": x, "y1": bottom, "y2": top})})
    SubElement(mark, "circle", {"class": "mark", **_rounded({"cx": x, "cy": y, "r": 4.0})})
    return svg


def _rounded(places: dict[str, float]) -> dict[str, str]:
    return {key: f"{place:.6g}" for key, place in places.items()}


def _reliability(result: dict[str, Any], name: str) -> Element:
    confidences, accuracies, counts = np.zeros((3, N_BINS))
    for one in result["reliability"]:
        k = round(one["low"] * N_BINS)
        confidences[k], accuracies[k], counts[k] = one["trust"], one["accuracy"], one["n_records"]
    curve = ReliabilityCurve(name, confidences, accuracies, counts, result["ece"])
    ax = ReliabilityDisplay([curve]).plot(new_axes(*_SIZE)).ax_
    label_axes(ax, "trust", "share of right labels")
    return as_svg(ax.figure, "reliability", "Reliability: share of right labels against trust")


def _labels(curves: Sequence[dict[str, Any]]) -> list[Element]:
    """Return the ROC curves and the precision-recall curves of labels; nothing where no curve can be drawn."""
    kinds: Any = (
        (RocDisplay, "roc", ("false_positive_rate", "recall"), "auc", "ROC curves"),
        (PrecisionRecallDisplay, "precision_recall", ("recall", "precision"), "average_precision", "Precision, recall"),
    )
    drawn = []
    for display, key, (across, up), area, title in kinds if curves else ():
        made = [
            LabelCurve(
                name="",
                label=one["label"],
                number=one["number"],
                x=np.array(one[key][across]),
                y=np.array(one[key][up]),
                thresholds=np.empty(0),
                area=one[area],
                share=one["share"],
                accepted=None if one["accepted"] is None else Accepted.from_dict(one["accepted"]),
            )
            for one in curves
        ]
        drawn.append(as_svg(display(made).plot(new_axes(*_SIZE)).figure_, key.replace("_", "-"), title))
    return drawn


def _failing(regions: Sequence[dict[str, Any]]) -> Element:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.1 + 0.8 * len(regions)), dpi=72, layout="constrained")
    ErrorLandscapeDisplay(regions).plot(figure.subplots())
    return as_svg(figure, "failing", "Where the model fails: share of wrong labels")


def _promise(promised: dict[str, Any]) -> Element:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    bars = promised["bars"]
    size = (7.2, 0.7 + 0.27 * len(bars))
    figure = Figure(figsize=size, dpi=72, layout=ConstrainedLayoutEngine(w_pad=0.1))
    _draw_promises(bars, promised["bounds"] == "error", *figure.subplots(1, 2))
    return as_svg(figure, "promise", "Promises: accepted, wrong, promised")


def _draw_promises(bars: Sequence[dict[str, Any]], is_error: bool, accepted_ax: Any, lost_ax: Any) -> None:
    """Draw one line for each part of a promise on two axes that share their height.

    A bar has a ``name``, ``accepted`` (a share), ``loss`` (the share of wrong labels where `is_error`, else a cost),
    its interval from ``low`` to ``high`` and the promised ``limit``; all but the name may be None. Parts without a
    limit are drawn in a weaker colour.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    at = np.arange(len(bars))
    strength = [0.45 if bar["limit"] is None else 1.0 for bar in bars]
    accepted_ax.barh(at, 1.0, 0.5, color="#cccccc")
    drawn = accepted_ax.barh(at, [bar["accepted"] or 0.0 for bar in bars], 0.5, color=COLOURS[0])
    for patch, alpha in zip(drawn, strength, strict=True):
        patch.set_alpha(alpha)
    accepted_ax.set_yticks(at, [short(bar["name"], 28) for bar in bars], fontsize=SMALL)
    for text, alpha in zip(accepted_ax.get_yticklabels(), strength, strict=True):
        text.set_color(GREY if alpha < 1.0 else "black")
    for y, bar, alpha in zip(at, bars, strength, strict=True):
        if bar["limit"] is not None:
            lost_ax.plot([bar["limit"]] * 2, [y - 0.4, y + 0.4], color=COLOURS[1], linewidth=2.4, gid=f"limit-{y}")
        if bar["low"] is not None:
            lost_ax.plot([bar["low"], bar["high"]], [y, y], color=COLOURS[0], alpha=0.45, linewidth=1.3)
        if bar["loss"] is not None:
            lost_ax.plot(bar["loss"], y, "o", color=COLOURS[0], alpha=alpha, markersize=5)
    accepted_ax.set(xlim=(0.0, 1.0), ylim=(len(bars) - 0.5, -0.5))
    lost_ax.set(xlim=(-0.01 * _most(bars), _most(bars)), ylim=(len(bars) - 0.5, -0.5))
    lost_ax.tick_params(labelleft=False)
    for ax, title in ((accepted_ax, "accepted"), (lost_ax, "wrong of these" if is_error else "cost of these")):
        ax.set_title(title, fontsize=SMALL)
        ax.spines[["top", "left", "right"]].set_visible(False)
        ax.tick_params(axis="y", length=0.0)
        ax.tick_params(axis="x", labelsize=TINY)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        if is_error or ax is accepted_ax:
            ax.xaxis.set_major_formatter(FuncFormatter(lambda share, _: percent(share)))


def _most(bars: Sequence[dict[str, Any]]) -> float:
    """Return the end of the scale of losses, at most 3.15 times the largest limit: intervals may be much longer."""
    ends = [bar[key] for bar in bars for key in ("loss", "high", "limit") if bar[key] is not None]
    limits = [bar["limit"] for bar in bars if bar["limit"] is not None]
    return max(1.05 * min(max(ends, default=1.0), 3.0 * max(limits, default=1.0)), 1e-9)
