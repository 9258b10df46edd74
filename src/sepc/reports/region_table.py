"""Table of the regions of a classifier: what each holds, and where it lies."""

from typing import Any

import numpy as np

from sepc.common.text import in_words
from sepc.common.typing import FloatArray
from sepc.estimators.ensemble.ensemble_model import EnsembleModel, member_name
from sepc.reports.report_tables import table
from sepc.reports.subject import Subject, short

# Features that say best where a region lies.
_N_TELLING = 3
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
    elif "where" not in have:  # a table tells it in its own columns
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
        "; ".join(_reach(features[j], low[i, j], high[i, j], digits[j]) for j in order[i, :_N_TELLING].tolist())
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
