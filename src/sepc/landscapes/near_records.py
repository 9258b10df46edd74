"""Records that are near others: exact copies, nearest neighbours and their labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sepc.common.frames import plain
from sepc.common.splits import record_hashes
from sepc.common.typing import FloatArray, IntArray
from sepc.model.partition_model import PartitionModel


def repeated_rows(X: FloatArray) -> IntArray:
    """Return the rows that (almost certainly) occur more than once: those whose hashes do."""
    sample = X[:: -(-len(X) // 500)]
    varied = max(range(X.shape[1]), key=lambda j: len(np.unique(sample[:, j])))
    rows = _repeated_values(X[:, varied])  # leaves few rows to hash where one feature varies much
    return rows[_repeated_values(record_hashes(X[rows]))]


def _repeated_values(values: NDArray[Any]) -> IntArray:
    """Return the positions of values that occur more than once."""
    ordered = np.sort(values)
    return np.flatnonzero(np.isin(values, ordered[1:][ordered[1:] == ordered[:-1]]))


def nearest_others(model: PartitionModel, records: IntArray, k: int) -> IntArray:
    """Return the rows of the k training points nearest to some of them, these themselves excluded, shape (m, k)."""
    # A list of ranks from 1 to k + 1, so that the shape is the same for k = 0.
    nearest = cKDTree(model.points).query(model.points[records], k=list(range(1, k + 2)))[1]
    # A record need not come first among its exact copies.
    itself = nearest == records[:, None]
    itself[~itself.any(axis=1), -1] = True
    others: IntArray = nearest[~itself].reshape(-1, k)
    return others


def labels_around(model: PartitionModel, records: IntArray) -> tuple[list[int], list[Any]]:
    """Return how many of the 10 nearest training records have the same label, and the most frequent label of them.

    Records are rows of the model's points; of equally frequent labels it is the first.
    """
    codes = model.codes[nearest_others(model, records, min(10, len(model.points) - 1))]
    n_own = np.count_nonzero(codes == model.codes[records][:, None], axis=1)
    counts = np.array([np.bincount(row, minlength=len(model.classes)) for row in codes])
    labels = [plain(model.classes[k]) for k in counts.argmax(axis=1)] if len(records) else []
    return n_own.tolist(), labels
