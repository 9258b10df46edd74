"""Members of an ensemble: some features, partitioned three times, each time judged by what it has not seen.

The training points are dealt into three parts. Each part is left out once: the others are partitioned, the ellipsoids
become local densities, and the part that was left out is judged by them. So each member has an honest opinion of every
training point, and every ellipsoid is counted on points that did not shape it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sepc.common.splits import deal
from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.ensemble.feature_views import VIEWS
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.densities import LocalDensities, local_densities, log_sum_exp
from sepc.model.part_blocks import N_PARTS
from sepc.model.rules import Rules
from sepc.partitions.blocks import Partition
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit

# One point more in a partition costs more than its share; beyond these further members help more.
_MOST_POINTS = 6000
# Log probabilities below this count as this: no single opinion decides alone.
LOWEST = -12.0
# What a feature without relevance gets of the chances of the most relevant one: relevance alone misses what only
# two features together tell.
_FLOOR = 0.2


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a member: its view, the numbers of its features, and its seed.

    Examples
    --------
    >>> Plan(0, np.array([1, 3]), 7).features.tolist()
    [1, 3]
    """

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
        One component for each region, class by class.
    names : list of str
        Of the regions.
    sizes : ndarray of int, shape (n_regions,)
        How many training points shaped each.
    claimed : ndarray of int, shape (n_regions, n_classes)
        How many points of each class, of those that were left out, belong to each region more likely than to others.
    """

    partitions: list[Partition]
    rows: IntArray
    out: IntArray
    densities: LocalDensities
    names: list[str]
    sizes: IntArray
    claimed: IntArray

    def ellipsoid(self, region: int) -> Ellipsoid | None:
        """Return the ellipsoid of a region, as the member sees the features; None for isolated points."""
        code = int(self.densities.codes[region])
        # Where each class has a problem of its own, it is side 0 there.
        problem, side = (0, code) if len(self.partitions) == 1 else (code, 0)
        blocks = [block for block in self.partitions[problem].blocks if block.side == side]
        place = region - int(np.searchsorted(self.densities.codes, code))
        return blocks[place].ellipsoid if place < len(blocks) else None


@dataclass(frozen=True, eq=False)
class Member:
    """A view of some features, with its parts.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [6.0], [7.0], [8.0], [9.0]])
    >>> member, honest = grow(Plan(0, np.array([0]), 0), X, np.repeat([0, 1], 4), np.array(["low", "high"]), 2)
    >>> bool(np.all(honest.log_probability.argmax(axis=1) == np.repeat([0, 1], 4)))
    True
    >>> member.opinion((np.array([[1.0]]),)).log_probability.argmax()
    np.int64(0)
    """

    plan: Plan
    parts: list[Part]
    classes: NDArray[Any] = field(repr=False)

    def opinion(self, views: Sequence[FloatArray]) -> "Opinion":
        """Return the log probability of each class and the density, the mean over the parts."""
        points = views[self.plan.view][:, self.plan.features]
        return mean_opinion([opinion_of(part.densities, points) for part in self.parts])

    def rules(self, views: Sequence[FloatArray], codes: IntArray, part: int) -> list[Rules]:
        """Return the rules of a part's partitions, counted on the points that were left out.

        Parameters
        ----------
        views : sequence of ndarray of shape (n, d)
            The training points.
        codes : ndarray of int, shape (n,)
        part : int
        """
        chosen = self.parts[part]
        rows = np.concatenate([chosen.rows, chosen.out])
        points = views[self.plan.view][rows][:, self.plan.features]
        counted = np.arange(len(rows)) >= len(chosen.rows)
        asked = problems_of(codes[rows], self.classes, one_vs_rest=len(chosen.partitions) > 1)
        return [Rules(p, points, *problem, counted) for p, problem in zip(chosen.partitions, asked, strict=True)]


class Opinion(NamedTuple):
    """What densities say of n points.

    Attributes
    ----------
    log_probability : ndarray of shape (n, n_classes)
        Of each class, bounded from below.
    log_density : ndarray of shape (n,)
        Of all classes together, per volume in standard deviations of the features.

    Examples
    --------
    >>> Opinion(np.log([[0.5, 0.5]]), np.array([-1.0])).log_density.tolist()
    [-1.0]
    """

    log_probability: FloatArray
    log_density: FloatArray


def opinion_of(densities: LocalDensities, points: FloatArray) -> Opinion:
    """Return what densities say of some points, shape (n, d).

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> blocks = [(0, np.arange(2)), (1, np.arange(2, 4))]
    >>> local = local_densities(points, blocks, np.array([2, 2]), np.zeros(1), np.ones(1))
    >>> opinion_of(local, np.array([[0.5]])).log_probability.argmax()
    np.int64(0)
    """
    joint = densities.log_joint_in(np.ones_like(densities.unit), points)
    total = log_sum_exp(joint)
    return Opinion(np.asarray(np.maximum(joint - total[:, None], LOWEST)), np.asarray(total))


def mean_opinion(opinions: Sequence[Opinion]) -> Opinion:
    """Return the mean of several opinions on the same points.

    Examples
    --------
    >>> mean_opinion([Opinion(np.zeros((1, 2)), np.zeros(1)), Opinion(np.ones((1, 2)), np.ones(1))]).log_density
    array([0.5])
    """
    return Opinion(*(np.asarray(sum(values) / len(opinions)) for values in zip(*opinions, strict=True)))


def plans(X: FloatArray, codes: IntArray, n_members: int, sizes: Sequence[int], rng: np.random.Generator) -> list[Plan]:
    """Choose views and features of the members.

    FeatureViews take turns, and so do sizes. Features are drawn without replacement, relevant ones more often.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
    n_members : int
    sizes : sequence of int
        Numbers of features; at most those that vary are drawn.
    rng : Generator

    Returns
    -------
    list of Plan

    Examples
    --------
    >>> X, rng = np.arange(12.0).reshape(6, 2), np.random.default_rng(0)
    >>> [(p.view, len(p.features)) for p in plans(X, np.array([0, 0, 0, 1, 1, 1]), 4, [2, 1], rng)]
    [(0, 2), (1, 2), (0, 1), (1, 1)]
    """
    chances = feature_chances(X, codes)
    able = int(np.count_nonzero(chances))
    out = []
    for k in range(n_members):
        size = min(sizes[(k // len(VIEWS)) % len(sizes)], able)
        features = np.sort(rng.choice(len(chances), size, replace=False, p=chances))
        out.append(Plan(VIEWS[k % len(VIEWS)], features, int(rng.integers(2**31))))
    return out


def feature_chances(X: FloatArray, codes: IntArray) -> FloatArray:
    """Return the chance of each feature to be drawn first: by how much its ranks differ between the classes.

    The measure is the correlation ratio of the ranks. Features that do not vary are never drawn.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 5.0], [1.0, 2.0, 5.0], [7.0, 1.0, 5.0], [8.0, 2.0, 5.0]])
    >>> feature_chances(X, np.array([0, 0, 1, 1])).round(2).tolist()
    [0.86, 0.14, 0.0]
    """
    ranks = rankdata(X, axis=0)
    ranks -= ranks.mean(axis=0)
    total = np.square(ranks).sum(axis=0)
    between = np.zeros(X.shape[1])
    for k in range(codes.max() + 1):
        mine = ranks[codes == k]
        between += len(mine) * np.square(mine.mean(axis=0))
    varies = total > 0.0
    if not varies.any():
        return np.full(X.shape[1], 1.0 / X.shape[1])
    relevance = np.sqrt(between / np.where(varies, total, 1.0))
    chances = np.where(varies, relevance + _FLOOR * relevance.max() + 1e-9, 0.0)
    return np.asarray(chances / chances.sum())


def grow(
    plan: Plan, points: FloatArray, codes: IntArray, classes: NDArray[Any], n_imp: int | float
) -> tuple[Member, Opinion]:
    """Make a member; return it, and its honest opinion of the training points.

    Parameters
    ----------
    plan : Plan
    points : ndarray of shape (n, n_features_of_the_plan)
        In canonical order.
    codes : ndarray of int, shape (n,)
    classes : ndarray of shape (n_classes,)
    n_imp : int or float

    Returns
    -------
    member : Member
    honest : Opinion
        NaN for a point that is the only one of its class, which is never left out.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]])
    >>> member, _ = grow(Plan(0, np.array([0]), 0), X, np.repeat([0, 1], 3), np.array([0, 1]), 2)
    >>> len(member.parts)
    3
    """
    rng = np.random.default_rng(plan.seed)
    dealt = deal(codes, N_PARTS, order=rng.permutation, first=lambda _: int(rng.integers(N_PARTS)))
    honest = Opinion(np.full((len(codes), len(classes)), np.nan), np.full(len(codes), np.nan))
    parts = []
    for k in range(N_PARTS):
        out, inside = np.flatnonzero(dealt == k), np.flatnonzero(dealt != k)
        part = _part(points, codes, classes, n_imp, _some(inside, codes, rng), _some(out, codes, rng))
        for known, said in zip(honest, opinion_of(part.densities, points[out]), strict=True):
            known[out] = said
        parts.append(part)
    return Member(plan, parts, classes), honest


def _some(rows: IntArray, codes: IntArray, rng: np.random.Generator) -> IntArray:
    """Return at most so many rows that a partition is quick, in their order, with the same shares of the classes."""
    if len(rows) <= _MOST_POINTS:
        return rows
    share = _MOST_POINTS / len(rows)
    chosen = []
    for k in np.unique(codes[rows]):
        mine = rows[codes[rows] == k]
        chosen.append(rng.choice(mine, max(int(share * len(mine)), 1), replace=False))
    return np.sort(np.concatenate(chosen))


def _part(
    points: FloatArray, codes: IntArray, classes: NDArray[Any], n_imp: int | float, rows: IntArray, out: IntArray
) -> Part:
    mine = points[rows]
    asked = problems_of(codes[rows], classes)
    center, unit = location_and_unit(mine)
    found = [problem.partition(mine, n_imp, options=PartitionOptions(relax=True), unit=unit) for problem in asked]
    count = np.bincount(codes[rows], minlength=len(classes))
    blocks = list(class_blocks(found, asked))
    densities = local_densities(mine, [(b.code, b.rows) for b in blocks], count, center, unit)
    claimed = np.zeros((len(blocks), len(classes)), dtype=np.int64)
    np.add.at(claimed, (densities.claims(points[out]), codes[out]), 1)
    sizes = np.array([len(b.rows) for b in blocks])
    return Part(found, rows, out, densities, [b.name for b in blocks], sizes, claimed)
