"""``sepc inspect``: the content of a model, and its summary for other commands."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from sepc.around import TrustedClassifier
from sepc.cli.commands.promise import promise_text
from sepc.cli.console import aligned, counted, on_one_line, show, show_json
from sepc.cli.messages import printed
from sepc.common.frames import plain
from sepc.common.text import listed, percent, shortened
from sepc.model.calibration import Calibration
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.persist import load, rules_dict
from sepc.reports.how_to_serve import how_to_serve

# Parameters that change no prediction, or that the notes describe.
_NOT_SHOWN = ("n_jobs", "verbose", "class_prior", "costs")
_REGIONS_SHOWN = 20
# A trust this far below the purity of a region is explained.
_FAR_BELOW = 0.4


def run(options: Namespace) -> None:
    """Print the summary of a model."""
    model = load(options.model)
    summary, serving = summarize(model), how_to_serve(model, options.model)
    if options.json:
        promise = None if model.promise is None else model.promise.to_dict()
        show_json({**summary, "promise": promise, "serving": serving, "rules": rules_dict(model)})
        return
    show(summary_text(model))
    for text in summary["notes"]:
        show(f"  {text}")
    if model.promise is not None:
        show(promise_text(model.promise))
    show(printed("how-to-serve"))
    for way, lines in serving.items():
        for k, line in enumerate(lines):
            show(f"  {'' if k else way:6}  {on_one_line(line)}")


def summarize(model: Any) -> dict[str, Any]:
    """Return the summary of a model, ready for JSON."""
    clf, encoder = model.core, model.table_encoder
    notes = [] if encoder is None else encoder.notes
    regions = getattr(clf, "regions_", clf)
    return {
        "kind": type(clf).__name__,
        **clf.about_._asdict(),
        "parameters": _parameters(clf),
        "classes": dict(zip(map(plain, clf.classes_), map(plain, clf.class_count_), strict=True)),
        "columns": [] if encoder is None else [{"name": c.name, "kind": c.kind} for c in encoder.columns_],
        "features": [str(name) for name in getattr(regions, "feature_names_in_", range(regions.n_features_in_))],
        "n_regions": len(clf.regions()),
        "calibration": _calibration_dict(clf),
        "notes": [*notes, *_answer_notes(clf), *_policy_notes(clf), *_limit_notes(clf)],
    }


def _parameters(clf: Any) -> dict[str, Any]:
    """Return the parameters that are shown; those that are no numbers or texts by their names."""
    shown = {name: value for name, value in clf.get_params(deep=False).items() if name not in _NOT_SHOWN}
    plain_types = int, float, str, type(None)
    return {name: value if isinstance(value, plain_types) else type(value).__name__ for name, value in shown.items()}


def _answer_notes(clf: Any) -> Iterator[str]:
    """Yield a sentence on where another model's answers come from."""
    if not isinstance(clf, TrustedClassifier):
        return
    if clf.answer_columns:
        yield printed("answers-read", columns=listed(clf.answer_columns))
    elif clf.estimator_ is None:
        yield printed("estimator-elsewhere", estimator=clf.estimator_name)


def _limit_notes(clf: Any) -> Iterator[str]:
    """Yield a sentence on the limits of changes that are kept."""
    if clf.change_limits is not None:
        yield printed("kept-limits", limits=clf.change_limits.in_words())


def _policy_notes(clf: Any) -> Iterator[str]:
    """Yield sentences on class priors and costs."""
    if clf.model_.policy is None:
        return
    stated = clf.model_.policy.to_dict(clf.classes_)
    if stated["class_prior"]:
        shares = ", ".join(f"{one['label']} {percent(one['share'])}" for one in stated["class_prior"])
        yield printed("class-shares", shares=shares)
    if stated["costs"]:
        yield printed("least-cost", costs="; ".join(printed("cost", **one) for one in stated["costs"]))
    if stated["asking"]:
        prices = sorted({one["cost"] for one in stated["asking"]})
        costs = " to ".join(f"{price:g}" for price in (prices[0], prices[-1])[: len(prices)])
        yield printed("asking-cost", costs=costs)


def summary_text(model: Any, n_rows: int | None = None) -> str:
    """Return the summary of a model as lines of text."""
    summary = summarize(model)
    parameters = ", ".join(f"{name}={value}" for name, value in summary["parameters"].items())
    n_features, n_regions = len(summary["features"]), summary["n_regions"]
    rows = sum(summary["classes"].values()) if n_rows is None else n_rows
    about = model.core.about_
    name = ", ".join([about.name or printed("unnamed"), *(f"{key}={value}" for key, value in about.tags.items())])
    named = [printed("about", name=name, day=about.fitted_on)]
    return "\n".join(
        [
            *(named if about.fitted_on else []),
            printed("model", kind=summary["kind"], parameters=parameters, n_features=n_features, n_regions=n_regions),
            printed("learned-from", n=rows, classes=counted(summary["classes"])),
            calibration_text(model),
            "",
            regions_text(model),
        ]
    )


def calibration_text(model: Any) -> str:
    """Return a sentence on how the trust was calibrated, or that it was not."""
    clf = model.core
    if isinstance(clf, TrustedClassifier):
        name = printed("other-model") if clf.answer_columns else clf.estimator_name
        n, (of_model, of_regions) = int(clf.model_.track_record.n.sum()), clf.weights_
        return printed("calibrated-around", n=n, model=of_model, estimator=name, regions=of_regions)
    found = _calibration_of(clf)
    if found is None:
        return printed("not-calibrated", why=_not_calibrated_since(clf))
    if not (n := len(found.held_out)):
        return printed("not-calibrated", why=printed("none-left-out"))
    if not isinstance(clf.model_, PartitionModel):
        return printed("calibrated-by-weights", n=n)
    moved, most = np.ptp(found.correction), clf.classes_[found.correction.argmax()]
    towards = printed("moved-towards", by=moved, label=on_one_line(most)) if moved >= 0.005 else ""
    if found.linear is not None:
        towards += printed("with-linear-terms")
    if found.local is not None:
        towards += printed("with-places", n=len(found.local.radii))
    return printed("calibrated", n=n, temperature=found.temperature, moved=towards, background=found.unexplained)


def no_typicality(model: Any) -> str | None:
    """Return why a model does not know how typical records are; None if it does."""
    clf = model.core
    found = _calibration_of(clf)
    if found is not None and len(found.held_out):
        return None
    why = _not_calibrated_since(clf) if found is None else f"it had {printed('none-left-out')}"
    return printed("no-typicality", why=why)


def _calibration_of(clf: Any) -> Calibration | None:
    """Return the calibration by held-out records; None if a model has none."""
    model: Any = getattr(clf.model_, "regions", clf.model_)
    if isinstance(model, PartitionModel):
        return model.calibration if isinstance(model, DensityModel) and model.is_calibrated else None
    found: Calibration = model.strangeness.calibration
    return found


def _not_calibrated_since(clf: Any) -> str:
    method = clf.model_.trust
    return printed("raw-trust") if method == "raw" else printed("counting-trust", method=method)


def _calibration_dict(clf: Any) -> dict[str, Any] | None:
    found, model = _calibration_of(clf), getattr(clf.model_, "regions", clf.model_)
    if found is None:
        return None
    background = found.unexplained if isinstance(model, PartitionModel) else float(model.stack.background.max())
    return {
        "n_held_out": len(found.held_out),
        "temperature": found.temperature,
        "correction": found.correction.tolist(),
        "slopes": None if found.linear is None else found.linear.slopes.tolist(),
        "n_places": 0 if found.local is None else len(found.local.radii),
        "background": background,
    }


def regions_text(model: Any) -> str:
    """Return the first regions as a table of text."""
    frame = model.regions()
    if not len(frame):
        return printed("no-regions")
    hidden = {"where", "description"}
    if "component" in frame and frame["component"].to_list() == frame["region"].to_list():
        hidden.add("component")  # no components were merged
    names = [name for name in frame.columns if name not in hidden and not str(name).endswith((" low", " high"))]
    rows = frame[names].to_dict("records")
    n_more = len(rows) - _REGIONS_SHOWN
    more = [printed("more-regions", n=n_more)] if n_more > 0 else []
    return "\n".join([aligned(rows[:_REGIONS_SHOWN]), *more, *_pure_without_trust(rows[:_REGIONS_SHOWN])])


def _pure_without_trust(rows: list[dict[str, Any]]) -> list[str]:
    """Return a text on regions that are pure, and yet have a trust that is far lower; none where there are none."""
    apart = [row["region"] for row in rows if row.get("purity", 0.0) - row.get("trust", 1.0) >= _FAR_BELOW]
    return [printed("pure-without-trust", regions=shortened(apart, 5))] if apart else []
