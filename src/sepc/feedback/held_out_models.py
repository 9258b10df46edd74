"""Models fitted without a part of the training set, by which new records are compared with held-out ones."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import FrameMaker
from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.model.fitted_model import FittedModel, TrainingRecords
from sepc.model.partition_model import PartitionModel
from sepc.model.verdicts import Rule


class ModelView(NamedTuple):
    """What one model says of n records, as far as a monitor compares models by it.

    Attributes
    ----------
    n_complete, n_outside : int
        Records without missing values, and those of them that are outside: see `is_outside`.
    codes : ndarray of int, shape (n,)
        Numbers of the labels given.
    components : ndarray of int, shape (n,), or None
        Of the label's components in the model's densities the one that each record most likely belongs to; None
        where regions have none.
    component_codes : ndarray of int, shape (n_components,)
        Classes of all components; empty where there are none.
    """

    n_complete: int
    n_outside: int
    codes: IntArray
    components: IntArray | None = None
    component_codes: IntArray = np.empty(0, dtype=np.int64)


def view_by(clf: Any, rows: FloatArray, assessment: Assessment | None = None) -> ModelView:
    """Return what a classifier says of records.

    Parameters
    ----------
    clf : SEPClassifier or SEPEnsembleClassifier
    rows : ndarray of shape (n, d)
    assessment : Assessment, optional
        Of these records by this classifier, where it is known.
    """
    model: FittedModel = clf.model_
    densities = model.densities if isinstance(model, PartitionModel) else None
    complete, outside, codes = _verdicts(clf, rows, assessment)
    counts = int(np.count_nonzero(complete)), int(np.count_nonzero(outside & complete))
    if densities is None:
        return ModelView(*counts, codes)
    return ModelView(*counts, codes, densities.claims_within(model.units(rows), codes), densities.codes)


def _verdicts(clf: Any, rows: FloatArray, a: Assessment | None) -> tuple[BoolArray, BoolArray, IntArray]:
    """Return which records are complete, which are outside, and the numbers of their labels, each of shape (n,)."""
    model: FittedModel = clf.model_
    if not len(rows):  # a training set may have fewer records than folds
        nothing = np.empty(0, dtype=np.int64)
        return nothing.astype(bool), nothing.astype(bool), nothing
    if a is None and not isinstance(model, PartitionModel):  # it takes long to look regions up, and none is asked for
        decision = model.decide(rows)
        complete = np.ones(len(rows), dtype=bool) if decision.known is None else decision.known == 1.0
        return complete, is_outside(model, decision), decision.label
    a = model.assess(rows, FrameMaker()) if a is None else a
    return a.known == 1.0, is_outside(model, a), predicted_codes(model, a)


def is_outside(model: FittedModel, said: Any) -> BoolArray:
    """Return which records are outside every ellipsoid; by an ensemble, which has none of its own, which are strange.

    Parameters
    ----------
    model : FittedModel
    said : Assessment or Decision
        The latter of an ensemble alone.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    if isinstance(model, PartitionModel):
        return np.asarray(said.rule == Rule.R3.name)
    return np.zeros(len(said.trust), dtype=bool) if said.typicality is None else np.asarray(said.typicality < STRANGE)


def outside_in_words(model: FittedModel) -> str:
    """Return what `is_outside` tells, as a text."""
    return "outside every ellipsoid" if isinstance(model, PartitionModel) else "strange"


def training_of(model: FittedModel) -> tuple[FloatArray, TrainingRecords]:
    """Return the training records in the units that they came in, shape (n, d), and all that is kept of them."""
    assert model.records is not None  # a monitor refuses models without
    return model.original(model.records.as_they_came), model.records


def parts_of(model: FittedModel, n_parts: int) -> list[IntArray]:
    """Split the training set, each class spread evenly; the same whatever order its rows came in.

    A class of one record is in no part, so that no model loses it.
    """
    codes = training_of(model)[1].codes
    place = np.argsort(np.random.default_rng(0).permutation(len(codes)))
    dealt = deal(codes, n_parts, order=lambda rows: rows[np.argsort(place[rows])])
    return [np.flatnonzero(dealt == k) for k in range(n_parts)]


def models_without(clf: Any, parts: list[IntArray]) -> list[Any]:
    """Return classifiers like `clf`, each fitted without one part of the training set; the same ones each time."""
    X, training = training_of(clf.model_)
    y = clf.model_.classes[training.codes]
    settings: dict[str, Any] = {"verbose": False, "class_prior": None, "costs": None}
    if not isinstance(clf.get_params().get("random_state", 0), int):
        settings["random_state"] = 0  # a monitor that was saved makes them again
    models = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(y)), part)
        with warnings.catch_warnings():  # of few records: it was said of all of them
            warnings.simplefilter("ignore", SepcWarning)
            models.append(clone(clf).set_params(**settings).fit(X[rest], y[rest]))
    return models


def predicted_codes(model: FittedModel, a: Assessment) -> IntArray:
    """Return the labels of an assessment as numbers of classes."""
    return np.searchsorted(model.classes, a.label)


def require_new_records(model: FittedModel, X: FloatArray) -> None:
    """Refuse training records as a reference: they are inside by construction."""
    known = np.count_nonzero(training_of(model)[1].recorded(model.units(X)))
    if 2 * known > len(X):
        raise InputError(
            f"reference has {known} training records among {len(X)}; expected records that had no part in training. "
            "Hold some records out, or leave reference out."
        )
