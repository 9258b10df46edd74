"""Mean and covariance of points, in one pass over them, and of parts put together."""

from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.passes import kernels
from sepc.geometry.threads import one_blas_thread


class Moments(NamedTuple):
    """Number, mean and covariance (ddof 0) of some points."""

    n: int
    mean: FloatArray
    covariance: FloatArray


def moments(points: FloatArray) -> Moments:
    """Return number, mean and covariance; a constant column has a variance of exactly 0."""
    with one_blas_thread(points.size):
        origin, mean, _, covariance = kernels().moments(points, np.ones(points.shape[1]))
    return Moments(len(points), origin + mean, covariance)


def joint(parts: list[Moments]) -> Moments:
    """Return the moments of all points from those of their parts."""
    n = sum(part.n for part in parts)
    start = parts[0].mean
    mean = sum((part.n / n) * (part.mean - start) for part in parts)
    steps = [part.mean - start - mean for part in parts]
    covariance = np.zeros((len(start), len(start)))
    for part, step in zip(parts, steps, strict=True):
        covariance += (part.n / n) * (part.covariance + np.outer(step, step))
    return Moments(n, start + mean, covariance)
