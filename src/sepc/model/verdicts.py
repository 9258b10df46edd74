"""Verdicts of one partition on new points: the rule that applies, the deciding region, and its counts."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.bitsets import unpacked


class Rule(IntEnum):
    """The rule that decides, by where the point lies."""

    R1 = 0  # in exactly one ellipsoid
    R2a = 1  # in several, whose intersection holds training points
    R2b = 2  # in several, whose intersection holds none: their union decides
    R3 = 3  # in none: the nearest one, as it is or grown
    unknown = 4  # depends on values that are missing


@dataclass(frozen=True, eq=False, slots=True)
class Verdicts:
    """Verdicts of one partition on n points.

    Attributes
    ----------
    counts : ndarray of int, shape (n, n_sides)
        Training points of each label in the deciding region.
    rule : ndarray of int, shape (n,)
        A `Rule`.
    lead : ndarray of int, shape (n,)
        The ellipsoid that decides if it is one alone, around the point or nearest to it; -1 otherwise.
    owner : ndarray of int, shape (n,)
        The side whose points shaped the deciding region; -1 for several. It decides where nothing is counted.
    distance : ndarray of shape (n,)
        To the nearest ellipsoid or isolated point; 0 for points in an ellipsoid, NaN for those with gaps.
    regions : RegionNames
        Of the deciding regions.
    points : ndarray of shape (n, d)
        The points; NaN where only the ellipsoids that hold them are known.
    """

    counts: IntArray
    rule: IntArray
    lead: IntArray
    owner: IntArray
    distance: FloatArray
    regions: "RegionNames"
    points: FloatArray

    @property
    def between_labels(self) -> BoolArray:
        """Whether ellipsoids of different labels hold the point, shape (n,)."""
        return np.asarray((self.owner < 0) & (self.rule < Rule.R3))

    def taken(self, rows: IntArray) -> "Verdicts":
        """Return the verdicts on the points in `rows`, which may repeat."""
        return Verdicts(
            self.counts[rows],
            self.rule[rows],
            self.lead[rows],
            self.owner[rows],
            self.distance[rows],
            self.regions.taken(rows),
            self.points[rows],
        )


class RegionNames:
    """Deciding regions by number; their names are made on their first use.

    Numbers below n_ellipsoids are ellipsoids, the next n_ellipsoids are these, grown. All others are in `special`.
    """

    def __init__(self, ellipsoids: list[str], n: int) -> None:
        self.ellipsoids = ellipsoids
        self.number = np.zeros(n, dtype=np.int64)
        # Either a name, or a set of ellipsoids as bits and whether it is their union.
        self.special: list[str | tuple[NDArray[np.uint64], bool]] = []

    def names(self, rows: IntArray | slice = slice(None)) -> NDArray[np.object_]:
        """Return the names of the regions that decide the points in `rows`."""
        distinct, back = np.unique(self.number[rows], return_inverse=True)
        return np.array(self._names(distinct.tolist()), dtype=object)[back]

    def taken(self, rows: IntArray) -> "RegionNames":
        """Return the regions of some of the points."""
        some = RegionNames(self.ellipsoids, 0)
        some.number, some.special = self.number[rows], self.special
        return some

    def add(self, special: list[str | tuple[NDArray[np.uint64], bool]]) -> IntArray:
        """Add regions; return their numbers."""
        start = 2 * len(self.ellipsoids) + len(self.special)
        self.special += special
        return np.arange(start, start + len(special))

    def grown(self, which: IntArray) -> IntArray:
        """Return the numbers of ellipsoids that were grown."""
        return which + len(self.ellipsoids)

    def _names(self, numbers: list[int]) -> list[str]:
        regions = [*self.ellipsoids, *(f"~{name}" for name in self.ellipsoids), *self.special]
        chosen = [regions[number] for number in numbers]
        in_sets = iter(self._members([region[0] for region in chosen if not isinstance(region, str)]))
        return [region if isinstance(region, str) else combined_name(next(in_sets), region[1]) for region in chosen]

    def _members(self, sets: list[NDArray[np.uint64]]) -> Iterator[list[str]]:
        """Yield the names of the ellipsoids of each set; all sets at once take less time."""
        if not sets:
            return
        which, member = unpacked(np.array(sets), len(self.ellipsoids)).nonzero()
        names = np.array(self.ellipsoids, dtype=object)[member].tolist()
        ends = np.cumsum(np.bincount(which)).tolist()
        yield from (names[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True))


def combined_name(names: list[str], union: bool) -> str:
    """Return the name of an intersection, or of a union, of regions."""
    return ("|" if union else "&").join(names)
