"""Combining: what another model's answers and regions are worth together, learnt from held-out records."""

from typing import Any

import numpy as np

from sepc.around.cross_fitting import cross_fitted, splits_of
from sepc.around.trusted_model import TrustedModel, asked_of, track_record
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import TrainingSet
from sepc.estimators.classifier import SEPClassifier
from sepc.estimators.ensemble.stacking import learn_stack

# A probability of regions is never 0, but for rounding far away from all.
_LEAST = 1e-300
# Refits of regions whose columns were chosen by the labels.
_REFITS = 5


def combined(
    regions: SEPClassifier,
    checked: TrainingSet,
    answers: FloatArray,
    judged: BoolArray,
    *,
    keeps_labels: bool,
    fingerprint: FloatArray,
) -> TrustedModel:
    """Return the model of regions and another model's answers.

    Parameters
    ----------
    regions : SEPClassifier
        Fitted to the n records of `checked`.
    checked : TrainingSet
    answers : ndarray of shape (n, n_classes + 2)
        What the other model says of each record without having seen it: as in points of `trusted_model`.
    judged : ndarray of bool, shape (n,)
        Whether it says anything.
    keeps_labels, fingerprint
        As in `TrustedModel`.
    """
    model: Any = regions.model_
    points, by_regions = _held_out(regions, checked)
    rows = model.training.rows
    both = judged[rows[points]]
    points, by_regions = points[both], np.maximum(by_regions[both], _LEAST)
    codes, held_out = model.training.codes[points], asked_of(answers[rows[points]], 0)
    stack = learn_stack(np.stack([held_out.log_probabilities, np.log(by_regions)]), codes, model.class_count)
    record = track_record(model, points, held_out.codes, codes, by_regions)
    return TrustedModel(model, stack, keeps_labels, record, fingerprint, answers[rows])


def _held_out(regions: SEPClassifier, checked: TrainingSet) -> tuple[IntArray, FloatArray]:
    """Return numbers of training records, and their probabilities by regions that have not seen them."""
    model: Any = regions.model_
    points, proba = model.held_out_probabilities()
    if len(points):
        return points, proba
    # Regions of columns that were chosen by the labels of all records: refits choose anew.
    y, every = checked.classes[checked.codes], np.arange(len(checked.codes))
    splits = splits_of(_REFITS, checked, checked.X, y, every, {})
    again = cross_fitted(SEPClassifier(), checked.X, y, checked.classes, splits, {})
    place = np.full(len(y), -1)
    place[again.rows] = np.arange(len(again.rows))
    points = np.flatnonzero(place[model.training.rows] >= 0)
    return points, again.answers.raw[place[model.training.rows[points]]]


def neutral_answers(n: int, class_share: FloatArray) -> FloatArray:
    """Return answers that say nothing, shape (n, n_classes + 2): the shares of the classes."""
    return np.tile(np.concatenate([np.log(class_share), [float(class_share.argmax()), np.nan]]), (n, 1))
