"""Views of the same features: in standard deviations, as normal scores, and in steps.

Normal scores replace a value by the normal quantile of its rank. Skewed and heavy-tailed features become bell-shaped,
which ellipsoids describe better; the order of values, and with it what a range of values means, stays. Steps are made
of standard deviations by each part of a member itself: see `label_steps`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.preprocessing import QuantileTransformer

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.partitions.units import location_and_scale

PLAIN, SCORES, STEPS = VIEWS = (0, 1, 2)
# Steps are made of what is seen in standard deviations.
SEEN_IN = (PLAIN, SCORES, PLAIN)

_N_QUANTILES = 200
# Values beyond the training set's get the score of its last quantile.
_LARGEST_SCORE = 3.0
# The transformer takes values as near as this to the least or the largest one for these.
_EDGE = 1e-7
# Points that are looked at together.
_CHUNK = 1 << 14


@dataclass(frozen=True, eq=False, slots=True)
class FeatureViews:
    """The first two views, as the training set defines them.

    Attributes
    ----------
    ranks : QuantileTransformer
    mean, scale : tuple of two ndarray of shape (d,)
        Of the features, and of their scores: each view is brought to mean 0 and, where it varies, deviation 1.
    """

    ranks: QuantileTransformer
    mean: tuple[FloatArray, FloatArray]
    scale: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Return the views that belong to a training set of shape (n, d), in canonical order."""
        ranks = QuantileTransformer(
            n_quantiles=min(len(X), _N_QUANTILES), output_distribution="normal", random_state=0
        ).fit(X)
        (mean, scale), (mean_score, scale_score) = (location_and_scale(Z) for Z in (X, _scores(ranks, X)))
        scales = tuple(np.where(s > 0.0, s, 1.0) for s in (scale, scale_score))
        return cls(ranks, (mean, mean_score), (scales[0], scales[1]))

    def __call__(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points of shape (n, d) in both views."""
        views = X.copy(), _scores(self.ranks, X)
        for Z, m, s in zip(views, self.mean, self.scale, strict=True):  # in place: there may be many points
            Z -= m
            Z /= s
        return views

    @property
    def bounds(self) -> FloatArray:
        """Smallest and largest value of each feature, of the training points that the ranks are made of, (2, d)."""
        return np.asarray(self.ranks.quantiles_[[0, -1]])

    def beyond(self, X: FloatArray) -> FloatArray:
        """Return how far values lie beyond those of the training points, in standard deviations, shape (n, d).

        What is missing does not.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        """
        smallest, largest = self.bounds
        return np.asarray(np.fmax(np.fmax(smallest - X, X - largest), 0.0) / self.scale[PLAIN])

    def original(self, Z: FloatArray, view: int, features: IntArray | slice = slice(None)) -> FloatArray:
        """Return points of one view in the units that they came in; scores of the last quantile become that quantile.

        Parameters
        ----------
        Z : ndarray of shape (..., d), or (..., n_features) of some of them
        view : int
        features : ndarray of int, shape (n_features,), optional
            Which ones; all by default.

        Returns
        -------
        ndarray of the same shape
        """
        values = Z * self.scale[view][features] + self.mean[view][features]
        if view == PLAIN:
            return np.asarray(values)
        share = np.select([values <= -_LARGEST_SCORE, values >= _LARGEST_SCORE], [0.0, 1.0], ndtr(values))
        quantiles = self.ranks.quantiles_[:, features].T
        columns = zip(np.moveaxis(share, -1, 0), quantiles, strict=True)
        return np.stack([np.interp(p, self.ranks.references_, q) for p, q in columns], axis=-1)


def _scores(ranks: QuantileTransformer, X: FloatArray) -> FloatArray:
    """Return what the transformer makes of points, to the last digit, with bounded scores.

    It would look at each feature by itself, with checks that take far longer than the numbers where points are few.
    """
    quantiles, shares = ranks.quantiles_, ranks.references_
    ranked = np.empty(X.shape)
    for rows in chunk_slices(len(X), _CHUNK):
        x, scores = X[rows], ranked[rows]
        for j, (column, known) in enumerate(zip(x.T, quantiles.T, strict=True)):
            # Of equal quantiles one direction finds the first and the other the last.
            up, down = np.interp(column, known, shares), np.interp(-column, -known[::-1], -shares[::-1])
            scores[:, j] = 0.5 * (up - down)
        scores[quantiles[-1] < x + _EDGE] = 1.0
        scores[quantiles[0] > x - _EDGE] = 0.0
        np.clip(ndtri(scores, out=scores), -_LARGEST_SCORE, _LARGEST_SCORE, out=scores)
    return ranked
