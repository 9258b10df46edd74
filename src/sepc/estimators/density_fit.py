"""The fit of densities: how the blocks of a partition become a mixture, chosen and calibrated on held-out records.

The records are split into three parts. Each part is held out once: the others are partitioned, the blocks become
components, and the held-out part is judged by them. Its log loss chooses

- whether categories are modelled by the shares of their values, or as features like all others, whose covariances
  show which values come together,
- the merge penalty of blocks of a class (`model.merging`),
- the degrees of freedom of the densities,
- whether covariances are shrunk towards the common one as it is, or in the size of each component, and
- the number of EM iterations that refine the components,

and it calibrates the densities, with linear terms of the features for those that are chosen. Where the partition is
made of a core, EM iterations over all records then refine the mixture of the core, and those of its parts by all
records that each has not held out; so the trust is calibrated for the model that is kept, by mixtures of two thirds of
the records each. A pass is a sum over chunks of records.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import IN_NO_PART, Hashes
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import known_share
from sepc.estimators.calibrating import learn_calibration
from sepc.estimators.constants import CALIBRATING, EM_STEPS, FAR_BEHIND, OWN_SIZE_GAIN, PASSES
from sepc.estimators.held_out_parts import HashParts, groups_of, parts_of
from sepc.estimators.local_calibration import with_places
from sepc.estimators.records import Core, Records
from sepc.estimators.relating import Judged, with_relations
from sepc.geometry.threads import one_blas_thread
from sepc.model.calibration import Calibration, log_density
from sepc.model.category_shares import Categories
from sepc.model.constants import DEGREES_OF_FREEDOM, OTHER_DEGREES_OF_FREEDOM
from sepc.model.merging import LEVELS, UNMERGED, groupings, merged_mixtures
from sepc.model.mixtures import Mixture, component_of_points, mixture_of_blocks
from sepc.model.partition_model import N_PARTS, DensityFit, identity_calibration
from sepc.model.relations import Relations
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit


class Choice(NamedTuple):
    """How blocks become densities: categories that are modelled by shares of values, merging, and EM iterations.

    `level` is one of `merging.LEVELS`, `dof` the degrees of freedom; `own_size` is that of `Mixture`.
    """

    categories: Categories | None = None
    level: int = UNMERGED
    dof: float = DEGREES_OF_FREEDOM
    own_size: bool = False
    em_steps: int = 0


class HeldOutFit(NamedTuple):
    """A choice, with one mixture for each part that is held out, calibrated on the n held-out records.

    `losses` are the log losses of these, those of equal records added up.
    """

    choice: Choice
    mixtures: tuple[Mixture, ...]
    calibration: Calibration
    losses: FloatArray
    n: int

    @property
    def loss(self) -> float:
        """Sum of the losses of all held-out records."""
        return float(self.losses.sum())

    @property
    def mean_loss(self) -> float:
        """Mean of these losses; infinite if no record was held out."""
        return self.loss / self.n if self.n else np.inf

    def is_clearly_better_than(self, other: "HeldOutFit", errors: float = 1.0) -> bool:
        """Return whether its losses are less by more than this number of standard errors of the mean difference."""
        gains = other.losses - self.losses
        return len(gains) > 0 and bool(gains.sum() > errors * np.sqrt(len(gains)) * gains.std())


def fit_densities(
    core: Core,
    blocks: Sequence[tuple[int, IntArray]],
    classes: NDArray[Any],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None,
    n_imp: int | float | None,
    options: PartitionOptions,
    calibrated: bool,
    linear: bool,
    known: "Search | None" = None,
) -> tuple[DensityFit[Mixture], Choice]:
    """Make densities of the blocks of a core's partition, class and rows of each, class by class.

    Held-out records choose and calibrate them if `calibrated`, with linear terms if `linear`. `center` and `unit`,
    shape (d,), are those of the whole training set; `categories` may be modelled by the shares of their values. `known`
    is a search whose partitions serve as well, if it is one of the same points.
    """
    class_count, with_gaps, codes = np.bincount(core.codes, minlength=len(classes)), core.with_gaps, core.codes

    def mixture_by(choice: Choice) -> tuple[Mixture, IntArray]:
        units, how = (class_count, center, unit), (choice.categories, core.gaps)
        ((mixture, groups),) = merged_mixtures(core.points, blocks, *units, [choice.level], *how)
        mixture = mixture.with_dof(choice.dof)
        if choice.own_size:
            mixture = mixture.in_own_size()
        for _ in range(choice.em_steps):
            mixture = mixture.step(with_gaps, codes)
        return mixture, groups

    def judged(one: HeldOutFit) -> tuple[float, DensityFit[Mixture], Choice]:
        """Return the mean log loss of the records of the core by the mixture of a choice, the fit and the choice."""
        mixture, groups = mixture_by(one.choice)
        proba = one.calibration.posterior(mixture.densities.log_joint(with_gaps), known_share(with_gaps))
        loss = float(-np.log(proba[np.arange(len(codes)), codes]).mean())
        return loss, DensityFit(mixture, groups, one.calibration, one.mixtures, search.part), one.choice

    if not calibrated:
        choice = Choice(categories)
        return DensityFit(*mixture_by(choice), identity_calibration(class_count)), choice
    if known is not None and core.apart is None and np.array_equal(known.core.points, core.points):
        search = Search(core, len(classes), unit, known.part, known.seen)
    else:
        search = Search.of(core, classes, unit, n_imp, options)
    found = search.best(categories)
    whole = [judged(found[0])]
    # With few records EM iterations may end in different places: a mixture whose loss on its own records is above the
    # held-out loss of the choice is not what was chosen. Then its own records decide.
    if whole[0][0] > found[0].mean_loss:
        whole += map(judged, found[1:])
    _, fit, choice = min(whole, key=lambda one: one[0])
    if linear and core.hashes is None:  # else a fit that is refined by all records is calibrated anew
        fit = replace(fit, calibration=search.calibrated(fit.held_out, fit.whole))
    return fit, choice


class Search:
    """Search for the best choice, by partitions of a core that have each not seen a part of it.

    `unit`, shape (d,), are units of length of the densities that are to be calibrated; `part`, shape (n,), is the
    number of the partition that has not seen each record, `IN_NO_PART` where all have; `seen` are the rows of each
    partition, and the block of each row, class by class. Partitions in columns of their own have `cores`.
    """

    def __init__(
        self,
        core: Core,
        n_classes: int,
        unit: FloatArray,
        part: IntArray,
        seen: Sequence[tuple[IntArray, IntArray]],
        cores: Sequence[Core] | None = None,
    ) -> None:
        self.core, self.with_gaps, self.unit, self.part, self.seen = core, core.with_gaps, unit, part, seen
        # What each partition sees, in columns of its own where there are such.
        self.cores = [core] * len(seen) if cores is None else list(cores)
        self.points = [self.with_gaps] * len(seen) if cores is None else [one.with_gaps for one in self.cores]
        self.class_count = np.bincount(core.codes, minlength=n_classes)
        # Equal records are in the same part and have the same loss: they are not independent.
        self.witness = groups_of(core.points, core.codes).of_record

    @classmethod
    def of(
        cls,
        core: Core,
        classes: NDArray[Any],
        unit: FloatArray,
        n_imp: int | float | None,
        options: PartitionOptions,
        like: "Search | None" = None,
    ) -> "Search":
        """Partition a core without each of its parts: those of a search of the same records in other units, if any."""
        points, codes = core.points, core.codes
        of_parts, cores = [core] * N_PARTS, list[Core]()
        if like is not None:
            parts = like.part
        elif core.apart is not None:
            parts, of_parts = core.apart
        elif core.hashes is None:
            parts = parts_of(points, codes)
        else:
            parts = HashParts.of(core.hashes, codes)(core.hashes, codes)
        part = np.full(len(codes), IN_NO_PART)
        partitioned: list[tuple[IntArray, IntArray]] = []
        for k in range(N_PARTS):
            seen, out = np.flatnonzero(parts != k), np.flatnonzero(parts == k)
            if not len(out) or len(np.unique(codes[seen])) < len(classes):
                continue  # where records are few, or all of a class are equal: without them it would be unknown
            part[out] = len(partitioned)
            partitioned.append((seen, _blocks(of_parts[k].points[seen], codes[seen], classes, n_imp, options)))
            cores.append(of_parts[k])
        search = cls(core, len(classes), unit, part, partitioned, None if core.apart is None else cores)
        if like is not None:
            search.witness = like.witness
        return search

    def best(self, categories: Categories | None) -> list[HeldOutFit]:
        """Return the best choice, the best one without EM iterations, and the default one, as far as they differ.

        The default, unmerged blocks with the default degrees of freedom, stays unless another is clearly better; EM
        iterations must be clearly better than the best without them.
        """
        with one_blas_thread():  # once, not for each calibration
            models = [self._of_levels(way) for way in ([None] if categories is None else [categories, None])]
            default = min([next(of_way) for of_way in models], key=attrgetter("loss"))  # the first of equal ones
            best = _clearly_better(default, chain.from_iterable(models))
            starts = [best]
            if best.choice.level != UNMERGED:
                starts.append(self.made(best.choice._replace(level=UNMERGED)))
            best = _clearly_better(best, map(self.in_own_size, starts), OWN_SIZE_GAIN)
            starts[0] = best
            refined = _clearly_better(best, chain.from_iterable(self._refined(start) for start in starts))
            if refined is not best:
                others = (DEGREES_OF_FREEDOM, *OTHER_DEGREES_OF_FREEDOM)
                tried = (self.with_dof(refined, dof) for dof in others if dof != refined.choice.dof)
                refined = min([refined, *tried], key=attrgetter("loss"))
            return list({id(one): one for one in (refined, best, default)}.values())

    def simplest(self, categories: Categories | None) -> HeldOutFit:
        """Return the best fit of the blocks as they are, unmerged."""
        by_way = [self.made(Choice(way)) for way in ([None] if categories is None else [categories, None])]
        with_dof = (self.with_dof(one, dof) for one in by_way for dof in OTHER_DEGREES_OF_FREEDOM)
        return min([*by_way, *with_dof], key=attrgetter("loss"))

    def _of_levels(self, categories: Categories | None) -> Iterator[HeldOutFit]:
        """Yield fits without EM iterations, the default one first: for all levels of merging and degrees of freedom."""
        default = None
        for level, groups in self.different(categories):
            one = self.made(Choice(categories, level), groups)
            yield one
            default = default or one
            # All pairs: heavy tails speak for one component where light ones speak for several. They do not make up for
            # what is far behind.
            if not default.is_clearly_better_than(one, FAR_BEHIND):
                yield from (self.with_dof(one, dof) for dof in OTHER_DEGREES_OF_FREEDOM)

    def different(self, categories: Categories | None) -> Iterator[tuple[int, list[IntArray]]]:
        """Yield levels of merging with the components of all parts; of levels that merge the same the farthest.

        Where nothing is merged, higher levels are not tried.
        """
        by_part = [self._groupings(k, categories) for k in range(len(self.seen))]
        farther = apart = [found[UNMERGED] for found in by_part]
        yield UNMERGED, apart
        for level in reversed(LEVELS[1:]):
            groups = [found[level] for found in by_part]
            if not any(all(map(np.array_equal, groups, seen)) for seen in (apart, farther)):
                yield level, groups
            farther = groups

    def _groupings(self, part: int, categories: Categories | None) -> list[IntArray]:
        points = self.cores[part].points
        center, unit = location_and_unit(points[self.seen[part][0]])
        by_block = self._by_component(part, None)
        parts = [component_of_points(code, points[rows], center, unit) for code, rows in by_block]
        return groupings(parts, categories, center, unit)

    def _by_component(self, part: int, groups: IntArray | None) -> Iterator[tuple[int, IntArray]]:
        """Yield class and rows of the components of a partition: its blocks, or these merged into groups."""
        seen, of_block = self.seen[part]
        of_component = of_block if groups is None else groups[of_block]
        order = np.argsort(of_component, kind="stable")
        for rows in np.split(seen[order], np.cumsum(np.bincount(of_component))[:-1]):
            yield int(self.core.codes[rows[0]]), rows

    def made(self, choice: Choice, groups: Sequence[IntArray] | None = None) -> HeldOutFit:
        """Return the fit of the blocks of each partition, merged into groups, before any EM iteration."""
        mixtures = []
        for k, (seen, _) in enumerate(self.seen):
            points, gaps = self.cores[k].points, self.cores[k].gaps
            units = location_and_unit(points[seen])
            count = np.bincount(self.core.codes[seen], minlength=len(self.class_count))
            by_component = self._by_component(k, None if groups is None else groups[k])
            how = count, *units, choice.categories, gaps
            mixtures.append(mixture_of_blocks(points, by_component, *how).with_dof(choice.dof))
        return self.judged(choice, mixtures)

    def with_dof(self, one: HeldOutFit, dof: float) -> HeldOutFit:
        """Return the same with other degrees of freedom."""
        return self.judged(one.choice._replace(dof=dof), [mixture.with_dof(dof) for mixture in one.mixtures])

    def in_own_size(self, one: HeldOutFit) -> HeldOutFit:
        """Return the same with covariances shrunk towards the common one in the size of each component."""
        return self.judged(one.choice._replace(own_size=True), [mixture.in_own_size() for mixture in one.mixtures])

    def _refined(self, one: HeldOutFit) -> Iterator[HeldOutFit]:
        """Yield a fit after some EM iterations, and after more of them as long as these help."""
        for steps in EM_STEPS:
            before, mixtures = one, list(one.mixtures)
            for k, (seen, _) in enumerate(self.seen):
                for _ in range(steps - before.choice.em_steps):
                    mixtures[k] = mixtures[k].step(self.points[k][seen], self.core.codes[seen])
            one = self.judged(before.choice._replace(em_steps=steps), mixtures)
            yield one
            if one.loss >= before.loss:
                return

    def judged(self, choice: Choice, mixtures: Sequence[Mixture]) -> HeldOutFit:
        """Calibrate mixtures on the records that each has not seen."""
        known, joint = self._held_out(mixtures)
        share, codes = known_share(self.with_gaps[known]), self.core.codes[known]
        calibration = learn_calibration(joint, codes, self.class_count, share)
        right = calibration.posterior(joint, share)[np.arange(len(known)), codes]
        losses = np.bincount(self.witness[known], -np.log(right))
        return HeldOutFit(choice, tuple(mixtures), calibration, np.asarray(losses, dtype=np.float64), len(known))

    def calibrated(self, mixtures: Sequence[Mixture], whole: Mixture) -> Calibration:
        """Return their calibration with linear terms and places, which are learnt once, not for each choice."""
        known, joint = self._held_out(mixtures)
        points = self.with_gaps if len(known) == len(self.with_gaps) else self.with_gaps[known]  # as a rule no copy
        return richly_calibrated(points, self.core.codes[known], self.class_count, joint, whole)

    def _held_out(self, mixtures: Sequence[Mixture]) -> tuple[IntArray, FloatArray]:
        """Return the rows that are held out, and their log joint densities, shape (n_rows, n_classes)."""
        joint = np.full((len(self.core.codes), len(self.class_count)), np.nan)
        for k, mixture in enumerate(mixtures):
            out = np.flatnonzero(self.part == k)
            joint[out] = mixture.log_joint_in(self.unit, self.points[k][out])
        known = np.flatnonzero(np.isfinite(joint).all(axis=1))
        return known, joint[known]


def richly_calibrated(
    points: FloatArray, codes: IntArray, class_count: IntArray, joint: FloatArray, whole: Mixture
) -> Calibration:
    """Return the calibration by held-out records and their log joint densities, with linear terms and places."""
    share = known_share(points)
    calibration = learn_calibration(joint, codes, class_count, share, points)
    by_both = joint, whole.densities.log_joint(points)
    return with_places(calibration, points, codes, [calibration.posterior(one, share, points) for one in by_both])


def _clearly_better(default: HeldOutFit, others: Iterable[HeldOutFit], errors: float = 1.0) -> HeldOutFit:
    """Return the one with the least loss among those that are clearly better than the default one, else that one."""
    better = (one for one in others if one.is_clearly_better_than(default, errors))
    return min([default, *better], key=attrgetter("loss"))


def _blocks(
    points: FloatArray, codes: IntArray, classes: NDArray[Any], n_imp: int | float | None, options: PartitionOptions
) -> IntArray:
    """Partition points; return the block of each, numbered class by class."""
    problems = problems_of(codes, classes)
    unit = location_and_unit(points)[1]
    options = options._replace(only_blocks=True)
    partitions = [problem.partition(points, n_imp, options=options, unit=unit) for problem in problems]
    numbers = np.empty(len(codes), dtype=np.int64)
    for number, block in enumerate(class_blocks(partitions, problems)):
        numbers[block.rows] = number
    return numbers


def related(fit: DensityFit[Mixture], core: Core, judged: Judged) -> DensityFit[Mixture]:
    """Return a fit of a whole core whose typicality knows relations between columns."""
    scores = np.column_stack([np.full(len(core.codes), np.nan), judged.departures])
    for k, mixture in enumerate(fit.held_out):
        out = np.flatnonzero(fit.part == k)
        scores[out, 0] = -log_density(mixture.log_joint_in(fit.whole.unit, core.with_gaps[out]))
    scores = scores[np.isfinite(scores[:, 0])]
    return replace(fit, calibration=with_relations(fit.calibration, judged.relations, scores)) if len(scores) else fit


def refined(
    fit: DensityFit[Mixture],
    choice: Choice,
    records: Records,
    core: Core,
    class_count: IntArray,
    calibrated: bool,
    linear: bool,
    related_by: Judged | None,
) -> DensityFit[Mixture]:
    """Return a fit after EM iterations over all records, of which the core is a sample, calibrated anew.

    Where held-out records prefer the core's blocks without EM, one iteration brings in all records: on adult three of
    them raise the log loss of new records from .344 to .380.
    """
    assert core.hashes is not None
    parts, mixtures = HashParts.of(core.hashes, core.codes), (*fit.held_out, fit.whole)
    for _ in range(PASSES if choice.em_steps else 1):
        sums = records.total(partial(_sums, mixtures, parts))
        mixtures = tuple(
            mixture.after(own, np.rint(of_classes).astype(np.int64))
            for mixture, own, of_classes in zip(mixtures, sums[::2], sums[1::2], strict=True)
        )
    held_out, whole = mixtures[:-1], mixtures[-1]
    if not calibrated:
        return replace(fit, whole=whole)
    step = np.uint64(max(len(records) // CALIBRATING, 1))
    # A single record of a core of this size hardly changes the relations that it is judged by.
    relations = None if related_by is None else related_by.relations
    judged = partial(_judged, held_out, len(class_count), parts, whole.unit, relations, step)
    joint, codes, points, departures = records.gathered(judged)
    if linear:
        calibration = richly_calibrated(points, codes, class_count, joint, whole)
    else:
        calibration = learn_calibration(joint, codes, class_count, known_share(points))
    if relations is not None and len(codes):
        calibration = with_relations(calibration, relations, np.column_stack([-log_density(joint), departures]))
    return DensityFit(whole, fit.groups, calibration, held_out, records.parts(parts))


def _sums(
    mixtures: Sequence[Mixture], parts: HashParts, points: FloatArray, codes: IntArray, hashes: Hashes
) -> list[FloatArray]:
    """Return what an EM iteration needs of some records: for each mixture its sums, and the number of each class.

    The last mixture is that of all records; each of the others has not seen one part.
    """
    part, found = parts(hashes, codes), []
    for k, mixture in enumerate(mixtures):
        seen = slice(None) if k == len(mixtures) - 1 else part != k
        of_classes = np.bincount(codes[seen], minlength=len(mixture.class_count)).astype(np.float64)
        found += [mixture.sums(points[seen], codes[seen]), of_classes]
    return found


def _judged(
    held_out: Sequence[Mixture],
    n_classes: int,
    parts: HashParts,
    unit: FloatArray,
    relations: Relations | None,
    step: np.uint64,
    points: FloatArray,
    codes: IntArray,
    hashes: Hashes,
) -> list[Any]:
    """Return, of each `step`-th record that is held out, its log joint densities, class, features and departures."""
    part = parts(hashes, codes)
    some = ((hashes >> np.uint64(32)) % step == 0) & (part != IN_NO_PART)
    points, codes, part = points[some], codes[some], part[some]
    joint = np.empty((len(codes), n_classes))
    for k, mixture in enumerate(held_out):
        joint[part == k] = mixture.log_joint_in(unit, points[part == k])
    departures = np.empty((len(codes), 0)) if relations is None else relations.departures(points)
    return [joint, codes, points, departures]
