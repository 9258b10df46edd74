"""Rows that occur more than once, with contradictory labels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import drawn_points, examples

from sepc import landscape


@given(drawn_points(2, min_size=3, max_size=40, regimes=("lattice", "copies")), st.data())
@examples(30)
def test_contradictory_duplicates_are_counted(X, data):
    y = data.draw(arrays(np.int64, len(X), elements=st.integers(0, 2)))
    X[0], y[:3] = -0.0, [0, 1, 2]
    labels = {}
    for x, label in zip(X.tolist(), y, strict=True):
        labels.setdefault(tuple(v + 0.0 for v in x), []).append(label)
    expected = sum(len(group) for group in labels.values() if len(set(group)) > 1)
    found = [f.title for f in landscape(X, y).findings if f.code == "contradictory-duplicates"]
    assert found == ([f"{expected} records have an exact duplicate of another class"] if expected else [])
