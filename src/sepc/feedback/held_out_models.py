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
from sepc.model.partition_model import DensityModel
from sepc.model.verdicts import Rule


class ModelView(NamedTuple):
    """Verdicts of one model on n records, as far as a monitor compares models by them.

    `n_complete` counts the records without missing values, `n_outside` those of them that are outside: see
    `is_outside`. `codes`, of shape (n,), are the numbers of the labels given, `components` those of the label's most
    probable components in the model's densities, None where regions have none; `component_codes`, of shape
    (n_components,), are the classes of all components. `scores`, of shape (n, 2), are typicality and trust.
    """

    n_complete: int
    n_outside: int
    codes: IntArray
    components: IntArray | None = None
    component_codes: IntArray = np.empty(0, dtype=np.int64)
    scores: FloatArray = np.empty((0, 0))


def view_by(clf: Any, rows: FloatArray, assessment: Assessment | None = None) -> ModelView:
    """Return the verdicts of a classifier on records, given its assessment of them where that is known."""
    model: FittedModel = clf.model_
    a = model.assess(rows, FrameMaker()) if assessment is None else assessment
    complete, codes = a.known == 1.0, predicted_codes(model, a)
    counts = int(np.count_nonzero(complete)), int(np.count_nonzero(is_outside(model, a) & complete))
    view = ModelView(*counts, codes, scores=np.column_stack([a.typicality, a.trust]))
    if not isinstance(model.partition, DensityModel):
        return view
    densities = model.partition.densities
    return view._replace(components=densities.claims_within(model.units(rows), codes), component_codes=densities.codes)


def is_outside(model: FittedModel, a: Assessment) -> BoolArray:
    """Return which records are outside every ellipsoid; by an ensemble, which has none, which are strange."""
    outside = a.typicality < STRANGE if model.partition is None else a.rule == Rule.R3.name
    return np.asarray(outside)


def outside_in_words(model: FittedModel) -> str:
    """Return the condition of `is_outside` as a text."""
    return "strange" if model.partition is None else "outside every ellipsoid"


def training_of(model: FittedModel) -> tuple[FloatArray, TrainingRecords]:
    """Return the training records as points to judge, shape (n, d), and all that is kept of them."""
    return model.as_they_came(), _kept(model)


def _kept(model: FittedModel) -> TrainingRecords:
    assert model.records is not None  # a monitor refuses models without
    return model.records


def _places(n: int) -> IntArray:
    """Return a place for each of n training records, in a random order that is always the same."""
    return np.argsort(np.random.default_rng(0).permutation(n))


def representative_rows(model: FittedModel) -> IntArray:
    """Return rows of the kept training records among which classes have the shares of the whole training set.

    All rows, unless the records that are kept of a large training set have more than their share of small classes.
    """
    codes = _kept(model).codes
    kept = np.bincount(codes, minlength=len(model.class_count))
    taken = np.floor(np.min(kept / model.class_count) * model.class_count + 1e-9)
    place = _places(len(codes))
    rows = [np.flatnonzero(codes == k) for k in range(len(kept))]
    some = [mine[np.argsort(place[mine])[: int(n)]] for mine, n in zip(rows, taken.tolist(), strict=True)]
    return np.sort(np.concatenate(some))


def parts_of(model: FittedModel, n_parts: int) -> list[IntArray]:
    """Split the representative training records into stratified parts that do not depend on the order of rows.

    A class of one record is in no part, so that no model loses it.
    """
    codes = _kept(model).codes
    place = _places(len(codes))
    fold = stratified_parts(codes, n_parts, order=lambda rows: rows[np.argsort(place[rows])])
    some = representative_rows(model)
    return [some[fold[some] == k] for k in range(n_parts)]


def models_without(clf: Any, parts: list[IntArray]) -> list[Any]:
    """Return classifiers like `clf`, each fitted without one part of the training set; deterministic."""
    X, training = training_of(clf.model_)
    y = clf.model_.classes[training.codes]
    settings: dict[str, Any] = {"verbose": False, "class_prior": None, "costs": None}
    if not isinstance(clf.get_params().get("random_state", 0), int):
        settings["random_state"] = 0  # a resumed monitor fits them again
    models = []
    for part in parts:
        rest = np.setdiff1d(np.arange(len(y)), part)
        with warnings.catch_warnings():  # on few records: the fit of all of them has warned
            warnings.simplefilter("ignore", SepcWarning)
            models.append(clone(clf).set_params(**settings).fit(X[rest], y[rest]))
    return models


def predicted_codes(model: FittedModel, a: Assessment) -> IntArray:
    """Return the labels of an assessment as numbers of classes."""
    return np.searchsorted(model.classes, a.label)


def require_new_records(model: FittedModel, X: FloatArray) -> None:
    """Refuse training records as a reference: they are inside by construction."""
    known = np.count_nonzero(_kept(model).recorded(model.units(X)))
    if 2 * known > len(X):
        raise InputError("reference-has-training-records", n_known=known, n_rows=len(X))


class Reference(NamedTuple):
    """What observed records are compared with.

    `records`, of shape (n, d), are in the units of the model; `class_counts`, of shape (n_classes,), are None where
    classes are not known; `views` are those of held-out records by each model.
    """

    records: FloatArray
    class_counts: IntArray | None
    views: list[ModelView]


class Comparison:
    """Models by which new records are compared with held-out ones.

    Each is fitted without one of `folds` folds of the training set; with 0 folds there is the watched classifier alone,
    which is compared by records that had no part in its training.
    """

    def __init__(self, watched: Watched, folds: int) -> None:
        self._watched, self._folds = watched, folds

    @cached_property
    def models(self) -> list[Any]:
        """The classifiers, fitted on first use."""
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
        """Return the held-out training records of each model, and their classes."""
        X, training = training_of(self._watched.model)
        return [X[part] for part in self._parts], [training.codes[part] for part in self._parts]

    def reference(self, rows: list[FloatArray], codes: list[IntArray] | None, views: list[ModelView]) -> Reference:
        """Return what observed records are compared with, given held-out records, their classes and views."""
        model = self._watched.model
        counts = None if codes is None else np.bincount(np.concatenate(codes), minlength=len(model.classes))
        if not self._folds:
            return Reference(model.units(rows[0]), counts, views)
        training, some = _kept(model), representative_rows(model)
        counts = np.bincount(training.codes[some], minlength=len(model.classes))
        return Reference(training.as_they_came[some], counts, views)

    def expected(self, n_held_out: list[int]) -> list[FloatArray] | None:
        """Return the expected numbers of held-out records in each model's regions, by their training records."""
        found = []
        for clf, n in zip(self.models, n_held_out, strict=True):
            model = clf.model_.partition
            if not isinstance(model, DensityModel):
                return None
            n_training = int(model.class_count.sum())
            sizes = [model.densities.size(c, n_training) for c in range(len(model.densities.codes))]
            found.append(np.array(sizes) * n / n_training)
        return found

    def regions(self, rows: list[FloatArray], views: list[ModelView]) -> list[Any] | None:
        """Return the regions of the watched classifier that records belong to, given the models' labels."""
        model = self._watched.model
        if not isinstance(model.partition, DensityModel):
            return None
        names, densities = np.array(model.partition.region_names(), dtype=object), model.partition.densities
        of_all = zip(rows, views, strict=True)
        return [names[densities.claims_within(model.units(some), view.codes)] for some, view in of_all]
