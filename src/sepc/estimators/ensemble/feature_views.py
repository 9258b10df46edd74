"""Two views of the same features: in standard deviations, and as normal scores.

Normal scores replace a value by the normal quantile of its rank. Skewed and heavy-tailed features become bell-shaped,
which ellipsoids describe better; the order of values, and with it what a range of values means, stays.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from sepc.common.typing import FloatArray
from sepc.partitions.units import location_and_scale

PLAIN, SCORES = VIEWS = (0, 1)

_N_QUANTILES = 200
# Values beyond the training set's get the score of its last quantile.
_LARGEST_SCORE = 3.0


@dataclass(frozen=True, eq=False, slots=True)
class FeatureViews:
    """Both views, as the training set defines them.

    Attributes
    ----------
    ranks : QuantileTransformer
    mean, scale : tuple of two ndarray of shape (d,)
        Of the features, and of their scores: each view is brought to mean 0 and, where it varies, deviation 1.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [100.0]])
    >>> views = FeatureViews.of(X)
    >>> views(X)[SCORES].ravel().round(2).tolist()
    [-1.4, -0.2, 0.2, 1.4]
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
        plain, scores = (
            np.asarray((Z - m) / s) for Z, m, s in zip((X, _scores(self.ranks, X)), self.mean, self.scale, strict=True)
        )
        return plain, scores


def _scores(ranks: QuantileTransformer, X: FloatArray) -> FloatArray:
    if not len(X):  # the transformer would refuse them
        return np.empty(X.shape)
    return np.asarray(np.clip(ranks.transform(X), -_LARGEST_SCORE, _LARGEST_SCORE))
