"""Models fitted without a part of the training set, by which new records are compared with held-out ones."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from sepc.common.errors import InputError, SepcWarning
from sepc.common.splits import deal
from sepc.common.typing import FloatArray, IntArray
from sepc.model.assessment import Assessment
from sepc.model.partition_model import PartitionModel
from sepc.model.verdicts import Rule


def parts_of(model: PartitionModel, n_parts: int) -> list[IntArray]:
    """Split the training set, each class spread evenly; the same whatever order its rows came in.

    A class of one record is in no part, so that no model loses it.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> [len(part) for part in parts_of(model, 3)]
    [2, 2, 2]
    """
    place = np.argsort(np.random.default_rng(0).permutation(len(model.codes)))
    dealt = deal(model.codes, n_parts, order=lambda rows: rows[np.argsort(place[rows])])
    return [np.flatnonzero(dealt == k) for k in range(n_parts)]


def models_without(clf: Any, parts: list[IntArray]) -> list[Any]:
    """Return classifiers like `clf`, each fitted without one part of the training set.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
    >>> [int(one.class_count_.sum()) for one in models_without(clf, parts_of(clf._model, 3))]
    [4, 4, 4]
    """
    model: PartitionModel = clf._model
    X, y = model.original(model.training.as_they_came), model.classes[model.codes]
    models = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(y)), part)
        with warnings.catch_warnings():  # of few records: it was said of all of them
            warnings.simplefilter("ignore", SepcWarning)
            models.append(clone(clf).set_params(verbose=False).fit(X[rest], y[rest]))
    return models


def predicted_codes(model: PartitionModel, a: Assessment) -> IntArray:
    """Return the labels of an assessment as numbers of classes."""
    return np.searchsorted(model.classes, a.label)


def outside_and_wrong(model: PartitionModel, a: Assessment, codes: IntArray | None) -> tuple[int, int]:
    """Count the records outside every ellipsoid, and, if their true classes are known, the wrong verdicts.

    Of a record with missing values it may not be known where it lies: only complete ones count as outside.
    """
    wrong = 0 if codes is None else np.count_nonzero(predicted_codes(model, a) != codes)
    return int(np.count_nonzero((a.rule == Rule.R3.name) & (a.known == 1.0))), int(wrong)


def n_complete(a: Assessment) -> int:
    """Return of how many records all values are known."""
    return int(np.count_nonzero(a.known == 1.0))


def held_out_counts(model: PartitionModel, models: list[Any], parts: list[IntArray]) -> tuple[IntArray, IntArray]:
    """Return how many records are outside, and how many wrong, in the part that each model was fitted without.

    Returns
    -------
    outside, wrong : ndarray of int, shape (n_models, 2)
        How many, and out of how many: complete ones, and all.
    """
    X = model.original(model.training.as_they_came)
    outside, wrong = [], []
    for one, part in zip(models, parts, strict=True):
        if not len(part):
            outside.append([0, 0])
            wrong.append([0, 0])
            continue
        a = one.assess(X[part])
        counts = outside_and_wrong(model, a, model.codes[part])
        outside.append([counts[0], n_complete(a)])
        wrong.append([counts[1], len(part)])
    return np.array(outside), np.array(wrong)


def require_new_records(model: PartitionModel, X: FloatArray) -> None:
    """Refuse training records as a reference: they are inside by construction."""
    known = np.count_nonzero(model.training.recorded(model.units(X)))
    if 2 * known > len(X):
        raise InputError(
            f"reference has {known} training records among {len(X)}; expected records that had no part in training. "
            "Hold some records out, or leave reference out."
        )
