"""Relations between columns: how far a value is from what the class, and the other values, make of it.

Densities blur relations: their covariances are drawn to common ones, and few records must do for many columns. So
typicality has two further scores, the departures of the strangest value. Let z be a record, m the mean of the class
nearest to it, P the inverse of the covariance within classes, which is shrunk only as far as records that are left out
ask for, and s the standard deviations within classes. The value of column j departs

- from the other values by ``r_j = (P (z - m))_j / sqrt(P_jj)``: its difference from what they predict, in standard
  deviations of that difference,
- from its class by ``(z - m)_j / s_j``.

Each column has tails of its own, on both sides. A departure x beyond b, where training records rarely are, becomes
``(x / b)^p``, and x / b below; with the power p a normal distribution has about the same tails. The largest of
all columns is the score. To be as strange by any of the scores is to be as strange: each is put on a scale by its
median and the limit that few records exceed, and the worst one counts. With missing values the density counts alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.model.densities import FARTHEST

# Points of a block, and numbers in it, the same for all: sums over others may differ in the last bit.
_ROWS, _NUMBERS = 128, 1 << 13


class Departure(NamedTuple):
    """Departures of the values of one point.

    Attributes
    ----------
    from_others : bool
        Whether from what the other values predict, or from the mean of the class.
    sizes : ndarray of shape (d,)
        Those of the columns of `Relations`, in standard deviations.
    expected : ndarray of shape (d,)
        What would be no departure.
    """

    from_others: bool
    sizes: FloatArray
    expected: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Relations:
    """What training records show of d of the columns, in units of their deviations within classes.

    Attributes
    ----------
    columns : ndarray of int, shape (d,)
        Columns that are judged: those of numbers that vary within classes.
    scale : ndarray of shape (d,)
        The deviations s, in units of the points.
    centers : ndarray of shape (n_classes, d)
        Means of the classes.
    precision : ndarray of shape (d, d)
        P.
    usual, power : ndarray of shape (2, 2, d)
        Limits b and powers p of departures from other values and from the class, above and below.
    middle, width : ndarray of shape (3,)
        Of the negative log density, and the two departures: their medians, and what the limits are above these.
    """

    columns: IntArray
    scale: FloatArray
    centers: FloatArray
    precision: FloatArray
    usual: FloatArray
    power: FloatArray
    middle: FloatArray
    width: FloatArray

    def score(self, points: FloatArray, log_densities: FloatArray) -> FloatArray:
        """Return how ordinary points of shape (n, d) with these densities are, shape (n,); larger is more so."""
        return -self.worst(log_densities, self.departures(points))

    def worst(self, log_densities: FloatArray, departures: FloatArray) -> FloatArray:
        """Return the worst of all scores, each on its scale, shape (n,); departures that are NaN do not count."""
        scores = np.column_stack([-log_densities, departures])
        return np.asarray(np.fmax.reduce((scores - self.middle) / self.width, axis=1))

    def departures(self, points: FloatArray) -> FloatArray:
        """Return the largest departures of points from other values, and from the class, shape (n, 2); NaN by gaps."""
        # Columns side by side in memory: the largest of each point is then one of whole rows.
        n_rows = max(_ROWS, _NUMBERS // len(self.columns))
        out, block = np.empty((len(points), 2)), np.zeros((len(self.columns), n_rows))
        judge = self.judge(np, np.asarray)
        for rows in chunk_slices(len(points), n_rows):
            n = rows.stop - rows.start
            block[:, :n] = points[rows].T[self.columns]
            out[rows] = judge(block).T[:n]
        return out

    def strangest(self, point: FloatArray, log_density: float) -> "Departure | None":
        """Return how far the values of one point, shape (n_features,), are off; None if its density is stranger."""
        scores = (np.append(-log_density, self.departures(point[None])[0]) - self.middle) / self.width
        kind = int(np.nanargmax(scores)) - 1
        if kind < 0:
            return None
        x = point[self.columns] / self.scale
        to_classes = x - self.centers
        away = to_classes[np.einsum("kd,de,ke->k", to_classes, self.precision, to_classes).argmin()]
        image, diagonal = self.precision @ away, self.precision.diagonal()
        # In standard deviations: no value departs as far from the others as one that alone is off.
        off, difference = ((image / np.sqrt(diagonal), image / diagonal), (away, away))[kind]
        return Departure(kind == 0, np.abs(off), (x - difference) * self.scale)

    def judge(self, xp: Any, put: Callable[[FloatArray], Any]) -> Callable[[Any], Any]:
        """Return the function that `departures` calls, for arrays of a library; `put` brings an array there.

        It takes the columns of points, shape (d, n), and returns an array of shape (2, n).
        """
        by_column = self.precision / np.sqrt(self.precision.diagonal())
        scale, towards = put(self.scale[:, None]), put(2.0 * self.centers @ self.precision)
        offsets = put(np.einsum("kd,de,ke->k", self.centers, self.precision, self.centers)[:, None])
        frame, images, centers = put(by_column.T), put((self.centers @ by_column).T), put(self.centers.T)
        limits, powers = put(self.usual[..., None]), put(self.power[..., None])

        def judged(x: Any) -> Any:
            z = xp.clip(x / scale, -FARTHEST, FARTHEST)
            nearest = xp.argmin(offsets - towards @ z, axis=0)
            from_others = frame @ z - xp.take(images, nearest, axis=1)
            from_class = z - xp.take(centers, nearest, axis=1)
            found = [
                largest(xp, away, limits[k, ...], powers[k, ...]) for k, away in enumerate((from_others, from_class))
            ]
            return xp.stack(found, axis=0)

        return judged


def largest(xp: Any, away: Any, limits: Any, powers: Any, *, axis: int = 0) -> Any:
    """Return the largest departure of each of n points, shape (n,), on the scale that all columns share.

    `away` has the shape (d, n); `limits` and `powers`, shape (2, d, 1), are those of departures above and below. With
    columns along `axis` 1 the shapes are (n, d) and (2, d).
    """
    above, below = (away / limits[0, ...], -away / limits[1, ...])
    usual = xp.maximum(xp.max(above, axis=axis), xp.max(below, axis=axis))
    sides = ((above, powers[0, ...]), (below, powers[1, ...]))
    logs = [xp.max(power * xp.log(xp.clip(beyond, 1.0, None)), axis=axis) for beyond, power in sides]
    far = xp.maximum(*logs)
    return xp.where(far > 0.0, xp.exp(far), usual)
