"""TrustedClassifier: trust, refusal, reasons and promises around any classifier."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc.around.answered_regions import AnsweredRegions
from sepc.around.answers import AnswerReader, Answers, codes_of
from sepc.around.combining import combined, neutral_answers
from sepc.around.cross_fitting import (
    CrossFits,
    as_it_can_be_split,
    checked_labels,
    cross_fitted,
    fitted_to,
    fresh,
    splits_of,
)
from sepc.around.encoding import Encoding, without_columns
from sepc.around.explaining import ExplainingMixin
from sepc.around.given_scores import GivenScores
from sepc.around.probes import probes_of
from sepc.around.trusted_model import TrustedModel, n_answer_columns
from sepc.common.errors import InputError, SepcError
from sepc.common.frames import FrameMaker, as_frame
from sepc.common.sample_weights import copies_by_weight
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import TrainingSet, new_points, training_set
from sepc.estimators.base import TrustClassifier, as_it_was_on_error
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.progress import Progress, with_callbacks
from sepc.model.assessment import Assessment

LABELS = ("model", "joint")
# What a classifier keeps beside its model.
_KEPT = ("_frames", "_digests", "_calibration", "_promise", "_change_limits")


class TrustedClassifier(ExplainingMixin, MetaEstimatorMixin, TrustClassifier):  # type: ignore[misc]
    """Trust around another classifier: when to believe it, by its own answers and by where records lie.

    The estimator is fitted to all records, and our regions beside it. Refits of it, each without a part of the records,
    show what its probabilities are worth; the trust in a label is the probability by both that it is right. Records
    that are strange to the regions are refused, whatever the estimator says.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn's kind. Without `predict_proba` it is asked by `decision_function`, else by its
        labels alone. A `sklearn.frozen.FrozenEstimator` is not fitted: the records must be held-out ones, which it has
        not learnt from; so must they be for `GivenScores`.
    cv : int or splitter, default=5
        Number of refits, or a splitter of scikit-learn.
    labels : {"model", "joint"}, default="model"
        Whose labels to give. With "model" those of the estimator; where another label is more likely with the regions,
        the reason is ``disagreement`` and the label is not accepted. With "joint" the likeliest label by both, which is
        right more often.
    encoder : transformer or callable, default=None
        Makes the numbers of which regions are made from what the estimator takes: raw tables, texts, images. A callable
        may be the embedding of a network; beyond 100 columns are reduced to 32 principal components. None: frames are
        encoded by `sepc.tables.TableEncoder`, arrays stay as they are.
    class_prior : dict or array-like of shape (n_classes,), default=None
        Class priors where predictions are made, as `under` takes them; None for those of the training set.
    costs : dict or array-like, default=None
        ``costs[true][given]``, as `under` takes them; None where all errors are alike.
    n_jobs : int or None, default=None
        Number of refits at a time. The result does not depend on it.
    verbose : bool, default=False
        Whether to print progress to the standard error stream.

    Attributes
    ----------
    estimator_ : classifier or None
        The fitted estimator; None in a classifier that was loaded without it.
    regions_ : SEPClassifier
        The regions, as a classifier of the encoded features.
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of int, shape (n_classes,)
    weights_ : ndarray of shape (2,)
        Weights of the estimator's log odds and of those of the regions.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (d,)
        Where the training set had names.
    model_ : TrustedModel
        Answers and regions combined.

    See Also
    --------
    SEPClassifier : The regions by themselves.
    sepc.landscapes.error_landscape : Where any classifier is wrong more often than elsewhere.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = TrustedClassifier(RandomForestClassifier(50, random_state=0), cv=3).fit(X[::2], y[::2])
    >>> a = clf.assess(X[1::2])
    >>> bool((a.label == clf.estimator_.predict(X[1::2])).all())
    True
    >>> bool((a.label == y[1::2])[a.accepted()].mean() > (a.label == y[1::2]).mean())
    True
    """

    model_: TrustedModel
    estimator_: Any
    regions_: SEPClassifier
    _encoding: Encoding
    _reader: AnswerReader
    _probes: Any = None
    _probe_features: FloatArray | None = None  # of a file, to check an encoder by
    _was_frozen = False  # of an estimator that a file does not hold

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        labels: str = "model",
        encoder: Any = None,
        class_prior: Any = None,
        costs: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.labels = labels
        self.encoder = encoder
        self.class_prior = class_prior
        self.costs = costs
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the estimator and the regions, and learn from refits what both are worth.

        Interrupting it leaves the classifier as it was.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            What the estimator takes.
        y : array-like of shape (n,)
            Two or more different labels: texts, numbers, or all of another type; none missing.
        sample_weight : array-like of shape (n,), optional
            Passed to the estimator, if its `fit` takes it; else, and for the regions, multiplicity of each record.
        **params
            Passed to the estimator's `fit`, or as scikit-learn's metadata routing says.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).predict([[0.5]]).tolist()
        ['low']
        """
        with as_it_was_on_error(self):
            self._check_parameters()
            X = as_it_can_be_split(X)
            y, weight, taken = checked_labels(X, y, sample_weight)
            routed, of_splitter = self._routed(weight, params)
            encoding, checked, features = self._encoded(X, y)
            self._policy(checked.classes, np.ones(len(checked.classes), dtype=np.int64))  # refuses what cannot be
            progress = Progress(self, ["fit"], bool(self.verbose), "parts done")
            regions = SEPClassifier(verbose=bool(self.verbose)).fit(features, y, sample_weight=weight)
            progress.of(0)(1, 3)
            splits = splits_of(self.cv, checked, X, y, taken, of_splitter)
            copies = self._copies(weight, checked)
            estimator = fitted_to(fresh(self.estimator), X, y, taken, routed, copies)
            progress.of(0)(2, 3)
            if self._is_fitted_already:
                fits = CrossFits.without_refits(estimator, X, checked.classes)
            else:
                fits = cross_fitted(self.estimator, X, y, checked.classes, splits, routed, copies, self.n_jobs)
            rows = regions.model_.training.rows
            reader, answers, judged = _read(fits, checked.codes, regions.class_count_, rows)
            probes, fingerprint = None, np.empty((0, len(checked.classes) + 1))
            if not isinstance(estimator, GivenScores):  # whose columns say all that is to be known of it
                probes = probes_of(X, rows)
                fingerprint = reader.fingerprint(estimator, probes, checked.classes)
            keeps_labels = self.labels == "model"
            model = combined(regions, checked, answers, judged, keeps_labels=keeps_labels, fingerprint=fingerprint)
            progress.finish()
            if encoding.is_table and regions.columns_read_ is not None:
                checked = self._read_alone(X, encoding, regions, checked)
            # Only now, with nothing left to interrupt, does the classifier change.
            self.estimator_, self.regions_, self._encoding, self._reader = estimator, regions, encoding, reader
            self._keep(model, FrameMaker.like(X), checked)
            self._probes, self.weights_, self.row_numbers_ = probes, model.stack.weights, None
        return self

    def _check_parameters(self) -> None:
        if self.labels not in LABELS:
            raise InputError("labels-of", labels=self.labels)
        if not hasattr(self.estimator, "predict"):
            raise InputError("estimator-no-classifier", estimator=self.estimator)

    @property
    def _is_fitted_already(self) -> bool:
        return isinstance(self.estimator, (FrozenEstimator, GivenScores))

    def _routed(
        self, weight: FloatArray | None, params: Mapping[str, Any]
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the parameters of the estimator's `fit`, and those of the splitter's `split`."""
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=weight, **params)
            return routed.estimator.fit, routed.splitter.split
        own = dict(params)
        if weight is not None and self._takes_weights:
            own["sample_weight"] = weight
        return own, {}

    @property
    def _takes_weights(self) -> bool:
        return _routing_enabled() or "sample_weight" in signature(self.estimator.fit).parameters

    def _copies(self, weight: FloatArray | None, checked: TrainingSet) -> IntArray | None:
        """Return how often records are repeated for an estimator that takes no weights; None if they are not."""
        if weight is None or self._takes_weights:
            return None
        return copies_by_weight(weight, checked.X, checked.codes, checked.classes)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata: to the estimator's `fit`, and to the splitter.

        Returns
        -------
        MetadataRouter

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> type(TrustedClassifier(LogisticRegression()).get_metadata_routing()).__name__
        'MetadataRouter'
        """
        fits, splits = (
            MethodMapping().add(caller="fit", callee="fit"),
            MethodMapping().add(caller="fit", callee="split"),
        )
        router = MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=fits)
        return router.add(splitter=self.cv, method_mapping=splits)

    def _encoded(self, X: Any, y: NDArray[Any]) -> tuple[Encoding, TrainingSet, Any]:
        """Return the encoding, the checked features as numbers, and as they go to the regions."""
        if self.encoder is None and as_frame(X) is None:
            checked = training_set(X, y, self)
            return Encoding(), checked, checked.X
        validate_data(self, X, skip_check_array=True)
        beside = without_columns(X, self._answer_columns(self.estimator))
        encoding = Encoding.learnt(self.encoder, beside, y)
        features = encoding.features(beside)
        return encoding, training_set(features, y, allow_nan=True), features

    def _read_alone(self, X: Any, encoding: Encoding, regions: SEPClassifier, checked: TrainingSet) -> TrainingSet:
        """Leave the columns of a wide table that the regions do not read out of the encoder; return their features."""
        assert regions.columns_read_ is not None
        checked, encoder = checked.of_columns(regions.columns_read_), encoding.encoder
        encoder._leave_out(without_columns(X, self._answer_columns(self.estimator)), regions.model_.features)
        regions._read_all_of(encoder.get_feature_names_out().tolist())
        return checked

    @staticmethod
    def _answer_columns(estimator: Any) -> list[str]:
        return estimator.columns if isinstance(estimator, GivenScores) else []

    def _features(self, X: Any) -> Any:
        """Return the features of new records, as the regions take them."""
        if self._encoding.encoder is None:
            return new_points(self, X)
        if self.table_encoder is None and not self.answer_columns:  # our encoder checks columns itself
            validate_data(self, X, reset=False, skip_check_array=True)
        return self._encoding.features(self._beside(X))

    def _beside(self, X: Any) -> Any:
        """Return new records without the columns of answers."""
        return without_columns(X, self.answer_columns)

    @property
    def answer_columns(self) -> list[str]:
        """Columns that hold the estimator's answers, where it is a `GivenScores`."""
        return self._answer_columns(self.estimator_)

    @property
    def row_numbers_(self) -> IntArray | None:
        """Numbers of the training rows in their file, from 1, where some were left out; new regions have none."""
        return getattr(self.regions_, "_row_numbers", None)

    @row_numbers_.setter
    def row_numbers_(self, numbers: IntArray | None) -> None:
        regions: Any = self.regions_
        regions._row_numbers = numbers

    @property
    def encoder_(self) -> Any:
        """The fitted encoder, which `load` takes again; None where records are features already."""
        check_is_fitted(self)
        return self._encoding.encoder

    def _values(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return np.asarray(self._features(X), dtype=np.float64)

    def points(self, X: Any, scores: Any = None) -> FloatArray:
        """Return checked records as `model_` takes them: their features, and what the estimator says.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            What the estimator takes.
        scores : array-like of shape (n, n_classes) or (n,), optional
            What the estimator says of them, where that is known: its probabilities (or values), or its labels.

        Returns
        -------
        ndarray of shape (n, d + n_classes + 2)

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).points([[0.5]]).shape
        (1, 5)
        """
        features = self.features(X)
        answers = self.answers(X) if scores is None else self._reader.given(scores, self.classes_, len(features))
        return np.column_stack([features, self._reader.columns(answers)])

    def features(self, X: Any) -> FloatArray:
        """Return the features of records, as the model of the regions takes them.

        Parameters
        ----------
        X : array-like of shape (n, ...)

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).features([[0.5]]).tolist()
        [[0.5]]
        """
        check_is_fitted(self)
        features = self._features(X)
        if self._encoding.encoder is None and self.regions_.columns_read_ is None:
            return np.asarray(features)  # checked already
        return new_points(self.regions_, features)

    def answers(self, X: Any) -> Answers:
        """Return what the estimator says of records.

        Parameters
        ----------
        X : array-like of shape (n, ...)

        Returns
        -------
        Answers
            `raw`, shape (n, n_classes), and `codes`, shape (n,).

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).answers([[0.5]]).codes.tolist()
        [1]
        """
        return self._reader.ask(self._estimator(), as_it_can_be_split(X), self.classes_)

    def _estimator(self) -> Any:
        if not hasattr(self, "model_"):  # asked so, for `check_is_fitted` takes a while
            check_is_fitted(self)
        if self.estimator_ is None:
            raise SepcError("estimator-missing", estimator=self.estimator_name)
        return self.estimator_

    def _named(self) -> Any:
        """Return the estimator, or from a file without it its name."""
        estimator = getattr(self, "estimator_", None)
        estimator = self.estimator if estimator is None else estimator
        while isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        return estimator

    @property
    def estimator_name(self) -> str:
        """Class of the estimator, as messages and reports name it."""
        return _name_of(self._named())

    @property
    def model_name(self) -> str:
        """The same for texts: of a pipeline the class of its last step; "the model" where its answers are columns."""
        estimator = self._named()
        while isinstance(estimator, (FrozenEstimator, Pipeline)):
            estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator.estimator
        return "the model" if isinstance(estimator, GivenScores) else _name_of(estimator)

    @property
    def table_encoder(self) -> Any:
        """The encoder of raw tables, ours by default or as passed; None where records are encoded otherwise."""
        encoding: Encoding | None = getattr(self, "_encoding", None)
        return encoding.encoder if encoding is not None and encoding.is_table else None

    def on_points(self) -> AnsweredRegions:
        """Return the classifier of `points` that this one is without the estimator."""
        names = self.regions_.model_.features if hasattr(self.regions_, "feature_names_in_") else None
        inner = AnsweredRegions(self.model_.keeps_labels, names, self.classes_, self.class_prior, self.costs)
        for name in ("model_", "regions_", "classes_", "class_count_", "about_", *_KEPT):
            setattr(inner, name, getattr(self, name))
        inner.n_features_in_ = len(self.model_.features) + n_answer_columns(len(self.classes_))
        return inner

    def with_classifier(self, inner: AnsweredRegions) -> Self:
        """Return the same classifier, with the same estimator, of another fit of `on_points`."""
        other = copy(self)
        for name in ("model_", "regions_", "classes_", "class_count_", "about_", *_KEPT):
            setattr(other, name, getattr(inner, name))
        other.model_ = replace(inner.model_, fingerprint=self.model_.fingerprint)
        other.weights_ = other.model_.stack.weights
        return other

    @property
    def by_regions(self) -> SEPClassifier:
        """The classifier of the regions."""
        return self.regions_

    @property
    def partitions_(self) -> Any:
        """Partitions of the regions."""
        return self.regions_.partitions_

    @property
    def landscape_(self) -> Any:
        """The landscape of the training set, by the regions.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> len(TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).landscape_.regions)
        2
        """
        return self.regions_.landscape_

    def _elsewhere(self, X: Any) -> Any:  # noqa: ARG002
        return None  # the estimator decides what it takes

    def _is_unknown(self, X: Any) -> BoolArray:
        return np.asarray(np.isnan(self._values(X)).all(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each record: the estimator's own, or with ``labels="joint"`` the likeliest by both.

        Parameters
        ----------
        X : array-like of shape (n, ...)

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).predict([[0.5], [7.0]]).tolist()
        ['low', 'high']
        """
        check_is_fitted(self)
        if self.model_.keeps_labels:
            return np.asarray(self.classes_[codes_of(self._estimator().predict(X), self.classes_)])
        return super().predict(X)

    def assess(self, X: Any, *, scores: Any = None, class_prior: Any = None, costs: Any = None) -> Assessment:
        """Return label, trust, rule, reason, region, counts and distance of each record, and what each model says.

        Parameters
        ----------
        X : array-like of shape (n, ...)
        scores : array-like of shape (n, n_classes) or (n,), optional
            What the estimator says of them, where that is known: its probabilities (or values), or its labels. It is
            not asked then, and need not be there.
        class_prior, costs
            As for `under`.

        Returns
        -------
        Assessment

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> clf = TrustedClassifier(LogisticRegression(), cv=3).fit(X, y)
        >>> clf.assess([[0.5]]).given_label.tolist(), clf.assess([[0.5]], scores=[[0.4, 0.6]]).label.tolist()
        (['low'], ['low'])
        """
        check_is_fitted(self)
        clf = self if class_prior is None and costs is None else self.under(class_prior, costs)
        return clf._assessed(clf.points(X, scores), X)

    def _assessed(self, points: FloatArray, X: Any) -> Assessment:
        """Return the assessment of records whose points are known."""
        a = self.model_.assess(points, FrameMaker.like(X))
        a.promise = self.promise
        if self.table_encoder is None:
            return a
        typicality = self.table_encoder.gap_typicality(self._beside(X))
        return a.no_more_typical_than(np.where(typicality < 1.0, typicality, np.nan))

    def regions(self) -> Any:
        """Return one row per ellipsoid, as `SEPClassifier.regions` does, of a table as `TablePipeline.regions` does.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["low"] * 3 + ["high"] * 3
        >>> TrustedClassifier(LogisticRegression(), cv=3).fit(X, y).regions()["region"].tolist()
        ['high#1', 'low#1']
        """
        check_is_fitted(self)
        if self.table_encoder is None:
            return self.regions_.regions()
        from sepc.tables.region_places import regions_in_words  # needs pandas

        return regions_in_words(self.regions_.regions(), self.regions_.model_, self.table_encoder.columns_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, str):  # the name of one that a file does not hold
            return tags
        of_estimator = get_tags(self.estimator)
        tags.input_tags.allow_nan = of_estimator.input_tags.allow_nan
        tags.classifier_tags = of_estimator.classifier_tags
        return tags


def _name_of(estimator: Any) -> str:
    return str(estimator) if isinstance(estimator, str) else type(estimator).__name__


def _read(
    fits: CrossFits, codes: IntArray, class_count: IntArray, rows: IntArray
) -> tuple[AnswerReader, FloatArray, BoolArray]:
    """Learn how answers are read; return them for each record, and which records have been judged.

    `codes`, shape (n,), are the classes of all records; `rows` are those of training records, repeated by weights.
    """
    place = np.full(len(codes), -1)
    place[fits.rows] = np.arange(len(fits.rows))
    known = rows[place[rows] >= 0]
    raw, given = (column[place[known]] for column in fits.answers)
    reader = AnswerReader.learnt(fits.method, Answers(raw, given), codes[known], class_count)
    answers = neutral_answers(len(codes), class_count / class_count.sum())
    answers[fits.rows] = reader.columns(fits.answers)
    return reader, answers, place >= 0
