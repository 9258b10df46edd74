"""Labels under other shares of the classes and with costs: Bayes' formula, and the least expected cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import decimals

from sepc import InputError
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
    ("prior", "expected"),
    [
        ([0.5, 0.5], r"class_prior has the shape \(2,\); expected one share for each of the 3 classes"),
        ([0.5, 0.6, 0.1], r"in all 1.2; expected shares above 0 that add up to 1"),
        ([1.0, 0.0, 0.0], "expected shares above 0"),
        ({"ill": 1.5}, "expected shares above 0"),
        ({"ill": "some"}, r"class_prior\['ill'\] is 'some'; expected a number"),
        ("half", "class_prior is 'half'; expected numbers"),
        ({"sick": 0.5}, "class_prior has the label 'sick', which is no class; expected some of 'ill'"),
    ],
)
def test_bad_shares_are_refused(prior, expected):
    with pytest.raises(InputError, match=expected):
        Policy.of(CLASSES, COUNTS, prior, None)


ONES = (1.0 - np.eye(3)).tolist()


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        (np.ones((2, 3)), r"costs has the shape \(2, 3\); expected \(3, 3\)"),
        (np.ones((3, 5)), r"costs has the shape \(3, 5\)"),
        (-1.0 * np.ones((3, 3)), "costs has the entry -1; expected numbers of 0 or more"),
        ([*ONES[:2], [1.0, np.nan, 0.0]], "costs has the entry nan"),
        ([[2.0, 1.0, 1.0], *ONES[1:]], "where 'ill' is true, giving it costs 2, and giving 'unsure' 1; .* swapped"),
        ({"ill": {"well": 1.0}}, r"costs\['ill'\] does not say what giving 'unsure' costs"),
        ({"ill": 3.0}, r"costs\['ill'\] is 3.0; expected a dict"),
        ({"sick": {}}, "costs has the label 'sick'"),
        ({**{a: {b: 1.0 for b in CLASSES if b != a} for a in CLASSES}, None: np.nan}, "costs has the entry nan"),
        ({**{a: {b: 1.0 for b in CLASSES if b != a} for a in CLASSES}, None: "dear"}, r"costs\[None\] is 'dear'"),
        (
            {a: {b: 1.0 for b in [*CLASSES, *([None] if a == "ill" else [])] if b != a} for a in CLASSES},
            r"costs\['unsure'\] does not say what asking a person costs",
        ),
    ],
)
def test_bad_costs_are_refused(costs, expected):
    with pytest.raises(InputError, match=expected):
        Policy.of(CLASSES, COUNTS, None, costs)
