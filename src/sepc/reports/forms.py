"""Forms of a report: one page that needs no network and no other file, and Markdown with GitHub's tables."""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sepc.common.messages import message
from sepc.common.templates import template_environment
from sepc.model.acceptance import LOW_TRUST
from sepc.plot.style import COLOURS, MARKERS
from sepc.reports.pictures import pictures
from sepc.reports.report_tables import cell, exact, number, plain_methods, scores, table

if TYPE_CHECKING:
    import jinja2

# Characters that could end a script element or start another one, or are not allowed in a line of JavaScript.
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Characters with a meaning in Markdown or HTML.
_SPECIAL = re.compile(r"([\\`*_\[\]{}|~#$!])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_FOR_THE_SCRIPT = ("labels", "n_classes", "columns", "min_trust", "records", "verdicts", "neighbours", "training_rows")


def as_html(content: dict[str, Any]) -> str:
    """Return a report's content (`Report.to_dict`) as one page."""
    environment, rightly = _environment("a report as HTML"), _rightly(content)
    safe = environment.filters["safe"]
    look_of = looks(content["labels"])
    return environment.get_template("report.html.j2").render(
        **content,
        icon=_text("icon.svg").strip(),
        style=safe(_text("style.css")),
        script=safe(_text("script.js")),
        payload=safe(embedded({**{name: content[name] for name in _FOR_THE_SCRIPT}, "looks": [*look_of.values()]})),
        pictures={name: [safe(picture) for picture in made] for name, made in pictures(content, rightly).items()},
        look_of=look_of,
        rightly=rightly,
        scores=scores(content["results"]),
        plain_methods=plain_methods(content),
    )


def looks(labels: Iterable[str]) -> dict[str, str]:
    """Return the classes in the style sheet of the colour and the marker that `class_styles` has for each label."""
    return {label: f"c{k % len(COLOURS)} m{k % len(MARKERS)}" for k, label in enumerate(labels)}


def as_markdown(content: dict[str, Any]) -> str:
    """Return a report's content (`Report.to_dict`) as Markdown."""
    text = (
        _environment("a report as Markdown")
        .get_template("report.md.j2")
        .render(
            **content,
            scores=scores(content["results"]),
            plain_methods=plain_methods(content),
            confusion=_confusion(content["results"]["confusion"]),
            abstained=_abstained(content),
            values_of=lambda verdict: _values(content, verdict),
        )
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escaped(text: Any) -> str:
    r"""Return a text escaped for Markdown, on one line."""
    one_line = " ".join(str(text).split())
    return re.sub("[&<>]", lambda found: _ENTITIES[found[0]], _SPECIAL.sub(r"\\\1", one_line))


def embedded(value: Any) -> str:
    r"""Return JSON that can stand in a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


def _rightly(content: dict[str, Any]) -> list[bool]:
    records = content["records"]
    return [true == given for true, given in zip(records["truth"], records["label"], strict=True)]


def _confusion(confusion: dict[str, Any]) -> dict[str, Any]:
    given = ["abstained" if label is None else label for label in confusion["given"]]
    rows = [[true, *counts] for true, counts in zip(confusion["true"], confusion["counts"], strict=True)]
    return table([("true", "true label", "label"), *(("n", label, "count") for label in given)], rows, explained=False)


def _abstained(content: dict[str, Any]) -> dict[str, Any]:
    """Return the records on which the classifier abstains, the least trusted first."""
    records, min_trust = content["records"], content["min_trust"]
    outcome = zip(records["refusal"], records["trust"], strict=True)
    refused = [why or (LOW_TRUST if trust < min_trust else None) for why, trust in outcome]
    given, true = ([content["labels"][code] for code in records[name]] for name in ("label", "truth"))
    shown = {**records, "refused": refused, "label": given, "truth": true}
    columns = [
        ("id", "record", "text"),
        ("trust", "trust", "share"),
        ("typicality", "typicality", "share"),
        ("stability", "stability", "share"),
        ("label", "predicted", "label"),
        ("truth", "true label", "label"),
        ("refused", "refused", "text"),
        ("reason", "where it lies", "text"),
        ("region", "region", "text"),
    ]
    left = sorted((records["trust"][i], i) for i, why in enumerate(refused) if why is not None)
    return table(columns, [[shown[key][i] for key, *_ in columns] for _, i in left], explained=False)


def _values(content: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a record, beside those of its counterfactual and its nearest training records."""
    values, known, change = {"this record": verdict["values"]}, content["neighbours"], verdict["counterfactual"]
    if change:
        values[f"to be {change['label']}"] = change["values"]
    rows = [str(near["row"]) for near in verdict["neighbours"]]
    values.update({f"row {row}": known[row] for row in rows if row in known})
    columns = [("feature", "feature", "text"), *((title, title, "number") for title in values)]
    rows_of = zip(content["columns"], *values.values(), strict=True)
    return table(columns, [list(row) for row in rows_of], explained=False)


@cache
def _environment(needed_for: str) -> "jinja2.Environment":
    filters: dict[str, Callable[..., str]] = {"cell": cell, "number": number, "exact": exact, "md": escaped}
    return template_environment("sepc.reports", filters, needed_for, message("json-needs-nothing"))


def _text(name: str) -> str:
    return files("sepc.reports").joinpath("templates", name).read_text(encoding="utf-8")
