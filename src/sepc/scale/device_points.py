"""Points on a device: arrays of PyTorch, CuPy or any other library of the array API standard."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from sepc.common.typing import IntArray
from sepc.geometry.points.queries import like, to_host
from sepc.geometry.points.sets import Beside, LocalPoints, Points, Query, ScatteredPoints
from sepc.scale.cuda_passes import same_stream, with_own_pass


class DeviceChunk(NamedTuple):
    """Points of shape (n, d) and their numbers, arrays of the same library on the same device."""

    points: Any
    rows: Any


class DevicePoints(ScatteredPoints):
    """Points on a device.

    Parameters
    ----------
    xp : namespace
        Of the array API standard.
    chunks : sequence of DeviceChunk

    Examples
    --------
    >>> import array_api_strict as xp
    >>> points = DevicePoints.of(xp, xp.asarray([[0.0], [1.0], [5.0]]))
    >>> points.beyond(np.array([0.5]), np.array([1.0]), 0.0).members.tolist()
    [1, 2]
    """

    # A device goes through its memory faster than a processor goes through a thousandth of it.
    local_size = 1 << 18
    sample_size = 1 << 16
    window_size = 1 << 16

    def __init__(self, xp: Any, chunks: Sequence[DeviceChunk]) -> None:
        super().__init__([chunk.points.shape[0] for chunk in chunks], chunks[0].points.shape[1])
        self.xp, self.chunks = with_own_pass(xp, chunks[0].points), list(chunks)

    @classmethod
    def of(cls, xp: Any, *arrays: Any) -> "DevicePoints":
        """Return arrays of shape (n, d), one after the other, as one set."""
        chunks, start = [], 0
        for points in arrays:
            end = start + points.shape[0]
            chunks.append(DeviceChunk(points, xp.arange(start, end, dtype=xp.int64, device=points.device)))
            start = end
        return cls(xp, chunks)

    def beside(self) -> Beside | None:
        """Return a maker of contexts for another thread to solve problems in; None but for a CUDA device."""
        return same_stream(self.chunks[0].points)

    def _like(self, chunks: Sequence[DeviceChunk]) -> Self:
        made = type(self)(self.xp, chunks)
        made.local_size = self.local_size
        return made

    def joined(self, *others: "DevicePoints") -> Self:
        """Return these points and others as one set."""
        return self._like(self.chunks + [chunk for points in others for chunk in points.chunks])

    def ask(self, query: Query, *arguments: Any) -> list[Any]:
        """Return the answers of all chunks that are not empty, in their order."""
        return [query(self.xp, c.points, *arguments) for c in self.chunks if c.points.shape[0]]

    def ask_each(self, query: Query, arguments: Sequence[Any]) -> list[Any]:
        """Return the answers of all chunks, with an argument of its own for each; None is for chunks not to ask."""
        return [
            None if argument is None else query(self.xp, chunk.points, argument)
            for chunk, argument in zip(self.chunks, arguments, strict=True)
        ]

    def keep(self, test: Query, *arguments: Any) -> Self:
        """Return the points for which a test is true."""
        return self._like(
            [
                self._kept(chunk, test(self.xp, chunk.points, *arguments)) if chunk.points.shape[0] else chunk
                for chunk in self.chunks
            ]
        )

    def drop(self, others: Points) -> Self:
        """Return the points that are not among these others."""
        if isinstance(others, DevicePoints):  # a subset, whose chunks are subsets of these in their order
            dropped = [chunk.rows for chunk in others.chunks]
        else:
            members = others.members
            dropped = [like(self.xp, chunk.points, members) for chunk in self.chunks]
        return self._like(
            [
                self._kept(chunk, self._not_among(chunk.rows, rows))
                for chunk, rows in zip(self.chunks, dropped, strict=True)
            ]
        )

    def _kept(self, chunk: DeviceChunk, mask: Any) -> DeviceChunk:
        rows = self.xp.nonzero(mask)[0]
        return DeviceChunk(self.xp.take(chunk.points, rows, axis=0), self.xp.take(chunk.rows, rows))

    def _not_among(self, rows: Any, others: Any) -> Any:
        """Return which of these numbers are not among others, which are ascending."""
        xp = self.xp
        if not others.shape[0]:
            return xp.ones(rows.shape, dtype=xp.bool, device=rows.device)
        at = xp.searchsorted(others, rows)
        return xp.take(others, xp.where(at < others.shape[0], at, others.shape[0] - 1)) != rows

    @property
    def members(self) -> IntArray:
        """The numbers of the points, ascending, shape (n,)."""
        return np.sort(np.concatenate([to_host(chunk.rows) for chunk in self.chunks]))

    def local(self) -> LocalPoints:
        """Return the points in memory."""
        points, rows = (np.concatenate([to_host(part) for part in parts]) for parts in zip(*self.chunks, strict=True))
        return LocalPoints(points, rows)
