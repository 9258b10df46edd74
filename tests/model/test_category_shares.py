"""Shares of the values of categories, against counting, and densities with such factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from strategies import category_values, examples

from sepc.model.category_shares import Categories, category_groups, shares_of
from sepc.model.mixtures import mixture_of_blocks

N_VALUES = (3, 2, 4)


def drawn_values():
    return st.integers(4, 60).flatmap(lambda n: category_values(N_VALUES, n))


def table(values):
    """Return values of three categories, their features, and blocks of two classes."""
    X = np.column_stack([np.eye(3)[values[:, 0]], values[:, 1], np.eye(4)[values[:, 2]]])
    return values, X, [(k // 2, np.arange(k, len(values), 4)) for k in range(4)]


SOME = np.random.default_rng(0).integers(N_VALUES, size=(60, 3))


GROUPS = [[0, 1, 2], [3], [4, 5, 6, 7]]


def counted(values, blocks, group, value):
    """Return the share of a value in each block as the module's docstring says it."""
    n_values = N_VALUES[group]
    # Where there is a feature for each value there is room for one that was never seen, too.
    n_slots = n_values + (n_values > 2)
    column = values[:, group]
    of_all = (np.count_nonzero(column == value) + 0.5) / (len(column) + 0.5 * n_slots)
    out = []
    for code, rows in blocks:
        of_class = np.concatenate([r for c, r in blocks if c == code])
        in_class = (np.count_nonzero(column[of_class] == value) + 4 * of_all) / (len(of_class) + 4)
        out.append((np.count_nonzero(column[rows] == value) + 4 * in_class) / (len(rows) + 4))
    return np.array(out)


def shares_in(X, blocks, categories):
    held = np.array([categories.held(X[rows]).mean(axis=0) for _, rows in blocks])
    counts, codes = np.array([len(rows) for _, rows in blocks]), np.array([code for code, _ in blocks])
    return shares_of(categories, held, counts, codes, 2)


class TestShares:
    @pytest.mark.slow
    @examples(50)
    @given(drawn_values())
    def test_they_are_those_that_counting_gives(self, values):
        values, X, blocks = table(values)
        shares = shares_in(X, blocks, Categories.of(GROUPS, np.zeros(8), np.ones(8)))
        for component in range(len(blocks)):
            found = np.exp(shares.by_category(X, component))
            for group in range(3):
                expected = [counted(values, blocks, group, v)[component] for v in values[:, group]]
                assert found[:, group] == pytest.approx(expected)
        product = np.exp(shares.log_shares(X))
        each = np.exp([shares.by_category(X, c).sum(axis=1) for c in range(len(blocks))]).T
        assert product == pytest.approx(each)

    @examples(50)
    @given(drawn_values())
    def test_those_of_all_values_and_of_one_never_seen_add_up_to_1(self, values):
        _, X, blocks = table(values)
        shares = shares_in(X, blocks, Categories.of(GROUPS, np.zeros(8), np.ones(8)))
        never = np.exp(shares.by_category(np.zeros((1, 8)), 0))[0]
        of_each = shares.shares(0)
        assert of_each[:3].sum() + never[0] == pytest.approx(1)
        assert of_each[3] + never[1] == pytest.approx(1)  # of two values it is the other one
        assert of_each[4:].sum() + never[2] == pytest.approx(1)
        assert 0 < never[0] < 0.05

    @examples(50)
    @given(drawn_values())
    def test_units_do_not_matter(self, values):
        _, X, blocks = table(values)
        rng = np.random.default_rng(0)
        mean, scale = rng.normal(size=8), 0.1 + rng.random(8)
        Z = (X - mean) / scale
        plain = shares_in(X, blocks, Categories.of(GROUPS, np.zeros(8), np.ones(8)))
        in_units = shares_in(Z, blocks, Categories.of(GROUPS, -mean / scale, (1 - mean) / scale))
        assert in_units.log_shares(Z) == pytest.approx(plain.log_shares(X))
        assert in_units.shares(1) == pytest.approx(plain.shares(1))
        assert in_units.by_feature(Z, 0) == pytest.approx(plain.by_feature(X, 0))

    @examples(50)
    @given(drawn_values())
    def test_no_number_beyond_makes_a_share_larger_than_that_of_a_value(self, values):
        _, X, blocks = table(values)
        categories = Categories.of(GROUPS, np.zeros(8), np.ones(8))
        shares = shares_in(X, blocks, categories)
        far = 10 ** np.random.default_rng(0).uniform(0, 9) * np.random.default_rng(0).normal(size=(20, 8))
        assert (np.exp(shares.log_shares(far)) <= 1).all()
        assert (categories.squares_beyond(far).sum(axis=1) > 0).all()
        assert (categories.squares_beyond(X) == 0).all()

    def test_the_share_belongs_to_the_feature_of_the_value(self):
        _, X, blocks = table(SOME)
        shares = shares_in(X, blocks, Categories.of(GROUPS, np.zeros(8), np.ones(8)))
        by_feature, logs = shares.by_feature(X, 2), shares.by_category(X, 2)
        for number, group in enumerate(GROUPS):
            assert by_feature[:, group].sum(axis=1) == pytest.approx(logs[:, number])
        assert (by_feature[:, :3][X[:, :3] == 0] == 0).all()
        unknown = shares.by_feature(np.zeros((1, 8)), 2)[0]
        assert unknown[:3] == pytest.approx(np.full(3, unknown[:3].sum() / 3))


class TestDensities:
    @pytest.mark.slow
    @examples(30)
    @given(drawn_values(), st.integers(0, 2))
    def test_they_are_those_of_the_numbers_times_the_shares(self, values, n_numbers):
        values, X, blocks = table(values)
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(len(X), n_numbers))
        points = np.column_stack([X, numbers])
        count = np.bincount([c for c, rows in blocks for _ in rows], minlength=2)
        d = points.shape[1]
        categories = Categories.of(GROUPS, np.zeros(d), np.ones(d))
        found = mixture_of_blocks(points, blocks, count, points.mean(axis=0), np.ones(d), categories).densities
        scatters = [
            len(r) * np.atleast_2d(np.cov(numbers[r].T, ddof=0)).reshape(n_numbers, n_numbers) for _, r in blocks
        ]
        common = sum(scatters) / max(len(X) - len(blocks), 1) + 1e-2 * np.eye(n_numbers)
        joint = np.zeros((len(X), 2))
        for k, ((code, rows), scatter) in enumerate(zip(blocks, scatters, strict=True)):
            factor = np.prod([[counted(values, blocks, g, v)[k] for v in values[:, g]] for g in range(3)], axis=0)
            if n_numbers:
                shape = (scatter + (n_numbers + 1) * common) / (len(rows) + n_numbers + 1) + 1e-4 * np.eye(n_numbers)
                factor = factor * multivariate_t(numbers[rows].mean(0), shape, df=8).pdf(numbers)
            joint[:, code] += len(rows) * factor
        assert found.posterior(points) == pytest.approx(joint / joint.sum(axis=1, keepdims=True), abs=1e-9)
        assert [found.size(k, len(X)) for k in range(len(blocks))] == [len(rows) for _, rows in blocks]
        one_by_one = np.concatenate([found.log_joint(point[None]) for point in points])
        assert np.array_equal(one_by_one, found.log_joint(points))

    def test_the_mean_of_a_component_has_the_shares_of_its_values(self):
        _, X, blocks = table(SOME)
        categories = Categories.of(GROUPS, np.zeros(8), np.ones(8))
        count = np.bincount([c for c, rows in blocks for _ in rows], minlength=2)
        found = mixture_of_blocks(X.copy(), blocks, count, X.mean(axis=0), np.ones(8), categories).densities
        assert found.mean(1) == pytest.approx(shares_in(X, blocks, categories).shares(1))


class TestGroups:
    def groups(self, X):
        X = np.asarray(X, dtype=float)
        return [group.tolist() for group in category_groups(len(X), X.sum(axis=0), X.T @ X)]

    @examples(50)
    @given(drawn_values())
    def test_the_features_of_each_category_are_found(self, values):
        # With all values together with all others, no two features of different categories exclude each other.
        _, X, _ = table(np.vstack([np.argwhere(np.ones(N_VALUES)), values]))
        assert self.groups(X) == GROUPS

    def test_without_the_first_value_each_feature_has_two_values(self):
        value = np.array([0, 1, 2, 0, 1, 2])
        assert self.groups(np.eye(3)[value][:, 1:]) == [[0], [1]]

    def test_values_that_no_record_has_belong_to_their_category(self):
        X = np.eye(4)[[0, 2, 0, 2]]
        assert self.groups(X) == [[0, 1, 2]]
        assert self.groups(X[:, [1, 3]]) == []
