"""Thresholds that bound an expected cost."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

from sepc.promises.cost_thresholds import STARTS, lowest_affordable_threshold, p_values, records_needed, upper_mean


def outcomes(n, k):
    """Yield all ways to spread n draws over k values."""
    if k == 1:
        yield (n,)
        return
    for first in range(n + 1):
        yield from ((first, *rest) for rest in outcomes(n - first, k - 1))


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.1, 1.0), (0.2, 0.5, 0.9)])
@pytest.mark.parametrize("n", [1, 5, 12])
def test_p_values_are_p_values_whatever_the_distribution(values, n):
    """By counting all outcomes of draws whose mean is just above the limit, or far above it."""
    counts = np.array(list(outcomes(n, len(values))))
    totals = counts @ np.array(values)
    for shares in product(np.linspace(0.05, 0.9, 6), repeat=len(values) - 1):
        if sum(shares) > 1.0:
            continue
        probability = np.array([*shares, 1.0 - sum(shares)])
        mean = float(probability @ np.array(values))
        weights = multinomial.pmf(counts, n, probability)
        for limit in (0.999 * mean, 0.5 * mean):
            p = p_values(np.full(len(totals), n), totals, limit)
            order = np.argsort(p)
            below = np.cumsum(weights[order])
            # P(p <= a) <= a at each a that p can be, ties taken together.
            last = np.append(np.diff(p[order]) > 1e-15, True)
            assert (below[last] <= p[order][last] + 1e-12).all()


@given(st.integers(1, 400), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.05, 0.001]))
def test_the_upper_mean_is_where_the_p_value_is_the_risk(n, share, risk):
    total = share * n
    high = upper_mean(total, n, risk)
    assert total / n <= high <= 1.0
    if high < 1.0:
        assert p_values(np.array([n]), np.array([total]), min(high + 1e-6, 1 - 1e-9))[0] <= risk * (1 + 1e-3)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([20, 60, 200]), st.sampled_from([0.05, 0.2]), st.booleans())
def test_it_does_what_the_module_says_candidate_by_candidate(seed, n, limit, tied):
    rng = np.random.default_rng(seed)
    trust = np.round(rng.random(n), 1) if tied else rng.random(n)
    cost = np.where(rng.random(n) < 0.3 * (1 - trust), rng.random(n), 0.0)
    found = lowest_affordable_threshold(trust, cost, limit, 0.1)
    level, lowest = 0.0, None
    candidates = sorted({*STARTS, *trust, *np.nextafter(trust, 2.0), 0.0} - {np.nextafter(1.0, 2.0)}, reverse=True)
    for t in candidates:
        if t > 1.0:
            continue
        level += 0.1 / len(STARTS) * np.count_nonzero(t == STARTS)
        accepted = trust >= t
        p = p_values(np.array([accepted.sum()]), np.array([cost[accepted].sum()]), limit)[0] if accepted.any() else 1.0
        if p <= level * (1 + 1e-12):
            lowest = t
        else:
            level = 0.0
    assert (found is None) == (lowest is None)
    if found is not None:
        assert np.array_equal(trust >= found.threshold, trust >= lowest)


def test_as_many_records_as_are_needed_are_enough_and_one_less_is_not():
    for limit, risk in product((0.02, 0.1, 0.4), (0.05, 0.01)):
        n = records_needed(limit, risk)
        # All below the lowest start but one: a single level is what there is.
        assert lowest_affordable_threshold(np.full(n, 0.4), np.zeros(n), limit, risk) is not None
        assert lowest_affordable_threshold(np.full(n - 1, 0.4), np.zeros(n - 1), limit, risk) is None


def test_the_promise_is_kept_as_often_as_stated():
    """Costs that are highest where trust is highest, so that every threshold but the lowest is too dear."""
    rng, broken, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        trust = rng.random(150)
        cost = np.where(rng.random(150) < 0.25, rng.choice([0.3, 1.0], 150), 0.0)  # 0.1625 at each trust
        broken += lowest_affordable_threshold(trust, cost, 0.16, 0.1) is not None
    assert broken / runs <= 0.13
