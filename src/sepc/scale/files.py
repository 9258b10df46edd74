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

from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.points import LocalPoints, Points, Question, ScatteredPoints, chunk_slices
from sepc.scale.rows import not_among

# Bytes of a chunk: long enough for a disk to run at full speed, short beside the memory of a machine.
CHUNK_BYTES = 1 << 24

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class Traffic:
    """How many bytes of points went from disk to memory and back, and in how many passes over a set of points.

    Examples
    --------
    >>> Traffic().read
    0
    """

    read: int = 0
    written: int = 0
    passes: int = 0


class Store:
    """Two temporary files, of points and of their numbers, that are removed with this object."""

    def __init__(self, dim: int) -> None:
        self.dim, self.n = dim, 0
        self._files = [tempfile.NamedTemporaryFile(prefix="sepc-", delete=False) for _ in range(2)]  # noqa: SIM115
        self.paths = [file.name for file in self._files]
        weakref.finalize(self, _remove, self.paths)

    def write(self, points: FloatArray, rows: Rows) -> "Chunk":
        """Append points; return where they are."""
        start = self.n
        self._files[0].write(np.ascontiguousarray(points, dtype=np.float64).data)
        self._files[1].write(np.ascontiguousarray(rows, dtype=np.int64).data)
        self.n += len(points)
        return Chunk(self, start, len(points))

    def close(self) -> None:
        """Write no more."""
        for file in self._files:
            file.close()


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            os.remove(path)


class Readable(Protocol):
    """Points that can be read."""

    @property
    def n(self) -> int:
        """How many."""

    def points(self) -> FloatArray:
        """Read the points, shape (n, d)."""

    def rows(self) -> Rows:
        """Read their numbers, shape (n,)."""


class Chunk(NamedTuple):
    """Points that are next to each other in a store."""

    store: Store
    start: int
    n: int

    def points(self) -> FloatArray:
        """Read the points, shape (n, d)."""
        d = self.store.dim
        flat = np.fromfile(self.store.paths[0], np.float64, self.n * d, offset=8 * self.start * d)
        return flat.reshape(self.n, d)

    def rows(self) -> Rows:
        """Read their numbers, shape (n,)."""
        return np.fromfile(self.store.paths[1], np.int64, self.n, offset=8 * self.start)


class FilePoints(ScatteredPoints):
    """Points in files.

    Parameters
    ----------
    chunks : sequence of Readable
    dim : int
    n_threads : int, default=1
        How many chunks are read and asked at the same time.
    traffic : Traffic, optional
        Where to count what is read and written.

    Examples
    --------
    >>> points = FilePoints.of(np.arange(10.0).reshape(5, 2), chunk_rows=2)
    >>> points.sizes, points.extent.mean.tolist()
    ([2, 2, 1], [4.0, 5.0])
    """

    def __init__(
        self, chunks: Sequence[Readable], dim: int, n_threads: int = 1, traffic: Traffic | None = None
    ) -> None:
        super().__init__([chunk.n for chunk in chunks], dim)
        self.chunks, self.n_threads = list(chunks), n_threads
        self.traffic = Traffic() if traffic is None else traffic

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
        store, slices = Store(d), chunk_slices(n, chunk_rows or rows_of_a_chunk(d))
        chunks = [store.write(points[rows], np.arange(rows.start, rows.stop)) for rows in slices]
        store.close()
        return cls(chunks, d, n_threads)

    def _like(self, chunks: Sequence[Readable]) -> Self:
        made = type(self)(chunks, self.dim, self.n_threads, self.traffic)
        made.local_size = self.local_size
        return made

    def joined(self, *others: "FilePoints") -> Self:
        """Return these points and others as one set."""
        return self._like(self.chunks + [chunk for points in others for chunk in points.chunks])

    def ask(self, question: Question, *arguments: Any) -> list[Any]:
        """Return the answers of all chunks that are not empty, in their order."""
        return self._read([chunk for chunk in self.chunks if chunk.n], lambda x, _: question(np, x, *arguments))

    def fold(self, merge: Callable[[Iterable[Any]], Any], question: Question, *arguments: Any) -> Any:
        """Return the answers of all chunks that are not empty as one; each is merged as soon as it is there."""
        chunks = [chunk for chunk in self.chunks if chunk.n]
        return merge(self._answers(chunks, lambda x, _: question(np, x, *arguments)))

    def ask_each(self, question: Question, arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of all chunks, with an argument of its own for each; None is for chunks not to ask."""
        asked = [k for k, argument in enumerate(arguments) if argument is not None]
        answers: list[Any] = [None] * len(arguments)
        found = self._read([self.chunks[k] for k in asked], lambda x, k: question(np, x, arguments[asked[k]]))
        for k, answer in zip(asked, found, strict=True):
            answers[k] = answer
        return answers

    def keep(self, test: Question, *arguments: Any) -> Self:
        """Return the points for which a test is true."""

        def kept(chunk: Readable) -> tuple[FloatArray, Rows]:
            points = chunk.points()
            mask = test(np, points, *arguments) if chunk.n else np.empty(0, dtype=bool)
            return points[mask], chunk.rows()[mask]

        return self._written(kept, self.chunks)

    def drop(self, others: Points) -> Self:
        """Return the points that are not among these others."""

        def kept(pair: tuple[Readable, Callable[[], Rows]]) -> tuple[FloatArray, Rows]:
            chunk, others_here = pair
            mask = not_among(chunk.rows(), others_here())
            return chunk.points()[mask], chunk.rows()[mask]

        if isinstance(others, FilePoints):  # a subset, whose chunks are subsets of these in their order
            return self._written(
                kept, [(mine, theirs.rows) for mine, theirs in zip(self.chunks, others.chunks, strict=True)]
            )
        members = others.members
        return self._written(kept, [(chunk, lambda: members) for chunk in self.chunks])

    def _written(self, kept: Callable[[Any], tuple[FloatArray, Rows]], items: Sequence[Any]) -> Self:
        store, chunks = Store(self.dim), []
        for points, rows in in_order(kept, items, self.n_threads):
            chunks.append(store.write(points, rows))
        store.close()
        self._count(len(self), store.n)
        return self._like(chunks)

    def _read(self, chunks: Sequence[Readable], function: Callable[[FloatArray, int], Any]) -> list[Any]:
        return list(self._answers(chunks, function))

    def _answers(self, chunks: Sequence[Readable], function: Callable[[FloatArray, int], Any]) -> Iterator[Any]:
        self._count(sum(chunk.n for chunk in chunks), 0)
        return in_order(lambda k: function(chunks[k].points(), k), range(len(chunks)), self.n_threads)

    def _count(self, read: int, written: int) -> None:
        self.traffic.read += 8 * self.dim * read
        self.traffic.written += 8 * self.dim * written
        self.traffic.passes += 1

    @property
    def members(self) -> Rows:
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
