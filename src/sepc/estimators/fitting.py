"""Fits: from a checked training set to a model and its partitions, in memory and where points are scattered.

`fit_in_memory` and `fit_scattered` do the same with different means. The partition, the counts and the moments of its
blocks are the same; a model of scattered points has no training records, and what needs them says so.
"""

from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.record_hashes import apart, record_hashes
from sepc.common.splits import deal
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.common.validation import TrainingSet
from sepc.estimators.completion import completed
from sepc.estimators.core import Core, HashParts, core_rows, core_size
from sepc.estimators.density_fit import DensityFit
from sepc.estimators.found_categories import found_categories, moments_about
from sepc.estimators.left_out import has_few_values
from sepc.estimators.progress import Progress
from sepc.estimators.refinement import RecordsElsewhere, RecordsInMemory, added
from sepc.geometry.extents import Extents
from sepc.geometry.stack import EllipsoidStack
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import Categories
from sepc.model.counts import isolated_points
from sepc.model.fitted_model import Outline, TrainingRecords
from sepc.model.held_out import N_PARTS, HeldOutDensities
from sepc.model.incomplete import has_gaps
from sepc.model.partition_model import PartitionModel
from sepc.model.readings import (
    DENSITY_READINGS,
    GROWING_READINGS,
    HELD_OUT_READINGS,
    READINGS_WITHOUT_ORDER,
    require_reading,
)
from sepc.model.rules import Rules
from sepc.partitions.algorithm import impurity_count
from sepc.partitions.blocks import Partition, renumbered
from sepc.partitions.ordering import canonical_order, canonical_rows, without_last_bits
from sepc.partitions.problems import Problem, class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_scale, location_and_unit
from sepc.scale.scattered_counts import Counted, counts_of_scattered
from sepc.scale.scattered_records import Chunk, ScatteredRecords
from sepc.scale.training_sets import ScatteredTrainingSet

# Readings that hold points out count one of so many.
_HELD_OUT = 3


class FitSettings(NamedTuple):
    """Parameters of a classifier that a fit depends on."""

    n_imp: int | float | None
    trust: str
    standardize: bool
    n_jobs: int | None
    partition_options: PartitionOptions = PartitionOptions()

    @property
    def reads_densities(self) -> bool:
        """Whether ellipsoids are read as local distributions."""
        return self.trust in DENSITY_READINGS

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
        return not self.reads_densities

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
    """Return a training set in canonical order, so that no result depends on the order of its rows."""
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
    points, codes, class_count = training.points, training.codes, training.class_count
    with one_blas_thread(points.size):  # each step would ask for it
        is_large = settings.reads_densities and len(codes) > (n_core := core_size(points.shape[1]))
        hashes = record_hashes(points) if is_large else None
        mean, scale = _standardise(points, settings.standardize)
        center, unit = location_and_unit(points)
        held_out = _held_out(points, codes, unit) if settings.trust in HELD_OUT_READINGS else None
        core, rows = Core(points, codes.astype(np.int64), training.gaps), np.arange(len(codes))
        if hashes is not None:
            rows = core_rows(class_count, hashes, n_core)
            gaps = None if training.gaps is None else training.gaps[rows]
            if has_few_values(points[rows], core.codes[rows]):
                hashes = apart(hashes)
            core = Core(points[rows], core.codes[rows], gaps, hashes[rows])
        # Points that are only counted shape nothing, not even the units.
        shaping, shaping_unit = (None, unit) if held_out is None else (~held_out, None)
        problems = problems_of(core.codes, training.classes, settings.one_vs_rest)
        partitions = _partitions(core.points, problems, shaping, shaping_unit, settings, progress)
        extents = Extents.of([points[of_class] for of_class in class_slices(class_count)])
        # First what needs room to work in: with the rules beside it a fit would take more memory.
        found = None
        if settings.reads_densities:
            categories = found_categories(extents, lambda origin: moments_about(origin, points), mean, scale)
            found = _densities(core, partitions, problems, training.classes, center, unit, categories, settings)
            if hashes is not None and core.hashes is not None:
                records = RecordsInMemory(points, codes, training.gaps, hashes, settings.n_jobs)
                parts = HashParts.of(core.hashes, core.codes)
                found = found.refined(records, parts, class_count, compact(parts(hashes, codes), N_PARTS))
        if hashes is not None:
            problems = problems_of(codes, training.classes, settings.one_vs_rest)
            starts = np.cumsum(class_count) - class_count
            partitions = [
                renumbered(p, [rows[core.codes == k] - start for k, start in enumerate(starts.tolist())])
                for p in partitions
            ]
        rules = [
            Rules(p, points, *problem, held_out, compiled=True, grows=settings.grows)
            for p, problem in zip(partitions, problems, strict=True)
        ]
        records_kept = TrainingRecords(points, codes, training.rows, training.gaps)
        described = training.classes, class_count, features, mean, scale, settings.unit
        model = _model(described, records_kept, Outline.of(extents), rules, settings.trust, found)
    in_rows = [
        renumbered(p, [training.rows[problem.side == s] for s in range(len(problem.labels))])
        for p, problem in zip(partitions, problems, strict=True)
    ]
    return Fitted(model, in_rows)


def fit_scattered(
    training: ScatteredTrainingSet, features: list[str], settings: FitSettings, progress: Progress
) -> Fitted:
    """Partition a training set that is not in memory, wherever it is.

    Its core comes into memory, and is partitioned there. All else is passes over the records where they are.

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
    records = RecordsElsewhere(training)
    core, rows = records.core()
    center, unit, extents = training.center, training.unit, training.extents
    problems = problems_of(core.codes, training.classes, settings.one_vs_rest)
    with one_blas_thread(core.points.size):
        partitions = _partitions(core.points, problems, None, unit, settings, progress)
        found = None
        if settings.reads_densities:
            moments = partial(_moments_elsewhere, training.records)
            categories = found_categories(extents, moments, training.mean, training.scale)
            found = _densities(core, partitions, problems, training.classes, center, unit, categories, settings)
            if core.hashes is not None:
                parts = HashParts.of(core.hashes, core.codes)
                found = found.refined(records, parts, extents.n, np.empty(0, dtype=np.int8))
    # Where each class has a problem of its own, that is against the rest.
    of_classes = problems_of(np.arange(len(training.classes)), training.classes, settings.one_vs_rest)
    counted, in_rows = [], []
    for p, problem, of_class in zip(partitions, problems, of_classes, strict=True):
        of_side = [np.flatnonzero(problem.side == s) for s in range(len(problem.labels))]
        alone = np.concatenate([own[isolated] for own, isolated in zip(of_side, p.isolated, strict=True)])
        isolated = isolated_points(core.points[alone], problem.side[alone])
        stack = EllipsoidStack([block.ellipsoid for block in p.blocks], core.points.shape[1])
        counted.append(Counted(stack, isolated, of_class.side.astype(np.int64), settings.grows))
        in_rows.append(renumbered(p, [rows[own] for own in of_side]))
    rules = [
        Rules.by(counts, np.array([block.side for block in p.blocks], dtype=np.int64), problem.labels, settings.grows)
        for counts, p, problem in zip(counts_of_scattered(training.records, counted), partitions, problems, strict=True)
    ]
    described = training.classes, extents.n, features, training.mean, training.scale, settings.unit
    model = _model(described, None, Outline.of(extents), rules, settings.trust, found)
    return Fitted(model, in_rows)


def _moments_elsewhere(records: ScatteredRecords, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums of the differences from an origin, and of their products, over all records."""
    total, products = records.total(partial(_moments_of, origin), added)
    return total, products


def _moments_of(origin: FloatArray, chunk: Chunk) -> list[FloatArray]:
    return list(moments_about(origin, chunk.points))


def _densities(
    core: Core,
    partitions: list[Partition],
    problems: list[Problem],
    classes: NDArray[Any],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None,
    settings: FitSettings,
) -> DensityFit:
    """Return the densities of a core's partition, which records that are left out calibrate if `trust` asks for it."""
    blocks = [(block.code, block.rows) for block in class_blocks(partitions, problems)]
    how = settings.n_imp, settings.partition_options, settings.trust == "local"
    return DensityFit.of(core, blocks, classes, center, unit, categories, *how)


def _model(
    described: tuple[NDArray[Any], IntArray, list[str], FloatArray, FloatArray, str],
    records: TrainingRecords | None,
    outline: Outline,
    rules: list[Rules],
    trust: str,
    found: DensityFit | None,
) -> PartitionModel:
    if found is None:
        return PartitionModel(*described, records, outline, rules, trust, None, None, None)
    held_out = found.held_out_densities
    if records is None and held_out is not None:
        held_out = HeldOutDensities.without_records(held_out.densities)
    densities = found.mixture.densities, found.calibration, held_out, found.groups
    return PartitionModel(*described, records, outline, rules, trust, *densities)


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
    """Return where the points of each class are in canonical order."""
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
