"""What breaks a rule is named, with the rule and the remedy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sepc import InputError
from sepc.common.validation import (
    different_labels,
    known_labels,
    labels_of,
    names_of,
    require_numbers,
    require_share,
    require_two_classes,
    stays_on_device,
    training_set,
)


@given(st.lists(st.integers(0, 30), min_size=2).filter(lambda y: len(set(y)) > 1), st.sampled_from([int, str, object]))
def test_labels_are_sorted_and_numbered_whether_few_or_many(values, kind):
    y = np.tile(values if kind is int else np.array(values).astype(str), 3).astype(kind)
    classes, codes = labels_of(y)
    expected, numbers = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(codes, numbers)
    assert sorted(different_labels(y).tolist()) == expected.tolist()


def test_names_come_from_frames_with_texts_for_names():
    X = [[1.0, 2.0], [3.0, 4.0]]
    assert training_set(pd.DataFrame(X, columns=["age", "dose"]), [0, 1]).features == ["age", "dose"]
    assert training_set(X, [0, 1]).features == ["x0", "x1"]
    assert names_of(pd.DataFrame(X, columns=["age", "dose"])).tolist() == ["age", "dose"]
    assert names_of(pd.DataFrame(X)) is None
    assert names_of(X) is None


def test_bad_numbers_are_counted_by_column():
    X = np.zeros((3, 8))
    require_numbers(X, None)
    X[0, 1], X[1, 1], X[2, 4] = np.nan, np.inf, -1e200
    with pytest.raises(
        InputError, match=r"^X contains NaN and inf and numbers beyond 1e\+150 in columns 1 \(2 rows\), 4"
    ):
        require_numbers(X, None)
    with pytest.raises(InputError, match=r"in columns 'b' \(2 rows\), 'e' \(1 rows\); expected finite numbers"):
        require_numbers(X, list("abcdefgh"))
    X[0] = np.nan
    with pytest.raises(InputError, match=r"'e' \(2 rows\) and 3 more columns; expected"):
        require_numbers(X, list("abcdefgh"))


def test_texts_among_the_numbers_are_told_with_a_remedy():
    with pytest.raises(InputError, match=r"X contains the text 'red'; .* sepc.make_table_pipeline"):
        training_set([["red"], ["blue"]], [0, 1])


def test_one_class_is_too_few():
    require_two_classes(np.array(["a", "b"]))
    with pytest.raises(InputError, match=r"y has 1 class, .*; expected at least two different labels"):
        training_set([[1.0], [2.0]], ["a", "a"])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_labels_that_must_be_known_are_there(missing):
    assert known_labels([[1.0], [2.0]], [["a"], ["b"]]) == ["a", "b"]
    with pytest.raises(InputError, match=r"y_test has 1 missing label\(s\), the first in row 1"):
        known_labels([[1.0], [2.0]], ["a", missing], "test")
    with pytest.raises(InputError, match=r"y_cal has shape \(1,\) and X_cal 2 rows"):
        known_labels([[1.0], [2.0]], ["a"])
    with pytest.raises(InputError, match="X_cal has no rows"):
        known_labels([], [])


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, True, "0.5", None, float("nan")])
def test_a_share_lies_strictly_between_0_and_1(value):
    require_share(0.5, "coverage", 0.9)
    with pytest.raises(InputError, match=r"coverage is .*; expected a number strictly between 0 and 1, such as 0\.9"):
        require_share(value, "coverage", 0.9)


def test_numpy_arrays_are_no_arrays_of_another_library():
    assert not stays_on_device(np.zeros((2, 2)))
