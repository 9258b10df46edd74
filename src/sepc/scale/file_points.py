"""Points in files: as many as a disk holds, read a chunk at a time.

Subsets are written to temporary files, in the folder that ``tempfile`` chooses (the variable TMPDIR), and vanish with
the last object that refers to them.
"""

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.points.sets import LocalPoints, Points, Query, ScatteredPoints

# Bytes of a chunk: long enough for a disk to run at full speed, short beside the memory of a machine.
CHUNK_BYTES = 1 << 24

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class IOCounters:
    """Bytes of points read from disk and written to it, and the number of passes over sets of points."""

    bytes_read: int = 0
    bytes_written: int = 0
    n_passes: int = 0


class TemporaryFiles:
    """Two temporary files, of points and of their numbers, that are removed with this object."""

    def __init__(self, dim: int) -> None:
        self.dim, self.n = dim, 0
        self._files = [tempfile.NamedTemporaryFile(prefix="sepc-", delete=False) for _ in range(2)]  # noqa: SIM115
        self.paths = [file.name for file in self._files]
        weakref.finalize(self, _remove, self.paths)

    def write(self, points: FloatArray, rows: IntArray) -> "FileChunk":
        """Append points; return where they are."""
        start = self.n
        self._files[0].write(np.ascontiguousarray(points, dtype=np.float64).data)
        self._files[1].write(np.ascontiguousarray(rows, dtype=np.int64).data)
        self.n += len(points)
        return FileChunk(self, start, len(points))

    def close(self) -> None:
        """Close the files for writing; they can be read until this object is gone."""
        for file in self._files:
            file.close()


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.remove(path)


class ReadableChunk(Protocol):
    """A chunk of points in a file of any kind."""

    @property
    def n(self) -> int:
        """Number of points."""

    def points(self) -> FloatArray:
        """Read the points, shape (n, d)."""

    def rows(self) -> IntArray:
        """Read their numbers, shape (n,)."""


class FileChunk(NamedTuple):
    """Points that are next to each other in temporary files."""

    files: TemporaryFiles
    start: int
    n: int

    def points(self) -> FloatArray:
        """Read the points, shape (n, d)."""
        d = self.files.dim
        flat = np.fromfile(self.files.paths[0], np.float64, self.n * d, offset=8 * self.start * d)
        return flat.reshape(self.n, d)

    def rows(self) -> IntArray:
        """Read their numbers, shape (n,)."""
        return np.fromfile(self.files.paths[1], np.int64, self.n, offset=8 * self.start)


class FilePoints(ScatteredPoints):
    """Points in files.

    Parameters
    ----------
    chunks : sequence of ReadableChunk
    dim : int
    n_threads : int, default=1
        How many chunks are read and asked at the same time.
    io_counters : IOCounters, optional
        Counters to add to; shared with all subsets.

    Examples
    --------
    >>> points = FilePoints.of(np.arange(10.0).reshape(5, 2), chunk_rows=2)
    >>> points.sizes, points.extent.mean.tolist()
    ([2, 2, 1], [4.0, 5.0])
    """

    def __init__(
        self, chunks: Sequence[ReadableChunk], dim: int, n_threads: int = 1, io_counters: IOCounters | None = None
    ) -> None:
        super().__init__([chunk.n for chunk in chunks], dim)
        self.chunks, self.n_threads = list(chunks), n_threads
        self.io_counters = IOCounters() if io_counters is None else io_counters

    @classmethod
    def of(cls, points: NDArray[Any], chunk_rows: int | None = None, n_threads: int = 1) -> "FilePoints":
        """Return points of an array, which may be mapped from a file, in chunks of their own.

        Parameters
        ----------
        points : ndarray of shape (n, d)
        chunk_rows : int, optional
            Number of points in a chunk.
        n_threads : int, default=1

        Returns
        -------
        FilePoints
        """
        n, d = points.shape
        files, slices = TemporaryFiles(d), chunk_slices(n, chunk_rows or rows_of_a_chunk(d))
        chunks = [files.write(points[rows], np.arange(rows.start, rows.stop)) for rows in slices]
        files.close()
        return cls(chunks, d, n_threads)

    def _like(self, chunks: Sequence[ReadableChunk]) -> Self:
        made = type(self)(chunks, self.dim, self.n_threads, self.io_counters)
        made.local_size = self.local_size
        return made

    def joined(self, *others: "FilePoints") -> Self:
        """Return these points and others as one set."""
        return self._like(self.chunks + [chunk for points in others for chunk in points.chunks])

    def ask(self, query: Query, *arguments: Any) -> list[Any]:
        """Return the answers of all chunks that are not empty, in their order."""
        return self._read([chunk for chunk in self.chunks if chunk.n], lambda x, _: query(np, x, *arguments))

    def fold(self, merge: Callable[[Iterable[Any]], Any], query: Query, *arguments: Any) -> Any:
        """Return the answers of all chunks that are not empty as one; each is merged as soon as it is there."""
        chunks = [chunk for chunk in self.chunks if chunk.n]
        return merge(self._answers(chunks, lambda x, _: query(np, x, *arguments)))

    def ask_each(self, query: Query, arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of all chunks, with an argument of its own for each; None is for chunks not to ask."""
        asked = [k for k, argument in enumerate(arguments) if argument is not None]
        answers: list[Any] = [None] * len(arguments)
        found = self._read([self.chunks[k] for k in asked], lambda x, k: query(np, x, arguments[asked[k]]))
        for k, answer in zip(asked, found, strict=True):
            answers[k] = answer
        return answers

    def keep(self, test: Query, *arguments: Any) -> Self:
        """Return the points for which a test is true."""

        def kept(chunk: ReadableChunk) -> tuple[FloatArray, IntArray]:
            points = chunk.points()
            mask = test(np, points, *arguments) if chunk.n else np.empty(0, dtype=bool)
            return points[mask], chunk.rows()[mask]

        return self._written(kept, self.chunks)

    def drop(self, others: Points) -> Self:
        """Return the points that are not among these others."""

        def kept(pair: tuple[ReadableChunk, Callable[[], IntArray]]) -> tuple[FloatArray, IntArray]:
            chunk, others_here = pair
            mask = np.isin(chunk.rows(), others_here(), assume_unique=True, invert=True)
            return chunk.points()[mask], chunk.rows()[mask]

        if isinstance(others, FilePoints):  # a subset, whose chunks are subsets of these in their order
            return self._written(
                kept, [(chunk, dropped.rows) for chunk, dropped in zip(self.chunks, others.chunks, strict=True)]
            )
        members = others.members
        return self._written(kept, [(chunk, lambda: members) for chunk in self.chunks])

    def _written(self, kept: Callable[[Any], tuple[FloatArray, IntArray]], items: Sequence[Any]) -> Self:
        files, chunks = TemporaryFiles(self.dim), []
        for points, rows in in_order(kept, items, self.n_threads):
            chunks.append(files.write(points, rows))
        files.close()
        self._count(len(self), files.n)
        return self._like(chunks)

    def _read(self, chunks: Sequence[ReadableChunk], function: Callable[[FloatArray, int], Any]) -> list[Any]:
        return list(self._answers(chunks, function))

    def _answers(self, chunks: Sequence[ReadableChunk], function: Callable[[FloatArray, int], Any]) -> Iterator[Any]:
        self._count(sum(chunk.n for chunk in chunks), 0)
        return in_order(lambda k: function(chunks[k].points(), k), range(len(chunks)), self.n_threads)

    def _count(self, read: int, written: int) -> None:
        self.io_counters.bytes_read += 8 * self.dim * read
        self.io_counters.bytes_written += 8 * self.dim * written
        self.io_counters.n_passes += 1

    @property
    def members(self) -> IntArray:
        """The numbers of the points, ascending, shape (n,)."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *(chunk.rows() for chunk in self.chunks if chunk.n)]))

    def local(self) -> LocalPoints:
        """Return the points in memory."""
        chunks = [chunk for chunk in self.chunks if chunk.n]
        points = np.concatenate([np.empty((0, self.dim)), *(chunk.points() for chunk in chunks)])
        self._count(len(points), 0)
        return LocalPoints(points, np.concatenate([np.empty(0, np.int64), *(chunk.rows() for chunk in chunks)]))


def rows_of_a_chunk(dim: int) -> int:
    """Return how many points of this dimension make a chunk.

    Examples
    --------
    >>> rows_of_a_chunk(16)
    131072
    """
    return max(CHUNK_BYTES // (8 * dim), 1)


def in_order(function: Callable[[T], R], items: Iterable[T], n_threads: int) -> Iterator[R]:
    """Yield the results of a function in the order of the items, some of which are handled at the same time.

    Examples
    --------
    >>> list(in_order(abs, [-2, 1], n_threads=2))
    [2, 1]
    """
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
