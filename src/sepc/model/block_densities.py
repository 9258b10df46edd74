"""Blocks of a partition as mixtures: means and covariances of their points, shrunk, and shares of values.

A block's mean and covariance, and how many points it has, are all that its density is made of. Points with gaps take
part by what can be expected of them, given the block's own mean and covariance, and with the uncertainty that is left.
Blocks of a class may be read as one; see `joining`.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import Categories
from sepc.model.components import component_of_points
from sepc.model.joining import groupings, is_any_joined, joined, members
from sepc.model.mixtures import Mixture


def mixture_of_blocks(
    points: FloatArray,
    blocks: Iterable[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> Mixture:
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
    Mixture
    """
    with one_blas_thread(points.size):
        blocks = list(blocks)
        parts = [component_of_points(code, points[rows], center, unit) for code, rows in blocks]
        found = Mixture.of(parts, class_count, center, unit, categories)
        return found if gaps is None else found.with_gaps(points, gaps, [rows for _, rows in blocks])


def joined_mixtures(
    points: FloatArray,
    blocks: Sequence[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    extents: Iterable[int],
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> list[tuple[Mixture, IntArray | None]]:
    """Read blocks of points as components, some of them as one, once for each of several extents.

    Parameters
    ----------
    points, blocks, class_count, center, unit, categories, gaps
        As for `mixture_of_blocks`.
    extents : iterable of int
        How far blocks are joined, of `joining.EXTENTS`. Where values are missing, it goes by what stands there.

    Returns
    -------
    mixture : Mixture
    groups : ndarray of int, shape (n_blocks,), or None
        The component that each block went into; None where each has its own.
    """
    found: list[tuple[Mixture, IntArray | None]] = []
    with one_blas_thread(points.size):
        regions = [component_of_points(code, points[rows], center, unit) for code, rows in blocks]
        by_extent = groupings(regions, categories, center, unit)
        before = None
        for groups in (by_extent[extent] for extent in extents):
            if before is not None and np.array_equal(groups, before):
                found.append(found[-1])
                continue
            before = groups
            mixture = Mixture.of(joined(regions, groups), class_count, center, unit, categories)
            if gaps is not None:
                rows = [np.sort(np.concatenate([blocks[k][1] for k in own])) for own in members(groups)]
                mixture = mixture.with_gaps(points, gaps, rows)
            found.append((mixture, groups if is_any_joined(groups) else None))
    return found
