"""Decisions in a graph: calibrated probabilities, typicality, labels with priors and costs, acceptance."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.model.acceptance import REFUSALS, MinTrust, Promise, min_trust_of, trust_limits
from sepc.model.calibration import STRANGE, Calibration, mixed
from sepc.model.constants import CONTESTED
from sepc.model.densities import FARTHEST
from sepc.model.local_counts import fading
from sepc.model.policy import Policy
from sepc.model.reach import Reach
from sepc.model.relations import Relations, largest
from sepc.promises import TrustThreshold
from sepc.promises.parts import GROUP, GROUPS
from sepc.serving.graphs.densities import Points
from sepc.serving.graphs.functions import log_sum_exp, rank, softmax
from sepc.serving.graphs.graph import Graph, Tensor, text_array


def posterior(
    g: Graph, calibration: Calibration, joint: Tensor, known: Tensor, points: Points
) -> tuple[Tensor, Tensor]:
    """Return `Calibration.posterior`, and what regions give of it, both of shape (n, n_classes).

    `known`, shape (n,), are the shares of known features.
    """
    share = g.expanded(known, 1)
    odds = joint / g.op("Pow", calibration.temperature, share) + share * calibration.correction
    if (linear := calibration.linear) is not None:
        within = points._replace(Z=g.clip(points.Z, linear.low, linear.high))
        odds = odds + within.filled(g) @ linear.slopes
    return with_background(g, calibration, softmax(g, odds), log_sum_exp(g, joint, 1), points.Z)


def with_background(
    g: Graph, calibration: Calibration, proba: Tensor, log_densities: Tensor, Z: Tensor
) -> tuple[Tensor, Tensor]:
    """Return probabilities with the background's share and the counts of places, and what is left of the former."""
    far = 1.0 / (1.0 + g.exp(g.expanded(log_densities, 1) - calibration.level))
    background = calibration.unexplained + (1.0 - calibration.unexplained) * far
    found, left = mixed(proba, background, calibration.class_share), proba * (1.0 - background)
    if (local := calibration.local) is None:
        return found, left
    distances = g.sqrt(g.square_sum(g.expanded(Z, 1) - local.centers, 2))
    weights = fading(distances, local.radii, g) * local.most_weights
    weight, shares = g.max(weights, 1, keepdims=True), local.shares(np.arange(len(local.radii)))
    return found + weight * (g.take(shares, g.argmax(weights, 1)) - found), left * (1.0 - weight)


def typicality(g: Graph, calibration: Calibration, log_densities: Tensor, Z: Tensor) -> Tensor:
    """Return `Calibration.typicality`, shape (n,)."""
    n = len(calibration.held_out)
    if not n:
        return g.rows_of(log_densities, np.nan)
    scores = log_densities
    if (relations := calibration.relations) is not None:
        columns = g.take(Z, relations.columns, axis=1)
        scores_of_each = g.stack([-log_densities, *_departures(g, relations, columns)], 1)
        of_all = (scores_of_each - relations.middle) / relations.width
        by_density = (-log_densities - relations.middle[0]) / relations.width[0]
        scores = -g.where(g.any(g.isnan(columns), 1), by_density, g.max(of_all, 1))
    return g.floats(rank(g, calibration.held_out[None], scores)) / float(n)


def _departures(g: Graph, relations: Relations, columns: Tensor) -> list[Tensor]:
    """Return what `Relations.departures` does of columns, shape (n, d): two of shape (n,).

    As `Relations.judge`, but record by record: of a transposed product some runtimes have no double precision.
    """
    precision, centers = relations.precision, relations.centers
    by_column = precision / np.sqrt(precision.diagonal())
    z = g.clip(columns / relations.scale, -FARTHEST, FARTHEST)
    offsets = np.einsum("kd,de,ke->k", centers, precision, centers)
    nearest = g.argmin(offsets - z @ (2.0 * centers @ precision).T, 1)
    away = z @ by_column - g.take(centers @ by_column, nearest), z - g.take(centers, nearest)
    return [largest(g, one, relations.usual[k], relations.power[k], axis=1) for k, one in enumerate(away)]


class Decision(NamedTuple):
    """Labels as numbers of classes, and what is known of them, n each; costs are None where there are none.

    `proba`, shape (n, n_classes), has the class priors of the policy.
    """

    label: Tensor
    trust: Tensor
    proba: Tensor
    contested: Tensor
    cost: Tensor | None = None
    asking: Tensor | None = None


def with_priors(g: Graph, proba: Tensor, policy: Policy | None) -> Tensor | None:
    """Return the factors by which class priors change probabilities, shape (n, n_classes); None if they do not."""
    if policy is None or (policy.shift == 1.0).all():
        return None
    return policy.shift / g.sum(proba * policy.shift, 1, keepdims=True)


def decide(g: Graph, proba: Tensor, policy: Policy | None) -> Decision:
    """Return what `decide_by_probability` does for probabilities with the class priors of the policy."""
    if policy is None or policy.costs is None:
        label, cost, asking = g.argmax(proba, 1), None, None
    else:
        expected = proba @ policy.costs
        least = g.op("ReduceMin", expected, np.array([1])) + 1e-12 * policy.costs.max()
        label = g.argmax(g.where(expected <= least, proba, -1.0), 1)
        cost, asking = of_label(g, expected, label), _cost_of_asking(g, proba, policy.asking)
    trust = of_label(g, proba, label)
    n_likely = g.sum(g.floats(proba >= CONTESTED), 1)
    return Decision(label, trust, proba, n_likely > g.floats(trust >= CONTESTED), cost, asking)


def _cost_of_asking(g: Graph, proba: Tensor, asking: FloatArray | None) -> Tensor | None:
    if asking is None:
        return None
    return g.rows_of(proba, asking[0]) if (asking == asking[0]).all() else g.sum(proba * asking, 1)


def of_label(g: Graph, table: Tensor, label: Tensor) -> Tensor:
    """Return the entry of each label in a table of shape (n, n_classes), shape (n,)."""
    return g.op("Squeeze", g.take_along(table, g.expanded(label, 1), axis=1), np.array([1]))


class Verdict(NamedTuple):
    """Decision on points, and what it rests on, n of each.

    Attributes
    ----------
    decision : Decision
    typicality : Tensor
        NaN where it is not known.
    known : Tensor
        Share of known features.
    region : Tensor of int
        Number of the most responsible region.
    share : Tensor
        Share of the label's probability that it gives.
    case : Tensor of int
        Number of the limit of trust: of the region, or of the label.
    """

    decision: Decision
    typicality: Tensor
    known: Tensor
    region: Tensor
    share: Tensor
    case: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Cases:
    """All labels, or regions with their labels, as `acceptance.trust_limits` takes an assessment."""

    label: NDArray[Any]
    main_region: NDArray[np.object_] | None
    classes: NDArray[Any]
    promise: Promise | None
    has_costs: bool
    model_key: str

    def __len__(self) -> int:
        return len(self.label)

    def limits(self, min_trust: MinTrust) -> FloatArray:
        """Return the trust from which each is accepted; an `InputError` where that depends on something else."""
        cases: Any = self
        required = min_trust_of(cases, min_trust)
        if isinstance(required, Promise) and not isinstance(required, TrustThreshold):
            raise InputError("graph-promise-kind", kind=type(required).__name__)
        if isinstance(required, TrustThreshold) and required.by in (GROUP, GROUPS) and required.is_kept:
            raise InputError("graph-promise-groups")
        return trust_limits(cases, required)


def refusals(g: Graph, verdict: Verdict, X: Tensor, reach: Reach, limits: FloatArray, has_regions: bool) -> Tensor:
    """Return why labels are refused, as numbers of `REASONS`, the last one where they are not, shape (n,)."""
    decision = verdict.decision
    limit = g.take(limits, verdict.case)
    never = g.rows_of(X, 0.0) > 0.0
    beyond = g.any((reach.highest < X) | (reach.lowest > X), 1)
    found = {
        "no values": verdict.known <= 0.0,
        "no region": never if has_regions else ~never,
        "beyond": beyond,
        "strange": verdict.typicality < STRANGE,
        "contested": never if decision.cost is not None else decision.contested,
        "promise": g.op("IsInf", limit),
        "trust": decision.trust < limit,
        "cost": never if decision.asking is None or decision.cost is None else decision.cost > decision.asking,
    }
    why = g.rows_of(X, len(REASONS) - 1)
    for reason in reversed(REASONS[:-1]):
        if reason in found:
            why = g.where(found[reason], np.array(REASONS.index(reason)), why)
    return why


# Names of the reasons; the last one is for an accepted label.
REASONS = (*REFUSALS, "")


def label_type(classes: NDArray[Any]) -> int:
    """Return the type of labels in a graph: texts, truths, doubles or 64-bit integers."""
    kinds = {"b": TensorProto.BOOL, "i": TensorProto.INT64, "u": TensorProto.INT64, "f": TensorProto.DOUBLE}
    kinds |= dict.fromkeys("OUST", TensorProto.STRING)
    kind = classes.dtype.kind
    if kind not in kinds or (kind == "u" and classes.max() > np.iinfo(np.int64).max):
        raise InputError("graph-labels", dtype=str(classes.dtype))
    return kinds[kind]


def label_tensor(g: Graph, classes: NDArray[Any], label: Tensor) -> Tensor:
    """Return labels by their numbers."""
    kind = label_type(classes)
    if kind == TensorProto.STRING:
        return g.take(text_array(classes.tolist()), label)
    types: dict[int, str] = {TensorProto.INT64: "int64", TensorProto.DOUBLE: "float64", TensorProto.BOOL: "bool"}
    return g.take(classes.astype(types[kind]), label)
