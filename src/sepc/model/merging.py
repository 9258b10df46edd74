"""Merging: which regions of a class become one component, because their records look like those of one distribution.

A partition cuts through a class wherever it touches others. Each piece of what was one cloud then becomes a density of
its own, too narrow where it was cut, and the sum of the pieces has seams. Moments show when that happens: with n
records of scatter W in each of several components, and their shrunken covariance S, the log likelihood of the records,
each under the normal distribution of its own component, is up to terms that merging does not change the sum of

    n log n - n log(det S) / 2 - trace(inv(S) W) / 2,

plus for each category n times the sum of p log p over the shares p of its values. Pieces of one normal distribution
gain by being merged. Distributions of their own lose, if they lie further apart than about three and a half standard
deviations, and are of many records. Two components are merged at a time, always those that gain most.

There are several levels, and held-out records choose one (`estimators.density_fit`): no merging; as long as the
likelihood gains; as long as it loses less than a penalty, by the Bayesian information criterion, for the parameters
that one component less saves; or as long as there is no gap between two components. The last is for heavy tails: a
normal distribution has none, and the criterion keeps a core and what lies around it apart.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import Categories
from sepc.model.constants import MERGE_PENALTIES, NO_GAP
from sepc.model.mixtures import Component, Mixture, common_covariance, component_of_points, shrunken_covariance

# Levels of merging: none, by each penalty, without gaps.
UNMERGED = 0
LEVELS = range(2 + len(MERGE_PENALTIES))


def groupings(
    parts: Sequence[Component], categories: Categories | None, center: FloatArray, unit: FloatArray
) -> list[IntArray]:
    """Return the component of each region, shape (n_regions,), for each of `LEVELS`.

    `parts` are the regions, class by class, with moments of ``(x - center) / unit``. Components are numbered class by
    class, by their first regions.
    """
    counts = np.array([float(part.n) for part in parts])
    held = np.empty((len(parts), 0))
    numbers = np.arange(len(unit))
    values: list[slice] = []
    if categories is not None:
        means = np.array([part.mean for part in parts])
        held = np.clip(categories.held(center + unit * means), 0.0, 1.0)
        numbers, values = categories.numbers(len(unit)), categories.slices
    scatters = np.array([part.scatter[np.ix_(numbers, numbers)] for part in parts])
    common = common_covariance(scatters.sum(axis=0), counts)
    found: list[list[IntArray]] = [[] for _ in LEVELS]
    for _, regions in groupby(range(len(parts)), lambda k: parts[k].code):
        own = list(regions)
        means = np.array([parts[k].mean[numbers] for k in own])
        cloud = _Class(counts[own], means, scatters[own], held[own], values, common)
        found[UNMERGED].append(cloud.first.copy())
        for so_far, penalty in zip(found[1:-1], MERGE_PENALTIES, strict=True):
            cloud.merge(penalty)
            so_far.append(cloud.first.copy())
        cloud.merge_without_gaps()
        found[-1].append(cloud.first)
    return [_numbered(firsts) for firsts in found]


def together(parts: Sequence[Component]) -> Component:
    """Return the component of the points of several, all of one class."""
    if len(parts) == 1:
        return parts[0]
    counts = np.array([part.n for part in parts])
    means = np.array([part.mean for part in parts])
    mean = counts @ means / counts.sum()
    away = means - mean
    scatter = np.sum([part.scatter for part in parts], axis=0) + (away * counts[:, None]).T @ away
    return Component(parts[0].code, mean, scatter, float(counts.sum()))


def merged(parts: Sequence[Component], groups: IntArray) -> list[Component]:
    """Return the components of merged regions."""
    return [together([parts[k] for k in regions]) for regions in members(groups)]


def is_any_merged(groups: IntArray) -> bool:
    """Return whether any component has more than one region."""
    return len(np.unique(groups)) < len(groups)


def members(groups: IntArray) -> list[IntArray]:
    """Return the regions of each component."""
    return [np.flatnonzero(groups == k) for k in range(groups.max(initial=-1) + 1)]


def merged_name(regions: Sequence[str]) -> str:
    """Return the name of a component: that of its first region, with a ``+`` if there are more."""
    return regions[0] + ("+" if len(regions) > 1 else "")


def merged_mixtures(
    points: FloatArray,
    blocks: Sequence[tuple[int, IntArray]],
    class_count: NDArray[np.integer],
    center: FloatArray,
    unit: FloatArray,
    levels: Iterable[int],
    categories: Categories | None = None,
    gaps: BoolArray | None = None,
) -> list[tuple[Mixture, IntArray]]:
    """Make mixtures of blocks of points, as `mixture_of_blocks` does, one for each of several levels of merging.

    Returns for each level the mixture, and the component of each block, shape (n_blocks,). What stands in place of
    missing values takes part in the choice of components.
    """
    found: list[tuple[Mixture, IntArray]] = []
    with one_blas_thread(points.size):
        regions = [component_of_points(code, points[rows], center, unit) for code, rows in blocks]
        by_level = groupings(regions, categories, center, unit)
        before = None
        for groups in (by_level[level] for level in levels):
            if before is not None and np.array_equal(groups, before):
                found.append(found[-1])
                continue
            before = groups
            mixture = Mixture.of(merged(regions, groups), class_count, center, unit, categories)
            if gaps is not None:
                rows = [np.sort(np.concatenate([blocks[k][1] for k in own])) for own in members(groups)]
                mixture = mixture.with_gaps(points, gaps, rows)
            found.append((mixture, groups))
    return found


class _Class:
    """The regions of one class, some of them merged already.

    A component has the place of the first of its regions; `first` has that place for each region. `gains[i, j]`, with i
    before j, is the gain of the log likelihood where two components are merged; minus infinity for all other pairs.
    """

    def __init__(
        self,
        counts: FloatArray,
        means: FloatArray,
        scatters: FloatArray,
        held: FloatArray,
        values: Iterable[slice],
        common: FloatArray,
    ) -> None:
        self.counts, self.means, self.scatters, self.held = counts, means, scatters, held
        self.values, self.common = list(values), common
        self.first = np.arange(len(counts))
        self.likelihood = self._likelihood(counts, scatters, held)
        self.gains = np.full((len(counts), len(counts)), -np.inf)
        for place in range(len(counts) - 1):
            self._compare(place, np.arange(place + 1, len(counts)))
        d = len(common)
        n_numbers = (d + 1) * (d + 2) / 2 + sum(max(at.stop - at.start - 1, 1) for at in self.values)
        self.saved = 0.5 * n_numbers * float(np.log(counts.sum()))

    def merge(self, penalty: float) -> None:
        """Merge two components at a time, as long as the likelihood lost is below the penalty times what it saves."""
        while len(self.counts) > 1:
            i, j = divmod(int(self.gains.argmax()), len(self.counts))
            if not self.gains[i, j] > -penalty * self.saved:
                return
            self._merge(i, j)

    def merge_without_gaps(self) -> None:
        """Merge two components at a time, as long as two have no gap between them, whatever that loses."""
        touch = np.zeros_like(self.gains, dtype=bool)
        places = np.unique(self.first)
        for k, place in enumerate(places):
            touch[place, places[k + 1 :]] = self._touch(place, places[k + 1 :])
        while True:
            i, j = divmod(int(np.where(touch, self.gains, -np.inf).argmax()), len(self.counts))
            if not touch[i, j]:
                return
            self._merge(i, j)
            touch[j], touch[:, j] = False, False
            others = np.unique(self.first)
            others = others[others != i]
            touch[np.minimum(i, others), np.maximum(i, others)] = self._touch(i, others)

    def _merge(self, i: int, j: int) -> None:
        n, (scatter,), (held,) = self.counts[i] + self.counts[j], *self._together(i, np.array([j]))
        self.means[i] = (self.counts[i] * self.means[i] + self.counts[j] * self.means[j]) / n
        self.counts[i], self.scatters[i], self.held[i] = n, scatter, held
        self.likelihood[i] += self.likelihood[j] + self.gains[i, j]
        self.first[self.first == j] = i
        self.gains[j], self.gains[:, j] = -np.inf, -np.inf
        others = np.unique(self.first)
        self._compare(i, others[others != i])

    def _compare(self, i: int, others: IntArray) -> None:
        """Update the gains of merging one component with each of several others."""
        apart = self.likelihood[i] + self.likelihood[others]
        gained = self._likelihood(self.counts[i] + self.counts[others], *self._together(i, others)) - apart
        self.gains[np.minimum(i, others), np.maximum(i, others)] = gained

    def _touch(self, i: int, others: IntArray) -> BoolArray:
        """Return which of several components have no gap between them and component i."""
        mine, theirs = (
            shrunken_covariance(self.scatters[at], self.counts[at, None, None], self.common) for at in ([i], others)
        )
        away = self.means[others] - self.means[i]
        squares = np.einsum("ki,ki->k", away, np.linalg.solve(0.5 * (mine + theirs), away[..., None])[..., 0])
        return np.asarray(squares <= NO_GAP**2)

    def _together(self, i: int, others: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return scatters and shares of values of one component together with each of several others."""
        n, m = self.counts[i], self.counts[others]
        away = self.means[others] - self.means[i]
        apart = away[:, :, None] * away[:, None, :] * (n * m / (n + m))[:, None, None]
        held = (n * self.held[i] + m[:, None] * self.held[others]) / (n + m)[:, None]
        return self.scatters[i] + self.scatters[others] + apart, held

    def _likelihood(self, counts: FloatArray, scatters: FloatArray, held: FloatArray) -> FloatArray:
        """Return the log likelihood of each component's own points, shape (k,)."""
        covariances = shrunken_covariance(scatters, counts[:, None, None], self.common)
        squares = np.einsum("kij,kji->k", np.linalg.inv(covariances), scatters)
        each = np.log(counts) - 0.5 * (np.linalg.slogdet(covariances)[1] + squares / counts)
        for at in self.values:
            none = np.clip(1.0 - held[:, at].sum(axis=1), 0.0, 1.0)
            each += xlogy(none, none) + xlogy(held[:, at], held[:, at]).sum(axis=1)
        return np.asarray(counts * each)


def _numbered(firsts: Sequence[IntArray]) -> IntArray:
    """Return components numbered class by class, from the places in its class of each region's first region."""
    numbered, n_before = [], 0
    for first in firsts:
        different, number = np.unique(first, return_inverse=True)
        numbered.append(n_before + number)
        n_before += len(different)
    return np.concatenate(numbered)
