"""Shifted features: means of observed records in a part, compared with those of the training records there."""

from typing import Any

import numpy as np
from scipy.stats import norm

from sepc.common.typing import BoolArray, FloatArray
from sepc.feedback.drift import LABEL, OTHER_REGIONS, OVERALL, DriftPart, MovedFeature
from sepc.feedback.held_out_models import training_of, view_by


def with_moved_features(
    parts: tuple[DriftPart, ...], clf: Any, records: FloatArray, chances: FloatArray
) -> tuple[DriftPart, ...]:
    """Return parts of a test of errors with the features that have moved in each since it began.

    `records` are those of the test so far, in their order; `chances` their chances of being labelled.
    """
    return tuple(
        part._replace(features=moved_features(clf, part, records[part.since :], 1.0 / chances[part.since :]))
        for part in parts
    )


def moved_features(clf: Any, part: DriftPart, rows: FloatArray, weights: FloatArray) -> tuple[MovedFeature, ...]:
    """Return the features whose means differ most from the training records', by more than chance explains.

    Compared are records of the part, by the labels and regions that `clf` gives them; `weights` has the number of
    records that each observed one stands for. The largest shift comes first; with fewer than five records there is
    none.
    """
    training = training_of(clf.model_)[0]
    before = training[belongs(clf, part, training)]
    order = np.lexsort([weights, *np.where(np.isnan(rows), np.inf, rows).T])  # for sums that do not depend on row order
    mine = order[belongs(clf, part, rows[order])]
    found = []
    # The probability that any feature is named although none has moved is about 0.01.
    for j, name in enumerate(clf.model_.features):
        shift, error = _shift(before[:, j], rows[mine, j], weights[mine])
        if abs(shift) > norm.isf(0.01 / 2.0 / len(clf.model_.features)) * error:
            found.append(MovedFeature(name, shift))
    return tuple(sorted(found, key=lambda moved: -abs(moved.shift))[:3])


def _shift(before: FloatArray, after: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the shift of a feature's mean in standard deviations, and its standard error.

    The shift is 0 where there are too few values, or they did not vary.
    """
    before, known = before[~np.isnan(before)], ~np.isnan(after)
    after, weights = after[known], weights[known]
    if len(after) < 5 or len(before) < 3 or not np.ptp(before) > 0.0:
        return 0.0, np.inf
    total = weights.sum()
    effective = total**2 / (weights**2).sum()  # Kish's effective sample size
    shift = (after @ weights / total - before.mean()) / before.std()
    return float(shift), float(np.sqrt(1.0 / effective + 1.0 / len(before)))


def belongs(clf: Any, part: DriftPart, rows: FloatArray) -> BoolArray:
    """Return which records belong to a part, by the labels and regions that a classifier gives them, shape (n,)."""
    if part.kind == OVERALL or not len(rows):
        return np.ones(len(rows), dtype=bool)
    view = view_by(clf, rows)
    if part.kind in (LABEL, OTHER_REGIONS):
        # Other regions are those of the comparison models; all records of the label stand in for them.
        return np.asarray(np.array([str(label) for label in clf.model_.classes[view.codes]]) == part.name)
    return np.asarray(np.array(clf.model_.partition.region_names())[view.components] == part.name)
