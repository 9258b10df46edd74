"""The survey behind `landscape`: each class by itself, and what each pair of classes shares.

All volumes are taken inside the affine hull of the records, in logs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from math import erfc, exp, inf, sqrt
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sepc.dependence import combination, flat_directions
from sepc.findings import HEAVY, PairFacts
from sepc.frames import plain
from sepc.geometry._checks import FloatArray
from sepc.geometry._chunks import chunks
from sepc.geometry._design_search import FLAT
from sepc.geometry._passes import kernels
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.mve import MVE, min_volume_ellipsoid
from sepc.geometry.overlap import cover_intersection
from sepc.geometry.separability import linearly_separable
from sepc.inputs import TrainingSet
from sepc.partitioning import canonical_order
from sepc.records import Moments, holds, joint, moments, repeated, split, taken

# A class is nearly flat along directions in which it spreads by less than this, in standard deviations of all records.
_NEARLY_FLAT = 1e-3
# A column that varies by no more than this many units in the last place is constant.
_ULPS = 8.0 * float(np.finfo(np.float64).eps)
# Records of each class whose neighbours are looked at.
_NEIGHBOURS = 400

OnStep = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class ClassNote:
    """One class by itself.

    Attributes
    ----------
    label : object
    n_records : int
    share : float
        Of all records.
    dimension : int
        Of the class's affine hull.
    dimension_99 : int
        How many principal directions hold 99 % of its variance, in standardised features.
    participation : float
        Participation ratio of these variances, ``sum(v)^2 / sum(v^2)``: between 1 and the number of features.
    nearly_flat : tuple of str
        Combinations of features that are all but constant in the class. Not given for classes with fewer than twice as
        many records as features, which are flat for want of records.

    Examples
    --------
    >>> ClassNote("a", 10, 0.5, 2, 2, 1.6, ("age - 2 height",)).row()["nearly_flat"]
    ['age - 2 height']
    """

    label: Any
    n_records: int
    share: float
    dimension: int
    dimension_99: int
    participation: float
    nearly_flat: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON.

        Examples
        --------
        >>> ClassNote(np.int64(3), 10, 0.5, 2, 2, 1.6, ()).row()["label"]
        3
        """
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**row, "label": plain(self.label), "nearly_flat": list(self.nearly_flat)}


@dataclass(frozen=True, eq=False, slots=True)
class PairOverlap:
    """What two classes share. Pairs of numbers belong to `class_a` and `class_b`.

    Attributes
    ----------
    class_a, class_b : object
        Labels, in sorted order.
    ovr : tuple of two float
        Overlap ratio: volume of the ellipsoid around the points of both classes that lie in both class ellipsoids, over
        the volume of the class ellipsoid. 0 if there are no such points.
    n_outside : tuple of two int
        Records that do not lie in both class ellipsoids.
    n_inside : tuple of two int
        Records that do.
    ovl : float
        Overlapping coefficient of the class ellipsoids, see `overlap_coefficient`. Read as normal distributions they
        lead to errors of assignment with a probability of at most this for either class, and of half of it on average.
    separable : bool
        Whether a hyperplane separates the records of the two classes: their convex hulls do not meet.
    ellipsoids_meet : bool
    cover_ratio : tuple of two float
        As `ovr`, for an ellipsoid around everything, not only the records, that both class ellipsoids hold.
    by_points, by_intersection : Ellipsoid or None
        These two ellipsoids, in the original units; None if they would be empty.

    Examples
    --------
    >>> from sepc import landscape
    >>> X = [[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [6.0]]
    >>> pair = landscape(X, [0, 0, 0, 0, 1, 1, 1]).overlaps[0]
    >>> pair.n_inside, pair.by_points.center.round(6).tolist(), pair.separable
    ((1, 1), [2.75], False)
    """

    class_a: Any
    class_b: Any
    ovr: tuple[float, float]
    n_outside: tuple[int, int]
    n_inside: tuple[int, int]
    ovl: float
    separable: bool
    ellipsoids_meet: bool
    cover_ratio: tuple[float, float]
    by_points: Ellipsoid | None
    by_intersection: Ellipsoid | None

    def row(self) -> dict[str, Any]:
        """Return the numbers by the names that they have in a table, ready for JSON.

        Examples
        --------
        >>> PairOverlap(0, 1, (0.5, 0.2), (3, 4), (7, 6), 0.4, False, True, (0.6, 0.3), None, None).row()["ovr_b"]
        0.2
        """
        return {
            "class_a": plain(self.class_a),
            "class_b": plain(self.class_b),
            "ovr_a": self.ovr[0],
            "ovr_b": self.ovr[1],
            "n_outside_a": self.n_outside[0],
            "n_outside_b": self.n_outside[1],
            "ovl": self.ovl,
            "separable": self.separable,
            "n_inside_a": self.n_inside[0],
            "n_inside_b": self.n_inside[1],
            "mean_error": self.ovl / 2.0,
            "ellipsoids_meet": self.ellipsoids_meet,
            "cover_ratio_a": self.cover_ratio[0],
            "cover_ratio_b": self.cover_ratio[1],
        }


class _Hull:
    """The affine hull of all records, with coordinates in it."""

    def __init__(self, total: Moments, unit: FloatArray) -> None:
        self.mean, self.unit = total.mean, unit
        variance, axes = np.linalg.eigh(total.covariance / np.outer(unit, unit))
        self.axes = axes[:, ::-1]
        # One point has no dimension, but an ellipsoid around it has one.
        self.dimension = max(int(np.count_nonzero(variance >= FLAT**2)), 1)
        self.is_all = self.dimension == len(unit)

    @property
    def length(self) -> FloatArray:
        """Units of length of the coordinates."""
        return self.unit if self.is_all else np.ones(self.dimension)

    def coordinates(self, points: FloatArray) -> FloatArray:
        if self.is_all:
            return points
        basis = self.axes[:, : self.dimension]
        inside = np.concatenate([((x - self.mean) / self.unit) @ basis for x in chunks(points)])
        inside.setflags(write=False)
        return inside

    def back(self, E: Ellipsoid) -> Ellipsoid:
        """Return an ellipsoid of the hull in the original units, with the radius of flat directions across the hull."""
        if self.is_all:
            return E
        basis, across = np.split(self.axes, [self.dimension], axis=1)
        factor = np.hstack([basis @ (E.axes * E.radii), across * FLAT]) * self.unit[:, None]
        axes, radii = kernels().rows_svd(factor)
        return Ellipsoid.trusted(self.mean + self.unit * (basis @ E.center), axes.T, radii)


class Survey:
    """One look at a training set, class by class and pair by pair.

    Parameters
    ----------
    data : TrainingSet
    on_step : callable, optional
        Called as ``on_step(n_done, n_total)`` after each class and each pair.

    Examples
    --------
    >>> from sepc.inputs import training_set
    >>> survey = Survey(training_set([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), None)
    >>> [pair.separable for pair in survey.overlaps()]
    [True]
    """

    def __init__(self, data: TrainingSet, on_step: OnStep | None) -> None:
        self.data, self.on_step = data, on_step
        parts = split(data.X, data.codes, len(data.classes))
        self.sizes = [len(points) for points in parts]
        self.moments = [moments(points) for points in parts]
        self.total = joint(self.moments)
        spread = np.sqrt(self.total.covariance.diagonal())
        self.scale = np.where(spread > _ULPS * np.abs(self.total.mean), spread, 0.0)
        self.unit = np.where(spread > 0.0, spread, spread.max() or 1.0)
        self.hull = _Hull(self.total, self.unit)
        self.parts = [self.hull.coordinates(points) for points in parts]
        self.n_read, self.n_done = 0.0, 0
        self.mves = [self.step(self.solve(points)) for points in self.parts]

    def step(self, result: Any) -> Any:
        """Report that something is done, and hand it on."""
        self.n_done += 1
        if self.on_step is not None:
            n = len(self.parts)
            self.on_step(self.n_done, n + n * (n - 1) // 2)
        return result

    def solve(self, points: FloatArray) -> MVE:
        """Return the ellipsoid around some points in coordinates of the hull."""
        mve = min_volume_ellipsoid(points, unit=self.hull.length)
        self.n_read += mve.n_passes * len(points)
        return mve

    def ellipsoids(self) -> tuple[Ellipsoid, ...]:
        """Return the ellipsoids of the classes in the original units."""
        return tuple(self.hull.back(mve.ellipsoid) for mve in self.mves)

    def notes(self) -> tuple[ClassNote, ...]:
        """Return what there is to know of each class by itself."""
        return tuple(self._note(k) for k in range(len(self.parts)))

    def overlaps(self) -> tuple[PairOverlap, ...]:
        """Return what each pair of classes shares."""
        return tuple(self.step(self._overlap(a, b)) for a, b in self.pairs())

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of two classes, the first before the second."""
        return combinations(range(len(self.parts)), 2)

    def _note(self, k: int) -> ClassNote:
        covariance = self.moments[k].covariance / np.outer(self.unit, self.unit)
        variance = np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0)
        held = np.cumsum(variance)
        total = float(held[-1])
        return ClassNote(
            label=self.data.classes[k],
            n_records=self.sizes[k],
            share=self.sizes[k] / len(self.data.X),
            dimension=self.mves[k].rank,
            dimension_99=int(np.searchsorted(held, 0.99 * total)) + 1 if total else 0,
            participation=total**2 / float(variance @ variance) if total else 0.0,
            nearly_flat=tuple(self._flat(covariance)) if self.sizes[k] >= 2 * len(self.unit) else (),
        )

    def _flat(self, covariance: FloatArray) -> Iterator[str]:
        """Yield the combinations of features that are all but constant."""
        directions, leading = flat_directions(covariance, _NEARLY_FLAT)
        for direction, lead in zip(directions.T, leading, strict=True):
            terms = np.flatnonzero(np.abs(direction) > 0.01)
            slopes = direction * self.unit[lead] / self.unit
            yield combination([(float(f"{slopes[j]:.3g}"), self.data.features[j]) for j in terms])

    def _overlap(self, a: int, b: int) -> PairOverlap:
        A, B, E, F = self.parts[a], self.parts[b], self.mves[a].ellipsoid, self.mves[b].ellipsoid
        # An ellipsoid holds its own points.
        inside = holds(F, A), holds(E, B)
        self.n_read += len(A) + len(B)
        rows_a, rows_b = (np.flatnonzero(mask) for mask in inside)
        shared = taken((A, rows_a), (B, rows_b))
        by_points = self.solve(shared).ellipsoid if len(shared) else None
        cover = cover_intersection(E, F)
        n_a, n_b = len(rows_a), len(rows_b)
        return PairOverlap(
            class_a=self.data.classes[a],
            class_b=self.data.classes[b],
            ovr=_ratios(-inf if by_points is None else by_points.log_volume, E, F),
            n_outside=(len(A) - n_a, len(B) - n_b),
            n_inside=(n_a, n_b),
            ovl=overlap_coefficient(E, F),
            separable=cover.empty or linearly_separable(A, B, unit=self.hull.length, first=inside),
            ellipsoids_meet=not cover.empty,
            cover_ratio=_ratios(cover.log_volume, E, F),
            by_points=None if by_points is None else self.hull.back(by_points),
            by_intersection=None if cover.ellipsoid is None else self.hull.back(cover.ellipsoid),
        )

    def facts(self, overlaps: Sequence[PairOverlap]) -> Iterator[PairFacts]:
        """Yield what the findings on pairs of classes rest on."""
        labels = [str(label) for label in self.data.classes.tolist()]
        for (a, b), pair in zip(self.pairs(), overlaps, strict=True):
            common = self._common(a, b)
            mixing = self._mixing(a, b) if common >= HEAVY else 0.0
            sizes = self.sizes[a], self.sizes[b]
            yield PairFacts((labels[a], labels[b]), sizes, pair.n_inside, pair.separable, common, mixing)

    def _common(self, a: int, b: int) -> float:
        """Return the overlapping coefficient of normal distributions with two classes' means and joint covariance."""
        A, B = self.moments[a], self.moments[b]
        within = (A.n * A.covariance + B.n * B.covariance) / (A.n + B.n) / np.outer(self.unit, self.unit)
        step = (A.mean - B.mean) / self.unit
        square = float(step @ np.linalg.solve(within + FLAT**2 * np.eye(len(step)), step))
        # Equal means would give this by chance.
        square -= len(step) * (1.0 / A.n + 1.0 / B.n)
        return erfc(sqrt(max(square, 0.0) / 8.0))

    def _mixing(self, a: int, b: int) -> float:
        """Return how many of some records, as many of either class, have their nearest neighbour in the other class."""
        n = min(self.sizes[a], self.sizes[b], _NEIGHBOURS)
        if n < 2:
            return 0.0
        even = np.arange(n)
        A, B = (
            points[canonical_order(points)[even * len(points) // n]] / self.hull.length
            for points in (self.parts[a], self.parts[b])
        )
        between = cdist(A, B)
        mixed = 0.0
        for points, other in ((A, between.min(axis=1)), (B, between.min(axis=0))):
            within = cdist(points, points)
            np.fill_diagonal(within, inf)
            own = within.min(axis=1)
            mixed += float(np.mean(other < own) + 0.5 * np.mean(other == own))
        return mixed / 2.0

    def contradictions(self) -> tuple[int, int]:
        """Return how many records share all values with one of another class, and how many groups these form."""
        X, codes = self.data.X, self.data.codes
        rows = repeated(X)
        if not len(rows):
            return 0, 0
        group = np.unique(X[rows] + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
        n_classes = len(self.parts)
        kinds = np.unique(group * n_classes + codes[rows]) // n_classes
        mixed = np.flatnonzero(np.bincount(kinds) > 1)
        return int(np.count_nonzero(np.isin(group, mixed))), len(mixed)


def _ratios(log_volume: float, E: Ellipsoid, F: Ellipsoid) -> tuple[float, float]:
    """Return a volume over those of two ellipsoids that hold it."""
    return exp(min(log_volume - E.log_volume, 0.0)), exp(min(log_volume - F.log_volume, 0.0))
