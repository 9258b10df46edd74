"""Small disjuncts: groups of records of one class that lie among others, away from most of their class."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import bdtrc

from sepc.common.text import percent
from sepc.common.typing import IntArray
from sepc.landscapes.constants import CHANCE_CLUSTER, FOREIGN_AROUND, SMALLEST_DISJUNCT
from sepc.landscapes.near_records import nearest_others
from sepc.model.partition_model import PartitionModel


@dataclass(frozen=True, slots=True)
class Disjunct:
    """Small group of records of one label among those of others, away from most of its label.

    Attributes
    ----------
    label : object
        One of the classes.
    rows : tuple of int
        Rows of the training set, ascending.
    regions : tuple of str
        Ellipsoids of that label at least half of whose records are in the group; none if it is hidden in larger ones.
    surrounded_by : str or None
        The region of another label that holds most of the records around it.
    share_around : float
        Share of other labels among the nearest records around it.
    """

    label: Any
    rows: tuple[int, ...]
    regions: tuple[str, ...]
    surrounded_by: str | None
    share_around: float

    @property
    def text(self) -> str:
        """Description in one plain sentence."""
        own = ", ".join(self.regions) or "no region of their own"
        around = f" ({self.surrounded_by})" if self.surrounded_by else ""
        return (
            f"{len(self.rows)} records of {self.label} ({own}) lie together among other labels{around}: "
            f"{percent(self.share_around)} of the nearest records are not {self.label}."
        )


class Cluster(NamedTuple):
    """Cluster of records of one class: its rows of the model's points, and those of the nearest records around it.

    `foreign` is the share of other classes among the latter.
    """

    members: IntArray
    around: IntArray
    foreign: float


def largest_disjunct(n_class: int, d: int) -> float:
    """Return the largest size of a small disjunct: 2 (d + 1), 15 or 10 % of its class, whichever is most."""
    return max(2 * (d + 1), 15, 0.1 * n_class)


def small_clusters(model: PartitionModel, candidates: IntArray, c: int) -> Iterator[Cluster]:
    """Yield the small disjuncts among some records of class c, by the rule of `FittedLandscape.disjuncts`."""
    n_class, d = int(model.class_count[c]), model.points.shape[1]
    for group in _groups(model, candidates, c):
        if SMALLEST_DISJUNCT <= len(group) <= min(largest_disjunct(n_class, d), n_class / 3):
            cluster, chance = _with_surroundings(model, group, c)
            if cluster.foreign >= FOREIGN_AROUND and chance < CHANCE_CLUSTER:
                yield cluster


def _groups(model: PartitionModel, candidates: IntArray, c: int) -> list[IntArray]:
    """Return the connected groups of candidates whose nearest neighbours are mostly of class c."""
    if len(candidates) < SMALLEST_DISJUNCT:
        return []
    k = min(10, len(model.points) - 1)  # two records are linked if each is among the other's k nearest
    nearest = nearest_others(model, candidates, k)
    among_own = (model.codes[nearest[:, :5]] == c).mean(axis=1) >= 0.5
    records = candidates[among_own]
    place = np.full(len(model.points), -1)
    place[records] = np.arange(len(records))
    a, b = np.repeat(np.arange(len(records)), k), place[nearest[among_own].ravel()]
    a, b = a[b >= 0], b[b >= 0]
    links = coo_array((np.ones(len(a)), (a, b)), (len(records), len(records))).tocsr()
    group = connected_components(links.multiply(links.T), directed=False)[1]
    return np.split(records[np.argsort(group, kind="stable")], np.cumsum(np.bincount(group))[:-1])


def _with_surroundings(model: PartitionModel, group: IntArray, c: int) -> tuple[Cluster, float]:
    """Return a group with the nearest records around it, and its binomial probability by chance."""
    tree = cKDTree(model.points[group])
    nearest_own = tree.query(model.points[group], k=2)[0][:, 1]
    distance = tree.query(model.points)[0]
    distance[group] = np.inf
    order = np.argsort(distance, kind="stable")[: -len(group)]
    n_in = int(np.count_nonzero(distance <= np.median(nearest_own)))
    n_own = len(group) + int(np.count_nonzero(model.codes[order[:n_in]] == c))
    around = order[n_in : n_in + max(20, 2 * len(group))]
    own_around = int(np.count_nonzero(model.codes[around] == c))
    # Rule of succession: one record of either kind is added.
    chance = float(bdtrc(n_own - 1, len(group) + n_in, (own_around + 1) / (len(around) + 2)))
    return Cluster(group, around, 1.0 - own_around / max(len(around), 1)), chance
