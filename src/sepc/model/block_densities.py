"""Local densities of blocks: means and covariances of their points, shrunk, and shares of values.

A block's mean and covariance, and how many points it has, are all that its density is made of. So it does not matter
where the points are. Points with gaps take part by what can be expected of them, given the block's own mean and
covariance, and with the uncertainty that is left. Blocks of a class may be read as one; see `joining`.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import Categories, shares_of
from sepc.model.components import Component, common_covariance, component_of_points, shrunken_covariance
from sepc.model.densities import LocalDensities, component_of
from sepc.model.incomplete import expected
from sepc.model.joining import groupings, is_any_joined, joined, members
from sepc.model.quadratics import pairs

# How often moments are made of what can be expected in gaps, and that of the moments. Of 0, 1, 2 and 4 none gave the
# least log loss on all sets that constants are chosen by; from 0 to 2 most sets gain.
_EXPECTATIONS = 2


def local_densities(
    points: FloatArray,
    blocks: Iterable[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> LocalDensities:
    """Read blocks of points as components.

    Parameters
    ----------
    points : ndarray of shape (n, d)
    blocks : iterable of pairs
        Class and rows of each, class by class.
    class_count : ndarray of int, shape (n_classes,)
        How many points of each class there are; their shares are the priors.
    center, unit : ndarray of shape (d,)
        A point among them, such as their mean, and the unit of length of each feature.
    categories : Categories, optional
        Those that stand apart.
    gaps : ndarray of bool, shape (n, d), optional
        Where values are missing; what stands there in the points is where to begin.

    Returns
    -------
    LocalDensities

    Examples
    --------
    >>> one = local_densities(np.array([[1.0], [3.0]]), [(0, np.arange(2))], np.array([2]), np.zeros(1), np.ones(1))
    >>> one.posterior(np.array([[100.0]])).tolist()
    [[1.0]]
    """
    with one_blas_thread(points.size):
        if gaps is None:
            return densities_of(_components(points, blocks, center, unit), class_count, center, unit, categories)
        blocks = list(blocks)
        parts = list(_components(points, blocks, center, unit))
        rows = [rows for _, rows in blocks]
        return _densities_with_gaps(parts, rows, points, gaps, class_count, center, unit, categories)


def joined_densities(
    points: FloatArray,
    blocks: Sequence[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    extents: Iterable[int],
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> list[tuple[LocalDensities, IntArray | None]]:
    """Read blocks of points as components, some of them as one, once for each of several extents.

    Parameters
    ----------
    points, blocks, class_count, center, unit, categories, gaps
        As for `local_densities`.
    extents : iterable of int
        How far blocks are joined, of `joining.EXTENTS`. Where values are missing, it goes by what stands there.

    Returns
    -------
    densities : LocalDensities
    groups : ndarray of int, shape (n_blocks,), or None
        The component that each block went into; None where each has its own.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> halves = [(0, np.flatnonzero(x[:, 0] < 0)), (0, np.flatnonzero(x[:, 0] >= 0))]
    >>> found = joined_densities(x, halves, np.array([400]), np.zeros(2), np.ones(2), [0, 1])
    >>> [(len(local.codes), groups) for local, groups in found]
    [(2, None), (1, array([0, 0]))]
    """
    found: list[tuple[LocalDensities, IntArray | None]] = []
    with one_blas_thread(points.size):
        regions = list(_components(points, blocks, center, unit))
        by_extent = groupings(regions, categories, center, unit)
        before = None
        for groups in (by_extent[extent] for extent in extents):
            if before is not None and np.array_equal(groups, before):
                found.append(found[-1])
                continue
            before, parts = groups, joined(regions, groups)
            if gaps is None:
                densities = densities_of(parts, class_count, center, unit, categories)
            else:
                rows = [np.sort(np.concatenate([blocks[k][1] for k in own])) for own in members(groups)]
                densities = _densities_with_gaps(parts, rows, points, gaps, class_count, center, unit, categories)
            found.append((densities, groups if is_any_joined(groups) else None))
    return found


def _components(
    points: FloatArray, blocks: Iterable[tuple[int, IntArray]], center: FloatArray, unit: FloatArray
) -> Iterator[Component]:
    """Yield the moments of each block."""
    return (component_of_points(code, points[rows], center, unit) for code, rows in blocks)


def _densities_with_gaps(
    parts: list[Component],
    rows: list[IntArray],
    points: FloatArray,
    gaps: BoolArray,
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None,
) -> LocalDensities:
    """Return the densities of components of these rows, by what can be expected in their gaps."""
    parts = _expected_moments(parts, (points - center) / unit, gaps, rows)
    if categories is not None:
        parts = [_with_possible_shares(part, categories, center, unit) for part in parts]
    return densities_of(parts, class_count, center, unit, categories)


def _expected_moments(
    parts: list[Component], z: FloatArray, gaps: BoolArray, blocks: list[IntArray]
) -> list[Component]:
    """Return the moments of blocks by what can be expected in the gaps of their points."""
    for _ in range(_EXPECTATIONS):
        counts = np.array([float(part.n) for part in parts])
        common = common_covariance(np.sum([part.scatter for part in parts], axis=0), counts)
        for k, rows in enumerate(blocks):
            if gaps[rows].any():
                part = parts[k]
                found = expected(z[rows], gaps[rows], part.mean, shrunken_covariance(part.scatter, part.n, common))
                mean = found.points.mean(axis=0)
                away = found.points - mean
                parts[k] = part._replace(mean=mean, scatter=away.T @ away + found.spread)
    return parts


def _with_possible_shares(part: Component, categories: Categories, center: FloatArray, unit: FloatArray) -> Component:
    """Return a component none of whose values of categories can be expected in less than none, or more than all."""
    mean, features = part.mean.copy(), categories.features
    held = categories.possible((center + unit * mean)[None])[0]
    mean[features] = (categories.no + held * (categories.yes - categories.no) - center[features]) / unit[features]
    return part._replace(mean=mean)


def densities_of(
    parts: Iterable[Component],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None = None,
) -> LocalDensities:
    """Return the densities of components whose moments are known.

    Parameters
    ----------
    parts : iterable of Component
        Class by class.
    class_count : ndarray of int, shape (n_classes,)
    center, unit : ndarray of shape (d,)
        The moments are those of ``(x - center) / unit``.
    categories : Categories, optional
        Those that stand apart.

    Returns
    -------
    LocalDensities

    Examples
    --------
    >>> one = densities_of([Component(0, np.zeros(1), np.eye(1), 2)], np.array([2]), np.zeros(1), np.ones(1))
    >>> one.codes.tolist()
    [0]
    """
    held: list[FloatArray] = []
    if categories is not None:
        numbers = categories.numbers(len(unit))
        parts = _numbers_alone(parts, numbers, categories, center, unit, held)
        center, unit = center[numbers], unit[numbers]
    d = len(unit)
    i, j = pairs(d + 1)
    codes: list[int] = []
    # The moments of a component are as many numbers as its coefficients, which take their place.
    table: FloatArray = np.fromiter(_packed(parts, codes), np.dtype((np.float64, len(i))))
    counts = table[:, -1].copy()
    form = np.empty((d + 1, d + 1))
    form[i, j] = form[j, i] = table.sum(axis=0)
    common = common_covariance(form[:d, :d], counts)
    log_scales = np.empty(len(table))
    for k, moments in enumerate(table):
        form[i, j] = form[j, i] = moments
        table[k], log_scales[k] = component_of(form[:d, d], shrunken_covariance(form[:d, :d], counts[k], common))
    number = np.array(codes, dtype=np.int64)
    of_class = np.bincount(number, counts, minlength=len(class_count))[number]
    prior = class_count[number] / class_count.sum()
    log_weights = np.log(prior * counts / of_class) - log_scales
    shares = None
    if categories is not None:
        shares = shares_of(categories, np.array(held), counts, number, len(class_count))
    return LocalDensities(center, unit, table.T.copy(), number, log_weights, len(class_count), shares)


def _numbers_alone(
    parts: Iterable[Component],
    numbers: IntArray,
    categories: Categories,
    center: FloatArray,
    unit: FloatArray,
    held: list[FloatArray],
) -> Iterator[Component]:
    """Yield the moments of the features of no category; note which part of the points has each value."""
    for part in parts:
        held.append(categories.held((center + unit * part.mean)[None])[0])
        yield part._replace(mean=part.mean[numbers], scatter=part.scatter[np.ix_(numbers, numbers)])


def _packed(parts: Iterable[Component], codes: list[int]) -> Iterator[FloatArray]:
    """Yield scatter, mean and number of points of each component, in the order of `pairs`; note its class."""
    for part in parts:
        codes.append(part.code)
        d = len(part.mean)
        form = np.empty((d + 1, d + 1))
        form[:d, :d], form[:d, d], form[d, d] = part.scatter, part.mean, part.n
        yield form[pairs(d + 1)]
