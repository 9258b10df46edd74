"""SEPEnsembleClassifier to arrays and JSON, and back."""

from dataclasses import replace

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from sepc.council import Council
from sepc.ensemble import SEPEnsembleClassifier
from sepc.geometry._checks import Rows
from sepc.members import N_PARTS, Member, Part, Plan
from sepc.model import TrainingRecords
from sepc.persist.common import (
    Known,
    pack_common,
    pack_outline,
    pack_records,
    unpack_common,
    unpack_outline,
    unpack_records,
)
from sepc.persist.drawers import Inbox, Outbox, require, require_texts, require_whole
from sepc.persist.pieces import (
    Header,
    pack_census,
    pack_densities,
    pack_partition,
    unpack_densities,
    unpack_partition,
    unpack_tallied_rules,
)
from sepc.problems import problems
from sepc.rules import Rules
from sepc.stacking import Stack
from sepc.views import PLAIN, SCORES, VIEWS, Views


def pack_council(out: Outbox, clf: SEPEnsembleClassifier, training_rows: bool) -> Header:
    """Put a fitted ensemble into arrays; return the rest of it."""
    council = clf._model
    if council.records is None:
        training_rows = False
    elif training_rows:
        pack_records(out, council.records[PLAIN])
        out.put("scores", council.records[SCORES].points)
        out.put("honest_proba", clf.honest_proba_)
    _pack_views(out.under("views"), council.views)
    pack_outline(out, council.outline)
    out.put("weights", council.stack.weights)
    out.put("leaning", council.stack.leaning)
    # Rules that are only made to be packed are not kept.
    asked = council if council.records is None else replace(council, known={})
    members = [_pack_member(out.under(f"member{m}"), asked, m, training_rows) for m in range(len(council.members))]
    return pack_common(out, clf, training_rows) | {
        "members": members,
        "isolated_points": sum(part["isolated_points"] for member in members for part in member["parts"]),
    }


def _pack_views(out: Outbox, views: Views) -> None:
    out.put("quantiles", views.ranks.quantiles_)
    out.put("references", views.ranks.references_)
    for view in VIEWS:
        out.put(f"mean{view}", views.mean[view])
        out.put(f"scale{view}", views.scale[view])


def _pack_member(out: Outbox, council: Council, m: int, training_rows: bool) -> Header:
    plan = council.members[m].plan
    out.put("features", plan.features)
    parts = [_pack_part(out.under(f"part{k}"), council, m, k, training_rows) for k in range(N_PARTS)]
    return {"view": int(plan.view), "seed": int(plan.seed), "parts": parts}


def _pack_part(out: Outbox, council: Council, m: int, k: int, training_rows: bool) -> Header:
    member = council.members[m]
    part, dim = member.parts[k], len(member.plan.features)
    out.put("sizes", part.sizes)
    out.put("claimed", part.claimed)
    pack_densities(out.under("densities"), part.densities)
    found = [pack_partition(out.under(f"problem{i}"), p, dim) for i, p in enumerate(part.partitions)]
    n_isolated = 0
    if training_rows:
        out.put("rows", part.rows)
        out.put("out", part.out)
    else:
        for i, rules in enumerate(council.rules(m, k)):
            pack_census(out.under(f"problem{i}").under("census"), rules.census, False, growing=False)
            n_isolated += len(rules.isolated)
    return {"names": list(part.names), "problems": found, "isolated_points": n_isolated}


def unpack_council(box: Inbox, header: Header) -> SEPEnsembleClassifier:
    """Return an ensemble as it was."""
    clf, known = unpack_common(box, header, SEPEnsembleClassifier)
    n = len(header["members"])
    require(n >= 1, "members")
    weights = box.numbers("weights", (n,))
    require(bool((weights >= 0.0).all()), "weights")
    records: tuple[TrainingRecords, TrainingRecords] | None = None
    if known.has_rows:
        plain = unpack_records(box, known)
        records = plain, plain._replace(points=box.numbers("scores", (known.n, known.dim)))
        clf.honest_proba_ = box.any_numbers("honest_proba", (known.n, len(known.classes)))
    boxes = [box.under(f"member{m}") for m in range(n)]
    members = [_unpacked_member(one, of_one, known) for one, of_one in zip(boxes, header["members"], strict=True)]
    if records is not None:
        for member in members:
            _require_places(member, records[PLAIN].codes)
    clf._model = Council(
        classes=known.classes,
        class_count=known.class_count,
        features=known.features,
        views=_unpacked_views(box.under("views"), known.dim),
        records=records,
        outline=unpack_outline(box, known),
        members=members,
        stack=Stack(weights, box.numbers("leaning", (len(known.classes),))),
        known={} if known.has_rows else _known_rules(boxes, members, known),
    )
    clf.weights_ = weights
    return clf


def _unpacked_views(box: Inbox, dim: int) -> Views:
    references = box.numbers("references", (None,))
    n = len(references)
    require(n > 0 and bool((np.diff(references, prepend=0.0, append=1.0) >= 0.0).all()), "references")
    quantiles = box.numbers("quantiles", (n, dim))
    require(bool((np.diff(quantiles, axis=0) >= 0.0).all()), "quantiles")
    ranks = QuantileTransformer(n_quantiles=n, output_distribution="normal", random_state=0)
    ranks.n_quantiles_, ranks.quantiles_, ranks.references_, ranks.n_features_in_ = n, quantiles, references, dim
    plain_mean, score_mean = (box.numbers(f"mean{view}", (dim,)) for view in VIEWS)
    plain_scale, score_scale = (box.positive(f"scale{view}", (dim,)) for view in VIEWS)
    return Views(ranks, (plain_mean, score_mean), (plain_scale, score_scale))


def _unpacked_member(box: Inbox, header: Header, known: Known) -> Member:
    require(header["view"] in VIEWS and len(header["parts"]) == N_PARTS, "member")
    features = box.whole("features", (None,), 0, known.dim)
    require(len(features) > 0, "features of a member")
    plan = Plan(int(header["view"]), features, require_whole(header["seed"]))
    parts = [
        _unpacked_part(box.under(f"part{k}"), part, known, len(features)) for k, part in enumerate(header["parts"])
    ]
    return Member(plan, parts, known.classes)


def _unpacked_part(box: Inbox, header: Header, known: Known, dim: int) -> Part:
    require(len(header["problems"]) == known.n_problems, "number of problems")
    densities = unpack_densities(box.under("densities"), dim, len(known.classes))
    n_regions = len(densities.codes)
    nobody = np.empty(0, dtype=np.int64)
    return Part(
        partitions=[
            unpack_partition(box.under(f"problem{i}"), of_one, dim, known.n)
            for i, of_one in enumerate(header["problems"])
        ],
        rows=box.whole("rows", (None,), 0, known.n) if known.has_rows else nobody,
        out=box.whole("out", (None,), 0, known.n) if known.has_rows else nobody,
        densities=densities,
        names=require_texts(header["names"], n_regions),
        sizes=box.whole("sizes", (n_regions,), 0, known.n + 1),
        claimed=box.whole("claimed", (n_regions, len(known.classes)), 0, known.n + 1),
    )


def _require_places(member: Member, codes: Rows) -> None:
    """Refuse isolated points that are not among those of their side."""
    for part in member.parts:
        asked = problems(codes[np.concatenate([part.rows, part.out])], member.classes)
        for p, problem in zip(part.partitions, asked, strict=True):
            for side, rows in enumerate(p.isolated):
                require(bool((rows < np.count_nonzero(problem.side == side)).all()), "isolated points")


def _known_rules(boxes: list[Inbox], members: list[Member], known: Known) -> dict[tuple[int, int], list[Rules]]:
    """Return the rules of all parts of all members, whose training points were left out."""
    asked = problems(np.empty(0, dtype=np.int64), known.classes)
    found = {}
    for m, (box, member) in enumerate(zip(boxes, members, strict=True)):
        for k, part in enumerate(member.parts):
            of_part = [box.under(f"part{k}").under(f"problem{i}").under("census") for i in range(len(asked))]
            found[m, k] = [
                unpack_tallied_rules(one, p, q.labels, len(member.plan.features), known.n, False)
                for one, p, q in zip(of_part, part.partitions, asked, strict=True)
            ]
    return found
