"""Errors in training sets that are not in memory: the same wherever they are."""

import numpy as np
import pytest
from coded import raises
from scattered_fits import WHERE, iris

from sepc import SEPClassifier

pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::sepc.SepcWarning"),  # isolated points are wanted here
]


@WHERE
def test_gaps_name_their_columns(where):
    X, y = iris()
    X[3, 1], X[90:92, 2] = np.nan, np.inf
    with raises("not-finite", kinds="NaN and inf", columns="1 (1 rows), 2 (2 rows)"):
        where(SEPClassifier(), X, y)


@WHERE
def test_one_class(where):
    X, _ = iris()
    with raises("one-class", label=0):
        where(SEPClassifier(), X, np.zeros(len(X), dtype=int))


@WHERE
def test_as_many_labels_as_rows(where):
    X, y = iris()
    with raises("training-rows", n_rows=150, n_labels=149):
        where(SEPClassifier(), X, y[1:])


@WHERE
def test_three_dimensions(where):
    with pytest.raises(ValueError, match=r"dim"):
        where(SEPClassifier(), np.zeros((4, 2, 2)), np.array([0, 1, 0, 1]))


@WHERE
def test_no_classes_but_numbers(where):
    X, _ = iris()
    with pytest.raises(ValueError, match="continuous"):
        where(SEPClassifier(), X, X[:, 0] + 0.05)
