"""Mixtures: the components of each class and their densities, made of blocks of records and refined by EM iterations.

A component is the first two moments of records of one class, its covariance shrunk towards what all have in common. A
record of a block belongs to that block alone. In an EM iteration it belongs to each component of its class with a
probability, in proportion to the component's weight times its density there (E step). The components then get the
counts, means and covariances of the records under these probabilities (M step; Dempster, Laird and Rubin, 1977). The
densities that these probabilities come from are almost normal, whatever the degrees of freedom of the mixture are.

Missing values have their conditional mean and covariance, given the moments of the record's component. All that an
iteration needs of the records is a sum over them, so it does not matter where they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import Categories, shares_of
from sepc.model.constants import (
    COMMON_RIDGE,
    CONDITIONAL_MEANS,
    DEGREES_OF_FREEDOM,
    DEGREES_OF_FREEDOM_IN_EM,
    RIDGE,
    SHRINKAGE,
    SIZE_WEIGHS,
)
from sepc.model.densities import MANY_FEATURES, LocalDensities, components_of, log_sum_exp, pairs
from sepc.model.incomplete import expected

# Entries of a table of products.
_TABLE = 1 << 15


class Component(NamedTuple):
    """Points of one class: mean of shape (d,), sums of squares and products about it, and their number."""

    code: int
    mean: FloatArray
    scatter: FloatArray
    n: float


def component_of_points(code: int, points: FloatArray, center: FloatArray, unit: FloatArray) -> Component:
    """Return the moments of ``(points - center) / unit``; uses up the points."""
    points -= center
    points /= unit
    mean = points.mean(axis=0)
    points -= mean
    return Component(code, mean, points.T @ points, len(points))


def common_covariance(scatter: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the covariance that components have in common, shape (d, d), from the sum of their scatters."""
    return np.asarray(scatter / max(counts.sum() - len(counts), 1.0) + COMMON_RIDGE * np.eye(len(scatter)))


def shrunken_covariance(
    scatter: FloatArray, n: FloatArray | float, common: FloatArray, own_size: bool = False
) -> FloatArray:
    """Return the covariance of a component of n points, shrunk towards the common one.

    With `own_size` towards the common one in the size of the component: times ``q**(f / (f + SIZE_WEIGHS))``, with q
    the mean square of its points by the common one, and f = (n - 1) d the numbers that it is the mean of. A few records
    show how large a group is, though not which shape it has.
    A scatter of shape (..., d, d) goes with n of shape (..., 1, 1).
    """
    d = len(common)
    strength, target = SHRINKAGE * (d + 1), common
    if own_size:
        squares = np.einsum("ij,...ji->...", np.linalg.inv(common), scatter)[..., None, None]
        free = np.maximum((n - 1.0) * d, RIDGE)  # EM may leave less than a record
        target = np.maximum(squares / free, RIDGE) ** (free / (free + SIZE_WEIGHS)) * common
    return np.asarray((scatter + strength * target) / (n + strength) + RIDGE * np.eye(d))


@dataclass(frozen=True, eq=False, slots=True)
class Mixture:
    """Components with their densities.

    Attributes
    ----------
    parts : list of Component
        Class by class.
    densities : LocalDensities
    class_count : ndarray of int, shape (n_classes,)
    center, unit : ndarray of shape (d,)
        The moments are those of ``(x - center) / unit``.
    categories : Categories or None
        Those that are modelled apart.
    own_size : bool
        Whether covariances are shrunk towards the common one in the size of each component.
    """

    parts: list[Component]
    densities: LocalDensities
    class_count: NDArray[np.integer]
    center: FloatArray
    unit: FloatArray
    categories: Categories | None
    own_size: bool = False

    @classmethod
    def of(
        cls,
        parts: Sequence[Component],
        class_count: NDArray[np.integer],
        center: FloatArray,
        unit: FloatArray,
        categories: Categories | None = None,
        dof: float = DEGREES_OF_FREEDOM,
        own_size: bool = False,
    ) -> Self:
        """Make the densities of components, with these degrees of freedom."""
        densities = densities_of(parts, class_count, center, unit, categories, dof, own_size)
        return cls(list(parts), densities, class_count, center, unit, categories, own_size)

    def with_dof(self, dof: float) -> Self:
        """Return the same with other degrees of freedom."""
        return replace(self, densities=replace(self.densities, degrees_of_freedom=dof))

    def in_own_size(self) -> Self:
        """Return the same with covariances shrunk towards the common one in the size of each component."""
        return replace(self, own_size=True)._with(self.parts, self.class_count)

    def log_joint_in(self, unit: FloatArray, points: FloatArray) -> FloatArray:
        """Return `LocalDensities.log_joint_in` of other units of length of all features, shape (d,)."""
        categories = self.categories
        return self.densities.log_joint_in(unit if categories is None else unit[categories.numbers(len(unit))], points)

    def step(self, points: FloatArray, codes: IntArray) -> Self:
        """Return the mixture after one EM iteration over some records; see `sums`. The class priors stay."""
        return self.after(self.sums(points, codes), self.class_count)

    def sums(self, points: FloatArray, codes: IntArray) -> FloatArray:
        """Return what an EM iteration needs of some records of these classes, to be added to that of all others.

        Sums of products of two of ``(z, 1)``, by the probabilities with which the records belong to each component: of
        shape ((d + 1) * (d + 2) / 2, n_components). A record with missing values (NaN) belongs to components by its
        known values; the missing ones have the conditional mean and covariance of the component to which it most likely
        belongs.
        """
        d = len(self.unit)
        n_products = (d + 1) * (d + 2) // 2
        out = np.zeros((n_products, len(self.parts)))
        with one_blas_thread(points.size):
            for code, components in self.densities.of_classes():
                own = replace(self.densities.of_class(code), degrees_of_freedom=DEGREES_OF_FREEDOM_IN_EM)
                mine = np.flatnonzero(codes == code)
                for some in chunk_slices(len(mine), max(_TABLE // (n_products if d < MANY_FEATURES else d), 1)):
                    x = points[mine[some]]
                    share = own.by_component(x)
                    share -= log_sum_exp(share)[:, None]
                    z = (x - self.center) / self.unit
                    if has_gaps(x):
                        out[:, components] += self._filled(z, share.argmax(axis=1), components)
                    z = np.column_stack([z, np.ones(len(z))])
                    out[:, components] += _products(z, np.exp(share, out=share))
        return out

    def _filled(self, z: FloatArray, claims: IntArray, components: slice) -> FloatArray:
        """Fill gaps with conditional means by the claiming components; return the sums of the covariances."""
        rows = [np.flatnonzero(claims == k) for k in range(components.stop - components.start)]
        spreads = np.array(self._fill(z, np.isnan(z), rows, self.parts[components]))
        i, j = pairs(len(self.unit) + 1)
        return np.asarray(np.where(j < len(self.unit), np.pad(spreads, ((0, 0), (0, 1), (0, 1)))[:, i, j], 0.0).T)

    def _fill(
        self, z: FloatArray, gaps: BoolArray, rows: Sequence[IntArray], parts: Sequence[Component]
    ) -> list[FloatArray]:
        """Fill the gaps in each component's rows with conditional means; return sums of conditional covariances."""
        common = self.common
        spreads = [np.zeros_like(common) for _ in parts]
        for k, own in enumerate(rows):
            if gaps[own].any():
                part = parts[k]
                covariance = shrunken_covariance(part.scatter, part.n, common, self.own_size)
                z[own], spreads[k] = expected(z[own], gaps[own], part.mean, covariance)
        return spreads

    @property
    def common(self) -> FloatArray:
        """The covariance that all components have in common, shape (d, d)."""
        counts = np.array([float(part.n) for part in self.parts])
        return common_covariance(np.sum([part.scatter for part in self.parts], axis=0), counts)

    def after(self, sums: FloatArray, class_count: NDArray[np.integer]) -> Self:
        """Return the mixture of components with these sums over all records, and these class counts."""
        return self._with(_components(sums, self.densities.codes), class_count)

    def with_gaps(self, points: FloatArray, gaps: BoolArray, rows: Sequence[IntArray]) -> Self:
        """Return the mixture of components of these rows, with conditional means and covariances of missing values."""
        z, mixture = (points - self.center) / self.unit, self
        for _ in range(CONDITIONAL_MEANS):
            filled = z.copy()
            spreads = mixture._fill(filled, gaps, rows, mixture.parts)
            parts = [
                _with_points(part, filled[own], spread) if gaps[own].any() else part
                for part, own, spread in zip(mixture.parts, rows, spreads, strict=True)
            ]
            mixture = replace(mixture, parts=parts)
        return self._with(mixture.parts, self.class_count)

    def _with(self, parts: Sequence[Component], class_count: NDArray[np.integer]) -> Self:
        if self.categories is not None:
            parts = [_with_possible_shares(part, self.categories, self.center, self.unit) for part in parts]
        how = self.categories, self.densities.degrees_of_freedom, self.own_size
        return self.of(parts, class_count, self.center, self.unit, *how)


def _products(z: FloatArray, share: FloatArray) -> FloatArray:
    """Return sums of products of two columns of z, shape (n, d), weighted by each column of shares, shape (n, k)."""
    i, j = pairs(z.shape[1])
    if z.shape[1] <= MANY_FEATURES:
        columns = z.T
        return np.asarray((columns[i] * columns[j]) @ share)
    return np.column_stack([((z * one[:, None]).T @ z)[i, j] for one in share.T])


def _components(sums: FloatArray, codes: IntArray) -> list[Component]:
    """Return the components with these sums of products of two of ``(z, 1)``."""
    d = round(np.sqrt(2.0 * len(sums) + 0.25) - 1.5)
    i, j = pairs(d + 1)
    form = np.empty((d + 1, d + 1))
    parts = []
    for code, moments in zip(codes.tolist(), sums.T, strict=True):
        form[i, j] = form[j, i] = moments
        n = max(float(form[d, d]), 1e-9)  # a component without records stays, and decides nothing
        mean = form[:d, d] / n
        parts.append(Component(code, mean, form[:d, :d] - n * np.outer(mean, mean), n))
    return parts


def _with_points(part: Component, z: FloatArray, spread: FloatArray) -> Component:
    mean = z.mean(axis=0)
    away = z - mean
    return part._replace(mean=mean, scatter=away.T @ away + spread)


def _with_possible_shares(part: Component, categories: Categories, center: FloatArray, unit: FloatArray) -> Component:
    """Return a component with shares of values clipped to what is possible."""
    mean, features = part.mean.copy(), categories.features
    held = categories.possible((center + unit * mean)[None])[0]
    mean[features] = (categories.no + held * (categories.yes - categories.no) - center[features]) / unit[features]
    return part._replace(mean=mean)


def densities_of(
    parts: Sequence[Component],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None,
    dof: float,
    own_size: bool,
) -> LocalDensities:
    """Return the densities of components, class by class, whose moments are those of ``(x - center) / unit``."""
    held = None
    if categories is not None:
        held = categories.held(center + unit * np.array([part.mean for part in parts]))
        numbers = categories.numbers(len(unit))
        parts = [p._replace(mean=p.mean[numbers], scatter=p.scatter[np.ix_(numbers, numbers)]) for p in parts]
        center, unit = center[numbers], unit[numbers]
    counts, number = np.array([float(part.n) for part in parts]), np.array([part.code for part in parts])
    common = common_covariance(np.sum([part.scatter for part in parts], axis=0), counts)
    table, log_scales = [], []
    for some in chunk_slices(len(parts), max(_TABLE // max(len(unit), 1) ** 2, 1)):
        scatters = np.array([part.scatter for part in parts[some]])
        covariances = shrunken_covariance(scatters, counts[some, None, None], common, own_size)
        coefficients, log_scale = components_of(np.array([part.mean for part in parts[some]]), covariances)
        table.append(coefficients)
        log_scales.append(log_scale)
    of_class = np.bincount(number, counts, minlength=len(class_count))[number]
    prior = class_count[number] / class_count.sum()
    log_weights = np.log(prior * counts / of_class) - np.concatenate(log_scales)
    shares = None
    if categories is not None and held is not None:
        shares = shares_of(categories, held, counts, number, len(class_count))
    return LocalDensities(center, unit, np.hstack(table), number, log_weights, len(class_count), shares, dof)


def mixture_of_blocks(
    points: FloatArray,
    blocks: Iterable[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> Mixture:
    """Make a component of each block of points: pairs of class and rows, class by class.

    `class_count` gives the priors; `center` is a point among the others, such as their mean, and `unit` the unit of
    length of each feature, both of shape (d,). `categories` are modelled apart. Where values are missing, by `gaps` of
    shape (n, d), the iterations start from what stands there in the points.
    """
    with one_blas_thread(points.size):
        blocks = list(blocks)
        parts = [component_of_points(code, points[rows], center, unit) for code, rows in blocks]
        found = Mixture.of(parts, class_count, center, unit, categories)
        return found if gaps is None else found.with_gaps(points, gaps, [rows for _, rows in blocks])
