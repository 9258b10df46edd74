"""SEPClassifier to arrays and JSON, and back."""

from typing import Any

import numpy as np

from sepc.common.text import TRUST_METHODS
from sepc.estimators.classifier import SEPClassifier
from sepc.model.counts import RecordCounts
from sepc.model.decision import DENSITY_METHODS
from sepc.model.fitted_model import TrainingRecords
from sepc.model.partition_model import CountModel, DensityModel
from sepc.model.rules import Rules
from sepc.partitions.blocks import Partition
from sepc.partitions.problems import Problem
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require, require_flag
from sepc.persist.saved_common import (
    MOST_ROWS,
    TrainingSummary,
    pack_common,
    pack_outline,
    pack_records,
    pack_scales,
    unpack_common,
    unpack_outline,
    unpack_records,
    unpack_scales,
)
from sepc.persist.saved_parts import (
    COUNTS,
    Header,
    pack_counts,
    pack_fit,
    pack_partition,
    unpack_fit,
    unpack_partition,
    unpack_rules,
    unpack_stored_rules,
)


def pack_single(writer: ArrayWriter, clf: SEPClassifier, training_rows: bool) -> Header:
    """Put a fitted classifier into arrays; return the rest of it."""
    model = clf.model_
    training_rows = training_rows and model.records is not None
    pack_scales(writer, model.scales)
    pack_outline(writer, model.outline)
    if training_rows and model.records is not None:
        pack_records(writer, model.records)
        counts = model.rules[0].training_counts
        if isinstance(counts, RecordCounts) and not counts.all_counted:
            writer.put("counted", counts.counted_rows)
    if isinstance(model, DensityModel):
        pack_fit(writer, model.fit, model.is_calibrated, training_rows)
    problems = []
    for k, (p, rules) in enumerate(zip(clf.partitions_, model.rules, strict=True)):
        problem = writer.under(f"problem{k}")
        problems.append(pack_partition(problem, p, len(model.features)))
        pack_counts(problem.under(COUNTS), rules.training_counts, training_rows, rules.grows)
    return pack_common(writer, clf, training_rows) | {
        "trust": model.trust,
        "unit": model.unit,
        "is_frame": bool(clf._is_frame),
        "problems": problems,
        "all_counted": bool(model.rules[0].training_counts.all_counted),
        "grows": model.grows,
        "isolated_points": sum(len(rules.isolated) for rules in model.rules),
    }


def unpack_single(reader: ArrayReader, header: Header) -> SEPClassifier:
    """Return the classifier that was saved."""
    clf, summary = unpack_common(reader, header, SEPClassifier)
    require(header["trust"] in TRUST_METHODS and header["unit"] in ("standard deviations", "units"), "trust or unit")
    records = unpack_records(reader, summary) if summary.has_rows else None
    n_classes = len(summary.classes)
    has_densities = header["trust"] in DENSITY_METHODS
    problems = summary.problems(len(header["problems"]), None if records is None else records.codes)
    # Labels by counts need a problem for each of several classes.
    require(has_densities or n_classes == 2 or len(problems) == n_classes, "number of problems")
    partitions = [
        unpack_partition(
            reader.under(f"problem{k}"), of_problem, summary.dim, summary.n, len(problem.labels), MOST_ROWS
        )
        for k, (of_problem, problem) in enumerate(zip(header["problems"], problems, strict=True))
    ]
    if records is not None:
        _require_rows_exist(partitions, records)
    whole: dict[str, Any] = {
        "classes": summary.classes,
        "class_count": summary.class_count,
        "features": summary.features,
        "scales": unpack_scales(reader, summary.dim),
        "unit": header["unit"],
        "records": records,
        "outline": unpack_outline(reader, summary),
        "rules": _rules(reader, header, summary, records, partitions, problems),
        "trust": header["trust"],
    }
    if has_densities:
        fit = unpack_fit(reader, summary.dim, summary.class_count, records, partitions, header["trust"] == "local")
        clf.model_ = clf._stated(DensityModel(**whole, fit=fit))
    else:
        clf.model_ = clf._stated(CountModel(**whole))
    clf.partitions_, clf._is_frame = partitions, require_flag(header["is_frame"])
    clf.mean_, clf.scale_ = clf.model_.scales.mean, clf.model_.scales.scale
    return clf


def _require_rows_exist(partitions: list[Partition], records: TrainingRecords) -> None:
    for p in partitions:
        named = np.concatenate([*(block.members for block in p.blocks), *p.isolated])
        require(bool(np.isin(named, records.rows).all()), "rows of a partition")


def _rules(
    reader: ArrayReader,
    header: Header,
    summary: TrainingSummary,
    records: TrainingRecords | None,
    partitions: list[Partition],
    problems: list[Problem],
) -> list[Rules]:
    counts = [reader.under(f"problem{k}").under(COUNTS) for k in range(len(problems))]
    parts = zip(counts, partitions, problems, strict=True)
    all_counted, grows = require_flag(header["all_counted"]), require_flag(header["grows"])
    if records is None:
        return [unpack_stored_rules(c, p, q.labels, summary.dim, summary.n, all_counted, grows) for c, p, q in parts]
    counted = None
    if not all_counted:
        counted = np.zeros(summary.n, dtype=bool)
        counted[reader.integers("counted", (None,), 0, summary.n)] = True
    return [unpack_rules(c, p, q.labels, records.points, q.side, counted, grows) for c, p, q in parts]
