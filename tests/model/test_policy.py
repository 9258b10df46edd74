"""Labels under other shares of the classes and with costs: Bayes' formula, and the least expected cost."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import decimals

from sepc.model.decision import decide_by_probability
from sepc.model.policy import Policy

CLASSES, COUNTS = np.array(["ill", "unsure", "well"], dtype=object), np.array([20, 30, 50])


def probabilities(n):
    """Return the probabilities of three classes for n records, none of them 0."""
    shares = arrays(np.int64, (n, 3), elements=st.integers(1, 1000), fill=st.nothing())
    return shares.map(lambda each: each / each.sum(axis=1, keepdims=True))


@given(probabilities(20), probabilities(1))
def test_the_posterior_is_bayes_formula_with_the_other_shares(density, priors):
    prior = priors[0]
    trained = COUNTS / COUNTS.sum()
    before, after = (d / d.sum(axis=1, keepdims=True) for d in (density * trained, density * prior))
    policy = Policy.of(CLASSES, COUNTS, prior, None)
    assert policy.posterior(before) == pytest.approx(after, abs=1e-12)


@given(arrays(np.int64, (3, 3), elements=st.integers(0, 3)), decimals(3), probabilities(20))
def test_no_other_label_has_a_lower_expected_cost(costs, asking, proba):
    costs = costs * (1 - np.eye(3))
    policy = Policy.of(CLASSES, COUNTS, None, np.column_stack([costs, np.abs(asking)]))
    decision = decide_by_probability(proba, policy=policy)
    expected = np.array([[sum(p[t] * costs[t, g] for t in range(3)) for g in range(3)] for p in proba])
    assert decision.cost == pytest.approx(expected.min(axis=1), abs=1e-12)
    assert decision.cost == pytest.approx(expected[np.arange(len(proba)), decision.label], abs=1e-12)
    assert decision.asking == pytest.approx(proba @ policy.asking)
    assert np.array_equal(decision.trust, proba[np.arange(len(proba)), decision.label])


@given(probabilities(50), st.floats(0.01, 1e6))
def test_equal_costs_and_the_shares_of_training_change_not_a_bit(proba, cost):
    policy = Policy.of(CLASSES, COUNTS, COUNTS / COUNTS.sum(), cost * (1 - np.eye(3)))
    plain, stated = decide_by_probability(proba), decide_by_probability(proba, policy=policy)
    for name in ("label", "trust", "proba", "contested"):
        assert np.array_equal(getattr(plain, name), getattr(stated, name))


def test_labels_that_are_left_out_share_the_rest_as_in_training():
    policy = Policy.of(CLASSES, COUNTS, {"ill": 0.2}, None)
    assert policy.prior.tolist() == pytest.approx([0.2, 0.8 * 3 / 8, 0.8 * 5 / 8])


def test_costs_by_name_are_those_of_the_array():
    by_name = {
        "ill": {"well": 9.0, "unsure": 2.0, None: 0.5},
        "unsure": {"ill": 1.0, "well": 1.0},
        "well": {"ill": 3.0, "unsure": 1.0, "well": 0.25},
        None: 0.1,
    }
    policy = Policy.of(CLASSES, COUNTS, None, by_name)
    assert policy.costs.tolist() == [[0.0, 2.0, 9.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.25]]
    assert policy.asking.tolist() == [0.5, 0.1, 0.1]


@pytest.mark.parametrize(
    ("prior", "refusal"),
    [
        ([0.5, 0.5], raises("class-prior-shape", shape=(2,), n_classes=3)),
        ([0.5, 0.6, 0.1], raises("class-prior-sum", total=pytest.approx(1.2))),
        ([1.0, 0.0, 0.0], raises("class-prior-sum")),
        ({"ill": 1.5}, raises("class-prior-sum")),
        ({"ill": "some"}, raises("not-a-number", name="class_prior['ill']", value="some")),
        ("half", raises("not-numbers-by-label", name="class_prior", values="half")),
        ({"sick": 0.5}, raises("policy-unknown-label", name="class_prior", label="sick")),
    ],
)
def test_bad_shares_are_refused(prior, refusal):
    with refusal:
        Policy.of(CLASSES, COUNTS, prior, None)


ONES = (1.0 - np.eye(3)).tolist()


@pytest.mark.parametrize(
    ("costs", "refusal"),
    [
        (np.ones((2, 3)), raises("costs-shape", shape=(2, 3), n_classes=3)),
        (np.ones((3, 5)), raises("costs-shape", shape=(3, 5), n_classes=3)),
        (-1.0 * np.ones((3, 3)), raises("costs-negative", cost=-1.0)),
        ([*ONES[:2], [1.0, np.nan, 0.0]], raises("costs-negative")),
        (
            [[2.0, 1.0, 1.0], *ONES[1:]],
            raises("costs-right-dearer", label="ill", own_cost=2.0, other="unsure", other_cost=1.0),
        ),
        ({"ill": {"well": 1.0}}, raises("costs-without-entry", label="ill", given="unsure")),
        ({"ill": 3.0}, raises("costs-row", label="ill", row=3.0)),
        ({"sick": {}}, raises("policy-unknown-label", name="costs", label="sick")),
        ({**{a: {b: 1.0 for b in CLASSES if b != a} for a in CLASSES}, None: np.nan}, raises("costs-negative")),
        (
            {**{a: {b: 1.0 for b in CLASSES if b != a} for a in CLASSES}, None: "dear"},
            raises("not-a-number", name="costs[None]", value="dear"),
        ),
        (
            {a: {b: 1.0 for b in [*CLASSES, *([None] if a == "ill" else [])] if b != a} for a in CLASSES},
            raises("asking-cost-without-entry", label="unsure"),
        ),
    ],
)
def test_bad_costs_are_refused(costs, refusal):
    with refusal:
        Policy.of(CLASSES, COUNTS, None, costs)
