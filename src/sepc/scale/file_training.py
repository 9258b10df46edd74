"""Training sets in files that are mapped into memory: read and split by class, chunk by chunk."""

import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import labels_of
from sepc.geometry.chunks import chunk_slices
from sepc.scale.file_points import FilePoints, TemporaryFiles, rows_of_a_chunk
from sepc.scale.training_sets import ScatteredTrainingSet, require_shape, standardised, units_of

# Files smaller than this are read into memory as any other array.
OUT_OF_CORE_BYTES = 1 << 28


def is_mapped(X: Any) -> bool:
    """Return whether X is mapped from a file that is too large to be copied without need."""
    return isinstance(X, np.memmap) and X.base is not None and X.ndim == 2 and X.nbytes >= OUT_OF_CORE_BYTES


class MappedChunk(NamedTuple):
    """Rows of an array that is mapped from a file."""

    array: NDArray[Any]
    start: int
    n: int

    def points(self) -> FloatArray:
        """Read the points, shape (n, d)."""
        points = np.array(self.array[self.start : self.start + self.n], dtype=np.float64, order="C")
        _forget(self.array)
        return points

    def rows(self) -> IntArray:
        """Return their numbers, shape (n,)."""
        return np.arange(self.start, self.start + self.n)


def _forget(array: Any) -> None:
    """Give back the memory that mapped pages take; they are read again when they are needed."""
    pages = getattr(array, "_mmap", None)
    if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def mapped_set(
    X: Any, y: Any, standardize: bool, n_threads: int, names: Any = None, chunk_rows: int | None = None
) -> ScatteredTrainingSet:
    """Return a training set that stays on disk.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        As a rule ``numpy.load(path, mmap_mode="r")``.
    y : array-like of shape (n,)
    standardize : bool
    n_threads : int
        How many chunks are read at the same time.
    names : sequence of str, optional
        Of the features.
    chunk_rows : int, optional
        Number of rows of a chunk.

    Returns
    -------
    ScatteredTrainingSet
    """
    classes, codes = labels_of(y)
    require_shape(X.shape, len(codes))
    n, d = X.shape
    slices = list(chunk_slices(n, chunk_rows or rows_of_a_chunk(d)))
    raw = FilePoints([MappedChunk(X, rows.start, rows.stop - rows.start) for rows in slices], d, n_threads)
    mean, scale = units_of(raw, names, standardize)
    files = [TemporaryFiles(d) for _ in classes]
    chunks: list[list[Any]] = [[] for _ in classes]
    for chunk in raw.chunks:
        points, rows = standardised(chunk.points(), mean, scale), chunk.rows()
        code = codes[rows]
        for k, of_class in enumerate(files):
            chunks[k].append(of_class.write(points[code == k], rows[code == k]))
    for of_class in files:
        of_class.close()
    raw.io_counters.bytes_read += X.nbytes
    raw.io_counters.bytes_written += n * d * 8
    points_of_classes = [FilePoints(of_class, d, n_threads, raw.io_counters) for of_class in chunks]
    return ScatteredTrainingSet(points_of_classes, classes, mean, scale)
