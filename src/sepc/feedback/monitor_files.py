"""File of a saved monitor: its observations, and a fingerprint of the model that they belong to."""

import hashlib
import json
import os
from typing import Any

import numpy as np

from sepc.common.archive import Arrays, Format
from sepc.common.errors import InputError
from sepc.feedback.drift import SequentialRateTest
from sepc.feedback.error_parts import ErrorParts
from sepc.feedback.error_watch import ErrorTest
from sepc.feedback.held_out_models import ModelView
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel

# Version 1 knew of labels for all records alone, and had no parts.
FORMAT = Format(
    "sepc feedback", 2, "FeedbackMonitor.save", remedy="Take a copy, or start a new monitor.", error=InputError
)


def fingerprint(clf: Any) -> str:
    """Return a text that two fitted classifiers share only if they are the same in all that a monitor reads."""
    model: FittedModel = clf._model
    settings, arrays = _of_partition(model, clf) if isinstance(model, PartitionModel) else _of_ensemble(model, clf)
    digest = hashlib.sha256(json.dumps(settings).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def _of_partition(model: PartitionModel, clf: Any) -> tuple[list[Any], list[Any]]:
    allowed = [p.n_imp for p in clf.partitions_]
    settings = [repr(model.classes.tolist()), model.features, model.trust, allowed]
    if not model.grows:  # others keep the fingerprint that they had when all models grew their ellipsoids
        settings.append("as found")
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


def read(path: str | os.PathLike[str], fingerprint: str) -> tuple[dict[str, Any], Arrays]:
    """Read a file that belongs to the model with this fingerprint."""
    header, arrays = FORMAT.read(path)
    if header.get("fingerprint") != fingerprint:
        raise InputError(
            f"{str(path)!r} holds what was observed with another model than clf; expected the classifier that the "
            "monitor was made for. Load that one, or start a new monitor."
        )
    return header, arrays


def outside_test_of(what: str, header: dict[str, Any], arrays: Arrays) -> SequentialRateTest:
    """Return the test of records outside that a file holds."""
    test = SequentialRateTest(what, arrays["outside_held_out"], header["false_alarm_rate"])
    for n, *hits in arrays["outside_batches"].tolist():
        test.add(n, hits)
    return test


def error_test_of(header: dict[str, Any], arrays: Arrays, least_probability: float) -> ErrorTest | None:
    """Return the test of errors that a file holds; None if it holds none.

    That of version 1 bets on all records alike, and all its records have labels.
    """
    rate = header["false_alarm_rate"]
    if "wrong_held_out" in arrays:
        held_out = arrays["wrong_held_out"]
        test = ErrorTest(ErrorParts.overall(len(held_out)), held_out, rate, least_probability)
        for n, *hits in arrays["wrong_batches"].tolist():
            views = [ModelView(n, 0, (np.arange(n) < wrong).astype(np.int64)) for wrong in hits]
            test.add(views, np.zeros(n, dtype=np.int64), None)
        return test
    if header.get("errors") is None:
        return None
    own = {name.removeprefix("errors_"): array for name, array in arrays.items() if name.startswith("errors_")}
    return ErrorTest.unpacked(header["errors"], own, rate, least_probability)
