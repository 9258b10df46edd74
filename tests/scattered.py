"""Points in chunks of every kind, for the tests."""

import array_api_strict
import dask.array as da
import numpy as np

from sepc.geometry.points.sets import LocalPoints
from sepc.scale.cluster_points import ClusterPoints
from sepc.scale.device_points import DevicePoints
from sepc.scale.file_points import FilePoints, TemporaryFiles

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
        files, ends = TemporaryFiles(X.shape[1]), np.cumsum([0, *map(len, parts)])
        chunks = [
            files.write(part, np.arange(end, end + len(part))) for part, end in zip(parts, ends[:-1], strict=True)
        ]
        files.close()
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


def in_chunks(X, form="device"):
    """Return points in one of `FORMS`, cut into chunks at random."""
    return scattered(form, X, random_cuts(np.random.default_rng(len(X)), len(X)))


def some_points(seed, form, least=1):
    """Return a generator, random points, tied half of the time, and the same in one of the forms, cut at random."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(least, 60)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) + 10.0 * rng.integers(0, 2)
    if rng.random() < 0.5:
        X = np.round(X)
    return rng, X, scattered(form, X, random_cuts(rng, n))


def close(found, expected):
    """Require that two arrays are equal but for rounding."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11)
