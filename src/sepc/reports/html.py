"""A report as one page that needs no network and no other file."""

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sepc.common.templates import template_environment
from sepc.reports.report_tables import cell, exact, number
from sepc.reports.scores import plain_methods, scores
from sepc.reports.svg import N_COLOURS, promise_svg, regions_svg, reliability_svg, risk_coverage_svg

if TYPE_CHECKING:
    import jinja2

# What would end a script element, start another one, or is no line of JavaScript.
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_FOR_THE_SCRIPT = ("labels", "n_classes", "columns", "min_trust", "records", "verdicts", "neighbours", "training_rows")


def as_html(content: dict[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    content : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    str
    """
    environment = _environment()
    safe = environment.filters["safe"]
    return environment.get_template("report.html.j2").render(
        **content,
        style=safe(_text("style.css")),
        script=safe(_text("script.js")),
        payload=safe(embedded({name: content[name] for name in _FOR_THE_SCRIPT})),
        pictures={name: [safe(picture) for picture in made] for name, made in _pictures(content).items()},
        look_of={label: _look(code) for code, label in enumerate(content["labels"])},
        said_rightly=_rightly(content),
        scores=scores(content["results"]),
        plain_methods=plain_methods(content),
    )


def embedded(value: Any) -> str:
    r"""Return JSON that can stand in a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


def _pictures(content: dict[str, Any]) -> dict[str, list[str]]:
    picture, result = content["picture"], content["results"]
    code = {label: k for k, label in enumerate(content["labels"])}
    shown, right = picture["records"], _rightly(content)
    of_points = [content["records"]["truth"][i] for i in shown]
    drawn = [
        regions_svg(view, shown, [*of_points, *(code[e["label"]] for e in view["ellipses"])], [right[i] for i in shown])
        for view in picture["views"]
    ]
    at, promised = result["at"], content["promise"] or {"bars": []}
    risk = None if at["accuracy"] is None else 1.0 - at["accuracy"]
    return {
        "regions": drawn,
        "curve": [risk_coverage_svg(result["curve"], at["coverage"], risk)],
        "reliability": [reliability_svg(result["reliability"])],
        "promise": [] if not promised["bars"] else [promise_svg(promised["bars"], promised["bounds"] == "error")],
    }


def _rightly(content: dict[str, Any]) -> list[bool]:
    records = content["records"]
    return [true == given for true, given in zip(records["truth"], records["label"], strict=True)]


def _look(code: int) -> str:
    return f"c{code % N_COLOURS}{' square' if code // N_COLOURS % 2 else ''}"


@cache
def _environment() -> "jinja2.Environment":
    filters: dict[str, Callable[..., str]] = {"cell": cell, "number": number, "exact": exact}
    otherwise = "Markdown and JSON need nothing more."
    return template_environment("sepc.reports", filters, "a report as HTML", otherwise)


def _text(name: str) -> str:
    return files("sepc.reports").joinpath("templates", name).read_text(encoding="utf-8")
