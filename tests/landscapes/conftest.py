"""Fitted landscapes of real data, and of clean synthetic data."""

import pytest
from landscape_data import gaussians
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return SEPClassifier().fit(X, y).landscape_


@pytest.fixture(scope="session")
def iris():
    return SEPClassifier().fit(*load_iris(return_X_y=True)).landscape_


@pytest.fixture(scope="session")
def iris_by_paper():
    """The landscape where each class has a problem of its own."""
    return SEPClassifier(trust="paper").fit(*load_iris(return_X_y=True)).landscape_


@pytest.fixture(scope="session")
def clean():
    """Landscapes of 80 sets of Gaussian classes with moderate overlap; calibration would not change them."""
    sets = [gaussians(seed) for seed in range(80)]
    return [SEPClassifier(n_imp=n_imp, trust="raw").fit(X, y).landscape_ for X, y, _, n_imp in sets]
