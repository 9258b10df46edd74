"""Iris, a classifier of half of it, and a monitor of that."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.feedback import FeedbackMonitor


@pytest.fixture(autouse=True)
def _fits_once(fits_once):
    """Monitors of one classifier fit the same held-out models again."""


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="session")
def clf(iris):
    X, y = iris
    return SEPClassifier().fit(X[::2], y[::2])


@pytest.fixture
def monitor(clf, iris):
    return FeedbackMonitor(clf, reference=iris[0][1::4], reference_labels=iris[1][1::4])
