"""Models of training sets that are not in memory.

The partition, the counts and the moments of its blocks are what a model in memory has. The training records are not in
the model; what needs them says so.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sepc.bulk.sets import BulkSet
from sepc.bulk.tally import KEPT_GAUGES, census_of
from sepc.densities import Component, LocalDensities, densities_of
from sepc.geometry._checks import FloatArray, Rows
from sepc.geometry.points import LocalPoints, Points, ScatteredPoints, bounds_of
from sepc.model import Model, Outline
from sepc.partitioning import (
    OnStep,
    Partition,
    impurity_count,
    location_and_scale_of,
    partition_of_sets,
    units_from,
)
from sepc.problems import problems
from sepc.rules import Rules

_LEAST_FOR_A_MEAN = 3


def fitted(
    training: BulkSet, features: list[str], n_imp: int | float, trust: str, unit: str, on_steps: Sequence[OnStep | None]
) -> tuple[Model, list[Partition]]:
    """Partition a training set wherever it is.

    Parameters
    ----------
    training : BulkSet
    features : list of str
    n_imp : int or float
    trust : {"local", "paper"}
    unit : str
        What a distance is measured in.
    on_steps : sequence of callable or None
        For the progress of each binary problem.

    Returns
    -------
    Model
        Without training records.
    list of Partition
        One for each binary problem; members are rows of the training set.
    """
    asked = problems(np.empty(0, dtype=np.int64), training.classes)
    counts = np.array([len(points) for points in training.points])
    partitions, rules, components = [], [], []
    for k, problem in enumerate(asked):
        sides = training.points if len(asked) == 1 else _against_the_rest(training.points, k)
        run = _Fit(sides, n_imp, on_steps[k])
        partitions.append(run.partition)
        rules.append(Rules.by(run.census(), run.block_sides, problem.labels))
        components += run.components(codes=(0, 1) if len(asked) == 1 else (k,))
    model = Model(
        classes=training.classes,
        class_count=counts,
        features=features,
        mean=training.mean,
        scale=training.scale,
        unit=unit,
        records=None,
        outline=_outline(training.points),
        rules=rules,
        trust=trust,
        densities=_densities(components, training.points, counts) if trust == "local" else None,
    )
    return model, partitions


class _Fit:
    """One binary problem: its partition, and what passes over the points tell of it."""

    def __init__(self, sides: Sequence[Any], n_imp: int | float, on_step: OnStep | None) -> None:
        self.sides = sides
        self.unit = units_from(location_and_scale_of(*sides)[1])
        self.moments: list[tuple[int, Component]] = []
        allowed = impurity_count(n_imp, min(map(len, sides)))
        a, b = (points.at_hand() for points in sides)
        self.partition, rest = partition_of_sets(a, b, allowed, unit=self.unit, on_step=on_step, on_block=self._note)
        self.alone = [_in_memory(points) for points in rest]
        for side, points in enumerate(self.alone):
            if len(points):
                self._note(side, points)

    @property
    def block_sides(self) -> Rows:
        return np.array([block.side for block in self.partition.blocks], dtype=np.int64)

    def _note(self, side: int, points: Points) -> None:
        """Keep the moments of a block."""
        origin = points.sample(1)[0]  # one of its points: about one far away rounding would take the digits
        n, total, products = points.moments(origin)
        mean = total / n
        self.moments.append((side, Component(0, origin + mean, products - n * np.outer(mean, mean), n)))

    def census(self) -> Any:
        n_gauges = len(self.partition.blocks) * sum(map(len, self.sides))
        return census_of(self.partition, self.sides, self.alone, exact=n_gauges <= KEPT_GAUGES)

    def components(self, codes: Sequence[int]) -> list[Component]:
        """Return the blocks of the sides that are one class each, class by class."""
        return [
            part._replace(code=code) for side, code in enumerate(codes) for own, part in self.moments if own == side
        ]


def _against_the_rest(points: Sequence[Any], k: int) -> tuple[Any, Any]:
    first, *others = (points[j] for j in range(len(points)) if j != k)
    return points[k], first.joined(*others)


def _in_memory(points: Points) -> LocalPoints:
    if isinstance(points, ScatteredPoints):
        return points.local()
    assert isinstance(points, LocalPoints)
    return points


def _densities(components: list[Component], points: Sequence[Any], counts: Rows) -> LocalDensities:
    center, spread = location_and_scale_of(*points)
    unit = units_from(spread)
    moved = [
        part._replace(mean=(part.mean - center) / unit, scatter=part.scatter / np.outer(unit, unit))
        for part in components
    ]
    return densities_of(moved, counts, center, unit)


def _outline(points: Sequence[Any]) -> Outline:
    """Return what is known of the training points without any of them."""
    low, high = bounds_of([p.extent for p in points])
    middles: list[FloatArray] = [
        p.extent.mean if len(p) >= _LEAST_FOR_A_MEAN else np.full(p.dim, np.nan) for p in points
    ]
    return Outline(np.where(low == high, low, np.nan), np.array(middles))
