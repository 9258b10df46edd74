"""The largest stratum of Adult: what the paper says of it, read once and tested as it says it."""

import numpy as np
import pytest
from paper_data import require_data

from paper import adult_stratum
from paper.adult_stratum import counts_of_region_61, first_subset
from paper.shared_measures import beyond

pytestmark = pytest.mark.study


@pytest.fixture(scope="module")
def values(runs):
    return {name: column[0] for name, column in runs("adult_stratum").values.items()}


def test_the_trust_of_region_61_tells_the_counts_of_the_stratum():
    assert counts_of_region_61(642) == [(438, 204)]
    assert (round(0.8 * 548), round(0.8 * 255)) == (438, 204)
    assert round(0.8 * 256) != 204
    by_hand = 6 * 205 / (6 * 205 + 1 * 438)
    assert adult_stratum._trust_in_region_61(438, 204) == pytest.approx(by_hand)


def test_calls_of_algorithm_2_follow_each_other():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((50, 2)), rng.standard_normal((20, 2)) + 1.0
    once = A[beyond(A, B)[0]]
    twice = once[beyond(once, B)[0]]
    assert np.array_equal(A[first_subset(A, B, 2)], twice)
    assert first_subset(A, B, 0).all()


def test_after_the_second_call_gain_and_loss_are_all_0(values):
    assert (values["cut.gain"], values["twice.gain"]) == (1, 1)
    assert values["cut.loss"] == pytest.approx(0.96, abs=0.01)
    assert (values["twice.loss"], values["twice.size"]) == (1, 507)


def test_noise_is_added_to_the_training_rows_alone_unless_the_form_says_so():
    require_data("adult_stratum")
    flat = [adult_stratum._data().feature_names.index(name) for name in ("capital_gain", "capital_loss")]
    _, plain, _, _ = adult_stratum._split(0, adult_stratum._FORMS["plain"])
    train, test, _, _ = adult_stratum._split(0)
    assert np.array_equal(test, plain)
    assert (train[:, flat] % 1.0 > 0.0).all()
    everywhere = adult_stratum._split(0, adult_stratum._FORMS["everywhere"])[1]
    assert (everywhere[:, flat] % 1.0 > 0.0).all()


def test_wrong_labels_of_the_minority_have_a_low_trust_in_their_true_label(values):
    assert values["minority.wrong_low"] >= 0.95
    assert values["majority.wrong_low"] < 0.9


def test_a_tree_splits_capital_gain_above_77_and_what_is_above_is_a_leaf(values):
    assert (values["root.gain"], values["root.above"], values["root.leaf"]) == (1, 77, 1)
    assert values["facts.gain"] == 117


def test_a_larger_n_imp_brings_training_and_test_rows_nearer_to_each_other(values):
    gaps = [values[f"limit_{n_imp}.gap"] for n_imp in (10, 20, 40)]
    assert gaps == sorted(gaps, reverse=True)
    assert values["limits.gap"] == pytest.approx(gaps[0] - gaps[-1], abs=1e-6)
