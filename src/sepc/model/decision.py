"""Decisions: labels with their trust and probabilities, chosen by probabilities or by counts; the trust methods."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sepc.common.errors import InputError
from sepc.common.text import TRUST_METHODS
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.constants import CONTESTED
from sepc.model.policy import Policy
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts

# Lead of the chosen label's probability where the counts are equal.
_HAIR = 1e-9


class Decision(NamedTuple):
    """Labels of n points, as numbers of classes, with their trust and probabilities.

    Attributes
    ----------
    label : ndarray of int, shape (n,)
        With costs that of the least expected cost, not always the most probable one.
    trust : ndarray of shape (n,)
    proba : ndarray of shape (n, n_classes)
        With the class priors of the policy. By counts, normalised smoothed shares: the trust is then another number.
    contested : ndarray of bool, shape (n,)
        Whether another label has a third of the probability or more; by counts, whether the deciding region has as many
        points of other labels.
    typicality : ndarray of shape (n,), or None
        Share of the held-out training records that are at least as strange; None where it is not known.
    cost, asking : ndarray of shape (n,), or None
        Expected costs of giving the label, and of abstaining; None where no costs are known.
    known : ndarray of shape (n,), or None
        Share of known features of each point; None where no value is missing.
    """

    label: IntArray
    trust: FloatArray
    proba: FloatArray
    contested: BoolArray
    typicality: FloatArray | None = None
    cost: FloatArray | None = None
    asking: FloatArray | None = None
    known: FloatArray | None = None


def decide_by_probability(
    proba: FloatArray,
    typicality: FloatArray | None = None,
    policy: Policy | None = None,
    label: IntArray | None = None,
) -> Decision:
    """Choose the likeliest label for each point, or with a policy the one that costs least; or keep a given `label`.

    `proba` has the class priors of the training set, shape (n, n_classes).
    """
    if policy is not None:
        proba = policy.posterior(proba)
    if label is None:
        label = proba.argmax(axis=1) if policy is None else policy.choose(proba)
    trust = proba[np.arange(len(label)), label]
    contested = np.count_nonzero(proba >= CONTESTED, axis=1) > (trust >= CONTESTED)
    costs = (None, None) if policy is None else (policy.cost_of(proba, label), policy.cost_of_asking(proba))
    return Decision(label, trust, proba, contested, typicality, *costs)


def deciding_problem(label: IntArray, n_problems: int) -> tuple[IntArray, IntArray]:
    """Return the problem that decides each label, and the side of the label there, both of shape (n,)."""
    nothing = np.zeros_like(label)
    return (nothing, label) if n_problems == 1 else (label, nothing)


def label_counts(label: IntArray, verdicts: Sequence[Verdicts]) -> IntArray:
    """Return the training points of each label, and of all others, in the region that decides it, shape (n, 2)."""
    problem, own = deciding_problem(label, len(verdicts))
    rows = np.arange(len(label))
    by_side = np.stack([v.counts for v in verdicts])[problem, rows]
    of_label = by_side[rows, own]
    return np.column_stack([of_label, by_side.sum(axis=1) - of_label])


def trust_of(own: IntArray, other: IntArray, n_own: int | IntArray, n_other: int | IntArray) -> FloatArray:
    """Return the paper's trust in a label, by Bayes' formula from counts.

    Parameters
    ----------
    own, other : ndarray of int, shape (n,)
        Training points of that label, and of the other, in the deciding region.
    n_own, n_other : int or ndarray of int
        The same in the whole training set.

    Returns
    -------
    ndarray of shape (n,)
        Above 0, at most 1.
    """
    return np.asarray(1.0 / (1.0 + other * n_other / ((own + 1.0) * (n_own + 1.0))))


def share_of(own: IntArray, other: IntArray) -> FloatArray:
    """Return the smoothed share of a label in the deciding region."""
    return np.asarray((own + 1.0) / (own + other + 2.0))


def lower_bound_of(own: IntArray, other: IntArray) -> FloatArray:
    """Return the lower 95 % bound of the share of a label in the deciding region, with a uniform prior of the share."""
    return np.asarray(betaincinv(own + 1.0, other + 1.0, 0.05))


# Trust methods that count held-out points, and their formulas.
HELD_OUT_METHODS: dict[str, Callable[[IntArray, IntArray], FloatArray]] = {"counts": share_of, "bound": lower_bound_of}
# Trust methods whose regions are components of densities; the others count.
DENSITY_METHODS = ("local", "raw")


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
    """
    if len(class_counts) == 2:
        decision = _decide_binary(verdicts[0], rules[0], class_counts)
    else:
        decision = _decide_among_several(verdicts, rules, class_counts)
    if trust == "paper":
        return decision
    return decision._replace(trust=HELD_OUT_METHODS[trust](*label_counts(decision.label, verdicts).T))


def _sides(verdicts: Verdicts, n_a: int, n_b: int) -> tuple[IntArray, FloatArray]:
    """Return the side of each point, and the trust in that."""
    a, b = verdicts.counts.T
    trust_a, trust_b = trust_of(a, b, n_a, n_b), trust_of(b, a, n_b, n_a)
    prefers_b = (trust_b > trust_a) | ((trust_b == trust_a) & (n_b > n_a))
    # Where nothing is counted the label is that of the points that shaped the region.
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


def require_method(trust: str, in_memory: bool = True) -> None:
    """Raise an `InputError` unless the trust method exists, for a training set that is in memory or not."""
    methods = TRUST_METHODS if in_memory else tuple(name for name in TRUST_METHODS if name not in HELD_OUT_METHODS)
    if trust in methods:
        return
    listed = ", ".join(map(repr, methods))
    if trust in TRUST_METHODS:
        raise InputError("trust-method-in-memory", trust=trust, methods=listed)
    raise InputError("trust-method", trust=trust, methods=listed, default=TRUST_METHODS[0])
