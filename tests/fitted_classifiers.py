"""Classifiers fitted to real or overlapping classes, and their comparison."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier


@pytest.fixture(scope="session")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="session")
def fitted(cancer):
    X, y = cancer
    return SEPClassifier().fit(X[::2], y[::2])


def same_model(p, q):
    return all(
        np.array_equal(getattr(a.ellipsoid, field), getattr(b.ellipsoid, field))
        for one, two in zip(p.partitions_, q.partitions_, strict=True)
        for a, b in zip(one.blocks, two.blocks, strict=True)
        for field in ("center", "axes", "radii")
    )


def overlapping(n_classes, n=40, seed=0):
    """Return classes in a row, each overlapping with the next."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array(["a", "b", "c"])[:n_classes], n)
    X = rng.normal(size=(len(y), 2))
    X[:, 0] += 2.0 * np.repeat(np.arange(n_classes), n)
    return X, y, 3 * rng.normal(size=(150, 2)) + X.mean(axis=0)


def voters(clf, n):
    """Return the training rows that shaped no ellipsoid and are no isolated point, in all problems alike."""
    used = [[*(b.members for b in p.blocks), *p.isolated] for p in clf.partitions_]
    found = [np.setdiff1d(np.arange(n), np.concatenate(rows)) for rows in used]
    assert all(np.array_equal(rows, found[0]) for rows in found)
    return found[0]


@pytest.fixture(scope="module")
def cut_clouds():
    """Return two normal classes that overlap, so that a partition cuts through both."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal([1.5, 1.0], [1.2, 0.9], size=(300, 2))])
    return X, np.repeat(["a", "b"], 300)
