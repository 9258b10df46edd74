"""Overlapping classes, an ensemble that is fitted to them, and points to judge."""

import numpy as np
import pytest
from fitted_ensembles import overlapping

from sepc import SEPEnsembleClassifier


@pytest.fixture(scope="session")
def data():
    return overlapping()


@pytest.fixture(scope="session")
def fitted(data):
    return SEPEnsembleClassifier(n_estimators=6).fit(*data)


@pytest.fixture(scope="session")
def asked(data):
    X, _ = data
    return np.vstack([X[::3], X.mean(0) + 4 * np.random.default_rng(1).normal(size=(40, X.shape[1]))])
