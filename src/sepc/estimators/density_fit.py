"""Densities of a partition: from its blocks to a mixture that is calibrated, in a core and over all records."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import FloatArray, IntArray
from sepc.estimators.core import Core, HashParts
from sepc.estimators.left_out import Choice, LeftOut, learn_from_left_out
from sepc.estimators.refinement import Mixtures, Records, calibrate, refine
from sepc.model.block_densities import joined_mixtures
from sepc.model.calibration import Calibration
from sepc.model.category_shares import Categories
from sepc.model.held_out import HeldOutDensities
from sepc.model.incomplete import known_share
from sepc.model.mixtures import Mixture
from sepc.partitions.run import PartitionOptions


@dataclass(frozen=True, eq=False, slots=True)
class DensityFit:
    """Densities of a training set, and what records that were left out say of them.

    Attributes
    ----------
    mixture : Mixture
    groups : ndarray of int, shape (n_regions,), or None
        Which component each region is read in, class by class; None where each has its own.
    calibration : Calibration or None
        None where it was not asked for.
    held_out : tuple of Mixture
        Those that each leave a part of the records out.
    part : ndarray of int, shape (n,)
        Which of these has not seen each record; -1 where all have.
    """

    mixture: Mixture
    groups: IntArray | None
    calibration: Calibration | None
    held_out: tuple[Mixture, ...]
    part: NDArray[np.integer]

    @classmethod
    def of(
        cls,
        core: Core,
        blocks: Sequence[tuple[int, IntArray]],
        classes: NDArray[Any],
        center: FloatArray,
        unit: FloatArray,
        categories: Categories | None,
        n_imp: int | float | None,
        options: PartitionOptions,
        calibrated: bool,
    ) -> Self:
        """Make densities of the blocks of a partition.

        Parameters
        ----------
        core : Core
        blocks : sequence of pairs
            Class and rows of each block, class by class.
        classes : ndarray of shape (n_classes,)
        center, unit : ndarray of shape (d,)
            Of the whole training set.
        categories : Categories or None
            Those that may be read by the shares of their values.
        n_imp : int, float or None
        options : PartitionOptions
        calibrated : bool
            Whether records that are left out choose and calibrate.
        """
        of_blocks = _Blocks(core, blocks, np.bincount(core.codes, minlength=len(classes)), center, unit)
        if not calibrated:
            mixture, groups = of_blocks.read(Choice(categories))
            return cls(mixture, groups, None, (), np.empty(0, dtype=np.int64))
        parts = None if core.hashes is None else HashParts.of(core.hashes, core.codes)(core.hashes, core.codes)
        how = n_imp, options, categories, core.gaps, parts
        found = learn_from_left_out(core.points, core.codes, classes, unit, *how)
        whole = [of_blocks.judged(found[0])]
        # A mixture that foretells its own records worse than others foretold those that they had not seen is not what
        # was chosen: with few records EM iterations may end in different places. Then its own records decide.
        if whole[0].loss > found[0].loss:
            whole += map(of_blocks.judged, found[1:])
        best = min(whole, key=lambda one: one.loss)
        return cls(best.mixture, best.groups, best.of.calibration, best.of.mixtures, best.of.part)

    def refined(self, records: Records, parts: HashParts, class_count: IntArray, part: NDArray[np.integer]) -> Self:
        """Return the same after passes over all records, of which the core is a sample."""
        found = refine(Mixtures(self.mixture, self.held_out, parts), records)
        calibration = None
        if self.calibration is not None:
            calibration = calibrate(found, records, found.whole.unit, class_count)
        return replace(self, mixture=found.whole, calibration=calibration, held_out=found.held_out, part=part)

    @property
    def held_out_densities(self) -> HeldOutDensities | None:
        """The densities without a part of the records; None where none were made."""
        if self.calibration is None:
            return None
        return HeldOutDensities(tuple(mixture.densities for mixture in self.held_out), self.part)


class _Blocks(NamedTuple):
    """The blocks of a core's partition, class and rows of each, and what it takes to read them as a mixture."""

    core: Core
    blocks: Sequence[tuple[int, IntArray]]
    class_count: IntArray
    center: FloatArray
    unit: FloatArray

    def read(self, choice: Choice) -> tuple[Mixture, IntArray | None]:
        """Return the mixture that a choice makes of them, and which component each block went into, if some are one."""
        core, how = self.core, (choice.categories, self.core.gaps)
        units = self.class_count, self.center, self.unit
        ((mixture, groups),) = joined_mixtures(core.points, self.blocks, *units, [choice.extent], *how)
        mixture = mixture.with_tails(choice.tails)
        for _ in range(choice.em_steps):
            mixture = mixture.step(core.there, core.codes)
        return mixture, groups

    def judged(self, of: LeftOut) -> "_Whole":
        """Return the mixture of a choice, and the mean log loss of the records of the core."""
        mixture, groups = self.read(of.choice)
        there, codes = self.core.there, self.core.codes
        proba = of.calibration.posterior(mixture.densities.log_joint(there), known_share(there))
        loss = float(-np.log(proba[np.arange(len(codes)), codes]).mean())
        return _Whole(of, mixture, groups, loss)


class _Whole(NamedTuple):
    """The mixture of a whole core by a choice, and how badly it foretells its own records."""

    of: LeftOut
    mixture: Mixture
    groups: IntArray | None
    loss: float
