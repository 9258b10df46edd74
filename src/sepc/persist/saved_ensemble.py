"""SEPEnsembleClassifier to arrays and JSON, and back."""

from dataclasses import replace

import numpy as np

from sepc.common.typing import IntArray
from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, STEPS, VIEWS, FeatureViews, LabelSteps
from sepc.estimators.ensemble.members import Member, Part, Plan
from sepc.estimators.ensemble.stacking import Stack, Strangeness
from sepc.model.fitted_model import TrainingRecords
from sepc.model.partition_model import N_PARTS
from sepc.model.rules import Rules
from sepc.partitions.problems import problems_of
from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require, require_integer, require_texts
from sepc.persist.saved_common import (
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
    pack_calibration,
    pack_counts,
    pack_densities,
    pack_groups,
    pack_partition,
    unpack_calibration,
    unpack_densities,
    unpack_groups,
    unpack_partition,
    unpack_stored_rules,
)


def pack_ensemble(writer: ArrayWriter, clf: SEPEnsembleClassifier, training_rows: bool) -> Header:
    """Put a fitted ensemble into arrays; return the rest of it."""
    ensemble = clf.model_
    if ensemble.records_by_view is None:
        training_rows = False
    elif training_rows:
        pack_records(writer, ensemble.records_by_view[PLAIN])
        writer.put("scores", ensemble.records_by_view[SCORES].points)
        writer.put("out_of_fold_proba", clf.out_of_fold_proba_)
    for view in (PLAIN, SCORES):
        pack_scales(writer.under(f"view{view}"), ensemble.views[view])
    pack_outline(writer, ensemble.outline)
    writer.put("weights", ensemble.stack.weights)
    writer.put("leaning", ensemble.stack.leaning)
    writer.put("background", ensemble.stack.background)
    writer.put("middle", ensemble.strangeness.middle)
    writer.put("spread", ensemble.strangeness.spread)
    pack_calibration(writer.under("calibration"), ensemble.strangeness.calibration)
    if ensemble.records_by_view is not None:
        ensemble = replace(ensemble, known={})  # do not cache the rules that are computed below
    n_members = len(ensemble.members)
    members = [_pack_member(writer.under(f"member{m}"), ensemble, m, training_rows) for m in range(n_members)]
    return pack_common(writer, clf, training_rows) | {
        "members": members,
        "isolated_points": sum(part["isolated_points"] for member in members for part in member["parts"]),
    }


def _pack_member(writer: ArrayWriter, ensemble: EnsembleModel, m: int, training_rows: bool) -> Header:
    plan = ensemble.members[m].plan
    writer.put("features", plan.features)
    parts = [_pack_part(writer.under(f"part{k}"), ensemble, m, k, training_rows) for k in range(N_PARTS)]
    return {"view": int(plan.view), "seed": int(plan.seed), "parts": parts}


def _pack_part(writer: ArrayWriter, ensemble: EnsembleModel, m: int, k: int, training_rows: bool) -> Header:
    member = ensemble.members[m]
    part, dim = member.parts[k], len(member.plan.features)
    writer.put("sizes", part.sizes)
    writer.put("claimed", part.claimed)
    pack_densities(writer.under("densities"), part.densities)
    pack_groups(writer, part.groups)
    if part.steps is not None:
        writer.put("n_cuts", [len(cuts) for cuts in part.steps.cuts])
        writer.put("cuts", np.concatenate(part.steps.cuts))
        writer.put("steps", np.concatenate(part.steps.values))
    problems = [pack_partition(writer.under(f"problem{i}"), p, dim) for i, p in enumerate(part.partitions)]
    n_isolated = 0
    if training_rows:
        writer.put("rows", part.rows)
        writer.put("out", part.out)
    else:
        for i, rules in enumerate(ensemble.rules(m, k)):
            pack_counts(writer.under(f"problem{i}").under(COUNTS), rules.training_counts, False, growing=False)
            n_isolated += len(rules.isolated)
    return {"names": list(part.names), "problems": problems, "isolated_points": n_isolated}


def unpack_ensemble(reader: ArrayReader, header: Header) -> SEPEnsembleClassifier:
    """Return the ensemble that was saved."""
    clf, summary = unpack_common(reader, header, SEPEnsembleClassifier)
    n = len(header["members"])
    require(n >= 1, "members")
    weights = reader.numbers("weights", (n,))
    require(bool((weights >= 0.0).all()), "weights")
    leaning, background = (reader.numbers(name, (len(summary.classes),)) for name in ("leaning", "background"))
    require(bool(((background >= 0.0) & (background <= 1.0)).all()), "background")
    records: tuple[TrainingRecords, TrainingRecords] | None = None
    if summary.has_rows:
        plain = unpack_records(reader, summary)
        records = plain, plain._replace(points=reader.numbers("scores", (summary.n, summary.dim)))
        clf.out_of_fold_proba_ = reader.any_numbers("out_of_fold_proba", (None, len(summary.classes)))
    readers = [reader.under(f"member{m}") for m in range(n)]
    pairs = zip(readers, header["members"], strict=True)
    members = [_unpacked_member(of_member, of_header, summary) for of_member, of_header in pairs]
    if records is not None:
        for member in members:
            _require_isolated_exist(member, records[PLAIN].codes)
    model = EnsembleModel(
        classes=summary.classes,
        class_count=summary.class_count,
        features=summary.features,
        views=_unpacked_views(reader, summary.dim),
        records_by_view=records,
        outline=unpack_outline(reader, summary),
        members=members,
        stack=Stack(weights, leaning, background, summary.class_count / summary.class_count.sum()),
        strangeness=_unpacked_strangeness(reader, n, summary),
        known={} if summary.has_rows else _stored_rules(readers, members, summary),
    )
    clf.model_, clf.weights_ = clf._stated(model), weights
    return clf


def _unpacked_strangeness(reader: ArrayReader, n_members: int, summary: TrainingSummary) -> Strangeness:
    """Return the detector of strange points."""
    calibration = unpack_calibration(reader.under("calibration"), summary.dim, len(summary.classes), summary.n)
    if calibration is None:
        raise ValueError("calibration")
    middle, spread = reader.numbers("middle", (n_members,)), reader.positive("spread", (n_members,))
    return Strangeness(middle, spread, calibration)


def _unpacked_views(reader: ArrayReader, dim: int) -> FeatureViews:
    views = FeatureViews(*(unpack_scales(reader.under(f"view{view}"), dim) for view in (PLAIN, SCORES)))
    curves = views.scores.curves
    require(views.plain.is_linear and len(curves.columns) == dim and bool(curves.ranked.all()), "views")
    return views


def _unpacked_member(reader: ArrayReader, header: Header, summary: TrainingSummary) -> Member:
    require(header["view"] in VIEWS and len(header["parts"]) == N_PARTS, "member")
    features = reader.integers("features", (None,), 0, summary.dim)
    require(len(features) > 0, "features of a member")
    plan = Plan(int(header["view"]), features, require_integer(header["seed"]))
    parts = [
        _unpacked_part(reader.under(f"part{k}"), part, summary, len(features)) for k, part in enumerate(header["parts"])
    ]
    require(all((part.steps is not None) == (plan.view == STEPS) for part in parts), "steps of a member")
    require(len({len(part.densities.unit) for part in parts}) == 1, "categories of a member")
    return Member(plan, parts, summary.classes)


def _unpacked_part(reader: ArrayReader, header: Header, summary: TrainingSummary, dim: int) -> Part:
    problems = summary.problems(len(header["problems"]))
    densities = unpack_densities(reader.under("densities"), dim, len(summary.classes))
    partitions = [
        unpack_partition(reader.under(f"problem{i}"), of_problem, dim, summary.n, len(problem.labels))
        for i, (of_problem, problem) in enumerate(zip(header["problems"], problems, strict=True))
    ]
    n_components = len(densities.codes)
    no_rows = np.empty(0, dtype=np.int64)
    return Part(
        partitions=partitions,
        rows=reader.integers("rows", (None,), 0, summary.n) if summary.has_rows else no_rows,
        out=reader.integers("out", (None,), 0, summary.n) if summary.has_rows else no_rows,
        densities=densities,
        names=require_texts(header["names"], n_components),
        sizes=reader.integers("sizes", (n_components,), 0, summary.n + 1),
        claimed=reader.integers("claimed", (n_components, len(summary.classes)), 0, summary.n + 1),
        steps=_unpacked_steps(reader, dim, summary.n) if "n_cuts" in reader else None,
        groups=unpack_groups(reader, densities, partitions),
    )


def _unpacked_steps(reader: ArrayReader, dim: int, n_rows: int) -> LabelSteps:
    n_cuts = reader.integers("n_cuts", (dim,), 0, n_rows)
    total = int(n_cuts.sum())
    cuts = np.split(reader.numbers("cuts", (total,)), np.cumsum(n_cuts)[:-1])
    require(all(bool((np.diff(of_feature) > 0.0).all()) for of_feature in cuts), "cuts are not ascending")
    values = np.split(reader.numbers("steps", (total + dim,)), np.cumsum(n_cuts + 1)[:-1])
    return LabelSteps(tuple(cuts), tuple(values))


def _require_isolated_exist(member: Member, codes: IntArray) -> None:
    """Refuse isolated points that are not among those of their side."""
    for part in member.parts:
        one_vs_rest = len(part.partitions) > 1
        problems = problems_of(codes[np.concatenate([part.rows, part.out])], member.classes, one_vs_rest)
        for p, problem in zip(part.partitions, problems, strict=True):
            for side, rows in enumerate(p.isolated):
                require(bool((rows < np.count_nonzero(problem.side == side)).all()), "isolated points")


def _stored_rules(
    readers: list[ArrayReader], members: list[Member], summary: TrainingSummary
) -> dict[tuple[int, int], list[Rules]]:
    """Return the rules of all parts of all members, saved without training points."""
    rules = {}
    for m, (reader, member) in enumerate(zip(readers, members, strict=True)):
        for k, part in enumerate(member.parts):
            problems = summary.problems(len(part.partitions))
            counts = [reader.under(f"part{k}").under(f"problem{i}").under(COUNTS) for i in range(len(problems))]
            rules[m, k] = [
                unpack_stored_rules(c, p, q.labels, len(member.plan.features), summary.n, False, grows=False)
                for c, p, q in zip(counts, part.partitions, problems, strict=True)
            ]
    return rules
