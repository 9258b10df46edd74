"""What a monitor watches: a classifier, a pipeline that takes raw tables, or a classifier around another model."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment
from sepc.model.counts import records_are_missing
from sepc.model.fitted_model import FittedModel


class Watched:
    """A fitted classifier, a table pipeline, or a classifier around another model in its state when the watch begins.

    `classifier` is the classifier of points that decides, `model` the fitted model of it, `promise` the one that it has
    signed, or None.
    """

    def __init__(self, clf: Any) -> None:
        if hasattr(clf, "assess"):
            check_is_fitted(clf)
        if not hasattr(clf, "on_points"):
            raise InputError("clf-no-model", clf=clf)
        classifier = clf.on_points()
        if classifier.model_.records is None:
            raise records_are_missing("a FeedbackMonitor")
        self.clf, self.classifier, self.promise = clf, classifier, classifier.promise
        self.model: FittedModel = classifier.model_

    def require_unchanged(self) -> None:
        """Raise an `InputError` if the classifier was fitted again, or has signed another promise."""
        if self.clf.core.model_ is not self.model:
            raise InputError("fitted-again")
        if self.clf.promise != self.promise:
            raise InputError("promise-changed")

    def rows(self, X: Any) -> FloatArray:
        """Return records as points of the classifier, shape (n, d)."""
        return np.asarray(self.clf.points(X))

    def assessed(self, X: Any) -> tuple[Assessment, FloatArray]:
        """Return the classifier's assessment of records, and these as in `rows`."""
        rows = self.rows(X)
        return self.judged(rows), rows

    def judged(self, rows: FloatArray) -> Assessment:
        """Return the classifier's assessment of points."""
        assessment = self.model.assess(rows, FrameMaker())
        assessment.promise = self.promise
        return assessment

    def verdicts(self, X: Any, assessment: Assessment) -> Assessment:
        """Return the assessment by what is watched, given that by the classifier of points.

        Where tables are encoded, rows with unseen categories are strange, which points do not show.
        """
        return assessment if self.clf.table_encoder is None else self.clf.assess(X)

    def as_it_came(self, rows: FloatArray) -> Any:
        """Return the classifier's records under their feature names, if the training set had any."""
        names = getattr(self.classifier, "feature_names_in_", None)
        if names is None:
            return rows
        return self.frame({str(name): rows[:, j] for j, name in enumerate(names)})

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Return a frame of the same library as the training set."""
        return self.classifier.frame_maker.frame(columns)

    def with_classifier(self, classifier: Any) -> Any:
        """Return what is watched with another classifier of points."""
        made = self.clf.core.with_classifier(classifier)
        return made if self.clf.core is self.clf else self.clf.with_classifier(made)

    def label_names(self) -> list[str]:
        """Return the labels as texts."""
        return [str(label) for label in np.asarray(self.model.classes).tolist()]


def fingerprint(clf: Any) -> str:
    """Return a hash of everything that a monitor reads of a fitted classifier."""
    model: FittedModel = clf.model_
    settings = [repr(model.classes.tolist()), model.features, model.trust]
    arrays: list[Any] = [*model.scales.arrays, model.class_count, model.as_they_came()]
    assert model.records is not None  # or their points would have been missing
    arrays.append(model.records.codes)
    if model.partition is not None:
        settings.append([p.n_imp for p in clf.partitions_])
        for rules in model.partition.rules:
            ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
            arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
    else:
        arrays.append(clf.weights_)
        for member in clf.model_.members:
            for part in member.parts:
                arrays += [part.densities.coefficients, part.densities.log_weights]
    return key_of([json.dumps(settings)], arrays)
