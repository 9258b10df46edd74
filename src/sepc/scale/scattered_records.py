"""Records that are not in memory: chunks of them, wherever they are, and passes over all of these.

A pass applies one function to each chunk, and merges the results, which are small. A file, a device or a cluster need
only provide their records chunk by chunk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sepc.common.splits import Hashes, record_hashes
from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.model.column_scales import ColumnScales

# Bytes of a chunk: a disk reads these at full speed, and they are few beside the memory of a machine.
CHUNK_BYTES = 1 << 24

T = TypeVar("T")
R = TypeVar("R")


class Chunk(NamedTuple):
    """Some records of a training set.

    Attributes
    ----------
    points : ndarray of shape (n, d)
    codes : ndarray of int, shape (n,)
        Their classes, as numbers.
    rows : ndarray of int, shape (n,)
        Which rows of the training set they are.
    raw : ndarray of shape (n, d)
        The points in their original units.
    """

    points: FloatArray
    codes: IntArray
    rows: IntArray
    raw: FloatArray

    @property
    def hashes(self) -> Hashes:
        """Their hashes, shape (n,)."""
        return record_hashes(self.raw)

    def of(self, which: Any) -> "Chunk":
        """Return some of them, by a mask or by their places."""
        return Chunk(*(field[which] for field in self))


class ScatteredRecords(ABC):
    """The records of a training set, chunk by chunk; `n_passes` is the number of passes over all of them."""

    def __init__(self, n: int, dim: int) -> None:
        self.n, self.dim, self.n_passes = n, dim, 0
        self._units: ColumnScales | None = None

    def __len__(self) -> int:
        return self.n

    def use_units(self, scales: ColumnScales) -> None:
        """Show points in these units from now on."""
        self._units = scales

    def each(self, question: Callable[[Chunk], T]) -> Iterable[T]:
        """Return the answers of all chunks that are not empty, in their order."""
        self.n_passes += 1
        return self._answers(partial(_in_units, question, self._units))

    def total(self, question: Callable[[Chunk], T], merge: Callable[[Iterable[T]], T]) -> T:
        """Return the answers of all chunks as one; `merge` may get its own results again."""
        self.n_passes += 1
        return self._merged(partial(_in_units, question, self._units), merge)

    @abstractmethod
    def _answers(self, question: Callable[[Chunk], T]) -> Iterable[T]: ...

    def _merged(self, question: Callable[[Chunk], T], merge: Callable[[Iterable[T]], T]) -> T:
        return merge(self._answers(question))


def _in_units(question: Callable[[Chunk], T], units: ColumnScales | None, chunk: Chunk) -> T:
    if units is not None:
        chunk = chunk._replace(points=units(chunk.raw) + 0.0)  # -0.0 becomes 0.0
    return question(chunk)


class SlicedRecords(ScatteredRecords):
    """Records in one array, which is read a slice of rows at a time: in a file, or on a device.

    `read` takes a slice of rows and returns their points, shape (n_slice, d), double precision; `n_threads` slices of
    `chunk_rows` rows are handled at the same time.
    """

    def __init__(
        self,
        read: Callable[[slice], FloatArray],
        codes: IntArray,
        dim: int,
        n_threads: int = 1,
        chunk_rows: int | None = None,
    ) -> None:
        super().__init__(len(codes), dim)
        self.read, self.codes, self.n_threads = read, codes, n_threads
        self.chunk_rows = chunk_rows or max(CHUNK_BYTES // (8 * dim), 1)

    def _answers(self, question: Callable[[Chunk], T]) -> Iterator[T]:
        def answer(rows: slice) -> T:
            points = self.read(rows)
            return question(Chunk(points, self.codes[rows], np.arange(rows.start, rows.stop), points))

        return in_order(answer, chunk_slices(self.n, self.chunk_rows), self.n_threads)


def in_order(function: Callable[[T], R], items: Iterable[T], n_threads: int) -> Iterator[R]:
    """Yield the results of a function in the order of the items, some of which are handled at the same time."""
    if n_threads == 1:
        yield from map(function, items)
        return
    waiting = iter(items)
    with ThreadPoolExecutor(n_threads) as pool:
        running: list[Future[R]] = [pool.submit(function, item) for item in islice(waiting, 2 * n_threads)]
        try:
            while running:
                yield running.pop(0).result()
                running += [pool.submit(function, item) for item in islice(waiting, 1)]
        finally:
            for future in running:
                future.cancel()
