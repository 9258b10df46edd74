"""A report as one page that needs no network and no other file."""

import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sepc.common.templates import template_environment
from sepc.plot.style import COLOURS, MARKERS
from sepc.reports.pictures import pictures
from sepc.reports.report_tables import cell, exact, number
from sepc.reports.scores import plain_methods, scores

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
    environment, rightly = _environment(), _rightly(content)
    safe = environment.filters["safe"]
    # The colour and the marker that `sepc.plot.class_styles` has for each label.
    looks = [f"c{k % len(COLOURS)} m{k % len(MARKERS)}" for k in range(len(content["labels"]))]
    return environment.get_template("report.html.j2").render(
        **content,
        style=safe(_text("style.css")),
        script=safe(_text("script.js")),
        payload=safe(embedded({**{name: content[name] for name in _FOR_THE_SCRIPT}, "looks": looks})),
        pictures={name: [safe(picture) for picture in made] for name, made in pictures(content, rightly).items()},
        look_of=dict(zip(content["labels"], looks, strict=True)),
        said_rightly=rightly,
        scores=scores(content["results"]),
        plain_methods=plain_methods(content),
    )


def embedded(value: Any) -> str:
    r"""Return JSON that can stand in a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


def _rightly(content: dict[str, Any]) -> list[bool]:
    records = content["records"]
    return [true == given for true, given in zip(records["truth"], records["label"], strict=True)]


@cache
def _environment() -> "jinja2.Environment":
    filters: dict[str, Callable[..., str]] = {"cell": cell, "number": number, "exact": exact}
    otherwise = "Markdown and JSON need nothing more."
    return template_environment("sepc.reports", filters, "a report as HTML", otherwise)


def _text(name: str) -> str:
    return files("sepc.reports").joinpath("templates", name).read_text(encoding="utf-8")
