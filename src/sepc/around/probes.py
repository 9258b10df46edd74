"""Probes: a few records on which the answers of another model are kept, to know it again."""

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from sepc.around.constants import N_PROBES
from sepc.common.frames import as_frame
from sepc.common.typing import IntArray


def probes_of(X: Any, rows: IntArray) -> Any:
    """Return a few records made from training records, whose `rows` are in an order that does not depend on theirs.

    In a table each value comes from another record, so that no probe is one; of anything else they are records.
    """
    n = min(N_PROBES, len(rows))
    rng = np.random.default_rng(0)
    frame = as_frame(X)
    if frame is not None:
        drawn = [frame[:, j][rows[rng.integers(len(rows), size=n)].tolist()] for j in range(len(frame.columns))]
        return frame[:n].with_columns(*drawn).to_native()
    if getattr(X, "ndim", 0) != 2:
        return _safe_indexing(X, rows[:n].tolist())
    return X[rows[rng.integers(len(rows), size=(n, X.shape[1]))], np.arange(X.shape[1])]
