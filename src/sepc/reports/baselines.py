"""Baselines beside a model's result: what the majority class and a logistic regression get on the same test records."""

import warnings
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class BaselineResult:
    """Result of a plain method on test records.

    Attributes
    ----------
    name : str
        "majority class" or "logistic regression".
    n, n_right : int
        Test records, and how many of them got their true label.
    accuracy : float
        Share of these.
    log_loss : float
        Mean of the negative log probability of the true label; see `mean_log_loss`.
    """

    name: str
    n: int
    n_right: int
    accuracy: float
    log_loss: float

    @property
    def interval(self) -> tuple[float, float]:
        """Exact 95 % interval of the accuracy."""
        return exact_interval(self.n_right, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, ready for JSON."""
        return {
            "name": self.name,
            "n": self.n,
            "n_right": self.n_right,
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.interval),
            "log_loss": self.log_loss,
        }


def baseline_results(
    X_train: ArrayLike, y_train: ArrayLike, X_test: ArrayLike, y_test: ArrayLike
) -> tuple[BaselineResult, BaselineResult]:
    """Return what two plain methods get on test records, having learned from the same training records as a model.

    Parameters
    ----------
    X_train : array-like of shape (n, d)
        Features, as the model's classifier sees them.
    y_train : array-like of shape (n,)
        Labels, of two classes or more.
    X_test : array-like of shape (m, d)
    y_test : array-like of shape (m,)
        A label that training never had counts as wrong.

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
        raise InputError("there are no test records; expected at least one, to compare baselines on.")
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    # Enough for standardised features; where it is not, the last step is good enough to compare with.
    logistic = make_pipeline(impute, StandardScaler(), LogisticRegression(max_iter=300))
    methods = {MAJORITY: DummyClassifier(strategy="prior"), LOGISTIC: logistic}
    first, second = (_result(name, method, train, codes, test, truth) for name, method in methods.items())
    return first, second


def mean_log_loss(proba: FloatArray, truth: NDArray[np.int64]) -> float:
    """Return the mean negative log probability of the true labels.

    Probabilities count as at least the machine precision, as in `sklearn.metrics.log_loss`, so that one of 0 is very
    bad and not the end of all comparisons. That is also the probability of a label that the classifier does not know.

    Parameters
    ----------
    proba : ndarray of shape (n, n_classes)
    truth : ndarray of int, shape (n,)
        Number of the true class; -1 for a label that is none of the classes.

    Returns
    -------
    float
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
    n_right = int(np.count_nonzero(method.predict(X_test) == truth))
    log_loss = mean_log_loss(method.predict_proba(X_test), truth)
    return BaselineResult(name, len(truth), n_right, n_right / len(truth), log_loss)
