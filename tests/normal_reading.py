"""Ellipsoids read as normal distributions, by SciPy and one point at a time."""

import numpy as np
from scipy.stats import Covariance, multivariate_normal


def density(E, z):
    """Return the density at a point of the normal distribution that an ellipsoid is read as."""
    covariance = Covariance.from_eigendecomposition((np.square(E.radii) / (E.dim + 2), E.axes))
    return multivariate_normal(E.center, covariance).pdf(z)


def largest_local_overlap(ellipsoids, groups, z):
    """Return the largest min(f, g) / (f + g) of two ellipsoids of different groups around a point, NaN without such."""
    around = [(group, density(E, z)) for E, group in zip(ellipsoids, groups, strict=True) if E.contains([z])[0]]
    alike = [min(f, g) / (f + g) for one, f in around for other, g in around if one != other]
    return max(alike, default=np.nan)
