"""Training sets in Dask arrays and data frames, which stay where they are.

The workers of a cluster keep the chunks, and make lost ones again. Without a cluster each pass makes them anew: they
need not fit into memory.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import dask
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from sepc.common.typing import IntArray
from sepc.common.validation import (
    MISSING,
    LabelsOfAKind,
    different_labels,
    joined_kinds,
    kinds_of,
    names_of,
    require_labels,
    require_one_kind,
)
from sepc.geometry.chunks import chunk_slices
from sepc.scale.scattered_records import Chunk, ScatteredRecords
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape, sorted_classes

T = TypeVar("T")


def cluster_set(X: Any, y: Any, standardize: bool) -> ScatteredTrainingSet:
    """Return a training set that stays on the workers; y may be of Dask, too."""
    require_shape(X.shape, None)
    blocks = _blocks(X)
    sizes = list(dask.compute(*map(delayed(len), blocks)))
    starts = np.cumsum([0, *sizes]).tolist()
    labels = _label_blocks(y, sizes)
    classes = _classes(labels, starts)
    given = delayed(classes, pure=False, traverse=False)
    chunks = [_chunk(*parts, given) for parts in zip(blocks, labels, starts[:-1], strict=True)]
    return ScatteredTrainingSet.of(ClusterRecords(chunks, sizes, X.shape[1]), classes, names_of(X), standardize)


def _classes(blocks: Sequence[Delayed], starts: Sequence[int]) -> NDArray[Any]:
    """Return the sorted labels of all blocks, which begin at these rows."""
    found = dask.compute(*(_kinds_and_labels(*block) for block in zip(blocks, starts[:-1], strict=True)))
    require_one_kind(joined_kinds(kinds for kinds, _ in found))
    return sorted_classes([labels for _, labels in found])


def _blocks(X: Any) -> list[Delayed]:
    """Return the rows of X block by block."""
    if hasattr(X, "rechunk"):
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    return list(X.to_delayed())


def _label_blocks(y: Any, sizes: Sequence[int]) -> list[Delayed]:
    """Return the labels in blocks of these sizes."""
    if not dask.is_dask_collection(y):
        require_labels(y)
        y = np.asarray(y)
        require_shape((sum(sizes), 1), len(y))
        return [delayed(part, pure=False, traverse=False) for part in np.split(y, np.cumsum(sizes)[:-1])]
    blocks = list(map(delayed(np.asarray), y.to_delayed().ravel() if hasattr(y, "rechunk") else y.to_delayed()))
    found = list(dask.compute(*map(delayed(len), blocks)))
    if found == list(sizes):
        return blocks
    require_shape((sum(sizes), 1), sum(found))
    ends = np.cumsum(found)
    return [_between(blocks, ends, end - size, end) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]


def _between(blocks: Sequence[Delayed], ends: IntArray, start: int, end: int) -> Delayed:
    """Return the labels from one row up to another, of blocks that end at these rows."""
    first = min(int(np.searchsorted(ends, start, side="right")), len(blocks) - 1)
    last = max(int(np.searchsorted(ends, end)), first)
    before = int(ends[first - 1]) if first else 0
    return _joined(list(blocks[first : last + 1]), int(start) - before, int(end) - before)


@delayed
def _joined(blocks: list[NDArray[Any]], start: int, end: int) -> NDArray[Any]:
    # Not by Dask, which would cut the texts of all blocks to the longest of the first one.
    return np.asarray(np.concatenate(blocks)[start:end])


@delayed
def _chunk(block: Any, labels: NDArray[Any], start: int, classes: NDArray[Any]) -> Chunk:
    points = np.ascontiguousarray(block, dtype=np.float64)
    return Chunk(points, np.searchsorted(classes, labels), np.arange(start, start + len(points)), points)


@delayed
def _kinds_and_labels(labels: NDArray[Any], start: int) -> tuple[dict[str, LabelsOfAKind], NDArray[Any]]:
    """Return the kinds of labels in a block, and, if there is but one, the different labels."""
    kinds = kinds_of(labels, start)
    return kinds, different_labels(labels) if len(kinds) == 1 and MISSING not in kinds else labels[:0]


class ClusterRecords(ScatteredRecords):
    """Records in chunks that Dask makes, of `Chunk`; `sizes` are their numbers of records.

    `bytes_received` are the bytes that came back from the workers in each pass.
    """

    def __init__(self, chunks: Sequence[Delayed], sizes: Sequence[int], dim: int) -> None:
        super().__init__(sum(sizes), dim)
        kept = [chunk for chunk, size in zip(chunks, sizes, strict=True) if size]
        self.chunks: list[Delayed] = list(dask.persist(*kept)) if _has_workers() else kept
        self.bytes_received: list[int] = []

    def _answers(self, question: Callable[[Chunk], T]) -> Iterable[T]:
        return self._received(self._asked(question))

    def _merged(self, question: Callable[[Chunk], T], merge: Callable[[Iterable[T]], T]) -> T:
        """Return the answers as one; the workers merge them."""
        answers = self._asked(question)
        while len(answers) > 1:
            answers = [_merged_answers(merge, answers[some]) for some in chunk_slices(len(answers), 8)]
        found: T = self._received(answers)[0]
        return found

    def _asked(self, question: Callable[[Chunk], T]) -> list[Delayed]:
        given = delayed(question, pure=False, traverse=False)
        return [_answer(given, chunk) for chunk in self.chunks]

    def _received(self, asked: list[Delayed]) -> list[Any]:
        answers = list(dask.compute(*asked))
        self.bytes_received.append(sum(map(_n_bytes, answers)))
        return answers


def _has_workers() -> bool:
    """Return whether a cluster does the work: its workers put chunks on their disks when their memory is full."""
    return hasattr(getattr(get_scheduler(), "__self__", None), "scheduler_info")


@delayed
def _answer(question: Callable[[Chunk], Any], chunk: Chunk) -> Any:
    return question(chunk)


@delayed
def _merged_answers(merge: Callable[[Iterable[Any]], Any], answers: list[Any]) -> Any:
    return merge(answers)


def _n_bytes(answer: Any) -> int:
    """Return the size of the arrays and numbers of an answer."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    return sum(map(_n_bytes, answer)) if isinstance(answer, tuple | list) else 8
