"""Fits: from a checked training set to a model and its partitions, wherever the records are.

A fit is: arrange the records, partition their core, make and calibrate densities, count under the ellipsoids. The model
of a training set that is not in memory is without training records.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.validation import TrainingSet, has_gaps
from sepc.estimators.density_fit import Search, fit_densities, refined, related
from sepc.estimators.held_out_parts import groups_of
from sepc.estimators.progress import Progress
from sepc.estimators.records import ArrangedSet, Core, Records, RecordsElsewhere, RecordsInMemory
from sepc.estimators.relating import learn_relations
from sepc.estimators.scale_choice import ChosenScales, chosen_scales, curves_like
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import found_categories
from sepc.model.decision import DENSITY_METHODS, HELD_OUT_METHODS, require_method
from sepc.model.densities import LocalDensities
from sepc.model.fitted_model import Outline
from sepc.model.incomplete import completed
from sepc.model.partition_model import CountModel, DensityFit, DensityModel
from sepc.partitions.algorithm import impurity_count
from sepc.partitions.blocks import Partition, renumbered
from sepc.partitions.ordering import canonical_rows
from sepc.partitions.problems import Problem, class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.scale.training_sets import ScatteredTrainingSet


class FitSettings(NamedTuple):
    """Parameters of a classifier that a fit depends on."""

    n_imp: int | float | None
    trust: str
    standardize: bool
    n_jobs: int | None
    partition_options: PartitionOptions = PartitionOptions()

    @property
    def has_densities(self) -> bool:
        """Whether regions are components of densities."""
        return self.trust in DENSITY_METHODS

    def check(self) -> None:
        """Refuse invalid parameters before anything is computed."""
        impurity_count(self.n_imp, 1)
        require_method(self.trust)

    @property
    def grows(self) -> bool:
        """Whether an ellipsoid is grown to a point outside of all before its training points are counted."""
        return self.trust != "paper"

    @property
    def one_vs_rest(self) -> bool:
        """Whether each of several classes is partitioned against the rest, as the paper has it, or all at once."""
        return not self.has_densities

    @property
    def unit(self) -> str:
        """Name of the unit that distances are measured in."""
        return "standard deviations" if self.standardize else "units"


class Fitted(NamedTuple):
    """A model, and its partitions in rows of the training set, one for each problem."""

    model: DensityModel | CountModel
    partitions: list[Partition]


def arranged(training: TrainingSet) -> ArrangedSet:
    """Return a training set in canonical order, so that no result depends on the order of its rows."""
    if not has_gaps(training.X):
        X, gaps = training.X, None
        order = canonical_rows(X, training.codes, len(training.classes))
    else:
        X, gaps = completed(training.X)
        # Gaps order records that are equal but for them.
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
    """Partition a training set in memory; its points are brought into the model's units, and become its records."""
    counts = settings.trust in HELD_OUT_METHODS
    with one_blas_thread(training.points.size):  # once, not in each step
        records = RecordsInMemory(training, settings.has_densities, counts, settings.n_jobs)
        return _fit(records, features, settings, progress)


def fit_scattered(
    training: ScatteredTrainingSet, features: list[str], settings: FitSettings, progress: Progress
) -> Fitted:
    """Partition a training set that is not in memory: its core is brought there, all else are passes."""
    require_method(settings.trust, in_memory=False)
    return _fit(RecordsElsewhere(training), features, settings, progress)


def _fit(records: Records, features: list[str], settings: FitSettings, progress: Progress) -> Fitted:
    scales, reach = ChosenScales(), records.reach()
    if settings.standardize and settings.has_densities:
        scales = chosen_scales(records.sample(), records.classes, settings.n_imp, settings.partition_options)
    records.bring_into_units(settings.standardize, scales.curves)
    core, rows = records.core()
    if core.apart is not None:
        core = replace(core, apart=core.apart.in_units(settings.standardize, partial(curves_like, scales.curves)))
    problems = problems_of(core.codes, records.classes, settings.one_vs_rest)
    with one_blas_thread(core.points.size):
        partitions = _partitions(core, records, problems, settings, progress)
        # Before the rules, for a lower peak of memory.
        densities = None
        if settings.has_densities:
            densities = _densities(records, core, partitions, problems, settings, scales.search)
    described = records.classes, records.extents.n, features, records.scales, settings.unit
    outline = Outline.of(records.extents, reach if settings.has_densities else reach.refusing_none)
    rules = records.rules(partitions, problems, core, settings.grows)
    whole = *described, records.kept, outline, rules, settings.trust
    model = CountModel(*whole) if densities is None else DensityModel(*whole, densities)
    in_rows = [
        renumbered(p, [rows[problem.side == s] for s in range(len(problem.labels))])
        for p, problem in zip(partitions, problems, strict=True)
    ]
    return Fitted(model, in_rows)


def _densities(
    records: Records,
    core: Core,
    partitions: list[Partition],
    problems: list[Problem],
    settings: FitSettings,
    of_scales: Search | None,
) -> DensityFit[LocalDensities]:
    """Return the densities of a core's partition, refined by all records, which held-out ones calibrate."""
    calibrated, classes = settings.trust == "local", records.classes
    categories = None
    if core.apart is None:  # other columns have other categories
        categories = found_categories(records.extents, records.moments, records.scales.mean, records.scales.scale)
    blocks = [(block.code, block.rows) for block in class_blocks(partitions, problems)]
    n_imp, options = settings.n_imp, settings.partition_options
    units = records.center, records.unit
    # The penalty of linear terms is one of standardised features; what the held-out records have in columns that their
    # own labels have chosen shows neither slopes nor relations.
    is_fair = settings.standardize and core.apart is None
    how = calibrated, is_fair
    fit, choice = fit_densities(core, blocks, classes, *units, categories, n_imp, options, *how, of_scales)
    judged = None
    if calibrated and is_fair:  # in other units typicality stays that of the densities
        equal = groups_of(core.points, core.codes).of_record
        judged = learn_relations(core.with_gaps, core.codes, equal, categories)
    if core.hashes is not None:
        fit = refined(fit, choice, records, core, records.extents.n, *how, judged)
    elif judged is not None:
        fit = related(fit, core, judged)
    # Densities of other columns than the model's are of no use to it.
    held_out = tuple(mixture.densities for mixture in fit.held_out if core.apart is None)
    part = fit.part if records.kept is not None and held_out else fit.part[:0]
    return DensityFit(fit.whole.densities, fit.groups, fit.calibration, held_out, part)


def _partitions(
    core: Core, records: Records, problems: list[Problem], settings: FitSettings, progress: Progress
) -> list[Partition]:
    """Return the partition of each problem; members are numbered among the points of their side."""
    # Points that are only counted do not shape the units either.
    shaping, unit = (None, records.unit) if core.counted is None else (~core.counted, None)
    how = {"options": settings.partition_options, "unit": unit}
    if len(problems) > 1 and settings.n_jobs not in (None, 1):
        # A copy for each job: partitions work in place.
        taking = np.full(len(core.points), True) if shaping is None else shaping
        jobs = (delayed(problem.partition)(core.points, settings.n_imp, taking, **how) for problem in problems)
        return list(Parallel(n_jobs=settings.n_jobs)(jobs))  # a job in another process cannot call back
    on_steps = [progress.of(k) if progress.is_followed else None for k in range(len(problems))]
    return [
        problem.partition(core.points, settings.n_imp, shaping, **how, on_step=on_step)
        for problem, on_step in zip(problems, on_steps, strict=True)
    ]
