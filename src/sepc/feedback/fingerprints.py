"""Fingerprints of fitted classifiers, by which a log of observations knows its model."""

import json
from typing import Any

from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel
from sepc.model.promise import key_of


def fingerprint(clf: Any) -> str:
    """Return a text that two fitted classifiers share only if they are the same in all that a monitor reads."""
    model: FittedModel = clf.model_
    settings, arrays = _of_partition(model, clf) if isinstance(model, PartitionModel) else _of_ensemble(model, clf)
    return key_of([json.dumps(settings)], arrays)


def _of_partition(model: PartitionModel, clf: Any) -> tuple[list[Any], list[Any]]:
    allowed = [p.n_imp for p in clf.partitions_]
    settings = [repr(model.classes.tolist()), model.features, model.trust, allowed]
    arrays: list[Any] = [model.mean, model.scale, model.class_count, model.training.as_they_came, model.codes]
    for rules in model.rules:
        ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
        arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
    return settings, arrays


def _of_ensemble(model: Any, clf: Any) -> tuple[list[Any], list[Any]]:
    settings = [repr(model.classes.tolist()), model.features, model.trust]
    arrays: list[Any] = [model.mean, model.scale, model.class_count, model.records.as_they_came, model.records.codes]
    arrays.append(clf.weights_)
    for member in model.members:
        for part in member.parts:
            arrays += [part.densities.coefficients, part.densities.log_weights]
    return settings, arrays
