"""Models of one partitioned training set: what both have in common, by class densities, and by counts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import known_share
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment, ReachedValues
from sepc.model.calibration import NOWHERE, Calibration, log_density
from sepc.model.column_scales import ColumnScales
from sepc.model.counts import records_are_missing
from sepc.model.decision import (
    HELD_OUT_METHODS,
    Decision,
    decide_by_counts,
    decide_by_probability,
    deciding_problem,
    trust_of,
)
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.merging import members, merged_name
from sepc.model.policy import Policy, stated
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts

# Number of held-out parts: each record is held out of one of three partitions.
N_PARTS = 3

# A `Mixture` during a fit, `LocalDensities` in a model.
D = TypeVar("D")


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class PartitionModel(ABC):
    """A partitioned training set: a `DensityModel` or a `CountModel`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    class_count : ndarray of int, shape (n_classes,)
        Training points of each class.
    features : list of str
    scales : ColumnScales
        Between the units of the model and the original ones.
    unit : str
        Unit of distances in these units.
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
    scales: ColumnScales
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
        """Rows of the training points in the training set, shape (n,)."""
        return self.training.rows

    @property
    def training(self) -> TrainingRecords:
        """The training records; an error where they are not kept."""
        if self.records is None:
            raise records_are_missing("this")
        return self.records

    @property
    def partition(self) -> Self:
        """The model of one partition: this one."""
        return self

    def as_they_came(self) -> FloatArray:
        """Return the training points in the units that they came in, NaN where values are missing, shape (n, d)."""
        return self.original(self.training.as_they_came)

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the model's units."""
        return self.scales(X)

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""
        return self.scales.original(Z)

    def verdicts(self, Z: FloatArray) -> list[Verdicts]:
        """Return the verdicts of each problem on points in the model's units."""
        return [rules.judge(Z) for rules in self.rules]

    @abstractmethod
    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts] | Callable[[], list[Verdicts]]]:
        """Return the decision on points in the model's units, and the verdicts of each problem, made or to be made."""

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities alone: regions are looked up only where they decide."""
        return self.decide_in_units(self.units(X))

    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return labels, trust and probabilities of points in the model's units."""
        return self.judge(Z)[0]

    @property
    def typicality_by(self) -> Calibration | None:
        """None: nothing held out shows what is typical."""
        return None

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return the decisions on points, and their scores of `typicality_by`, shape (n,); None where it is None."""
        return self.decide(X), None

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point; where densities decide, regions are looked up on first use."""
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
            values=ReachedValues(X, self.features, self.outline.reach),
        )

    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:  # noqa: ARG002
        """Return the share of the partitions without a part that give the same label, shape (n,); NaN without any."""
        return np.full(len(Z), np.nan)

    def main_regions(self, Z: FloatArray, label: IntArray) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the name of the region with most of the probability of each label, shape (n,); None without any."""
        return np.full(len(Z), None, dtype=object)

    @abstractmethod
    def region_trust(self, problem: int, region: int) -> float:
        """Return the trust in the label of an ellipsoid of one of the problems."""

    def component_names(self) -> dict[str, str]:
        """Return the name of the component of each region, by the name of the region; none without densities."""
        return {}

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""
        texts = [repr(self.classes.tolist()), *self.features, self.trust, repr(stated(self.policy, self.classes))]
        return key_of(texts, [*self.scales.arrays, self.class_count, *self._deciding()])

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

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, records=None)

    def for_assessments(self) -> Self:
        """Return the same model without the records, except for the counts of its rules."""
        return replace(self, records=None)


@dataclass(frozen=True, eq=False, slots=True)
class DensityFit(Generic[D]):
    """Densities of a training set, and what held-out records show of them.

    Attributes
    ----------
    whole : LocalDensities or Mixture
        Of all records.
    groups : ndarray of int, shape (n_regions,)
        The component of each region, class by class: its ellipsoids, then its isolated records, taken together.
    calibration : Calibration
        The identity where none was learnt.
    held_out : tuple of LocalDensities or Mixture
        Of partitions that each hold a part of the records out.
    part : ndarray of int, shape (n,)
        Number of the partition that holds each record out; -1 where none does. Empty where no record is kept.
    """

    whole: D
    groups: IntArray
    calibration: Calibration
    held_out: tuple[D, ...] = ()
    part: NDArray[np.integer] = field(default_factory=lambda: np.empty(0, dtype=np.int8))


def identity_calibration(class_count: NDArray[np.integer]) -> Calibration:
    """Return the calibration that leaves probabilities as they are."""
    share = class_count / class_count.sum()
    return Calibration(1.0, np.zeros(len(share)), 0.0, NOWHERE, share, np.empty(0))


@dataclass(frozen=True, eq=False, slots=True)
class DensityModel(PartitionModel):
    """A partition whose regions are components of class densities, by the trust methods "local" and "raw".

    Attributes
    ----------
    fit : DensityFit of LocalDensities
        Densities, calibration and held-out densities; a policy has class priors and costs of errors.
    """

    fit: DensityFit[LocalDensities]
    policy: Policy | None = None

    @property
    def densities(self) -> LocalDensities:
        """The densities of all records."""
        return self.fit.whole

    @property
    def calibration(self) -> Calibration:
        """Their calibration; the identity by the method "raw"."""
        return self.fit.calibration

    @property
    def is_calibrated(self) -> bool:
        """Whether held-out records have calibrated the densities."""
        return self.trust == "local"

    def judge(self, Z: FloatArray) -> tuple[Decision, Callable[[], list[Verdicts]]]:
        """Return the decision on points in the model's units, and a function that returns the verdicts on them."""
        joint = self.densities.log_joint(Z)
        decision = self.decided(joint, Z)
        typicality = self.calibration.typicality(log_density(joint), Z)
        if decision.known is not None:
            typicality[decision.known == 0.0] = np.nan  # no value is known that could be strange
        return decision._replace(typicality=typicality), partial(self.verdicts, Z)

    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return labels, trust and probabilities of points in the model's units."""
        return self.decided(self.densities.log_joint(Z), Z)

    @property
    def typicality_by(self) -> Calibration | None:
        """The calibration; None by the method "raw", which has no held-out records."""
        return self.calibration if len(self.calibration.held_out) else None

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return the decisions on points, and their scores of `typicality_by`, shape (n,); None where it is None."""
        Z = self.units(X)
        joint = self.densities.log_joint(Z)
        by = self.typicality_by
        return self.decided(joint, Z), None if by is None else by.scores(log_density(joint), Z)

    def decided(self, joint: FloatArray, Z: FloatArray) -> Decision:
        """Return the decision on points, in the model's units, by their log joint densities."""
        known = known_share(Z)
        decision = decide_by_probability(self.calibration.posterior(joint, known, Z), policy=self.policy)
        return decision if isinstance(known, float) else decision._replace(known=known)

    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:
        """Return the share of the held-out partitions that give the same label; see `PartitionModel`."""
        if not self.fit.held_out:
            return np.full(len(Z), np.nan)
        parts = (part.log_joint_in(self.densities.unit, Z) for part in self.fit.held_out)
        return np.asarray(np.mean([self.decided(joint, Z).label == label for joint in parts], axis=0))

    def held_out_probabilities(self) -> tuple[IntArray, FloatArray]:
        """Return the numbers of held-out training points, shape (m,), and their probabilities, (m, n_classes).

        Each is judged by the partition that holds it out, with the class priors of the training set, and with the one
        calibration that was learnt on all of these points; without places, which know the labels of single points.
        """
        calibration = replace(self.calibration, local=None)
        points, proba = [np.empty(0, dtype=np.int64)], [np.empty((0, len(self.classes)))]
        if self.records is not None:
            records = self.records.as_they_came
            for k, part in enumerate(self.fit.held_out):
                out = np.flatnonzero(self.fit.part == k)
                joint = part.log_joint_in(self.densities.unit, records[out])
                points.append(out)
                proba.append(calibration.posterior(joint, known_share(records[out]), records[out]))
        return np.concatenate(points), np.concatenate(proba)

    def region_names(self) -> list[str]:
        """Return the names of the components: those of their ellipsoids, ``@`` for isolated records.

        The name of merged regions is that of the first and a ``+``.
        """
        return [merged_name(regions) for regions in self.regions_by_component()]

    def component_names(self) -> dict[str, str]:
        """Return the name of the component of each region, by the name of the region."""
        named = zip(self.region_names(), self.regions_by_component(), strict=True)
        return {region: name for name, regions in named for region in regions}

    def regions_by_component(self) -> list[list[str]]:
        """Return the names of the regions of each component."""
        groups = self.fit.groups
        n_regions = np.bincount(self.densities.codes[groups], minlength=len(self.classes)).tolist()
        names = [name for k, n in enumerate(n_regions) for name in self._names(k, n)]
        return [[names[k] for k in regions] for regions in members(groups)]

    def _names(self, k: int, n_regions: int) -> Iterator[str]:
        (problem,), (side,) = deciding_problem(np.array([k]), len(self.rules))
        rules = self.rules[problem]
        ellipsoids = [name for name, own in zip(rules.names, rules.sides, strict=True) if own == side]
        yield from ellipsoids
        if n_regions > len(ellipsoids):
            yield f"{rules.labels[side]}@"

    def main_regions(self, Z: FloatArray, label: IntArray) -> NDArray[np.object_]:
        """Return the name of the region that gives most of the probability of each label; see `PartitionModel`."""
        return np.asarray(np.array(self.region_names(), dtype=object)[self.densities.claims_within(Z, label)])

    def region_trust(self, problem: int, region: int) -> float:
        """Return the probability of the label of an ellipsoid at its centre."""
        rules = self.rules[problem]
        side = int(rules.sides[region])
        proba = self.decide_in_units(rules.stack[region].center[None]).proba[0]
        if len(self.rules) == 1:
            return float(proba[side])
        return float(1.0 - proba[problem] if side else proba[problem])

    def _deciding(self) -> Sequence[Any]:
        densities, calibration = self.densities, self.calibration
        arrays = [densities.coefficients, densities.log_weights, [densities.degrees_of_freedom]]
        if not self.is_calibrated:
            return arrays
        numbers = [calibration.temperature, calibration.unexplained, calibration.level]
        linear, local = calibration.linear, calibration.local
        terms = [] if linear is None else [linear.slopes, linear.low, linear.high]
        places = [] if local is None else [local.centers, local.radii, local.counts]
        return [*arrays, numbers, calibration.correction, *terms, *places]

    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""
        return replace(self, policy=policy)

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, records=None, rules=[], fit=replace(self.fit, held_out=(), part=self.fit.part[:0]))


@dataclass(frozen=True, eq=False, slots=True)
class CountModel(PartitionModel):
    """A partition whose regions count training points, by the trust methods "paper", "counts" and "bound"."""

    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts]]:
        """Return the decision on points in the model's units, and the verdicts of each problem on them."""
        verdicts = self.verdicts(Z)
        return decide_by_counts(verdicts, self.rules, self.class_count, self.trust), verdicts

    def region_trust(self, problem: int, region: int) -> float:
        """Return the trust in the label of an ellipsoid, by the counts in it; each problem has two sides."""
        rules = self.rules[problem]
        side = int(rules.sides[region])
        own, others = rules.counts[region, [side]], rules.counts[region, [1 - side]]
        if self.trust == "paper":
            totals = rules.training_counts.totals
            return float(trust_of(own, others, totals[side], totals[1 - side])[0])
        return float(HELD_OUT_METHODS[self.trust](own, others)[0])

    def _deciding(self) -> Sequence[Any]:
        arrays: list[Any] = []
        for rules in self.rules:
            ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
            arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
        return arrays

    @property
    def policy(self) -> Policy | None:
        """None: counts are no probabilities that a policy could shift."""
        return None

    def under(self, policy: Policy | None) -> Self:
        """Return the model as it is; raise an `InputError` if there is a policy."""
        if policy is not None:
            raise InputError("policy-needs-probabilities", trust=self.trust)
        return self
