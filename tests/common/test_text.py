"""Words of texts for people."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sepc.common.text import (
    TRUST_TEXTS,
    at_least,
    in_words,
    length_in_words,
    listed,
    many,
    percent,
    percents_apart,
    plural,
    shortened,
)
from sepc.model.decision import DENSITY_METHODS, HELD_OUT_METHODS


@given(st.floats(0.0, 1.0))
@example(0.0005)
@example(0.9995)
def test_a_percentage_is_within_its_last_digit_and_never_rounds_to_all_or_nothing(share):
    text = percent(share)
    assert (text == "0 %") == (share == 0.0)
    assert (text == "100 %") == (share == 1.0)
    number = float(text.removeprefix("over ").removeprefix("under ").removesuffix(" %"))
    assert abs(number - 100 * share) <= (0.1 if text[0] in "ou" else 0.05 + 1e-9)


def test_percentages_grow_with_shares():
    texts = [percent(k / 20_000) for k in range(20_001)]
    assert texts[:2] == ["0 %", "under 0.1 %"]
    assert texts[-2:] == ["over 99.9 %", "100 %"]
    numbers = [float(text.split()[-2]) for text in texts]
    assert all(a <= b for a, b in pairwise(numbers))


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "0 records"), (1, "1 record"), (2, "2 records"), (1234567, "1,234,567 records")]
)
def test_a_noun_follows_its_number(n, expected):
    assert many(n, "record") == expected
    assert plural("record", n) == expected.split()[1]


def test_a_list_is_a_part_of_a_sentence():
    assert [listed(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


@given(st.lists(st.text("abc", min_size=1), max_size=20), st.integers(1, 10))
def test_a_shortened_list_accounts_for_every_item(items, most):
    named, _, rest = shortened(iter(items), most, "text", "; ").partition(" and ")
    assert named == "; ".join(items[:most])
    n_more = len(items) - most
    assert rest == ("" if n_more <= 0 else "1 more text" if n_more == 1 else f"{n_more} more texts")


def test_values_and_lengths():
    assert [in_words(v) for v in (None, 0.12345678, 13640.0, 13640.52, 13640.123456, 12345678, True, "red")] == [
        "missing",
        "0.1235",
        "13640",
        "13640.52",
        "13640",
        "12345678",
        "True",
        "red",
    ]
    assert [length_in_words(x, "units") for x in (0.0123, 1.0, 1.04, 9.96, 123.4)] == [
        "0.012 units",
        "1 unit",
        "1 unit",
        "10 units",
        "123 units",
    ]


@given(st.floats(0.0, 1.0))
def test_a_threshold_is_never_told_too_low(threshold):
    told = float(at_least(threshold))
    assert threshold <= told <= threshold + 1e-4
    assert (told < 1.0) == (threshold < 1.0)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_shares_that_differ_are_told_apart(one, other):
    told = percents_apart(one, other)
    assert (told[0] == told[1]) == (one == other) or abs(one - other) < 1e-13


def test_every_trust_method_has_its_meaning():
    assert set(TRUST_TEXTS) == {*HELD_OUT_METHODS, *DENSITY_METHODS, "paper", "ensemble", "around"}
    assert all(sentence.endswith(".") for text in TRUST_TEXTS.values() for sentence in text)
