"""Models that count the training points of the deciding region: the paper's formula, and held-out counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.decision import HELD_OUT_METHODS, Decision, label_counts, share_of, trust_of
from sepc.model.partition_model import PartitionModel
from sepc.model.policy import Policy
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts

# Lead of the chosen label's probability where the counts are equal.
_HAIR = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class CountModel(PartitionModel):
    """A partition whose regions count training points, by the trust methods "paper", "counts" and "bound"."""

    def judge(self, Z: FloatArray) -> tuple[Decision, list[Verdicts]]:
        """Return the decision on points in the model's units, and the verdicts of each problem on them."""
        verdicts = self.verdicts(Z)
        return decide_by_counts(verdicts, self.rules, self.class_count, self.trust), verdicts

    def decide_in_units(self, Z: FloatArray) -> Decision:
        """Return labels, trust and probabilities of points in the model's units."""
        return self.judge(Z)[0]

    def stability(self, Z: FloatArray, label: IntArray) -> FloatArray:  # noqa: ARG002
        """Return NaN for each point: no partition is held out."""
        return np.full(len(Z), np.nan)

    def main_regions(self, Z: FloatArray, label: IntArray) -> NDArray[np.object_]:  # noqa: ARG002
        """Return None for each point: regions give no probabilities."""
        return np.full(len(Z), None, dtype=object)

    def region_trust(self, problem: int, region: int) -> float:
        """Return the trust in the label of an ellipsoid, by the counts in it; each problem has two sides."""
        rules = self.rules[problem]
        side = int(rules.sides[region])
        own, others = rules.counts[region, [side]], rules.counts[region, [1 - side]]
        if self.trust == "paper":
            totals = rules.training_counts.totals
            return float(trust_of(own, others, totals[side], totals[1 - side])[0])
        return float(HELD_OUT_METHODS[self.trust](own, others)[0])

    def read_as(self) -> dict[str, str]:
        """Return nothing: regions are no components of densities."""
        return {}

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
            raise InputError(
                f"class_prior and costs need probabilities; trust={self.trust!r} has counts alone. Fit with "
                "trust='local', the default, or with SEPEnsembleClassifier."
            )
        return self

    def for_decisions(self) -> Self:
        """Return the same model without what decisions do not need."""
        return replace(self, records=None)


def decide_by_counts(
    verdicts: Sequence[Verdicts], rules: Sequence[Rules], class_counts: IntArray, trust: str = "paper"
) -> Decision:
    """Choose a label for each point by the counts in the deciding region.

    Parameters
    ----------
    verdicts : sequence of Verdicts
        Of one problem (first class against second), or of one per class (that class against the rest).
    rules : sequence of Rules
        Of the same problems.
    class_counts : ndarray of int, shape (n_classes,)
        Training points of each class.
    trust : {"paper", "counts", "bound"}, default="paper"
        The paper's formula, the smoothed share of the label in the deciding region, or the lower 95 % bound of it.

    Returns
    -------
    Decision
    """
    if len(class_counts) == 2:
        decision = _decide_binary(verdicts[0], rules[0], class_counts)
    else:
        decision = _decide_among_several(verdicts, rules, class_counts)
    if trust == "paper":
        return decision
    return decision._replace(trust=HELD_OUT_METHODS[trust](*label_counts(decision.label, verdicts).T))


def _sides(verdicts: Verdicts, n_a: int, n_b: int) -> tuple[IntArray, FloatArray]:
    """Return which side each point belongs to, and the trust in that."""
    a, b = verdicts.counts.T
    trust_a, trust_b = trust_of(a, b, n_a, n_b), trust_of(b, a, n_b, n_a)
    prefers_b = (trust_b > trust_a) | ((trust_b == trust_a) & (n_b > n_a))
    # Where nothing is counted the label is theirs who shaped the region.
    prefers_b = np.where((a + b == 0) & (verdicts.owner >= 0), verdicts.owner == 1, prefers_b)
    side = np.where(a == b, prefers_b, b > a).astype(np.int64)
    return side, np.where(side == 0, trust_a, trust_b)


def _is_contested(verdicts: Verdicts, rules: Rules, side: IntArray) -> BoolArray:
    """Return where the counts are equal, or an ellipsoid is outnumbered by points of the other label."""
    contested = verdicts.counts[:, 0] == verdicts.counts[:, 1]
    alone = verdicts.lead >= 0
    contested[alone] |= rules.sides[verdicts.lead[alone]] != side[alone]
    return np.asarray(contested)


def _decide_binary(verdicts: Verdicts, rules: Rules, class_counts: IntArray) -> Decision:
    side, trust = _sides(verdicts, *class_counts.tolist())
    rows = np.arange(len(side))
    own, other = verdicts.counts[rows, side], verdicts.counts[rows, 1 - side]
    lead = np.where(own == other, _HAIR, 0.0)
    proba = np.empty((len(side), 2))
    proba[rows, side], proba[rows, 1 - side] = share_of(own, other) + lead, share_of(other, own) - lead
    contested = _is_contested(verdicts, rules, side)
    return Decision(side, trust, proba, contested)


def _decide_among_several(verdicts: Sequence[Verdicts], rules: Sequence[Rules], class_counts: IntArray) -> Decision:
    total = int(class_counts.sum())
    share = np.column_stack([share_of(*v.counts.T) for v in verdicts])
    trust, contested = np.empty_like(share), np.empty(share.shape, dtype=bool)
    for k, (v, r, n) in enumerate(zip(verdicts, rules, class_counts.tolist(), strict=True)):
        side, in_side = _sides(v, n, total - n)
        trust[:, k] = np.where(side == 0, in_side, 1.0 - in_side)
        contested[:, k] = _is_contested(v, r, side)
    label = _first_best(share, trust, np.broadcast_to(class_counts, share.shape))
    rows = np.arange(len(label))
    proba = share / share.sum(axis=1, keepdims=True)
    tied = np.count_nonzero(share == share[rows, label][:, None], axis=1) > 1
    proba[rows[tied], label[tied]] += _HAIR
    proba[tied] /= 1.0 + _HAIR
    return Decision(label, trust[rows, label], proba, contested[rows, label])


def _first_best(*criteria: NDArray[Any]) -> IntArray:
    """Return the column that is largest by the first criterion; ties by the next ones, then the first column."""
    best = np.ones(criteria[0].shape, dtype=bool)
    for values in criteria:
        masked = np.where(best, values, -np.inf)
        best = masked == masked.max(axis=1, keepdims=True)
    return np.asarray(best.argmax(axis=1))
