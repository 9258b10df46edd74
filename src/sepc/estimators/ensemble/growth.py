"""Growth of members: three partitions each, every time judged by what they have not seen.

The training points are dealt into three parts, equal ones into the same, unless it is a table of a few values. Each
part is left out once: the others are partitioned, the ellipsoids become local densities, and the part that was left out
is judged by them. So each member has an honest opinion of every training point, and every ellipsoid is counted on
points that did not shape it. By these opinions it also chooses how categories are read, how far regions are joined
(see `model.joining`) and how heavy the tails of their densities are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.ensemble.feature_views import STEPS
from sepc.estimators.ensemble.label_steps import LabelSteps, learn_label_steps
from sepc.estimators.ensemble.members import Member, Opinion, Part, opinion_of
from sepc.estimators.ensemble.plans import Plan
from sepc.estimators.left_out import Groups
from sepc.model.block_densities import joined_densities
from sepc.model.category_shares import Categories
from sepc.model.densities import LocalDensities, log_sum_exp
from sepc.model.incomplete import OTHER_TAILS
from sepc.model.joining import EXTENTS, joint_name, members
from sepc.model.part_blocks import N_PARTS
from sepc.partitions.blocks import Partition
from sepc.partitions.problems import ClassBlock, class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit

# One point more in a partition costs more than its share; beyond these further members help more.
_MOST_POINTS = 6000
# Weights that an opinion may get, as logarithms, where two readings of the same blocks are compared.
_LOG_WEIGHTS = (-3.0, 1.0)


def grow(
    plan: Plan,
    points: FloatArray,
    codes: IntArray,
    classes: NDArray[Any],
    n_imp: int | float,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
    equal: Groups | None = None,
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
    categories : Categories, optional
        Among these features. They are read by the shares of their values if that gives the better opinions.
    gaps : ndarray of bool, shape (n, n_features_of_the_plan), optional
        Where values are missing, and something else stands in for them.
    equal : Groups, optional
        Records that are equal in all features: a partition that has seen one knows the others.

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
    there = points if gaps is None else np.where(gaps, np.nan, points)
    rng = np.random.default_rng(plan.seed)
    each = codes if equal is None else codes[equal.first]
    dealt = deal(each, N_PARTS, order=rng.permutation, first=lambda _: int(rng.integers(N_PARTS)))
    if equal is not None:
        dealt = dealt[equal.of_record]
    blocks = []
    for k in range(N_PARTS):
        out, inside = np.flatnonzero(dealt == k), np.flatnonzero(dealt != k)
        rows = _some(inside, codes, rng)
        out = _some(out, codes, rng)
        blocks.append(_Blocks.of(points, there, codes, classes, n_imp, rows, out, plan.view == STEPS))
    ways = [None] if categories is None else [categories, None]
    judged = partial(_Reading.of, blocks, there, codes, dealt)
    readings = [judged(*read) for way in ways for read in _read(blocks, points, there, way)]
    best = min(readings, key=lambda reading: reading.loss)  # the first one if nothing tells
    # One after the other: all pairs would be two to three times as many readings.
    others = (judged([replace(d, tails=tails) for d in best.densities], best.groups) for tails in OTHER_TAILS)
    best = min([best, *others], key=lambda reading: reading.loss)
    parts = [_part(*of_part, there, codes) for of_part in zip(blocks, best.densities, best.groups, strict=True)]
    return Member(plan, parts, classes), best.honest


class _Blocks(NamedTuple):
    """Partitions of some points: rows that shaped them, rows that are counted, and the blocks, class by class."""

    partitions: list[Partition]
    rows: IntArray
    out: IntArray
    blocks: list[ClassBlock]
    class_count: IntArray
    steps: LabelSteps | None

    @classmethod
    def of(
        cls,
        points: FloatArray,
        there: FloatArray,
        codes: IntArray,
        classes: NDArray[Any],
        n_imp: int | float,
        rows: IntArray,
        out: IntArray,
        in_steps: bool,
    ) -> Self:
        """Partition the points of some rows; `there` are the same with NaN where values are missing."""
        mine, steps = points[rows], None
        if in_steps:
            steps = learn_label_steps(there[rows], codes[rows], len(classes))
            mine = steps(mine)
        asked = problems_of(codes[rows], classes)
        how: dict[str, Any] = {"options": PartitionOptions(relax=True), "unit": location_and_unit(mine)[1]}
        found = [problem.partition(mine, n_imp, **how) for problem in asked]
        count = np.bincount(codes[rows], minlength=len(classes))
        return cls(found, rows, out, list(class_blocks(found, asked)), count, steps)

    def sees(self, points: FloatArray) -> FloatArray:
        """Return points as the partitions see them."""
        return points if self.steps is None else self.steps(points)


def _read(
    blocks: Sequence[_Blocks], points: FloatArray, there: FloatArray, categories: Categories | None
) -> Iterator[tuple[list[LocalDensities], list[IntArray | None]]]:
    """Yield densities of all blocks, and which component each region went into: for each way to join them."""
    by_part = []
    for one in blocks:
        mine, by_class = one.sees(points[one.rows]), [(b.code, b.rows) for b in one.blocks]
        gaps = np.isnan(there[one.rows]) if points is not there else None
        units = one.class_count, *location_and_unit(mine)
        by_part.append(joined_densities(mine, by_class, *units, EXTENTS, categories, gaps))
    before: list[int] = []
    for extent in EXTENTS:
        densities, groups = zip(*(found[extent] for found in by_part), strict=True)
        n_components = [len(local.codes) for local in densities]
        if n_components != before:  # each extent joins what the one before it does, and perhaps more
            yield list(densities), list(groups)
        before = n_components


class _Reading(NamedTuple):
    """Densities of the blocks of all parts, and what they say of the points that these have not seen."""

    densities: list[LocalDensities]
    groups: list[IntArray | None]
    honest: Opinion
    loss: float

    @classmethod
    def of(
        cls,
        blocks: Sequence[_Blocks],
        there: FloatArray,
        codes: IntArray,
        dealt: IntArray,
        densities: list[LocalDensities],
        groups: list[IntArray | None],
    ) -> Self:
        """Ask the densities of each part about the points that were left out of it."""
        honest = Opinion(np.full((len(codes), len(blocks[0].class_count)), np.nan), np.full(len(codes), np.nan))
        for k, (one, local) in enumerate(zip(blocks, densities, strict=True)):
            unseen = np.flatnonzero(dealt == k)
            for known, said in zip(honest, opinion_of(local, one.sees(there[unseen])), strict=True):
                known[unseen] = said
        return cls(densities, groups, honest, _loss(honest, codes))


def _loss(honest: Opinion, codes: IntArray) -> float:
    """Return how badly opinions foretell the classes, at the temperature where they do so best: they get a weight."""
    known = np.isfinite(honest.log_probability).all(axis=1)
    if not known.any():
        return 0.0
    logs, own = honest.log_probability[known], (np.arange(np.count_nonzero(known)), codes[known])

    def loss(log_weight: float) -> float:
        weighed = np.exp(log_weight) * logs
        return float(np.mean(log_sum_exp(weighed) - weighed[own]))

    return float(minimize_scalar(loss, bounds=_LOG_WEIGHTS, method="bounded", options={"xatol": 0.05}).fun)


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


def _part(one: _Blocks, densities: LocalDensities, groups: IntArray | None, there: FloatArray, codes: IntArray) -> Part:
    """Return a part, its components counted on the points that were left out of it."""
    own = members(np.arange(len(one.blocks)) if groups is None else groups)
    claimed = np.zeros((len(own), len(one.class_count)), dtype=np.int64)
    np.add.at(claimed, (densities.claims(one.sees(there[one.out])), codes[one.out]), 1)
    names = [joint_name([one.blocks[k].name for k in regions]) for regions in own]
    sizes = np.array([sum(len(one.blocks[k].rows) for k in regions) for regions in own])
    return Part(one.partitions, one.rows, one.out, densities, names, sizes, claimed, one.steps, groups)
