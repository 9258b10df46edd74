"""Points in chunks of every kind, for the tests."""

import array_api_strict
import dask.array as da
import numpy as np

from sepc.geometry.points import LocalPoints
from sepc.scale.clusters import ClusterPoints
from sepc.scale.devices import DevicePoints
from sepc.scale.files import FilePoints, Store

SCATTERED = ("file", "device", "strict", "cluster")
FORMS = ("local", *SCATTERED)


def scattered(form, X, cuts=(), n_threads=1):
    """Return points in one of `FORMS`, cut into chunks at these rows; equal cuts leave empty chunks between them.

    Subsets stay where they are, however small.
    """
    if form == "local":
        return LocalPoints(X)
    parts = np.split(X, cuts)
    if form == "file":
        store, ends = Store(X.shape[1]), np.cumsum([0, *map(len, parts)])
        chunks = [
            store.write(part, np.arange(end, end + len(part))) for part, end in zip(parts, ends[:-1], strict=True)
        ]
        store.close()
        points = FilePoints(chunks, X.shape[1], n_threads)
    elif form == "cluster":
        points = ClusterPoints.of(da.concatenate([da.from_array(part, chunks=part.shape) for part in parts]))
    else:
        xp = np if form == "device" else array_api_strict
        points = DevicePoints.of(xp, *map(xp.asarray, parts))
    points.local_size = 0
    return points


def random_cuts(rng, n):
    """Return places to cut n rows at, some of them twice."""
    cuts = np.sort(rng.integers(0, n + 1, size=rng.integers(0, 6)))
    return np.repeat(cuts, rng.integers(1, 3, size=len(cuts)))
