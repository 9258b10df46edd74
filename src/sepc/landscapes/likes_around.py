"""Labels of the training records nearest to some of them: how far they bear a label out."""

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from sepc.common.frames import plain
from sepc.common.typing import IntArray
from sepc.model.partition_model import PartitionModel

N_NEAR = 10


def likes_around(model: PartitionModel, records: IntArray) -> tuple[list[int], list[Any]]:
    """Return how many of the 10 nearest training records have the same label, and which label most of them have.

    Parameters
    ----------
    model : PartitionModel
    records : ndarray of int, shape (m,)
        Rows of the model's points.

    Returns
    -------
    n_own : list of m int
    label : list of m labels
        The first of those that are equally frequent.
    """
    nearest = nearest_others(model, records, min(N_NEAR, len(model.points) - 1))
    codes = model.codes[nearest]
    n_own = np.count_nonzero(codes == model.codes[records][:, None], axis=1)
    counts = np.array([np.bincount(row, minlength=len(model.classes)) for row in codes])
    labels = [plain(model.classes[k]) for k in counts.argmax(axis=1)] if len(records) else []
    return n_own.tolist(), labels


def nearest_others(model: PartitionModel, records: IntArray, k: int) -> IntArray:
    """Return the rows of the k training points nearest to some of them, themselves left out, shape (m, k)."""
    # The tree counts from 1 to k + 1, so that the shape is the same for k = 0.
    nearest = cKDTree(model.points).query(model.points[records], k=list(range(1, k + 2)))[1]
    # A record need not come first among its exact copies.
    itself = nearest == records[:, None]
    itself[~itself.any(axis=1), -1] = True
    others: IntArray = nearest[~itself].reshape(-1, k)
    return others
