"""Records on a cluster: chunks of Dask collections, which stay where they are.

The workers of a cluster keep the chunks, and make those again that are lost with one of them. Without a cluster, each
pass makes them anew: they need not fit into memory.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import dask
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed

from sepc.geometry.chunks import chunk_slices
from sepc.scale.scattered_records import Chunk, ScatteredRecords

# Answers that a worker merges at a time.
_AT_ONCE = 8

T = TypeVar("T")


class ClusterRecords(ScatteredRecords):
    """Records in chunks that Dask makes.

    Parameters
    ----------
    chunks : sequence of Delayed
        Of `Chunk`.
    sizes : sequence of int
        Numbers of records in them.
    dim : int

    Attributes
    ----------
    bytes_received : list of int
        Bytes that came back from the workers in each pass.
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
            answers = [_joined(merge, answers[some]) for some in chunk_slices(len(answers), _AT_ONCE)]
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
def _joined(merge: Callable[[Iterable[Any]], Any], answers: list[Any]) -> Any:
    return merge(answers)


def _n_bytes(answer: Any) -> int:
    """Return the size of the arrays and numbers of an answer."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    return sum(map(_n_bytes, answer)) if isinstance(answer, tuple | list) else 8
