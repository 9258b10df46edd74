"""Thresholds that keep what they promise."""

import json
import re
from itertools import product
from math import ceil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from raw_tables import patients
from scipy.special import gammaln
from scipy.stats import binom, multinomial
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from strategies import examples, orders, trusts_and_errors

from sepc import SEPClassifier, make_table_pipeline, select_min_trust
from sepc.common.text import at_least
from sepc.promises import safe_thresholds
from sepc.promises.safe_thresholds import (
    COST_STARTS,
    entering_parts,
    lowest_affordable_threshold,
    lowest_safe_threshold,
    p_values,
    records_needed,
    records_needed_for_cost,
    upper_mean,
)


class Known:
    """A fitted classifier whose records are (trust, whether the label is right): it always says 1."""

    classes_ = np.array([0, 1])

    def trust_score(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def chosen(trust, wrong, **options):
    return select_min_trust(Known(), np.column_stack([trust, trust]), 1 - np.asarray(wrong, dtype=int), **options)


def threshold_rank_by_rank(trust, wrong, max_error, confidence):
    """Do what the module's docstring says, one rank after the other, the wrong ones of equal trusts first."""
    risk, n = 1 - confidence, len(trust)
    records = sorted(zip((-np.asarray(trust)).tolist(), (~np.asarray(wrong)).tolist(), strict=True))
    arrivals = [rank for rank in (ceil(n * 0.7**j) for j in range(8)) if rank >= 30 or rank == n]
    waiting = alive = errors = 0
    has_begun, began_here, result = False, False, None
    for k, (trust_k, is_right) in enumerate(records, start=1):
        errors += not is_right
        waiting += arrivals.count(k)
        enters = 0
        if waiting and (has_begun or (1 - max_error) ** k <= risk * waiting / len(arrivals) or k == n):
            enters, waiting, has_begun, began_here = waiting, 0, True, True
        is_end = k == n or records[k][0] > trust_k
        if is_end or began_here:
            alive += enters
            if alive and binom.cdf(errors, k, max_error) <= risk * alive / len(arrivals) * (1 + 1e-12):
                if is_end:
                    result = 0.0 if k == n else float(np.nextafter(-records[k][0], 1.0))
            else:
                alive = 0
        began_here &= not is_end
    return result


def compositions(n, parts):
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield (first, *rest)


class TestThreshold:
    @given(trusts_and_errors(), st.sampled_from([0.02, 0.1, 0.3]), st.sampled_from([0.5, 0.9]))
    def test_it_is_that_of_a_plain_reading_of_the_rule(self, sample, max_error, confidence):
        found = lowest_safe_threshold(*sample, max_error, confidence)
        assert (found and found.threshold) == threshold_rank_by_rank(*sample, max_error, confidence)

    @pytest.mark.parametrize(
        ("n", "values", "max_error", "errors_too_many"),
        [(14, (1.0, 0.5), 0.3, 2), (10, (1.0, 0.7, 0.5), 0.4, 2), (10, (0.9, 0.7, 0.5), 0.5, 2)],
    )
    def test_the_exact_probability_of_breaking_the_promise(self, monkeypatch, n, values, max_error, errors_too_many):
        """Over all outcomes of n draws from discrete distributions, with any course of the error over the trust.

        The risk is a little less than the probability of so few errors at the limit: a higher level would break it.
        """
        monkeypatch.setattr(safe_thresholds, "_SMALLEST_START", 1)
        confidence = 1 - 0.98 * binom.cdf(errors_too_many, n, max_error)
        assert np.count_nonzero(entering_parts(n, max_error, 1 - confidence)) > 2
        outcomes = np.array(list(compositions(n, 2 * len(values))))
        lowest = np.empty(len(outcomes), dtype=int)  # number of values that are accepted
        for i, counts in enumerate(outcomes):
            wrong = np.repeat(np.tile([False, True], len(values)), counts)
            found = lowest_safe_threshold(np.repeat(np.repeat(values, 2), counts), wrong, max_error, confidence)
            lowest[i] = 0 if found is None else np.count_nonzero(np.array(values) >= found.threshold)
        ways = gammaln(n + 1) - gammaln(outcomes + 1).sum(axis=1)
        rng = np.random.default_rng(0)
        for _ in range(300):
            mass, risk = rng.dirichlet(np.full(len(values), 0.7)), rng.beta(0.5, 1.0, size=len(values))
            if rng.random() < 0.5:  # the last one only just breaks it
                missing = max_error * 1.0001 - mass[:-1] @ risk[:-1]
                risk[-1] = np.clip(missing / max(mass[-1], 1e-9), 1e-9, 1 - 1e-9)
            errors = np.concatenate([[0.0], np.cumsum(mass * risk) / np.cumsum(mass)])
            cells = np.column_stack([mass * (1 - risk), mass * risk]).ravel()
            probability = np.exp(ways + outcomes @ np.log(np.maximum(cells, 1e-300)))
            assert probability.sum() == pytest.approx(1.0)
            assert probability[errors[lowest] > max_error].sum() <= 1 - confidence

    @pytest.mark.parametrize("n", [120, 600])
    @pytest.mark.parametrize("shape", ["calibrated", "at the limit", "tied", "strange at the top"])
    def test_the_promise_holds_in_simulation(self, n, shape):
        draw, risk, error_above = {
            "calibrated": (lambda u: u, lambda t: (1 - t) / 2, lambda t: (1 - t) / 4),
            "at the limit": (lambda u: u, lambda t: 0.1001 + 0 * t, lambda t: 0.1001 + 0 * t),
            "tied": (
                lambda u: np.where(u < 0.5, 1.0, 0.5),
                lambda t: np.where(t == 1.0, 0.02, 0.185),
                lambda t: 0.02 if t > 0.5 else 0.1025,
            ),
            "strange at the top": (
                lambda u: u,
                lambda t: np.where(t > 0.9, 0.5, 0.055),
                lambda t: 0.5 if t >= 0.9 else (0.05 + 0.055 * (0.9 - t)) / (1 - t),
            ),
        }[shape]
        rng, broken, runs = np.random.default_rng(1), 0, 300
        for _ in range(runs):
            trust = draw(rng.random(n))
            found = lowest_safe_threshold(trust, rng.random(n) < risk(trust), 0.1, 0.9)
            broken += found is not None and error_above(found.threshold) > 0.1
        assert broken <= binom.isf(1e-4, runs, 0.1)

    @given(trusts_and_errors(), st.data(), st.sampled_from([0.05, 0.2]))
    def test_fewer_errors_never_raise_the_threshold(self, sample, data, max_error):
        trust, wrong = sample
        corrected = data.draw(arrays(bool, len(trust)))
        more, fewer = (lowest_safe_threshold(trust, w, max_error, 0.8) for w in (wrong, wrong & ~corrected))
        if more is not None:
            assert fewer is not None
            assert fewer.threshold <= more.threshold

    @given(trusts_and_errors(), st.data())
    def test_the_order_of_the_records_does_not_matter(self, sample, data):
        order = data.draw(orders(len(sample[0])))
        again = lowest_safe_threshold(sample[0][order], sample[1][order], 0.2, 0.8)
        assert again == lowest_safe_threshold(*sample, 0.2, 0.8)

    @given(trusts_and_errors(), st.sampled_from([np.float64, np.float32]))
    def test_the_counts_are_of_what_the_threshold_accepts(self, sample, kind):
        trust, wrong = sample[0].astype(kind), sample[1]
        found = lowest_safe_threshold(trust, wrong, 0.2, 0.8)
        assume(found is not None)
        accepted = trust >= found.threshold
        assert accepted.sum() == found.n_accepted
        assert accepted.all() or trust[~accepted].max() < found.threshold
        lower = np.nextafter(kind(found.threshold), kind(0))
        assert accepted.all() or np.count_nonzero(trust >= lower) > found.n_accepted

    @given(trusts_and_errors())
    def test_the_bound_is_that_of_clopper_and_pearson_and_within_the_limit(self, sample):
        found = chosen(*sample, max_error=0.2, confidence=0.8)
        if not found.is_kept:
            assert (found.n_accepted, found.n_errors, found.coverage, found.error_bound) == (0, 0, 0.0, None)
            return
        assert found.n_errors / found.n_accepted < found.error_bound <= 0.2
        assert binom.cdf(found.n_errors, found.n_accepted, found.error_bound) <= 0.2 * (1 + 1e-9)

    def test_a_trust_of_one_can_be_the_threshold(self):
        trust, wrong = np.repeat([1.0, np.nextafter(1.0, 0.0)], [100, 100]), np.repeat([False, True], 100)
        found = chosen(trust, wrong)
        assert found.min_trust == 1.0
        assert found.n_accepted == 100

    @pytest.mark.parametrize("trust", [0.9, 1.0])
    @pytest.mark.parametrize("n", [59, 80, 5000])
    def test_equal_trusts_are_accepted_together_with_all_of_the_risk(self, trust, n):
        found = lowest_safe_threshold(np.full(n, trust), np.zeros(n, dtype=bool), 0.05, 0.95)
        assert (found.threshold, found.n_accepted, found.level) == (0.0, n, pytest.approx(0.05, rel=1e-12))

    def test_without_errors_all_are_accepted(self):
        found = chosen(np.linspace(0.0, 1.0, 300), np.zeros(300))
        assert (found.min_trust, found.coverage, found.n_errors) == (0.0, 1.0, 0)

    @pytest.mark.parametrize("max_error", [0.01, 0.05, 0.1, 0.3])
    @pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
    def test_so_many_records_are_needed(self, max_error, confidence):
        n = records_needed(max_error, confidence)
        for m in range(n, n + 40):
            assert lowest_safe_threshold(np.linspace(0.1, 0.9, m), np.zeros(m, dtype=bool), max_error, confidence)
        few = n - 1  # not even at a threshold fixed beforehand
        assert (1 - max_error) ** few > 1 - confidence
        if few:
            assert lowest_safe_threshold(np.linspace(0.1, 1.0, few), np.zeros(few, bool), max_error, confidence) is None

    def test_the_numbers_that_the_documentation_has(self):
        assert [records_needed(max_error, 0.95) for max_error in (0.1, 0.05, 0.01)] == [29, 59, 299]

    def test_it_is_honest_where_nothing_can_be_promised(self):
        few = chosen(np.linspace(0.0, 1.0, 50), np.zeros(50))
        assert few.min_trust == np.inf
        assert (few.status, few.n_more) == ("too few records", 9)
        assert all(number in few.message for number in ("5 %", "95 %", "50 ", "59 "))
        bad = chosen(np.linspace(0.0, 1.0, 500), np.ones(500))
        assert (bad.min_trust, bad.status) == (np.inf, "too many wrong")
        assert "500 " in bad.message

    def test_it_is_ready_for_json_and_readable(self):
        found = chosen(np.linspace(0.0, 1.0, 200), np.arange(200) < 10)
        assert json.loads(json.dumps(found.to_dict()))["n_calibration"] == 200
        assert repr(found).startswith(f"TrustThreshold(min_trust={found.min_trust}, {found.n_accepted} of 200 ")
        assert all(number in found.message for number in (at_least(found.min_trust), "5 %", "95 %"))
        assert found == chosen(np.linspace(0.0, 1.0, 200), np.arange(200) < 10)

    @pytest.mark.slow
    @pytest.mark.parametrize("library", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["numpy", "pandas", "polars"])
    def test_the_classifier_abstains_by_it(self, library):
        X, y = load_breast_cancer(return_X_y=True)
        y = np.array(["malignant", "benign"])[y]
        clf = SEPClassifier().fit(library(X[::2]), y[::2])
        held_out = library(X[1::2])
        found = select_min_trust(clf, held_out, pd.Series(y[1::2], index=np.arange(len(y[1::2])) + 7), max_error=0.1)
        given = clf.predict_or_abstain(held_out, min_trust=found.min_trust)
        accepted = np.array([label is not None for label in given])
        assert accepted.sum() == found.n_accepted
        assert np.count_nonzero(given[accepted] != y[1::2][accepted]) == found.n_errors

    @pytest.mark.slow
    def test_what_no_threshold_accepts_takes_no_part(self):
        X, y = load_breast_cancer(return_X_y=True)
        clf = SEPClassifier().fit(X[::2], y[::2])
        held_out, truth = X[1::2], y[1::2]
        usual = select_min_trust(clf, held_out, truth, max_error=0.1)
        # As strange as records can be, and all of them wrong: they are no errors, since they are refused.
        strange = 1000.0 * held_out
        wrong = 1 - clf.predict(strange)
        found = select_min_trust(clf, np.vstack([held_out, strange]), np.append(truth, wrong), max_error=0.1)
        assert found.min_trust == usual.min_trust
        assert (found.n_accepted, found.n_errors) == (usual.n_accepted, usual.n_errors)
        assert (found.n_calibration, found.coverage) == (2 * len(held_out), usual.coverage / 2)
        given = clf.predict_or_abstain(np.vstack([held_out, strange]), min_trust=found.min_trust)
        assert sum(label is not None for label in given) == found.n_accepted
        refused = found.n_calibration - np.count_nonzero(clf.assess(held_out).accepted(0.0))
        assert re.search(rf"\b{refused} .*\b{found.n_calibration} ", found.message)

    @pytest.mark.slow
    def test_it_says_so_where_no_record_can_be_accepted(self):
        X, y = load_breast_cancer(return_X_y=True)
        clf = SEPClassifier().fit(X[::2], y[::2])
        found = select_min_trust(clf, 1000.0 * X[1::2], y[1::2])
        assert (found.min_trust, found.n_accepted, found.coverage) == (np.inf, 0, 0.0)
        assert " 284 " in found.message

    @pytest.mark.slow
    def test_raw_tables_are_promised_what_they_accept(self):
        table, y = patients(n=600)
        clf = make_table_pipeline().fit(table[::2], y[::2])
        held_out = table[1::2].astype(object)
        held_out.iloc[:40] = None
        found = select_min_trust(clf, held_out, y[1::2], max_error=0.3)
        given = clf.predict_or_abstain(held_out, min_trust=found.min_trust)
        assert found.n_accepted == sum(label is not None for label in given) > 0
        assert all(label is None for label in given[:40])

    def test_a_label_that_the_classifier_does_not_know_is_refused_or_counts_as_an_error(self):
        X, y = np.column_stack([np.linspace(0.5, 1.0, 100)] * 2), np.repeat([7, 1], [5, 95])
        with raises("calibration-label-unknown", label=7, n_unknown=5, n_records=100):
            select_min_trust(Known(), X, y, max_error=0.2)
        found = select_min_trust(Known(), X, y, max_error=0.2, unknown_labels="wrong")
        assert (found.n_accepted, found.n_errors) == (100, 5)

    @pytest.mark.parametrize(
        ("change", "refusal"),
        [
            ({"max_error": 0.0}, raises("not-strictly-between-0-and-1", name="max_error", value=0.0)),
            ({"max_error": 1}, raises("not-strictly-between-0-and-1", name="max_error", value=1)),
            ({"max_error": "5 %"}, raises("not-strictly-between-0-and-1", name="max_error", value="5 %")),
            ({"confidence": 1.0}, raises("not-strictly-between-0-and-1", name="confidence", value=1.0)),
            ({"confidence": True}, raises("not-strictly-between-0-and-1", name="confidence", value=True)),
            (
                {"clf": LogisticRegression()},
                raises("clf-without-methods", type="LogisticRegression", missing="trust_score"),
            ),
            ({"y_cal": [1]}, raises("labels-shape", what="cal", shape=(1,), n_rows=2)),
            ({"y_cal": [1, None]}, raises("labels-missing", name="y_cal", n_missing=1, row=1)),
            ({"y_cal": [float("nan"), 1]}, raises("labels-missing", name="y_cal", n_missing=1, row=0)),
            ({"y_cal": ["1", "0"]}, raises("calibration-labels-of-another-kind", label="1", known=0)),
            ({"X_cal": np.empty((0, 2)), "y_cal": []}, raises("no-records", what="cal")),
            ({"X_cal": [[1.5, 0], [0.5, 0]]}, raises("trust-shape", n_records=2)),
            ({"X_cal": [[np.nan, 0], [0.5, 0]]}, raises("trust-shape", n_records=2)),
        ],
    )
    def test_wrong_arguments_are_named(self, change, refusal):
        arguments = {"clf": Known(), "X_cal": [[0.5, 0], [0.9, 0]], "y_cal": [0, 1]} | change
        with refusal:
            select_min_trust(arguments.pop("clf"), arguments.pop("X_cal"), arguments.pop("y_cal"), **arguments)

    def test_the_classifier_must_be_fitted(self):
        with pytest.raises(NotFittedError):
            select_min_trust(SEPClassifier(), [[0.0], [1.0]], [0, 1])


def test_anything_with_predict_and_trust_score_will_do():
    duck = SimpleNamespace(predict=lambda X: ["a"] * len(X), trust_score=lambda X: [0.5] * len(X))
    found = select_min_trust(duck, [[0.0]] * 200, ["a"] * 199 + ["b"])
    assert (found.min_trust, found.n_accepted, found.n_errors) == (0.0, 200, 1)


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


def test_the_upper_mean_of_all_ones_is_one():
    assert upper_mean(30.0, 30, 0.05) == 1.0


@examples(40)
@given(st.sampled_from([10, 997]).flatmap(trusts_and_errors), st.data(), st.sampled_from([0.05, 0.2]))
def test_costs_are_tested_as_the_module_says_candidate_by_candidate(sample, data, limit):
    trust, wrong = sample
    cost = wrong * data.draw(arrays(np.int64, len(trust), elements=st.integers(0, 100))) / 100.0
    found = lowest_affordable_threshold(trust, cost, limit, 0.1)
    level, lowest = 0.0, None
    candidates = sorted({*COST_STARTS, *trust, *np.nextafter(trust, 2.0), 0.0} - {np.nextafter(1.0, 2.0)}, reverse=True)
    for t in candidates:
        if t > 1.0:
            continue
        level += 0.1 / len(COST_STARTS) * np.count_nonzero(t == COST_STARTS)
        accepted = trust >= t
        p = p_values(np.array([accepted.sum()]), np.array([cost[accepted].sum()]), limit)[0] if accepted.any() else 1.0
        if p <= level * (1 + 1e-12):
            lowest = t
        else:
            level = 0.0
    assert (found is None) == (lowest is None)
    if found is not None:
        assert np.array_equal(trust >= found.threshold, trust >= lowest)


def test_as_many_records_as_are_needed_for_a_cost_are_enough_and_one_less_is_not():
    for limit, risk in product((0.02, 0.1, 0.4), (0.05, 0.01)):
        n = records_needed_for_cost(limit, risk)
        # All below the lowest start but one: a single level is what there is.
        assert lowest_affordable_threshold(np.full(n, 0.4), np.zeros(n), limit, risk) is not None
        assert lowest_affordable_threshold(np.full(n - 1, 0.4), np.zeros(n - 1), limit, risk) is None


def test_the_promise_on_costs_is_kept_as_often_as_stated():
    """Costs that are highest where trust is highest, so that every threshold but the lowest is too dear."""
    rng, broken, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        trust = rng.random(150)
        cost = np.where(rng.random(150) < 0.25, rng.choice([0.3, 1.0], 150), 0.0)  # 0.1625 at each trust
        broken += lowest_affordable_threshold(trust, cost, 0.16, 0.1) is not None
    assert broken / runs <= 0.13
