"""What all models of one partitioned training set share: units, records, regions and their names."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray, IntArray
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment
from sepc.model.counts import records_are_missing
from sepc.model.decision import Decision
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.policy import Policy
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts


@dataclass(frozen=True, eq=False, slots=True)
class PartitionModel(ABC):
    """A partitioned training set: a `DensityModel` or a `CountModel`.

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
        None where they are not kept.
    outline : Outline
    rules : list of Rules
        Of one problem, all classes against each other; or of one per class, that class against the rest.
    trust : str
        The trust method: one of `common.text.TRUST_METHODS`.
    """

    classes: NDArray[Any]
    class_count: IntArray
    features: list[str]
    mean: FloatArray
    scale: FloatArray
    unit: str
    records: TrainingRecords | None
    outline: Outline
    rules: list[Rules]
    trust: str

    @property
    def grows(self) -> bool:
        """Whether the nearest ellipsoid is grown to a point outside of all before its training points are counted."""
        return self.rules[0].grows

    @property
    def points(self) -> FloatArray:
        """The training points, in the model's units and in canonical order, shape (n, d)."""
        return self.training.points

    @property
    def codes(self) -> IntArray:
        """Classes of the training points, as numbers, shape (n,)."""
        return self.training.codes

    @property
    def rows(self) -> IntArray:
        """Row of the training set that each training point is, shape (n,)."""
        return self.training.rows

    @property
    def training(self) -> TrainingRecords:
        """The training records; an error where they are not kept."""
        if self.records is None:
            raise records_are_missing("this")
        return self.records

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the units that they are judged in."""
        return np.asarray((X - self.mean) / self.scale)

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""
        return np.asarray(Z * self.scale + self.mean)

    def verdicts(self, Z: FloatArray) -> list[Verdicts]:
        """Return the verdicts of each problem on points in the model's units."""
        return [rules.judge(Z) for rules in self.rules]

    @abstractmethod
    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts] | Callable[[], list[Verdicts]]]:
        """Return the decision on points in the model's units, and the verdicts of each problem or what makes them."""

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities alone: regions are looked up only where they decide."""
        return self.decide_in_units(self.units(X))

    @abstractmethod
    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return the same of points in the model's units."""

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point; where densities decide, regions are looked up when they are asked for."""
        Z = self.units(X)
        decision, verdicts = self.judge(Z)
        return Assessment.of(
            decision,
            verdicts,
            self.rules,
            self.classes,
            frames,
            stability=partial(self.stability, Z, decision.label),
            main_region=partial(self.main_regions, Z, decision.label),
            key=self.key,
        )

    @abstractmethod
    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:
        """Return the share of the held-out partitions that give the same label, shape (n,); NaN if there are none.

        Parameters
        ----------
        Z : ndarray of shape (n, d)
            Points in the model's units.
        label : ndarray of int, shape (n,)
            Numbers of their classes.
        """

    @abstractmethod
    def main_regions(self, Z: FloatArray, label: IntArray) -> NDArray[np.object_]:
        """Return the name of the region that gives most of the probability of each label, shape (n,).

        Parameters
        ----------
        Z : ndarray of shape (n, d)
            Points in the model's units.
        label : ndarray of int, shape (n,)
            Numbers of their classes.

        Returns
        -------
        ndarray of object
            None where regions give no probabilities.
        """

    @abstractmethod
    def region_trust(self, problem: int, region: int) -> float:
        """Return the trust in the label of an ellipsoid of one of the problems."""

    @abstractmethod
    def read_as(self) -> dict[str, str]:
        """Return, for the name of each region, the name of the component of the densities that it belongs to."""

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""
        texts = [repr(self.classes.tolist()), *self.features, self.trust]
        return key_of(texts, [self.mean, self.scale, self.class_count, *self._deciding()])

    @abstractmethod
    def _deciding(self) -> Sequence[Any]:
        """Return the arrays that decide labels and trust."""

    @property
    @abstractmethod
    def policy(self) -> Policy | None:
        """Class priors other than in training, and costs of errors; None without."""

    @abstractmethod
    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""

    @abstractmethod
    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""

    def for_assessments(self) -> Self:
        """Return the same model without the records, but for what its rules count."""
        return replace(self, records=None)
