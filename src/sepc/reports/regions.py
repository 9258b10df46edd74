"""Regions of a report: projections of them and of test records, as numbers to draw, and a table of what each holds."""

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

# Features whose pairs are drawn, and the absolute correlation from which two show the same.
_N_FEATURES = 4
_SAME = 0.9
# The frame exceeds the range of the points by 6 % of it, and for ellipses by at most another 50 %.
_MARGIN, _MOST = 0.06, 0.5
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
    ("read_as", "read as", "text"),
    ("where", "where it lies", "text"),
    ("member", "member", "text"),
)


def views(subject: Subject, shown: IntArray) -> dict[str, Any]:
    """Return what is needed to draw regions and test records onto pairs of features and the principal directions.

    Parameters
    ----------
    subject : Subject
    shown : ndarray of int
        Rows of the test records to draw; those with missing values have no place, and are not drawn.

    Returns
    -------
    dict
        ``note``, ``records`` (the rows), and ``views``, those that separate the classes best first: each with a title,
        two axes (title and range), ``points`` and ``ellipses`` (region, label, centre and a factor of shape (2, 2): the
        ellipse is the centre plus the factor times the unit disc).
    """
    scene = _Scene.of(subject)
    has_place = np.asarray(~np.isnan(scene.points).any(axis=1))
    left_out, shown = int(np.count_nonzero(~has_place[shown])), shown[has_place[shown]]
    note = scene.note
    if left_out:
        note = f"{note} {many(left_out, 'record')} with missing values cannot be drawn.".strip()
    drawn = [_view(scene, title, plane, shown) for title, plane in _planes(scene)]
    return {"note": note, "records": shown.tolist(), "views": drawn}


@dataclass(frozen=True, eq=False)
class _Scene:
    """Ellipsoids and points in the units ``(x - mean) / scale``.

    Training points choose what is drawn, test records are drawn. Features that are numbers, not values of a category
    that are there or not, are `measures`.
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
        """Return the whole of one classifier, or the weightiest member of an ensemble that looks at plain values."""
        model = subject.model
        if isinstance(model, PartitionModel):
            return cls("", model.unit, model.rules, *_of_features(subject, np.arange(len(model.features))))
        assert isinstance(model, EnsembleModel)
        seen = [m for m, member in enumerate(model.members) if member.plan.view == PLAIN]
        best = max(seen, key=lambda m: (model.stack.weights[m], -m))
        some = model.members[best].plan.features
        name = member_name(best, subject.named(some))
        note = (
            f"An ensemble has no regions of its own. These are the regions of one part of {name}, which has the "
            "largest weight among the members that look at plain values."
        )
        return cls(note, model.unit, model.rules(best, 0), *_of_features(subject, some))


def _of_features(
    subject: Subject, some: IntArray
) -> tuple[list[str], BoolArray, FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
    model, (training, codes) = subject.model, subject.training
    names = [model.features[j] for j in some.tolist()]
    measures = np.zeros(len(model.features), dtype=bool)
    for word in subject.words:
        measures[word.at.start] = not word.is_level
    return names, measures[some], model.mean[some], model.scale[some], training[:, some], codes, subject.points[:, some]


def _planes(scene: _Scene) -> Iterator[tuple[str, Plane]]:
    """Yield what the regions are seen along, each with a title; those that separate the classes best first."""
    if len(scene.features) == 1:
        (name,) = scene.features
        # There is nothing to see along the second axis.
        yield name, Plane(np.array([[1.0, 0.0]]), np.append(scene.scale, 1.0), np.append(scene.mean, 0.0), (name, ""))
        return
    points = scene.training
    if len(points) < 2:
        points = scene.points[~np.isnan(scene.points).any(axis=1)]
    principal = [("principal directions", principal_plane(points, scene.unit))] if len(points) > 1 else []
    # Features that say whether a value is there put all records onto a few dots.
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
    """Return the features that separate the classes best, without highly correlated ones; two at least."""
    order = np.argsort(np.where(scene.measures, -_separation(scene), np.inf), kind="stable").tolist()
    alike = _correlation(scene.training)
    chosen: list[int] = []
    for j in order:
        if len(chosen) < _N_FEATURES and scene.measures[j] and (alike[j, chosen] < _SAME).all():
            chosen.append(j)
    return chosen if len(chosen) > 1 else order[:2]


def _separation(scene: _Scene) -> FloatArray:
    """Return which share of each feature's variance lies between the classes, shape (d,)."""
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
    """Return the ellipsoids of labels, not those of rests; of many, those with the most records."""
    found = [(r, k) for r in rules for k in range(len(r.names)) if len(rules) == 1 or r.sides[k] == 0]
    found.sort(key=lambda pair: -int(pair[0].held[pair[1]].sum()))
    return found[:60]


def _ellipse(rules: Rules, k: int, plane: Plane) -> tuple[FloatArray, FloatArray]:
    """Return the centre and a factor of the projection, as it is shown; of an interval, a disc of some height."""
    E = rules.stack[k]
    if E.dim > 1:
        return plane.project(E)
    return plane.place(E.center[None])[0], np.diag([E.radii[0] * plane.scale[0], 1.0])


def _frame(points: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower and the upper ends of both axes."""
    shown = next((some for some in (points, ends) if len(some)), np.zeros((1, 2)))
    first, last = shown.min(axis=0), shown.max(axis=0)
    size = np.where(last > first, last - first, 1.0)
    around = np.vstack([shown, np.clip(ends, first - _MOST * size, last + _MOST * size)])
    return around.min(axis=0) - _MARGIN * size, around.max(axis=0) + _MARGIN * size


def regions_table(subject: Subject) -> dict[str, Any]:
    """Return one row per region: its name, its label, what it holds, how far it is trusted, where it lies."""
    frame = subject.clf.regions()
    have = {name: frame[name].to_list() for name in frame.columns if name in {key for key, *_ in _COLUMNS}}
    if have.get("read_as") == have["region"]:
        del have["read_as"]  # each by itself
    if set(have.get("n_regions", ())) <= {1}:
        have.pop("n_regions", None)
    have["label"] = [str(label) for label in have["label"]]
    have["purity"] = [n / (n + m) if n + m else None for n, m in zip(have["n_label"], have["n_others"], strict=True)]
    ensemble = subject.ensemble
    if ensemble is not None:
        have["member"] = _members(subject, ensemble)
    elif "where" not in have:  # a table has it in its own columns
        have["where"] = _places(subject, frame)
    columns = [column for column in _COLUMNS if column[0] in have]
    return table(columns, [[short(have[key][i]) for key, *_ in columns] for i in range(len(frame))])


def _places(subject: Subject, frame: Any) -> list[str]:
    """Say from where to where each region reaches, in the features whose range there holds fewest training records."""
    features = subject.model.features
    low, high = (
        np.array([frame[f"{name} {end}"].to_list() for name in features], dtype=np.float64).T for end in ("low", "high")
    )
    order = np.argsort(_within(subject, low, high), axis=1, kind="stable")
    points, _ = subject.training
    if len(points):
        # An ellipsoid reaches beyond its records, but not where no record is.
        smallest, largest = subject.model.original(np.stack([points.min(axis=0), points.max(axis=0)]))
        low, high = np.clip(low, smallest, largest), np.clip(high, smallest, largest)
    # Three digits of what the feature varies by: an ellipsoid that is flat has a nominal thickness.
    digits = np.maximum(2 - np.floor(np.log10(subject.model.scale)).astype(int), 0).tolist()
    return [
        "; ".join(_reach(features[j], low[i, j], high[i, j], digits[j]) for j in order[i, :3].tolist())
        for i in range(len(frame))
    ]


def _reach(feature: str, low: float, high: float, digits: int) -> str:
    # Adding 0 makes -0 a 0.
    first, last = (in_words(round(float(end), digits) + 0.0) for end in (low, high))
    return f"{feature} {first}" if first == last else f"{feature} {first} to {last}"


def _within(subject: Subject, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return how many training records have each feature in the range of each region, shape (n_regions, n_features)."""
    points, _ = subject.training
    if not len(points):
        return (high - low) / subject.model.scale
    columns = np.sort(subject.model.original(points), axis=0).T
    below = [np.searchsorted(column, edge, "left") for column, edge in zip(columns, low.T, strict=True)]
    upto = [np.searchsorted(column, edge, "right") for column, edge in zip(columns, high.T, strict=True)]
    return np.asarray(np.array(upto) - np.array(below), dtype=np.float64).T


def _members(subject: Subject, ensemble: EnsembleModel) -> list[str]:
    names = [member_name(m, subject.named(member.plan.features)) for m, member in enumerate(ensemble.members)]
    return [
        name for name, member in zip(names, ensemble.members, strict=True) for part in member.parts for _ in part.names
    ]
