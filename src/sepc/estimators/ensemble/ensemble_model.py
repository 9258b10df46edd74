"""The model of an ensemble: members and their weights."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.frames import FrameMaker
from sepc.common.text import ENSEMBLE, shortened
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import has_gaps, known_share
from sepc.estimators.ensemble.feature_views import PLAIN, SEEN_IN, FeatureViews
from sepc.estimators.ensemble.members import Citation, Evidence, Extent, Lead, Member, Prediction, mean_prediction
from sepc.estimators.ensemble.quick_members import QuickMembers
from sepc.estimators.ensemble.stacking import Stack, Strangeness
from sepc.model.acceptance import key_of
from sepc.model.assessment import Assessment, Maker, ReachedValues, decision_columns, stability_where_known
from sepc.model.calibration import Calibration
from sepc.model.column_scales import ColumnScales
from sepc.model.counts import records_are_missing
from sepc.model.decision import Decision, decide_by_probability
from sepc.model.densities import first_largest
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.partition_model import N_PARTS
from sepc.model.policy import Policy, stated
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule

# Up to this number of points the predictions of all parts are kept: the stability needs them again.
_FEW = 1000


@dataclass(frozen=True, eq=False)
class EnsembleModel:
    """An ensemble of partitions; each member has units of its own.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    class_count : ndarray of int, shape (n_classes,)
        Training points of each class.
    features : list of str
    views : FeatureViews
    records_by_view : pair of TrainingRecords, or None
        The training points in standard deviations and as scores; None in a model without records.
    outline : Outline
        Of the plain view.
    members : list of Member
    stack : Stack
    strangeness : Strangeness
    known : dict of (int, int) to list of Rules
        A cache: the rules of parts of members; of all of them in a model without records.
    policy : Policy or None
        Class priors and costs.
    """

    classes: NDArray[Any]
    class_count: IntArray
    features: list[str]
    views: FeatureViews
    records_by_view: tuple[TrainingRecords, TrainingRecords] | None
    outline: Outline
    members: list[Member]
    stack: Stack
    strangeness: Strangeness
    known: dict[tuple[int, int], list[Rules]] = field(default_factory=dict, repr=False)
    policy: Policy | None = None

    @property
    def trust(self) -> str:
        """Name of the trust method."""
        return ENSEMBLE

    @property
    def scales(self) -> ColumnScales:
        """Mean and standard deviation of each feature, 1 for those that do not vary."""
        return self.views.plain

    @property
    def unit(self) -> str:
        """Name of the unit that distances between records are measured in."""
        return "standard deviations"

    @property
    def records(self) -> TrainingRecords | None:
        """Training points in standard deviations of the features; None in a model without records."""
        return None if self.records_by_view is None else self.records_by_view[PLAIN]

    @property
    def partition(self) -> None:
        """None: there are many partitions."""

    def as_they_came(self) -> FloatArray:
        """Return the training points in the units that they came in, NaN where values are missing, shape (n, d)."""
        if self.records is None:
            raise records_are_missing("this")
        return self.original(self.records.as_they_came)

    def units(self, X: FloatArray) -> FloatArray:
        """Return points in standard deviations of the features."""
        return self.scales(X)

    def original(self, Z: FloatArray) -> FloatArray:
        """Return points in the units that they came in."""
        return self.scales.original(Z)

    def decide(self, X: FloatArray) -> Decision:
        """Return labels, trust and probabilities."""
        return self._decided(X, self.predictions(X))

    @property
    def typicality_by(self) -> Calibration | None:
        """The calibration of the strangeness; None without held-out records."""
        calibration = self.strangeness.calibration
        return calibration if len(calibration.held_out) else None

    def decide_with_scores(self, X: FloatArray) -> tuple[Decision, FloatArray | None]:
        """Return the decisions on points, and their scores of `typicality_by`, shape (n,); None where it is None."""
        predicted, by = self.predictions(X), self.typicality_by
        decision = self._decided(X, predicted)
        return decision, None if by is None else by.scores(self._density_score(X, predicted), self.units(X))

    def _density_score(self, X: FloatArray, predicted: Prediction) -> FloatArray:
        return self.strangeness.score(predicted.log_density, self.views.beyond(X).max(axis=1))

    @cached_property
    def for_search(self) -> "EnsembleModel":
        """The same model with decisions right but for the last digits, faster for few points."""
        return _QuickEnsemble(**{one.name: getattr(self, one.name) for one in fields(self)})

    def _decided(self, X: FloatArray, predicted: Prediction) -> Decision:
        """Return the decision by the predictions of all members."""
        scores = self._density_score(X, predicted)
        calibration = self.strangeness.calibration
        proba = calibration.with_background(self.stack.posterior(predicted.log_probability), scores)
        points = self.units(X)
        proba, typicality = calibration.with_places(proba, points), calibration.typicality(scores, points)
        known = known_share(X)
        if isinstance(known, float):
            return decide_by_probability(proba, typicality, self.policy)
        # Where nothing is known, the shares of the classes are all there is, and nothing can be strange.
        proba[known == 0.0] = self.class_count / self.class_count.sum()
        if typicality is not None:
            typicality[known == 0.0] = np.nan
        return decide_by_probability(proba, typicality, self.policy)._replace(known=known)

    def assess(self, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return a full record of each point."""
        return self.assess_by(self.evidence(X), X, frames)

    def assess_by(self, evidence: Evidence, X: FloatArray, frames: FrameMaker) -> Assessment:
        """Return the same where the evidence at the points is known.

        Region, rule, counts and distance are those of the member with the largest evidence for the label. The region
        ``4b:benign#2`` is the second ellipsoid of benign in the second part of the fourth member; `counts` are the
        training points of the label, and of all others, that belong there and did not shape it.
        """
        decision = evidence.decision
        worth = self.stack.weights if self.stack.weights.any() else np.ones(len(self.members))
        same = evidence.predictions.argmax(axis=2) == decision.label
        columns = {
            **decision_columns(decision, self.classes),
            **_lead_columns(cache(lambda: list(self.leads(X, evidence)))),
            "stability": stability_where_known(partial(self.stability, X, evidence)),
            "main_region": lambda a: np.full(len(a), None, dtype=object),
            **ReachedValues(X, self.features, self.outline.reach).makers(),
            "agreement": np.asarray((worth[:, None] * same).sum(axis=0) / worth.sum()),
        }
        has_costs = decision.cost is not None
        made = Assessment(columns, frames, self.classes, self.has_regions, has_costs, self.key, self.features)
        made.decision = decision
        return made

    def key(self) -> str:
        """Return a text that two models share only if they give the same labels with the same trust."""
        stack = self.stack
        arrays: list[Any] = [*self.scales.arrays, self.class_count, stack.weights, stack.leaning, stack.background]
        for member in self.members:
            arrays.append(member.plan.features)
            for part in member.parts:
                arrays += [part.densities.coefficients, part.densities.log_weights]
        texts = [repr(self.classes.tolist()), *self.features, self.trust, repr(stated(self.policy, self.classes))]
        return key_of(texts, arrays)

    def stability(self, X: FloatArray, evidence: Evidence) -> FloatArray:
        """Return the share of the ensembles of one part of each member that give the same label, shape (n,).

        None of these has seen all training points, and each member's part has another fold held out.
        """
        of_parts: Iterable[FloatArray] | None = evidence.of_parts
        if of_parts is None:
            views = self.views(X)
            of_parts = (self._predictions_of_parts(views, k).log_probability for k in range(N_PARTS))
        labels = (decide_by_probability(self.stack.posterior(one), policy=self.policy).label for one in of_parts)
        same = sum(label == evidence.decision.label for label in labels)
        return np.asarray(same / N_PARTS)

    def _predictions_of_parts(self, views: Sequence[FloatArray], k: int) -> Prediction:
        """Return the predictions of one part of each member."""
        return _stacked(member.parts[k].prediction(member.points(views)) for member in self.members)

    @property
    def has_regions(self) -> bool:
        """Whether any member has an ellipsoid."""
        return any(p.blocks for member in self.members for part in member.parts for p in part.partitions)

    def under(self, policy: Policy | None) -> Self:
        """Return the same model that chooses labels by a policy."""
        return replace(self, policy=policy)

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, records_by_view=None, known={})

    def for_assessments(self) -> Self:
        """Return the model as it is: it counts its records when it needs to."""
        return self

    def predictions(self, X: FloatArray) -> Prediction:
        """Return the prediction of each member; the arrays have a first axis for the members."""
        views = self.views(X)
        return _stacked(member.prediction(views) for member in self.members)

    def evidence(self, X: FloatArray) -> Evidence:
        """Return the predictions of all members, and what each adds to the log odds of the label."""
        of_parts = None
        if len(X) <= _FEW:
            views = self.views(X)
            parts = [self._predictions_of_parts(views, k) for k in range(N_PARTS)]
            predicted, of_parts = mean_prediction(parts), np.stack([part.log_probability for part in parts])
        else:
            predicted = self.predictions(X)
        decision, predictions = self._decided(X, predicted), predicted.log_probability
        label, every = decision.label, np.arange(len(X))
        others = decision.proba.copy()
        others[every, label] = -1.0
        other = others.argmax(axis=1)
        added = self.stack.weights[:, None] * (predictions[:, every, label] - predictions[:, every, other])
        return Evidence(decision, other, predictions, added, of_parts)

    def citations(
        self, X: FloatArray, code: IntArray, rival: IntArray, members: IntArray, of_parts: FloatArray | None = None
    ) -> Iterator[Citation]:
        """Yield the regions behind a member's prediction for a class, by the part with the largest odds for it.

        A member that prefers the class to the rival has such a part: its prediction is the mean of theirs. `code`,
        `rival` and `members`, shape (n,), are numbers of the class, of the one it is compared with, and of the members;
        `of_parts` is as in `Evidence`, where it is known.
        """
        views = self.views(X)
        for m in np.unique(members).tolist():
            mine = np.flatnonzero(members == m)
            points = self.members[m].points(views, mine)
            if of_parts is not None:
                logs = of_parts[:, m, mine]
            else:
                logs = np.stack([part.prediction(points).log_probability for part in self.members[m].parts])
            every = np.arange(len(mine))
            clearest = first_largest(logs[:, every, code[mine]] - logs[:, every, rival[mine]], axis=0)
            for part, k in np.unique(np.column_stack([clearest, code[mine]]), axis=0).tolist():
                chosen = (clearest == part) & (code[mine] == k)
                yield self._citation(mine[chosen], points[chosen], m, part, k)

    def _citation(self, rows: IntArray, points: FloatArray, member: int, part: int, code: int) -> Citation:
        chosen = self.members[member].parts[part]
        points = chosen.sees(points)
        components = chosen.densities.claims(points, code)
        regions = np.array([self.region_name(member, part, chosen.names[c]) for c in components], dtype=object)
        return Citation(rows, points, member, part, code, components, regions, chosen.claimed[components])

    def leads(self, X: FloatArray, evidence: Evidence) -> Iterator[Lead]:
        """Yield the citations and verdicts of the member with the largest evidence for the label of each point."""
        leaders = first_largest(evidence.added, axis=0)
        for cited in self.citations(X, evidence.decision.label, evidence.other, leaders, evidence.of_parts):
            known = self.rules(cited.member, cited.part)
            rules = known[0] if len(known) == 1 else known[cited.code]
            yield Lead(cited, rules.judge(cited.points, count_outside=False), rules)

    def extent(self, member: int, part: int, component: int) -> Extent | None:
        """Return the range of a component, in the units that points come in; None for isolated points.

        `member`, `part` and `component` are as in a `Citation`.
        """
        plan, chosen = self.members[member].plan, self.members[member].parts[part]
        ellipsoids = chosen.ellipsoids(component)
        if not ellipsoids:
            return None
        first = np.min([E.center - E.half_widths for E in ellipsoids], axis=0)
        last = np.max([E.center + E.half_widths for E in ellipsoids], axis=0)
        ends, half_width = (first, last), 0.5 * (last - first)
        if chosen.steps is not None:
            ends = chosen.steps.reach(*ends)
        low, high = self.views[SEEN_IN[plan.view]].among(plan.features).original(np.stack(ends))
        smallest, largest = self.views.bounds[:, plan.features]
        return Extent(np.where(low > smallest, low, -np.inf), np.where(high < largest, high, np.inf), half_width)

    def n_regions(self, member: int, part: int, component: int) -> int:
        """Return the number of regions that are merged into a component, named as in a `Citation`."""
        return int(np.count_nonzero(self.members[member].parts[part].groups == component))

    def rules(self, member: int, part: int) -> list[Rules]:
        """Return the rules of a part of a member; they are kept."""
        if (member, part) not in self.known:
            if self.records_by_view is None:
                raise records_are_missing("this")
            points = [records.points for records in self.records_by_view]
            self.known[member, part] = self.members[member].rules(points, self.records_by_view[PLAIN].codes, part)
        return self.known[member, part]

    def region_name(self, member: int, part: int, region: str) -> str:
        """Return the name of a region with the member and the part that it belongs to."""
        return f"{member + 1}{'abc'[part]}:{region}"


class _QuickEnsemble(EnsembleModel):
    """An ensemble for many calls with a few points each; the last digits depend on the other points."""

    def predictions(self, X: FloatArray) -> Prediction:
        """Return the prediction of each member; the arrays have a first axis for the members."""
        return super().predictions(X) if has_gaps(X) else self._quick.predictions(self.views(X))

    @cached_property
    def _quick(self) -> QuickMembers:
        return QuickMembers.of(self.members)


def _stacked(predictions: Iterable[Prediction]) -> Prediction:
    """Return the predictions of all members, with a first axis for the members."""
    return Prediction(*map(np.stack, zip(*predictions, strict=True)))


def member_name(number: int, features: Sequence[str]) -> str:
    """Return what a member is called in texts."""
    return f"member {number + 1} ({shortened(features, 3)})"


def _lead_columns(leads: Callable[[], Sequence[Lead]]) -> dict[str, Maker]:
    """Return makers of the columns of an assessment that follow from the leads of its points."""

    def filled(a: Assessment, start: Any, values: Callable[[Lead], NDArray[Any]]) -> NDArray[Any]:
        column = np.full(len(a), start)
        for lead in leads():
            column[lead.citation.rows] = values(lead)
        return column

    def counts(a: Assessment) -> IntArray:
        own = filled(a, 0, lambda lead: lead.citation.claimed[:, lead.citation.code])
        counts = np.column_stack([own, filled(a, 0, lambda lead: lead.citation.claimed.sum(axis=1)) - own])
        counts[a.known == 0.0] = 0
        return np.asarray(counts)

    def region(a: Assessment) -> NDArray[np.object_]:
        region = filled(a, None, lambda lead: lead.citation.regions)
        region[a.known == 0.0] = Rule.unknown.name
        return region

    def local_overlap(a: Assessment) -> FloatArray:
        overlap = np.full(len(a), np.nan)
        for lead in leads():
            between = lead.verdicts.between_labels
            overlap[lead.citation.rows[between]] = lead.rules.local_overlaps(lead.verdicts.points[between])
        return overlap

    return {
        "rule": lambda a: np.array([r.name for r in Rule])[filled(a, 0, lambda lead: lead.verdicts.rule)],
        "distance": lambda a: filled(a, 0.0, lambda lead: lead.verdicts.distance),
        "counts": counts,
        "region": region,
        "local_overlap": local_overlap,
    }
