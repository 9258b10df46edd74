"""The classifier that a monitor watches: itself, or as the last step of a pipeline that takes raw tables."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.common.validation import new_points
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment
from sepc.model.counts import records_are_missing
from sepc.model.fitted_model import FittedModel
from sepc.model.partition_model import PartitionModel


class Watched:
    """A fitted classifier, or a table pipeline, in its state when the watch begins.

    `classifier` is the classifier itself, or that of the pipeline, `model` the fitted model of it, `promise` the one
    that it has signed, or None.
    """

    def __init__(self, clf: Any) -> None:
        if hasattr(clf, "assess"):
            check_is_fitted(clf)
        # Packages above this one make pipelines; they are recognised by their methods.
        self._encoder = clf["columns"] if hasattr(clf, "with_classifier") else None
        classifier = clf if self._encoder is None else clf["classifier"]
        if not hasattr(classifier, "assess"):
            raise InputError("clf-no-model", clf=clf)
        if classifier.model_.records is None:
            raise records_are_missing("a FeedbackMonitor")
        self.clf, self.classifier, self.promise = clf, classifier, classifier.promise
        self.model: FittedModel = classifier.model_

    def require_unchanged(self) -> None:
        """Raise an `InputError` if the classifier was fitted again, or has signed another promise."""
        if self.classifier.model_ is not self.model:
            raise InputError("fitted-again")
        if self.classifier.promise != self.promise:
            raise InputError("promise-changed")

    def _features(self, X: Any) -> Any:
        return X if self._encoder is None else self._encoder.transform(X)

    def rows(self, X: Any) -> FloatArray:
        """Return records as numbers in the classifier's features, shape (n, d)."""
        return new_points(self.classifier, self._features(X))

    def assessed(self, X: Any) -> tuple[Assessment, FloatArray]:
        """Return the classifier's assessment of records, and these as in `rows`."""
        features = self._features(X)
        return self.classifier.assess(features), new_points(self.classifier, features)

    def verdicts(self, X: Any, assessment: Assessment) -> Assessment:
        """Return the assessment by the classifier or the pipeline, given that by the classifier.

        A pipeline marks rows with unseen categories as strange, which its classifier cannot know.
        """
        return assessment if self._encoder is None else self.clf.assess(X)

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
        """Return another classifier, in the pipeline if there is one."""
        return classifier if self._encoder is None else self.clf.with_classifier(classifier)

    def label_names(self) -> list[str]:
        """Return the labels as texts."""
        return [str(label) for label in np.asarray(self.model.classes).tolist()]


def fingerprint(clf: Any) -> str:
    """Return a hash of everything that a monitor reads of a fitted classifier."""
    model: FittedModel = clf.model_
    settings = [repr(model.classes.tolist()), model.features, model.trust]
    arrays: list[Any] = [*model.scales.arrays, model.class_count]
    if isinstance(model, PartitionModel):
        settings.append([p.n_imp for p in clf.partitions_])
        arrays += [model.training.as_they_came, model.codes]
        for rules in model.rules:
            ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
            arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
    else:
        assert model.records is not None
        arrays += [model.records.as_they_came, model.records.codes, clf.weights_]
        for member in clf.model_.members:
            for part in member.parts:
                arrays += [part.densities.coefficients, part.densities.log_weights]
    return key_of([json.dumps(settings)], arrays)
