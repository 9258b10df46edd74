"""Baselines for a model's test result: the majority class and a logistic regression, on the same records."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc.common.errors import InputError
from sepc.common.intervals import exact_interval
from sepc.common.typing import FloatArray

MAJORITY, LOGISTIC = "majority class", "logistic regression"


class BaselineResult(NamedTuple):
    """Result of a baseline on n test records; the interval is the exact 95 % interval of the accuracy."""

    name: str
    n: int
    n_right: int
    accuracy: float
    accuracy_interval: list[float]
    log_loss: float


def baseline_results(
    X_train: ArrayLike, y_train: ArrayLike, X_test: ArrayLike, y_test: ArrayLike
) -> tuple[BaselineResult, BaselineResult]:
    """Return the results of two baselines on test records, fitted to the same training records as a model.

    A test label that training never had counts as wrong.

    Returns
    -------
    majority, logistic : BaselineResult
        The most frequent label for every record, with the shares of the classes for probabilities; and a logistic
        regression on standardised features with scikit-learn's defaults, medians in place of missing values.
    """
    train, test = np.asarray(X_train, dtype=np.float64), np.asarray(X_test, dtype=np.float64)
    classes, codes = np.unique(np.asarray(y_train), return_inverse=True)
    truth = class_numbers(y_test, classes)
    if not len(truth):
        raise InputError("no-test-records")
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    # 300 iterations suffice for standardised features; if not, the last one is good enough for a comparison.
    logistic = make_pipeline(impute, StandardScaler(), LogisticRegression(max_iter=300))
    methods = {MAJORITY: DummyClassifier(strategy="prior"), LOGISTIC: logistic}
    first, second = (_result(name, method, train, codes, test, truth) for name, method in methods.items())
    return first, second


def mean_log_loss(proba: FloatArray, truth: NDArray[np.int64]) -> float:
    """Return the mean negative log probability of the true labels: numbers of classes, -1 for none of them.

    Probabilities are clipped at the machine precision, as in `sklearn.metrics.log_loss`; so is that of a label that the
    classifier does not know.
    """
    of_the_true = np.where(truth < 0, 0.0, proba[np.arange(len(truth)), truth])
    return float(-np.log(np.maximum(of_the_true, np.finfo(np.float64).eps)).mean())


def class_numbers(labels: ArrayLike, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of each label among the classes, -1 for one that is none of them."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known.get(label, -1) for label in np.asarray(labels).tolist()], dtype=np.int64)


def _result(
    name: str, method: Any, X: FloatArray, codes: NDArray[np.int64], X_test: FloatArray, truth: NDArray[np.int64]
) -> BaselineResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method.fit(X, codes)
    n, n_right = len(truth), int(np.count_nonzero(method.predict(X_test) == truth))
    log_loss = mean_log_loss(method.predict_proba(X_test), truth)
    return BaselineResult(name, n, n_right, n_right / n, list(exact_interval(n_right, n)), log_loss)
