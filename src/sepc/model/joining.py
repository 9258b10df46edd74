"""Joining: which regions of a class are read as one, because their points look like those of one distribution.

A partition cuts through a class wherever it touches others. Each piece of what was one cloud then becomes a density of
its own, too narrow where it was cut, and the sum of the pieces has seams. Moments tell when that happens: with n points
of scatter W in each of several components, and their shrunken covariance S, the logarithm of the likelihood of the
points, each under the normal distribution of its own component, is up to what joining does not change the sum of

    n log n - n log(det S) / 2 - trace(W / S) / 2,

plus for each category n times the sum of p log p over the shares p of its values. Pieces of one normal distribution
gain by being joined. Distributions of their own lose, if they lie further apart than about three and a half standard
deviations, and are of many points. Two regions are joined at a time, always those that gain most.

How far to go is a matter of the data, and records that were left out tell it (`estimators.left_out`): not at all, as
long as the likelihood gains, as long as it loses less than the Bayesian information criterion grants for the numbers
that one component less saves, or as long as there is no gap between two. The last is for heavy tails: a normal
distribution knows none, and the criterion keeps a core and what lies around it.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from scipy.special import xlogy

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.category_shares import Categories
from sepc.model.components import Component, common_covariance, shrunken_covariance, together

# How far regions may be joined, the first one not at all: prices of the numbers that one component less saves, in terms
# of the Bayesian information criterion. Between 0 and 1 nothing was better on most sets that constants are chosen by.
# Whatever it costs, only those are joined that lie no further from each other than so many standard deviations.
APART = 0
_PRICES = (0.0, 1.0)
_NO_GAP = 3.5
EXTENTS = range(2 + len(_PRICES))


def groupings(
    parts: Sequence[Component], categories: Categories | None, center: FloatArray, unit: FloatArray
) -> list[IntArray]:
    """Return which regions are read as one, for each of `EXTENTS`.

    Parameters
    ----------
    parts : sequence of Component
        The regions, class by class.
    categories : Categories, optional
        Those that stand apart.
    center, unit : ndarray of shape (d,)
        The moments are those of ``(x - center) / unit``.

    Returns
    -------
    list of ndarray of int, shape (n_regions,)
        The component that each region goes into; numbered class by class, by their first regions.
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
    found: list[list[IntArray]] = [[] for _ in EXTENTS]
    for _, regions in groupby(range(len(parts)), lambda k: parts[k].code):
        own = list(regions)
        means = np.array([parts[k].mean[numbers] for k in own])
        cloud = _Class(counts[own], means, scatters[own], held[own], values, common)
        found[APART].append(cloud.first.copy())
        for so_far, price in zip(found[1:-1], _PRICES, strict=True):
            cloud.join(price)
            so_far.append(cloud.first.copy())
        cloud.join_without_gaps()
        found[-1].append(cloud.first)
    return [_numbered(firsts) for firsts in found]


def joined(parts: Sequence[Component], groups: IntArray) -> list[Component]:
    """Return the components that regions make together."""
    return [together([parts[k] for k in regions]) for regions in members(groups)]


def is_any_joined(groups: IntArray) -> bool:
    """Return whether any component has more than one region."""
    return len(np.unique(groups)) < len(groups)


def members(groups: IntArray) -> list[IntArray]:
    """Return the regions of each component."""
    return [np.flatnonzero(groups == k) for k in range(groups.max(initial=-1) + 1)]


def joint_name(regions: Sequence[str]) -> str:
    """Return what regions are called together: as the first, with a ``+`` behind it if there are more."""
    return regions[0] + ("+" if len(regions) > 1 else "")


class _Class:
    """The regions of one class, some of them joined already.

    A component has the place of the first of its regions, and `first` tells it for each region. `gains[i, j]`, with i
    before j, is what the likelihood gains where two components are joined; minus infinity for all other pairs.
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

    def join(self, price: float) -> None:
        """Join two components at a time, as long as that loses less likelihood than what it saves is worth."""
        while len(self.counts) > 1:
            i, j = divmod(int(self.gains.argmax()), len(self.counts))
            if not self.gains[i, j] > -price * self.saved:
                return
            self._join(i, j)

    def join_without_gaps(self) -> None:
        """Join two components at a time, as long as there are two without a gap between them, whatever that loses."""
        touch = np.zeros_like(self.gains, dtype=bool)
        places = np.unique(self.first)
        for k, place in enumerate(places):
            touch[place, places[k + 1 :]] = self._touch(place, places[k + 1 :])
        while True:
            i, j = divmod(int(np.where(touch, self.gains, -np.inf).argmax()), len(self.counts))
            if not touch[i, j]:
                return
            self._join(i, j)
            touch[j], touch[:, j] = False, False
            others = np.unique(self.first)
            others = others[others != i]
            touch[np.minimum(i, others), np.maximum(i, others)] = self._touch(i, others)

    def _join(self, i: int, j: int) -> None:
        n, (scatter,), (held,) = self.counts[i] + self.counts[j], *self._together(i, np.array([j]))
        self.means[i] = (self.counts[i] * self.means[i] + self.counts[j] * self.means[j]) / n
        self.counts[i], self.scatters[i], self.held[i] = n, scatter, held
        self.likelihood[i] += self.likelihood[j] + self.gains[i, j]
        self.first[self.first == j] = i
        self.gains[j], self.gains[:, j] = -np.inf, -np.inf
        others = np.unique(self.first)
        self._compare(i, others[others != i])

    def _compare(self, i: int, others: IntArray) -> None:
        """Note what is gained where one component is joined with each of several others."""
        apart = self.likelihood[i] + self.likelihood[others]
        gained = self._likelihood(self.counts[i] + self.counts[others], *self._together(i, others)) - apart
        self.gains[np.minimum(i, others), np.maximum(i, others)] = gained

    def _touch(self, i: int, others: IntArray) -> BoolArray:
        """Return whether one component lies so near to each of several others that there is no gap between them."""
        mine, theirs = (
            shrunken_covariance(self.scatters[at], self.counts[at, None, None], self.common) for at in ([i], others)
        )
        away = self.means[others] - self.means[i]
        squares = np.einsum("ki,ki->k", away, np.linalg.solve(0.5 * (mine + theirs), away[..., None])[..., 0])
        return np.asarray(squares <= _NO_GAP**2)

    def _together(self, i: int, others: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return scatters and shares of values of one component together with each of several others."""
        n, m = self.counts[i], self.counts[others]
        away = self.means[others] - self.means[i]
        apart = away[:, :, None] * away[:, None, :] * (n * m / (n + m))[:, None, None]
        held = (n * self.held[i] + m[:, None] * self.held[others]) / (n + m)[:, None]
        return self.scatters[i] + self.scatters[others] + apart, held

    def _likelihood(self, counts: FloatArray, scatters: FloatArray, held: FloatArray) -> FloatArray:
        """Return the part of the likelihood that each component gives its own points, shape (k,)."""
        covariances = shrunken_covariance(scatters, counts[:, None, None], self.common)
        squares = np.einsum("kij,kji->k", np.linalg.inv(covariances), scatters)
        each = np.log(counts) - 0.5 * (np.linalg.slogdet(covariances)[1] + squares / counts)
        for at in self.values:
            none = np.clip(1.0 - held[:, at].sum(axis=1), 0.0, 1.0)
            each += xlogy(none, none) + xlogy(held[:, at], held[:, at]).sum(axis=1)
        return np.asarray(counts * each)


def _numbered(firsts: Sequence[IntArray]) -> IntArray:
    """Return components numbered class by class, from the place in its class of the first region of each region's."""
    numbered, n_before = [], 0
    for first in firsts:
        different, number = np.unique(first, return_inverse=True)
        numbered.append(n_before + number)
        n_before += len(different)
    return np.concatenate(numbered)
