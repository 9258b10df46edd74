"""Extents of classes, in the units of the data and in others."""

import numpy as np

from sepc.geometry.extents import Extents


def test_extents_in_other_units():
    sets = [np.array([[1.0, 4.0], [3.0, 8.0]]), np.array([[5.0, 6.0]])]
    found = Extents.of(sets).in_units(np.array([1.0, 4.0]), np.array([2.0, 4.0]))
    assert found.n.tolist() == [2, 1]
    assert found.low.tolist() == [[0.0, 0.0], [2.0, 0.5]]
    assert found.high.tolist() == [[1.0, 1.0], [2.0, 0.5]]
    assert found.mean.tolist() == [[0.5, 0.5], [2.0, 0.5]]
