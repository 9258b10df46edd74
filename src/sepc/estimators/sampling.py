"""Samples from a model: synthetic records from its ellipsoids, and records of a pool to be labelled next."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.assessment import Assessment
from sepc.model.partition_model import DensityModel, PartitionModel
from sepc.partitions.ordering import canonical_order


def draw(
    model: PartitionModel, n: int, label: Any, region: str | None, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[Any]]:
    """Draw n synthetic records from the ellipsoids, in proportion to the training points that each was built for.

    They are in the model's units, shape (n, d), and come with their labels. Only ellipsoids of `label` and `region` are
    used, if these are not None.
    """
    components = model.component_names()
    sources = [
        source
        for source in _sources(model)
        if region in (None, source[0], components.get(source[0])) and label in (None, source[1])
    ]
    if not sources:
        raise InputError(
            "unknown-ellipsoid", label=label, region=region, names=", ".join(name for name, *_ in _sources(model))
        )
    sizes = np.array([size for *_, size in sources], dtype=float)
    share = rng.multinomial(n, sizes / sizes.sum())
    parts = zip(sources, share.tolist(), strict=True)
    Z = np.concatenate([_with_values(model, name, E.sample(k, rng), rng) for (name, _, E, _), k in parts])
    labels = np.repeat(np.array([source[1] for source in sources], dtype=model.classes.dtype), share)
    constant = ~np.isnan(model.outline.constant)  # an ellipsoid has a nominal thickness where all records agree
    Z[:, constant] = model.outline.constant[constant]
    order = rng.permutation(n)
    return Z[order], labels[order]


def _with_values(model: PartitionModel, region: str, Z: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return points of an ellipsoid with categories drawn by shares in its component, if they are modelled so."""
    if not isinstance(model, DensityModel) or model.densities.shares is None:
        return Z
    categories = model.densities.shares.categories
    component = next(k for k, regions in enumerate(model.regions_by_component()) if region in regions)
    shares = model.densities.shares.shares(component)
    for at in categories.slices:
        group = categories.features[at]
        # Of two values the other one has no feature; of several a value without records is not drawn.
        none = max(1.0 - shares[at].sum(), 0.0) if len(group) == 1 else 0.0
        chances = np.append(shares[at], none)
        drawn = rng.choice(len(chances), len(Z), p=chances / chances.sum())
        held = drawn[:, None] == np.arange(len(group))
        Z[:, group] = np.where(held, categories.yes[at], categories.no[at])
    return Z


def _sources(model: PartitionModel) -> list[tuple[str, Any, Ellipsoid, int]]:
    """Return name, label, ellipsoid and number of training points of that label, of each ellipsoid of a class."""
    found = []
    for problem, rules in enumerate(model.rules):
        for k, side in enumerate(rules.sides.tolist()):
            if len(model.rules) == 1 or side == 0:  # the rest, in a problem of one against the rest, is no label
                label = model.classes[side if len(model.rules) == 1 else problem]
                found.append((rules.names[k], label, rules.stack[k], int(rules.held[k, side])))
    return found


def most_worth_labelling(a: Assessment, points: FloatArray, k: int) -> IntArray:
    """Return the row numbers of k points of a pool, shape (n, d), that are most worth a label, the most worth first.

    A point's worth is its distrust ``1 - trust`` plus its strangeness ``distance / (distance + typical)``, where
    typical is the median distance of the pool's points outside every ellipsoid; divided by one more than the number of
    points that were already taken from the same region. Equal records are taken once. With missing values a point has
    no distance, and its worth is its distrust.
    """
    outside = a.distance > 0.0
    typical = float(np.median(a.distance[outside])) if outside.any() else 1.0
    distance = np.where(np.isnan(a.distance), 0.0, a.distance)
    worth = (1.0 - a.trust) + distance / (distance + typical)
    points = np.where(np.isnan(points), np.inf, points)  # gaps are equal
    order = canonical_order(points)  # so that ties do not depend on the order of the pool
    distinct = np.ones(len(order), dtype=bool)
    distinct[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    candidates = order[distinct]
    if not 0 < k <= len(candidates):
        raise InputError("query-size", k=k, n_candidates=len(candidates))
    _, region = np.unique(a.region[candidates], return_inverse=True)
    return candidates[_spread(worth[candidates], region, k)]


def _spread(worth: FloatArray, region: IntArray, k: int) -> IntArray:
    """Take k candidates, each time the one worth most; the worth of its region falls with each."""
    n_taken = np.zeros(region.max() + 1)
    current = worth.copy()
    chosen: list[int] = []
    for _ in range(k):
        best = int(np.argmax(current))
        chosen.append(best)
        n_taken[region[best]] += 1.0
        mine = region == region[best]
        current[mine] = worth[mine] / (1.0 + n_taken[region[best]])
        current[chosen] = -np.inf
    return np.array(chosen)
