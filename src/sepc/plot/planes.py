"""Projections of a partition: onto two features, or onto two principal directions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepc.common.errors import InputError
from sepc.common.text import percent
from sepc.common.typing import FloatArray
from sepc.estimators.classifier import SEPClassifier
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.partition_model import PartitionModel
from sepc.partitions.blocks import Block


@dataclass(frozen=True, eq=False, slots=True)
class Plane:
    """Two orthonormal directions in the units of a model, the columns of `basis`, shape (d, 2), and units of the plot.

    Coordinates w along the directions are drawn at ``w * scale + origin``. `names` are those of the two axes.
    """

    basis: FloatArray
    scale: FloatArray
    origin: FloatArray
    names: tuple[str, str]

    def place(self, Z: FloatArray) -> FloatArray:
        """Return the coordinates in the plot of points in the model's units, shape (n, 2)."""
        return np.asarray((Z @ self.basis) * self.scale + self.origin)

    def back(self, shown: FloatArray) -> FloatArray:
        """Return points of the plot in the model's units, shape (n, d): the inverse of `place` if d is 2."""
        return np.asarray(((shown - self.origin) / self.scale) @ self.basis.T)

    def project(self, E: Ellipsoid) -> tuple[FloatArray, FloatArray]:
        """Return the projection of an ellipsoid: its center, and the factor that maps the unit disc to it."""
        flat = E.shadow(self.basis)
        return flat.center * self.scale + self.origin, self.scale[:, None] * flat.axes * flat.radii


class Outline(NamedTuple):
    """Projection of one region: the ellipse ``{center + factor @ u : |u| <= 1}``."""

    region: str
    label: Any
    n_points: int
    center: FloatArray
    factor: FloatArray

    def curve(self) -> FloatArray:
        """Return points along the closed boundary, shape (n, 2)."""
        # 257 points: corners are off the curve by less than 1e-4 of its size.
        circle = Ellipsoid.trusted(np.zeros(2), np.eye(2), np.ones(2)).boundary(257)
        return np.asarray(self.center + circle @ self.factor.T)

    @property
    def reach(self) -> FloatArray:
        """Largest distance from the center along each axis, shape (2,)."""
        return np.asarray(np.sqrt(np.square(self.factor).sum(axis=1)))


class Line(NamedTuple):
    """Hyperplane of two features, ``{x : normal @ x == offset}``, and the label that it separates; None if binary."""

    normal: FloatArray
    offset: float
    label: Any

    def across(self, x_limits: tuple[float, float], y_limits: tuple[float, float]) -> FloatArray:
        """Return the ends of the segment within some limits, shape (2, 2); NaN, or of length 0, outside of them."""
        low, high = np.array([x_limits, y_limits]).T
        size = high - low
        normal = self.normal * size  # in units of the box, which is then the unit square
        offset = self.offset - self.normal @ low
        length = float(np.linalg.norm(normal))
        foot, along = normal * offset / length**2, np.array([-normal[1], normal[0]]) / length
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.sort([(0.0 - foot) / along, (1.0 - foot) / along], axis=0)
        enter, leave = np.nanmax(ends[0]), np.nanmin(ends[1])
        t = np.array([enter, max(leave, enter)])
        return np.asarray(low + size * (foot + t[:, None] * along))


def class_regions(clf: SEPClassifier) -> Iterator[tuple[str, int, Block]]:
    """Yield each region of a class: its name, the number of the class, and the block.

    Of one-vs-rest problems, only the regions of the class itself.
    """
    together = len(clf.partitions_) == 1
    for k, (rules, found) in enumerate(zip(clf.model_.rules, clf.partitions_, strict=True)):
        for name, block in zip(rules.names, found.blocks, strict=True):
            if together or block.side == 0:
                yield name, block.side if together else k, block


def isolated_points(model: PartitionModel) -> Iterator[tuple[FloatArray, Any]]:
    """Yield each isolated point of a class, in the model's units, with its label; None if it has several."""
    classes = model.classes.tolist()
    for k, rules in enumerate(model.rules):
        together = len(model.rules) == 1
        of_side = [*classes, None] if together else [classes[k], None, None]
        for point, side in zip(rules.isolated, rules.isolated_sides.tolist(), strict=True):
            if together or side != 1:
                yield point, of_side[side]


def lines(clf: SEPClassifier, plane: Plane) -> Iterator[Line]:
    """Yield the hyperplanes of a classifier of two features, in units of the plot."""
    labels = [None] if len(clf.partitions_) == 1 else clf.classes_.tolist()
    for label, found in zip(labels, clf.partitions_, strict=True):
        for normal, offset in found.hyperplanes:
            shown = (plane.basis.T @ normal) / plane.scale
            yield Line(shown, float(offset + shown @ plane.origin), label)


def plane_of(model: PartitionModel, features: Any, Z: FloatArray) -> Plane:
    """Return the plane of two features, or of the first two principal directions of points Z in the model's units.

    `features` are two names or numbers, "principal", or None: both features if there are two, else "principal".
    """
    d = len(model.features)
    if d < 2:
        raise InputError("display-one-feature", feature=model.features[0])
    if features is None:
        features = (0, 1) if d == 2 else "principal"
    if isinstance(features, str) and features == "principal":
        return principal_plane(Z, model.unit)
    return _pair(model, features)


def _pair(model: PartitionModel, features: Any) -> Plane:
    if isinstance(features, str) or not isinstance(features, Sequence | np.ndarray) or len(features) != 2:
        raise InputError("display-features", features=features)
    i, j = (_number(model, feature) for feature in features)
    if i == j:
        raise InputError("display-feature-twice", features=features)
    basis = np.eye(len(model.features))[:, [i, j]]
    scales, names = model.scales, model.scales.names(model.features)
    return Plane(basis, scales.scale[[i, j]], scales.mean[[i, j]], (names[i], names[j]))


def _number(model: PartitionModel, feature: Any) -> int:
    d = len(model.features)
    if isinstance(feature, str) and feature in model.features:
        return model.features.index(feature)
    if isinstance(feature, (int, np.integer)) and not isinstance(feature, bool) and 0 <= feature < d:
        return int(feature)
    some = ", ".join(map(repr, model.features[:5])) + (", ..." if d > 5 else "")
    raise InputError("display-unknown-feature", feature=feature, last=d - 1, names=some)


def principal_plane(Z: FloatArray, unit: str) -> Plane:
    """Return the plane of the first two principal directions of some points, in units of this name."""
    from sklearn.decomposition import PCA

    if len(Z) < 2:
        raise InputError("too-few-principal-points", n_points=len(Z))
    found = PCA(2, svd_solver="full").fit(Z)
    names = [
        f"principal direction {k} ({percent(float(share))})\nin {unit}"
        for k, share in enumerate(found.explained_variance_ratio_, start=1)
    ]
    return Plane(found.components_.T, np.ones(2), np.zeros(2), (names[0], names[1]))
