"""Cross-fitting: answers of refits of another model, each on records that it has not seen."""

import warnings
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_consistent_length, column_or_1d

from sepc.around.answers import Answers, asked, method_of
from sepc.common.errors import InputError
from sepc.common.frames import as_frame
from sepc.common.sample_weights import checked_weights
from sepc.common.splits import stratified_parts
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import TrainingSet, require_labels
from sepc.estimators.held_out_parts import groups_of
from sepc.partitions.ordering import canonical_order

Split = tuple[IntArray, IntArray]


def splits_of(
    cv: Any, checked: TrainingSet, X: Any, y: NDArray[Any], taken: IntArray, routed: Mapping[str, Any]
) -> list[Split]:
    """Return the training and the held-out rows of each refit, all among those that are `taken`.

    A number of folds is drawn by the records themselves, whatever their order, with equal records in the same fold; a
    splitter of scikit-learn draws its own. `checked` are the records' features and classes.
    """
    if isinstance(cv, bool) or (isinstance(cv, int) and cv < 2):
        raise InputError("cv-refits", cv=cv)
    if isinstance(cv, int):
        folds = _folds(cv, checked.X[taken], checked.codes[taken])
        return [(taken[folds != k], taken[folds == k]) for k in range(cv) if (folds == k).any()]
    splits = check_cv(cv, y, classifier=True).split(X, y, **routed)
    return [(np.intersect1d(train, taken), np.intersect1d(test, taken)) for train, test in splits]


def _folds(n_folds: int, features: FloatArray, codes: IntArray) -> IntArray:
    known = np.where(np.isnan(features), -1.0, features)
    groups = groups_of(known, codes)
    order = canonical_order(np.column_stack([known, codes])[groups.first])
    # Shuffled, always in the same way: neighbours in the order are alike.
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.random.default_rng(0).permutation(len(order))
    of_group = stratified_parts(codes[groups.first], n_folds, order=lambda rows: rows[np.argsort(place[rows])])
    return np.asarray(of_group[groups.of_record])


class CrossFits(NamedTuple):
    """Answers of refits on records that they have not seen.

    Attributes
    ----------
    method : str
        Method that the estimator is asked by.
    rows : ndarray of int, shape (m,)
        Rows of these records.
    answers : Answers
    """

    method: str
    rows: IntArray
    answers: Answers

    @classmethod
    def without_refits(cls, estimator: Any, X: Any, classes: NDArray[Any]) -> "CrossFits":
        """Return the answers of a fitted estimator on records that it has not seen."""
        method = method_of(estimator)
        answers = asked(estimator, X, method, classes)
        return cls(method, np.arange(len(answers.codes)), answers)


def cross_fitted(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    splits: Iterable[Split],
    params: Mapping[str, Any],
    copies: IntArray | None = None,
    n_jobs: int | None = None,
) -> CrossFits:
    """Refit an estimator without each held-out part, and ask the refit about that part; `copies` as in `fitted_to`."""
    pairs = [(train, test) for train, test in splits if len(np.unique(y[train])) > 1]
    jobs = (delayed(_refit)(fresh(estimator), X, y, classes, *pair, params, copies) for pair in pairs)
    found = list(Parallel(n_jobs=n_jobs)(jobs))
    if not found:
        nothing = np.empty(0, dtype=np.int64)
        return CrossFits(method_of(estimator), nothing, Answers(np.empty((0, len(classes))), nothing))
    rows, answers = np.concatenate([one.rows for one in found]), zip(*(one.answers for one in found), strict=True)
    return CrossFits(found[0].method, rows, Answers(*map(np.concatenate, answers)))


def _refit(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any],
    train: IntArray,
    test: IntArray,
    params: Mapping[str, Any],
    copies: IntArray | None,
) -> CrossFits:
    test = test[np.isin(y[test], y[train])]  # a refit cannot know a class of which it has seen no record
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all records warns of the same
        fitted_to(estimator, X, y, train, params, copies)
        method = method_of(estimator)
        return CrossFits(method, test, asked(estimator, _safe_indexing(X, test), method, classes))


def as_it_can_be_split(X: Any) -> Any:
    """Return records as they came, or as an array if they are a table that is neither an array nor a frame."""
    is_text = isinstance(X, list) and X and isinstance(X[0], str)
    return X if is_text or hasattr(X, "shape") or as_frame(X) is not None else np.asarray(X)


def checked_labels(X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], FloatArray | None, IntArray]:
    """Return checked labels and weights, and the rows with a weight above 0."""
    require_labels(y)
    labels = column_or_1d(y if hasattr(y, "dtype") or hasattr(y, "__array__") else np.asarray(y), warn=True)
    check_consistent_length(X, labels)
    if sample_weight is None:
        return labels, None, np.arange(len(labels))
    weight = checked_weights(sample_weight, len(labels))
    return labels, weight, np.flatnonzero(weight > 0.0)


def fresh(estimator: Any) -> Any:
    """Return an estimator of the same parameters, not fitted; a copy where it cannot be cloned.

    CatBoost with `cat_features` cannot: scikit-learn refuses estimators that change a parameter.
    """
    try:
        return clone(estimator)
    except RuntimeError:
        return deepcopy(estimator)


def fitted_to(
    estimator: Any, X: Any, y: NDArray[Any], rows: IntArray, params: Mapping[str, Any], copies: IntArray | None = None
) -> Any:
    """Fit an estimator to some rows, each repeated by its number of `copies`, shape (n,), where these are given."""
    if copies is not None:
        rows = np.repeat(rows, copies[rows])
    if np.array_equal(rows, np.arange(len(y))):
        return estimator.fit(X, y, **params)
    return estimator.fit(_safe_indexing(X, rows), y[rows], **_check_method_params(X, params, rows))
