"""What a fitted classifier is asked, and who answers."""

from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sepc.assessment import Assessment
from sepc.frames import FrameMaker
from sepc.geometry._checks import FloatArray
from sepc.model import Outcome


class Judge(Protocol):
    """What a fit leaves behind: it judges points in units of its own.

    Examples
    --------
    >>> Judge.__name__
    'Judge'
    """

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, shape (n_classes,)."""

    @property
    def features(self) -> list[str]:
        """Names of the features."""

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the units that they are judged in."""

    def outcome(self, Z: FloatArray) -> Outcome:
        """Return labels, trust and probabilities."""

    def assess(self, Z: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point."""

    def for_outcomes(self) -> Self:
        """Return the same judge without what outcomes do not need."""

    def for_assessments(self) -> Self:
        """Return the same judge without what neither outcomes nor assessments need."""


class Answers:
    """What a judge says of points that are at hand as an array.

    Parameters
    ----------
    judge : Judge
    points : ndarray of shape (n, d)
        In the judge's units.
    frames : FrameMaker
        Makes frames of the kind that the points came in.

    Attributes
    ----------
    label : ndarray of shape (n,)
    trust : ndarray of shape (n,)
    proba : ndarray of shape (n, n_classes)

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], ["a"] * 3 + ["b"] * 3)._model
    >>> Answers(model, model.units(np.array([[8.0]])), FrameMaker()).label.tolist()
    ['b']
    """

    def __init__(self, judge: Judge, points: FloatArray, frames: FrameMaker) -> None:
        self._judge, self._points, self._frames = judge, points, frames

    @cached_property
    def _outcome(self) -> Outcome:
        return self._judge.outcome(self._points)

    @property
    def label(self) -> NDArray[Any]:
        """Label of each point, shape (n,)."""
        return np.asarray(self._judge.classes[self._outcome.label])

    @property
    def trust(self) -> FloatArray:
        """Trust in that label, shape (n,)."""
        return self._outcome.trust

    @property
    def proba(self) -> FloatArray:
        """Probability of each label, shape (n, n_classes)."""
        return self._outcome.proba

    def assess(self) -> Assessment:
        """Return a full record of each point."""
        return self._judge.assess(self._points, self._frames)
