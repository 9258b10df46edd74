"""Gap of a pair of points of two reduced hulls: how far it can be from the nearest pair."""

from math import sqrt

import numpy as np

from sepc.common.typing import FloatArray

# Hulls nearer to each other than this share of the data's range meet.
MEETING_TOLERANCE = 1e-8


def norm(vector: FloatArray) -> float:
    return sqrt(vector.dot(vector))


def certified_gap(distance: float, lower: float, data_range: float) -> float:
    """Return the certified gap of a pair at this distance where no pair is nearer than `lower`."""
    if distance == 0.0:
        return 0.0
    gap = max((distance - lower) / distance, 0.0)
    if distance <= MEETING_TOLERANCE * data_range:
        return min(gap, distance / data_range)
    return gap


def support(score: FloatArray, cap: float) -> float:
    """Return the largest weighted mean of `score`, shape (n,), with weights of at most `cap` and sum 1."""
    n = len(score)
    full = min(int(1.0 / cap + 1e-9), n - 1)
    ordered = np.partition(score, n - full - 1)
    threshold = float(ordered[n - full - 1])
    return threshold * (cap * (1.0 / cap)) + cap * float((ordered[n - full :] - threshold).sum())
