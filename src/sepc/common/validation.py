"""Validation of training sets: numbers, labels and names. Missing labels and labels of several kinds are refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from sepc.common.errors import InputError
from sepc.common.frames import plain
from sepc.common.messages import message
from sepc.common.text import plural, shortened
from sepc.common.typing import LARGEST_COORDINATE, FloatArray, IntArray

MISSING = "missing"
_TEXTS, _NUMBERS = "texts", "numbers"
# Kinds of arrays without missing entries, by the kind of their dtype.
_KIND_OF_ARRAY = {"b": _NUMBERS, "i": _NUMBERS, "u": _NUMBERS, "U": _TEXTS, "T": _TEXTS}
# The same of arrays whose missing entries, NaN and NaT, differ from themselves.
_WITH_NAN = {"f": _NUMBERS, "M": "dates", "m": "durations"}
_DROP = message("drop-unlabelled-records", X="X")


class LabelsOfAKind(NamedTuple):
    """The number of labels of one kind, the row of the first, and the first itself."""

    n: int
    row: int
    first: Any


def as_they_came(y: Any) -> NDArray[Any]:
    """Return labels as an array, none of them changed."""
    return np.asarray(y, dtype=None if hasattr(y, "dtype") else object)


def is_missing(label: Any) -> bool:
    """Return whether a label is none: None, NaN, NaT or the missing value of pandas."""
    if isinstance(label, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(label != label)
    return label is None or type(label).__name__ in ("NAType", "NaTType")


def kinds_of(labels: NDArray[Any], start: int = 0) -> dict[str, LabelsOfAKind]:
    """Return the labels by the name of their kind, `MISSING` for missing ones; rows are numbered from `start` on."""
    rows = _rows_by_kind(labels)
    return {
        name: LabelsOfAKind(len(found), start + int(found[0]), labels[found[0]])
        for name, found in rows.items()
        if len(found)
    }


def joined_kinds(parts: Iterable[Mapping[str, LabelsOfAKind]]) -> dict[str, LabelsOfAKind]:
    """Return the kinds of labels of consecutive parts together."""
    whole: dict[str, LabelsOfAKind] = {}
    for part in parts:
        for name, found in part.items():
            before = whole.get(name, found._replace(n=0))
            whole[name] = before._replace(n=before.n + found.n)
    return whole


def require_labels(y: Any, name: str = "y", remedy: str = _DROP) -> None:
    """Raise an `InputError` if a label is missing, or labels are of several kinds.

    Arrays of other shapes than (n,) and (n, 1) are left to other checks. The message has the user's name for the labels
    and the remedy for missing ones.
    """
    labels = as_they_came(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 1 and len(labels):
        require_one_kind(kinds_of(labels), name, remedy)


def require_one_kind(kinds: Mapping[str, LabelsOfAKind], name: str = "y", remedy: str = _DROP) -> None:
    """Raise an `InputError` unless there is one kind of labels, and none is missing."""
    if MISSING in kinds:
        lost = kinds[MISSING]
        raise InputError("labels-missing", name=name, n_missing=lost.n, row=lost.row, label=lost.first, remedy=remedy)
    if len(kinds) > 1:
        one, other = sorted(kinds.values(), key=lambda found: found.row)[:2]
        raise InputError(
            "label-kinds-mixed",
            name=name,
            label=plain(one.first),
            row=one.row,
            other=plain(other.first),
            other_row=other.row,
        )


def _rows_by_kind(labels: NDArray[Any]) -> Mapping[str, Sequence[int] | IntArray]:
    """Return the rows of each kind."""
    kind = labels.dtype.kind
    if kind in _KIND_OF_ARRAY:
        return {_KIND_OF_ARRAY[kind]: range(len(labels))}
    if kind in _WITH_NAN:
        lost = np.asarray(labels != labels)
        return {_WITH_NAN[kind]: np.flatnonzero(~lost), MISSING: np.flatnonzero(lost)}
    values = labels.tolist()
    if set(map(type, values)) == {str}:  # a short cut for the usual case
        return {_TEXTS: range(len(values))}
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(values):
        rows.setdefault(_kind(label), []).append(row)
    return rows


def _kind(label: Any) -> str:
    if is_missing(label):
        return MISSING
    if isinstance(label, str):
        return _TEXTS
    return _NUMBERS if isinstance(label, Number | np.bool_) else type(label).__name__


def is_of(package: str, X: Any) -> bool:
    """Return whether the type of `X` comes from a package, which need not be installed."""
    return type(X).__module__.partition(".")[0] == package


def stays_on_device(X: Any) -> bool:
    """Return whether `X` is an array of another library than NumPy, and scikit-learn is set to keep it there."""
    of_numpy = isinstance(X, (np.ndarray, np.generic))
    return bool(get_config()["array_api_dispatch"]) and hasattr(X, "device") and not of_numpy


class TrainingSet(NamedTuple):
    """Checked points and labels.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Number of each point's class.
    classes : ndarray of shape (n_classes,)
        Labels, sorted.
    features : list of str
        Names of the features, as `feature_labels` gives them.
    rows : ndarray of int, shape (n,), or None
        Input row of each point, if weights repeat or drop some; None if each row is one point.
    n_rows : int
        Number of input rows.
    """

    X: FloatArray
    codes: IntArray
    classes: NDArray[Any]
    features: list[str]
    rows: IntArray | None
    n_rows: int

    def of_columns(self, columns: IntArray) -> "TrainingSet":
        """Return the same with some columns alone."""
        return self._replace(X=self.X[:, columns], features=[self.features[j] for j in columns])


def training_set(
    X: Any, y: Any, estimator: BaseEstimator | None = None, sample_weight: Any = None, allow_nan: bool = False
) -> TrainingSet:
    """Check points, two or more different labels of one kind, and weights, which `sample_weights` describes.

    The estimator gets the attributes `n_features_in_` and, where the features have names, `feature_names_in_`; its tags
    say whether it takes NaN, without one `allow_nan` does.
    """
    require_labels(y)
    holder = _Validation(allow_nan) if estimator is None else estimator
    with _texts_explained():
        X, y = validate_data(holder, X, y, dtype=np.float64, ensure_all_finite=False)
    names = getattr(holder, "feature_names_in_", None)
    if not are_numbers(X):
        require_numbers(X, names, takes_missing_values(holder))
    classes, codes = _classes(y)
    rows, n_rows = None, len(X)
    if sample_weight is not None:
        from sepc.common.sample_weights import copies_by_weight

        copies = copies_by_weight(sample_weight, X, codes, classes)
        rows = np.repeat(np.arange(n_rows), copies)
        classes, codes = _classes(y[rows])
        X = X[rows]
    require_two_classes(classes)
    _require_some_value(X, names)
    return TrainingSet(X, codes, classes, feature_labels(names, X.shape[1]), rows, n_rows)


def feature_labels(names: Sequence[Any] | NDArray[Any] | None, d: int) -> list[str]:
    """Return the names of d features, or x0, x1, ... if they have none."""
    return [f"x{j}" for j in range(d)] if names is None else [str(name) for name in names]


def new_points(estimator: BaseEstimator, X: Any) -> FloatArray:
    """Return checked points for a fitted estimator, shape (n, n_features): finite, or NaN where it allows that.

    Where its model reads some columns alone, these; a frame need have no others.
    """
    read: IntArray | None = getattr(estimator, "columns_read_", None)
    if read is not None and (of_these := _of_columns(estimator, read, X)) is not None:
        estimator, read = of_these, None
    with _texts_explained():
        X = validate_data(estimator, X, reset=False, dtype=np.float64, ensure_all_finite=False)
    if not are_numbers(X):
        require_numbers(X, getattr(estimator, "feature_names_in_", None), takes_missing_values(estimator))
    return np.asarray(X) if read is None else np.ascontiguousarray(X[:, read])


def _of_columns(estimator: Any, columns: IntArray, X: Any) -> BaseEstimator | None:
    """Return an estimator of some columns to check a frame that has these alone; None for all else."""
    given, names = names_of(X), getattr(estimator, "feature_names_in_", None)
    if given is None or names is None or not np.array_equal(given, names[columns]):
        return None
    holder = _Validation(takes_missing_values(estimator))
    holder.n_features_in_, holder.feature_names_in_ = len(columns), given
    return holder


def takes_missing_values(estimator: BaseEstimator) -> bool:
    """Return whether an estimator takes NaN for a missing value."""
    return bool(get_tags(estimator).input_tags.allow_nan)


def has_gaps(X: FloatArray) -> bool:
    """Return whether a value is missing."""
    return bool(np.isnan(X.sum()))


def known_share(X: FloatArray) -> FloatArray | float:
    """Return the share of known features of each row, shape (n,); 1 if no value is missing."""
    return np.asarray(1.0 - np.isnan(X).mean(axis=1)) if has_gaps(X) else 1.0


def _require_some_value(X: FloatArray, names: NDArray[Any] | None) -> None:
    """Raise an `InputError` that names the columns without any value."""
    empty = np.flatnonzero(np.isnan(X).all(axis=0)).tolist() if has_gaps(X) else []
    if empty:
        shown = [str(j) if names is None else repr(names[j]) for j in empty]
        raise InputError(
            "columns-without-values", noun=plural("column", len(empty)), columns=shortened(shown, 5, "column")
        )


@contextmanager
def _texts_explained() -> Iterator[None]:
    """Replace NumPy's error for texts by one with a remedy."""
    try:
        yield
    except TypeError as error:
        if "NAType" not in str(error):
            raise
        raise InputError("pandas-na") from None
    except ValueError as error:
        before, _, text = str(error).partition("could not convert string to float: ")
        if before or not text:
            raise
        raise InputError("text-among-numbers", text=text) from None


class _Validation(BaseEstimator):  # type: ignore[misc]
    """Holder of the attributes that scikit-learn's checks set, if there is no estimator."""

    def __init__(self, allow_nan: bool = False) -> None:
        self.allow_nan = allow_nan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        return tags


def are_numbers(X: FloatArray) -> bool:
    """Return whether all values are finite and none is far too large."""
    return bool(X.size and X.min() >= -LARGEST_COORDINATE and X.max() <= LARGEST_COORDINATE)


def require_numbers(X: FloatArray, names: NDArray[Any] | None, allow_nan: bool = False) -> None:
    """Raise an `InputError` that names the columns with infinite or too large values, or NaN unless it is allowed."""
    if are_numbers(X):
        return
    is_nan, is_inf = np.isnan(X), np.isinf(X)
    is_large = (np.abs(X) > LARGEST_COORDINATE) & ~is_inf
    if not allow_nan or is_inf.any() or is_large.any():
        raise no_numbers(np.count_nonzero([is_nan & (not allow_nan), is_inf, is_large], axis=1), names)


def no_numbers(counts: NDArray[np.integer], names: Sequence[Any] | NDArray[Any] | None) -> InputError:
    """Return the error for columns with these numbers of NaN, infinite and too large entries, shape (3, d)."""
    bad = counts.sum(axis=0)
    columns = np.flatnonzero(bad)
    named = "NaN", "inf", f"numbers beyond {LARGEST_COORDINATE:g}"
    kinds = [kind for kind, found in zip(named, counts, strict=True) if found.any()]
    shown = [f"{j if names is None else repr(names[j])} ({bad[j]} rows)" for j in columns.tolist()]
    remedy = message("impute-or-drop" if counts[0].any() else "correct-or-drop")
    return InputError(
        "not-finite",
        kinds=" and ".join(kinds),
        noun=plural("column", len(columns)),
        columns=shortened(shown, 5, "column"),
        remedy=remedy,
    )


def labels_of(y: Any) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, two or more, and the number of each point's label among them."""
    require_labels(y)
    classes, codes = _classes(column_or_1d(y))
    require_two_classes(classes)
    return classes, codes


def different_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the different labels, in any order."""
    found = _few_labels(y) if len(y) else None
    return np.unique(y) if found is None else found[0]


def names_of(X: Any) -> NDArray[np.object_] | None:
    """Return the names of the columns of a frame, None if X has none that are texts."""
    columns = list(getattr(X, "columns", []))
    return np.array(columns, dtype=object) if columns and all(isinstance(name, str) for name in columns) else None


def require_two_classes(classes: NDArray[Any]) -> None:
    """Raise an `InputError` unless there are two or more classes."""
    if len(classes) < 2:
        raise InputError("one-class", label=classes.tolist()[0])


def _classes(y: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, and the number of each point's label among them."""
    found = _few_labels(y)
    if found is None:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return classes, codes
    labels, marks = found
    if labels.dtype.kind not in "biuU":  # integers and texts are always valid
        check_classification_targets(np.repeat(labels, 3))
    classes, order = np.unique(labels, return_inverse=True)
    return classes, order[marks]


def _few_labels(y: NDArray[Any]) -> tuple[NDArray[Any], IntArray] | None:
    """Return the labels by first appearance, and the number of each point's label; None if there are more than 16.

    Sorting takes longer: of objects, as in data frames, a hundred times as long.
    """
    firsts: list[int] = []
    marks = np.full(len(y), -1)
    while len(firsts) <= 16:  # with more classes sorting is faster
        first = int(np.argmin(marks))
        if marks[first] >= 0:
            return y[firsts], marks
        same = np.asarray(y == y[first])
        if same.shape != y.shape or same.dtype != bool or not same[first]:
            return None
        marks[same] = len(firsts)
        firsts.append(first)
    return None


def known_labels(X: Any, y: Any, what: str = "cal") -> list[Any]:
    """Return the labels of held-out records, which messages call ``X_cal`` and ``y_cal``, say, as a list."""
    n = _n_rows(X, what)
    array = as_they_came(y)
    if array.shape == (n, 1):
        array = array.ravel()
    if array.shape != (n,):
        raise InputError("labels-shape", what=what, shape=array.shape, n_rows=n)
    require_labels(array, f"y_{what}", message("drop-unlabelled-records", X=f"X_{what}"))
    labels: list[Any] = array.tolist()
    return labels


def _n_rows(X: Any, what: str) -> int:
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if n == 0:
        raise InputError("no-records", what=what)
    return n


def require_share(value: Any, name: str, example: float) -> None:
    """Raise an `InputError` unless a value lies strictly between 0 and 1."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
        raise InputError("not-strictly-between-0-and-1", name=name, value=value, example=example)
