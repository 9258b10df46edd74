"""SEPClassifier to arrays and JSON, and back."""

import numpy as np

from sepc.assessment import TRUSTS
from sepc.census import RecordCensus
from sepc.estimator import SEPClassifier
from sepc.model import Model, TrainingRecords
from sepc.partitioning import Partition
from sepc.persist.common import (
    Known,
    pack_common,
    pack_outline,
    pack_records,
    unpack_common,
    unpack_outline,
    unpack_records,
)
from sepc.persist.drawers import Inbox, Outbox, require, require_flag
from sepc.persist.pieces import (
    Header,
    pack_census,
    pack_densities,
    pack_partition,
    unpack_densities,
    unpack_partition,
    unpack_rules,
    unpack_tallied_rules,
)
from sepc.problems import Problem, problems
from sepc.rules import Rules

_UNITS = ("standard deviations", "units")


def pack_single(out: Outbox, clf: SEPClassifier, training_rows: bool) -> Header:
    """Put a fitted classifier into arrays; return the rest of it."""
    model = clf._model
    training_rows = training_rows and model.records is not None
    out.put("mean", model.mean)
    out.put("scale", model.scale)
    pack_outline(out, model.outline)
    if training_rows and model.records is not None:
        pack_records(out, model.records)
        census = model.rules[0].census
        if isinstance(census, RecordCensus) and not census.all_vote:
            out.put("voters", census.voters)
    if model.densities is not None:
        pack_densities(out.under("densities"), model.densities)
    found = []
    for k, (p, rules) in enumerate(zip(clf.partitions_, model.rules, strict=True)):
        problem = out.under(f"problem{k}")
        found.append(pack_partition(problem, p, len(model.features)))
        pack_census(problem.under("census"), rules.census, training_rows)
    return pack_common(out, clf, training_rows) | {
        "trust": model.trust,
        "unit": model.unit,
        "is_frame": bool(clf._is_frame),
        "problems": found,
        "all_vote": bool(model.rules[0].census.all_vote),
        "isolated_points": sum(len(rules.isolated) for rules in model.rules),
    }


def unpack_single(box: Inbox, header: Header) -> SEPClassifier:
    """Return a classifier as it was."""
    clf, known = unpack_common(box, header, SEPClassifier)
    require(header["trust"] in TRUSTS and header["unit"] in _UNITS, "trust or unit")
    records = unpack_records(box, known) if known.has_rows else None
    asked = problems(np.empty(0, dtype=np.int64) if records is None else records.codes, known.classes)
    require(len(header["problems"]) == known.n_problems, "number of problems")
    partitions = [
        unpack_partition(box.under(f"problem{k}"), of_one, known.dim, known.n)
        for k, of_one in enumerate(header["problems"])
    ]
    local = header["trust"] == "local"
    clf._model = Model(
        classes=known.classes,
        class_count=known.class_count,
        features=known.features,
        mean=box.numbers("mean", (known.dim,)),
        scale=box.positive("scale", (known.dim,)),
        unit=header["unit"],
        records=records,
        outline=unpack_outline(box, known),
        rules=_rules(box, header, known, records, partitions, asked),
        trust=header["trust"],
        densities=unpack_densities(box.under("densities"), known.dim, len(known.classes)) if local else None,
    )
    clf.partitions_, clf._is_frame = partitions, require_flag(header["is_frame"])
    clf.mean_, clf.scale_ = clf._model.mean, clf._model.scale
    return clf


def _rules(
    box: Inbox,
    header: Header,
    known: Known,
    records: TrainingRecords | None,
    partitions: list[Partition],
    asked: list[Problem],
) -> list[Rules]:
    boxes = [box.under(f"problem{k}").under("census") for k in range(len(asked))]
    parts = zip(boxes, partitions, asked, strict=True)
    if records is None:
        all_vote = require_flag(header["all_vote"])
        require(all("gauges" in one or "ladder" in one for one in boxes), "gauges")
        return [unpack_tallied_rules(one, p, q.labels, known.dim, known.n, all_vote) for one, p, q in parts]
    votes = None
    if not require_flag(header["all_vote"]):
        votes = np.zeros(known.n, dtype=bool)
        votes[box.whole("voters", (None,), 0, known.n)] = True
    return [unpack_rules(one, p, q.labels, records.points, q.side, votes) for one, p, q in parts]
