"""Readings of the paper that several experiments share."""

import numpy as np

from paper.shared_measures import beyond, classifier, trust_in
from sepc.datasets import make_moons


def test_beyond_agrees_with_the_centroids_of_sets_of_one_size():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((40, 3)), rng.standard_normal((40, 3)) + 0.5
    c, d = A.mean(axis=0), B.mean(axis=0)
    of_a, of_b = beyond(A, B)
    assert np.array_equal(of_a, (A - c) @ (c - d) >= 0.0)
    assert np.array_equal(of_b, (B - d) @ (c - d) <= 0.0)


def test_trust_in_the_labels_of_an_assessment_is_its_own():
    data = make_moons(noise=0.25)
    a = classifier("paper", 2).fit(data.X, data.y).assess(data.X)
    other = np.where(a.label == "upper", "lower", "upper")
    assert np.array_equal(trust_in(a.label, a, data.y), a.trust)
    own, rest = a.counts.T
    assert np.allclose(trust_in(other, a, data.y), 1.0 / (1.0 + own * 100 / ((rest + 1) * 101)))
