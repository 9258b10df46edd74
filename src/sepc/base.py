"""What all classifiers with a trust score can do once they are fitted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sepc.answers import Answers, Judge
from sepc.assessment import Assessment
from sepc.elsewhere import answers_elsewhere
from sepc.errors import InputError
from sepc.frames import FrameMaker
from sepc.geometry._checks import FloatArray
from sepc.inputs import is_elsewhere, is_of, require_numbers
from sepc.label_sets import LabelSetMixin
from sepc.progress import CallbackSupportMixin


class TrustClassifier(CallbackSupportMixin, LabelSetMixin, ClassifierMixin, BaseEstimator):
    """Base of classifiers whose `_model` judges points.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> isinstance(SEPClassifier(), TrustClassifier)
    True
    """

    _model: Judge

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each point; always one of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
            Like all other answers, a Dask array that nothing was computed of yet if `X` is a Dask array or data frame.
            Under ``sklearn.config_context(array_api_dispatch=True)`` an array of PyTorch or CuPy stays on its device,
            and so do answers that are numbers.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.predict([[0.5], [8.0]]).tolist()
        [0, 1]
        """
        return self._answers(X).label

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label.

        By Bayes' formula from the local distributions if `trust` is "local"; else each label's smoothed share of what
        is counted in the deciding region. Its largest entry belongs to `predict`.

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
        [[0.99, 0.01]]
        """
        return self._answers(X).proba

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
        [0.99]
        """
        return self._answers(X).trust

    def assess(self, X: Any) -> Assessment:
        """Return label, trust, rule, reason, region, counts and distance of each point.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        Assessment
            A `sepc.lazy.LazyAssessment` if `X` is a Dask array or data frame, a `sepc.elsewhere.AssessmentElsewhere` if
            it is an array that stays on its device.

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.assess([[0.5], [10.0]])
        Assessment of 2 points: 1 inside, 0 overlap, 1 outside, 0 contested; 2 with a trust of at least 0.95
        """
        return self._answers(X).assess()

    def predict_or_abstain(
        self, X: Any, min_trust: float | Mapping[Any, float] = 0.95, abstain_label: Any = None
    ) -> NDArray[np.object_]:
        """Return the labels whose trust is high enough, and `abstain_label` for the other points.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        min_trust : float or dict, default=0.95
            Trust from which a label is given; a dict gives one number for each label. `sepc.select_min_trust` finds
            one that bounds the error.
        abstain_label : object, default=None

        Returns
        -------
        ndarray of object, shape (n,)

        Examples
        --------
        >>> from sepc import SEPClassifier
        >>> clf = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])
        >>> clf.predict_or_abstain([[8.0], [3.5]]).tolist()
        [1, None]
        """
        return self.assess(X).label_or(abstain_label, min_trust)

    def _points(self, X: Any) -> FloatArray:
        """Return new points in the units that they are judged in."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        require_numbers(X, getattr(self, "feature_names_in_", None))
        return self._model.units(X)

    def _one_point(self, x: Any) -> FloatArray:
        """Return one record in the units that it is judged in, shape (n_features,)."""
        points = self._points(as_one_row(x))
        if len(points) != 1:
            raise InputError(f"x has {len(points)} rows; expected one record. Call explain for one row at a time.")
        return np.asarray(points[0])

    def _answers(self, X: Any) -> Answers:
        """Return who answers for points like these."""
        check_is_fitted(self)
        if is_of("dask", X):
            from sepc.lazy import lazy_answers  # only they who use Dask need it

            return lazy_answers(self, X)
        if is_elsewhere(X):
            return answers_elsewhere(self, X)
        return Answers(self._model, self._points(X), FrameMaker.like(X))


def as_one_row(x: Any) -> Any:
    """Return one record as a table of one row, with its feature names if it has any."""
    if hasattr(x, "to_frame") and getattr(x, "ndim", 2) == 1:
        return x.to_frame().T  # a row of a pandas frame
    return x if np.ndim(x) == 2 else np.reshape(np.asarray(x), (1, -1))


@contextmanager
def as_it_was_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Take back the fitted attributes if anything goes wrong, an interruption included."""
    before = {name: value for name, value in vars(estimator).items() if _is_fitted_attribute(name)}
    try:
        yield
    except BaseException:
        for name in [name for name in vars(estimator) if _is_fitted_attribute(name)]:
            delattr(estimator, name)
        vars(estimator).update(before)
        raise


def _is_fitted_attribute(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
