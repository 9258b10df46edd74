"""Regions of one binary problem: the records that they hold, their overlaps and surroundings."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.passes import squared_gauges
from sepc.geometry.separation import separate
from sepc.geometry.stack import EllipsoidStack
from sepc.landscapes.small_disjuncts import Cluster, Disjunct
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.partitions.blocks import Block, Partition

# Relative slack of widths, so that rounding never makes ellipsoids that meet disjoint.
_SLACK = 1e-6


class ProblemRegions:
    """Regions of one problem, with its partition, which comes in rows of the training set.

    Attributes
    ----------
    blocks : tuple of Block
        Of the partition, one for each region.
    members : list of ndarray of int
        Rows of the model's points that each block was built on, ascending.
    isolated : tuple of ndarray of int
        Rows of the model's points in no block, of each side.
    """

    def __init__(self, rules: Rules, partition: Partition, model: PartitionModel) -> None:
        row_of_model = np.zeros(int(model.rows.max()) + 1, dtype=np.int64)
        row_of_model[model.rows] = np.arange(len(model.rows))
        self.rules, self.blocks = rules, partition.blocks
        self.members = [np.sort(row_of_model[block.members]) for block in partition.blocks]
        self.isolated = tuple(np.sort(row_of_model[rows]) for rows in partition.isolated)

    @cached_property
    def holds(self) -> csr_array:
        """Membership of records in ellipsoids, 1 or 0, shape (n_ellipsoids, n)."""
        held = [self.rules.members(k) for k in range(len(self.rules.stack))]
        which = np.repeat(np.arange(len(held)), [len(rows) for rows in held])
        record = np.concatenate(held) if held else np.empty(0, dtype=np.int32)
        return csr_array((np.ones(len(record), dtype=np.int64), (which, record)), (len(held), len(self.rules.side)))

    def held_out_outside(self, points: FloatArray, repeated: BoolArray) -> BoolArray:
        """Return which records, shape (n, d), would lie in no ellipsoid, were each held out by itself.

        A minimum-volume ellipsoid does not change without a record inside of it, or without one of two equal records
        (`repeated`); without a record on its boundary this record is outside. Ellipsoids that were built on other
        records do not change.
        """
        n_holding = np.asarray(self.holds.sum(axis=0)).ravel()
        for block, members in zip(self.blocks, self.members, strict=True):
            needed = squared_gauges(block.ellipsoid, points[members]) >= 1.0 - 1e-6  # on the boundary
            n_holding[members[needed & ~repeated[members]]] -= 1
        return np.asarray(n_holding == 0)

    def regions(self, disjuncts: Sequence[Disjunct]) -> Iterator[tuple[Any, ...]]:
        """Yield the row of each ellipsoid in the table `FittedLandscape.regions`."""
        around = {name: disjunct.surrounded_by for disjunct in disjuncts for name in disjunct.regions}
        for k, block in enumerate(self.blocks):
            name, label = self.rules.names[k], self.rules.labels[block.side]
            own, total = int(self.rules.held[k, block.side]), int(self.rules.held[k].sum())
            volume = block.ellipsoid.log_volume
            density = float(np.log(total)) - volume
            inside = around.get(name) or self._surrounding(k, block)
            found = name in around
            yield name, label, own, total - own, own / total, volume, density, block.iteration, found, inside

    def _surrounding(self, k: int, block: Block) -> str | None:
        """Return the region of the other label that holds more than half of the records an ellipsoid was built on."""
        held = self.holds[:, self.members[k]].sum(axis=1) * (self.rules.sides != block.side)
        most = int(np.argmax(held))
        return self.rules.names[most] if 2 * held[most] > len(self.members[k]) else None

    def disjunct_candidates(self, side: int, few: float) -> IntArray:
        """Return the records of one side that are left over, isolated, or in an ellipsoid of at most `few`."""
        pairs = zip(self.blocks, self.members, strict=True)
        few_or_rest = [rows for b, rows in pairs if b.side == side and (b.left_over or len(rows) <= few)]
        return np.sort(np.concatenate([*few_or_rest, self.isolated[side]]))

    def regions_of(self, side: int, cluster: Cluster) -> tuple[tuple[str, ...], str | None]:
        """Return the ellipsoids built mostly on a cluster, and the one of the other label that holds most around it."""
        names, sides = self.rules.names, self.rules.sides
        shares = [np.isin(rows, cluster.members).mean() for rows in self.members]
        own = [name for name, s, share in zip(names, sides, shares, strict=True) if s == side and share >= 0.5]
        held = self.holds[:, cluster.around].sum(axis=1) * (sides != side)
        return tuple(own), names[int(np.argmax(held))] if held.any() else None

    def edges(self) -> Iterator[tuple[str, str, int, float, bool]]:
        """Yield the row of each pair of ellipsoids that overlap in the table `FittedLandscape.graph`."""
        names, sides = self.rules.names, self.rules.sides
        for a, b, n_common, margin in overlaps(self.rules.stack, self.holds):
            yield names[a], names[b], n_common, margin, bool(sides[a] == sides[b])

    def first_label_regions(self) -> Iterator[tuple[str, Ellipsoid, csr_array]]:
        """Yield name and ellipsoid of the regions of the first label, and which records each holds, shape (1, n)."""
        for k in np.flatnonzero(self.rules.sides == 0).tolist():
            yield self.rules.names[k], self.blocks[k].ellipsoid, self.holds[[k]]

    def impure(self) -> Iterator[tuple[int, tuple[list[str], list[str]]]]:
        """Yield the records in an ellipsoid of the other label; the ellipsoids of their own label, and of the other."""
        by_record = self.holds.T.tocsr()
        foreign = self.rules.sides[by_record.indices] != np.repeat(self.rules.side, np.diff(by_record.indptr))
        record = np.repeat(np.arange(len(self.rules.side)), np.diff(by_record.indptr))
        for i in np.unique(record[foreign]).tolist():
            here = slice(by_record.indptr[i], by_record.indptr[i + 1])
            which = sorted(zip(by_record.indices[here].tolist(), foreign[here].tolist(), strict=True))
            own, other = ([self.rules.names[k] for k, is_foreign in which if is_foreign == kind] for kind in (0, 1))
            yield i, (own, other)


def overlaps(stack: EllipsoidStack, holds: csr_array) -> Iterator[tuple[int, int, int, float]]:
    """Yield the pairs of ellipsoids that overlap, by the exact test of `sepc.geometry.separate` or by a record in both.

    `holds`, of shape (n_ellipsoids, n), has 1 where an ellipsoid holds a record. Yields two numbers, the smaller one
    first and in ascending order, the number of records in both, and the margin as in `Separation`.
    """
    common = (holds @ holds.T).toarray()
    for i, j in _may_meet(stack, common > 0):
        separation = separate(stack[i], stack[j])
        if common[i, j] or not separation.disjoint:
            yield i, j, int(common[i, j]), float(separation.margin)


def _may_meet(stack: EllipsoidStack, common: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield the pairs of ellipsoids that neither bounding boxes nor one separating direction prove disjoint."""
    unit = stack.radii.max(initial=np.finfo(float).tiny)
    centers, scaled = stack.centers[:, 0] / unit, stack.axes * (stack.radii / unit)[:, None]
    shapes, half = np.matmul(scaled, scaled.mT), np.sqrt(np.square(scaled).sum(axis=2))
    for i in range(len(stack)):
        apart = (np.abs(centers - centers[i]) > (half + half[i]) * (1.0 + _SLACK)).any(axis=1) & ~common[i]
        near = i + 1 + np.flatnonzero(~apart[i + 1 :])
        offset = centers[near] - centers[i]
        with np.errstate(all="ignore"):  # NaN proves nothing disjoint
            normal = _separating_normals(offset, shapes[near] + shapes[i])
            reach = _widths(normal, scaled[i]) + _widths(normal, scaled[near])
            apart = (normal * offset).sum(axis=1) > reach * (1.0 + _SLACK)
        yield from ((i, j) for j in near[~apart | common[i, near]].tolist())


def _separating_normals(offset: FloatArray, shapes: FloatArray) -> FloatArray:
    """Return near-optimal normals of hyperplanes between pairs of ellipsoids: the sum of shapes applied inversely."""
    # A small ball keeps flat pairs solvable; no normal can prove intersecting ellipsoids disjoint.
    ball = 1e-12 * np.trace(shapes, axis1=1, axis2=2) + 1e-200
    return np.asarray(
        np.linalg.solve(shapes + ball[:, None, None] * np.eye(offset.shape[1]), offset[:, :, None])[:, :, 0]
    )


def _widths(normal: FloatArray, scaled_axes: FloatArray) -> FloatArray:
    """Return the support functions of centred ellipsoids at some normals."""
    return np.asarray(np.sqrt(np.square(np.matmul(normal[:, None], scaled_axes)[:, 0]).sum(axis=1)))
