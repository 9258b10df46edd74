"""Partitions of scattered points, compared with those of the same points in memory."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine


def standardized(X):
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def one_against_rest(X, y):
    """Yield the two sides of each binary problem; of two labels there is one."""
    labels = np.unique(y)
    for label in labels[: 1 if len(labels) == 2 else None]:
        yield X[y == label], X[y != label]


def bundled(name):
    data = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}[name]()
    return list(one_against_rest(standardized(data.data), data.target))


def same(far, near):
    """Assert that two partitions have the same blocks."""
    assert far.n_iter == near.n_iter
    assert far.stopped == near.stopped
    assert [(b.side, b.iteration) for b in far.blocks] == [(b.side, b.iteration) for b in near.blocks]
    for mine, other in zip(far.blocks, near.blocks, strict=True):
        assert np.array_equal(np.asarray(mine.members), other.members)
        assert mine.ellipsoid.log_volume == pytest.approx(other.ellipsoid.log_volume, abs=1e-5)
    for mine, other in zip(far.isolated, near.isolated, strict=True):
        assert np.array_equal(np.asarray(mine), other)
