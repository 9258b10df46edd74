"""Iris: the splits that the paper does not tell."""

import pytest

from paper.iris import _OTHER_SHARES, _split
from sepc.datasets import load_iris


def test_two_thirds_are_taken_to_train_and_each_class_has_its_share():
    data = load_iris()
    _, X_test, y, y_test = _split(data, 0)
    assert (len(y), len(X_test)) == (100, 50)
    assert sorted((y_test == name).sum() for name in data.counts) == [16, 17, 17]


@pytest.mark.study
def test_other_shares_are_measured_in_the_same_way(runs):
    values = runs("iris").values
    for share in _OTHER_SHARES:
        assert all(3 <= n <= 4 for n in values[f"share_{share}.four_setosa"])
        assert set(values[f"share_{share}.two_setosa_wrong"]) == {0}
