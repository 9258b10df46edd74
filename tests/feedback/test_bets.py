"""Bets on labels that were chosen: the old ones where all records have labels, and fair whatever the choice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from sepc.feedback.bets import ODDS_RATIOS, SequentialBets, log_factors
from sepc.feedback.drift import SequentialRateTest

rates = st.floats(0.001, 0.999)
chances = st.floats(0.02, 1.0)


class TestFactors:
    @examples(50)
    @given(rates)
    def test_where_all_have_labels_they_are_likelihood_ratios(self, p):
        found = np.exp(log_factors(np.array([p, p]), np.array([True, False]), np.ones(2)))
        assert np.allclose(found[0], ODDS_RATIOS / (1.0 + (ODDS_RATIOS - 1.0) * p), rtol=1e-12)
        assert np.allclose(found[1], 1.0 / (1.0 + (ODDS_RATIOS - 1.0) * p), rtol=1e-12)

    @examples(100)
    @given(rates, st.lists(st.tuples(chances, st.floats(0.0, 1.0), st.floats(0.01, 1.0)), min_size=1, max_size=5))
    def test_they_are_fair_whatever_the_policy(self, limit, kinds):
        """Kinds of records, each with its chance of a label, its rate of errors, and how common it is."""
        chance, wrong, often = np.array(kinds).T
        often = often / often.sum()
        wrong = wrong * min(1.0, limit / max(float(wrong @ often), 1e-12))  # all together at the limit, or below
        limits = np.full(len(kinds), limit)
        if_wrong, if_right = (
            np.exp(log_factors(limits, np.full(len(kinds), which), chance, 0.02)) for which in (True, False)
        )
        assert (if_right > 0.0).all()
        labelled = wrong[:, None] * if_wrong + (1.0 - wrong[:, None]) * if_right
        mean = often @ (chance[:, None] * labelled + 1.0 - chance[:, None])
        assert (mean <= 1.0 + 1e-9).all()
        if wrong @ often > limit - 1e-9:
            assert np.allclose(mean, 1.0)

    def test_a_rise_is_gained_from_whatever_the_policy(self):
        chance, wrong = np.array([1.0, 0.05]), np.array([0.3, 0.2])
        limits = np.full(2, 0.1)
        gains = [np.exp(log_factors(limits, np.full(2, which), chance, 0.05)) for which in (True, False)]
        labelled = wrong[:, None] * gains[0] + (1.0 - wrong[:, None]) * gains[1]
        assert ((chance[:, None] * labelled + 1.0 - chance[:, None]).mean(axis=0) > 1.0).all()


class TestSequentialBets:
    def test_they_are_those_of_a_test_of_counts(self):
        held_out = np.array([[3, 40], [5, 40]])
        test = SequentialRateTest("wrong", held_out, 0.05)
        bets = SequentialBets(np.full(2, 0.5))
        for n, hits in ((10, [2, 1]), (7, [0, 3]), (20, [9, 9])):
            test.add(n, hits)
            gain = [
                (log_factors(np.full(n, limit), np.arange(n) < k, np.ones(n))).sum(axis=0)
                for limit, k in zip(test.limits, hits, strict=True)
            ]
            bets.add(np.array(gain))
        assert bets.log_evidence == pytest.approx(test.bets.log_evidence, rel=1e-12, abs=1e-12)

    def test_contributions_and_what_is_not_yet_placed_are_all_wealth(self):
        bets = SequentialBets(np.array([0.25, 0.75]))
        rng = np.random.default_rng(0)
        for _ in range(4):
            bets.add(rng.standard_normal((2, len(ODDS_RATIOS))))
        assert np.exp(bets.log_evidence[-1]) == pytest.approx(np.exp(bets.contributions()).sum() + 1.0 / 5.0)
