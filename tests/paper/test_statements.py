"""Verdicts on the paper's statements follow the rule."""

from math import nan

import pytest

from paper.statements import Expectation, Kind, Statement, spread, spread_in_words

FOUR = Expectation("n", "iterations", "count", 4, 4)

NONE = Expectation("left", "left over", "count", 0, 0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"n": [4, 4, 5], "left": [0, 0, 1]}, Kind.MATCHES),
        ({"n": [5, 4, 5], "left": [1, 0, 1]}, Kind.IN_PART),  # both in one run
        ({"n": [5, 4, 5], "left": [0, 1, 1]}, Kind.DIFFERS),  # each in a run, never both
        ({"n": [5, 5, 5], "left": [0, 0, 0]}, Kind.IN_PART),  # one of the numbers
        ({"n": [5, 5, 5], "left": [1, 1, 1]}, Kind.DIFFERS),
        ({"n": [nan, nan], "left": [1, 1]}, Kind.DIFFERS),
    ],
)
def test_verdicts_follow_the_rule(values, kind):
    assert Statement("", "4", (FOUR, NONE)).verdict(values).kind is kind


def test_another_reading_makes_it_a_match_in_part_only_if_all_of_its_numbers_do():
    statement = Statement("", "4", (FOUR,), ((FOUR._replace(measure="m"), NONE),))
    differs = {"n": [5, 5], "m": [4, 4], "left": [1, 1]}
    assert statement.verdict(differs).kind is Kind.DIFFERS
    assert "no other reading" in statement.verdict(differs).sentence.lower()
    told = statement.verdict({**differs, "left": [0, 0]})
    assert told.kind is Kind.IN_PART
    assert "Another reading comes to it" in told.sentence


def test_sentences_give_the_range_of_other_readings_number_by_number():
    others = tuple(
        (FOUR._replace(measure=f"n_{key}"), NONE._replace(measure=f"left_{key}")) for key in ("small", "large")
    )
    values = {"n": [9], "left": [9], "n_small": [5], "n_large": [7], "left_small": [3], "left_large": [3]}
    sentence = Statement("", "4 and 0", (FOUR, NONE), others).verdict(values).sentence
    assert sentence.endswith("No other reading that was tried comes to it; they give 5 to 7 and 3.")


def test_a_verdict_that_moves_with_the_seeds_is_borderline():
    statement = Statement("", "4", (FOUR,))
    steady, moving = {"n": [4] * 18 + [5] * 2}, {"n": [4] * 11 + [5] * 9}
    assert statement.verdict(steady).borderline == ""
    assert statement.verdict(moving).kind is Kind.MATCHES
    assert statement.verdict(moving).borderline.startswith("borderline: other seeds may say otherwise (matches in part")
    assert statement.verdict({"n": moving["n"][:19]}).borderline == ""  # too few to tell


def test_the_line_of_a_statement_is_what_came_out_or_what_explains_it():
    statement = Statement("", "4", (FOUR,), reason="The number of points is not given.")
    assert statement.line({"n": [4]}) == "Iterations: 4"
    assert statement.line({"n": [5]}) == "The number of points is not given."


def test_sentences_give_the_median_the_range_and_how_often():
    sentence = Statement("", "4", (FOUR,)).verdict({"n": [4, 4, 4, 7, 9]}).sentence
    assert sentence == "Iterations: 4 (4 to 9), expected 4 (in 3 of 5 runs)."


def test_spreads_leave_out_what_is_no_number():
    assert spread([nan, 2.0, 4.0]) == (2, 2.0, 2.0, 4.0)
    assert spread_in_words([nan], "share") == "none"
    assert spread_in_words([1.0, 0.0, 1.0], "yes") == "yes (no to yes)"
