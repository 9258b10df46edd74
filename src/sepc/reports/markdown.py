"""A report as Markdown, with GitHub's tables."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sepc.common.text import percent
from sepc.model.acceptance import LOW_TRUST
from sepc.reports.report_tables import cell, exact, number
from sepc.reports.scores import plain_methods, scores

_SPECIAL = re.compile(r"([\\`*_\[\]{}|~#$!])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def as_markdown(content: dict[str, Any]) -> str:
    """Return the text.

    Parameters
    ----------
    content : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    str
    """
    parts = (_head, _landscape, _columns, _regions, _results, _subgroups, _promise, _threshold, _verdicts, _card)
    return "\n\n".join(block for part in parts for block in part(content)) + "\n"


def escaped(text: Any) -> str:
    r"""Return a text that Markdown shows as it is, on one line."""
    one_line = " ".join(str(text).split())
    return re.sub("[&<>]", lambda found: _ENTITIES[found[0]], _SPECIAL.sub(r"\\\1", one_line))


def _grid(titles: Sequence[str], is_number: Sequence[bool], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts that are escaped already."""
    lines = [titles, ["--:" if right else "---" for right in is_number], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(content: dict[str, Any]) -> str:
    kinds = [column["kind"] for column in content["columns"]]
    titles = [escaped(column["title"]) for column in content["columns"]]
    rows = ([escaped(cell(value, kind)) for value, kind in zip(row, kinds, strict=True)] for row in content["rows"])
    grid = _grid(titles, [kind not in ("text", "label") for kind in kinds], rows)
    meanings = [f"*{escaped(c['title'])}*: {escaped(c['meaning'])}." for c in content["columns"] if c["meaning"]]
    return "\n\n".join([grid, *([" ".join(meanings)] if meanings else [])])


def _head(content: dict[str, Any]) -> Iterator[str]:
    yield f"# {escaped(content['title'])}"
    if content["card"]["date"]:
        yield escaped(content["card"]["date"])
    yield escaped(content["summary"])
    yield f"**Does the trust mean what it says?** {escaped(content['reliability'])}"
    for warning in content["warnings"]:
        yield f"**Beware:** {escaped(warning)}"
    yield escaped(content["training"])


def _landscape(content: dict[str, Any]) -> Iterator[str]:
    landscape = content["landscape"]
    yield "## Findings in the data"
    yield escaped(landscape["note"])
    for found in landscape["findings"]:
        told = f"{escaped(found['evidence'])} *{escaped(found['remedy'])}*"
        yield f"- **{found['severity']}: {escaped(found['title'])}** (`{found['code']}`). {told}"
    if not landscape["findings"]:
        yield "No findings."
    if landscape["pairs"]:
        yield _table(landscape["pairs"])


def _columns(content: dict[str, Any]) -> Iterator[str]:
    importance = content["importance"]
    yield "## Columns"
    yield "### Which columns matter"
    yield escaped(importance["note"])
    if importance["columns"]:
        yield _table(importance["columns"])
        yield _table(importance["groups"])
    yield "### Profile of each column"
    yield "Of the test records, as they came; no training record has a part in it."
    yield _table(content["profile"])


def _subgroups(content: dict[str, Any]) -> Iterator[str]:
    found = content["subgroups"]
    yield "## Results by subgroup"
    yield from map(escaped, found["notes"])
    yield _table(found["table"]) if found["table"]["rows"] else "No column of the test records holds categories."


def _promise(content: dict[str, Any]) -> Iterator[str]:
    promised = content["promise"]
    if promised is None:
        return
    yield "## What is promised"
    yield escaped(promised["text"])
    if promised["bars"]:
        yield _table(promised["table"])


def _regions(content: dict[str, Any]) -> Iterator[str]:
    yield "## Regions"
    yield _table(content["regions"])


def _results(content: dict[str, Any]) -> Iterator[str]:
    result = content["results"]
    low, high = result["accuracy_interval"]
    yield "## Test results"
    told = [f"{score['title']}: {score['value']} ({score['meaning']})" for score in scores(result)]
    yield _list(
        [
            f"accuracy: {percent(result['accuracy'])} ({result['n_right']:,} of {result['n_records']:,}; 95 % interval "
            f"{percent(low)} to {percent(high)})",
            *told,
        ]
    )
    beside = plain_methods(content)
    if beside:
        yield "### Beside two plain methods"
        yield _table(beside)
    yield "### By true label"
    yield _table(result["classes"])
    yield "### By where the record lies"
    yield _table(result["reasons"])
    yield f"### Refused from a trust of {exact(content['min_trust'])} on, by reason"
    yield _table(result["refusals"]) if result["refusals"]["rows"] else "None is refused."
    yield "### Trust and share of right labels"
    yield _reliability(result["reliability"])


def _reliability(bins: list[dict[str, Any]]) -> str:
    rows = []
    for one in bins:
        low, high = (percent(end) for end in one["interval"])
        trust, right = percent(one["trust"]), percent(one["accuracy"])
        rows.append([number(one["low"]), f"{one['n_records']:,}", trust, right, f"{low} to {high}"])
    return _grid(["trust above", "records", "mean trust", "right", "95 % interval"], [True] * 5, rows)


def _threshold(content: dict[str, Any]) -> Iterator[str]:
    result, records = content["results"], content["records"]
    yield "## Trust threshold"
    yield _table(result["thresholds"])
    yield f"### Given labels with a trust of at least {exact(content['min_trust'])}"
    yield _confusion(result["confusion"])
    refused = [
        refusal or (LOW_TRUST if trust < content["min_trust"] else None)
        for refusal, trust in zip(records["refusal"], records["trust"], strict=True)
    ]
    left = [i for i, why in enumerate(refused) if why is not None]
    yield f"### Abstained: {len(left):,} records"
    if left:
        yield _abstained(content, sorted(left, key=lambda i: (records["trust"][i], i)), refused)


def _confusion(confusion: dict[str, Any]) -> str:
    given = ["abstained" if label is None else escaped(label) for label in confusion["given"]]
    counted = zip(confusion["true"], confusion["counts"], strict=True)
    rows = ([escaped(true), *(f"{count:,}" for count in counts)] for true, counts in counted)
    return _grid(["true label", *given], [False, *[True] * len(given)], rows)


def _abstained(content: dict[str, Any], chosen: list[int], refused: list[str | None]) -> str:
    records, labels = content["records"], content["labels"]
    rows = []
    for i in chosen:
        given, true = (escaped(labels[records[name][i]]) for name in ("label", "truth"))
        place = [str(refused[i]), records["reason"][i], escaped(records["region"][i])]
        shares = [cell(records[name][i], "share") for name in ("trust", "typicality", "stability")]
        rows.append([escaped(records["id"][i]), *shares, given, true, *place])
    titles = ["record", "trust", "typicality", "stability", "predicted", "true label"]
    titles += ["refused", "where it lies", "region"]
    return _grid(titles, [title in ("trust", "typicality", "stability") for title in titles], rows)


def _verdicts(content: dict[str, Any]) -> Iterator[str]:
    records, labels = content["records"], content["labels"]
    yield "## Single verdicts"
    n_told, n = len(content["verdicts"]), len(records["id"])
    order = ": wrong ones and those of little trust first, the others evenly by trust" if n_told < n else ""
    yield f"{n_told:,} of {n:,} test records are told one by one{order}."
    for told in content["verdicts"]:
        i = told["record"]
        given, true = (labels[records[name][i]] for name in ("label", "truth"))
        wrong = "" if given == true else f" (wrong: it is {escaped(true)})"
        yield f"### Record {escaped(records['id'][i])}: {escaped(given)}{wrong}"
        yield escaped(told["text"])
        yield _values(content["columns"], told, content["neighbours"])


def _values(columns: list[str], told: dict[str, Any], known: dict[str, list[Any]]) -> str:
    held = {"this record": told["values"]}
    if told["counterfactual"]:
        held[f"to be {escaped(told['counterfactual']['label'])}"] = told["counterfactual"]["values"]
    for near in told["neighbours"]:
        if str(near["row"]) in known:
            held[f"row {near['row']}"] = known[str(near["row"])]
    by_feature = zip(columns, *held.values(), strict=True)
    rows = ([escaped(name), *(escaped(number(value)) for value in values)] for name, *values in by_feature)
    return _grid(["feature", *held], [False, *[True] * len(held)], rows)


def _card(content: dict[str, Any]) -> Iterator[str]:
    card = content["card"]
    yield "## Model card"
    yield f"{card['model']}, fitted to {card['n_training']:,} records with {card['n_features']:,} features."
    yield _table(card["classes"])
    yield f"Features: {', '.join(map(escaped, card['features']))}."
    if card["preparation"]:
        yield "### Preparation"
        yield _list(card["preparation"])
    yield "### Parameters"
    yield _list(f"{name} = {value}" for name, value in card["parameters"].items())
    yield "### Versions"
    yield _list(f"{name} {value}" for name, value in card["versions"].items())
    yield "### What the trust means"
    yield escaped(card["meaning"])
    yield "### What holds"
    yield _list(card["guaranteed"])
    yield "### What nobody promises"
    yield _list(card["not_guaranteed"])


def _list(items: Any) -> str:
    return "\n".join(f"- {escaped(item)}" for item in items)
