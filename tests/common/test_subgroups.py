"""Subgroups: found where something is clearly more frequent, and not by chance."""

import numpy as np

from sepc.common.subgroups import frequent_subgroups


def test_the_group_with_the_most_above_the_usual_comes_first():
    group = np.repeat(["a", "b", "c"], [1000, 200, 60])
    hits = np.concatenate([np.arange(1000) % 50 == 0, np.arange(200) % 2 == 0, np.arange(60) % 3 != 0]).astype(float)
    found = frequent_subgroups(hits, {"group": group})
    assert [one.value for one in found] == ["b", "c"]
    assert (found[0].n, found[0].share) == (200, 0.5)
    assert np.isclose(found[0].elsewhere, (20 + 40) / 1060)


def test_chance_is_no_group():
    rng = np.random.default_rng(0)
    for _ in range(50):
        columns = {str(k): rng.integers(5, size=500) for k in range(10)}
        assert frequent_subgroups((rng.random(500) < 0.2).astype(float), columns) == []


def test_small_groups_and_no_columns_are_nothing():
    hits = np.array([1.0] * 19 + [0.0] * 500)
    assert frequent_subgroups(hits, {"group": np.repeat([0, 1], [19, 500])}) == []
    assert frequent_subgroups(hits, {}) == []
