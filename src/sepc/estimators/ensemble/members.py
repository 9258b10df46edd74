"""Members of an ensemble: some features, partitioned three times, each time without a fold; see `growth`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.feature_views import SEEN_IN, LabelSteps
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.decision import Decision
from sepc.model.densities import LocalDensities, log_sum_exp
from sepc.model.rules import Rules
from sepc.model.verdicts import Verdicts
from sepc.partitions.blocks import Partition
from sepc.partitions.problems import problems_of

# Log probabilities below this count as this: no single member decides alone.
LOWEST = -12.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a member: its view, the numbers of its features, and its seed."""

    view: int
    features: IntArray
    seed: int


@dataclass(frozen=True, eq=False)
class Part:
    """The partitions of all points but those of one part.

    Attributes
    ----------
    partitions : list of Partition
        One per problem; members are numbered among the points of their side in `rows`.
    rows, out : ndarray of int
        Training points that shaped them, and held-out ones that are counted.
    densities : LocalDensities
        One component for each region, or for several merged ones, class by class.
    names : list of str
        Of the components.
    sizes : ndarray of int, shape (n_components,)
        Numbers of training points that shaped them.
    claimed : ndarray of int, shape (n_components, n_classes)
        Held-out points of each class that belong to each more likely than to others.
    groups : ndarray of int, shape (n_regions,)
        The component that each region is merged into, class by class.
    steps : LabelSteps or None
        Learnt from `rows`, where the member sees steps.
    """

    partitions: list[Partition]
    rows: IntArray
    out: IntArray
    densities: LocalDensities
    names: list[str]
    sizes: IntArray
    claimed: IntArray
    groups: IntArray
    steps: LabelSteps | None = None

    def sees(self, points: FloatArray) -> FloatArray:
        """Return points of the member's features as this part sees them, shape (n, n_features)."""
        return points if self.steps is None else self.steps(points)

    def prediction(self, points: FloatArray) -> "Prediction":
        """Return the prediction of its densities at points of the member's features, shape (n, n_features)."""
        return prediction_of(self.densities, self.sees(points))

    def ellipsoids(self, component: int) -> list[Ellipsoid]:
        """Return the ellipsoids of a component, as the member sees the features; isolated points have none."""
        code = int(self.densities.codes[component])
        # Where each class has a problem of its own, it is side 0 there.
        problem, side = (0, code) if len(self.partitions) == 1 else (code, 0)
        blocks = [block for block in self.partitions[problem].blocks if block.side == side]
        groups = self.groups[self.densities.codes[self.groups] == code]
        # Isolated points come last: their region has no block.
        return [block.ellipsoid for block, group in zip(blocks, groups, strict=False) if group == component]


@dataclass(frozen=True, eq=False)
class Member:
    """A view of some features, with its parts."""

    plan: Plan
    parts: list[Part]
    classes: NDArray[Any] = field(repr=False)

    def prediction(self, views: Sequence[FloatArray]) -> "Prediction":
        """Return the log probability of each class and the density, the mean over the parts."""
        points = self.points(views)
        return mean_prediction([part.prediction(points) for part in self.parts])

    def out_of_fold(self, points: FloatArray, fold: NDArray[np.integer]) -> "Prediction":
        """Return the prediction of the part that has not seen each of some points, shape (n, n_features_of_the_member).

        `fold`, shape (n,), is the part that held out each; the prediction of those in none is NaN.
        """
        out = Prediction(np.full((len(points), len(self.classes)), np.nan), np.full(len(points), np.nan))
        for k, part in enumerate(self.parts):
            unseen = np.flatnonzero(fold == k)
            for whole, of_unseen in zip(out, part.prediction(points[unseen]), strict=True):
                whole[unseen] = of_unseen
        return out

    def points(self, views: Sequence[FloatArray], rows: IntArray | slice = slice(None)) -> FloatArray:
        """Return the features that the member looks at, of all points or of some, shape (n, n_features)."""
        return views[SEEN_IN[self.plan.view]][rows][:, self.plan.features]

    def rules(self, views: Sequence[FloatArray], codes: IntArray, part: int) -> list[Rules]:
        """Return the rules of a part's partitions, counted on the held-out points, of training points in both views."""
        chosen = self.parts[part]
        rows = np.concatenate([chosen.rows, chosen.out])
        points = chosen.sees(self.points(views, rows))
        counted = np.arange(len(rows)) >= len(chosen.rows)
        problems = problems_of(codes[rows], self.classes, one_vs_rest=len(chosen.partitions) > 1)
        return [Rules.of(p, points, *problem, counted) for p, problem in zip(chosen.partitions, problems, strict=True)]


class Prediction(NamedTuple):
    """Log probability of each class at n points, bounded from below, and log density of all classes together.

    The density is per volume in standard deviations of the features.
    """

    log_probability: FloatArray
    log_density: FloatArray


class Evidence(NamedTuple):
    """Predictions of the members at n points, and what they add to the log odds of the label.

    Attributes
    ----------
    decision : Decision
    other : ndarray of int, shape (n,)
        Number of the likeliest other class.
    predictions : ndarray of shape (n_members, n, n_classes)
        Log probabilities.
    added : ndarray of shape (n_members, n)
        What each member adds to the log odds of the label against that other one.
    of_parts : ndarray of shape (n_parts, n_members, n, n_classes), or None
        Log probabilities by the parts of the members; None for many points, to save memory.
    """

    decision: Decision
    other: IntArray
    predictions: FloatArray
    added: FloatArray
    of_parts: FloatArray | None = None


class Citation(NamedTuple):
    """Regions of one class that a member likens points to, by the part that gives the class the largest odds.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which points.
    points : ndarray of shape (n, n_features_of_the_member)
        The same, as the part sees them.
    member, part, code : int
        Numbers of the member, of its part, and of the class.
    components : ndarray of int, shape (n,)
        The components of the class in that part that the points most likely belong to.
    regions : ndarray of str, shape (n,)
        Their names, with the member and the part.
    claimed : ndarray of int, shape (n, n_classes)
        Held-out training points of each class that belong there, too.
    """

    rows: IntArray
    points: FloatArray
    member: int
    part: int
    code: int
    components: IntArray
    regions: NDArray[np.object_]
    claimed: IntArray


class Lead(NamedTuple):
    """The citation of the member with the largest evidence for the label of some points, and its rules' verdicts.

    What grown ellipsoids hold is not counted.
    """

    citation: Citation
    verdicts: Verdicts
    rules: Rules


class Extent(NamedTuple):
    """Range of a region in each feature of its member, shape (n_features_of_the_member,).

    `low` and `high` are in the units that points come in, infinite where it reaches beyond all training points;
    `half_width` is that of the ellipsoid, or of all together, in standard deviations of what the member sees.
    """

    low: FloatArray
    high: FloatArray
    half_width: FloatArray


def prediction_of(densities: LocalDensities, points: FloatArray) -> Prediction:
    """Return the prediction of densities at some points, shape (n, d)."""
    joint = densities.log_joint_in(np.ones_like(densities.unit), points)
    total = log_sum_exp(joint)
    return Prediction(np.asarray(np.maximum(joint - total[:, None], LOWEST)), np.asarray(total))


def mean_prediction(predictions: Sequence[Prediction]) -> Prediction:
    """Return the mean of several predictions at the same points."""
    return Prediction(*(np.asarray(sum(values) / len(predictions)) for values in zip(*predictions, strict=True)))
