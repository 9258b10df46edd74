"""Survey of a training set: each class by itself, and the overlap of each pair, for the tables of a `DataLandscape`.

All volumes are logarithms, inside the affine hull of the records.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from math import erfc, exp, inf, sqrt
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from sepc.common.frames import plain
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import TrainingSet
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import FLAT, Ellipsoid
from sepc.geometry.hulls import linearly_separable
from sepc.geometry.intersection import cover_intersection
from sepc.geometry.mve import MVE, min_volume_ellipsoid
from sepc.geometry.passes import holds
from sepc.landscapes.constants import HEAVY_OVERLAP
from sepc.landscapes.linear_dependence import CONSTANT, AffineHull, Moments, combination, flat_directions
from sepc.landscapes.near_records import repeated_rows
from sepc.partitions.ordering import canonical_order

OnStep = Callable[[int, int], None]


@dataclass(frozen=True, eq=False, slots=True)
class ClassSummary:
    """Size and dimensions of one class.

    Attributes
    ----------
    label : object
    n_records : int
    share : float
        Of all records.
    dimension : int
        Of the class's affine hull.
    dimension_99 : int
        Number of principal components with 99 % of its variance, in standardised features.
    participation : float
        Participation ratio of these variances, ``sum(v)^2 / sum(v^2)``: between 1 and the number of features.
    nearly_flat : tuple of str
        Combinations of features that are nearly constant in the class; none for classes with fewer than twice as many
        records as features, which are flat for want of records.
    """

    label: Any
    n_records: int
    share: float
    dimension: int
    dimension_99: int
    participation: float
    nearly_flat: tuple[str, ...]

    def row(self) -> dict[str, Any]:
        """Return the fields by name, ready for JSON."""
        return {**asdict(self), "label": plain(self.label), "nearly_flat": list(self.nearly_flat)}


@dataclass(frozen=True, eq=False, slots=True)
class PairOverlap:
    """Overlap of two classes. Pairs of numbers belong to `class_a` and `class_b`.

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
        Overlapping coefficient of the class ellipsoids as normal distributions, see `overlap_coefficient`. Half of it,
        `mean_error` in tables, is the Bayes error between these two distributions with equal priors.
    separable : bool
        Whether a hyperplane separates the records of the two classes: their convex hulls do not meet.
    ellipsoids_meet : bool
    cover_ratio : tuple of two float
        As `ovr`, for an ellipsoid around the whole intersection of the class ellipsoids, not only its records.
    by_points, by_intersection : Ellipsoid or None
        These two ellipsoids, in the original units; None if they would be empty.
    normal_overlap : float
        Overlapping coefficient of two normal distributions with the classes' means and their joint covariance.
    neighbour_error : float
        Share of records whose nearest neighbour is of the other class, one half where nothing distinguishes them; 0
        where the normal distributions do not overlap heavily.
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
    normal_overlap: float
    neighbour_error: float

    @property
    def labels(self) -> tuple[str, str]:
        """Labels of the classes as texts."""
        return str(plain(self.class_a)), str(plain(self.class_b))

    @property
    def shares_inside(self) -> tuple[float, float]:
        """Shares of the records of each class that lie in both ellipsoids."""
        shares = [n / (n + out) for n, out in zip(self.n_inside, self.n_outside, strict=True)]
        return shares[0], shares[1]

    @property
    def inside_in_words(self) -> str:
        """Numbers of records of each class in both ellipsoids, as text."""
        (a, b), (in_a, in_b), (out_a, out_b) = self.labels, self.n_inside, self.n_outside
        return f"{in_a} of the {in_a + out_a} records of {a} and {in_b} of the {in_b + out_b} of {b}"

    def row(self) -> dict[str, Any]:
        """Return the numbers by their names in a table, ready for JSON."""
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


class Survey:
    """Ellipsoids, moments and overlaps of the classes; `on_step` is called after each class and each pair."""

    def __init__(self, data: TrainingSet, on_step: OnStep | None) -> None:
        self.data, self.on_step = data, on_step
        parts = [np.ascontiguousarray(data.X[data.codes == k]) for k in range(len(data.classes))]
        for points in parts:
            points.setflags(write=False)  # as the compiled code expects points
        self.sizes = [len(points) for points in parts]
        self.moments = [Moments.of(points) for points in parts]
        self.total = Moments.joint(self.moments)
        spread = np.sqrt(self.total.covariance.diagonal())
        self.scale = np.where(spread > CONSTANT * np.abs(self.total.mean), spread, 0.0)
        self.unit = np.where(spread > 0.0, spread, spread.max() or 1.0)
        self.hull = AffineHull(self.total, self.unit)
        self.parts = [self.hull.coordinates(points) for points in parts]
        self.n_read, self.n_done = 0.0, 0
        self.mves = [self._done(self._solve(points)) for points in self.parts]

    def _done(self, result: Any) -> Any:
        """Count one more step as done, and return its result."""
        self.n_done += 1
        if self.on_step is not None:
            n = len(self.parts)
            self.on_step(self.n_done, n + n * (n - 1) // 2)
        return result

    def _solve(self, points: FloatArray) -> MVE:
        """Return the ellipsoid around some points in coordinates of the hull."""
        mve = min_volume_ellipsoid(points, unit=self.hull.length)
        self.n_read += mve.n_passes * len(points)
        return mve

    def ellipsoids(self) -> tuple[Ellipsoid, ...]:
        """Return the ellipsoids of the classes in the original units."""
        return tuple(self.hull.in_original_units(mve.ellipsoid) for mve in self.mves)

    def class_summaries(self) -> tuple[ClassSummary, ...]:
        """Return the summary of each class by itself."""
        return tuple(self._summary(k) for k in range(len(self.parts)))

    def overlaps(self) -> tuple[PairOverlap, ...]:
        """Return the overlap of each pair of classes."""
        return tuple(self._done(self._overlap(a, b)) for a, b in combinations(range(len(self.parts)), 2))

    def _summary(self, k: int) -> ClassSummary:
        covariance = self.moments[k].covariance / np.outer(self.unit, self.unit)
        variance = np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0)
        held = np.cumsum(variance)
        total = float(held[-1])
        return ClassSummary(
            label=self.data.classes[k],
            n_records=self.sizes[k],
            share=self.sizes[k] / len(self.data.X),
            dimension=self.mves[k].rank,
            dimension_99=int(np.searchsorted(held, 0.99 * total)) + 1 if total else 0,
            participation=total**2 / float(variance @ variance) if total else 0.0,
            nearly_flat=tuple(self._flat_combinations(covariance)) if self.sizes[k] >= 2 * len(self.unit) else (),
        )

    def _flat_combinations(self, covariance: FloatArray) -> Iterator[str]:
        """Yield the nearly constant combinations of features."""
        directions, leading = flat_directions(covariance, below=1e-3)  # in standard deviations of all records
        for direction, lead in zip(directions.T, leading, strict=True):
            terms = np.flatnonzero(np.abs(direction) > 0.01)
            slopes = direction * self.unit[lead] / self.unit
            yield combination([(float(f"{slopes[j]:.3g}"), self.data.features[j]) for j in terms])

    def _overlap(self, a: int, b: int) -> PairOverlap:
        A, B, E, F = self.parts[a], self.parts[b], self.mves[a].ellipsoid, self.mves[b].ellipsoid
        # An ellipsoid holds its own points.
        inside = holds(F, A), holds(E, B)
        self.n_read += len(A) + len(B)
        shared = np.concatenate([A[inside[0]], B[inside[1]]])
        by_points = self._solve(shared).ellipsoid if len(shared) else None
        cover = cover_intersection(E, F)
        n_a, n_b = (int(np.count_nonzero(mask)) for mask in inside)
        normal_overlap = self._normal_overlap(a, b)
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
            by_points=None if by_points is None else self.hull.in_original_units(by_points),
            by_intersection=None if cover.ellipsoid is None else self.hull.in_original_units(cover.ellipsoid),
            normal_overlap=normal_overlap,
            neighbour_error=self._neighbour_error(a, b) if normal_overlap >= HEAVY_OVERLAP else 0.0,
        )

    def _normal_overlap(self, a: int, b: int) -> float:
        """Return the overlapping coefficient of normal distributions with two classes' means and joint covariance."""
        A, B = self.moments[a], self.moments[b]
        within = (A.n * A.covariance + B.n * B.covariance) / (A.n + B.n) / np.outer(self.unit, self.unit)
        step = (A.mean - B.mean) / self.unit
        square = float(step @ np.linalg.solve(within + FLAT**2 * np.eye(len(step)), step))
        # Its expectation for equal means.
        square -= len(step) * (1.0 / A.n + 1.0 / B.n)
        return erfc(sqrt(max(square, 0.0) / 8.0))

    def _neighbour_error(self, a: int, b: int) -> float:
        """Return the share of up to 400 records of either class whose nearest neighbour is of the other class."""
        n = min(self.sizes[a], self.sizes[b], 400)
        if n < 2:
            return 0.0
        even = np.arange(n)
        A, B = (
            points[canonical_order(points)[even * len(points) // n]] / self.hull.length
            for points in (self.parts[a], self.parts[b])
        )
        between = cdist(A, B)
        errors = 0.0
        for points, other in ((A, between.min(axis=1)), (B, between.min(axis=0))):
            within = cdist(points, points)
            np.fill_diagonal(within, inf)
            own = within.min(axis=1)
            errors += float(np.mean(other < own) + 0.5 * np.mean(other == own))
        return errors / 2.0

    @cached_property
    def repeated(self) -> IntArray:
        """Rows that share all their values with another one."""
        return repeated_rows(self.data.X)

    def n_outside(self) -> int:
        """Return the number of records outside of all classes' ellipsoids, each held out by itself.

        An ellipsoid changes only without a record of positive weight in its optimal design, which is then outside.
        """
        repeated = np.zeros(len(self.data.X), dtype=bool)
        repeated[self.repeated] = True
        n_outside = 0
        for k, (points, mve) in enumerate(zip(self.parts, self.mves, strict=True)):
            needed = points[(mve.weights > 0.0) & ~repeated[self.data.codes == k]]
            for j, other in enumerate(self.mves):
                if j != k and len(needed):
                    self.n_read += len(needed)
                    needed = needed[~holds(other.ellipsoid, needed)]
            n_outside += len(needed)
        return n_outside

    def contradictions(self, complete: BoolArray) -> tuple[tuple[int, ...], ...]:
        """Return groups of `complete` rows of several classes that share all values, the largest group first."""
        X, codes = self.data.X, self.data.codes
        rows = self.repeated[complete[self.repeated]]
        if not len(rows):
            return ()
        group = np.unique(X[rows] + 0.0, axis=0, return_inverse=True)[1].reshape(-1)
        n_classes = len(self.parts)
        group_of_class = np.unique(group * n_classes + codes[rows]) // n_classes
        mixed = np.bincount(group_of_class) > 1
        order = np.argsort(group, kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(group))[:-1])
        groups = [tuple(part.tolist()) for part, is_mixed in zip(parts, mixed.tolist(), strict=True) if is_mixed]
        return tuple(sorted(groups, key=lambda one: (-len(one), one)))


def _ratios(log_volume: float, E: Ellipsoid, F: Ellipsoid) -> tuple[float, float]:
    """Return the ratios of a volume to those of two ellipsoids around it."""
    return exp(min(log_volume - E.log_volume, 0.0)), exp(min(log_volume - F.log_volume, 0.0))
