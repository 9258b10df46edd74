"""Queries of one chunk of points, and how the answers of several chunks are merged.

Chunks are arrays of shape (n, d) of any array library; `xp` is its namespace, that of the array API standard. They are
gone through in parts, so that temporaries stay small. Answers are NumPy arrays and numbers.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import is_held

# Numbers in a part: on a processor they stay in its cache, on a device they keep it busy.
_ON_PROCESSOR = 1 << 15
_ON_DEVICE = 1 << 26

# Where more points than this many times those wanted are above a level, a sample shows where to cut.
_MANY = 20


class Sums(NamedTuple):
    """Number of points, sums of shape (d,) and sums of products of shape (d, d), about an origin."""

    n: int
    total: FloatArray
    products: FloatArray


class Far(NamedTuple):
    """The largest value of all points, and the points with the largest ones, copies left out as far as they are seen.

    Attributes
    ----------
    top : float
    points : ndarray of shape (k, d)
    values : ndarray of shape (k,)
    """

    top: float
    points: FloatArray
    values: FloatArray


class Slab(NamedTuple):
    """Sums over points with shares between 0 and 1 that grow across a slab, and over those inside of the slab.

    Attributes
    ----------
    share : float
        Sum of the shares.
    weighted : ndarray of shape (d,)
        Sum of the points times their shares.
    cost : float
        Sum of the integrals of the shares.
    inside : Sums
        Of the points inside of the slab.
    """

    share: float
    weighted: FloatArray
    cost: float
    inside: Sums


class Window(NamedTuple):
    """Points between two parallel hyperplanes, and sums over those above both.

    Attributes
    ----------
    points : ndarray of shape (k, d)
    scores : ndarray of shape (k,)
    n_above : int
    above : ndarray of shape (d,)
        Sum of the points above, relative to the shift.
    """

    points: FloatArray
    scores: FloatArray
    n_above: int
    above: FloatArray


def to_host(array: Any) -> Any:
    """Return an array as NumPy's."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "get"):  # CuPy does not convert by itself
        return array.get()
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def all_to_host(xp: Any, *arrays: Any) -> Sequence[Any]:
    """Return arrays of numbers of double precision as NumPy's, in one transfer: a device makes each of them wait."""
    if xp is np:
        return arrays
    joined = to_host(xp.concat([xp.reshape(array, (-1,)) for array in arrays]))
    ends = np.cumsum([prod(array.shape) for array in arrays])
    return [part.reshape(array.shape) for part, array in zip(np.split(joined, ends[:-1]), arrays, strict=True)]


def like(xp: Any, points: Any, values: Any) -> Any:
    """Return NumPy's values where the points are."""
    return values if xp is np else xp.asarray(values, device=points.device)


def parts(xp: Any, points: Any) -> Iterator[Any]:
    """Yield the points in parts of some rows."""
    n, size = points.shape[0], max((_ON_PROCESSOR if xp is np else _ON_DEVICE) // points.shape[1], 1)
    return (points[rows, :] for rows in chunk_slices(n, size))


def joined(xp: Any, found: list[Any]) -> Any:
    """Return several arrays as one."""
    return found[0] if len(found) == 1 else xp.concat(found)


def extent(xp: Any, points: Any, origin: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Return the smallest and largest coordinates, the sum of the differences from `origin`, and how many."""
    origin = like(xp, points, origin)
    found = [
        all_to_host(xp, xp.min(x, axis=0), xp.max(x, axis=0), xp.sum(x - origin[None, :], axis=0))
        for x in parts(xp, points)
    ]
    low, high, total = zip(*found, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0), np.sum(total, axis=0), points.shape[0]


def merged_extents(
    found: Sequence[tuple[FloatArray, FloatArray, FloatArray, int]],
) -> tuple[FloatArray, FloatArray, FloatArray, int]:
    """Return smallest and largest coordinates, sums and numbers over all answers."""
    low, high, total, n = zip(*found, strict=True)
    return np.min(low, axis=0), np.max(high, axis=0), np.sum(total, axis=0), sum(n)


def moments(xp: Any, points: Any, origin: FloatArray) -> Sums:
    """Return sums and sums of products of the differences from `origin`."""
    origin = like(xp, points, origin)
    shifted = (x - origin[None, :] for x in parts(xp, points))
    return merged_sums([Sums(x.shape[0], *all_to_host(xp, xp.sum(x, axis=0), x.T @ x)) for x in shifted])


def merged_sums(found: Sequence[Sums]) -> Sums:
    """Return the sums of all answers."""
    return Sums(sum(s.n for s in found), np.sum([s.total for s in found], 0), np.sum([s.products for s in found], 0))


def squares(
    xp: Any, points: Any, origin: FloatArray, center: FloatArray, columns: FloatArray, offset: FloatArray
) -> Any:
    """Return ``|columns' (x - origin - center) + offset|^2`` of each point, shape (n,)."""
    own = _own_pass(xp, points, origin, center, columns, offset)
    if own is not None:
        return own
    origin, columns, offset = (like(xp, points, array) for array in (origin, columns, offset - center @ columns))
    found = []
    for x in parts(xp, points):
        image = (x - origin[None, :]) @ columns + offset[None, :]
        found.append(xp.sum(image * image, axis=1))
    return joined(xp, found)


def _own_pass(xp: Any, points: Any, *frame: FloatArray) -> Any:
    """Return what `squares` returns from a namespace that has a faster way; None if it has not."""
    return xp.row_squares(points, *frame) if hasattr(xp, "row_squares") else None


def farthest(
    xp: Any,
    points: Any,
    origin: FloatArray,
    center: FloatArray,
    columns: FloatArray,
    offset: FloatArray,
    level: float,
    count: int,
) -> Far:
    """Return the largest of `squares`, and up to `count` points above a level."""
    values = squares(xp, points, origin, center, columns, offset)
    top = float(xp.max(values))
    if count == 0 or not top > level:
        return Far(top, np.empty((0, points.shape[1])), np.empty(0))
    rows = _uppermost(xp, values, level, count)
    farthest_points, their_values = all_to_host(xp, xp.take(points, rows, axis=0), xp.take(values, rows))
    return Far(top, *_largest(farthest_points, their_values, count))


def _uppermost(xp: Any, values: Any, level: float, count: int) -> Any:
    """Return the positions of the values above a level; if these are many, of the largest, no fewer than `count`."""
    n = values.shape[0]
    if n > _MANY * count:
        # Twice as many as wanted, by a sample: sorting all of them would take longer than finding them.
        sample = xp.sort(values[:: n // (_MANY * count) + 1])
        wanted = min(sample.shape[0], 2 + 2 * count * sample.shape[0] // n)
        cut = float(sample[sample.shape[0] - wanted])
        if cut > level:
            rows = xp.nonzero(values >= cut)[0]
            if rows.shape[0] >= count:
                return rows
    return xp.nonzero(values > level)[0]


def merged_far(found: Sequence[Far], count: int) -> Far:
    """Return the `count` points with the largest values of all answers."""
    if len(found) == 1:
        return found[0]
    tops = [f.top for f in found]
    top = max(tops) if not np.isnan(tops).any() else np.nan  # so that NaN is not overlooked
    points, values = np.concatenate([f.points for f in found]), np.concatenate([f.values for f in found])
    return Far(top, *_largest(points, values, count))


def _largest(points: FloatArray, values: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the `count` points with the largest values, without those that are next to a copy of themselves."""
    order = np.argsort(-values, kind="stable")
    largest = points[order[:count]]
    if not (largest[1:] == largest[:-1]).all(axis=1).any():
        return largest, values[order[:count]]
    points, values = points[order], values[order]
    new = np.ones(len(points), dtype=bool)
    new[1:] = (points[1:] != points[:-1]).any(axis=1)
    return points[new][:count], values[new][:count]


def held(xp: Any, points: Any, center: FloatArray, axes: FloatArray, radii: FloatArray) -> tuple[int, float]:
    """Return how many points an ellipsoid holds, and the smallest gauge."""
    smallest, count = np.inf, 0
    for gauge in gauges(xp, points, center, axes, radii):
        smallest = min(smallest, float(xp.min(gauge)))
        count += int(xp.count_nonzero(is_held(gauge)))
    return count, smallest


def gauges(xp: Any, points: Any, center: FloatArray, axes: FloatArray, radii: FloatArray) -> Iterator[Any]:
    """Yield the gauges of the points, part by part."""
    nothing = np.zeros(len(center))
    own = _own_pass(xp, points, center, nothing, axes / radii, nothing)
    if own is not None:
        yield xp.sqrt(own)
        return
    center, axes, radii = (like(xp, points, array) for array in (center, axes, radii))
    for x in parts(xp, points):
        image = ((x - center[None, :]) @ axes) / radii[None, :]
        yield xp.sqrt(xp.sum(image * image, axis=1))


def beyond(xp: Any, points: Any, origin: FloatArray, direction: FloatArray, slack: float) -> Any:
    """Return which points are on one side of a hyperplane, a mask of shape (n,)."""
    return joined(xp, [score >= -slack for score in scores(xp, points, origin, direction)])


def scores(xp: Any, points: Any, origin: FloatArray, direction: FloatArray) -> Iterator[Any]:
    """Yield ``direction @ (x - origin)`` of the points, part by part."""
    origin, direction = like(xp, points, origin), like(xp, points, direction)
    for x in parts(xp, points):
        yield (x - origin[None, :]) @ direction


def take(xp: Any, points: Any, positions: IntArray) -> FloatArray:
    """Return some points."""
    if xp is np:
        rows: FloatArray = np.array(points[positions], dtype=np.float64)
        return rows
    host: FloatArray = to_host(xp.take(points, like(xp, points, positions), axis=0))
    return host


def slab(xp: Any, points: Any, shift: FloatArray, direction: FloatArray, threshold: float, tau: float) -> Slab:
    """Return the sums of a slab of half-width `tau` about a threshold.

    A share is ``(score - threshold) / (2 * tau) + 0.5``, cut off at 0 and 1.
    """
    own: Slab | None = xp.row_slabs(points, shift, direction, threshold, tau) if hasattr(xp, "row_slabs") else None
    if own is not None:
        return own
    found = []
    direction = like(xp, points, direction)
    for away in _shifted(xp, points, shift):
        t = away @ direction - threshold
        share = xp.clip((t + tau) / (2.0 * tau), 0.0, 1.0)
        # The integral of the share: a parabola across the slab, a line above it.
        cost = xp.sum(tau * share * share + xp.clip(t - tau, 0.0, None))
        inside = xp.take(away, xp.nonzero(xp.abs(t) < tau)[0], axis=0)
        sums = xp.sum(share), share @ away, cost, xp.sum(inside, axis=0), inside.T @ inside
        total, weighted, cost, *of_inside = all_to_host(xp, *sums)
        found.append(Slab(float(total), weighted, float(cost), Sums(inside.shape[0], *of_inside)))
    return merged_slabs(found)


def _shifted(xp: Any, points: Any, shift: FloatArray) -> Iterator[Any]:
    """Yield the points minus `shift`, part by part; without a copy where nothing is to be subtracted."""
    if not shift.any():
        return parts(xp, points)
    there = like(xp, points, shift)
    return (x - there[None, :] for x in parts(xp, points))


def merged_slabs(found: Sequence[Slab]) -> Slab:
    """Return the sums of all slabs."""
    return Slab(
        sum(s.share for s in found),
        np.sum([s.weighted for s in found], axis=0),
        sum(s.cost for s in found),
        merged_sums([s.inside for s in found]),
    )


def window(xp: Any, points: Any, shift: FloatArray, direction: FloatArray, low: float, high: float) -> Window:
    """Return the points with a score from `low` to `high`, and the sums of those above."""
    own = xp.row_scores(points, shift, direction, high) if hasattr(xp, "row_scores") else None
    if own is not None:
        score, sums = own
        rows = xp.nonzero((score >= low) & (score <= high))[0]
        between, at, (*above, n_above) = all_to_host(xp, xp.take(points, rows, axis=0), xp.take(score, rows), sums)
        return Window(between, at, int(n_above), np.array(above))
    found = []
    direction = like(xp, points, direction)
    for x, away in zip(parts(xp, points), _shifted(xp, points, shift), strict=True):
        score = away @ direction
        is_above = xp.astype(score > high, away.dtype)
        rows = xp.nonzero((score >= low) & (score <= high))[0]
        some = xp.take(x, rows, axis=0), xp.take(score, rows), xp.sum(is_above), is_above @ away
        between, at, n_above, above = all_to_host(xp, *some)
        found.append(Window(between, at, int(n_above), above))
    return merged_windows(found, points.shape[1])


def merged_windows(found: Sequence[Window], dim: int) -> Window:
    """Return the points of all windows, and the sums of those above."""
    return Window(
        np.concatenate([np.empty((0, dim)), *(w.points for w in found)]),
        np.concatenate([np.empty(0), *(w.scores for w in found)]),
        sum(w.n_above for w in found),
        np.sum([w.above for w in found], axis=0),
    )
