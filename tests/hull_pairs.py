"""Checks of the nearest points of two hulls, for the tests."""

import numpy as np
import pytest

TOL = 1e-9


def check(pair, A, B, tol=TOL):
    """Weights are feasible and give the points; the gap is certified from the weights alone."""
    A, B = np.asarray(A, float), np.asarray(B, float)
    for weights, cap in zip((pair.weights_a, pair.weights_b), pair.caps, strict=True):
        assert weights.min() >= 0
        assert weights.max() <= cap
        assert weights.sum() == pytest.approx(1, abs=1e-13)
    size = max(np.abs(A).max(), np.abs(B).max())
    assert pair.c == pytest.approx(pair.weights_a @ A, abs=1e-12 * size)
    assert pair.d == pytest.approx(pair.weights_b @ B, abs=1e-12 * size)
    assert pair.normal == pytest.approx(pair.c - pair.d, abs=1e-12 * size)
    assert 0 <= pair.gap <= tol
    assert pair.certificate(A, B) <= 2 * tol
    assert pair.converged
