"""Tables of the results of each label, of one model or of several side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from sepc.cli.console import aligned, on_one_line
from sepc.cli.messages import printed
from sepc.common.text import percent

_SHOWN = 20
# Titles by the names of `ClassResult`.
_TITLES = {
    "n_given": "given",
    "recall": "recall",
    "precision": "precision",
    "auc": "AUC",
    "n_accepted": "accepted",
    "n_accepted_right": "of these right",
}
_SHARES = ("recall", "precision")
Results = Sequence[Mapping[str, Any]]


def label_lines(models: Mapping[str, Results], names: Sequence[str] = tuple(_TITLES)) -> list[str]:
    """Return a table of the labels that rows have or got, as lines; of many, those with the lowest recall.

    `models` are the results of each model by its name, as dicts of `ClassResult`; `names` are those of the results.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for model, results in models.items():
        for one in results:
            if one["n_records"] or one["n_given"]:
                found.setdefault(one["label"], {})[model] = one
    labels = list(found) if len(found) <= _SHOWN else sorted(found, key=lambda label: _lowest_recall(found[label]))
    lines = [aligned([_row(label, found[label], list(models), names) for label in labels[:_SHOWN]])]
    return [*lines, printed("more-labels", n=len(labels) - _SHOWN)] if len(labels) > _SHOWN else lines


def _lowest_recall(by_model: Mapping[str, Mapping[str, Any]]) -> float:
    return min((one["recall"] for one in by_model.values() if one["recall"] is not None), default=2.0)


def _row(label: str, by_model: Mapping[str, Any], models: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    n_records = max(one["n_records"] for one in by_model.values())
    cells = {
        f"{_TITLES[name]} {model}".strip(): _cell(by_model.get(model, {}), name) for name in names for model in models
    }
    return {"label": on_one_line(label), "rows": n_records, **cells}


def _cell(one: Mapping[str, Any], name: str) -> Any:
    value = one.get(name)
    return percent(value) if name in _SHARES and value is not None else value
