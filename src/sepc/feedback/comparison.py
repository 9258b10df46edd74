"""Comparison of new records with held-out ones, both judged by models that have seen neither."""

from functools import cached_property
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.feedback.drift import SequentialRateTest
from sepc.feedback.error_parts import ErrorParts
from sepc.feedback.error_watch import ErrorTest
from sepc.feedback.held_out_models import (
    ModelView,
    models_without,
    outside_in_words,
    parts_of,
    require_new_records,
    training_of,
    view_by,
)
from sepc.feedback.watched import Watched
from sepc.model.assessment import Assessment
from sepc.model.density_model import DensityModel


class Comparison:
    """Models by which new records are compared with held-out ones.

    Parameters
    ----------
    watched : Watched
    folds : int
        Into how many parts the training set is split, each left out by one model; 0 for the watched classifier itself,
        which is compared by records that had no part in its training.
    """

    def __init__(self, watched: Watched, folds: int) -> None:
        self._watched, self._folds = watched, folds

    @cached_property
    def models(self) -> list[Any]:
        """The classifiers, made when they are first asked for."""
        watched = self._watched
        return models_without(watched.classifier, self._parts) if self._folds else [watched.classifier]

    @property
    def _parts(self) -> list[IntArray]:
        return parts_of(self._watched.model, self._folds)

    def views(self, rows: FloatArray, assessment: Assessment | None = None) -> list[ModelView]:
        """Return what each model says of records, given the assessment by the watched classifier if it is known."""
        own = self._watched.classifier
        return [view_by(model, rows, assessment if model is own else None) for model in self.models]

    def held_out(self) -> tuple[list[FloatArray], list[IntArray]]:
        """Return the training records that each model was made without, and their classes."""
        X, training = training_of(self._watched.model)
        return [X[part] for part in self._parts], [training.codes[part] for part in self._parts]

    def tests(
        self, rows: list[FloatArray], codes: list[IntArray] | None, false_alarm_rate: float, least_probability: float
    ) -> tuple[SequentialRateTest, ErrorTest | None]:
        """Return the tests of records outside and of errors, by what each model says of held-out records.

        Parameters
        ----------
        rows : list of ndarray of shape (n, d)
            Held-out records of each model.
        codes : list of ndarray of int, shape (n,), or None
            Their classes; None if they are not known, and there is no test of errors.
        false_alarm_rate, least_probability : float
        """
        if not self._folds:
            require_new_records(self._watched.model, rows[0])
        views = [view_by(model, some) for model, some in zip(self.models, rows, strict=True)]
        outside = np.array([[view.n_outside, view.n_complete] for view in views])
        outside_test = SequentialRateTest(outside_in_words(self._watched.model), outside, false_alarm_rate)
        if codes is None:
            return outside_test, None
        regions, expected = self._regions(rows, views), self._expected([len(some) for some in rows])
        parts = ErrorParts.of_held_out(self._watched.label_names(), views, regions, expected)
        return outside_test, ErrorTest(parts, parts.counts(views, codes), false_alarm_rate, least_probability)

    def _expected(self, n_held_out: list[int]) -> list[FloatArray] | None:
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

    def _regions(self, rows: list[FloatArray], views: list[ModelView]) -> list[Any] | None:
        """Return the regions of the watched classifier that records lie in, of the labels that the models give them."""
        model = self._watched.model
        if not isinstance(model, DensityModel):
            return None
        names = np.array(model.region_names(), dtype=object)
        of_all = zip(rows, views, strict=True)
        return [names[model.densities.claims_within(model.units(some), view.codes)] for some, view in of_all]
