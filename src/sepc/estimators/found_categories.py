"""Categories that a training set shows by itself: features that are 0 or 1, and add up to 1 in every record."""

from collections.abc import Callable

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.chunks import chunks
from sepc.geometry.extents import Extents
from sepc.model.category_shares import Categories, category_groups

# Rounding of features in other units, and of sums over all records.
_ROUNDING = 1e-9
_OF_SUMS = 1e-6


Moments = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def found_categories(extents: Extents, moments: Moments, mean: FloatArray, scale: FloatArray) -> Categories | None:
    """Return the categories in a training set, in its units; None if there are none.

    Parameters
    ----------
    extents : Extents
        Of all points, in the units ``(x - mean) / scale``.
    moments : callable
        Takes an origin of shape (d,); returns sums of differences from it, and of their products, over all points.
    mean, scale : ndarray of shape (d,)

    Returns
    -------
    Categories or None
        With the features that `category_groups` finds.
    """
    low, high = (ends * scale + mean for ends in (extents.low.min(axis=0), extents.high.max(axis=0)))
    rounding = _ROUNDING * (1.0 + np.abs(mean))
    within = (np.abs(low) <= rounding) & ((np.abs(high - 1.0) <= rounding) | (np.abs(high) <= rounding))
    if not np.any(within & (high > 0.5)):
        return None
    no, yes = -mean / scale, (1.0 - mean) / scale
    total, products = moments(no)
    total, products = total * scale, products * np.outer(scale, scale)
    # x (1 - x) is 0 for 0 and 1 alone.
    features = np.flatnonzero(within & (np.abs(total - products.diagonal()) <= _OF_SUMS))
    n = int(extents.n.sum())
    found = category_groups(n, np.rint(total[features]), np.rint(products[np.ix_(features, features)]))
    return Categories.of([features[group] for group in found], no, yes) if found else None


def moments_about(origin: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums of the differences from an origin, and of their products, shapes (d,) and (d, d)."""
    d = len(origin)
    total, products = np.zeros(d), np.zeros((d, d))
    for x in chunks(points):
        away = x - origin
        total += away.sum(axis=0)
        products += away.T @ away
    return total, products
