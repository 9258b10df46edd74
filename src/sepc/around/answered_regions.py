"""AnsweredRegions: regions beside another model's answers, which are known."""

from typing import Any, Self

import numpy as np

from sepc.around.combining import combined
from sepc.around.trusted_model import TrustedModel, n_answer_columns
from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray
from sepc.common.validation import training_set
from sepc.estimators.base import TrustClassifier, as_it_was_on_error
from sepc.estimators.classifier import SEPClassifier


class AnsweredRegions(TrustClassifier):
    """Classifier of points as `TrustedClassifier.points` returns them: features, then another model's answers.

    It is what a `TrustedClassifier` is without the other model, which its points need no more: a monitor compares
    records by it, and fits it again.

    Parameters
    ----------
    keeps_labels : bool, default=True
        As in `TrustedModel`.
    features : sequence of str, optional
        Names of the features.
    classes : array-like of shape (n_classes,), optional
        Labels that the answers are of; those of y by default.
    class_prior, costs
        As for `SEPClassifier`.
    verbose : bool, default=False
        Whether to print progress.
    """

    model_: TrustedModel
    regions_: SEPClassifier

    def __init__(
        self,
        keeps_labels: bool = True,
        features: Any = None,
        classes: Any = None,
        class_prior: Any = None,
        costs: Any = None,
        verbose: bool = False,
    ) -> None:
        self.keeps_labels = keeps_labels
        self.features = features
        self.classes = classes
        self.class_prior = class_prior
        self.costs = costs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit regions to the features, and learn what answers and regions are worth together.

        Parameters
        ----------
        X : ndarray of shape (n, d + n_classes + 2)
            The answers are of a model that has not seen these records.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Multiplicity of each record.

        Returns
        -------
        self
        """
        with as_it_was_on_error(self):
            X = np.asarray(X, dtype=np.float64)
            whole = training_set(X[:, :-1], y, self)  # a model may give no probability of its labels, in the last one
            self.n_features_in_ = X.shape[1]
            labels = whole.classes[:10].tolist()
            if self.classes is not None and not np.array_equal(whole.classes, self.classes):
                raise InputError("answers-of-other-labels", labels=labels, classes=list(self.classes))
            d = X.shape[1] - n_answer_columns(len(whole.classes))
            values, features = X[:, :d], X[:, :d]
            if self.features is not None:
                features = FrameMaker().frame(dict(zip(self.features, values.T, strict=True)))
            regions = SEPClassifier(verbose=self.verbose).fit(features, y, sample_weight=sample_weight)
            judged = np.full(len(values), True)
            checked = whole._replace(X=values, features=list(regions.model_.features))
            nothing = np.empty((0, len(whole.classes) + 1))
            model = combined(regions, checked, X[:, d:], judged, keeps_labels=self.keeps_labels, fingerprint=nothing)
            self.regions_ = regions
            self._keep(model, FrameMaker(), checked)
        return self

    def _values(self, X: Any) -> FloatArray:
        return self.points(X)[:, : len(self.model_.features)]

    @property
    def partitions_(self) -> Any:
        """Partitions of the regions."""
        return self.regions_.partitions_
