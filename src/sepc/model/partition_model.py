"""The model of one partitioned training set: all that is needed to judge new points, and nothing that checks input."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from sepc.common.errors import InputError
from sepc.common.frames import FrameMaker
from sepc.common.typing import FloatArray, IntArray
from sepc.model.assessment import Assessment
from sepc.model.calibration import Calibration, log_density
from sepc.model.counts import records_are_missing
from sepc.model.decision import Decision, decide_by_counts, decide_by_probability, deciding_problem
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.held_out import HeldOutDensities
from sepc.model.incomplete import known_share
from sepc.model.joining import joint_name, members
from sepc.model.policy import Policy
from sepc.model.promise import key_of
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts


@dataclass(frozen=True, eq=False, slots=True)
class PartitionModel:
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
        Of one problem, all classes against each other; or of one per class, that class against the rest.
    trust : str
        How the regions are read: one of `readings.READINGS`.
    densities : LocalDensities or None
        For the readings "local" and "raw".
    calibration : Calibration or None
        For the reading "local".
    held_out : HeldOutDensities or None
        Beside the calibration.
    groups : ndarray of int, shape (n_regions,), or None
        Which component of the densities each region is read in, class by class; None where each has its own.
    policy : Policy or None
        Other shares of the classes than in training, and costs of errors; for the readings "local" and "raw".
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
    densities: LocalDensities | None
    calibration: Calibration | None
    held_out: HeldOutDensities | None
    groups: IntArray | None = None
    policy: Policy | None = None

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
        """The training records; an error where they were left out."""
        if self.records is None:
            raise records_are_missing("this")
        return self.records

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in the units that they are judged in."""
        return np.asarray((X - self.mean) / self.scale)

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""
        return np.asarray(Z * self.scale + self.mean)

    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts]]:
        """Return the decision on points in the model's units, and the verdicts of each problem on them."""
        verdicts = self._verdicts(Z)
        if self.densities is None:
            return decide_by_counts(verdicts, self.rules, self.class_count, self.trust), verdicts
        return self._judged_by_densities(Z), verdicts

    def _verdicts(self, Z: FloatArray) -> list[Verdicts]:
        return [rules.judge(Z) for rules in self.rules]

    def _judged_by_densities(self, Z: FloatArray) -> Decision:
        """Return the decision on points in the model's units, with typicalities."""
        assert self.densities is not None
        joint = self.densities.log_joint(Z)
        decision = self._by_densities(joint, known_share(Z))
        if self.calibration is None:
            return decision
        typicality = self.calibration.typicality(log_density(joint))
        if decision.known is not None:
            typicality[decision.known == 0.0] = np.nan  # nothing is there that could be strange
        return decision._replace(typicality=typicality)

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities alone: regions are looked up only where they decide."""
        return self.decide_in_units(self.units(X))

    def decide_quickly(self, X: FloatArray) -> Decision:
        """Return the same: nothing is quicker."""
        return self.decide(X)

    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return the same of points in the model's units."""
        if self.densities is None:
            return self.judge(Z)[0]
        return self._by_densities(self.densities.log_joint(Z), known_share(Z))

    def _by_densities(self, joint: FloatArray, known: FloatArray | float) -> Decision:
        """Return the decision on points of which these shares of the features are there."""
        if self.calibration is None:
            proba = np.asarray(softmax(joint, axis=1))
        else:
            proba = self.calibration.posterior(joint, known)
        decision = decide_by_probability(proba, policy=self.policy)
        return decision if isinstance(known, float) else decision._replace(known=known)

    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:
        """Return the share of the partitions without a part of the records that give the same label.

        Parameters
        ----------
        Z : ndarray of shape (n, d)
            Points in the model's units.
        label : ndarray of int, shape (n,)
            Numbers of their classes.

        Returns
        -------
        ndarray of shape (n,)
            NaN where there are no such partitions.
        """
        if self.densities is None or self.held_out is None or not self.held_out.densities:
            return np.full(len(Z), np.nan)
        known = known_share(Z)
        parts = (part.log_joint_in(self.densities.unit, Z) for part in self.held_out.densities)
        return np.asarray(np.mean([self._by_densities(joint, known).label == label for joint in parts], axis=0))

    def left_out_probabilities(self) -> tuple[IntArray, FloatArray]:
        """Return training points, by number, and what the partition that had not seen each says of it.

        Returns
        -------
        points : ndarray of int, shape (m,)
        proba : ndarray of shape (m, n_classes)
            Under the shares of the classes in training.
        """
        if self.records is None or self.densities is None or self.calibration is None or self.held_out is None:
            return np.empty(0, dtype=np.int64), np.empty((0, len(self.classes)))
        there, points, proba = self.records.as_they_came, [], []
        for k, part in enumerate(self.held_out.densities):
            out = np.flatnonzero(self.held_out.part == k)
            joint = part.log_joint_in(self.densities.unit, there[out])
            points.append(out)
            proba.append(self.calibration.posterior(joint, known_share(there[out])))
        return np.concatenate(points), np.concatenate(proba)

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point; where densities decide, regions are looked up when they are asked for."""
        Z = self.units(X)
        decision, verdicts = self.judge(Z) if self.densities is None else (self._judged_by_densities(Z), None)
        return Assessment.of(
            decision,
            partial(self._verdicts, Z) if verdicts is None else verdicts,
            self.rules,
            self.classes,
            frames,
            stability=partial(self.stability, Z, decision.label),
            main_region=None if self.densities is None else partial(self.main_regions, Z, decision.label),
            key=self.key,
        )

    def region_names(self) -> list[str]:
        """Return what the components of the densities are called: as the ellipsoids, ``@`` for isolated records.

        Of several regions that are read as one it is the name of the first, with a ``+`` behind it.
        """
        return [joint_name(regions) for regions in self.regions_by_component()]

    def read_as(self) -> dict[str, str]:
        """Return for the name of each region what the component is called that it is read in."""
        named = zip(self.region_names(), self.regions_by_component(), strict=True)
        return {region: name for name, regions in named for region in regions}

    def regions_by_component(self) -> list[list[str]]:
        """Return the names of the regions that each component of the densities is made of."""
        if self.densities is None:
            return []
        groups = np.arange(len(self.densities.codes)) if self.groups is None else self.groups
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
        """Return the name of the region that gives most of the probability of each label, shape (n,).

        Parameters
        ----------
        Z : ndarray of shape (n, d)
            Points in the model's units.
        label : ndarray of int, shape (n,)
            Numbers of their classes.
        """
        assert self.densities is not None
        return np.asarray(np.array(self.region_names(), dtype=object)[self.densities.claims_within(Z, label)])

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""
        texts = [repr(self.classes.tolist()), *self.features, self.trust]
        arrays: list[Any] = [self.mean, self.scale, self.class_count]
        if self.densities is None:
            for rules in self.rules:
                ellipsoids = [rules.stack[k] for k in range(len(rules.stack))]
                arrays += [rules.isolated, *(field for E in ellipsoids for field in (E.center, E.axes, E.radii))]
        else:
            arrays += [self.densities.coefficients, self.densities.log_weights, [self.densities.tails]]
        if self.calibration is not None:
            arrays.append([self.calibration.temperature, self.calibration.unexplained, self.calibration.level])
            arrays.append(self.calibration.correction)
        return key_of(texts, arrays)

    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""
        if policy is not None and self.densities is None:
            raise InputError(
                f"class_prior and costs need probabilities; trust={self.trust!r} has counts alone. Fit with "
                "trust='local', the default, or with SEPEnsembleClassifier."
            )
        return replace(self, policy=policy)

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        rules = self.rules if self.densities is None else []
        return replace(self, records=None, rules=rules, held_out=None)

    def for_assessments(self) -> Self:
        """Return the same model without the records, but for what its rules count."""
        return replace(self, records=None)
