"""Clopper and Pearson's limits of a share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from sepc.common.intervals import exact_interval, frequent_subgroups, upper_limit


@pytest.mark.slow
@given(st.integers(0, 400), st.integers(1, 400), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_is_that_of_scipys_binomial_test(hits, others, confidence):
    for k in (hits, 0, hits + others):
        expected = binomtest(k, hits + others).proportion_ci(confidence)
        assert exact_interval(k, hits + others, confidence) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.slow
@given(st.integers(0, 300), st.integers(1, 300), st.sampled_from([0.2, 0.05, 1e-3, 1e-9]))
def test_at_the_limit_so_few_hits_are_as_rare_as_the_risk(hits, misses, risk):
    n = hits + misses
    assert binom.cdf(hits, n, upper_limit(hits, n, risk)) == pytest.approx(risk, rel=1e-6)


def test_of_nothing_nothing_is_known():
    assert exact_interval(0, 0) == (0.0, 1.0)
    assert upper_limit(7, 7, 0.05) == 1.0


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
