"""Partitions that each leave a part of the training set out, and what they say of the records in it.

The records are dealt into three parts. Each part is left out once: the others are partitioned, the blocks become local
densities, and these judge the part that they have not seen. Equal records are in the same part, or a partition would
have seen them, unless it is a table of a few values. At most `MOST_RECORDS` take part, from all over each class.

Where there are categories the records that were left out also tell how to read them: by the shares of their values, or
as features like all others, whose covariances tell which values come together. And they tell whether blocks of a class
are read one by one, or some of them as one (see `model.joining`), and how heavy the tails of their densities are.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.splits import IN_NO_PART, deal
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.calibrating import learn_calibration
from sepc.geometry.threads import one_blas_thread
from sepc.model.block_densities import mixture_of_blocks
from sepc.model.calibration import Calibration
from sepc.model.category_shares import Categories
from sepc.model.components import component_of_points
from sepc.model.held_out import N_PARTS
from sepc.model.incomplete import OTHER_TAILS, USUAL_TAILS, known_share
from sepc.model.joining import APART, EXTENTS, groupings
from sepc.model.mixtures import Mixture
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.problems import class_blocks, problems_of
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit

# Numbers of EM iterations that are tried, one after the other, as long as the log loss falls.
EM_STEPS = (2, 6, 18)
# Standard errors by which a way to join blocks is too far behind to be tried with other tails.
_FAR_BEHIND = 3.0
# Up to this share of different ones equal records may be no copies: a table of a few values has them by its nature.
# Then this share of them has an equal with another label, which no copy has, or no feature has more values than so many
# times the root of the number of different records: these are combinations of a few values.
_FEW_DISTINCT = 0.2
_CONTRADICTED = 0.5
_VALUES_PER_ROOT = 2.0


class Choice(NamedTuple):
    """How blocks of a partition become densities.

    Attributes
    ----------
    categories : Categories or None
        Those that are read by the shares of their values.
    extent : int
        How far blocks are joined, one of `joining.EXTENTS`.
    tails : float
        Degrees of freedom.
    em_steps : int
        How many EM iterations refine the components.
    """

    categories: Categories | None = None
    extent: int = APART
    tails: float = USUAL_TAILS
    em_steps: int = 0


class LeftOut(NamedTuple):
    """What records that were left out say of a choice.

    Attributes
    ----------
    choice : Choice
    calibration : Calibration
    loss : float
        Mean log loss of the records that were left out.
    mixtures : tuple of Mixture
        Those that each leave a part of the records out.
    part : ndarray of int, shape (n,)
        Which of these has not seen each record; `IN_NO_PART` where all have.
    """

    choice: Choice
    calibration: Calibration
    loss: float
    mixtures: tuple[Mixture, ...]
    part: IntArray


def learn_from_left_out(
    points: FloatArray,
    codes: IntArray,
    classes: NDArray[Any],
    unit: FloatArray,
    n_imp: int | float | None,
    options: PartitionOptions,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
    parts: IntArray | None = None,
) -> list[LeftOut]:
    """Choose and calibrate densities by partitions like theirs that each leave a part of the records out.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes.
    classes : ndarray of shape (n_classes,)
    unit : ndarray of shape (d,)
        Units of length of the densities that are to be calibrated.
    n_imp : int, float or None
    options : PartitionOptions
    categories : Categories, optional
        Those that may be read by the shares of their values.
    gaps : ndarray of bool, shape (n, d), optional
        Where values are missing. A partition goes by what stands there, and what was left out is judged without it.
    parts : ndarray of int, shape (n,), optional
        The part of each record; by default as `parts_of` has it.

    Returns
    -------
    list of LeftOut
        Of the best choice, the best one without EM iterations, and the usual one, as far as they differ.
    """
    n_classes = len(classes)
    if parts is None:
        parts = parts_of(points, codes)
    part = np.full(len(codes), IN_NO_PART)
    blocks: list[_Blocks] = []
    for k in range(N_PARTS):
        seen, out = np.flatnonzero(parts != k), np.flatnonzero(parts == k)
        if not len(out) or len(np.unique(codes[seen])) < n_classes:
            continue  # where records are few, or all of a class are equal: without them it would be unknown
        part[out] = len(blocks)
        blocks.append(_Blocks(seen, _blocks(points[seen], codes[seen], classes, n_imp, options)))
    records = _Records(points, codes, n_classes, unit, part, blocks, gaps)
    with one_blas_thread():  # SciPy's L-BFGS-B solves small systems of equations
        found = _best(records, categories)
    return [LeftOut(one.model.choice, one.calibration, one.mean_loss, one.model.mixtures, part) for one in found]


def _best(records: "_Records", categories: Categories | None) -> list["_Judged"]:
    """Return how the blocks of each partition are read best, how without EM iterations, and how as a rule.

    As long as nothing else is clearly better, each block is read by itself, with the usual degrees of freedom, and EM
    iterations must be clearly better than the best without them.
    """
    ways = [None] if categories is None else [categories, None]
    models = [_models(records, way) for way in ways]
    usual = min([next(of_way) for of_way in models], key=_loss)  # the first one if nothing tells
    best = _clearly_better(usual, chain.from_iterable(models))
    starts = [best]
    if best.model.choice.extent != APART:
        starts.append(records.judged(records.model(best.model.choice._replace(extent=APART))))
    refined = _clearly_better(best, chain.from_iterable(_refined(records, start) for start in starts))
    if refined is not best:
        tried = (tails for tails in (USUAL_TAILS, *OTHER_TAILS) if tails != refined.model.choice.tails)
        refined = min([refined, *(records.judged(refined.model.with_tails(tails)) for tails in tried)], key=_loss)
    return list({id(one): one for one in (refined, best, usual)}.values())


def _models(records: "_Records", categories: Categories | None) -> Iterator["_Judged"]:
    """Yield models of blocks, the usual one first: joined or not, each time with usual, heavy and light tails."""
    usual = None
    for extent, groups in _different(records, categories):
        one = records.judged(records.model(Choice(categories, extent), groups))
        yield one
        usual = usual or one
        # All pairs: heavy tails speak for one component where light ones speak for several. They do not make up for
        # what is far behind.
        if not usual.is_clearly_better_than(one, _FAR_BEHIND):
            yield from (records.judged(one.model.with_tails(tails)) for tails in OTHER_TAILS)


def _different(records: "_Records", categories: Categories | None) -> Iterator[tuple[int, list[IntArray]]]:
    """Yield how far blocks are joined, and into what, for all parts: the farthest of extents that are the same.

    Where they are all apart, nothing speaks for going any further.
    """
    by_part = [records.groupings(k, categories) for k in range(len(records.blocks))]
    farther = apart = [found[APART] for found in by_part]
    yield APART, apart
    for extent in reversed(EXTENTS[1:]):
        groups = [found[extent] for found in by_part]
        if not any(all(map(np.array_equal, groups, seen)) for seen in (apart, farther)):
            yield extent, groups
        farther = groups


def _refined(records: "_Records", start: "_Judged") -> Iterator["_Judged"]:
    """Yield a model after some EM iterations, and after more of them as long as these help."""
    for steps in EM_STEPS:
        before = start
        start = records.judged(records.refined(before.model, steps - before.model.choice.em_steps))
        yield start
        if start.loss >= before.loss:
            return


class _Blocks(NamedTuple):
    """A partition of the records that it has seen: their numbers, and the block of each, class by class."""

    seen: IntArray
    numbers: IntArray


class _Model(NamedTuple):
    """How the blocks of each partition are read, and the mixtures that they become."""

    choice: Choice
    mixtures: tuple[Mixture, ...]

    def with_tails(self, tails: float) -> Self:
        """Return the same with other degrees of freedom."""
        choice = self.choice._replace(tails=tails)
        return self._replace(choice=choice, mixtures=tuple(mixture.with_tails(tails) for mixture in self.mixtures))


class _Judged(NamedTuple):
    """How well a model foretells n records that were left out: their losses, equal ones together."""

    model: _Model
    calibration: Calibration
    losses: FloatArray
    n: int

    @property
    def loss(self) -> float:
        """Sum of the losses of all records that were left out."""
        return float(self.losses.sum())

    @property
    def mean_loss(self) -> float:
        """Mean of these losses; infinite if none were left out."""
        return self.loss / self.n if self.n else np.inf

    def is_clearly_better_than(self, other: "_Judged", errors: float = 1.0) -> bool:
        """Return whether its losses are less by more than this number of standard errors of the difference."""
        gains = other.losses - self.losses
        return len(gains) > 0 and bool(gains.sum() > errors * np.sqrt(len(gains)) * gains.std())


def _loss(judged: _Judged) -> float:
    return judged.loss


def _clearly_better(usual: _Judged, others: Iterable[_Judged]) -> _Judged:
    """Return the one with the least loss among those that are clearly better than the usual one, else that one."""
    best = usual
    for one in others:
        if one.is_clearly_better_than(usual) and one.loss < best.loss:
            best = one
    return best


class _Records:
    """Records, and the blocks of partitions that have each left a part of them out."""

    def __init__(
        self,
        points: FloatArray,
        codes: IntArray,
        n_classes: int,
        unit: FloatArray,
        part: IntArray,
        blocks: list[_Blocks],
        gaps: BoolArray | None,
    ) -> None:
        self.points, self.codes, self.unit, self.part, self.blocks = points, codes, unit, part, blocks
        self.class_count, self.gaps = np.bincount(codes, minlength=n_classes), gaps
        self.there = points if gaps is None else np.where(gaps, np.nan, points)
        # Equal records are in the same part and have the same loss: they are no independent witnesses.
        equal = groups_of(points, codes)
        self.witness = np.arange(len(codes)) if equal is None else equal.of_record

    def groupings(self, part: int, categories: Categories | None) -> list[IntArray]:
        """Return which blocks of a partition are read as one, for each of `joining.EXTENTS`."""
        center, unit = location_and_unit(self.points[self.blocks[part].seen])
        by_block = self._by_block(part, np.arange(self.blocks[part].numbers.max() + 1))
        parts = [component_of_points(code, self.points[rows], center, unit) for code, rows in by_block]
        return groupings(parts, categories, center, unit)

    def model(self, choice: Choice, groups: list[IntArray] | None = None) -> _Model:
        """Return the mixtures of the blocks of each partition, some of them joined."""
        mixtures = []
        for k, (seen, numbers) in enumerate(self.blocks):
            joined = np.arange(numbers.max() + 1) if groups is None else groups[k]
            units = location_and_unit(self.points[seen])
            count = np.bincount(self.codes[seen], minlength=len(self.class_count))
            how = count, *units, choice.categories, self.gaps
            mixtures.append(mixture_of_blocks(self.points, self._by_block(k, joined), *how))
        return _Model(choice, tuple(mixtures)).with_tails(choice.tails)

    def refined(self, model: _Model, steps: int) -> _Model:
        """Return a model after this number of further EM iterations."""
        mixtures = list(model.mixtures)
        for k, (seen, _) in enumerate(self.blocks):
            for _ in range(steps):
                mixtures[k] = mixtures[k].step(self.there[seen], self.codes[seen])
        choice = model.choice._replace(em_steps=model.choice.em_steps + steps)
        return _Model(choice, tuple(mixtures))

    def judged(self, model: _Model) -> _Judged:
        """Calibrate a model by what its partitions say of the records that they have left out."""
        joint = np.full((len(self.codes), len(self.class_count)), np.nan)
        for k, mixture in enumerate(model.mixtures):
            out = np.flatnonzero(self.part == k)
            joint[out] = mixture.log_joint_in(self.unit, self.there[out])
        known = np.flatnonzero(np.isfinite(joint).all(axis=1))
        share, codes = known_share(self.there[known]), self.codes[known]
        calibration = learn_calibration(joint[known], codes, self.class_count, share)
        right = calibration.posterior(joint[known], share)[np.arange(len(known)), codes]
        losses = np.bincount(self.witness[known], -np.log(right))
        return _Judged(model, calibration, np.asarray(losses, dtype=np.float64), len(known))

    def _by_block(self, part: int, groups: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield class and rows of the blocks of a partition, some of them joined."""
        seen, numbers = self.blocks[part]
        joined = groups[numbers]
        order = np.argsort(joined, kind="stable")
        for rows in np.split(seen[order], np.cumsum(np.bincount(joined))[:-1]):
            yield int(self.codes[rows[0]]), rows


def parts_of(points: FloatArray, codes: IntArray) -> IntArray:
    """Return the part of each record; equal records are in the same one, and each class is in all parts.

    Where no more than a fifth of the records differ, and they are combinations of a few values or half of them have an
    equal with another label, these are no copies, and new records will be equal to some, too: each is dealt by itself.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of int, shape (n,)
        `IN_NO_PART` for a record that is the only one of its class, and those equal to it.
    """
    order, begins = _equal_records(points)
    parts = np.empty(len(order), dtype=np.int64)
    if _has_few_values(points[order[begins]], begins, codes[order]):
        parts[order] = deal(codes[order], N_PARTS)
    else:
        # Equal records are one group, dealt with the class of its first.
        parts[order] = deal(codes[order[begins]], N_PARTS)[np.cumsum(begins) - 1]
    return parts


class Groups(NamedTuple):
    """Records that are equal: the group of each record, shape (n,), and one record of each group."""

    of_record: IntArray
    first: IntArray


def groups_of(points: FloatArray, codes: IntArray) -> Groups | None:
    """Return which records are equal, and so belong into the same part; None if none are, or if they are no copies.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes.
    """
    order, begins = _equal_records(points)
    if begins.all() or _has_few_values(points[order[begins]], begins, codes[order]):
        return None
    of_record = np.empty(len(order), dtype=np.int64)
    of_record[order] = np.cumsum(begins) - 1
    return Groups(of_record, order[begins])


def has_few_values(points: FloatArray, codes: IntArray) -> bool:
    """Return whether there are equal records, and they are no copies but those of a table of a few values."""
    order, begins = _equal_records(points)
    return not begins.all() and _has_few_values(points[order[begins]], begins, codes[order])


def _has_few_values(different: FloatArray, begins: BoolArray, codes: IntArray) -> bool:
    """Return whether equal records, which follow each other, are no copies but those of a table of a few values.

    `different` are those that differ, shape (n_different, d).
    """
    if len(different) > _FEW_DISTINCT * len(begins):
        return False
    if max(len(np.unique(column)) for column in different.T) <= _VALUES_PER_ROOT * np.sqrt(len(different)):
        return True
    group = np.cumsum(begins) - 1
    is_mixed = np.zeros(group[-1] + 1, dtype=bool)
    is_mixed[group[1:][(codes[1:] != codes[:-1]) & ~begins[1:]]] = True
    return bool(np.mean(is_mixed[group]) >= _CONTRADICTED)


def _equal_records(points: FloatArray) -> tuple[IntArray, BoolArray]:
    """Return an order of the records in which equal ones follow each other, and where others begin."""
    ranks = without_last_bits(points, location_and_unit(points)[1])
    order = canonical_order(ranks)
    begins = np.full(len(order), True)
    begins[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in ranks.T])
    return order, begins


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
