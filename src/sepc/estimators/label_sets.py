"""Sets of labels that hold the true one with a stated probability, whatever the distribution.

This is split conformal prediction: it needs records that the classifier has not been fitted to, exchangeable with the
new ones. A label is in the set where its probability is at least the k-th smallest probability of the true labels of
the n calibration records, ``k = floor((1 - coverage) * (n + 1))``; always if k is 0. Ties can only add labels.

References
----------
Vovk, Gammerman, Shafer (2005). Algorithmic Learning in a Random World.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sepc.common.errors import InputError, SepcError
from sepc.common.frames import FrameMaker
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import known_labels, require_share


def set_threshold(scores: FloatArray, coverage: float) -> float:
    """Return the least score, of shape (n,) on calibration records, that is in the set; -inf if these are too few.

    The coverage is the decimal number that it is written as, so that 0.9 of 10 is 9.
    """
    n = len(scores)
    k = n + 1 - ceil(Fraction(repr(float(coverage))) * (n + 1))
    return float(np.partition(scores, k - 1)[k - 1]) if k > 0 else -np.inf


@dataclass(frozen=True, eq=False, slots=True)
class LabelScores:
    """Probabilities of the true labels of calibration records, `scores`, and these labels' numbers, shape (n,)."""

    scores: FloatArray
    codes: IntArray
    n_classes: int

    def thresholds(self, coverage: float, per_class: bool) -> FloatArray:
        """Return the least score of each label that is in the set, shape (n_classes,)."""
        if not per_class:
            return np.full(self.n_classes, set_threshold(self.scores, coverage))
        return np.array([set_threshold(self.scores[self.codes == c], coverage) for c in range(self.n_classes)])


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PredictionSets:
    """Sets of labels; `predict_set` returns them.

    Attributes
    ----------
    sets : ndarray of bool, shape (n, n_classes)
        Which labels are in the set.
    classes : ndarray of shape (n_classes,)
    thresholds : ndarray of shape (n_classes,)
        Least probability of a label that is in; minus infinity for a label that always is.
    coverage : float
    per_class : bool

    Examples
    --------
    >>> found = PredictionSets(np.array([[1, 0], [1, 1]], bool), np.array(["a", "b"]), np.array([0.3, 0.3]), 0.9, False)
    >>> found.labels(), found.size.tolist()
    ([('a',), ('a', 'b')], [1, 2])
    >>> found
    PredictionSets of 2 points, coverage 0.9 overall: 0 empty, 1 single, 1 several
    """

    sets: BoolArray
    classes: NDArray[Any]
    thresholds: FloatArray
    coverage: float
    per_class: bool
    frames: FrameMaker = field(default_factory=FrameMaker)

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def size(self) -> IntArray:
        """Number of labels in each set, shape (n,)."""
        return np.asarray(np.count_nonzero(self.sets, axis=1))

    @property
    def always(self) -> tuple[Any, ...]:
        """Labels that are in every set, for lack of calibration records."""
        return tuple(self.classes[np.isneginf(self.thresholds)].tolist())

    def labels(self) -> list[tuple[Any, ...]]:
        """Return the labels of each set.

        Examples
        --------
        >>> PredictionSets(np.array([[False, True]]), np.array([3, 5]), np.zeros(2), 0.9, False).labels()
        [(5,)]
        """
        names = self.classes.tolist()
        return [tuple(names[c] for c in np.flatnonzero(row)) for row in self.sets]

    def to_frame(self) -> Any:
        """Return one row per point as a data frame: the number of labels, the kind of set, and which labels it has.

        A pandas or a polars frame, as the points came in; pandas for plain arrays. A pandas index is kept.

        Examples
        --------
        >>> PredictionSets(np.array([[False, True]]), np.array([3, 5]), np.zeros(2), 0.9, False).to_frame()
           n_labels    kind  has 3  has 5
        0         1  single  False   True
        """
        columns = {"n_labels": self.size, "kind": np.array(["empty", "single", "several"])[np.minimum(self.size, 2)]}
        names = [f"has {label}" for label in self.classes.tolist()]
        return self.frames.frame(columns | dict(zip(names, self.sets.T, strict=True)), rows=True)

    def __repr__(self) -> str:
        empty, single = (np.count_nonzero(self.size == k) for k in (0, 1))
        always = f"; always in, for lack of calibration records: {', '.join(map(str, self.always))}"
        return (
            f"PredictionSets of {len(self)} points, coverage {self.coverage:g} "
            f"{'within each class' if self.per_class else 'overall'}: {empty} empty, {single} single, "
            f"{len(self) - empty - single} several{always if self.always else ''}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"


class LabelSetMixin:
    """Label sets with a promised coverage for a classifier, from its `predict_proba` and `classes_`.

    Its `fit` must set `_calibration` to None.
    """

    classes_: NDArray[Any]
    predict_proba: Any
    _calibration: LabelScores | None = None

    def calibrate(self, X_cal: Any, y_cal: Any) -> Self:
        """Calibrate `predict_set` on records that were not fitted to; a later `fit` forgets it.

        Parameters
        ----------
        X_cal : array-like of shape (n, n_features)
            Records that the classifier has not been fitted to, from where it will be used.
        y_cal : array-like of shape (n,)
            Their labels, all of them known to the classifier.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sepc import SEPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SEPClassifier().fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
        """
        check_is_fitted(self)
        labels = known_labels(X_cal, y_cal)
        number = {label: c for c, label in enumerate(self.classes_.tolist())}
        unknown = next((label for label in labels if label not in number), None)
        if unknown is not None:
            raise InputError("set-label-unknown", label=unknown, classes=self.classes_[:10].tolist())
        codes = np.array([number[label] for label in labels])
        scores = np.asarray(self.predict_proba(X_cal))[np.arange(len(codes)), codes]
        self._calibration = LabelScores(scores, codes, len(number))
        return self

    def _is_unknown(self, X: Any) -> BoolArray:  # noqa: ARG002
        """Return which points have no known value, shape (n, 1), or (1, 1) for all of them."""
        return np.zeros((1, 1), dtype=bool)

    def predict_set(self, X: Any, coverage: float = 0.9, per_class: bool = False) -> PredictionSets:
        """Return for each point a set of labels that holds the true one with a stated probability.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        coverage : float, default=0.9
            Least probability that the set of a new record holds its label, over the draw of the record and of the
            calibration records. It is a mean over all records: less for hard ones, more for easy ones.
        per_class : bool, default=False
            Whether this is to hold within each class, rare ones too; a set may then be without the label of `predict`.
            A class with fewer than ``coverage / (1 - coverage)`` calibration records is in every set: see
            `PredictionSets.always`.

        Returns
        -------
        PredictionSets

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sepc import SEPClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = SEPClassifier().fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2])
        >>> clf.predict_set(X[[1, 51]]).labels()
        [(0,), (1,)]
        """
        check_is_fitted(self)
        require_share(coverage, "coverage", 0.9)
        if self._calibration is None:
            raise SepcError("not-calibrated", type=type(self).__name__)
        thresholds = self._calibration.thresholds(float(coverage), bool(per_class))
        sets = np.asarray(self.predict_proba(X)) >= thresholds
        sets |= self._is_unknown(X)  # without any known value a record may have any label
        return PredictionSets(sets, self.classes_, thresholds, float(coverage), bool(per_class), FrameMaker.like(X))
