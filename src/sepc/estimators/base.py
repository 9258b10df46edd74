"""The base of all classifiers with a trust score: predictions of a fitted model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError, warn
from sepc.common.frames import FrameMaker
from sepc.common.messages import message
from sepc.common.site import LinkedToSite
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import TrainingSet, is_of, new_points, stays_on_device
from sepc.estimators.label_sets import LabelSetMixin
from sepc.estimators.progress import CallbackSupportMixin
from sepc.geometry.chunks import chunk_slices
from sepc.model.acceptance import MinTrust, Promise, require_key
from sepc.model.assessment import Assessment
from sepc.model.calibration import STRANGE
from sepc.model.fitted_model import FittedModel
from sepc.model.policy import Policy, stated
from sepc.model.row_digests import About, Digests, are_known, fingerprint_of, kept_digests
from sepc.scale.dispatch import points_elsewhere

if TYPE_CHECKING:
    from sepc.explanations.change_limits import ChangeLimits
    from sepc.explanations.vocabulary import Vocabulary

_Why = TypeVar("_Why")
_EXPLAINED_AT_ONCE = 128


class TrustClassifier(LinkedToSite, CallbackSupportMixin, LabelSetMixin, ClassifierMixin, BaseEstimator):
    """Base of classifiers whose `model_` judges points."""

    class_prior: Any
    costs: Any
    model_: FittedModel
    _promise: Promise | None = None
    _change_limits: "ChangeLimits | None" = None
    _digests: Digests | None = None
    about_: About
    _frames: FrameMaker
    columns_read_: IntArray | None = None

    @property
    def frame_maker(self) -> FrameMaker:
        """Maker of frames of the library that the training set came in."""
        return self._frames

    @property
    def core(self) -> "TrustClassifier":
        """The classifier that has `model_`: this one."""
        return self

    @property
    def by_regions(self) -> "TrustClassifier":
        """The classifier whose regions texts and pictures show: this one; around another model that of its regions."""
        return self

    @property
    def table_encoder(self) -> Any:
        """The encoder of raw tables in front of the model; None where there is none."""
        return None

    def points(self, X: Any) -> FloatArray:
        """Return checked records as `model_` takes them.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.points([[5]]).tolist()
        [[5.0]]
        """
        check_is_fitted(self)
        return new_points(self, X)

    def on_points(self) -> "TrustClassifier":
        """Return the classifier of `points` that this one is: itself, unless it encodes records or asks another model.

        Returns
        -------
        TrustClassifier

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.on_points() is clf
        True
        """
        return self

    def with_classifier(self, classifier: Any) -> Any:
        """Return this classifier with another fit of `on_points`.

        Parameters
        ----------
        classifier : TrustClassifier
            Fitted to `points`.

        Returns
        -------
        TrustClassifier

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1]
        >>> clf, other = SEPClassifier().fit(X, y), SEPClassifier(n_imp=0).fit(X, y)
        >>> clf.with_classifier(other) is other
        True
        """
        return classifier

    def _values(self, X: Any) -> FloatArray:
        """Return the values of records that digests are made of."""
        return self.points(X)

    def _elsewhere(self, X: Any) -> Any:
        """Return new points that are not in memory, with predictions of them; None in memory."""
        return points_elsewhere(self, X)

    @property
    def promise(self) -> Promise | None:
        """The promise that was signed, a `TrustThreshold`; None if there is none.

        With other class priors or costs than it was made with it is withdrawn, and accepts nothing.
        """
        signed = self._promise
        if signed is None or not signed.is_kept:
            return signed
        now = stated(self.model_.policy, self.model_.classes)
        if getattr(signed, "stated", now) == now:
            return signed
        return signed.withdrawn(message("withdrawn-otherwise-stated"))

    def sign(self, promise: Promise | None) -> Self:
        """Keep a promise with the classifier; a file of it holds the promise, too.

        By default labels are accepted by it, as ``sepc predict`` does; by one that could not be kept, none are. A later
        `fit` forgets it.

        Parameters
        ----------
        promise : TrustThreshold or None
            What `sepc.select_min_trust` found for this classifier; None takes it back.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sepc import SEPClassifier, select_min_trust
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SEPClassifier().fit(X[::2], y[::2])
        >>> clf.sign(select_min_trust(clf, X[1::2], y[1::2], max_error=0.2, by="label")).promise.by
        'label'
        """
        check_is_fitted(self)
        if promise is not None:
            if not isinstance(promise, Promise):
                raise InputError("promise-no-threshold-object", promise=promise)
            require_key(getattr(promise, "key", None), self.model_.key())
        self._promise = promise
        return self

    @property
    def change_limits(self) -> "ChangeLimits | None":
        """The limits of changes that are kept: their `fixed` and `ranges`; None if there are none."""
        return self._change_limits

    def limit_changes(self, *, fixed: Any = (), ranges: Any = None) -> Self:
        """Keep limits of changes with the classifier; a file of it holds them, too.

        Explanations honour them unless others are given. A later `fit` forgets them, a refit with feedback does not.

        Parameters
        ----------
        fixed, ranges
            As for `explain`; without either no limits are kept.

        Returns
        -------
        self

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> X = [[61.0, 9.0], [58.0, 8.0], [66.0, 9.5], [31.0, 2.0], [35.0, 1.0], [28.0, 1.5]]
        >>> clf = SEPClassifier().fit(X, ["ill"] * 3 + ["well"] * 3).limit_changes(fixed=0)
        >>> clf.explain([60.0, 8.5]).limits
        ' with x0 as it is'
        """
        from sepc.explanations.vocabulary import Vocabulary

        check_is_fitted(self)
        return self._limit_changes(Vocabulary(self.model_.features), fixed, ranges)

    def _limit_changes(self, vocabulary: "Vocabulary", fixed: Any, ranges: Any) -> Self:
        """Keep limits of changes, in a vocabulary."""
        from sepc.explanations.change_limits import ChangeLimits

        limits = ChangeLimits.of(vocabulary.names, fixed, ranges).for_columns(vocabulary)
        self._change_limits = limits if limits.fixed or limits.ranges else None
        return self

    def under(self, class_prior: Any = None, costs: Any = None) -> Self:
        """Return the same classifier with other class priors than in training, or with costs of errors.

        Its labels are those of the least expected cost, probabilities and trust are those with the class priors, and
        `predict_or_abstain` abstains where that has the lower expected cost. The classifier itself stays as it is.
        Class priors leave costs that were stated before, and the other way round; without either, both are taken back.
        Label sets have to be calibrated anew.

        Parameters
        ----------
        class_prior : dict or array-like of shape (n_classes,), optional
            Shares of the classes where predictions are made, by label or in the order of `classes_`. Labels without one
            in a dict share the rest as in the training set. Those of the training set by default.
        costs : dict or array-like, optional
            ``costs[true][given]``, numbers of 0 or more; a right label costs 0 unless stated. ``costs[true][None]``, or
            ``costs[None]`` whatever is true, is the cost of abstaining; without it only strange points are abstained
            from. An array has a row for each true label, a column for each given one, and perhaps one more column, for
            abstaining.

        Returns
        -------
        TrustClassifier
            Of the same kind, fitted; `class_prior` and `costs` are parameters of it, which a clone has, too.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["well"] * 3 + ["ill"] * 3
        >>> clf = SEPClassifier().fit(X, y)
        >>> clf.predict([[3.2]]).tolist(), clf.under(class_prior={"ill": 0.9}).predict([[3.2]]).tolist()
        (['well'], ['ill'])
        >>> careful = clf.under(costs={"ill": {"well": 4.0}, "well": {"ill": 2.0}, None: 1.0})
        >>> careful.predict_or_abstain([[1.0], [3.2], [7.0]]).tolist()
        ['well', None, 'ill']
        """
        check_is_fitted(self)
        other = copy(self)
        if class_prior is not None or costs is None:
            other.class_prior = class_prior
        if costs is not None or class_prior is None:
            other.costs = costs
        other.model_ = other._stated(self.model_)
        other._calibration = None
        return other

    def _stated(self, model: Any) -> Any:
        """Return a fitted model with the class priors and costs of the parameters."""
        policy = self._policy(model.classes, model.class_count)
        return model if policy is None and model.policy is None else model.under(policy)

    def has_learned(self, X: Any) -> BoolArray | None:
        """Return which records have all values of a training record, by digests of these.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of bool, shape (n,), or None
            None where there are no digests: of more than a million records, or records that were not in memory.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.has_learned([[5.0], [5.5]]).tolist()
        [True, False]
        """
        check_is_fitted(self)
        return None if self._digests is None else are_known(self._digests, self._values(X))

    def _keep(self, model: Any, frames: FrameMaker, checked: TrainingSet | None) -> None:
        """Become the classifier of a model that was fitted; what was signed or calibrated before is forgotten.

        `checked` is the training set, None where it is not in memory.
        """
        self._digests, self.about_ = None, About()
        if checked is not None:
            named = [*model.features, *model.classes.tolist()]
            self._digests = kept_digests(checked.X)
            self.about_ = About(data=fingerprint_of(checked.X, checked.codes, named))
        self.model_ = self._stated(model)
        self._frames = FrameMaker(frames.library)
        self.classes_, self.class_count_ = model.classes, model.class_count
        self._calibration, self._promise, self._change_limits = None, None, None

    def _policy(self, classes: NDArray[Any], class_count: IntArray) -> Policy | None:
        return Policy.of(classes, class_count, self.class_prior, self.costs)

    def _warn_of_unread(self) -> None:
        if self.columns_read_ is not None:
            n = sum(self.class_count_.tolist())
            warn("columns-screened", n_read=len(self.columns_read_), n_columns=self.n_features_in_, n_records=n)

    def _read_all_of(self, names: Sequence[str]) -> None:
        """Become a classifier of the columns that the model reads, which have these names."""
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self.columns_read_ = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each point; always one of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
            Like all other results, a lazy Dask array if `X` is a Dask array or data frame. Under
            ``sklearn.config_context(array_api_dispatch=True)`` an array of PyTorch or CuPy stays on its device, and so
            do results that are numbers.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.predict([[0.5], [8.0]]).tolist()
        [0, 1]
        """
        check_is_fitted(self)
        elsewhere = self._elsewhere(X)
        if elsewhere is not None:
            labels: NDArray[Any] = elsewhere.label
            return labels
        return np.asarray(self.classes_[self.model_.decide(self.points(X)).label])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label.

        By Bayes' formula from the local distributions if `trust` is "local"; else each label's smoothed share of the
        points in the deciding region. The largest is that of the label of `predict`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.predict_proba([[0.5]]).round(2).tolist()
        [[0.8, 0.2]]
        """
        check_is_fitted(self)
        elsewhere = self._elsewhere(X)
        return (self.model_.decide(self.points(X)) if elsewhere is None else elsewhere).proba

    def trust_score(self, X: Any) -> FloatArray:
        """Return the trust in the predicted label.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
            Between 0 and 1.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.trust_score([[0.5]]).round(2).tolist()
        [0.8]
        """
        check_is_fitted(self)
        elsewhere = self._elsewhere(X)
        return (self.model_.decide(self.points(X)) if elsewhere is None else elsewhere).trust

    def assess(self, X: Any, *, class_prior: Any = None, costs: Any = None) -> Assessment:
        """Return label, trust, rule, reason, region, counts and distance of each point.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        class_prior, costs
            As for `under`.

        Returns
        -------
        Assessment
            Its columns are Dask arrays if `X` is a Dask array or data frame; if `X` is an array that stays on its
            device, those that are numbers stay there, too.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [10.0]])
        Assessment of 2 points: 1 inside, 0 overlap, 1 outside, 0 contested, 0 strange; 0 with a trust of at least 0.95
        """
        check_is_fitted(self)
        clf = self if class_prior is None and costs is None else self.under(class_prior, costs)
        elsewhere = clf._elsewhere(X)
        if elsewhere is not None:
            assessment: Assessment = elsewhere.assessment()
        else:
            assessment = clf.model_.assess(clf.points(X), FrameMaker.like(X))
        assessment.promise = clf.promise
        return assessment

    def predict_or_abstain(
        self,
        X: Any,
        min_trust: MinTrust = None,
        abstain_label: Any = None,
        *,
        min_typicality: float = STRANGE,
        class_prior: Any = None,
        costs: Any = None,
        groups: Any = None,
    ) -> NDArray[np.object_]:
        """Return the labels that are accepted, and `abstain_label` for the other points.

        Those of `Assessment.accepted`: trusted, not contested, and not of a strange point; with costs those whose
        expected cost is at most that of abstaining.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        min_trust : float, dict or TrustThreshold, optional
            Trust from which a label is given; a dict gives one number for each label. `sepc.select_min_trust` finds
            one that bounds the error. By default the promise that was signed; without one 0 with costs, which then
            decide, else 0.95.
        abstain_label : object, default=None
        min_typicality : float, default=0.01
            Typicality from which a label is given; 0 gives those of strange points too.
        class_prior, costs
            As for `under`.
        groups : array-like of shape (n,) or (n, n_groups), optional
            The groups that the points belong to, if `min_trust` is a promise by groups.

        Returns
        -------
        ndarray of object, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.predict_or_abstain([[8.0], [3.5], [1000.0]], min_trust=0.75).tolist()
        [1, None, None]
        """
        from sepc.promises.trust_threshold import warn_if_nothing_promised

        clf = self if class_prior is None and costs is None else self.under(class_prior, costs)
        warn_if_nothing_promised(clf.promise if min_trust is None else min_trust, min_typicality)
        return clf.assess(X).label_or(abstain_label, min_trust, min_typicality, groups=groups)

    def _is_unknown(self, X: Any) -> BoolArray:
        """Return which points in memory have no known value, shape (n, 1)."""
        if is_of("dask", X) or stays_on_device(X):
            return super()._is_unknown(X)
        return np.asarray(np.isnan(self.points(X)).all(axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _explained(
        self, explain: Callable[..., list[_Why]], X: Any, vocabularies: "Sequence[Vocabulary] | None", limits: Any
    ) -> list[_Why]:
        """Return the explanations of records by a function of the model, points, vocabularies, limits and promise.

        `limits` are keywords of `ChangeLimits.of`; without any no change is looked for.
        """
        from sepc.explanations.change_limits import ChangeLimits

        check_is_fitted(self)
        points, found = self.points(X), list[_Why]()
        names = vocabularies[0].names if vocabularies else self.model_.features
        asked = None if limits is None else ChangeLimits.of(names, **limits, kept=self._change_limits)
        for rows in chunk_slices(len(points), _EXPLAINED_AT_ONCE):
            words = None if vocabularies is None else vocabularies[rows]
            found += explain(self.model_, points[rows], words, asked, self.promise)
        return found


def the_only_row(x: Any) -> Any:
    """Return one record as a table of one row, as `as_one_row` does; raise an `InputError` for several."""
    row = as_one_row(x)
    n_rows = row.shape[0] if hasattr(row, "shape") else len(row)
    if n_rows != 1:
        raise InputError("explain-one-record", n_rows=n_rows)
    return row


def as_one_row(x: Any) -> Any:
    """Return one record as a table of one row, with its feature names if it has any."""
    if hasattr(x, "to_frame") and getattr(x, "ndim", 2) == 1:
        return x.to_frame().T.infer_objects()  # a row of a pandas frame
    return x if len(getattr(x, "shape", ())) == 2 or np.ndim(x) == 2 else np.reshape(np.asarray(x), (1, -1))


def limits_if_asked(changes: bool, limits: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the limits of changes; None if none are asked for. Raise an `InputError` for limits of these."""
    if not changes and limits:
        raise InputError("limits-without-changes", limits=", ".join(limits))
    return limits if changes else None


@contextmanager
def as_it_was_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore the fitted attributes after any error, an interruption included."""
    before = _fitted_attributes(estimator)
    try:
        yield
    except BaseException:
        for name in _fitted_attributes(estimator):
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


def _fitted_attributes(estimator: BaseEstimator) -> dict[str, Any]:
    return {name: x for name, x in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}
