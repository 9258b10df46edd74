"""Predictions for arrays and data frames in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.validation import new_points
from sepc.model.assessment import Assessment
from sepc.model.decision import Decision


def predict(clf: Any, X: Any) -> NDArray[Any]:
    """Return the label of each point, shape (n,)."""
    return np.asarray(clf.classes_[decide(clf, X).label])


def decide(clf: Any, X: Any) -> Decision:
    """Return numbers of labels, trust and probabilities of all points."""
    decision: Decision = clf.model_.decide(new_points(clf, X))
    return decision


def assess(clf: Any, X: Any) -> Assessment:
    """Return a full record of each point."""
    assessment: Assessment = clf.model_.assess(new_points(clf, X), FrameMaker.like(X))
    return assessment
