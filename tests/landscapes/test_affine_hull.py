"""Volumes inside the affine hull."""

import numpy as np
import pytest
from landscape_data import two_classes
from strategies import rotation

from sepc import landscape


def test_volumes_are_taken_inside_the_affine_hull():
    X, y = two_classes(3)
    plane = np.column_stack([X, X @ [1.0, -2.0, 0.5]]) @ rotation(4, np.random.default_rng(0))
    one, other = landscape(X, y), landscape(plane, y)
    assert (one.dimension, other.dimension) == (3, 3)
    assert one.overlaps[0].ovr == pytest.approx(other.overlaps[0].ovr, rel=1e-5)
    assert one.overlaps[0].ovl == pytest.approx(other.overlaps[0].ovl, abs=1e-5)
    assert other.ellipsoids[0].contains(plane[y == 0], tol=1e-4).all()
    assert other.overlaps[0].by_points.dim == 4
