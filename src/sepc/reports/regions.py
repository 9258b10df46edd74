"""Regions of a report: projections of them and of test records, as numbers to draw, and a table of regions."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sepc.common.text import in_words, many
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel, member_name
from sepc.estimators.ensemble.feature_views import PLAIN
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.plot.planes import Plane, principal_plane
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject, short

_COLUMNS = (
    ("region", "region", "text"),
    ("label", "label", "label"),
    ("n_regions", "regions", "count"),
    ("n_shaped", "shaped by", "count"),
    ("n_label", "records", "count"),
    ("n_others", "others", "count"),
    ("purity", "purity", "share"),
    ("trust", "trust", "share"),
    ("weight", "weight", "number"),
    ("component", "component", "text"),
    ("description", "in words", "text"),
    ("where", "where it lies", "text"),
    ("member", "member", "text"),
)


def views(subject: Subject, shown: IntArray) -> dict[str, Any]:
    """Return projections of regions and test records onto pairs of features and the principal directions.

    ``note``, ``records`` (those of the rows `shown` that have no missing values), and ``views``, those that separate
    the classes best first: each with a title, two axes (title and range), ``points`` and ``ellipses`` (region, label,
    center and a factor of shape (2, 2): the ellipse is the center plus the factor times the unit disc).
    """
    scene = _Scene.of(subject)
    has_place = np.asarray(~np.isnan(scene.points).any(axis=1))
    n_incomplete, shown = int(np.count_nonzero(~has_place[shown])), shown[has_place[shown]]
    note = scene.note
    if n_incomplete:
        note = f"{note} {many(n_incomplete, 'record')} with missing values cannot be drawn.".strip()
    drawn = [_view(scene, title, plane, shown) for title, plane in _planes(scene)]
    return {"note": note, "records": shown.tolist(), "views": drawn}


@dataclass(frozen=True, eq=False)
class _Scene:
    """Ellipsoids and points in the units ``(x - mean) / scale`` of values on the scales of their columns.

    Training points choose the planes, test records are drawn. `measures` are the features that are numbers, not
    indicators of a category.
    """

    note: str
    unit: str
    rules: list[Rules]
    features: list[str]
    measures: BoolArray
    mean: FloatArray
    scale: FloatArray
    training: FloatArray
    codes: IntArray
    points: FloatArray

    @classmethod
    def of(cls, subject: Subject) -> "_Scene":
        """Return the whole of one classifier, or the member of an ensemble with the most weight on plain values."""
        model, (training, codes) = subject.model, subject.training
        if isinstance(model, PartitionModel):
            note, rules, some = "", model.rules, np.arange(len(model.features))
        else:
            assert isinstance(model, EnsembleModel)
            plain = [m for m, member in enumerate(model.members) if member.plan.view == PLAIN]
            best = max(plain, key=lambda m: (model.stack.weights[m], -m))
            rules, some = model.rules(best, 0), model.members[best].plan.features
            note = (
                "An ensemble has no regions of its own. These are the regions of one part of "
                f"{member_name(best, subject.named(some))}, which has the largest weight among the members that look "
                "at plain values."
            )
        measures = np.zeros(len(model.features), dtype=bool)
        for word in subject.words:
            measures[word.at.start] = not word.is_level
        return cls(
            note=note,
            unit=model.unit,
            rules=rules,
            features=[model.scales.names(model.features)[j] for j in some.tolist()],
            measures=measures[some],
            mean=model.scales.mean[some],
            scale=model.scales.scale[some],
            training=training[:, some],
            codes=codes,
            points=subject.points[:, some],
        )


def _planes(scene: _Scene) -> Iterator[tuple[str, Plane]]:
    """Yield the planes to project onto, each with a title; those that separate the classes best first."""
    if len(scene.features) == 1:
        (name,) = scene.features
        # The second axis is constant.
        yield name, Plane(np.array([[1.0, 0.0]]), np.append(scene.scale, 1.0), np.append(scene.mean, 0.0), (name, ""))
        return
    points = scene.training
    if len(points) < 2:
        points = scene.points[~np.isnan(scene.points).any(axis=1)]
    principal = [("principal directions", principal_plane(points, scene.unit))] if len(points) > 1 else []
    # Indicators put all records onto a few dots.
    if principal and np.count_nonzero(scene.measures) < 2:
        yield from principal
        return
    for pair in combinations(_separating(scene), 2):
        some = list(pair)
        names = scene.features[some[0]], scene.features[some[1]]
        basis = np.eye(len(scene.features))[:, some]
        yield " and ".join(names), Plane(basis, scene.scale[some], scene.mean[some], names)
    yield from principal


def _separating(scene: _Scene) -> list[int]:
    """Return the 2 to 4 features that separate the classes best, with absolute correlations below 0.9 if possible."""
    order = np.argsort(np.where(scene.measures, -_separation(scene), np.inf), kind="stable").tolist()
    alike = _correlation(scene.training)
    chosen: list[int] = []
    for j in order:
        if len(chosen) < 4 and scene.measures[j] and (alike[j, chosen] < 0.9).all():
            chosen.append(j)
    return chosen if len(chosen) > 1 else order[:2]


def _separation(scene: _Scene) -> FloatArray:
    """Return the share of each feature's variance that lies between the classes (eta squared), shape (d,)."""
    total = np.square(scene.training - scene.training.mean(axis=0)).sum(axis=0) if len(scene.training) else 0.0
    within = np.zeros(len(scene.features))
    for code in np.unique(scene.codes):
        mine = scene.training[scene.codes == code]
        within += np.square(mine - mine.mean(axis=0)).sum(axis=0)
    return np.asarray((total - within) / np.maximum(total, np.finfo(float).tiny))


def _correlation(points: FloatArray) -> FloatArray:
    """Return absolute correlations, 0 with a feature that does not vary, shape (d, d)."""
    centred = points - points.mean(axis=0) if len(points) else points
    length = np.sqrt(np.square(centred).sum(axis=0))
    unit = centred / np.where(length > 0.0, length, 1.0)
    return np.abs(unit.T @ unit)


def _view(scene: _Scene, title: str, plane: Plane, shown: IntArray) -> dict[str, Any]:
    points = plane.place(scene.points[shown])
    ellipses = [(rules, k, *_ellipse(rules, k, plane)) for rules, k in _of_labels(scene.rules)]
    reach = [np.linalg.norm(factor, axis=1) for *_, factor in ellipses]
    ends = [center + sign * r for (*_, center, _), r in zip(ellipses, reach, strict=True) for sign in (-1.0, 1.0)]
    low, high = _frame(points, np.reshape(ends, (-1, 2)))
    return {
        "title": title,
        "axes": [
            {"title": plane.names[k].replace("\n", " "), "low": short(low[k]), "high": short(high[k])} for k in (0, 1)
        ],
        "points": _short(points),
        "ellipses": [
            {
                "region": rules.names[k],
                "label": str(rules.labels[int(rules.sides[k])]),
                "center": _short(center[None])[0],
                "factor": _short(factor),
            }
            for rules, k, center, factor in ellipses
        ],
    }


def _short(values: FloatArray) -> list[list[float]]:
    return [[short(value) for value in row] for row in values.tolist()]


def _of_labels(rules: list[Rules]) -> list[tuple[Rules, int]]:
    """Return the ellipsoids of labels, not those of the rest in one-vs-rest problems; 60 with the most records."""
    found = [(r, k) for r in rules for k in range(len(r.names)) if len(rules) == 1 or r.sides[k] == 0]
    found.sort(key=lambda pair: -int(pair[0].held[pair[1]].sum()))
    return found[:60]


def _ellipse(rules: Rules, k: int, plane: Plane) -> tuple[FloatArray, FloatArray]:
    """Return the center and the factor of the projection in units of the plot; of an interval, a disc of height 1."""
    E = rules.stack[k]
    if E.dim > 1:
        return plane.project(E)
    return plane.place(E.center[None])[0], np.diag([E.radii[0] * plane.scale[0], 1.0])


def _frame(points: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the limits of both axes: the range of the points, plus at most 50 % for ellipses, and 6 % of margin."""
    shown = next((some for some in (points, ends) if len(some)), np.zeros((1, 2)))
    first, last = shown.min(axis=0), shown.max(axis=0)
    size = np.where(last > first, last - first, 1.0)
    around = np.vstack([shown, np.clip(ends, first - 0.5 * size, last + 0.5 * size)])
    return around.min(axis=0) - 0.06 * size, around.max(axis=0) + 0.06 * size


def regions_table(subject: Subject) -> dict[str, Any]:
    """Return one row per region: name, label, training records, trust and place."""
    frame = subject.clf.regions()
    have = {name: frame[name].to_list() for name in frame.columns if name in {key for key, *_ in _COLUMNS}}
    if have.get("component") == have["region"]:
        del have["component"]  # none is merged
    if set(have.get("n_regions", ())) <= {1}:
        have.pop("n_regions", None)
    have["label"] = [str(label) for label in have["label"]]
    have["purity"] = [n / (n + m) if n + m else None for n, m in zip(have["n_label"], have["n_others"], strict=True)]
    if isinstance(subject.model, EnsembleModel):
        have["member"] = _members(subject, subject.model)
    elif "where" not in have:  # a table has it in its own columns
        have["where"] = _places(subject, frame)
    columns = [column for column in _COLUMNS if column[0] in have]
    return table(columns, [[short(have[key][i]) for key, *_ in columns] for i in range(len(frame))])


def _places(subject: Subject, frame: Any) -> list[str]:
    """Return the range of each region in the three features whose range there holds the fewest training records."""
    features = subject.model.features
    low, high = (
        np.array([frame[f"{name} {end}"].to_list() for name in features], dtype=np.float64).T for end in ("low", "high")
    )
    order = np.argsort(_within(subject, low, high), axis=1, kind="stable")
    points, _ = subject.training
    if len(points):
        # An ellipsoid may reach beyond the range of all records.
        smallest, largest = subject.model.original(np.stack([points.min(axis=0), points.max(axis=0)]))
        low, high = np.clip(low, smallest, largest), np.clip(high, smallest, largest)
    # Three digits of the standard deviation: a flat ellipsoid has a nominal thickness.
    digits = np.maximum(2 - np.floor(np.log10(_lengths(subject))).astype(int), 0).tolist()
    return [
        "; ".join(_reach(features[j], low[i, j], high[i, j], digits[j]) for j in order[i, :3].tolist())
        for i in range(len(frame))
    ]


def _reach(feature: str, low: float, high: float, digits: int) -> str:
    # Adding 0 makes -0 a 0.
    first, last = (in_words(round(float(end), digits) + 0.0) for end in (low, high))
    return f"{feature} {first}" if first == last else f"{feature} {first} to {last}"


def _within(subject: Subject, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the number of training records in the range of each region and feature, shape (n_regions, n_features)."""
    points, _ = subject.training
    if not len(points):
        return (high - low) / _lengths(subject)
    columns = np.sort(subject.model.original(points), axis=0).T
    below = [np.searchsorted(column, edge, "left") for column, edge in zip(columns, low.T, strict=True)]
    upto = [np.searchsorted(column, edge, "right") for column, edge in zip(columns, high.T, strict=True)]
    return np.asarray(np.array(upto) - np.array(below), dtype=np.float64).T


def _lengths(subject: Subject) -> FloatArray:
    """Return how long a unit is around the mean of each feature, in original units, shape (d,)."""
    return subject.model.scales.lengths(np.zeros(len(subject.model.features)))


def _members(subject: Subject, ensemble: EnsembleModel) -> list[str]:
    names = [member_name(m, subject.named(member.plan.features)) for m, member in enumerate(ensemble.members)]
    return [
        name for name, member in zip(names, ensemble.members, strict=True) for part in member.parts for _ in part.names
    ]
