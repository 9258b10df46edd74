"""Bets on ranks: fair whatever the reference, valid by simulation, the same in any order of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, kstest
from strategies import examples

from sepc.feedback.rank_bets import DENSITIES, EDGES, WIDTHS, Ranks, RankTest, RarityRanks


def cells(ranks):
    return np.bincount(np.searchsorted(EDGES, ranks), minlength=len(WIDTHS))


def watched(reference, stream, risk, rng, batch=20):
    """Return the test of a stream in batches, one series for each column."""
    ranks, test, n = [Ranks(column) for column in reference.T], RankTest(np.full(stream.shape[1], risk)), 0
    for some in np.array_split(stream, max(len(stream) // batch, 1)):
        u = rng.random(some.shape)
        counts = [cells(one.add(values, v)) for one, values, v in zip(ranks, some.T, u.T, strict=True)]
        test.add(np.array(counts), n, n + len(some))
        n += len(some)
    return test


class TestBets:
    def test_each_is_a_density(self):
        assert (DENSITIES > 0.0).all()
        assert pytest.approx(np.ones(len(DENSITIES)), rel=1e-12) == DENSITIES @ WIDTHS
        assert WIDTHS.sum() == pytest.approx(1.0)

    def test_each_direction_has_its_mirror(self):
        mirrored = {tuple(row) for row in np.round(DENSITIES[:, ::-1], 9).tolist()}
        assert mirrored == {tuple(row) for row in np.round(DENSITIES, 9).tolist()}


class TestRanks:
    @examples(60)
    @given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), min_size=1, max_size=8))
    def test_they_are_counts_one_after_the_other(self, before, stream):
        u = np.linspace(0.1, 0.9, len(stream))
        found = Ranks(np.array(before, dtype=float)).add(np.array(stream, dtype=float), u)
        for t, value in enumerate(stream):
            seen = np.array(before + stream[: t + 1])
            expected = (np.sum(seen < value) + u[t] * np.sum(seen == value)) / len(seen)
            assert found[t] == pytest.approx(expected)

    def test_chunks_and_batches_do_not_matter(self):
        rng = np.random.default_rng(0)
        values, u, before = rng.integers(0, 300, 1500).astype(float), rng.random(1500), rng.standard_normal(40)
        values[rng.random(1500) < 0.1] = np.nan
        parts = Ranks(before)
        one_by_one = np.concatenate([parts.add(values[k : k + 7], u[k : k + 7]) for k in range(0, 1500, 7)])
        assert np.array_equal(Ranks(before).add(values, u), one_by_one)

    @pytest.mark.parametrize("kind", ["continuous", "binary", "gaps", "one value"])
    @pytest.mark.parametrize("n", [0, 3, 100])
    def test_they_are_uniform_and_independent_for_any_reference(self, kind, n):
        """Two ranks of each of many streams: uniform in the square."""
        rng, pairs = np.random.default_rng(1), []
        for _ in range(1500):
            values = rng.standard_normal(n + 6)
            values = {"binary": (values > 1.0) * 1.0, "one value": values * 0.0}.get(kind, values)
            if kind == "gaps":
                values[rng.random(n + 6) < 0.3] = np.nan
            pairs.append(Ranks(values[:n]).add(values[n:], rng.random(6))[[2, 5]])
        first, last = np.array(pairs).T
        assert min(kstest(first, "uniform").pvalue, kstest(last, "uniform").pvalue) > 1e-4
        assert kstest((first + last) % 1.0, "uniform").pvalue > 1e-4

    def test_those_of_labels_are_uniform_even_where_new_ones_keep_coming(self):
        rng, ranks = np.random.default_rng(2), []
        shares = 0.5 ** np.arange(1, 12)
        for _ in range(1500):
            codes = rng.choice(11, p=shares / shares.sum(), size=36)
            ranks.append(RarityRanks(np.bincount(codes[:30], minlength=3)).add(codes[30:], rng.random(6))[-1])
        assert kstest(ranks, "uniform").pvalue > 1e-4

    def test_a_new_label_is_the_rarest(self):
        ranks = RarityRanks(np.array([40, 60]))
        assert ranks.add(np.array([2]), np.array([0.5])) == pytest.approx([0.5 / 101.0])
        assert ranks.counts.tolist() == [40, 60, 1]


class TestRankTest:
    @pytest.mark.parametrize("n", [10, 200])
    def test_false_alarms_are_as_rare_as_stated(self, n):
        rate, runs, alarms, d = 0.2, 100, 0, 3
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            X = rng.standard_t(2, (n + 300, d))
            X[:, 1] = X[:, 0] > 0.5  # columns depend on each other
            alarms += bool((watched(X[:n], X[n:], rate / d, rng).when >= 0).any())
        assert alarms <= binom.isf(0.001, runs, rate)

    def test_with_enough_bets_on_it_the_rate_is_used(self):
        """Alarms are not so rare that the test would be without power: one series at a large rate."""
        rate, runs = 0.5, 100
        streams = [np.random.default_rng(seed) for seed in range(runs)]
        alarms = sum(watched(g.random((50, 1)), g.random((300, 1)), rate, g).when[0] >= 0 for g in streams)
        assert 0.1 * runs < alarms <= binom.isf(0.001, runs, rate)

    @pytest.mark.parametrize(
        ("change", "most"),
        [
            (lambda X, _: X + 1.0, 100),
            (lambda X, _: X - 1.0, 100),
            (lambda X, _: 2.0 * X, 200),
            (lambda X, _: 0.5 * X, 200),
            (lambda X, rng: np.where(rng.random(len(X)) < 0.15, 3.0, X), 200),
            (lambda X, rng: np.where(rng.random(len(X)) < 0.25, 0.0, X), 300),
            (lambda X, rng: np.where(rng.random(len(X)) < 0.15, np.nan, X), 200),
        ],
        ids=["higher", "lower", "wider", "narrower", "far away", "in one place", "missing"],
    )
    def test_changes_of_many_kinds_are_found_soon(self, change, most):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((1000, 1))
            X[600:, 0] = change(X[600:, 0], rng)
            test = watched(X[:200], X[200:], 0.01 / 40.0, rng)
            assert 400 < test.when[0] <= 400 + most
            assert abs(test.since[0] - 400) <= 40

    def test_a_new_label_of_few_records_is_found(self):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            ranks, test = RarityRanks(np.array([200, 200, 200])), RankTest(np.array([0.0025]))
            for n in range(0, 1900, 25):
                codes = rng.choice(4, p=[0.31, 0.32, 0.32, 0.05] if n >= 500 else [0.33, 0.33, 0.34, 0.0], size=25)
                test.add(cells(ranks.add(codes, rng.random(25)))[None], n, n + 25)
            assert test.when[0] > 500

    def test_at_its_alarm_a_series_stands_still(self):
        rng = np.random.default_rng(0)
        test = RankTest(np.array([0.01, 0.01]))
        shifted, fine = cells(np.full(60, 0.999)), cells(rng.random(60))
        assert test.add(np.array([shifted, fine]), 0, 60).tolist() == [True, False]
        assert test.add(np.array([fine, shifted]), 60, 120).tolist() == [False, True]
        assert test.when.tolist() == [60, 120]
        assert test.since.tolist() == [0, 60]
