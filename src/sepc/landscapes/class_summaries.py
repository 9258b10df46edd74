"""Summaries of classes, each by itself, and of pairs of classes: the rows of the tables of a `DataLandscape`."""

from dataclasses import dataclass, fields
from typing import Any

from sepc.common.frames import plain
from sepc.geometry.ellipsoid import Ellipsoid


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
        How many principal directions hold 99 % of its variance, in standardised features.
    participation : float
        Participation ratio of these variances, ``sum(v)^2 / sum(v^2)``: between 1 and the number of features.
    nearly_flat : tuple of str
        Combinations of features that are all but constant in the class. Not given for classes with fewer than twice as
        many records as features, which are flat for want of records.
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
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**row, "label": plain(self.label), "nearly_flat": list(self.nearly_flat)}


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
        Likeness of the class ellipsoids, read as normal distributions: their overlapping coefficient, see
        `overlap_coefficient`. Half of it, `mean_error` in tables, is how often the rule "the larger density" errs on
        points of these two distributions, if both are equally frequent.
    separable : bool
        Whether a hyperplane separates the records of the two classes: their convex hulls do not meet.
    ellipsoids_meet : bool
    cover_ratio : tuple of two float
        As `ovr`, for an ellipsoid around everything, not only the records, that both class ellipsoids hold.
    by_points, by_intersection : Ellipsoid or None
        These two ellipsoids, in the original units; None if they would be empty.
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
        """Return the numbers by the names that they have in a table, ready for JSON."""
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
