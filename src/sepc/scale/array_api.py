"""Densities and memberships of points in arrays of any library of the array API standard: on a graphics card, say.

Points in the same ellipsoids have the same verdict: the few different cases are decided by the same code as NumPy
arrays. Points in no ellipsoid are a case each.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from array_api_compat import array_namespace, device, is_cupy_array, is_torch_array, to_device
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.stack import Candidates, EllipsoidStack, candidates_among, local_overlap
from sepc.model.bitsets import unpacked
from sepc.model.calibration import Calibration, mixed
from sepc.model.category_shares import CategoryShares
from sepc.model.constants import BEYOND
from sepc.model.densities import FARTHEST, LocalDensities, pairs
from sepc.model.local_counts import LocalCounts, fading

# Numbers in a temporary table.
_TABLE = 1 << 24
# Flags in a word, and the value of each bit.
_WORD = 64
_BIT_VALUES = (np.uint64(1) << np.arange(_WORD, dtype=np.uint64)).view(np.int64)

Array = Any  # of whatever library


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """An array library, `xp` by the array API standard, and one of its devices."""

    xp: Any
    device: Any

    @classmethod
    def of(cls, array: Array) -> Self:
        """Return where an array is."""
        return cls(array_namespace(array), device(array))

    def put(self, values: NDArray[Any]) -> Array:
        """Return a copy of a NumPy array there."""
        return self.xp.asarray(np.array(values), device=self.device)

    def fetch(self, array: Array) -> NDArray[Any]:
        """Return an array from there as a NumPy array."""
        gives_cpu = is_cupy_array(array) or is_torch_array(array)
        return np.asarray(to_device(array, "cpu" if gives_cpu else self.xp.__array_namespace_info__().default_device()))

    def look_up(self, table: NDArray[Any], rows: Array) -> Array:
        """Return some rows of a NumPy array as an array there."""
        return self.xp.take(self.put(table), rows, axis=0)


def log_joint(densities: LocalDensities, Z: Array, place: Place) -> Array:
    """Return the log of each class's prior times its density at points Z, as `LocalDensities.log_joint` does."""
    xp = place.xp
    center, unit = place.put(densities.center), place.put(densities.unit)
    coefficients, log_weights = place.put(densities.coefficients), place.put(densities.log_weights)
    i, j = (place.put(which) for which in pairs(len(densities.unit) + 1))
    power = -0.5 * (densities.degrees_of_freedom + len(densities.unit))
    numbers = place.put(np.arange(Z.shape[1])[densities.numbers])
    found = []
    for rows in _blocks(Z.shape[0], len(densities.coefficients)):
        z = xp.clip((xp.take(Z[rows, :], numbers, axis=1) - center) / unit, -FARTHEST, FARTHEST)
        lifted = xp.concat([z, xp.ones_like(z[:, :1])], axis=1)
        square = (xp.take(lifted, i, axis=1) * xp.take(lifted, j, axis=1)) @ coefficients
        square = xp.clip(square, 0.0, None)
        log_shares, beyond = _log_shares(densities.shares, Z[rows, :], place)
        logs = log_weights + power * xp.log(1.0 + (square + beyond) / densities.degrees_of_freedom) + log_shares
        found.append(_by_class(densities, logs, xp))
    return xp.concat(found, axis=0)


def posterior(calibration: Calibration, joint: Array, Z: Array, place: Place) -> Array:
    """Return the probability of each class at points Z by log joint densities, as `Calibration.posterior` does."""
    xp = place.xp
    # Exponents beyond 700 overflow; the logistic function is 0 or 1 long before.
    far = 1.0 / (1.0 + xp.exp(xp.clip(log_density(joint, xp) - calibration.level, -700.0, 700.0)))
    background = calibration.unexplained + (1.0 - calibration.unexplained) * far
    logs = joint / calibration.temperature + place.put(calibration.correction)
    if (linear := calibration.linear) is not None:
        within = xp.minimum(xp.maximum(Z, place.put(linear.low)), place.put(linear.high))
        logs = logs + within @ place.put(linear.slopes)
    by_regions = xp.exp(logs - xp.max(logs, axis=1, keepdims=True))
    by_regions = by_regions / xp.sum(by_regions, axis=1, keepdims=True)
    proba = mixed(by_regions, background[:, None], place.put(calibration.class_share))
    return proba if calibration.local is None else _with_places(calibration.local, proba, Z, place)


def _with_places(local: LocalCounts, proba: Array, Z: Array, place: Place) -> Array:
    """Return probabilities at points Z with the counts of places, as `LocalCounts.taken_into` does."""
    xp = place.xp
    squares = [xp.sum((Z - place.put(center)) ** 2, axis=1) for center in local.centers]
    weights = fading(xp.sqrt(xp.stack(squares, axis=1)), place.put(local.radii), xp) * place.put(local.most_weights)
    shares = place.look_up(local.shares(np.arange(len(local.radii))), xp.argmax(weights, axis=1))
    return proba + xp.max(weights, axis=1, keepdims=True) * (shares - proba)


def log_density(joint: Array, xp: Any) -> Array:
    """Return the log of the density of all classes or components together, shape (n,)."""
    top = xp.max(joint, axis=1, keepdims=True)
    return top[:, 0] + xp.log(xp.sum(xp.exp(joint - top), axis=1))


def typicality(calibration: Calibration, joint: Array, Z: Array, place: Place) -> Array:
    """Return the share of the held-out records that are at least as strange as points Z, shape (n,)."""
    xp, n, relations = place.xp, len(calibration.held_out), calibration.relations
    if not n:
        return xp.full(joint.shape[0], xp.nan, dtype=xp.float64, device=place.device)
    scores = log_density(joint, xp)
    if relations is not None:
        judge, columns = relations.judge(xp, place.put), place.put(relations.columns)
        blocks = [
            judge(xp.take(Z[rows, :].T, columns, axis=0)).T for rows in _blocks(Z.shape[0], len(relations.columns))
        ]
        each = xp.concat([-scores[:, None], xp.concat(blocks, axis=0)], axis=1)
        scores = -xp.max((each - place.put(relations.middle)) / place.put(relations.width), axis=1)
    ranks = xp.searchsorted(place.put(calibration.held_out), scores, side="right")
    return xp.astype(ranks, xp.float64) / n


def _log_shares(shares: CategoryShares | None, Z: Array, place: Place) -> tuple[Array | float, Array | float]:
    """Return what `CategoryShares.log_shares` returns, and squared distances of features beyond 0 and 1."""
    if shares is None:
        return 0.0, 0.0
    xp, categories = place.xp, shares.categories
    no, yes = place.put(categories.no), place.put(categories.yes)
    held = (xp.take(Z, place.put(categories.features), axis=1) - no) / (yes - no)
    possible = xp.clip(held, 0.0, 1.0)
    # Which features are of the same category, as a matrix: there are not many.
    of_group = np.repeat(np.arange(len(categories.groups)), [len(group) for group in categories.groups])
    together = possible @ place.put((of_group[:, None] == of_group).astype(np.float64))
    possible = possible / xp.clip(together, 1.0, None)
    beyond = (held - possible) / BEYOND
    logs = possible @ place.put(shares.slopes) + place.put(shares.constants.sum(axis=0))
    return logs, xp.sum(beyond * beyond, axis=1, keepdims=True)


def _by_class(densities: LocalDensities, by_component: Array, xp: Any) -> Array:
    """Sum up the components of each class; a class without any is impossible."""
    columns = [xp.full_like(by_component[:, 0], -xp.inf)] * densities.n_classes
    for k, of_class in densities.of_classes():
        columns[k] = log_density(by_component[:, of_class], xp)
    return xp.stack(columns, axis=1)


def inside(stack: EllipsoidStack, Z: Array, place: Place) -> Array:
    """Return which ellipsoids hold which points, shape (n, k)."""
    return place.xp.stack([is_held(gauge) for gauge in _gauges(stack, Z, place)], axis=1)


def _gauges(stack: EllipsoidStack, Z: Array, place: Place) -> Iterator[Array]:
    """Yield the gauges of points under each ellipsoid, ``|(axes / radii)' (x - center)|``, shape (n,)."""
    for center, axes, radii in zip(stack.centers, stack.axes, stack.radii, strict=True):
        image = (Z - place.put(center)) @ place.put(axes / radii)
        yield place.xp.sqrt(place.xp.sum(image * image, axis=1))


def local_overlaps(stack: EllipsoidStack, sides: IntArray, Z: Array, place: Place) -> Array:
    """Return the overlap of ellipsoids of different labels that hold a point, as `Rules.local_overlaps` does.

    `sides`, shape (n_ellipsoids,), are 0 or 1: the label of each. Z has at least one row.
    """
    blocks = (Z[rows, :] for rows in _blocks(Z.shape[0], max(len(stack), stack.dim)))
    found = [local_overlap(place.xp, stack, _gauges(stack, z, place), sides) for z in blocks]
    return place.xp.concat(found)


class Groups(NamedTuple):
    """Groups of points that have the same verdict.

    Attributes
    ----------
    sets : ndarray of bool, shape (n_sets, n_ellipsoids)
        Sets of ellipsoids that points lie in, at least one each.
    outside : ndarray of shape (n_outside, d)
        The points in none.
    candidates : Candidates
        The ellipsoids that may be the nearest of these.
    which : array of int, shape (n,)
        The group of each point: first the sets, then the points outside.
    """

    sets: BoolArray
    outside: FloatArray
    candidates: Candidates
    which: Array


def groups_of(stack: EllipsoidStack, Z: Array, place: Place) -> Groups:
    """Return the groups of points Z that have the same verdict."""
    xp = place.xp
    patterns, which = distinct(_words(stack, Z, place), place)
    sets = unpacked(patterns.view(np.uint64), len(stack))
    is_some = sets.any(axis=1)
    # Points in none, whose pattern gets no number, are numbered behind all patterns.
    numbers = place.look_up(np.where(is_some, np.cumsum(is_some) - 1, -1), which)
    in_none = numbers < 0
    behind = int(is_some.sum()) - 1 + xp.cumulative_sum(xp.astype(in_none, xp.int64))
    outside = xp.take(Z, xp.nonzero(in_none)[0], axis=0)
    candidates = _candidates(stack, outside, place)
    return Groups(sets[is_some], place.fetch(outside), candidates, xp.where(in_none, behind, numbers))


def _candidates(stack: EllipsoidStack, points: Array, place: Place) -> Candidates:
    """Return which ellipsoids may be the nearest of points outside of all."""
    xp, found = place.xp, []
    centers, axes, powers = (place.put(array) for array in (stack.centers, stack.axes, stack.powers))
    for rows in _blocks(points.shape[0], len(stack) * stack.dim) if len(stack) else ():
        with np.errstate(all="ignore"):  # for libraries that rest on NumPy
            y = xp.matmul(points[rows, :] - centers, axes) / stack.unit
            limit = xp.full(y.shape[1], xp.inf, dtype=xp.float64, device=place.device)
            pairs = candidates_among(xp, xp.matmul(y * y, powers), stack.unit, limit)
        found.append((rows.start, Candidates(*(place.fetch(field) for field in pairs))))
    return Candidates.joined(found)


def _words(stack: EllipsoidStack, Z: Array, place: Place) -> list[Array]:
    """Return which ellipsoids hold each point, one bit each in words of shape (n,)."""
    xp, n = place.xp, Z.shape[0]
    if not len(stack):
        return [xp.zeros(n, dtype=xp.int64, device=place.device)]
    words = list(chunk_slices(len(stack), _WORD))
    bit_values = place.put(_BIT_VALUES)
    blocks = []
    for rows in _blocks(n, max(len(stack), stack.dim)):
        flags = xp.astype(inside(stack, Z[rows, :], place), xp.int64)
        blocks.append([xp.sum(flags[:, word] * bit_values[: word.stop - word.start], axis=1) for word in words])
    return [xp.concat(word) for word in zip(*blocks, strict=True)]


def distinct(columns: Sequence[Array], place: Place) -> tuple[IntArray, Array]:
    """Return the different rows, shape (n_rows, n_columns), of a table of whole numbers, and which each row is.

    `columns` are arrays of shape (n,) at a place, and so is the number of each row among the different ones.
    """
    xp = place.xp
    values, which = xp.unique_inverse(columns[0])
    rows = place.fetch(values)[:, None]
    for column in columns[1:]:
        values, other = xp.unique_inverse(column)
        n = values.shape[0]
        joined, which = xp.unique_inverse(which * n + other)
        first, second = np.divmod(place.fetch(joined), n)
        rows = np.column_stack([rows[first], place.fetch(values)[second]])
    return np.ascontiguousarray(rows), which


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of rows that make tables of bounded size."""
    return chunk_slices(n, max(_TABLE // width, 1))
