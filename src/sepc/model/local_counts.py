"""Places where the labels of held-out records differ from what was predicted, and the counts of labels there.

Densities are smooth: a group of a few records amid another class, or many copies at one point, can be lost in them. At
a place with the counts n_1, n_2, ... of n held-out records the probability of label k is

    (1 - w) p_k + w n_k / n,    w = n / (n + COUNTS_AGAINST),

with p_k as it is without the place: as if that were known from `COUNTS_AGAINST` records. From the radius of a place on
w falls to 0, along a line to `FADES` times the radius. Where several places reach a point the one with the largest w
counts. `estimators.local_calibration` finds the places.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.model.constants import COUNTS_AGAINST, FADES


@dataclass(frozen=True, eq=False, slots=True)
class LocalCounts:
    """Places with the counts of the held-out records in them.

    Attributes
    ----------
    centers : ndarray of shape (n_places, d)
        In the units of the model.
    radii : ndarray of shape (n_places,)
    counts : ndarray of shape (n_places, n_classes)
    """

    centers: FloatArray
    radii: FloatArray
    counts: FloatArray

    @property
    def most_weights(self) -> FloatArray:
        """The weight of each place within its radius, shape (n_places,)."""
        n = self.counts.sum(axis=1)
        return np.asarray(n / (n + COUNTS_AGAINST))

    def at(self, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the place that reaches each point, and its weight w there, both of shape (n,); 0 where none does."""
        place, weight = np.zeros(len(points), dtype=np.int64), np.zeros(len(points))
        for rows in chunk_slices(len(points), 1024):
            # Differences, not products of matrices: a point at the center has a distance of exactly 0.
            squares = np.column_stack([np.square(points[rows] - center).sum(axis=1) for center in self.centers])
            weights = fading(np.sqrt(squares), self.radii, np) * self.most_weights
            place[rows] = weights.argmax(axis=1)
            weight[rows] = weights.max(axis=1)
        return place, weight

    def shares(self, place: IntArray) -> FloatArray:
        """Return the shares of the labels at places, shape (n, n_classes)."""
        counts = self.counts[place]
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def taken_into(self, proba: FloatArray, points: FloatArray) -> FloatArray:
        """Return probabilities, shape (n, n_classes), at points with the counts of their places."""
        place, weight = self.at(points)
        return np.asarray(proba + weight[:, None] * (self.shares(place) - proba))


def fading(distances: Any, radii: Any, xp: Any) -> Any:
    """Return how much of the weight of places is left at distances from their centers, for arrays of any library.

    A point with missing values has no distance (NaN), and no weight.
    """
    left = (FADES - distances / radii) / (FADES - 1.0)
    return xp.where(left > 0.0, xp.where(left < 1.0, left, xp.ones_like(left)), xp.zeros_like(left))
