"""File of a saved monitor: its observations, and a fingerprint of the model that they belong to."""

import hashlib
import json
import os
from typing import Any

import numpy as np

from sepc.common.archive import Arrays, Format
from sepc.common.errors import InputError
from sepc.model.partition_model import PartitionModel

FORMAT = Format(
    "sepc feedback", 1, "FeedbackMonitor.save", remedy="Take a copy, or start a new monitor.", error=InputError
)


def fingerprint(clf: Any) -> str:
    """Return a text that two fitted classifiers share only if they are the same in all that a monitor reads.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
    >>> one, two, other = (fingerprint(SEPClassifier(n_imp=n).fit(X, y)) for n in (0, 0, 1))
    >>> one == two, one == other
    (True, False)
    """
    model: PartitionModel = clf._model
    allowed = [p.n_imp for p in clf.partitions_]
    settings = [repr(model.classes.tolist()), model.features, model.trust, allowed]
    if not model.grows:  # others keep the fingerprint that they had when all models grew their ellipsoids
        settings.append("as found")
    digest = hashlib.sha256(json.dumps(settings).encode())
    arrays: list[Any] = [model.mean, model.scale, model.class_count, model.training.as_they_came, model.codes]
    for rules in model.rules:
        ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
        arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def read(path: str | os.PathLike[str], fingerprint: str) -> tuple[dict[str, Any], Arrays]:
    """Read a file that belongs to the model with this fingerprint."""
    header, arrays = FORMAT.read(path)
    if header.get("fingerprint") != fingerprint:
        raise InputError(
            f"{str(path)!r} holds what was observed with another model than clf; expected the classifier that the "
            "monitor was made for. Load that one, or start a new monitor."
        )
    return header, arrays
