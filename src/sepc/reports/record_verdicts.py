"""Verdicts on single test records: which are explained one by one, and how."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sepc.common.typing import IntArray, RowNumbers
from sepc.explanations.evidence import Evidence
from sepc.explanations.usual_values import Usual
from sepc.explanations.vocabulary import Value
from sepc.geometry.chunks import chunk_slices
from sepc.reports.subject import Subject, short

# Columns of a verdict whose contributions are shown one by one.
_MOST_COLUMNS = 8
# Records that are explained between two steps of the progress, with changes and without.
_WITH_CHANGES, _AT_ONCE = 1, 64

OnStep = Callable[[int, int], object]


def choose(subject: Subject, most: int) -> IntArray:
    """Return the rows of at most `most` test records, ascending.

    All wrong ones as far as there is room, the surest first; then the least trusted, until half of the places are
    taken; then some of the rest, evenly spaced by trust.
    """
    n = len(subject.truth)
    if n <= most:
        return np.arange(n)
    by_trust = np.argsort(subject.trust, kind="stable")
    wrong = by_trust[~subject.right[by_trust]][::-1]
    first = np.concatenate([wrong, by_trust[subject.right[by_trust]]])
    n_first = min(most, max(len(wrong), -(-most // 2)))
    rest = first[n_first:]  # wrong ones only if all places are taken
    evenly = np.linspace(0, len(rest) - 1, most - n_first).round().astype(int)
    return np.sort(np.concatenate([first[:n_first], rest[evenly]]))


def verdicts(
    subject: Subject,
    rows: IntArray,
    training_rows: bool,
    rows_from: RowNumbers = 0,
    on_step: OnStep | None = None,
    changes: bool = False,
) -> dict[str, Any]:
    """Explain the verdicts on some test records.

    ``verdicts``, one for each row; ``neighbours``, the values of the training records that they name, by row number
    (from `rows_from` on), in the order of the columns; none of these unless `training_rows`. `on_step` is called as
    ``on_step(n_done, n_total)``. `changes` to another label are looked for if asked.
    """
    found, values = [], {}
    for some in chunk_slices(len(rows), _WITH_CHANGES if changes else _AT_ONCE):
        explained = subject.clf.explain_many(subject.records(rows[some]), changes=changes)
        for row, explanation in zip(rows[some].tolist(), explained, strict=True):
            # Before the text is made, which names them, too.
            explanation = explanation.with_rows_from(rows_from)
            if not training_rows:
                explanation = replace(explanation, neighbours=(), nearest_other=None)
            found.append(_verdict(subject, row, explanation, training_rows))
            values.update({str(near.row): near.values for near in explanation.neighbours})
            if on_step is not None:
                on_step(len(found), len(rows))
    aligned = {row: [short(held.get(name)) for name in subject.columns] for row, held in values.items()}
    return {"verdicts": found, "neighbours": dict(sorted(aligned.items(), key=lambda item: int(item[0])))}


def _verdict(subject: Subject, row: int, explanation: Any, training_rows: bool) -> dict[str, Any]:
    why = explanation.to_dict()
    change, details = why["counterfactual"], why["details"]
    members = sorted(why.get("voices", []), key=lambda member: -abs(member["evidence"]))
    changes = [one for one in (change, why["actionable_change"]) if one is not None]
    if not training_rows and any(_is_a_training_record(subject, one["point"]) for one in changes):
        change, details = None, _without_its_change(explanation)
    return {
        "record": row,
        "text": why["text"],
        "details": details,
        "values": subject.values(row),
        "unit": why["unit"],
        "neighbours": [
            {
                "row": near["row"],
                "label": str(near["label"]),
                "distance": short(near["distance"]),
                "n": near["n_equal"],
                "share": short(near["share"]),
            }
            for near in why["neighbours"]
        ],
        "counterfactual": None if change is None else _change(subject, change),
        "rival": str(why["evidence"]["rival"]),
        "evidence": evidence_rows(explanation.evidence),
        "voices": [
            {**_row(x, "member", "evidence", "region", "n_label", "n_others"), "label": str(x["label"])}
            for x in members[:6]
        ],
    }


def evidence_rows(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the largest contributions of columns, each with a strip, the others together, and those of no column."""
    known = [one for one in evidence.columns if one.contribution is not None]
    rows: list[dict[str, Any]] = [
        {
            "column": one.column,
            "value": short(one.value),
            "usual": [("" if usual is None else usual.in_words()) for usual in (one.usual, one.rival_usual)],
            "strip": strip(one.value, (one.usual, one.rival_usual)),
            "contribution": short(one.contribution),
        }
        for one in known[:_MOST_COLUMNS]
    ]
    others = {
        f"{len(known) - _MOST_COLUMNS} other columns": sum(one.contribution or 0.0 for one in known[_MOST_COLUMNS:])
    }
    if len(known) <= _MOST_COLUMNS:
        others = {}
    others |= evidence.others
    nothing = {"value": None, "usual": ["", ""], "strip": None}
    return rows + [{"column": name, **nothing, "contribution": short(part)} for name, part in others.items()]


def strip(value: Value, usuals: Sequence[Usual | None]) -> list[float] | None:
    """Return the places of a number, and of what is usual for some labels, from 0 to 1; None of what is no number."""
    places = [value, *(end for usual in usuals if usual is not None for end in usual[:3])]
    if len(places) <= 3 * len(usuals) or not all(isinstance(place, float) for place in places):
        return None
    number, *ends = np.array(places, dtype=np.float64).tolist()
    low, high = min(ends), max(ends)
    slack = 0.15 * (high - low) or 1.0
    scaled = np.clip((np.array([number, *ends]) - low + slack) / (high - low + 2.0 * slack), 0.0, 1.0)
    return [round(place, 3) for place in scaled.tolist()]


def _row(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: short(values[key]) for key in keys}


def _change(subject: Subject, change: dict[str, Any]) -> dict[str, Any]:
    moves = {move["feature"]: move["in_units"] for move in change["changes"]}
    return {
        "label": str(change["label"]),
        "trust": short(change["trust"]),
        "region": change["region"],
        "distance": short(change["distance"]),
        "values": [short(change["point"].get(name)) for name in subject.columns],
        "moves": [short(moves.get(name)) for name in subject.columns],
    }


def _is_a_training_record(subject: Subject, point: dict[str, Any]) -> bool:
    """Return whether a counterfactual is a training record, to 1e-6 standard deviations; an isolated one may be."""
    return bool((np.abs(subject.training[0] - subject.units(point)).max(axis=1) < 1e-6).any())


def _without_its_change(explanation: Any) -> str:
    others = set(replace(explanation, counterfactual=None, actionable_change=None).sentences())
    told = [sentence for sentence in explanation.sentences() if sentence and sentence in others]
    return " ".join([*told, "The smallest change found leads to a training record, which is not told here."])
