"""Members of an ensemble: some features, partitioned three times, and what they say of points.

Each partition holds a fold of the training points out, by which its ellipsoids are counted; see `growth`.
"""

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

# Log probabilities below this count as this: no single opinion decides alone.
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
    rows : ndarray of int
        Training points that shaped them.
    out : ndarray of int
        Training points that are counted.
    densities : LocalDensities
        One component for each region, or for several merged ones, class by class.
    names : list of str
        Of the components.
    sizes : ndarray of int, shape (n_components,)
        How many training points shaped each.
    claimed : ndarray of int, shape (n_components, n_classes)
        Held-out points of each class that belong to each more likely than to others.
    steps : LabelSteps or None
        Learnt from `rows`, where the member sees steps.
    groups : ndarray of int, shape (n_regions,), or None
        The component that each region is merged into, class by class; None where each has its own.
    """

    partitions: list[Partition]
    rows: IntArray
    out: IntArray
    densities: LocalDensities
    names: list[str]
    sizes: IntArray
    claimed: IntArray
    steps: LabelSteps | None = None
    groups: IntArray | None = None

    def sees(self, points: FloatArray) -> FloatArray:
        """Return points of the member's features as this part sees them, shape (n, n_features)."""
        return points if self.steps is None else self.steps(points)

    def opinion(self, points: FloatArray) -> "Opinion":
        """Return what its densities say of points of the member's features, shape (n, n_features)."""
        return opinion_of(self.densities, self.sees(points))

    @property
    def region_groups(self) -> IntArray:
        """The component that each region is merged into, shape (n_regions,)."""
        return np.arange(len(self.names)) if self.groups is None else self.groups

    def ellipsoids(self, component: int) -> list[Ellipsoid]:
        """Return the ellipsoids of a component, as the member sees the features; isolated points have none."""
        code = int(self.densities.codes[component])
        # Where each class has a problem of its own, it is side 0 there.
        problem, side = (0, code) if len(self.partitions) == 1 else (code, 0)
        blocks = [block for block in self.partitions[problem].blocks if block.side == side]
        groups = self.region_groups[self.densities.codes[self.region_groups] == code]
        # Isolated points come last: their region has no block.
        return [block.ellipsoid for block, group in zip(blocks, groups, strict=False) if group == component]


@dataclass(frozen=True, eq=False)
class Member:
    """A view of some features, with its parts."""

    plan: Plan
    parts: list[Part]
    classes: NDArray[Any] = field(repr=False)

    def opinion(self, views: Sequence[FloatArray]) -> "Opinion":
        """Return the log probability of each class and the density, the mean over the parts."""
        points = self.points(views)
        return mean_opinion([part.opinion(points) for part in self.parts])

    def honest(self, points: FloatArray, dealt: NDArray[np.integer]) -> "Opinion":
        """Return what the part that has not seen each of some points says of it.

        Parameters
        ----------
        points : ndarray of shape (n, n_features)
            Of the member's features.
        dealt : ndarray of int, shape (n,)
            The part that held out each; the opinion of those in none is NaN.
        """
        out = Opinion(np.full((len(points), len(self.classes)), np.nan), np.full(len(points), np.nan))
        for k, part in enumerate(self.parts):
            unseen = np.flatnonzero(dealt == k)
            for known, said in zip(out, part.opinion(points[unseen]), strict=True):
                known[unseen] = said
        return out

    def points(self, views: Sequence[FloatArray], rows: IntArray | slice = slice(None)) -> FloatArray:
        """Return the features that the member looks at, of all points or of some, shape (n, n_features)."""
        return views[SEEN_IN[self.plan.view]][rows][:, self.plan.features]

    def rules(self, views: Sequence[FloatArray], codes: IntArray, part: int) -> list[Rules]:
        """Return the rules of a part's partitions, counted on the held-out points.

        Parameters
        ----------
        views : sequence of ndarray of shape (n, d)
            The training points.
        codes : ndarray of int, shape (n,)
        part : int
        """
        chosen = self.parts[part]
        rows = np.concatenate([chosen.rows, chosen.out])
        points = chosen.sees(self.points(views, rows))
        counted = np.arange(len(rows)) >= len(chosen.rows)
        asked = problems_of(codes[rows], self.classes, one_vs_rest=len(chosen.partitions) > 1)
        return [Rules.of(p, points, *problem, counted) for p, problem in zip(chosen.partitions, asked, strict=True)]


class Opinion(NamedTuple):
    """What densities say of n points.

    Attributes
    ----------
    log_probability : ndarray of shape (n, n_classes)
        Of each class, bounded from below.
    log_density : ndarray of shape (n,)
        Of all classes together, per volume in standard deviations of the features.
    """

    log_probability: FloatArray
    log_density: FloatArray


class Evidence(NamedTuple):
    """Opinions of the members on n points, and what becomes of them.

    Attributes
    ----------
    decision : Decision
    other : ndarray of int, shape (n,)
        Number of the likeliest other class.
    opinions : ndarray of shape (n_members, n, n_classes)
        Log probabilities.
    added : ndarray of shape (n_members, n)
        What each member adds to the log odds of the label against that other one.
    of_parts : ndarray of shape (n_parts, n_members, n, n_classes), or None
        Log probabilities by the parts of the members; None where points are so many that it is not worth the memory.
    """

    decision: Decision
    other: IntArray
    opinions: FloatArray
    added: FloatArray
    of_parts: FloatArray | None = None


class Citation(NamedTuple):
    """Regions of one class that some points are likened to, by the part of a member that speaks most clearly for it.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Which points.
    points : ndarray of shape (n, n_features_of_the_member)
        The same, as the member sees them.
    member, part, code : int
        Numbers of the member, of its part, and of the class.
    components : ndarray of int, shape (n,)
        Numbers of the regions in that part: those of the class that the points most likely belong to.
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
    """What the member that speaks most for the label of some points says of them.

    Attributes
    ----------
    citation : Citation
        Of regions of the label.
    verdicts : Verdicts
        Where the points lie, by the rules of the paper; what grown ellipsoids hold is not counted.
    rules : Rules
        That gave these verdicts.
    """

    citation: Citation
    verdicts: Verdicts
    rules: Rules


class Extent(NamedTuple):
    """How far a region reaches in each feature of its member.

    Attributes
    ----------
    low, high : ndarray of shape (n_features_of_the_member,)
        In the units that points come in; infinite where it reaches beyond all training points.
    half_width : ndarray of shape (n_features_of_the_member,)
        Of the ellipsoid, or of all together, in standard deviations of what the member looks at.
    """

    low: FloatArray
    high: FloatArray
    half_width: FloatArray


def opinion_of(densities: LocalDensities, points: FloatArray) -> Opinion:
    """Return what densities say of some points, shape (n, d)."""
    joint = densities.log_joint_in(np.ones_like(densities.unit), points)
    total = log_sum_exp(joint)
    return Opinion(np.asarray(np.maximum(joint - total[:, None], LOWEST)), np.asarray(total))


def mean_opinion(opinions: Sequence[Opinion]) -> Opinion:
    """Return the mean of several opinions on the same points."""
    return Opinion(*(np.asarray(sum(values) / len(opinions)) for values in zip(*opinions, strict=True)))
