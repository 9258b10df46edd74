"""Counts at places: by hand, and how they fade."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import decimals, examples

from sepc.model.constants import COUNTS_AGAINST, FADES
from sepc.model.local_counts import LocalCounts

LOCAL = LocalCounts(np.array([[0.0, 0.0], [5.0, 0.0]]), np.array([1.0, 1e-9]), np.array([[6.0, 2.0], [0.0, 1.0]]))
EVEN = np.array([[0.5, 0.5]])


def test_within_a_place_records_count_as_they_are():
    (first, second), after = LOCAL.taken_into(EVEN, np.array([[0.6, 0.8]]))[0], (6.0 + 0.5 * COUNTS_AGAINST)
    assert first == pytest.approx(after / (8.0 + COUNTS_AGAINST))
    assert first + second == pytest.approx(1.0)


def test_a_place_fades_along_a_line_and_ends():
    within, halfway, end = LOCAL.at(np.array([[1.0, 0.0], [0.5 * (1.0 + FADES), 0.0], [FADES, 0.0]]))[1]
    assert within == pytest.approx(8.0 / (8.0 + COUNTS_AGAINST))
    assert halfway == pytest.approx(0.5 * within)
    assert end == 0.0


def test_a_place_without_extent_has_only_what_is_equal():
    assert LOCAL.taken_into(EVEN, np.array([[5.0, 0.0]]))[0, 1] > 0.5
    assert LOCAL.at(np.array([[5.0, 1e-6]]))[1].tolist() == [0.0]


def test_missing_values_are_at_no_place():
    assert np.array_equal(LOCAL.taken_into(EVEN, np.array([[0.0, np.nan]])), EVEN)


@examples(30)
@given(decimals(st.tuples(st.integers(1, 30), st.just(2))), st.floats(0.0, 1.0))
def test_no_point_depends_on_the_others_and_probabilities_add_up(points, first):
    proba = np.tile([first, 1.0 - first], (len(points), 1))
    found = LOCAL.taken_into(proba, points)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found.min() >= 0.0
    assert np.array_equal(
        found, np.vstack([LOCAL.taken_into(p[None], x[None]) for p, x in zip(proba, points, strict=True)])
    )
