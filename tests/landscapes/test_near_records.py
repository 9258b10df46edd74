"""Rows that occur more than once, with contradictory labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds

from sepc import landscape


@given(seed=seeds(), n_values=st.integers(2, 6))
@examples(30)
def test_contradictory_duplicates_are_counted(seed, n_values):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-n_values, n_values, size=(60, 2)).astype(float), rng.integers(3, size=60)
    X[0], y[:3] = -0.0, [0, 1, 2]
    labels = {}
    for x, label in zip(X.tolist(), y, strict=True):
        labels.setdefault(tuple(v + 0.0 for v in x), []).append(label)
    expected = sum(len(group) for group in labels.values() if len(set(group)) > 1)
    found = [f.title for f in landscape(X, y).findings if f.code == "contradictory-duplicates"]
    assert found == ([f"{expected} records have an exact duplicate of another class"] if expected else [])
