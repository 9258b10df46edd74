"""Comparison of new records with held-out ones, both judged by models that have seen neither.

The models are fitted without a fold of the training set, or are the watched classifier itself where there is a
reference of records that had no part in its training.
"""

import warnings
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sepc.common.errors import InputError, SepcWarning
from sepc.common.frames import FrameMaker
from sepc.common.splits import stratified_parts
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.feedback.watched import Watched
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.model.fitted_model import FittedModel, TrainingRecords
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.model.verdicts import Rule


class ModelView(NamedTuple):
    """Verdicts of one model on n records, as far as a monitor compares models by them.

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
    """Return the verdicts of a classifier on records, given its assessment of them where that is known."""
    model: FittedModel = clf.model_
    complete, outside, codes = _verdicts(clf, rows, assessment)
    counts = int(np.count_nonzero(complete)), int(np.count_nonzero(outside & complete))
    if not isinstance(model, DensityModel):
        return ModelView(*counts, codes)
    return ModelView(*counts, codes, model.densities.claims_within(model.units(rows), codes), model.densities.codes)


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


def is_outside(model: FittedModel, records: Any) -> BoolArray:
    """Return which records are outside every ellipsoid; by an ensemble, which has none of its own, which are strange.

    They come as an `Assessment`, or as a `Decision` of an ensemble.
    """
    if isinstance(model, PartitionModel):
        return np.asarray(records.rule == Rule.R3.name)
    return (
        np.zeros(len(records.trust), dtype=bool)
        if records.typicality is None
        else np.asarray(records.typicality < STRANGE)
    )


def outside_in_words(model: FittedModel) -> str:
    """Return the condition of `is_outside` as a text."""
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
    fold = stratified_parts(codes, n_parts, order=lambda rows: rows[np.argsort(place[rows])])
    return [np.flatnonzero(fold == k) for k in range(n_parts)]


def models_without(clf: Any, parts: list[IntArray]) -> list[Any]:
    """Return classifiers like `clf`, each fitted without one part of the training set; the same ones each time."""
    X, training = training_of(clf.model_)
    y = clf.model_.classes[training.codes]
    settings: dict[str, Any] = {"verbose": False, "class_prior": None, "costs": None}
    if not isinstance(clf.get_params().get("random_state", 0), int):
        settings["random_state"] = 0  # a monitor that goes on makes them again
    models = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(y)), part)
        with warnings.catch_warnings():  # of few records: the fit of all of them has warned
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


class Comparison:
    """Models by which new records are compared with held-out ones.

    Parameters
    ----------
    watched : Watched
    folds : int
        Into how many folds the training set is split, each held out from one model; 0 for the watched classifier
        itself, which is compared by records that had no part in its training.
    """

    def __init__(self, watched: Watched, folds: int) -> None:
        self._watched, self._folds = watched, folds

    @cached_property
    def models(self) -> list[Any]:
        """The classifiers, made when they are first asked for."""
        classifier = self._watched.classifier
        return models_without(classifier, self._parts) if self._folds else [classifier]

    @property
    def _parts(self) -> list[IntArray]:
        return parts_of(self._watched.model, self._folds)

    def views(self, rows: FloatArray, assessment: Assessment | None = None) -> list[ModelView]:
        """Return the verdicts of each model on records, given the assessment by the watched classifier if known."""
        own = self._watched.classifier
        return [view_by(model, rows, assessment if model is own else None) for model in self.models]

    def held_out_views(self, rows: list[FloatArray]) -> list[ModelView]:
        """Return the verdicts of each model on held-out records of its own."""
        return [view_by(model, some) for model, some in zip(self.models, rows, strict=True)]

    def held_out(self) -> tuple[list[FloatArray], list[IntArray]]:
        """Return the training records that each model was made without, and their classes."""
        X, training = training_of(self._watched.model)
        return [X[part] for part in self._parts], [training.codes[part] for part in self._parts]

    def expected(self, n_held_out: list[int]) -> list[FloatArray] | None:
        """Return how many held-out records each model's regions can be expected to have, by their training records."""
        found = []
        for clf, n in zip(self.models, n_held_out, strict=True):
            model = clf.model_
            if not isinstance(model, DensityModel):
                return None
            n_training = int(model.class_count.sum())
            sizes = [model.densities.size(c, n_training) for c in range(len(model.densities.codes))]
            found.append(np.array(sizes) * n / n_training)
        return found

    def regions(self, rows: list[FloatArray], views: list[ModelView]) -> list[Any] | None:
        """Return the regions of the watched classifier that records lie in, of the labels that the models give them."""
        model = self._watched.model
        if not isinstance(model, DensityModel):
            return None
        names = np.array(model.region_names(), dtype=object)
        of_all = zip(rows, views, strict=True)
        return [names[model.densities.claims_within(model.units(some), view.codes)] for some, view in of_all]
