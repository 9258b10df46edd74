"""Scores of a report as a reader sees them: each with what it means, and beside those of two plain methods."""

from typing import Any

from sepc.common.text import percent
from sepc.reports.glossary import MEANINGS
from sepc.reports.report_tables import number, table

_SCORES = {
    "balanced accuracy": "balanced_accuracy",
    "AURC": "aurc",
    "E-AURC": "e_aurc",
    "AUGRC": "augrc",
    "calibration error (ECE)": "ece",
    "Brier score": "brier",
}


def scores(results: dict[str, Any]) -> list[dict[str, str]]:
    """Return the scores besides the accuracy: title, value and meaning."""
    return [
        {
            "title": title,
            "value": percent(results[key]) if key == "balanced_accuracy" else number(results[key]),
            "meaning": MEANINGS[title],
        }
        for title, key in _SCORES.items()
    ]


def plain_methods(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return a table of the model and the plain methods that learned from the same records; None if there are none."""
    result = content["results"]
    if not result["baselines"]:
        return None
    columns = [
        ("name", "method", "text"),
        ("n_right", "right", "count"),
        ("accuracy", "accuracy", "share"),
        ("interval", "95 % interval", "text"),
        ("log_loss", "log loss", "number"),
    ]
    own = {**result, "name": content["card"]["model"]}
    return table(columns, [_row(one) for one in (own, *result["baselines"])])


def _row(one: dict[str, Any]) -> list[Any]:
    low, high = (percent(end) for end in one["accuracy_interval"])
    return [one["name"], one["n_right"], one["accuracy"], f"{low} to {high}", one["log_loss"]]
