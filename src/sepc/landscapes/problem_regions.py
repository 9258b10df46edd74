"""Regions of one problem: the records that they hold, their overlaps and surroundings."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.passes import squared_gauges
from sepc.landscapes.region_overlaps import overlaps
from sepc.landscapes.small_disjuncts import Cluster, Disjunct
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.partitions.blocks import Block, Partition

# Members with a squared gauge of this and more hold an ellipsoid in place.
_ON_BOUNDARY = 1.0 - 1e-6


class ProblemRegions:
    """Regions of one problem, with its partition in rows of the model's points.

    Parameters
    ----------
    rules : Rules
    partition : Partition
        In rows of the training set.
    model : PartitionModel

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

    def left_outside(self, points: FloatArray, repeated: BoolArray) -> BoolArray:
        """Return which records would lie in no ellipsoid, had each been left out by itself.

        A minimum-volume ellipsoid is the same without any record that does not hold it in place, and without one of two
        equal records; without one that does, this record is outside. Records are as good as new ones for ellipsoids
        that were built on others.

        Parameters
        ----------
        points : ndarray of shape (n, d)
            Of the model.
        repeated : ndarray of bool, shape (n,)
            Records that are equal to another one.
        """
        n_holding = np.asarray(self.holds.sum(axis=0)).ravel()
        for block, members in zip(self.blocks, self.members, strict=True):
            needed = squared_gauges(block.ellipsoid, points[members]) >= _ON_BOUNDARY
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
        """Return the records of one side that are left over, isolated, or in an ellipsoid of few."""
        pairs = zip(self.blocks, self.members, strict=True)
        few_or_rest = [rows for b, rows in pairs if b.side == side and (b.left_over or len(rows) <= few)]
        return np.sort(np.concatenate([*few_or_rest, self.isolated[side]]))

    def regions_of(self, side: int, cluster: Cluster) -> tuple[tuple[str, ...], str | None]:
        """Return the ellipsoids that a cluster makes up, and the one of the other label that holds most around it."""
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
