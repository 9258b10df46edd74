"""Fits of ensembles: plans of members, columns by relevance, categories whole."""

import numpy as np
import pytest

from sepc.estimators.ensemble.ensemble_fitting import column_chances, columns_of, plans
from sepc.estimators.ensemble.feature_views import PLAIN, SCORES


def test_relevant_columns_are_drawn_more_often_and_constant_ones_never():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 50)
    X = np.column_stack([rng.normal(size=100) + 3 * codes, rng.normal(size=100), np.full(100, 2.0)])
    columns = columns_of(3, [])
    chances = column_chances(X, codes, columns)
    assert chances.sum() == pytest.approx(1)
    assert chances[0] > 2 * chances[1] > 0
    assert chances[2] == 0
    planned = plans(columns, chances, 10, [3, 1], 40, True, rng)
    assert not any(2 in plan.features for plan in planned)
    assert [len(plan.features) for plan in planned] == [2, 2, 1, 1, 2, 2, 2, 1, 1, 1]


def test_where_nothing_varies_all_columns_have_the_same_chance():
    columns = columns_of(3, [np.array([0, 1])])
    assert column_chances(np.ones((4, 3)), np.array([0, 0, 1, 1]), columns).tolist() == [0.5, 0.5]


def test_a_category_is_drawn_whole_and_counts_as_one_column():
    columns = columns_of(7, [np.array([1, 2, 3]), np.array([5, 6])])
    assert [column.tolist() for column in columns] == [[0], [1, 2, 3], [4], [5, 6]]
    planned = plans(columns, np.full(4, 0.25), 40, [4, 2, 1], 40, True, np.random.default_rng(0))
    for plan in planned:
        drawn = [column for column in columns if np.isin(column, plan.features).any()]
        assert np.array_equal(plan.features, np.sort(np.concatenate(drawn)))
    assert [len(plan.features) for plan in planned[:5]] == [7, 7, *(len(plan.features) for plan in planned[2:4]), 7]


def test_a_member_has_at_most_so_many_features_but_one_column():
    columns = columns_of(60, [np.arange(0, 45), np.arange(45, 60)])
    planned = plans(columns, np.array([0.5, 0.5]), 20, [2], 40, True, np.random.default_rng(0))
    assert {len(plan.features) for plan in planned} == {45, 15}


def test_the_relevance_of_a_category_is_that_of_its_values_in_whatever_order():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 300)
    value = np.where(rng.random(300) < 0.7, codes, rng.integers(0, 3, 300))
    X = np.column_stack([np.eye(3)[value], np.eye(3)[rng.integers(0, 3, 300)]])
    columns = columns_of(6, [np.arange(3), np.arange(3, 6)])
    tells, noise = column_chances(X, codes, columns)
    assert tells > 3 * noise > 0
    turned = X[:, [2, 0, 1, 4, 5, 3]]
    assert column_chances(turned, codes, columns) == pytest.approx([tells, noise])


def test_a_table_of_categories_alone_has_nothing_to_cut():
    planned = plans(columns_of(4, [np.arange(4)]), np.ones(1), 10, [1], 40, False, np.random.default_rng(0))
    assert [plan.view for plan in planned] == [PLAIN, SCORES] * 5
