"""The search for rules: its best range and levels are those of trying all."""

import itertools

import numpy as np
import pytest
from scipy.stats import bernoulli

from sepc.landscapes.failing_rules import MOST_RULES, Axis, _Search, failing_rules, under


@pytest.fixture
def records():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 13, 400)
    return codes, rng.random(400) < np.where((codes >= 4) & (codes < 7), 0.7, 0.1)


def score(held, events, cost):
    """Return the log likelihood ratio of two shares less a cost, by SciPy's distribution."""
    parts = [events[held], events[~held], events]
    inside, outside, single = (bernoulli.logpmf(part, part.mean()).sum() if len(part) else 0.0 for part in parts)
    return inside + outside - single - cost


def test_the_best_range_is_that_of_trying_all(records):
    codes, events = records
    axis = Axis(codes, 14, False)
    search = _Search.of([axis], events)
    found, mask = search.best_condition(0, search.counts(0, np.ones(400, dtype=bool)))
    tried = {
        (a, b): score((codes >= a) & (codes < b), events, np.log(14) * ((a > 0) + (b < 13)))
        for a, b in itertools.combinations(range(14), 2)
        if b - a < 13 and events[(codes >= a) & (codes < b)].mean() > events.mean()
    }
    best = max(tried, key=tried.get)
    assert np.flatnonzero(mask).tolist() == list(range(*best))
    assert found == pytest.approx(tried[best])


def test_levels_of_many_events_go_together():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, 600)
    events = rng.random(600) < np.where(np.isin(codes, [1, 4]), 0.8, 0.1)
    axes = [Axis(codes, 7, True), Axis(rng.integers(0, 9, 600), 10, False)]
    rule = failing_rules(axes, events)[0]
    assert np.flatnonzero(rule[0]).tolist() == [1, 4]
    assert rule[1].all()


def test_rules_have_few_conditions_and_hold_more_events():
    rng = np.random.default_rng(0)
    axes = [Axis(rng.integers(0, 20, 800), 21, False) for _ in range(6)]
    bad = (axes[0].codes > 12) & (axes[1].codes < 8)
    events = rng.random(800) < np.where(bad, 0.7, 0.1)
    rules = failing_rules(axes, events)
    assert 1 <= len(rules) <= MOST_RULES
    held = under(axes, rules[0])
    assert np.sum(held & bad) >= 0.7 * np.sum(held | bad)
    assert all(sum(not mask.all() for mask in rule) <= 4 for rule in rules)


@pytest.mark.parametrize("n", [0, 2, 100])
def test_too_few_events_or_others_have_no_rule(n):
    events = np.arange(100) < n
    assert failing_rules([Axis(np.arange(100) // 10, 11, False)], events) == []
