"""The nearest points of few points are those that the search for many finds; it is asked where they are not found."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from hull_pairs import check
from hypothesis import given
from hypothesis import strategies as st
from strategies import FAMILIES, REGIMES, examples, labelled_points, point_set, seeds

from sepc.geometry import hulls
from sepc.geometry._hulls import small_hulls
from sepc.geometry.hulls import HullPair, nearest_points


def by_search(A, B, cap):
    """Return the pair that the search for many points finds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hulls, "_FEW", 0)
        return nearest_points(A, B, cap)


def larger_sets():
    """Return two sets of more points and features than can be drawn one by one."""
    sets = st.tuples(st.sampled_from(FAMILIES), st.integers(1, 200), seeds())
    return st.builds(
        lambda d, *two: tuple(point_set(family, n, d, seed) for family, n, seed in two), st.integers(1, 11), sets, sets
    )


@examples(80)
@given(
    labelled_points(regimes=REGIMES[:5]).map(lambda data: data[:2]) | larger_sets(),
    st.sampled_from([None, 1.0]) | st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.sampled_from([0.0, 1e6]),
)
def test_it_finds_the_same_pair(sets, cap, apart, offset):
    A, B = sets[0] + apart + offset, sets[1] + offset
    # Between the least, with which all points have the same weight, and the hull itself.
    free = isinstance(cap, tuple)
    caps = tuple(1.0 / (1.0 + share * (len(X) - 1.0)) for share, X in zip(cap, (A, B), strict=True)) if free else cap
    pair, searched = nearest_points(A, B, caps), by_search(A, B, caps)
    if not offset:  # the oracle loses the digits that both keep
        check(pair, A, B)
    assert pair.meet == searched.meet
    if pair.converged and searched.converged and not pair.meet:
        np.testing.assert_allclose(pair.distance, searched.distance, rtol=1e-8)
        np.testing.assert_allclose(pair.normal, searched.normal, rtol=0.0, atol=1e-4 * searched.distance)


@pytest.mark.slow
def test_what_is_not_certified_is_searched_for(monkeypatch):
    """With slabs that do not narrow the shares are far from the best, and the gap says so."""
    A, B = point_set("gauss", 80, 3), point_set("gauss", 50, 3, seed=1) + 2.0
    monkeypatch.setattr(small_hulls.slabs, "narrow", lambda *_: False)
    monkeypatch.setattr(small_hulls.slabs, "refine", lambda *_: False)
    assert HullPair(*small_hulls.nearest_of_few(A, B, (0.02, 0.02), 1e-9)).gap > 1e-3
    monkeypatch.undo()
    told, pair = [], by_search(A, B, None)
    some = HullPair(*small_hulls.nearest_of_few(A, B, (0.02, 0.02), 1e-9))
    bad = astuple(replace(some, gap=1.0, converged=False))
    monkeypatch.setattr(small_hulls, "nearest_of_few", lambda *_: bad)
    found = nearest_points(A, B, on_step=lambda _, gap: told.append(gap))
    np.testing.assert_array_equal(found.normal, pair.normal)
    assert told[0] == 1.0
    assert told[-1] == found.gap <= 1e-9


def test_the_bound_of_the_support_is_no_less_whatever_the_shares():
    rng = np.random.default_rng(0)
    for _ in range(50):
        score, cap = rng.normal(size=12), 1.0 / rng.uniform(1.0, 12.0)
        best = np.sort(score)[::-1] @ np.diff(np.minimum(np.arange(13) * cap, 1.0))
        bound = small_hulls._bound_of_support
        assert bound(score, rng.random(12), cap) >= best - 1e-12
        # With the best shares it is the largest mean itself.
        share = np.zeros(12)
        share[np.argsort(-score)] = np.diff(np.minimum(np.arange(13) * cap, 1.0)) / cap
        assert bound(score, share, cap) == pytest.approx(best)


def test_shares_are_settled_without_leaving_their_bounds():
    share = np.array([0.0, 1.0, 0.3, 0.7])
    assert small_hulls.settle(share, 2.0 + 1e-7)
    assert share.sum() == pytest.approx(2.0 + 1e-7, abs=1e-13)
    assert share[:2].tolist() == [0.0, 1.0]
    assert not small_hulls.settle(np.array([0.0, 1.0]), 1.5)
