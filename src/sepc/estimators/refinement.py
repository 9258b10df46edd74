"""Passes over all records of a large training set, after the partition and the choices of its core.

EM iterations over all records refine the mixture of the core, and those of its parts by all records that each has not
left out. So the trust is calibrated for the model that is kept, by mixtures of two thirds of the records each. A pass
is a sum over chunks of records, wherever these are.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sepc.common.record_hashes import Hashes, apart
from sepc.common.splits import IN_NO_PART
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.calibrating import learn_calibration
from sepc.estimators.core import Core, HashParts, core_counts, core_size, evenly_by_hash, first_of_each
from sepc.estimators.left_out import has_few_values
from sepc.geometry.chunks import chunk_slices
from sepc.model.calibration import Calibration
from sepc.model.incomplete import known_share
from sepc.model.mixtures import Mixture
from sepc.partitions.ordering import canonical_order
from sepc.scale.scattered_records import Chunk
from sepc.scale.training_sets import ScatteredTrainingSet

# EM iterations over all records.
PASSES = 3
# Records that the calibration is learnt from, or a few more: its numbers are few.
_CALIBRATING = 30_000
# Records in a chunk of an array in memory.
_CHUNK = 1 << 14

# What is asked of points, classes and hashes of a chunk.
Answer = Callable[[FloatArray, IntArray, Hashes], list[Any]]


class Mixtures(NamedTuple):
    """The mixture of all records, those that each leave a part out, and in which part a record is left out."""

    whole: Mixture
    held_out: tuple[Mixture, ...]
    parts: HashParts

    def sums(self, points: FloatArray, codes: IntArray, hashes: Hashes) -> list[FloatArray]:
        """Return what an EM iteration of each needs to know of some records: sums, and numbers of each class."""
        part, found = self.parts(hashes, codes), []
        for k, mixture in enumerate((*self.held_out, self.whole)):
            seen = slice(None) if k == len(self.held_out) else part != k
            of_classes = np.bincount(codes[seen], minlength=len(mixture.class_count)).astype(np.float64)
            found += [mixture.sums(points[seen], codes[seen]), of_classes]
        return found

    def after(self, sums: Sequence[FloatArray]) -> "Mixtures":
        """Return the mixtures after an EM iteration, by the sums over all records."""
        *held_out, whole = (
            mixture.after(own, np.rint(of_classes).astype(np.int64))
            for mixture, own, of_classes in zip((*self.held_out, self.whole), sums[::2], sums[1::2], strict=True)
        )
        return Mixtures(whole, tuple(held_out), self.parts)

    def judged(self, points: FloatArray, part: IntArray, unit: FloatArray) -> FloatArray:
        """Return what the mixture that has not seen each record, by its part, says of it, shape (n, n_classes)."""
        out = np.empty((len(part), len(self.whole.class_count)))
        for k, mixture in enumerate(self.held_out):
            unseen = part == k
            out[unseen] = mixture.log_joint_in(unit, points[unseen])
        return out


class Records(Protocol):
    """All records of a training set, wherever they are."""

    def __len__(self) -> int: ...

    def total(self, function: Answer) -> list[FloatArray]:
        """Return the sums over all chunks of the arrays that a function makes of points, classes and hashes of each."""

    def gathered(self, function: Answer) -> list[Any]:
        """Return the arrays that a function makes of each chunk, one after the other."""


class RecordsInMemory:
    """Records in an array, class by class in canonical order."""

    def __init__(
        self, points: FloatArray, codes: IntArray, gaps: BoolArray | None, hashes: Hashes, n_jobs: int | None
    ) -> None:
        self.points, self.codes, self.gaps, self.hashes, self.n_jobs = points, codes, gaps, hashes, n_jobs

    def __len__(self) -> int:
        return len(self.codes)

    def total(self, function: Answer) -> list[FloatArray]:
        """Return the sums over all chunks."""
        return added(self._answers(function))

    def gathered(self, function: Answer) -> list[Any]:
        """Return the arrays of all chunks, one after the other."""
        return joined(self._answers(function))

    def _answers(self, function: Answer) -> Iterable[list[Any]]:
        """Yield what a function says of each chunk; of several at the same time if `n_jobs` allows it."""

        def of_chunk(some: slice) -> list[Any]:
            points = self.points[some] if self.gaps is None else np.where(self.gaps[some], np.nan, self.points[some])
            return function(points, self.codes[some].astype(np.int64), self.hashes[some])

        jobs = (delayed(of_chunk)(some) for some in chunk_slices(len(self), _CHUNK))
        found: Iterable[list[Any]] = Parallel(self.n_jobs, prefer="threads", return_as="generator")(jobs)
        return found


class RecordsElsewhere:
    """Records that are not in memory."""

    def __init__(self, training: ScatteredTrainingSet) -> None:
        self.records, self.class_count = training.records, training.extents.n
        self.are_apart = False  # whether equal records are dealt one by one

    def __len__(self) -> int:
        return len(self.records)

    def core(self) -> tuple[Core, IntArray]:
        """Bring the core into memory; return it, and which row of the training set each of its records is."""
        counts = core_counts(self.class_count, core_size(self.records.dim))
        if counts.sum() == len(self):
            whole = _in_canonical_order(_one_chunk(self.records.each(_everything)))
            return Core(whole.points, whole.codes), whole.rows
        hashes, codes = joined(self.records.each(_hashes_of))
        chosen = [hashes[codes == k] for k in range(len(counts))]
        chosen = [of_class[evenly_by_hash(of_class, k)] for of_class, k in zip(chosen, counts.tolist(), strict=True)]
        found = _one_chunk(self.records.each(partial(_chosen_of, chosen)))
        # Of equal records in different chunks there may be too many.
        found = _in_canonical_order(_chosen_of(chosen, found))
        self.are_apart = has_few_values(found.points, found.codes)
        hashes = apart(found.hashes) if self.are_apart else found.hashes
        return Core(found.points, found.codes, None, hashes), found.rows

    def total(self, function: Answer) -> list[FloatArray]:
        """Return the sums over all chunks."""
        return self.records.total(partial(_answer, function, self.are_apart), added)

    def gathered(self, function: Answer) -> list[Any]:
        """Return the arrays of all chunks, one after the other."""
        return joined(self.records.each(partial(_answer, function, self.are_apart)))


def _everything(chunk: Chunk) -> Chunk:
    return chunk


def _hashes_of(chunk: Chunk) -> list[Any]:
    return [chunk.hashes, chunk.codes]


def _chosen_of(chosen: Sequence[Hashes], chunk: Chunk) -> Chunk:
    """Return the records of a chunk that are chosen, by the hashes of those that are of each class."""
    hashes, is_chosen = chunk.hashes, np.zeros(len(chunk.codes), dtype=bool)
    for k, of_class in enumerate(chosen):
        own = np.flatnonzero(chunk.codes == k)
        is_chosen[own] = first_of_each(hashes[own], of_class)
    return chunk.of(is_chosen)


def _answer(function: Answer, are_apart: bool, chunk: Chunk) -> list[Any]:
    hashes = chunk.hashes
    return function(chunk.points, chunk.codes, apart(hashes) if are_apart else hashes)


def _one_chunk(chunks: Iterable[Chunk]) -> Chunk:
    return Chunk(*joined([list(chunk) for chunk in chunks]))


def _in_canonical_order(chunk: Chunk) -> Chunk:
    """Return records class by class, each in canonical order."""
    of_classes = (np.flatnonzero(chunk.codes == k) for k in np.unique(chunk.codes))
    return chunk.of(np.concatenate([own[canonical_order(chunk.points[own])] for own in of_classes]))


def refine(mixtures: Mixtures, records: Records) -> Mixtures:
    """Return mixtures after EM iterations over all records."""
    for _ in range(PASSES):
        mixtures = mixtures.after(records.total(mixtures.sums))
    return mixtures


def added(chunks: Iterable[list[FloatArray]]) -> list[FloatArray]:
    """Return the sums of the arrays of all chunks, in their order."""
    found = iter(chunks)
    total = [array.copy() for array in next(found)]
    for one in found:
        for so_far, array in zip(total, one, strict=True):
            so_far += array
    return total


def joined(chunks: Iterable[list[Any]]) -> list[Any]:
    """Return the arrays of all chunks, one after the other."""
    return [np.concatenate(arrays) for arrays in zip(*chunks, strict=True)]


def calibrate(mixtures: Mixtures, records: Records, unit: FloatArray, class_count: IntArray) -> Calibration:
    """Learn how sure the mixture of all records may be from what the others say of records that they left out.

    Parameters
    ----------
    mixtures : Mixtures
    records : Records
    unit : ndarray of shape (d,)
        Units of length of the densities that are to be calibrated.
    class_count : ndarray of int, shape (n_classes,)
        Of all records.
    """
    step = np.uint64(max(len(records) // _CALIBRATING, 1))

    def judged(points: FloatArray, codes: IntArray, hashes: Hashes) -> list[Any]:
        part = mixtures.parts(hashes, codes)
        some = ((hashes >> np.uint64(32)) % step == 0) & (part != IN_NO_PART)
        points, codes = points[some], codes[some]
        known = np.broadcast_to(known_share(points), len(codes))
        return [mixtures.judged(points, part[some], unit), codes, known]

    joint, codes, known = records.gathered(judged)
    return learn_calibration(joint, codes, class_count, known)
