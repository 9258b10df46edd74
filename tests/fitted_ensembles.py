"""Overlapping classes for ensembles, and the comparison of their verdicts."""

import numpy as np

FIELDS = ("label", "trust", "rule", "reason", "region", "counts", "distance", "agreement")


def overlapping(n_classes=3, n=30, d=3, seed=0):
    """Return classes in a row, each overlapping with the next, with names that sort."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.array([f"k{i}" for i in range(n_classes)]), n)
    X = rng.normal(size=(len(y), d))
    X[:, 0] += 2.0 * np.repeat(np.arange(n_classes), n)
    return X, y


def same(a, b):
    return all(np.array_equal(getattr(a, field), getattr(b, field)) for field in FIELDS)
