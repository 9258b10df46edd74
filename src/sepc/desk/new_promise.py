"""The promise of a refitted model, from decided records that it has not learned from, on the terms of the old one."""

from dataclasses import replace
from typing import Any

import numpy as np

from sepc.common.errors import InputError
from sepc.common.messages import message
from sepc.common.text import many
from sepc.desk.decided import DecidedRecords
from sepc.desk.judge import Judge
from sepc.promises import TrustThreshold, select_min_trust
from sepc.promises.parts import ALL, GROUP, GROUPS, LABEL


def promised_anew(judge: Judge, before: Any, held_back: DecidedRecords | None) -> Any:
    """Return the promise of a refitted model, which accepts nothing where none could be made; None without an old one.

    `held_back` are records of the random sample: drawn as those to come are, unless something changes.
    """
    if before is None:
        return None
    try:
        found = _selected(judge, before, held_back)
    except InputError as error:
        return before.withdrawn(str(error))
    made_from = message("desk-promise-from", records=many(found.n_calibration, "decided record"))
    return replace(found, made_from=made_from, group_column=before.group_column)


def _selected(judge: Judge, before: TrustThreshold, held_back: DecidedRecords | None) -> TrustThreshold:
    """Return what `select_min_trust` finds, without records that equal training records."""
    if held_back is None:
        raise InputError("desk-promise-no-records")
    labels, groups = judge.label_array(held_back.labels), held_back.batch.groups
    by = None if before.by == ALL else groups if before.by == GROUP else before.by
    try:
        return select_min_trust(judge.clf, judge.rows(held_back.batch.rows), labels, by=by, **_limits(before))
    except InputError as error:
        learned = error.fields.get("rows", []) if error.code == "calibration-records-learned" else []
        if len(learned) in (0, len(labels)):
            raise
    return _selected(judge, before, held_back.part(~np.isin(np.arange(len(labels)), learned)))


def _limits(before: TrustThreshold) -> dict[str, Any]:
    """Return confidence and limits of an old promise, as `select_min_trust` takes them."""
    if before.by == GROUPS:
        raise InputError("desk-promise-groups")
    limit: Any = {key: part.limit for key, part in before.parts.items()} or {None: before.limit}
    if len(set(limit.values())) == 1:
        (limit,) = set(limit.values())
    elif before.by not in (LABEL, GROUP):
        raise InputError("desk-promise-limits", by=before.by)
    if before.bounds == "error":
        return {"confidence": before.confidence, "max_error": limit}
    costs = None if before.costs is None else np.array(before.costs)
    return {"confidence": before.confidence, "max_cost": limit, "costs": costs}
