"""Models whose regions are components of class densities: labels by Bayes' formula, calibrated on held-out records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.model.calibration import NOWHERE, Calibration, log_density
from sepc.model.decision import Decision, decide_by_probability, deciding_problem
from sepc.model.densities import LocalDensities
from sepc.model.incomplete import known_share
from sepc.model.merging import members, merged_name
from sepc.model.partition_model import PartitionModel
from sepc.model.policy import Policy
from sepc.model.verdicts import Verdicts

# Each record is held out of one of three partitions.
N_PARTS = 3

# A `Mixture` during a fit, `LocalDensities` in a model.
D = TypeVar("D")


def _nothing() -> NDArray[np.integer]:
    return np.empty(0, dtype=np.int8)


@dataclass(frozen=True, eq=False, slots=True)
class DensityFit(Generic[D]):
    """Densities of a training set, and what held-out records show of them.

    Attributes
    ----------
    whole : LocalDensities or Mixture
        Of all records.
    groups : ndarray of int, shape (n_regions,)
        The component that each region belongs to, class by class.
    calibration : Calibration
        The identity where none was learnt.
    held_out : tuple of LocalDensities or Mixture
        Those that have each not seen a part of the records. They show how firm a label is, and one among them has not
        seen a given record.
    part : ndarray of int, shape (n,)
        Number of those that have not seen each record; -1 where all have. Empty where no record is kept.
    """

    whole: D
    groups: IntArray
    calibration: Calibration
    held_out: tuple[D, ...] = ()
    part: NDArray[np.integer] = field(default_factory=_nothing)


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
    policy : Policy or None
        Class priors other than in training, and costs of errors.
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
        """Return the decision on points in the model's units, and what makes the verdicts of each problem on them."""
        joint = self.densities.log_joint(Z)
        decision = self._decided(joint, known_share(Z))
        typicality = self.calibration.typicality(log_density(joint))
        if decision.known is not None:
            typicality[decision.known == 0.0] = np.nan  # no value is known that could be strange
        return decision._replace(typicality=typicality), partial(self.verdicts, Z)

    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return labels, trust and probabilities of points in the model's units."""
        return self._decided(self.densities.log_joint(Z), known_share(Z))

    def _decided(self, joint: FloatArray, known: FloatArray | float) -> Decision:
        """Return the decision by log joint densities, with the known share of each point's features."""
        decision = decide_by_probability(self.calibration.posterior(joint, known), policy=self.policy)
        return decision if isinstance(known, float) else decision._replace(known=known)

    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:
        """Return the share of the held-out partitions that give the same label; see `PartitionModel`."""
        if not self.fit.held_out:
            return np.full(len(Z), np.nan)
        known = known_share(Z)
        parts = (part.log_joint_in(self.densities.unit, Z) for part in self.fit.held_out)
        return np.asarray(np.mean([self._decided(joint, known).label == label for joint in parts], axis=0))

    def held_out_probabilities(self) -> tuple[IntArray, FloatArray]:
        """Return training points, by number, and the probabilities by the partition that has not seen each.

        Returns
        -------
        points : ndarray of int, shape (m,)
        proba : ndarray of shape (m, n_classes)
            With the class priors of the training set.
        """
        points, proba = [np.empty(0, dtype=np.int64)], [np.empty((0, len(self.classes)))]
        if self.records is not None:
            there = self.records.as_they_came
            for k, part in enumerate(self.fit.held_out):
                out = np.flatnonzero(self.fit.part == k)
                joint = part.log_joint_in(self.densities.unit, there[out])
                points.append(out)
                proba.append(self.calibration.posterior(joint, known_share(there[out])))
        return np.concatenate(points), np.concatenate(proba)

    def region_names(self) -> list[str]:
        """Return the names of the components: as the ellipsoids, ``@`` for isolated records.

        Of several merged regions it is the name of the first, with a ``+`` behind it.
        """
        return [merged_name(regions) for regions in self.regions_by_component()]

    def read_as(self) -> dict[str, str]:
        """Return, for the name of each region, the name of the component that it belongs to."""
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
        return [*arrays, numbers, calibration.correction]

    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""
        return replace(self, policy=policy)

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, records=None, rules=[], fit=replace(self.fit, held_out=(), part=self.fit.part[:0]))
