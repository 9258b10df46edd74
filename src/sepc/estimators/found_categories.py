"""Categories that a training set shows by itself: features that are 0 or 1, and add up to 1 in every record."""

from collections.abc import Sequence

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.points.sets import Points, bounds_of
from sepc.model.category_shares import Categories, category_groups

# Rounding of features in other units, and of sums over all records.
_ROUNDING = 1e-9
_OF_SUMS = 1e-6


def found_categories(points: Sequence[Points], mean: FloatArray, scale: FloatArray) -> Categories | None:
    """Return the categories in a training set, in its units; None if there are none.

    Parameters
    ----------
    points : sequence of Points
        All of them together, in the units ``(x - mean) / scale``.
    mean, scale : ndarray of shape (d,)

    Returns
    -------
    Categories or None
        With the features that `category_groups` finds.

    Examples
    --------
    >>> from sepc.geometry.points.sets import LocalPoints
    >>> X = np.array([[3.0, 1.0, 0.0], [4.0, 0.0, 1.0], [5.0, 0.0, 1.0]])
    >>> found_categories([LocalPoints(X)], np.zeros(3), np.ones(3)).groups
    (array([1, 2]),)
    """
    low, high = (ends * scale + mean for ends in bounds_of([one.extent for one in points]))
    rounding = _ROUNDING * (1.0 + np.abs(mean))
    within = (np.abs(low) <= rounding) & ((np.abs(high - 1.0) <= rounding) | (np.abs(high) <= rounding))
    if not np.any(within & (high > 0.5)):
        return None
    no, yes = -mean / scale, (1.0 - mean) / scale
    n, total, products = 0, np.zeros(len(mean)), np.zeros((len(mean), len(mean)))
    for one in points:
        sums = one.moments(no)
        n, total, products = n + sums[0], total + sums[1], products + sums[2]
    total, products = total * scale, products * np.outer(scale, scale)
    # x (1 - x) is 0 for 0 and 1 alone.
    features = np.flatnonzero(within & (np.abs(total - products.diagonal()) <= _OF_SUMS))
    found = category_groups(n, np.rint(total[features]), np.rint(products[np.ix_(features, features)]))
    return Categories.of([features[group] for group in found], no, yes) if found else None
