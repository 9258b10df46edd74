"""Points on a cluster: chunks of Dask collections that stay with the workers.

What comes back of each query is small, or a working set. A chunk that is lost with
its worker is made again from what it came from, as Dask does with everything that it keeps.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import dask
import numpy as np
from dask.delayed import Delayed, delayed

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.points.sets import LocalPoints, Points, Query, ScatteredPoints

# Answers that a worker merges at a time.
_AT_ONCE = 8


class ClusterChunk(NamedTuple):
    """Points of shape (n, d) and their numbers."""

    points: FloatArray
    rows: IntArray


class ClusterPoints(ScatteredPoints):
    """Points on the workers of a Dask cluster, or in the memory of this process if there is none.

    Parameters
    ----------
    chunks : sequence of Delayed
        Of `ClusterChunk`; they are kept where they are made.
    dim : int
    sizes : sequence of int, optional
        Numbers of points, if they are known.

    Attributes
    ----------
    bytes_received : list of int
        Bytes that came back from the workers in each pass; shared with all subsets.

    Examples
    --------
    >>> import dask.array as da
    >>> points = ClusterPoints.of(da.from_array(np.arange(10.0).reshape(5, 2), chunks=(2, 2)))
    >>> points.sizes, points.extent.mean.tolist()
    ([2, 2, 1], [4.0, 5.0])
    """

    def __init__(
        self,
        chunks: Sequence[Delayed],
        dim: int,
        sizes: Sequence[int] | None = None,
        bytes_received: list[int] | None = None,
    ) -> None:
        self.chunks: list[Delayed] = list(dask.persist(*chunks))
        self.bytes_received: list[int] = [] if bytes_received is None else bytes_received
        super().__init__(dask.compute(*map(_size, self.chunks)) if sizes is None else sizes, dim)

    @classmethod
    def of(cls, points: Any) -> "ClusterPoints":
        """Return the rows of a Dask array of shape (n, d) whose chunk sizes are known."""
        whole = points.rechunk({1: -1})
        starts = np.cumsum([0, *whole.chunks[0]])
        blocks = whole.to_delayed().ravel()
        chunks = [_numbered(block, int(start)) for block, start in zip(blocks, starts[:-1], strict=True)]
        return cls(chunks, points.shape[1], whole.chunks[0])

    def _like(self, chunks: Sequence[Delayed], sizes: Sequence[int] | None = None) -> Self:
        made = type(self)(chunks, self.dim, sizes, self.bytes_received)
        made.local_size = self.local_size
        return made

    def joined(self, *others: "ClusterPoints") -> Self:
        """Return these points and others as one set."""
        chunks = self.chunks + [chunk for points in others for chunk in points.chunks]
        return self._like(chunks, self.sizes + [size for points in others for size in points.sizes])

    def ask(self, query: Query, *arguments: Any) -> list[Any]:
        """Return the answers of all chunks that are not empty, in their order."""
        given = delayed(arguments, pure=False, traverse=False)
        return self._received(
            [_answer(chunk, query, given) for chunk, size in zip(self.chunks, self.sizes, strict=True) if size]
        )

    def fold(self, merge: Callable[[Iterable[Any]], Any], query: Query, *arguments: Any) -> Any:
        """Return the answers of all chunks that are not empty as one; the workers merge them."""
        given = delayed(arguments, pure=False, traverse=False)
        answers = [_answer(chunk, query, given) for chunk, n in zip(self.chunks, self.sizes, strict=True) if n]
        while len(answers) > 1:
            answers = [_merged(merge, answers[some]) for some in chunk_slices(len(answers), _AT_ONCE)]
        return self._received(answers)[0]

    def ask_each(self, query: Query, arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of all chunks, with an argument of its own for each; None is for chunks not to ask."""
        return self._received(
            [
                None if argument is None else _answer(chunk, query, (argument,))
                for chunk, argument in zip(self.chunks, arguments, strict=True)
            ]
        )

    def _received(self, asked: list[Any]) -> list[Any]:
        answers = list(dask.compute(*asked))
        self.bytes_received.append(sum(map(_n_bytes, answers)))
        return answers

    def keep(self, test: Query, *arguments: Any) -> Self:
        """Return the points for which a test is true."""
        given = delayed(arguments, pure=False, traverse=False)
        return self._like([_kept(chunk, test, given) for chunk in self.chunks])

    def drop(self, others: Points) -> Self:
        """Return the points that are not among these others."""
        if isinstance(others, ClusterPoints):  # a subset, whose chunks are subsets of these in their order
            dropped: list[Any] = [_rows(chunk) for chunk in others.chunks]
        else:
            dropped = [delayed(others.members, pure=False)] * len(self.chunks)
        return self._like([_without(chunk, rows) for chunk, rows in zip(self.chunks, dropped, strict=True)])

    @property
    def members(self) -> Any:
        """The numbers of the points, a Dask array of shape (n,), chunk by chunk."""
        import dask.array as da

        parts = [
            da.from_delayed(_rows(chunk), (size,), dtype=np.int64, meta=np.empty(0, np.int64))
            for chunk, size in zip(self.chunks, self.sizes, strict=True)
        ]
        return da.concatenate(parts)

    def local(self) -> LocalPoints:
        """Return the points in memory."""
        chunks = self._received(self.chunks)
        points, rows = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
        return LocalPoints(points, rows)


@delayed
def _numbered(points: Any, start: int) -> ClusterChunk:
    return ClusterChunk(np.ascontiguousarray(points, dtype=np.float64), np.arange(start, start + len(points)))


@delayed
def _size(chunk: ClusterChunk) -> int:
    return len(chunk.points)


@delayed
def _rows(chunk: ClusterChunk) -> IntArray:
    return chunk.rows


@delayed
def _answer(chunk: ClusterChunk, query: Query, arguments: tuple[Any, ...]) -> Any:
    return query(np, chunk.points, *arguments)


@delayed
def _merged(merge: Callable[[Iterable[Any]], Any], answers: list[Any]) -> Any:
    return merge(answers)


@delayed
def _kept(chunk: ClusterChunk, test: Query, arguments: tuple[Any, ...]) -> ClusterChunk:
    if not len(chunk.points):
        return chunk
    mask = test(np, chunk.points, *arguments)
    return ClusterChunk(chunk.points[mask], chunk.rows[mask])


@delayed
def _without(chunk: ClusterChunk, others: IntArray) -> ClusterChunk:
    mask = np.isin(chunk.rows, others, assume_unique=True, invert=True)
    return ClusterChunk(chunk.points[mask], chunk.rows[mask])


def _n_bytes(answer: Any) -> int:
    """Return the size of the arrays and numbers of an answer."""
    if isinstance(answer, np.ndarray):
        return answer.nbytes
    return sum(map(_n_bytes, answer)) if isinstance(answer, tuple | list) else 8
