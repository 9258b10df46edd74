"""Held-out records: what another model and the regions say of training records that neither had seen there."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepc.around.answers import Answers
from sepc.around.cross_fitting import CrossFits, Split, cross_fitted
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import TrainingSet
from sepc.estimators.classifier import SEPClassifier

# A probability of regions is never 0, but for rounding far away from all.
_LEAST = 1e-300


class HeldOut(NamedTuple):
    """Training records that were held out of both.

    Attributes
    ----------
    points : ndarray of int, shape (m,)
        Their numbers among the training records of the regions' model.
    codes : ndarray of int, shape (m,)
        Their classes.
    answers : Answers
        Of refits of the other model.
    by_regions : ndarray of shape (m, n_classes)
        Probabilities by regions that have not seen them.
    """

    points: IntArray
    codes: IntArray
    answers: Answers
    by_regions: FloatArray

    @classmethod
    def of(cls, regions: SEPClassifier, fits: CrossFits, checked: TrainingSet, splits: Sequence[Split]) -> "HeldOut":
        """Return the records that refits of the other model and regions have judged; `checked` are all of them."""
        model: Any = regions.model_
        points, proba = model.held_out_probabilities()
        rows = model.training.rows
        if not len(points):  # regions of chosen columns: these too must not know a record
            y = checked.classes[checked.codes]
            again = cross_fitted(SEPClassifier(), checked.X, y, checked.classes, splits, {})
            by_row = np.full(checked.X.shape[0], -1)
            by_row[again.rows] = np.arange(len(again.rows))
            points = np.flatnonzero(by_row[rows] >= 0)
            proba = again.answers.raw[by_row[rows[points]]]
        asked = np.full(checked.X.shape[0], -1)
        asked[fits.rows] = np.arange(len(fits.rows))
        both = asked[rows[points]] >= 0
        points, proba = points[both], np.maximum(proba[both], _LEAST)
        answers = Answers(*(column[asked[rows[points]]] for column in fits.answers))
        return cls(points, model.training.codes[points], answers, proba)
