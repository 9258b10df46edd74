"""Fitted models in a graph: one partition whose regions are densities, and ensembles of partitions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.estimators.ensemble.constants import BEYOND_PENALTY
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SEEN_IN, LabelSteps
from sepc.estimators.ensemble.members import LOWEST, Part
from sepc.model.partition_model import DensityModel
from sepc.model.verdicts import Rule
from sepc.serving.graphs.decisions import (
    Decision,
    Verdict,
    decide,
    of_label,
    posterior,
    typicality,
    with_background,
    with_priors,
)
from sepc.serving.graphs.densities import Points, by_component, log_joint
from sepc.serving.graphs.functions import first_largest, log1p, log_sum_exp, rank, scaled, softmax
from sepc.serving.graphs.graph import Graph, Tensor


def verdict_of(g: Graph, model: Any, X: Tensor) -> Verdict:
    """Return the verdicts on points, shape (n, d), in the units that they come in."""
    if isinstance(model, DensityModel):
        return _by_partition(g, model, X)
    if isinstance(model, EnsembleModel):
        return _by_ensemble(g, model, X)
    raise InputError("graph-not-exact", trust=model.trust)


def regions_of(model: Any) -> list[str]:
    """Return the names of the regions that verdicts have numbers of."""
    if isinstance(model, DensityModel):
        return model.region_names()
    return [
        model.region_name(m, p, name)
        for m, member in enumerate(model.members)
        for p, part in enumerate(member.parts)
        for name in part.names
    ] + [Rule.unknown.name]


def has_regions(model: Any) -> bool:
    """Return whether a model has an ellipsoid."""
    return any(len(rules.sides) for rules in model.rules) if isinstance(model, DensityModel) else model.has_regions


def cases_of(model: Any) -> tuple[NDArray[Any], NDArray[np.object_] | None]:
    """Return the labels, and their regions if these are known, that verdicts have as cases."""
    if isinstance(model, DensityModel):
        return model.classes[model.densities.codes], np.array(model.region_names(), dtype=object)
    return model.classes, None


def _by_partition(g: Graph, model: DensityModel, X: Tensor) -> Verdict:
    calibration, Z = model.calibration, scaled(g, X, model.scales)
    points = Points.of(g, Z)
    known, of_components = points.known(g, len(model.features)), by_component(g, model.densities, points)
    joint, likeliest = log_joint(g, model.densities, of_components)
    proba, by_regions = posterior(g, calibration, joint, known, points)
    factors = with_priors(g, proba, model.policy)
    if factors is not None:
        proba, by_regions = proba * factors, by_regions * factors
    decision = decide(g, proba, model.policy)
    typical = g.where(known <= 0.0, np.nan, typicality(g, calibration, log_sum_exp(g, joint, 1), Z))
    region = of_label(g, likeliest, decision.label)
    within = g.exp(of_label(g, of_components, region) - of_label(g, joint, decision.label))
    return Verdict(decision, typical, known, region, of_label(g, by_regions, decision.label) * within, region)


def _by_ensemble(g: Graph, model: EnsembleModel, X: Tensor) -> Verdict:
    strangeness, stack = model.strangeness, model.stack
    views = scaled(g, X, model.views.plain), scaled(g, X, model.views.scores)
    known = Points.of(g, X).known(g, len(model.features))
    members = _members(g, model, views)
    weighted = (weight * one.logs for weight, one in zip(stack.weights, members, strict=True))
    pooled = softmax(g, sum(weighted, g.tensor(stack.leaning)))
    lost = pooled * stack.background
    proba = pooled - lost + g.sum(lost, 1, keepdims=True) * stack.class_share
    densities = g.stack([one.log_density for one in members], 1)
    farthest = g.max(_beyond(g, model, X), 1)
    of_members = g.op("ReduceMean", (densities - strangeness.middle) / strangeness.spread, np.array([1]), keepdims=0)
    score = of_members - BEYOND_PENALTY * log1p(g, farthest)
    proba, _ = with_background(g, strangeness.calibration, proba, score, views[PLAIN])
    nothing_known = known <= 0.0
    of_training = model.class_count / model.class_count.sum()
    proba = g.where(g.expanded(nothing_known, 1), of_training, proba)
    factors = with_priors(g, proba, model.policy)
    decision = decide(g, proba if factors is None else proba * factors, model.policy)
    typical = g.where(nothing_known, np.nan, typicality(g, strangeness.calibration, score, views[PLAIN]))
    region, share = _lead(g, model, members, decision)
    region = g.where(nothing_known, np.array(len(regions_of(model)) - 1), region)
    return Verdict(decision, typical, known, region, g.where(nothing_known, 0.0, share), decision.label)


def _beyond(g: Graph, model: EnsembleModel, X: Tensor) -> Tensor:
    """Return `FeatureViews.beyond`."""
    smallest, largest = model.views.bounds
    return g.where(g.isnan(X), 0.0, g.maximum(g.maximum(smallest - X, X - largest), 0.0)) / model.views.plain.scale


class _Member(NamedTuple):
    """What a member says: log probabilities, shape (n, n_classes), and the log density, shape (n,).

    Of its parts the log probabilities, and the likeliest regions of each class, shape (n, n_parts, n_classes).
    """

    logs: Tensor
    log_density: Tensor
    of_parts: Tensor
    regions: Tensor


def _members(g: Graph, model: EnsembleModel, views: tuple[Tensor, Tensor]) -> list[_Member]:
    found, first = [], 0
    for member in model.members:
        points = g.take(views[SEEN_IN[member.plan.view]], member.plan.features, axis=1)
        of_parts = []
        for part in member.parts:
            of_parts.append(_part(g, part, points, first))
            first += len(part.names)
        logs, densities, regions = zip(*of_parts, strict=True)
        n = float(len(logs))
        mean, density = sum(logs[1:], logs[0]) / n, sum(densities[1:], densities[0]) / n
        found.append(_Member(mean, density, g.stack(logs, 1), g.stack(regions, 1)))
    return found


def _part(g: Graph, part: Part, points: Tensor, first: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return `Part.prediction`, and the likeliest region of each class, whose numbers begin with `first`."""
    seen = points if part.steps is None else _in_steps(g, part.steps, points)
    of_components = by_component(g, part.densities, Points.of(g, seen))
    joint, likeliest = log_joint(g, part.densities, of_components)
    joint = joint - float(np.log(part.densities.unit).sum())
    density = log_sum_exp(g, joint, 1)
    return g.maximum(joint - g.expanded(density, 1), LOWEST), density, likeliest + np.array(first)


def _in_steps(g: Graph, steps: LabelSteps, points: Tensor) -> Tensor:
    """Return points with each value replaced by its range's number."""
    most = max(len(cuts) for cuts in steps.cuts)
    # A value that is cut at belongs to the range below: minus the values, the ranges are counted from above.
    cuts = np.array([np.pad(-cuts[::-1], (0, most - len(cuts)), constant_values=np.inf) for cuts in steps.cuts])
    values = np.array([np.pad(numbers[::-1], (0, most + 1 - len(numbers))) for numbers in steps.values])
    every, is_known = np.arange(len(cuts)), ~g.isnan(points)
    if most == 0:
        return g.where(is_known, values[:, 0], points)
    ranges = rank(g, cuts, -g.where(is_known, points, 0.0), every)
    return g.where(is_known, g.take(values.ravel(), ranges + every * (most + 1)), np.nan)


def _lead(g: Graph, model: EnsembleModel, members: list[_Member], decision: Decision) -> tuple[Tensor, Tensor]:
    """Return the region that the member with the largest evidence cites, and its share of all evidence."""
    n_classes = len(model.classes)
    is_label = g.expanded(decision.label, 1).equals(np.arange(n_classes))
    other = g.argmax(g.where(is_label, -1.0, decision.proba), 1)
    of_members = g.stack([one.logs for one in members], 1)
    added = (_of_class(g, of_members, decision.label) - _of_class(g, of_members, other)) * model.stack.weights
    leader, most = first_largest(g, added, 1), g.max(added, 1)
    regions = g.stack([_cited(g, one, decision.label, other) for one in members], 1)
    for_label = g.sum(g.maximum(added, 0.0), 1)
    share = g.where(for_label > 0.0, most / g.where(for_label > 0.0, for_label, 1.0), 0.0)
    return of_label(g, regions, leader), share


def _cited(g: Graph, member: _Member, label: Tensor, other: Tensor) -> Tensor:
    """Return the likeliest region of the label in the part of a member with the largest odds for it, shape (n,)."""
    odds = _of_class(g, member.of_parts, label) - _of_class(g, member.of_parts, other)
    return of_label(g, _of_class(g, member.regions, label), first_largest(g, odds, 1))


def _of_class(g: Graph, table: Tensor, codes: Tensor) -> Tensor:
    """Return the entries of a class for each row, of a table of shape (n, m, n_classes), shape (n, m)."""
    shape = g.concat([g.op("Shape", table, end=2), np.array([1])], 0)
    numbers = g.op("Expand", g.reshape(codes, -1, 1, 1), shape)
    return g.op("Squeeze", g.take_along(table, numbers, axis=2), np.array([2]))
