"""The interface of all fitted models, and what they keep of the training points."""

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import Extents
from sepc.model.assessment import Assessment
from sepc.model.calibration import Calibration
from sepc.model.column_scales import ColumnScales
from sepc.model.decision import Decision
from sepc.model.policy import Policy
from sepc.model.reach import Reach


class TrainingRecords(NamedTuple):
    """Training points in the units of the model and in canonical order.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes, as numbers.
    rows : ndarray of int, shape (n,)
        Their rows in the training set.
    gaps : ndarray of bool, shape (n, d), or None
        Where values are missing, and something else stands in for them; None where none are.
    """

    points: FloatArray
    codes: IntArray
    rows: IntArray
    gaps: BoolArray | None = None

    @property
    def as_they_came(self) -> FloatArray:
        """The points with NaN where values are missing, shape (n, d)."""
        return self.points if self.gaps is None else np.where(self.gaps, np.nan, self.points)

    def recorded(self, Z: FloatArray) -> BoolArray:
        """Return which points, in the same units, are training points, shape (n,)."""
        seen = {row.tobytes() for row in in_one_way(self.as_they_came)}
        return np.array([row.tobytes() in seen for row in in_one_way(Z)], dtype=bool)


def in_one_way(Z: FloatArray) -> FloatArray:
    """Return points whose bits are equal where they are: -0.0 becomes 0.0, and there is one NaN."""
    return np.where(np.isnan(Z), np.nan, Z + 0.0)


class Outline(NamedTuple):
    """Bounds and means of the training points, kept also where the points are not.

    Attributes
    ----------
    constant : ndarray of shape (d,)
        The value of a feature that is the same everywhere; NaN for those that vary.
    middles : ndarray of shape (n_classes, d)
        Means of the classes; NaN for those of fewer than three points, which a mean would disclose.
    reach : Reach
        Range of each feature in the units that points come in, and how far beyond it labels are accepted.
    """

    constant: FloatArray
    middles: FloatArray
    reach: Reach

    @classmethod
    def of(cls, extents: Extents, reach: Reach) -> "Outline":
        """Return the outline of classes with these extents."""
        low, high = extents.low.min(axis=0), extents.high.max(axis=0)
        middles = np.where(extents.n[:, None] >= 3, extents.mean, np.nan)
        return cls(np.where(low == high, low, np.nan), middles, reach)


class FittedModel(Protocol):
    """A model that decides and assesses new points, given in the units that they came in.

    Models of one partition and ensembles fulfil it. Distances between records are measured in the units of `units`.
    """

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, shape (n_classes,)."""

    @property
    def class_count(self) -> IntArray:
        """Training points of each class, shape (n_classes,)."""

    @property
    def features(self) -> list[str]:
        """Names of the features."""

    @property
    def trust(self) -> str:
        """The trust method: one of `common.text.TRUST_METHODS`, or "ensemble"."""

    @property
    def scales(self) -> ColumnScales:
        """Between the units of `units` and the original ones."""

    @property
    def unit(self) -> str:
        """Name of the unit that distances are measured in."""

    @property
    def outline(self) -> Outline:
        """Bounds and means of the training points, in these units."""

    @property
    def records(self) -> TrainingRecords | None:
        """Training points in these units; None where they are not kept."""

    @property
    def partition(self) -> Any:
        """The `PartitionModel` whose regions records are in; None for an ensemble, which has many partitions."""

    def as_they_came(self) -> FloatArray:
        """Return the training points as points to judge; an error where they are not kept."""

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the units that distances are measured in."""

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities of points of shape (n, d), and nothing more."""

    @property
    def typicality_by(self) -> Calibration | None:
        """What typicality is measured by; None where it is not known."""

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return the decisions on points, and their scores of `typicality_by`, shape (n,); None where it is None."""

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point, shape (n, d)."""

    @property
    def policy(self) -> Policy | None:
        """Class priors other than in training, and costs of errors; None without."""

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""

    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""

    def for_assessments(self) -> Self:
        """Return the same model without what neither decisions nor assessments need."""
