"""Queries of one chunk: the same answers by the passes of a library, and in parts."""

import array_api_strict
import numpy as np
from hypothesis import given, settings
from scattered import close, scattered, some_points
from strategies import random_ellipsoid, seeds

from sepc.geometry.points import queries


class OwnPasses:
    """A namespace with passes of its own, as that of CUDA devices has; None for more than three features."""

    def __getattr__(self, name):
        return getattr(array_api_strict, name)

    @staticmethod
    def row_slabs(points, *slab):
        return queries.slab(np, 2.0 * np.asarray(points), *slab) if points.shape[1] <= 3 else None

    @staticmethod
    def row_scores(points, shift, direction, limit):
        if points.shape[1] > 3:
            return None
        away = np.asarray(points) - shift
        scores = away @ direction
        above = away[scores > limit]
        return tuple(map(array_api_strict.asarray, (scores, np.append(above.sum(axis=0), float(len(above))))))


@given(seed=seeds())
@settings(max_examples=40, deadline=None)
def test_a_pass_of_its_own_has_the_first_word(seed):
    rng, X, _ = some_points(seed, "local")
    slab = X[0], rng.standard_normal(X.shape[1]), float(rng.normal()), float(rng.random()) + 0.01
    found = queries.slab(OwnPasses(), array_api_strict.asarray(X), *slab)
    expected = queries.slab(np, 2.0 * X if X.shape[1] <= 3 else X, *slab)
    assert found.inside.n == expected.inside.n
    for name in ("share", "weighted", "cost"):
        close(getattr(found, name), getattr(expected, name))
    close(found.inside.total, expected.inside.total)
    close(found.inside.products, expected.inside.products)


@given(seed=seeds())
@settings(max_examples=60, deadline=None)
def test_a_pass_of_its_own_gives_the_same_window(seed):
    rng, X, _ = some_points(seed, "local")
    low, high = np.sort(rng.normal(scale=3.0, size=2)).tolist()  # at times there is nothing between
    window = X[0], rng.standard_normal(X.shape[1]), low, high
    found = queries.window(OwnPasses(), array_api_strict.asarray(X), *window)
    expected = queries.window(np, X, *window)
    assert np.array_equal(found.points, expected.points)
    assert found.n_above == expected.n_above
    close(found.scores, expected.scores)
    close(found.above, expected.above)


def test_parts_of_a_device_array(monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 3))
    whole, E = scattered("strict", X), random_ellipsoid(3, np.random.default_rng(1))
    expected = whole.moments(X[0]), whole.held_by(E)
    monkeypatch.setattr(queries, "_ON_DEVICE", 20)
    close(whole.moments(X[0]).products, expected[0].products)
    assert whole.held_by(E) == expected[1]
    assert (
        np.asarray(whole.beyond(X[3], np.ones(3), 0.0).members).tolist()
        == np.flatnonzero((X - X[3]) @ np.ones(3) >= 0.0).tolist()
    )
