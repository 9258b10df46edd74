"""The assessment of new points by an ensemble."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.typing import BoolArray, FloatArray
from sepc.estimators.ensemble.evidence import Evidence, Lead
from sepc.model.assessment import Assessment
from sepc.model.verdicts import Rule

if TYPE_CHECKING:
    from sepc.estimators.ensemble.ensemble_model import EnsembleModel


class EnsembleAssessment(Assessment):
    """One record per point; region, rule, counts and distance are those of the member that speaks most for the label.

    Parameters
    ----------
    evidence : Evidence
    leads : iterable of Lead
        Of all points, by the members that speak most for their labels.
    model : EnsembleModel
    frames : FrameMaker
    stability : callable
        Returns that of the points, of shape (n,).

    Attributes
    ----------
    counts : ndarray of int, shape (n, 2)
        Training points of the label, and of all others, that belong to the same region and did not shape it.
    agreement : ndarray of shape (n,)
        Weight of the members whose own label is the same, as a share of all weight.
    """

    _FIELDS: ClassVar[tuple[str, ...]] = (*Assessment._FIELDS, "agreement")

    def __init__(
        self,
        evidence: Evidence,
        leads: Iterable[Lead],
        model: "EnsembleModel",
        frames: FrameMaker,
        stability: Callable[[], FloatArray],
    ) -> None:
        decision, label = evidence.decision, evidence.decision.label
        n = len(label)
        self.label, self.trust, self.contested = model.classes[label], decision.trust, decision.contested
        self.typicality = np.full(n, np.nan) if decision.typicality is None else decision.typicality
        self.counts, self.distance = np.zeros((n, 2), dtype=np.int64), np.zeros(n)
        rule = np.zeros(n, dtype=np.int64)
        self._leads = list(leads)
        for cited, verdicts, _ in self._leads:
            own = cited.claimed[:, cited.code]
            self.counts[cited.rows] = np.column_stack([own, cited.claimed.sum(axis=1) - own])
            rule[cited.rows], self.distance[cited.rows] = verdicts.rule, verdicts.distance
        self.agreement = _agreement(model.stack.weights, evidence.opinions.argmax(axis=2) == label)
        self.rule = np.array([r.name for r in Rule])[rule]
        self.known = np.ones(n) if decision.known is None else decision.known
        self.counts[self.known == 0.0] = 0
        self.reason = self.reasons(rule, self.contested, self.typicality, self.known)
        self._classes, self._frames, self._stability = model.classes, frames, stability
        self._has_regions = model.has_regions
        self._main_region, self._key = None, model.key
        self._take_costs(decision)

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {**super()._columns(), "agreement": self.agreement}

    @cached_property
    def region(self) -> NDArray[np.object_]:
        """The region of the label that the point most likely belongs to, by the member that speaks most for it, (n,).

        ``4b:benign#2`` is the second ellipsoid of benign in the second part of the fourth member.
        """
        region = np.empty(len(self), dtype=object)
        for lead in self._leads:
            region[lead.citation.rows] = lead.citation.regions
        region[self.known == 0.0] = Rule.unknown.name
        return region

    @cached_property
    def local_overlap(self) -> FloatArray:
        """How alike that member's ellipsoids of different labels are at a point that they hold, shape (n,).

        As in `Assessment`: between 0 and one half; NaN where no two ellipsoids of different labels hold the point.
        """
        overlap = np.full(len(self), np.nan)
        for lead in self._leads:
            between = lead.verdicts.between_labels
            overlap[lead.citation.rows[between]] = lead.rules.local_overlaps(lead.verdicts.points[between])
        return overlap


def _agreement(weights: FloatArray, same: BoolArray) -> FloatArray:
    """Return the share of the weight whose members have the same label; all count alike if none has any weight."""
    worth = weights if weights.any() else np.ones_like(weights)
    return np.asarray((worth[:, None] * same).sum(axis=0) / worth.sum())
