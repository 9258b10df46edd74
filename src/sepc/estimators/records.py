"""The records of a training set, in memory or elsewhere, with one interface for a fit.

The time of a partition grows faster than the number of records. So it is made of a core, which represents every class;
all records then take part in passes, sums over chunks. A hash of its values decides whether a record is in the core: so
neither the order of the rows matters nor where they are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.splits import Hashes, apart, record_hashes, stratified_parts
from sepc.common.typing import BoolArray, FloatArray, IntArray, compact
from sepc.estimators.constants import CHUNK, CORE_NUMBERS, CORE_RECORDS, LEAST_CORE
from sepc.estimators.held_out_parts import HashParts, has_few_values
from sepc.geometry.chunks import Extents, chunk_slices
from sepc.geometry.stack import EllipsoidStack
from sepc.model.category_shares import moments_about
from sepc.model.column_scales import ColumnScales, Curves
from sepc.model.counts import isolated_points
from sepc.model.fitted_model import TrainingRecords
from sepc.model.partition_model import N_PARTS
from sepc.model.reach import Reach
from sepc.model.rules import Rules
from sepc.partitions.blocks import Partition, renumbered
from sepc.partitions.ordering import canonical_order, without_last_bits
from sepc.partitions.problems import Problem, problems_of
from sepc.partitions.units import location_and_unit
from sepc.scale.scattered_records import Chunk
from sepc.scale.training_sets import ScatteredTrainingSet

# A function of points, classes and hashes of a chunk.
Answer = Callable[[FloatArray, IntArray, Hashes], list[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Core:
    """The records that a partition is made of, class by class in canonical order.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes.
    gaps : ndarray of bool, shape (n, d), or None
        Where values are missing, and something else stands in for them.
    hashes : ndarray of uint64, shape (n,), or None
        None where the core is the whole training set.
    counted : ndarray of bool, shape (n,), or None
        Which records are only counted, and shape no ellipsoid; None where all do both.
    apart : Apart or None
        Where a model reads some columns of many: those that are chosen without each part of the records.
    """

    points: FloatArray
    codes: IntArray
    gaps: BoolArray | None = None
    hashes: Hashes | None = None
    counted: BoolArray | None = None
    apart: "Apart | None" = None

    @property
    def with_gaps(self) -> FloatArray:
        """The points with NaN where values are missing, shape (n, d)."""
        return self.points if self.gaps is None else np.where(self.gaps, np.nan, self.points)

    def of(self, rows: Any) -> "Core":
        """Return some of the records."""
        optional = (self.gaps, self.hashes, self.counted)
        return Core(self.points[rows], self.codes[rows], *(None if one is None else one[rows] for one in optional))


class Apart(NamedTuple):
    """Records that are held out in columns of their own.

    `part`, shape (n,), is the part in which each is held out; `cores` has all records once for each part, in the
    columns that were chosen without it.
    """

    part: IntArray
    cores: list[Core]

    def in_units(self, standardize: bool, curves_of: Callable[[FloatArray], Curves | None] = lambda _: None) -> "Apart":
        """Return the same in the units of a model; `curves_of` returns the curves of points in their original units."""
        cores = [replace(core, points=core.points.copy()) for core in self.cores]
        for core in cores:
            _standardise(core.points, standardize, curves_of(core.with_gaps))
        return self._replace(cores=cores)


class ArrangedSet(NamedTuple):
    """A training set in canonical order: class after class, by coordinates within each.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        A copy, which a fit may work in.
    rows : ndarray of int, shape (n,)
        Rows of the training set, which has `n_rows`; weights repeat some, and drop some.
    class_count : ndarray of int, shape (n_classes,)
    classes : ndarray of shape (n_classes,)
    gaps : ndarray of bool, shape (n, d), or None
        Where values are missing, and something else stands in for them; None where none are.
    counted : ndarray of bool, shape (n,), or None
        Which records are only counted, if that is decided already.
    apart : Apart or None
        As in `Core`, in the original units.
    """

    points: FloatArray
    rows: IntArray
    class_count: IntArray
    classes: NDArray[Any]
    n_rows: int
    gaps: BoolArray | None = None
    counted: BoolArray | None = None
    apart: Apart | None = None

    @property
    def codes(self) -> IntArray:
        """Class of each point, as a number, shape (n,)."""
        n_classes = len(self.classes)
        return np.repeat(compact(np.arange(n_classes), n_classes), self.class_count)


class RecordsInMemory:
    """Records in an array.

    `sampled` is whether the core of many records is a sample, `only_counts` whether a third of the records is only
    counted; passes use `n_jobs` threads.
    """

    def __init__(self, training: ArrangedSet, sampled: bool, only_counts: bool, n_jobs: int | None) -> None:
        self.training, self.only_counts, self.n_jobs = training, only_counts, n_jobs
        self.points, self.codes = training.points, training.codes
        self.classes, n, d = training.classes, *training.points.shape
        self.hashes: Hashes | None = None
        self.some: IntArray | slice = slice(None)
        if sampled and n > (n_core := core_size(d)):
            self.hashes = record_hashes(self.points)
            self.some = core_rows(training.class_count, self.hashes, n_core)

    def __len__(self) -> int:
        return len(self.codes)

    def sample(self) -> Core:
        """Return the points of the core in their original units, before they are brought into others."""
        return Core(self.points, self.codes.astype(np.int64), self.training.gaps).of(self.some)

    def reach(self) -> Reach:
        """Return the range of all records, in their original units, and the reach that those of the core justify."""
        core = self.sample().with_gaps
        if self.hashes is None:
            return Reach.of(core)
        gaps = self.training.gaps
        whole = self.points if gaps is None else np.where(gaps, np.nan, self.points)
        return Reach.of(core, np.fmin.reduce(whole), np.fmax.reduce(whole))

    def bring_into_units(self, standardize: bool, curves: Curves | None) -> None:
        """Bring the points into the units of the model, in place."""
        self.scales = _standardise(self.points, standardize, curves)
        self.center, self.unit = location_and_unit(self.points)
        self.extents = Extents.of([self.points[of_class] for of_class in class_slices(self.training.class_count)])

    def core(self) -> tuple[Core, IntArray]:
        """Return the core, and which row of the training set each of its records is."""
        points, codes = self.points[self.some], self.codes[self.some].astype(np.int64)
        gaps = None if self.training.gaps is None else self.training.gaps[self.some]
        rows = self.training.rows[self.some]
        if self.hashes is None:
            counted = self.training.counted
            if self.only_counts and counted is None:
                counted = _third_of_each_class(points, codes, self.unit)
            return Core(points, codes, gaps, counted=counted, apart=self.training.apart), rows
        if has_few_values(points, codes):
            self.hashes = apart(self.hashes)
        return Core(points, codes, gaps, self.hashes[self.some]), rows

    def moments(self, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of the differences from an origin, and of their products, over all records."""
        return moments_about(origin, self.points)

    def total(self, function: Answer) -> list[FloatArray]:
        """Return the sums over all chunks of the arrays that a function makes of each."""
        return added(self._answers(function))

    def gathered(self, function: Answer) -> list[Any]:
        """Return the arrays that a function makes of each chunk, one after the other."""
        return concatenated(self._answers(function))

    def _answers(self, function: Answer) -> Iterable[list[Any]]:
        """Yield the answer of each chunk; of several at the same time if `n_jobs` allows it."""
        hashes, gaps = self.hashes, self.training.gaps
        assert hashes is not None  # passes follow a sample alone

        def of_chunk(some: slice) -> list[Any]:
            points = self.points[some] if gaps is None else np.where(gaps[some], np.nan, self.points[some])
            return function(points, self.codes[some].astype(np.int64), hashes[some])

        jobs = (delayed(of_chunk)(some) for some in chunk_slices(len(self), CHUNK))
        found: Iterable[list[Any]] = Parallel(self.n_jobs, prefer="threads", return_as="generator")(jobs)
        return found

    def parts(self, parts: HashParts) -> NDArray[np.integer]:
        """Return the part in which each record is held out."""
        assert self.hashes is not None
        return compact(parts(self.hashes, self.codes), N_PARTS)

    def rules(
        self, partitions: Sequence[Partition], problems: Sequence[Problem], core: Core, grows: bool
    ) -> list[Rules]:
        """Return the rules of the partitions of the core, which count all records, or those held out for it."""
        if self.hashes is not None:  # of one problem, whose sides are the classes
            problems = problems_of(self.codes, self.classes)
            in_core = np.arange(len(self))[self.some]
            starts = [of_class.start for of_class in class_slices(self.training.class_count)]
            own = [in_core[self.codes[in_core] == k] - start for k, start in enumerate(starts)]
            partitions = [renumbered(p, own) for p in partitions]
        return [
            Rules.of(p, self.points, *problem, core.counted, compiled=True, grows=grows)
            for p, problem in zip(partitions, problems, strict=True)
        ]

    @property
    def kept(self) -> TrainingRecords:
        """The records that a model keeps: all."""
        return TrainingRecords(self.points, self.codes, self.training.rows, self.training.gaps)


class RecordsElsewhere:
    """Records that are not in memory: in a file, on a device or a cluster. A model keeps none of them."""

    kept = None

    def __init__(self, training: ScatteredTrainingSet) -> None:
        self.records, self.classes, self.scales, self.center, self.unit, self.extents = training
        self.are_apart = False  # whether equal records are split up one by one
        self._core: tuple[Chunk, bool] | None = None

    def __len__(self) -> int:
        return len(self.records)

    def sample(self) -> Core:
        """Return the points of the core in their original units."""
        found, _ = self._found()
        return Core(found.raw, found.codes)

    def reach(self) -> Reach:
        """Return the range of all records, and the reach that those of the core justify."""
        core = self.sample().points
        if len(core) == len(self):
            return Reach.of(core)
        ends = self.extents.low.min(axis=0), self.extents.high.max(axis=0)
        return Reach.of(core, *(self.scales.original(end[None])[0] for end in ends))

    def bring_into_units(self, standardize: bool, curves: Curves | None) -> None:
        """Show the points in the units of the model: two more passes if there are curves."""
        if curves is not None:
            training = ScatteredTrainingSet.of(self.records, self.classes, None, standardize, curves)
            self.records, self.classes, self.scales, self.center, self.unit, self.extents = training

    def core(self) -> tuple[Core, IntArray]:
        """Bring the core into memory; return it, and which row of the training set each of its records is."""
        found, is_whole = self._found()
        points = self.scales(found.raw) + 0.0  # -0.0 becomes 0.0
        if is_whole:
            return Core(points, found.codes), found.rows
        self.are_apart = has_few_values(points, found.codes)
        hashes = apart(found.hashes) if self.are_apart else found.hashes
        return Core(points, found.codes, None, hashes), found.rows

    def _found(self) -> tuple[Chunk, bool]:
        """Return the records of the core, and whether they are all; they are fetched once."""
        if self._core is None:
            self._core = self._fetched()
        return self._core

    def _fetched(self) -> tuple[Chunk, bool]:
        counts = core_counts(self.extents.n, core_size(self.records.dim))
        if counts.sum() == len(self):
            return _in_canonical_order(_one_chunk(self.records.each(_everything))), True
        hashes, codes = concatenated(self.records.each(_hashes_of))
        chosen = [hashes[codes == k] for k in range(len(counts))]
        chosen = [of_class[evenly_by_hash(of_class, k)] for of_class, k in zip(chosen, counts.tolist(), strict=True)]
        found = _one_chunk(self.records.each(partial(_chosen_of, chosen)))
        # Of equal records in different chunks there may be too many.
        return _in_canonical_order(_chosen_of(chosen, found)), False

    def moments(self, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of the differences from an origin, and of their products, over all records."""
        total, products = self.records.total(partial(_moments_of, origin), added)
        return total, products

    def total(self, function: Answer) -> list[FloatArray]:
        """As in memory; the workers of a cluster add up their own."""
        return self.records.total(partial(_answer, function, self.are_apart), added)

    def gathered(self, function: Answer) -> list[Any]:
        """As in memory."""
        return concatenated(self.records.each(partial(_answer, function, self.are_apart)))

    def parts(self, parts: HashParts) -> NDArray[np.integer]:  # noqa: ARG002
        """Return nothing: no record is kept."""
        return np.empty(0, dtype=np.int8)

    def rules(
        self, partitions: Sequence[Partition], problems: Sequence[Problem], core: Core, grows: bool
    ) -> list[Rules]:
        """Return the rules of the partitions of a core, which count all records in one pass."""
        from sepc.scale.scattered_counts import Counted, counts_of_scattered

        # Where each class has a problem of its own, that is against the rest.
        of_classes = problems_of(np.arange(len(self.classes)), self.classes, one_vs_rest=len(problems) > 1)
        counted = []
        for p, problem, of_class in zip(partitions, problems, of_classes, strict=True):
            of_side = [np.flatnonzero(problem.side == s) for s in range(len(problem.labels))]
            alone = np.concatenate([own[isolated] for own, isolated in zip(of_side, p.isolated, strict=True)])
            isolated = isolated_points(core.points[alone], problem.side[alone])
            stack = EllipsoidStack([block.ellipsoid for block in p.blocks], core.points.shape[1])
            counted.append(Counted(stack, isolated, of_class.side.astype(np.int64), grows))
        return [
            Rules(counts, np.array([block.side for block in p.blocks], dtype=np.int64), problem.labels, grows)
            for counts, p, problem in zip(counts_of_scattered(self.records, counted), partitions, problems, strict=True)
        ]


Records = RecordsInMemory | RecordsElsewhere


def _moments_of(origin: FloatArray, chunk: Chunk) -> list[FloatArray]:
    return list(moments_about(origin, chunk.points))


def _everything(chunk: Chunk) -> Chunk:
    return chunk


def _hashes_of(chunk: Chunk) -> list[Any]:
    return [chunk.hashes, chunk.codes]


def _chosen_of(chosen: Sequence[Hashes], chunk: Chunk) -> Chunk:
    """Return the records of a chunk with chosen hashes, which are given for each class."""
    hashes, is_chosen = chunk.hashes, np.zeros(len(chunk.codes), dtype=bool)
    for k, of_class in enumerate(chosen):
        own = np.flatnonzero(chunk.codes == k)
        is_chosen[own] = first_of_each(hashes[own], of_class)
    return chunk.of(is_chosen)


def _answer(function: Answer, are_apart: bool, chunk: Chunk) -> list[Any]:
    hashes = chunk.hashes
    return function(chunk.points, chunk.codes, apart(hashes) if are_apart else hashes)


def _one_chunk(chunks: Iterable[Chunk]) -> Chunk:
    return Chunk(*concatenated([list(chunk) for chunk in chunks]))


def _in_canonical_order(chunk: Chunk) -> Chunk:
    """Return records class by class, each in canonical order."""
    of_classes = (np.flatnonzero(chunk.codes == k) for k in np.unique(chunk.codes))
    return chunk.of(np.concatenate([own[canonical_order(chunk.points[own])] for own in of_classes]))


def added(chunks: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Return the sums of the arrays of all chunks, in their order."""
    found = iter(chunks)
    total = [array.copy() for array in next(found)]
    for one in found:
        for so_far, array in zip(total, one, strict=True):
            so_far += array
    return total


def concatenated(chunks: Iterable[list[Any]]) -> list[Any]:
    """Return the arrays of all chunks, one after the other."""
    return [np.concatenate(arrays) for arrays in zip(*chunks, strict=True)]


def core_size(d: int) -> int:
    """Return the largest number of records with d features in a core."""
    return max(min(CORE_RECORDS, CORE_NUMBERS // d), LEAST_CORE)


def core_counts(class_count: IntArray, n: int) -> IntArray:
    """Return the number of records of each class in a core of n: in proportion, but small classes whole.

    Half of the core is shared out evenly among the classes, the rest by their sizes.
    """
    if class_count.sum() <= n:
        return class_count
    least = np.minimum(class_count, max(n // (2 * len(class_count)), 1))
    share = max(n - least.sum(), 0) / (class_count - least).sum()
    return np.asarray(least + np.floor((class_count - least) * share), dtype=np.int64)


def evenly_by_hash(hashes: Hashes, k: int) -> IntArray:
    """Return k records at even distances in the order of their hashes, by number, ascending.

    Of equal records, whose hashes are equal, a proportionate number is chosen.
    """
    order = np.argsort(hashes, kind="stable")
    return np.sort(order[(2 * np.arange(k) + 1) * len(hashes) // (2 * k)])


def first_of_each(hashes: Hashes, chosen: Hashes) -> BoolArray:
    """Return a mask of the first records with chosen hashes, each as often as it is chosen."""
    wanted, often = np.unique(chosen, return_counts=True)
    order = np.argsort(hashes, kind="stable")
    in_order = hashes[order]
    nth = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    place = np.minimum(np.searchsorted(wanted, in_order), len(wanted) - 1)
    out = np.empty(len(order), dtype=bool)
    out[order] = (wanted[place] == in_order) & (nth < often[place])
    return out


def core_rows(class_count: IntArray, hashes: Hashes, n: int) -> IntArray:
    """Return which records of a training set, class by class, are a core of n, ascending."""
    of_classes = zip(class_slices(class_count), core_counts(class_count, n).tolist(), strict=True)
    return np.concatenate([own.start + evenly_by_hash(hashes[own], k) for own, k in of_classes])


def _standardise(points: FloatArray, standardize: bool, curves: Curves | None) -> ColumnScales:
    """Bring the points into standardised units, in place; return these units."""
    d = points.shape[1]
    scales = ColumnScales.of(points, curves) if standardize else ColumnScales(np.zeros(d), np.ones(d))
    points -= scales.mean
    points /= scales.scale
    points += 0.0  # -0.0 becomes 0.0
    return scales


def class_slices(class_count: IntArray) -> list[slice]:
    """Return where the points of each class are in canonical order."""
    return [slice(*ends) for ends in pairwise([0, *np.cumsum(class_count).tolist()])]


def _third_of_each_class(points: FloatArray, codes: IntArray, unit: FloatArray) -> BoolArray:
    """Return every third record by coordinates, from all over each class, shape (n,)."""
    ranks = without_last_bits(points, unit)
    order, first = (lambda rows: canonical_order(ranks, among=rows)), (lambda rows: int(rows[0]))
    return np.asarray(stratified_parts(codes, 3, order=order, first=first) == 2)
