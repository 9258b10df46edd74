"""Affine hull of all records: its dimension, and coordinates inside of it."""

import numpy as np

from sepc.common.typing import FloatArray
from sepc.geometry.chunks import chunks
from sepc.geometry.ellipsoid import FLAT, Ellipsoid
from sepc.geometry.passes import principal_axes
from sepc.landscapes.moments import Moments


class AffineHull:
    """Affine hull of all records, with coordinates in it.

    Parameters
    ----------
    total : Moments
        Of all records.
    unit : ndarray of shape (d,)
        Unit of length of each feature.

    Attributes
    ----------
    dimension : int
    is_all : bool
        Whether the records fill the whole space; coordinates are then the features themselves.
    """

    def __init__(self, total: Moments, unit: FloatArray) -> None:
        self.mean, self.unit = total.mean, unit
        variance, axes = np.linalg.eigh(total.covariance / np.outer(unit, unit))
        self.axes = axes[:, ::-1]
        # One point has no dimension, but an ellipsoid around it has one.
        self.dimension = max(int(np.count_nonzero(variance >= FLAT**2)), 1)
        self.is_all = self.dimension == len(unit)

    @property
    def length(self) -> FloatArray:
        """Units of length of the coordinates."""
        return self.unit if self.is_all else np.ones(self.dimension)

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the coordinates of points in the hull, shape (n, dimension)."""
        if self.is_all:
            return points
        basis = self.axes[:, : self.dimension]
        inside = np.concatenate([((x - self.mean) / self.unit) @ basis for x in chunks(points)])
        inside.setflags(write=False)
        return inside

    def in_original_units(self, E: Ellipsoid) -> Ellipsoid:
        """Return an ellipsoid of the hull in the original units, with the radius of flat directions across the hull."""
        if self.is_all:
            return E
        basis, across = np.split(self.axes, [self.dimension], axis=1)
        factor = np.hstack([basis @ (E.axes * E.radii), across * FLAT]) * self.unit[:, None]
        axes, radii = principal_axes(factor)
        return Ellipsoid.trusted(self.mean + self.unit * (basis @ E.center), axes.T, radii)
