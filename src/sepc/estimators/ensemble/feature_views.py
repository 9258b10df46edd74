"""Views of the same features: in standard deviations, as normal scores, and in steps.

Normal scores replace a value by the normal quantile of its rank (see `model.column_scales`). Skewed and heavy-tailed
features become bell-shaped, which ellipsoids describe better; the order of values, and with it what a range of values
means, stays.

In steps each feature is cut where the labels change, into a few ranges, and a value is replaced by the evidence of its
range: the log odds of the two classes among the points in it, or, of several classes, the direction in which their log
shares differ most. An ellipsoid of such numbers is a box, or several, of the features as they came: what a rule over
thresholds describes, and no ellipsoid of the values themselves can. Each part of a member learns its own steps, in
standard deviations, from points that they do not judge.
"""

from typing import NamedTuple, Self

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.constants import LEAST_POINTS_IN_RANGE, MOST_RANGES, RANGE_PRIOR
from sepc.model.column_scales import ColumnScales, Curves

PLAIN, SCORES, STEPS = VIEWS = (0, 1, 2)
# Steps are made of what is seen in standard deviations.
SEEN_IN = (PLAIN, SCORES, PLAIN)


class FeatureViews(NamedTuple):
    """The first two views, as the training set defines them: the scales of the features as they are, and as scores."""

    plain: ColumnScales
    scores: ColumnScales

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Return the views that belong to a training set of shape (n, d), in canonical order."""
        d = X.shape[1]
        ranks = Curves.of(X, np.arange(d), np.full(d, True))
        return cls(ColumnScales.of(X), ColumnScales.of(X.copy(), ranks))

    def __call__(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return points of shape (n, d) in both views."""
        return self.plain(X), self.scores(X)

    @property
    def bounds(self) -> FloatArray:
        """Smallest and largest value of each feature, of the training points that the ranks are made of, (2, d)."""
        return self.scores.curves.quantiles[[0, -1]]

    def beyond(self, X: FloatArray) -> FloatArray:
        """Return distances of values beyond the training range, in standard deviations, shape (n, d); 0 for NaN."""
        smallest, largest = self.bounds
        return np.asarray(np.fmax(np.fmax(smallest - X, X - largest), 0.0) / self.plain.scale)


class LabelSteps(NamedTuple):
    """Steps of d features: cuts, ascending, and the numbers of the ranges between them, one more than cuts.

    A value that is cut at belongs to the range below.
    """

    cuts: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return points of shape (n, d) with each value replaced by its range's number; NaN stays NaN."""
        out = np.empty(points.shape)
        for j, (cuts, values) in enumerate(zip(self.cuts, self.values, strict=True)):
            out[:, j] = values[np.searchsorted(cuts, points[:, j])]
        out[np.isnan(points)] = np.nan
        return out

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the values whose ranges have numbers between two ends, all of shape (d,).

        They are infinite where the first or the last range is among these; ranges in between may have other numbers.
        """
        ends = np.empty((2, len(self.cuts)))
        for j, (cuts, values) in enumerate(zip(self.cuts, self.values, strict=True)):
            inside = np.flatnonzero((values >= low[j]) & (values <= high[j]))
            if not len(inside):  # between the numbers of two ranges: the nearer one
                inside = np.abs(values - 0.5 * (low[j] + high[j])).argmin()[None]
            bounds = np.concatenate([[-np.inf], cuts, [np.inf]])
            ends[:, j] = bounds[inside[0]], bounds[inside[-1] + 1]
        return ends[0], ends[1]


def learn_label_steps(points: FloatArray, codes: IntArray, n_classes: int) -> LabelSteps:
    """Cut features, of points of shape (n, d), where the labels change.

    The steps have mean 0 and deviation 1 over these points, where a feature is cut at all. NaN counts for nothing.
    """
    share = np.bincount(codes, minlength=n_classes) / len(codes)
    cuts, values = [], []
    for column in points.T:
        known = ~np.isnan(column)
        if not known.any():
            cuts.append(np.empty(0))
            values.append(np.zeros(1))
            continue
        feature, of_class = (column, codes) if known.all() else (column[known], codes[known])
        limits = {"max_leaf_nodes": MOST_RANGES, "min_samples_leaf": LEAST_POINTS_IN_RANGE}
        grown = DecisionTreeClassifier(**limits, random_state=0).fit(feature[:, None], of_class).tree_
        at = np.sort(grown.threshold[grown.feature >= 0])
        which = np.searchsorted(at, feature)
        counts = np.zeros((len(at) + 1, n_classes))
        np.add.at(counts, (which, of_class), 1.0)
        evidence = _range_evidence(counts, share)
        size = counts.sum(axis=1)
        evidence -= (size * evidence).sum() / size.sum()
        deviation = np.sqrt((size * np.square(evidence)).sum() / size.sum())
        cuts.append(at)
        values.append(evidence / deviation if deviation > 0.0 else evidence)
    return LabelSteps(tuple(cuts), tuple(values))


def _range_evidence(counts: FloatArray, share: FloatArray) -> FloatArray:
    """Return one number for each range, shape (n_ranges,), from its numbers of points of each class."""
    drawn = counts + RANGE_PRIOR * share
    logs = np.log(drawn / drawn.sum(axis=1, keepdims=True))
    if len(share) == 2:
        return np.asarray(logs[:, 1] - logs[:, 0])
    logs -= logs.mean(axis=1, keepdims=True)
    weights = counts.sum(axis=1, keepdims=True)
    logs -= (weights * logs).sum(axis=0) / weights.sum()
    direction = np.linalg.svd(np.sqrt(weights) * logs, full_matrices=False)[2][0]
    # Either sign would do; always the same one.
    return np.asarray(logs @ (direction * np.sign(direction[np.abs(direction).argmax()])))
