"""What a fit leaves behind: all that is needed to judge new points, and nothing that checks input."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.assessment import Assessment, Decision, decide, decide_by
from sepc.census import records_are_missing
from sepc.densities import LocalDensities
from sepc.frames import FrameMaker
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry._short_rows import by_column
from sepc.rules import Rules, Verdicts

_LEAST_FOR_A_MEAN = 3


class Outcome(NamedTuple):
    """What is decided of n points: numbers of the classes, trust, and probabilities of shape (n, n_classes).

    Examples
    --------
    >>> Outcome(np.array([1]), np.array([0.9]), np.array([[0.1, 0.9]])).label.tolist()
    [1]
    """

    label: Rows
    trust: FloatArray
    proba: FloatArray


class TrainingRecords(NamedTuple):
    """Training points in the units that they are judged in and in canonical order.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes, as numbers.
    rows : ndarray of int, shape (n,)
        Which row of the training set each is.

    Examples
    --------
    >>> TrainingRecords(np.array([[0.5]]), np.array([1]), np.array([0])).codes.tolist()
    [1]
    """

    points: FloatArray
    codes: Rows
    rows: Rows


class Outline(NamedTuple):
    """What is known of the training points without any of them.

    Attributes
    ----------
    constant : ndarray of shape (d,)
        The value of a feature that is the same everywhere; NaN for those that vary.
    middles : ndarray of shape (n_classes, d)
        Means of the classes; NaN for those of fewer than three points, which a mean would give away.

    Examples
    --------
    >>> Outline.of(np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0], [9.0, 5.0]]), np.array([0, 0, 0, 1]), 2)
    Outline(constant=array([nan,  5.]), middles=array([[ 3.,  5.],
           [nan, nan]]))
    """

    constant: FloatArray
    middles: FloatArray

    @classmethod
    def of(cls, points: FloatArray, codes: Rows, n_classes: int) -> "Outline":
        """Return the outline of points of shape (n, d), class by class."""
        middles = np.full((n_classes, points.shape[1]), np.nan)
        for k, (first, end) in enumerate(pairwise(np.searchsorted(codes, range(n_classes + 1)))):
            if end - first >= _LEAST_FOR_A_MEAN:
                middles[k] = points[first:end].mean(axis=0)
        varies = by_column(np.minimum, points) < by_column(np.maximum, points)
        return cls(np.where(varies, np.nan, points[0]), middles)


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """A partitioned training set.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    class_count : ndarray of int, shape (n_classes,)
        Training points of each class.
    features : list of str
    mean, scale : ndarray of shape (d,)
        Points are judged in the units ``(x - mean) / scale``.
    unit : str
        What a distance in these units is measured in.
    records : TrainingRecords or None
        None where they were left out.
    outline : Outline
    rules : list of Rules
        Of one binary problem, first class against second; or of one per class, that class against the rest.
    trust : str
        How the regions are read: one of `assessment.TRUSTS`.
    densities : LocalDensities or None
        For the reading "local".

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> model.judge(model.units(np.array([[1.5]])))[0].label.tolist()
    [0]
    """

    classes: NDArray[Any]
    class_count: Rows
    features: list[str]
    mean: FloatArray
    scale: FloatArray
    unit: str
    records: TrainingRecords | None
    outline: Outline
    rules: list[Rules]
    trust: str
    densities: LocalDensities | None

    @property
    def points(self) -> FloatArray:
        """The training points, in the model's units and in canonical order, shape (n, d)."""
        return self._training.points

    @property
    def codes(self) -> Rows:
        """Classes of the training points, as numbers, shape (n,)."""
        return self._training.codes

    @property
    def rows(self) -> Rows:
        """Which row of the training set each training point is, shape (n,)."""
        return self._training.rows

    @property
    def _training(self) -> TrainingRecords:
        if self.records is None:
            raise records_are_missing("this")
        return self.records

    def recorded(self, Z: FloatArray) -> NDArray[np.bool_]:
        """Return which points, in the model's units, are training points, shape (n,)."""
        seen = {row.tobytes() for row in self.points}
        return np.array([row.tobytes() in seen for row in Z + 0.0], dtype=bool)  # -0.0 becomes 0.0

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the units that they are judged in."""
        return np.asarray((X - self.mean) / self.scale)

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""
        return np.asarray(Z * self.scale + self.mean)

    def assess(self, Z: FloatArray, frames: FrameMaker) -> Assessment:
        """Return the records of points in the model's units."""
        decision, verdicts = self.judge(Z)
        return Assessment(decision, verdicts, self.rules, self.classes, frames)

    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts]]:
        """Return the decision on points in the model's units, and what each binary problem says of them."""
        verdicts = [rules.judge(Z) for rules in self.rules]
        if self.densities is None:
            return decide(verdicts, self.rules, self.class_count, self.trust), verdicts
        return decide_by(self.densities.posterior(Z), verdicts), verdicts

    def outcome(self, Z: FloatArray) -> Outcome:
        """Return labels, trust and probabilities alone: regions are looked up only where they decide."""
        if self.densities is None:
            decision = self.judge(Z)[0]
            return Outcome(decision.label, decision.trust, decision.proba)
        proba = self.densities.posterior(Z)
        return Outcome(proba.argmax(axis=1), proba.max(axis=1), proba)

    def for_outcomes(self) -> Self:
        """Return the same model without what outcomes do not need."""
        return replace(self, records=None, rules=self.rules if self.densities is None else [])

    def for_assessments(self) -> Self:
        """Return the same model without the records, but for what its rules count."""
        return replace(self, records=None)

    def outcome_of(self, X: FloatArray) -> Outcome:
        """Return the same of points in the units that they came in."""
        return self.outcome(self.units(X))

    def assess_of(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return the records of points in the units that they came in."""
        return self.assess(self.units(X), frames)
