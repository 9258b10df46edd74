"""Outliers: points without which the minimum-volume ellipsoid of a group is much smaller."""

from collections.abc import Iterator

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.mve import min_volume_ellipsoid


def outlier_limit(n: int, d: int) -> float:
    """Return the largest drop of the log volume, without one of n records in d dimensions, that is no outlier.

    ``(1 + 5 (d + 1) / n) / d ** 0.3``. Of 163,200 simulated samples of a Gaussian, or of one truncated by a plane
    through its centre, 3 had a larger drop. Among many records an outlier has a gauge in the ellipsoid of the others of
    at least 5.3 (d = 1), 4 (d = 2), 3 (d = 5) or 2.6 (d = 10).
    """
    return float((1.0 + 5.0 * (d + 1) / n) / d**0.3)


def volume_outliers(points: FloatArray, unit: FloatArray) -> Iterator[tuple[int, float, float]]:
    """Yield the row of each outlier, the drop of the log volume without it and its exact copies, and the limit."""
    m = min_volume_ellipsoid(points, unit=unit)
    if m.rank == 0 or len(points) < 3 * (m.rank + 1):  # a single record may well inflate an ellipsoid of so few
        return
    limit = outlier_limit(len(points), m.rank)
    held = np.flatnonzero(m.weights > 0.0)
    support, copy = np.unique(points[held], axis=0, return_inverse=True)
    weight: FloatArray = np.bincount(copy.ravel(), weights=m.weights[held]).astype(np.float64)
    for x in support[drop_bound(weight, m.rank + 1) > limit]:
        copies = (points == x).all(axis=1)
        rest = min_volume_ellipsoid(points[~copies], unit=unit)
        drop = m.ellipsoid.log_volume - rest.ellipsoid.log_volume
        if drop > limit:
            yield from ((int(i), drop, limit) for i in np.flatnonzero(copies))


def drop_bound(weight: FloatArray, n: int) -> FloatArray:
    """Return upper bounds of the drop of the log volume without each point, by the design with its weight set to 0.

    `weight` has the weights of the points in the optimal design, `n` is one more than the dimension. At most about n
    points can have a weight near 1/n, so that few have to be tried.
    """
    share = np.minimum(n * weight, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(0.5 * (n * np.log1p(-share / n) - np.log1p(-share)))
