"""Calibration: temperature, corrections and background of probabilities, and typicality, by held-out records.

The densities of a partition know the records that shaped them too well. Partitions of the same training set that each
hold a part out show how well they predict others. From the densities of held-out records come

- a temperature: log odds between labels are divided by it,
- a correction of each label, which is added to its log odds: the regions of one class may be drawn too narrow or too
  wide where those of another are not, and then all records are drawn to one label. Without it probabilities can be
  right for the class priors of the training set and wrong for others,
- the background component, whose probabilities are those of the whole training set. Its share has two parts: a constant
  one, for the records whose labels the regions do not show, and that of a uniform and very low density, which takes
  over far away from all regions,
- linear terms of the features, where they help: what a straight line shows is not lost where densities miss it,
- places where labels differ from what all this predicts, with the counts of labels there (`model.local_counts`),
- typicality: the share of held-out records that are at least as strange, by their density, or by the worst of it and
  two scores that know relations between columns (`model.relations`).

With a share k of a point's features known, the temperature is T^k and the corrections are multiplied by k: the fewer
are known, the less overconfidence there is to correct. A missing feature has no linear term. `estimators.calibrating`
learns all this.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from sepc.common.typing import FloatArray, IntArray
from sepc.model.local_counts import LocalCounts
from sepc.model.relations import Relations

# A point is strange if its typicality is below this.
STRANGE = 0.01
# The logarithm of a density that no point has: a background of it is nowhere.
NOWHERE = -1e9


@dataclass(frozen=True, eq=False, slots=True)
class LinearTerms:
    """Terms of the features in the log odds of each label: ``slopes[j, k] * min(max(x[j], low[j]), high[j])``.

    Features are in the units of the model, whose mean is 0; a missing one has a term of 0. Beyond `low` and `high` a
    term is as large as there: strange points get no certainty by extrapolation.

    Attributes
    ----------
    slopes : ndarray of shape (d, n_classes)
    low, high : ndarray of shape (d,)
    """

    slopes: FloatArray
    low: FloatArray
    high: FloatArray

    def clipped(self, points: FloatArray) -> FloatArray:
        """Return the features within `low` and `high`, 0 where they are missing, shape (n, d)."""
        return np.ascontiguousarray(np.nan_to_num(np.clip(points, self.low, self.high), copy=False))

    def log_odds(self, points: FloatArray) -> FloatArray:
        """Return the sum of the terms of each label, shape (n, n_classes)."""
        z = self.clipped(points)
        # A sum over each row, not a product of matrices: no row depends on the others, not even in the last bit.
        return np.column_stack([np.einsum("ij,j->i", z, slopes) for slopes in np.ascontiguousarray(self.slopes.T)])

    def by_feature(self, points: FloatArray, label: IntArray, rival: IntArray) -> FloatArray:
        """Return the terms in the log odds of one label, shape (n,), against another, shape (n, d)."""
        return np.asarray(self.clipped(points) * (self.slopes[:, label] - self.slopes[:, rival]).T)


@dataclass(frozen=True, eq=False, slots=True)
class Calibration:
    """What held-out records show of densities.

    Attributes
    ----------
    temperature : float
        Log odds between labels are divided by it.
    correction : ndarray of shape (n_classes,)
        Added to the log odds of each label afterwards.
    unexplained : float
        Constant share of the background component.
    level : float
        Logarithm of the background's density.
    class_share : ndarray of shape (n_classes,)
        Probabilities in the background.
    held_out : ndarray of shape (n,)
        Scores of held-out records, ascending: logarithms of the density, or those of `relations`.
    linear : LinearTerms or None
        Added to the log odds of each label, too; None where held-out records do not show that it helps.
    relations : Relations or None
        Relations between columns; None where density alone shows what is strange.
    local : LocalCounts or None
        Places where the labels of held-out records differ from what is predicted without it; None where there are none.
    """

    temperature: float
    correction: FloatArray
    unexplained: float
    level: float
    class_share: FloatArray
    held_out: FloatArray
    linear: LinearTerms | None = None
    relations: Relations | None = None
    local: LocalCounts | None = None

    def posterior(
        self, joint: FloatArray, known: FloatArray | float = 1.0, points: FloatArray | None = None
    ) -> FloatArray:
        """Return the probability of each class, shape (n, n_classes).

        Parameters
        ----------
        joint : ndarray of shape (n, n_classes)
            Logarithms of each class's prior times its density.
        known : ndarray of shape (n,), default=1
            Shares of known features.
        points : ndarray of shape (n, d)
            Needed where there are linear terms, or places.
        """
        # What `by_regions` and `log_density` do, in one pass: they would take a third of a prediction's time.
        top = joint.max(axis=1, keepdims=True)
        odds = joint - top
        log_densities = top[:, 0] + np.log(np.exp(odds).sum(axis=1))
        odds /= self.temperature_at(known)
        odds += self.correction_at(known)
        if self.linear is not None:
            odds += self.linear.log_odds(self._given(points))
        np.exp(odds, out=odds)
        odds /= odds.sum(axis=1, keepdims=True)
        return self.with_places(self.with_background(odds, log_densities), points)

    def with_places(self, proba: FloatArray, points: FloatArray | None) -> FloatArray:
        """Return probabilities with the counts of places, shape (n, n_classes)."""
        return proba if self.local is None else self.local.taken_into(proba, self._given(points))

    def with_background(self, proba: FloatArray, log_densities: FloatArray) -> FloatArray:
        """Return probabilities, shape (n, n_classes), with the background's share, by log densities, shape (n,)."""
        return np.asarray(mixed(proba, self.background(log_densities)[:, None], self.class_share))

    def ceilings(self) -> FloatArray:
        """Return what no probability of each label exceeds, shape (n_classes,), whatever the densities are."""
        most = np.asarray(mixed(1.0, self.unexplained, self.class_share))
        if self.local is None:
            return most
        at_places = self.local.counts / self.local.counts.sum(axis=1, keepdims=True)
        reached = mixed(most, self.local.most_weights[:, None], at_places).max(axis=0, initial=0.0)
        return np.asarray(np.maximum(most, reached))

    def temperature_at(self, known: FloatArray | float) -> FloatArray:
        """Return the temperature for these shares of known features, shape (n, 1), or (1, 1) for one."""
        return np.asarray(np.power(self.temperature, known)).reshape(-1, 1)

    def correction_at(self, known: FloatArray | float) -> FloatArray:
        """Return the corrections for these shares of known features, shape (n, n_classes) or one row."""
        return np.asarray(np.reshape(known, (-1, 1)) * self.correction)

    def by_regions(
        self, joint: FloatArray, known: FloatArray | float = 1.0, points: FloatArray | None = None
    ) -> FloatArray:
        """Return the probability of each class without the background, shape (n, n_classes)."""
        terms = 0.0 if self.linear is None else self.linear.log_odds(self._given(points))
        return np.asarray(softmax(joint / self.temperature_at(known) + self.correction_at(known) + terms, axis=1))

    @staticmethod
    def _given(points: FloatArray | None) -> FloatArray:
        if points is None:
            raise TypeError("points are needed for linear terms and places")
        return points

    def background(self, log_densities: FloatArray) -> FloatArray:
        """Return the share of the background component, shape (n,)."""
        far = expit(self.level - log_densities)
        return np.asarray(self.unexplained + (1.0 - self.unexplained) * far)

    def typicality(self, log_densities: FloatArray, points: FloatArray) -> FloatArray:
        """Return the share of held-out records that are at least as strange as points; NaN if there are none.

        `points`, shape (n, d), are in the units of the model, and have these densities, shape (n,).
        """
        if not len(self.held_out):
            return np.full(len(log_densities), np.nan)
        scores = self.scores(log_densities, points)
        return np.asarray(np.searchsorted(self.held_out, scores, side="right") / len(self.held_out))

    def scores(self, log_densities: FloatArray, points: FloatArray) -> FloatArray:
        """Return what `typicality` compares with `held_out`, shape (n,): the larger, the more ordinary."""
        return log_densities if self.relations is None else self.relations.score(points, log_densities)

    def least_score(self, typicality: float) -> float:
        """Return the lowest score of a point with at least this typicality, where held-out records are known."""
        needed = int(np.ceil(typicality * len(self.held_out) - 1e-9))
        return float(self.held_out[needed - 1]) if needed > 0 else -np.inf


def log_density(joint: FloatArray) -> FloatArray:
    """Return the logarithm of the density of all classes together, shape (n,), from those of prior times density."""
    # As SciPy's logsumexp, with fewer temporaries.
    top = joint.max(axis=1)
    total = np.exp(joint - top[:, None]).sum(axis=1)
    return np.asarray(top + np.log(total, out=total))


def strange_below(held_out: FloatArray) -> float:
    """Return the score below which a point is strange, from the ascending scores of held-out records."""
    return float(held_out[int(STRANGE * len(held_out))])


def mixed(by_regions: Any, background: Any, class_share: Any) -> Any:
    """Return probabilities with a background's share of shape (n, 1), for arrays of any library."""
    return (1.0 - background) * by_regions + background * class_share
