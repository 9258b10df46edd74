"""Fits: from a checked training set to a model and its partitions, in memory and where points are scattered.

`fit_in_memory` and `fit_scattered` do the same with different means. The partition, the counts and the moments of its
blocks are the same; a model of scattered points has no training records, and what needs them says so.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.common.validation import TrainingSet
from sepc.estimators.completion import completed
from sepc.estimators.found_categories import found_categories
from sepc.estimators.left_out import MOST_RECORDS, LeftOut, learn_from_left_out, taking_part
from sepc.estimators.progress import Progress
from sepc.geometry.points.sets import LocalPoints, Points, ScatteredPoints
from sepc.geometry.threads import one_blas_thread
from sepc.model.block_densities import densities_of, joined_densities, local_densities
from sepc.model.category_shares import Categories
from sepc.model.components import Component
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.incomplete import USUAL_TAILS, has_gaps
from sepc.model.joining import APART, groupings, is_any_joined, joined
from sepc.model.part_blocks import N_PARTS
from sepc.model.partition_model import PartitionModel
from sepc.model.readings import (
    DENSITY_READINGS,
    GROWING_READINGS,
    HELD_OUT_READINGS,
    READINGS_WITHOUT_ORDER,
    require_reading,
)
from sepc.model.rules import Rules
from sepc.partitions.algorithm import impurity_count, partition_of_sets
from sepc.partitions.blocks import Partition, renumbered
from sepc.partitions.ordering import canonical_order, canonical_rows, without_last_bits
from sepc.partitions.problems import Problem, class_blocks, problems_of
from sepc.partitions.run import OnStep, PartitionOptions
from sepc.partitions.several_sets import partition_of_several
from sepc.partitions.units import location_and_scale, location_and_scale_of, location_and_unit, units_from
from sepc.scale.scattered_counts import KEPT_GAUGES, Beyond, counts_of_scattered
from sepc.scale.training_sets import ScatteredTrainingSet

# Readings that hold points out count one of so many.
_HELD_OUT = 3


class FitSettings(NamedTuple):
    """Parameters of a classifier that a fit depends on."""

    n_imp: int | float
    trust: str
    standardize: bool
    n_jobs: int | None
    partition_options: PartitionOptions = PartitionOptions()

    def check(self) -> None:
        """Refuse what makes no sense before anything is computed."""
        impurity_count(self.n_imp, 1)
        require_reading(self.trust)

    @property
    def grows(self) -> bool:
        """Whether an ellipsoid is grown to a point outside of all before its training points are counted."""
        return self.trust in GROWING_READINGS

    @property
    def one_vs_rest(self) -> bool:
        """Whether each of several classes is partitioned against the rest, as the paper has it, or all at once."""
        return self.trust not in DENSITY_READINGS

    @property
    def unit(self) -> str:
        """Name of the unit that distances are measured in."""
        return "standard deviations" if self.standardize else "units"


class Fitted(NamedTuple):
    """A model, and its partitions in rows of the training set, one for each problem."""

    model: PartitionModel
    partitions: list[Partition]


class ArrangedSet(NamedTuple):
    """A training set in canonical order: class after class, by coordinates within each.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        A copy of its own, which a fit may work in.
    rows : ndarray of int, shape (n,)
        Which row of the training set each point is; weights repeat some, and leave some out.
    class_count : ndarray of int, shape (n_classes,)
    classes : ndarray of shape (n_classes,)
    n_rows : int
        How many rows the training set has.
    gaps : ndarray of bool, shape (n, d), or None
        Where values are missing, and something else stands in for them; None where none are.
    """

    points: FloatArray
    rows: IntArray
    class_count: IntArray
    classes: NDArray[Any]
    n_rows: int
    gaps: BoolArray | None = None

    @property
    def codes(self) -> IntArray:
        """Class of each point, as a number, shape (n,)."""
        n_classes = len(self.classes)
        return np.repeat(compact(np.arange(n_classes), n_classes), self.class_count)


def arranged(training: TrainingSet) -> ArrangedSet:
    """Return a training set in canonical order, so that no result depends on the order of its rows.

    Examples
    --------
    >>> from sepc.common.validation import training_set
    >>> arranged(training_set([[3.0], [1.0], [2.0]], ["b", "a", "b"])).points.tolist()
    [[1.0], [2.0], [3.0]]
    """
    if not has_gaps(training.X):
        X, gaps = training.X, None
        order = canonical_rows(X, training.codes, len(training.classes))
    else:
        X, gaps = completed(training.X)
        # Records that are equal but for their gaps are told apart by these.
        by_gaps = np.lexsort(gaps.T)
        order = by_gaps[canonical_rows(X[by_gaps], training.codes[by_gaps], len(training.classes))]
    return ArrangedSet(
        X[order],
        order if training.rows is None else training.rows[order],
        np.bincount(training.codes),
        training.classes,
        training.n_rows,
        None if gaps is None else gaps[order],
    )


def fit_in_memory(training: ArrangedSet, features: list[str], settings: FitSettings, progress: Progress) -> Fitted:
    """Partition a training set in memory.

    Parameters
    ----------
    training : ArrangedSet
        Its points are brought into the model's units, and become the model's records.
    features : list of str
    settings : FitSettings
    progress : Progress

    Returns
    -------
    Fitted
    """
    points, codes = training.points, training.codes
    with one_blas_thread(points.size):  # each step would ask for it
        mean, scale = _standardise(points, settings.standardize)
        center, unit = location_and_unit(points)
        problems = problems_of(codes, training.classes, settings.one_vs_rest)
        held_out = _held_out(points, codes, unit) if settings.trust in HELD_OUT_READINGS else None
        # Points that are only counted shape nothing, not even the units.
        shaping = None if held_out is None else ~held_out
        partitions = _partitions(points, problems, shaping, unit if held_out is None else None, settings, progress)
        # First what needs room to work in: with the rules beside it a fit would take more memory.
        densities, calibration, part_blocks, groups, extent, tails = None, None, None, None, APART, USUAL_TAILS
        by_class = [LocalPoints(points[rows]) for rows in class_slices(training.class_count)]
        categories = found_categories(by_class, mean, scale) if settings.trust in DENSITY_READINGS else None
        if settings.trust == "local":
            rows = compact(taking_part(training.class_count), len(codes))
            everyone = len(rows) == len(codes)  # without a copy
            calibration, part_blocks, categories, extent, tails = learn_from_left_out(
                points if everyone else points[rows],
                codes[rows].astype(np.int64),
                training.classes,
                training.class_count,
                unit,
                settings.n_imp,
                settings.partition_options,
                rows,
                categories,
                None if training.gaps is None else training.gaps[rows],
            )
        if settings.trust in DENSITY_READINGS:
            blocks = [(block.code, block.rows) for block in class_blocks(partitions, problems)]
            units = training.class_count, center, unit
            if extent == APART:
                densities = local_densities(points, blocks, *units, categories, training.gaps)
            else:
                how = categories, training.gaps
                ((densities, groups),) = joined_densities(points, blocks, *units, [extent], *how)
            densities = replace(densities, tails=tails)
        model = PartitionModel(
            classes=training.classes,
            class_count=training.class_count,
            features=features,
            mean=mean,
            scale=scale,
            unit=settings.unit,
            records=TrainingRecords(points, codes, training.rows, training.gaps),
            outline=Outline.of(by_class),
            rules=[
                Rules(p, points, *problem, held_out, compiled=True, grows=settings.grows)
                for p, problem in zip(partitions, problems, strict=True)
            ],
            trust=settings.trust,
            densities=densities,
            calibration=calibration,
            part_blocks=part_blocks,
            groups=groups,
        )
    in_rows = [
        renumbered(p, [training.rows[problem.side == s] for s in range(len(problem.labels))])
        for p, problem in zip(partitions, problems, strict=True)
    ]
    return Fitted(model, in_rows)


def fit_scattered(
    training: ScatteredTrainingSet, features: list[str], settings: FitSettings, progress: Progress
) -> Fitted:
    """Partition a training set that is not in memory, wherever it is.

    Parameters
    ----------
    training : ScatteredTrainingSet
        In the model's units.
    features : list of str
    settings : FitSettings
    progress : Progress

    Returns
    -------
    Fitted
        Its model has no training records.
    """
    require_reading(settings.trust, READINGS_WITHOUT_ORDER)
    problems = problems_of(np.empty(0, dtype=np.int64), training.classes, settings.one_vs_rest)
    class_count = np.array([len(points) for points in training.points])
    partitions, rules, components = [], [], []
    for k, problem in enumerate(problems):
        sides = training.points if len(problems) == 1 else _against_the_rest(training.points, k)
        run = _ScatteredProblem(sides, settings, progress.of(k))
        partitions.append(run.partition)
        rules.append(run.rules(problem.labels, settings.grows))
        components += run.components(codes=range(len(sides)) if len(problems) == 1 else (k,))
    densities, calibration, part_blocks, groups, extent, tails = None, None, None, None, APART, USUAL_TAILS
    if settings.trust in DENSITY_READINGS:
        center, spread = location_and_scale_of(*training.points)
        unit = units_from(spread)
        categories = found_categories(training.points, training.mean, training.scale)
        if settings.trust == "local":
            calibration, part_blocks, categories, extent, tails = _scattered_calibration(
                training, class_count, unit, settings, categories
            )
        densities, groups = _scattered_densities(components, class_count, center, unit, categories, extent)
        densities = replace(densities, tails=tails)
    model = PartitionModel(
        classes=training.classes,
        class_count=class_count,
        features=features,
        mean=training.mean,
        scale=training.scale,
        unit=settings.unit,
        records=None,
        outline=Outline.of(training.points),
        rules=rules,
        trust=settings.trust,
        densities=densities,
        calibration=calibration,
        part_blocks=part_blocks,
        groups=groups,
    )
    return Fitted(model, partitions)


def _standardise(points: FloatArray, standardize: bool) -> tuple[FloatArray, FloatArray]:
    """Bring the points into standardised units, in place; return these units."""
    d = points.shape[1]
    mean, scale = location_and_scale(points) if standardize else (np.zeros(d), np.ones(d))
    scale = np.where(scale > 0.0, scale, 1.0)
    points -= mean
    points /= scale
    points += 0.0  # -0.0 becomes 0.0
    return mean, scale


def _held_out(points: FloatArray, codes: IntArray, unit: FloatArray) -> BoolArray:
    """Return which points are only counted: every third one by coordinates, from all over each class."""
    ranks = without_last_bits(points, unit)
    parts = deal(
        codes, _HELD_OUT, order=lambda rows: canonical_order(ranks, among=rows), first=lambda rows: int(rows[0])
    )
    return np.asarray(parts == _HELD_OUT - 1)


def class_slices(class_count: IntArray) -> list[slice]:
    """Return where the points of each class are in canonical order.

    Examples
    --------
    >>> class_slices(np.array([2, 3]))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(*ends) for ends in pairwise([0, *np.cumsum(class_count).tolist()])]


def _partitions(
    points: FloatArray,
    problems: list[Problem],
    shaping: BoolArray | None,
    unit: FloatArray | None,
    settings: FitSettings,
    progress: Progress,
) -> list[Partition]:
    """Return the partition of each problem; members are numbered among the points of their side."""
    how = {"options": settings.partition_options, "unit": unit}
    if len(problems) > 1 and settings.n_jobs not in (None, 1):
        # A copy for each job: at the same time they must not use the same points as room to work in.
        taking = np.full(len(points), True) if shaping is None else shaping
        jobs = (delayed(problem.partition)(points, settings.n_imp, taking, **how) for problem in problems)
        return list(Parallel(n_jobs=settings.n_jobs)(jobs))  # a job in another process cannot call back
    on_steps = [progress.of(k) if progress.is_followed else None for k in range(len(problems))]
    return [
        problem.partition(points, settings.n_imp, shaping, **how, on_step=on_step)
        for problem, on_step in zip(problems, on_steps, strict=True)
    ]


class _ScatteredProblem:
    """One problem of scattered points: its partition, and what passes over the points tell of it."""

    def __init__(self, sides: Sequence[Any], settings: FitSettings, on_step: OnStep | None) -> None:
        self.sides = sides
        self.unit = units_from(location_and_scale_of(*sides)[1])
        self.moments: list[tuple[int, Component]] = []
        allowed = impurity_count(settings.n_imp, min(map(len, sides)))
        how: dict[str, Any] = {
            "unit": self.unit,
            "options": settings.partition_options,
            "on_step": on_step,
            "on_block": self._note,
        }
        rest: Sequence[Points]
        if len(sides) > 2:
            self.partition, rest = partition_of_several(sides, allowed, **how)
        else:
            a, b = (points.at_hand() for points in sides)
            self.partition, rest = partition_of_sets(a, b, allowed, **how)
        self.alone = [_in_memory(points) for points in rest]
        for side, points in enumerate(self.alone):
            if len(points):
                self._note(side, points)

    def _note(self, side: int, points: Points) -> None:
        """Keep the moments of a block."""
        origin = points.sample(1)[0]  # one of its points: about one far away rounding would take the digits
        n, total, products = points.moments(origin)
        mean = total / n
        self.moments.append((side, Component(0, origin + mean, products - n * np.outer(mean, mean), n)))

    def rules(self, labels: Sequence[str], grows: bool) -> Rules:
        """Return the rules of the partition, with stored counts."""
        n_gauges = len(self.partition.blocks) * sum(map(len, self.sides))
        kept = (Beyond.GAUGES if n_gauges <= KEPT_GAUGES else Beyond.GRID) if grows else Beyond.NOTHING
        counts = counts_of_scattered(self.partition, self.sides, self.alone, kept)
        sides = np.array([block.side for block in self.partition.blocks], dtype=np.int64)
        return Rules.by(counts, sides, labels, grows)

    def components(self, codes: Sequence[int]) -> list[Component]:
        """Return the blocks of the sides that are one class each, class by class."""
        return [
            part._replace(code=code) for side, code in enumerate(codes) for own, part in self.moments if own == side
        ]


def _against_the_rest(points: Sequence[Any], k: int) -> tuple[Any, Any]:
    first, *others = (points[j] for j in range(len(points)) if j != k)
    return points[k], first.joined(*others)


def _in_memory(points: Points) -> LocalPoints:
    if isinstance(points, ScatteredPoints):
        return points.local()
    assert isinstance(points, LocalPoints)
    return points


def _scattered_densities(
    components: list[Component],
    counts: IntArray,
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None,
    extent: int,
) -> tuple[LocalDensities, IntArray | None]:
    """Return the densities, and the component that each region went into if some are read as one."""
    moved = [
        part._replace(mean=(part.mean - center) / unit, scatter=part.scatter / np.outer(unit, unit))
        for part in components
    ]
    groups = groupings(moved, categories, center, unit)[extent] if extent != APART else None
    if groups is None or not is_any_joined(groups):
        return densities_of(moved, counts, center, unit, categories), None
    return densities_of(joined(moved, groups), counts, center, unit, categories), groups


def _scattered_calibration(
    training: ScatteredTrainingSet,
    class_count: IntArray,
    unit: FloatArray,
    settings: FitSettings,
    categories: Categories | None,
) -> LeftOut:
    """Calibrate by a sample in memory: all records if they are few enough, else at even distances in their order."""
    share = min(1.0, MOST_RECORDS / class_count.sum())
    wanted = [max(int(share * n), min(n, N_PARTS)) for n in class_count.tolist()]
    ordered = []
    for points, k in zip(training.points, wanted, strict=True):
        found = points.sample(k)  # or a few more
        found = found[np.arange(k) * len(found) // k]
        ordered.append(found[canonical_order(found)])
    codes = np.repeat(np.arange(len(ordered)), list(map(len, ordered)))
    return learn_from_left_out(
        np.concatenate(ordered),
        codes,
        training.classes,
        class_count,
        unit,
        settings.n_imp,
        settings.partition_options,
        rows=np.empty(0, dtype=np.int64),
        categories=categories,
    )
