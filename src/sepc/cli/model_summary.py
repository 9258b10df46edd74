"""Summary of a model, and its results on labelled data: as numbers and in words."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sepc.cli.console import aligned, counted, on_one_line
from sepc.cli.labelled_tables import LabelledTable
from sepc.cli.model_inputs import classifier_of
from sepc.common.frames import plain
from sepc.common.intervals import exact_interval
from sepc.common.text import many, percent
from sepc.model.calibration import Calibration
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.reports.baselines import baseline_results, class_numbers, mean_log_loss
from sepc.reports.sentences import claim_warning
from sepc.tables import TablePipeline

MIN_TRUST = 0.95
_SHOWN = 20
# Parameters that change no verdict, or that the notes describe.
_NOT_SHOWN = ("n_jobs", "verbose", "class_prior", "costs")
# Corrections of log odds that are smaller are not worth a word.
_LEAST_MOVED = 0.005


def summarize(model: Any) -> dict[str, Any]:
    """Return the summary of a model, ready for JSON."""
    clf = classifier_of(model)
    encoder = model["columns"] if isinstance(model, TablePipeline) else None
    return {
        "kind": type(clf).__name__,
        "parameters": {name: value for name, value in clf.get_params().items() if name not in _NOT_SHOWN},
        "classes": dict(zip(map(plain, clf.classes_), map(plain, clf.class_count_), strict=True)),
        "columns": [] if encoder is None else [{"name": c.name, "kind": c.kind} for c in encoder.columns_],
        "features": [str(name) for name in getattr(clf, "feature_names_in_", range(clf.n_features_in_))],
        "n_regions": len(clf.regions()),
        "calibration": _calibration_dict(_calibration_of(clf)),
        "notes": [
            *([] if encoder is None else encoder.notes),
            *_policy_notes(clf),
        ],
    }


def _policy_notes(clf: Any) -> Iterator[str]:
    """Yield what was stated of classes and costs."""
    if clf.model_.policy is None:
        return
    stated = clf.model_.policy.to_dict(clf.classes_)
    if stated["class_prior"]:
        shares = ", ".join(f"{one['label']} {percent(one['share'])}" for one in stated["class_prior"])
        yield f"Classes are taken to be as frequent as stated: {shares}."
    if stated["costs"]:
        costs = "; ".join(f"{one['cost']:g} for {one['given']} where {one['true']} is true" for one in stated["costs"])
        yield f"Labels are those of the least expected cost: {costs}."
    if stated["asking"]:
        prices = sorted({one["cost"] for one in stated["asking"]})
        yield f"Asking a person costs {' to '.join(f'{price:g}' for price in (prices[0], prices[-1])[: len(prices)])}."


def summary_text(model: Any, n_rows: int | None = None) -> str:
    """Return the summary of a model as lines of text."""
    summary = summarize(model)
    parameters = ", ".join(f"{name}={value}" for name, value in summary["parameters"].items())
    n_features, n_regions = len(summary["features"]), summary["n_regions"]
    rows = sum(summary["classes"].values()) if n_rows is None else n_rows
    return "\n".join(
        [
            f"{summary['kind']}({parameters}), {many(n_features, 'feature')}, {many(n_regions, 'region')}",
            f"learned from {rows:,} rows: {counted(summary['classes'])}",
            calibration_text(model),
            "",
            regions_text(model),
        ]
    )


def calibration_text(model: Any) -> str:
    """Return a sentence on how the trust was calibrated, or that it was not."""
    clf = classifier_of(model)
    found = _calibration_of(clf)
    if found is None:
        return f"not calibrated: {_not_calibrated_since(clf)}"
    if not len(found.held_out):
        return "not calibrated: too few records to leave some of them out"
    left_out = f"{many(len(found.held_out), 'record')} that {'was' if len(found.held_out) == 1 else 'were'} left out"
    if not isinstance(clf.model_, PartitionModel):
        return f"calibrated by the weights of its members; {left_out} tell how typical a record is"
    moved, most = np.ptp(found.correction), clf.classes_[found.correction.argmax()]
    towards = f" and moved by up to {moved:.2g} towards label {on_one_line(most)}" if moved >= _LEAST_MOVED else ""
    return (
        f"calibrated by {left_out}; log odds are divided by {found.temperature:.2g}{towards}, "
        f"{percent(found.unexplained)} of the probability is the background's"
    )


def no_typicality(model: Any) -> str | None:
    """Return why a model does not know how typical records are; None if it does."""
    clf = classifier_of(model)
    found = _calibration_of(clf)
    if found is not None and len(found.held_out):
        return None
    why = _not_calibrated_since(clf) if found is None else "it had too few records to leave some of them out"
    return f"how typical rows are is not known, so that none is strange by its values: {why}."


def _calibration_of(clf: Any) -> Calibration | None:
    """Return what records that were left out have said; None if a model has none."""
    model: Any = clf.model_
    if isinstance(model, PartitionModel):
        return model.calibration if isinstance(model, DensityModel) and model.is_calibrated else None
    found: Calibration = model.strangeness.calibration
    return found


def _not_calibrated_since(clf: Any) -> str:
    reading = clf.model_.trust
    return "trust=raw is not calibrated" if reading == "raw" else f"trust={reading} counts records"


def _calibration_dict(found: Calibration | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "n_left_out": len(found.held_out),
        "temperature": found.temperature,
        "correction": found.correction.tolist(),
        "background": found.unexplained,
    }


def regions_text(model: Any) -> str:
    """Return the first regions as a table of text."""
    frame = model.regions()
    if not len(frame):
        return (
            "No regions: the classes have too few records for an ellipsoid, fewer than there are features.\nEach class "
            "is judged by all of its records together, and no such label is accepted. Use fewer columns (--drop) or "
            "more rows."
        )
    hidden = {"where"}
    if "read_as" in frame and frame["read_as"].to_list() == frame["region"].to_list():
        hidden.add("read_as")  # each by itself
    names = [name for name in frame.columns if name not in hidden and not str(name).endswith((" low", " high"))]
    rows = frame[names].to_dict("records")
    more = [f"and {len(rows) - _SHOWN} more regions: sepc inspect --json shows all"] if len(rows) > _SHOWN else []
    return "\n".join([aligned(rows[:_SHOWN]), *more])


def evaluate(model: TablePipeline, data: LabelledTable, train: LabelledTable | None = None) -> dict[str, Any]:
    """Return the results of a model on labelled rows, ready for JSON.

    Parameters
    ----------
    model : TablePipeline
    data : LabelledTable
    train : LabelledTable, optional
        The rows that the model has learned from; with them there are baselines, which learn from the same.
    """
    a = model.assess(data.table)
    right, accepted = a.label == data.labels, a.accepted(MIN_TRUST)
    n, n_right = len(right), int(np.count_nonzero(right))
    n_accepted, n_accepted_right = int(np.count_nonzero(accepted)), int(np.count_nonzero(right & accepted))
    found = {
        "rows": n,
        "right": n_right,
        "accuracy_interval": list(exact_interval(n_right, n)),
        "min_trust": MIN_TRUST,
        "accepted": n_accepted,
        "accepted_right": n_accepted_right,
        "warning": claim_warning(n_accepted_right, n_accepted, MIN_TRUST),
    }
    if train is None:
        return found
    features = (model["columns"].transform(part.table) for part in (train, data))
    results = baseline_results(next(features), train.labels, next(features), data.labels)
    truth = class_numbers(data.labels, model.classes_)
    log_loss = mean_log_loss(model.predict_proba(data.table), truth)
    return {**found, "log_loss": log_loss, "baselines": [result._asdict() for result in results]}


def evaluation_text(found: dict[str, Any], tested_with: str) -> str:
    """Return the results of a model as lines of text."""
    flatters = " (this flatters: it learned from them; --test or --holdout say more)"
    lines = [
        f"{tested_with}: right on {_share(found['right'], found['rows'])}"
        f"{flatters if tested_with == 'training rows' else ''}"
    ]
    if "baselines" in found:
        others = "; ".join(f"{one['name']} on {_share(one['n_right'], one['n'])}" for one in found["baselines"])
        lines.append(f"for comparison, the same rows: {others}")
    lines.append(
        f"with a trust of at least {found['min_trust']:g}: {_share(found['accepted'], found['rows'])} accepted, "
        f"right on {_share(found['accepted_right'], found['accepted'])}"
    )
    return "\n".join(lines)


def evaluation_notes(found: dict[str, Any]) -> list[str]:
    """Return what a person should be warned of in the results of `evaluate`."""
    low, high = found["accuracy_interval"]
    share = percent(found["right"] / found["rows"])
    interval = f"95 % interval {percent(low)} to {percent(high)}"
    better = [
        f"the model is right on {share} of these rows ({interval}), clearly less than the {one['name']}: "
        f"{percent(one['accuracy'])}."
        for one in found.get("baselines", [])
        if one["accuracy"] > high
    ]
    return better + ([found["warning"]] if found["warning"] else [])


def _share(n: int, of: int) -> str:
    return f"{n} of {of} ({percent(n / of)})" if of else "none"
