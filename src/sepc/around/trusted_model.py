"""The model around another one: its answers and our regions, combined to one probability of each label.

The log odds of one label against another are a weighted sum of those of the answers and those of the regions, and a
correction of each label; a background component keeps them from certainty (see `estimators.ensemble.stacking`). Weights
and corrections are learnt from held-out records, which neither the answers nor the regions there had seen. Far away
from all regions the class shares take over, as for regions alone.

Points of this model have its features, then the log probabilities of all labels that the answers stand for, then the
number of the label that the other model gives, and its own probability of that, NaN if it has none.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sepc.common.frames import FrameMaker
from sepc.common.text import AROUND
from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.stacking import Stack
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment, ReachedValues
from sepc.model.calibration import Calibration, log_density, mixed
from sepc.model.column_scales import ColumnScales
from sepc.model.counts import records_are_missing
from sepc.model.decision import Decision, decide_by_probability
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.partition_model import DensityModel
from sepc.model.policy import Policy, stated


class Asked(NamedTuple):
    """Points of a `TrustedModel`, taken apart.

    Attributes
    ----------
    features : ndarray of shape (n, d)
    log_probabilities : ndarray of shape (n, n_classes)
    codes : ndarray of int, shape (n,)
    given : ndarray of shape (n,)
    """

    features: FloatArray
    log_probabilities: FloatArray
    codes: IntArray
    given: FloatArray


def n_answer_columns(n_classes: int) -> int:
    """Return the number of columns that answers have in points."""
    return n_classes + 2


def asked_of(X: FloatArray, d: int) -> Asked:
    """Take points with d features apart, shape (n, d + n_classes + 2)."""
    return Asked(X[:, :d], X[:, d:-2], X[:, -2].astype(np.int64), X[:, -1])


class TrackRecord(NamedTuple):
    """How often the other model was right on held-out records, overall and by the component they belong to.

    Attributes
    ----------
    right, n : ndarray of int, shape (n_components, n_classes)
        Held-out records that belong to each component, with each label that the other model gave: those where it was
        right, and all.
    """

    right: IntArray
    n: IntArray


class Parts(NamedTuple):
    """What a decision is made of: probabilities by the regions alone, combined ones, the log density, and features.

    Attributes
    ----------
    regions, combined : ndarray of shape (n, n_classes)
    log_density : ndarray of shape (n,)
    Z : ndarray of shape (n, d)
        Features in the units of the regions.
    """

    regions: Decision
    combined: FloatArray
    log_density: FloatArray
    Z: FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class TrustedModel:
    """Another model's answers and regions, combined.

    Attributes
    ----------
    regions : DensityModel
        The regions, without class priors and costs of their own.
    stack : Stack
        Weights of the answers and of the regions, in this order, corrections of labels and background component.
    keeps_labels : bool
        Whether labels are those of the other model, or those of the combined probabilities.
    track_record : TrackRecord
    fingerprint : ndarray of shape (n_probes, n_classes + 1)
        Answers of the other model on kept records: two models are only the same if these are.
    held_out : ndarray of shape (n, n_classes + 2), or None
        What the other model says of the training records without having seen them, as in points; None where
        these are not kept.
    policy : Policy or None
        Class priors and costs.
    """

    regions: DensityModel
    stack: Stack
    keeps_labels: bool
    track_record: TrackRecord
    fingerprint: FloatArray
    held_out: FloatArray | None = None
    policy: Policy | None = None

    @property
    def classes(self) -> NDArray[Any]:
        """Labels, shape (n_classes,)."""
        return self.regions.classes

    @property
    def class_count(self) -> IntArray:
        """Training points of each class, shape (n_classes,)."""
        return self.regions.class_count

    @property
    def features(self) -> list[str]:
        """Names of the features that regions are made of."""
        return self.regions.features

    @property
    def trust(self) -> str:
        """Name of the trust method."""
        return AROUND

    @property
    def scales(self) -> ColumnScales:
        """Between the units of the regions and those of the features."""
        return self.regions.scales

    @property
    def unit(self) -> str:
        """Name of the unit that distances are measured in."""
        return self.regions.unit

    @property
    def outline(self) -> Outline:
        """Bounds and means of the training points."""
        return self.regions.outline

    @property
    def records(self) -> TrainingRecords | None:
        """Training points in the units of the regions; None where they are not kept."""
        return self.regions.records

    def asked(self, X: FloatArray) -> Asked:
        """Take points apart."""
        return asked_of(X, len(self.features))

    @property
    def partition(self) -> DensityModel:
        """The model of the regions."""
        return self.regions

    def as_they_came(self) -> FloatArray:
        """Return the training points, with answers of refits that had not seen them."""
        if self.held_out is None:
            raise records_are_missing("this")
        return np.column_stack([self.regions.as_they_came(), self.held_out])

    def units(self, X: FloatArray) -> FloatArray:
        """Return the features of points in the units of the regions, shape (n, d)."""
        return self.regions.units(X[..., : len(self.features)])

    def original(self, Z: FloatArray) -> FloatArray:
        """Return features as they came."""
        return self.regions.original(Z)

    def parts(self, X: FloatArray) -> Parts:
        """Return what the decision on points is made of."""
        asked, Z = self.asked(X), self.units(X)
        joint = self.regions.densities.log_joint(Z)
        by_regions, log_densities = self.regions.decided(joint, Z), log_density(joint)
        return Parts(by_regions, self.combined(asked, by_regions.proba, log_densities), log_densities, Z)

    def combined(self, asked: Asked, by_regions: FloatArray, log_densities: FloatArray) -> FloatArray:
        """Return the combined probabilities by answers and the regions' probabilities, shape (n, n_classes)."""
        proba = self.stack.posterior([asked.log_probabilities, np.log(by_regions)])
        calibration = self.regions.calibration
        far = expit(calibration.level - log_densities)[:, None]
        return np.asarray(mixed(proba, far, calibration.class_share))

    def _decision(self, X: FloatArray, parts: Parts, with_typicality: bool = True) -> Decision:
        typicality = None
        if with_typicality:
            typicality = self.regions.calibration.typicality(parts.log_density, parts.Z)
            if parts.regions.known is not None:
                typicality[parts.regions.known == 0.0] = np.nan  # no value is known that could be strange
        label = self.asked(X).codes if self.keeps_labels else None
        decision = decide_by_probability(parts.combined, typicality, self.policy, label)
        return decision._replace(known=parts.regions.known)

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities."""
        return self._decision(X, self.parts(X), with_typicality=False)

    @property
    def typicality_by(self) -> Calibration | None:
        """What typicality is measured by: the calibration of the regions."""
        return self.regions.typicality_by

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return the decisions on points, and their scores of `typicality_by`, shape (n,)."""
        parts, by = self.parts(X), self.typicality_by
        scores = None if by is None else by.scores(parts.log_density, parts.Z)
        return self._decision(X, parts, with_typicality=False), scores

    def likeliest(self, proba: FloatArray) -> IntArray:
        """Return the label that the combined probabilities would give, shape (n,)."""
        return decide_by_probability(proba, policy=self.policy).label

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point."""
        parts, asked = self.parts(X), self.asked(X)
        decision = self._decision(X, parts)
        return Assessment.of(
            decision,
            partial(self.regions.verdicts, parts.Z),
            self.regions.rules,
            self.classes,
            frames,
            stability=partial(self.stability, asked, parts, decision.label),
            main_region=partial(self.regions.main_regions, parts.Z, decision.label),
            key=self.key,
            values=ReachedValues(asked.features, self.features, self.outline.reach),
            more={
                "disagrees": self.likeliest(parts.combined) != decision.label,
                "given_label": self.classes[asked.codes],
                "given_trust": asked.given,
                "region_label": self.classes[parts.regions.label],
                "region_trust": parts.regions.trust,
            },
        )

    def stability(self, asked: Asked, parts: Parts, label: IntArray) -> FloatArray:
        """Return the share of the regions without a part of the training records that lead to the same label."""
        held_out = self.regions.fit.held_out
        if not held_out:
            return np.full(len(label), np.nan)
        unit, same = self.regions.densities.unit, np.zeros(len(label))
        for part in held_out:
            joint = part.log_joint_in(unit, parts.Z)
            proba = self.combined(asked, self.regions.decided(joint, parts.Z).proba, parts.log_density)
            same += self.likeliest(proba) == label
        return np.asarray(same / len(held_out))

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""
        stack = self.stack
        texts = [self.regions.key(), AROUND, repr(self.keeps_labels), repr(stated(self.policy, self.classes))]
        return key_of(texts, [stack.weights, stack.leaning, stack.background, self.fingerprint])

    def under(self, policy: Policy | None) -> Self:
        """Return the same model with class priors and costs."""
        return replace(self, policy=policy)

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, regions=self.regions.for_decisions(), held_out=None)

    def for_assessments(self) -> Self:
        """Return the same model without the records, except for the counts of its rules."""
        return replace(self, regions=self.regions.for_assessments(), held_out=None)


def track_record(
    model: DensityModel, points: IntArray, given: IntArray, truth: IntArray, proba: FloatArray
) -> TrackRecord:
    """Return how often another model was right on held-out training records.

    Parameters
    ----------
    model : DensityModel
        Regions with their training records.
    points : ndarray of int, shape (m,)
        Numbers of held-out training records.
    given, truth : ndarray of int, shape (m,)
        The other model's labels of them, and the true ones.
    proba : ndarray of shape (m, n_classes)
        Probabilities by regions that have not seen them.
    """
    # Each belongs to a component of the label that regions without it give it, as a new record would.
    components = model.densities.claims_within(model.training.as_they_came[points], proba.argmax(axis=1))
    shape = len(model.densities.codes), len(model.classes)
    right, n = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.add.at(n, (components, given), 1)
    np.add.at(right, (components[given == truth], given[given == truth]), 1)
    return TrackRecord(right, n)
