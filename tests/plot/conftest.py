"""Classifiers that several displays show."""

import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from sepc import (
    SEPClassifier,
)


@pytest.fixture
def pyplot():
    """Return pyplot on a backend without windows and without figures; leave the backend as it was, and no figure."""
    import matplotlib.pyplot as plt

    before = plt.get_backend()
    plt.switch_backend("Agg")
    plt.close("all")
    yield plt
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def moons():
    X, y = make_moons(300, noise=0.2, random_state=1)
    X = X * [1.0, 1000.0] + [5.0, -300.0]  # units that differ
    return SEPClassifier(n_imp=3).fit(X[:200], y[:200]), X, y


@pytest.fixture(scope="session")
def iris():
    bunch = load_iris(as_frame=True)
    X, y = bunch.data, bunch.target_names[bunch.target]
    return SEPClassifier().fit(X[::2], y[::2]), X, y


@pytest.fixture(scope="session")
def cancer():
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data.iloc[:, :8], bunch.target_names[bunch.target]
    return SEPClassifier().fit(X[::2], y[::2]), X, y


@pytest.fixture(scope="session")
def forest(cancer):
    """Return a classifier without a trust score, with many equal confidences."""
    _, X, y = cancer
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=0).fit(X[::2], y[::2])
