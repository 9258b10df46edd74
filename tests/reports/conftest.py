"""Classifiers and reports that several tests look at."""

import numpy as np
import pandas as pd
import pytest
from report_forms import HOSTILE
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split

from sepc import (
    SEPClassifier,
    report,
)


@pytest.fixture(scope="session")
def wdbc():
    data = load_breast_cancer(as_frame=True)
    return train_test_split(data.data, data.target_names[data.target], random_state=0, stratify=data.target)


@pytest.fixture(scope="session")
def wdbc_clf(wdbc):
    X, _, y, _ = wdbc
    return SEPClassifier().fit(X, y)


@pytest.fixture(scope="session")
def wdbc_report(wdbc, wdbc_clf):
    _, X_test, _, y_test = wdbc
    return report(wdbc_clf, X_test, y_test, max_records=45, changes=True)


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0, stratify=y)


@pytest.fixture(scope="session")
def iris_clf(iris):
    X, _, y, _ = iris
    return SEPClassifier().fit(X, y)


@pytest.fixture(scope="session")
def hostile():
    """Four classes whose labels, columns and row names try to be something else than text."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, 3], 30)
    X = rng.normal(size=(120, 4)) + 2.5 * np.eye(4)[codes]
    names = [f"{HOSTILE[j % 4]} row {i}" for i, j in enumerate(codes)]
    frame = pd.DataFrame(X, columns=HOSTILE, index=names)
    y = np.array(HOSTILE, dtype=object)[codes]
    clf = SEPClassifier().fit(frame[::2], y[::2])
    return report(clf, frame[1::2], y[1::2], title=HOSTILE[0], date=HOSTILE[1], max_records=12, changes=True)
