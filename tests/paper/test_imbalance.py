"""Imbalance: recalls beside those of Bayes' rule, by the distance of the classes."""

import numpy as np
import pytest

from paper.imbalance import bayes_recalls, sample


def test_recalls_of_bayes_rule_are_those_of_its_own_labels():
    n, ratio, apart = 200_000, 10, 3.0
    X, y = sample(n, n, [0], apart)
    # The densities, weighed by the shares of the classes; what both have in common left out.
    is_minority = np.exp(-((X[:, 0] - apart) ** 2) / 2.0) > ratio * np.exp(-(X[:, 0] ** 2) / 2.0)
    found = is_minority[y == "minority"].mean(), 1.0 - is_minority[y == "majority"].mean()
    assert found == pytest.approx(bayes_recalls(ratio, apart), abs=0.005)


def test_bayes_rule_itself_misses_most_of_a_minority_two_standard_deviations_away():
    assert bayes_recalls(10, 2.0)[0] == pytest.approx(0.44, abs=0.001)
    assert bayes_recalls(100, 2.0)[0] == pytest.approx(0.096, abs=0.001)


@pytest.mark.study
def test_the_recall_comes_near_to_that_of_bayes_rule_as_the_classes_part(runs):
    values = {name: column[0] for name, column in runs("imbalance").values.items()}
    near, far = (values[f"apart_{apart}.beside_100"] for apart in (3, 6))
    assert near < -0.03 < far
    assert values["apart_2.recall_10"] == values["paper.recall_10"]
    assert values["apart_6.drop"] < 0.05 < values["apart_2.drop"]
