"""Densities of categories: the smoothed shares of the values among the records of each component.

A category has a feature for each of its values, 1 where a record has the value and 0 elsewhere; two values may share
one feature. The density of a component may be that of its numbers times the share that the record's value has in it,
one category after the other. Shares are smoothed: those of a block towards those of its class, and these towards those
of all records, with a pseudocount of one half for each value and for one that was never seen.

Such features need not be named: all their values are 0 or 1, and those of one category, side by side, add up to 1 in
every record. First and second moments show both.

The logarithm of a share is linear in the features of the category, so that one matrix product gives those of many
points for all components. A number beyond 0 and 1, which no record can have, is as far away as any other such number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import Extents, chunks
from sepc.model.constants import BEYOND, SHARES_WEIGH, UNSEEN


class Categories(NamedTuple):
    """The features of categories, and the numbers that stand for their values.

    Attributes
    ----------
    groups : tuple of ndarray of int
        Numbers of the features of each category.
    no, yes : ndarray of shape (n_features_of_all_groups,)
        These features, one group after the other, of a record that does not have, or has, the value.
    """

    groups: tuple[IntArray, ...]
    no: FloatArray
    yes: FloatArray

    @classmethod
    def of(cls, groups: Sequence[Sequence[int] | IntArray], no: FloatArray, yes: FloatArray) -> Self:
        """Make them of points with all features, shape (d,), that have none and all of the values."""
        known = tuple(np.asarray(group, dtype=np.int64) for group in groups)
        features = np.concatenate(known)
        return cls(known, no[features], yes[features])

    @property
    def features(self) -> IntArray:
        """Numbers of the features of all categories, one group after the other."""
        return np.concatenate(self.groups)

    @property
    def slices(self) -> list[slice]:
        """Where the features of each category are among `features`."""
        return [slice(*ends) for ends in pairwise([0, *np.cumsum([len(group) for group in self.groups]).tolist()])]

    def numbers(self, d: int) -> IntArray:
        """Return which of d features belong to no category."""
        return np.setdiff1d(np.arange(d), self.features)

    def among(self, features: IntArray) -> "Categories | None":
        """Return the categories with all features among some, ascending, and numbered there; None without any."""
        kept = [at for group, at in zip(self.groups, self.slices, strict=True) if np.isin(group, features).all()]
        if not kept:
            return None
        groups = tuple(np.searchsorted(features, self.features[at]) for at in kept)
        return Categories(groups, *(np.concatenate([ends[at] for at in kept]) for ends in (self.no, self.yes)))

    def known_as_a_whole(self, known: BoolArray) -> BoolArray:
        """Return which features, of shape (d,), are known and belong to no category that is known in part only."""
        known = known.copy()
        for group in self.groups:
            known[group] = known[group].all()
        return known

    def held(self, points: FloatArray) -> FloatArray:
        """Return the features of all categories as 0 where a value is not there and 1 where it is, shape (n, m)."""
        return np.asarray((points[:, self.features] - self.no) / (self.yes - self.no))

    def possible(self, points: FloatArray) -> FloatArray:
        """Return the same, none below 0 or above 1, and those of a category at most 1 together, shape (n, m)."""
        held = np.clip(self.held(points), 0.0, 1.0)
        sizes = [len(group) for group in self.groups]
        together = np.add.reduceat(held, np.cumsum([0, *sizes[:-1]]), axis=1)
        return np.asarray(held / np.repeat(np.maximum(together, 1.0), sizes, axis=1))

    def squares_beyond(self, points: FloatArray) -> FloatArray:
        """Return squares of how far features are from what is possible, in standard deviations, shape (n, m)."""
        return np.asarray(np.square((self.held(points) - self.possible(points)) / BEYOND))


def found_categories(
    extents: Extents,
    moments: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    mean: FloatArray,
    scale: FloatArray,
) -> Categories | None:
    """Return the categories in a training set, in its units, found by `category_groups`; None if there are none.

    Parameters
    ----------
    extents : Extents
        Of all points, in the units ``(x - mean) / scale``.
    moments : callable
        Takes an origin of shape (d,); returns sums of differences from it, and of their products, over all points.
    mean, scale : ndarray of shape (d,)
    """
    low, high = (ends * scale + mean for ends in (extents.low.min(axis=0), extents.high.max(axis=0)))
    # Rounding of features in other units, and of sums over all records, 1e-6 below.
    rounding = 1e-9 * (1.0 + np.abs(mean))
    within = (np.abs(low) <= rounding) & ((np.abs(high - 1.0) <= rounding) | (np.abs(high) <= rounding))
    if not np.any(within & (high > 0.5)):
        return None
    no, yes = -mean / scale, (1.0 - mean) / scale
    total, products = moments(no)
    total, products = total * scale, products * np.outer(scale, scale)
    # x (1 - x) is 0 for 0 and 1 alone.
    features = np.flatnonzero(within & (np.abs(total - products.diagonal()) <= 1e-6))
    n = int(extents.n.sum())
    found = category_groups(n, np.rint(total[features]), np.rint(products[np.ix_(features, features)]))
    return Categories.of([features[group] for group in found], no, yes) if found else None


def moments_about(origin: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums of the differences from an origin, and of their products, shapes (d,) and (d, d)."""
    d = len(origin)
    total, products = np.zeros(d), np.zeros((d, d))
    for x in chunks(points):
        away = x - origin
        total += away.sum(axis=0)
        products += away.T @ away
    return total, products


def category_groups(n: int, total: FloatArray, products: FloatArray) -> tuple[IntArray, ...]:
    """Return the features of each category among features that are all 0 or 1.

    For such features the sum s over some of them is a whole number in every record. Its sum over all records and that
    of its square are both n only if s is always 1.

    Parameters
    ----------
    n : int
        Number of records.
    total : ndarray of shape (d,)
        Sum of each feature over the records.
    products : ndarray of shape (d, d)
        Sums of their products.

    Returns
    -------
    tuple of ndarray of int
        The shortest runs of features that add up to 1 in every record; of the others each one that varies: a category
        of two values.
    """
    groups, first = [], 0
    while first < len(total):
        length = _run_of_one(n, total[first:], products[first:, first:])
        if length or 0.0 < total[first] < n:
            groups.append(np.arange(first, first + max(length, 1)))
        first += max(length, 1)
    return tuple(groups)


def _run_of_one(n: int, total: FloatArray, products: FloatArray) -> int:
    """Return the number of features, from the first on, that add up to 1 in every record; 0 if none do."""
    sums = np.cumsum(total)
    for length in range(2, int(np.searchsorted(sums, n, side="right")) + 1):
        if sums[length - 1] == n == products[:length, :length].sum():
            return length
    return 0


@dataclass(frozen=True, eq=False, slots=True)
class CategoryShares:
    """Logarithms of the shares of all values in all components, as linear functions of `Categories.possible`.

    Attributes
    ----------
    categories : Categories
    slopes : ndarray of shape (n_features_of_all_groups, n_components)
    constants : ndarray of shape (n_groups, n_components)
    """

    categories: Categories
    slopes: FloatArray
    constants: FloatArray

    def log_shares(self, points: FloatArray) -> FloatArray:
        """Return the logarithms of the products of the shares of each point's values, shape (n, n_components)."""
        return np.asarray(self.categories.possible(points) @ self.slopes + self.constants.sum(axis=0))

    def among(self, features: IntArray) -> "CategoryShares | None":
        """Return the shares of the categories of which all features are among some; see `Categories.among`."""
        categories = self.categories.among(features)
        if categories is None:
            return None
        kept = [bool(np.isin(group, features).all()) for group in self.categories.groups]
        slopes = [self.slopes[at] for at, is_kept in zip(self.categories.slices, kept, strict=True) if is_kept]
        return CategoryShares(categories, np.concatenate(slopes), self.constants[kept])

    def of_components(self, which: BoolArray) -> "CategoryShares":
        """Return the shares of some components."""
        return CategoryShares(self.categories, self.slopes[:, which], self.constants[:, which])

    def of_incomplete(self, points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return logarithms of shares of points with gaps; a category with any gap is not known.

        Returns those of the known values and the expected ones of the others, both (n, n_components), and the sums of
        `Categories.squares_beyond`, shape (n,).
        """
        log_shares, expected = np.zeros((2, len(points), self.constants.shape[1]))
        beyond = np.zeros(len(points))
        for group, at, constant in zip(self.categories.groups, self.categories.slices, self.constants, strict=True):
            known = ~np.isnan(points[:, group]).any(axis=1)
            logs = np.vstack([constant, self.slopes[at] + constant])
            expected[~known] += (np.exp(logs) * logs).sum(axis=0)
            one = Categories((group,), self.categories.no[at], self.categories.yes[at])
            log_shares[known] += constant
            for held, slope in zip(one.possible(points[known]).T, self.slopes[at], strict=True):
                log_shares[known] += held[:, None] * slope
            beyond[known] += one.squares_beyond(points[known]).sum(axis=1)
        return log_shares, expected, beyond

    def by_category(self, points: FloatArray, component: int) -> FloatArray:
        """Return the logarithm of the share that the value of each category has in one component, (n, n_groups)."""
        slopes, held = self.slopes[:, component], self.categories.possible(points)
        found = [held[:, at] @ slopes[at] for at in self.categories.slices]
        return np.asarray(np.column_stack(found) + self.constants[:, component])

    def by_feature(self, points: FloatArray, component: int) -> FloatArray:
        """Return `by_category` by the features of the values, shape (n, n_features_of_all_groups).

        The log share of a value without a feature is split equally among the features of its category.
        """
        logs, held = self.by_category(points, component), self.categories.possible(points)
        out = np.empty_like(held)
        for number, at in enumerate(self.categories.slices):
            own = np.where(held[:, at].any(axis=1, keepdims=True), held[:, at], 1.0)
            out[:, at] = logs[:, [number]] * own / own.sum(axis=1, keepdims=True)
        return out

    def shares(self, component: int) -> FloatArray:
        """Return the share of each value in one component, one category after the other, shape (m,)."""
        of_group = np.repeat(np.arange(len(self.constants)), [len(group) for group in self.categories.groups])
        return np.asarray(np.exp(self.slopes[:, component] + self.constants[of_group, component]))


def shares_of(
    categories: Categories,
    held: FloatArray,
    counts: NDArray[np.floating] | IntArray,
    codes: IntArray,
    n_classes: int,
) -> CategoryShares:
    """Return smoothed shares of the values in components.

    Parameters
    ----------
    categories : Categories
    held : ndarray of shape (n_components, n_features_of_all_groups)
        Part of the component's records that have each value.
    counts : ndarray of shape (n_components,)
        Number of records of each.
    codes : ndarray of int, shape (n_components,)
        Their classes.
    n_classes : int
    """
    slopes, constants = np.empty(held.T.shape), np.empty((len(categories.groups), len(counts)))
    for number, at in enumerate(categories.slices):
        having = held[:, at] * counts[:, None]
        # First those that have none of the values: they have the other of two, or one without a feature.
        table = np.column_stack([np.maximum(counts - having.sum(axis=1), 0.0), having])
        of_all = table.sum(axis=0) + UNSEEN
        of_all /= of_all.sum()
        of_class = np.zeros((n_classes, len(of_all)))
        np.add.at(of_class, codes, table)
        of_class += SHARES_WEIGH * of_all
        of_class /= of_class.sum(axis=1, keepdims=True)
        table += SHARES_WEIGH * of_class[codes]
        logs = np.log(table / table.sum(axis=1, keepdims=True))
        slopes[at] = (logs[:, 1:] - logs[:, :1]).T
        constants[number] = logs[:, 0]
    return CategoryShares(categories, slopes, constants)
