"""Features in steps: what the range that a value falls into says of the label.

Each feature is cut where the labels change, into a few ranges, and a value is replaced by what its range says: the log
odds of the two classes among the points in it, or, of several classes, the direction in which their log shares differ
most. An ellipsoid of such numbers is a box, or several, of the features as they came: what a rule over thresholds
describes, and no ellipsoid of the values themselves can. It must not be learnt from points that it is to judge.
"""

from typing import NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from sepc.common.typing import FloatArray, IntArray

# Of 8 and 16 ranges, and of at least 5 and 10 points in each, these ranked best on the sets that constants are chosen
# by; ranges with the same number of points in each did worse.
_MOST_RANGES = 8
_LEAST_POINTS = 10
# How many points the shares of the classes among all weigh in those of a range.
_DRAWN_TO_ALL = 3.0


class LabelSteps(NamedTuple):
    """Steps of d features.

    Attributes
    ----------
    cuts : tuple of d ndarray of float
        Where each feature is cut, ascending; a value that is cut at belongs to the range below.
    values : tuple of d ndarray of float
        What stands for the values of each range, one number more than there are cuts.
    """

    cuts: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Return points of shape (n, d) with each value replaced by what its range says; what is missing stays so."""
        out = np.empty(points.shape)
        for j, (cuts, values) in enumerate(zip(self.cuts, self.values, strict=True)):
            out[:, j] = values[np.searchsorted(cuts, points[:, j])]
        out[np.isnan(points)] = np.nan
        return out

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return from where to where values lie whose ranges say a number between two ends.

        Parameters
        ----------
        low, high : ndarray of shape (d,)

        Returns
        -------
        low, high : ndarray of shape (d,)
            Infinite where the first or the last range is among them; of ranges with others in between both ends count.
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
    """Cut features where the labels change.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Missing values, NaN, tell nothing.
    codes : ndarray of int, shape (n,)
        Their classes.
    n_classes : int

    Returns
    -------
    LabelSteps
        Of mean 0 and deviation 1 over these points, where a feature is cut at all.
    """
    share = np.bincount(codes, minlength=n_classes) / len(codes)
    cuts, values = [], []
    for column in points.T:
        known = ~np.isnan(column)
        if not known.any():  # no value tells anything
            cuts.append(np.empty(0))
            values.append(np.zeros(1))
            continue
        feature, of_class = (column, codes) if known.all() else (column[known], codes[known])
        tree = DecisionTreeClassifier(max_leaf_nodes=_MOST_RANGES, min_samples_leaf=_LEAST_POINTS, random_state=0)
        grown = tree.fit(feature[:, None], of_class).tree_
        at = np.sort(grown.threshold[grown.feature >= 0])
        which = np.searchsorted(at, feature)
        counts = np.zeros((len(at) + 1, n_classes))
        np.add.at(counts, (which, of_class), 1.0)
        said = _said(counts, share)
        size = counts.sum(axis=1)
        said -= (size * said).sum() / size.sum()
        deviation = np.sqrt((size * np.square(said)).sum() / size.sum())
        cuts.append(at)
        values.append(said / deviation if deviation > 0.0 else said)
    return LabelSteps(tuple(cuts), tuple(values))


def _said(counts: FloatArray, share: FloatArray) -> FloatArray:
    """Return one number for each range, shape (n_ranges,), from how many points of each class it has."""
    drawn = counts + _DRAWN_TO_ALL * share
    logs = np.log(drawn / drawn.sum(axis=1, keepdims=True))
    if len(share) == 2:
        return np.asarray(logs[:, 1] - logs[:, 0])
    logs -= logs.mean(axis=1, keepdims=True)
    weights = counts.sum(axis=1, keepdims=True)
    logs -= (weights * logs).sum(axis=0) / weights.sum()
    direction = np.linalg.svd(np.sqrt(weights) * logs, full_matrices=False)[2][0]
    # Either sign would do; always the same one.
    return np.asarray(logs @ (direction * np.sign(direction[np.abs(direction).argmax()])))
