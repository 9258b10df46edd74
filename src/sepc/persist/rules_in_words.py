"""Regions and rules of a fitted classifier as plain values."""

import math
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

import sepc
from sepc.around.trusted_classifier import TrustedClassifier
from sepc.common.errors import InputError
from sepc.common.frames import plain, records
from sepc.common.text import AROUND, ENSEMBLE, TRUST_TEXTS
from sepc.estimators.base import TrustClassifier
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.ensemble_classifier import SEPEnsembleClassifier
from sepc.estimators.ensemble.ensemble_model import EnsembleModel
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES, STEPS
from sepc.estimators.ensemble.members import Extent
from sepc.explanations.explanation import rules_in_words
from sepc.model.partition_model import DensityModel

_VIEWS = {
    PLAIN: "values",
    SCORES: "normal scores of the values",
    STEPS: "what the range that a value falls into says of the label",
}


def rules_dict(clf: Any) -> dict[str, Any]:
    """Return the regions and rules of a fitted classifier as plain numbers, texts, lists and dicts, ready for JSON.

    Parameters
    ----------
    clf : SEPClassifier, SEPEnsembleClassifier, TrustedClassifier or TablePipeline
        Fitted.

    Returns
    -------
    dict
        `classes` with their numbers of training records, `features`, `parameters`, `versions`, `trust`: the trust
        method in words; and `policy`: stated class priors and costs, else None.

        Of a `SEPClassifier` also `rules`, in words; `unit` of distances; and `problems`, one of
        all classes, or one for each class against the rest where labels are decided by counts. A problem lists its
        `regions` as `regions()` does, with centre and reach of each feature in the original units, the number of
        isolated records and why the partition ended.

        Of a `SEPEnsembleClassifier` also `leaning`, the intercept of the log probability of each label, and `members`
        with their features, weights and regions. The reach of a region is in the original units, whatever the member
        looks at; None where it goes beyond all training records, and for isolated records.

        Of a `TablePipeline` also `columns`: the encoding of the raw columns, in sentences.

        Of a `TrustedClassifier` those of its regions, with `columns` if it takes raw tables; `model`, the class of the
        model that it is around; `weights` of this model's log odds and of those of the regions; the `leaning` to each
        label; and `held_out`: for each region and label that the model gave, numbers of held-out records, `n`, and of
        those where it was right.

    Examples
    --------
    >>> clf = sepc.SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> found = rules_dict(clf)
    >>> region = found["problems"][0]["regions"][0]
    >>> region["region"], region["n_label"], round(region["reach"]["x0"]["high"], 6), found["rules"]["R1"]
    ('high#1', 3, 9.0, 'A record would be decided, by the paper, by R1 if it lies in exactly one ellipsoid.')
    """
    if hasattr(clf, "steps") and hasattr(clf.steps[0][1], "notes"):
        encoder, last = (step for _, step in clf.steps)
        return rules_dict(last) | {"kind": type(clf).__name__, "columns": encoder.notes}
    if isinstance(clf, TrustedClassifier):
        return _of_trusted(clf)
    if not isinstance(clf, SEPClassifier | SEPEnsembleClassifier):
        raise InputError("clf-no-model", clf=clf)
    check_is_fitted(clf)
    return _common(clf) | (_of_single(clf) if isinstance(clf, SEPClassifier) else _of_ensemble(clf))


def versions() -> dict[str, str]:
    """Return the versions of the packages that a model depends on."""
    packages = {"sepc": sepc, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    return {name: package.__version__ for name, package in packages.items()}


def _common(clf: TrustClassifier) -> dict[str, Any]:
    counted = zip(clf.classes_, clf.class_count_.tolist(), strict=True)
    return {
        "kind": type(clf).__name__,
        "versions": versions(),
        "parameters": {name: _for_json(value) for name, value in clf.get_params(deep=False).items()},
        "classes": [{"label": plain(label), "n_records": n} for label, n in counted],
        "features": list(clf.model_.features),
        "policy": None if clf.model_.policy is None else clf.model_.policy.to_dict(clf.classes_),
    }


def _of_single(clf: SEPClassifier) -> dict[str, Any]:
    model = clf.model_
    in_words = rules_in_words(model.grows)
    # Where densities decide, the rules only select the region and the counts of a record.
    decides = "would be decided, by the paper, by" if isinstance(model, DensityModel) else "is decided by"
    problems, components = [], model.component_names()
    for problem, (p, rules) in enumerate(zip(clf.partitions_, model.rules, strict=True)):
        problems.append(
            {
                "labels": list(rules.labels),
                "n_isolated": len(rules.isolated),
                "n_iter": p.n_iter,
                "stopped": p.stopped,
                "regions": [_region(clf, problem, k, block, components) for k, block in enumerate(p.blocks)],
            }
        )
    return {
        "trust": TRUST_TEXTS[model.trust].meaning,
        "unit": model.unit,
        "rules": {rule: f"A record {decides} {rule} if {words}." for rule, words in in_words.items()},
        "problems": problems,
    }


def _region(clf: SEPClassifier, problem: int, k: int, block: Any, components: dict[str, str]) -> dict[str, Any]:
    row = clf._region(problem, k, block, components)
    centers = clf.model_.original(block.ellipsoid.center).tolist()
    reach = {
        name: {"centre": center, "low": row.pop(f"{name} low"), "high": row.pop(f"{name} high")}
        for name, center in zip(clf.model_.features, centers, strict=True)
    }
    return {name: _for_json(value) for name, value in row.items()} | {"reach": reach}


def _of_trusted(clf: TrustedClassifier) -> dict[str, Any]:
    check_is_fitted(clf)
    stack, record = clf.model_.stack, clf.model_.track_record
    labels = [plain(label) for label in clf.classes_]
    held_out = [
        {"region": name, "given": label, "right": int(record.right[c, k]), "n": int(record.n[c, k])}
        for c, name in enumerate(clf.model_.regions.region_names())
        for k, label in enumerate(labels)
        if record.n[c, k]
    ]
    columns = {} if clf.table_encoder is None else {"columns": clf.table_encoder.notes}
    return {
        **_of_single(clf.regions_),
        **_common(clf),
        **columns,
        "trust": TRUST_TEXTS[AROUND].meaning,
        "model": clf.model_name,
        "weights": dict(zip(("model", "regions"), stack.weights.tolist(), strict=True)),
        "leaning": _leaning(clf),
        "held_out": held_out,
    }


def _of_ensemble(clf: SEPEnsembleClassifier) -> dict[str, Any]:
    ensemble: EnsembleModel = clf.model_
    members = [
        {
            "member": m + 1,
            "weight": float(ensemble.stack.weights[m]),
            "features": [ensemble.features[j] for j in member.plan.features],
            "looks_at": _VIEWS[member.plan.view],
            "regions": _regions_of_member(clf, m),
        }
        for m, member in enumerate(ensemble.members)
    ]
    return {
        "trust": TRUST_TEXTS[ENSEMBLE].meaning,
        "leaning": _leaning(clf),
        "members": members,
    }


def _leaning(clf: Any) -> list[dict[str, Any]]:
    pairs = zip(clf.classes_, clf.model_.stack.leaning.tolist(), strict=True)
    return [{"label": plain(label), "leaning": value} for label, value in pairs]


def _regions_of_member(clf: SEPEnsembleClassifier, m: int) -> list[dict[str, Any]]:
    ensemble = clf.model_
    parts = ensemble.members[m].parts
    extents = [ensemble.extent(m, k, c) for k, part in enumerate(parts) for c in range(len(part.names))]
    features = [ensemble.features[j] for j in ensemble.members[m].plan.features]
    return [
        row | {"reach": None if extent is None else _ends(features, extent)}
        for row, extent in zip(records(clf._regions_of(m)), extents, strict=True)
    ]


def _ends(features: list[str], extent: Extent) -> dict[str, dict[str, Any]]:
    ends = zip(features, extent.low, extent.high, strict=True)
    return {name: {"low": _for_json(low), "high": _for_json(high)} for name, low, high in ends}


def _for_json(value: Any) -> Any:
    """Return a value that JSON can hold: None for NaN and infinity, the text of other objects."""
    value = plain(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else repr(value)
