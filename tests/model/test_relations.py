from functools import cache

import numpy as np
import pytest

from sepc.estimators.relating import learn_relations
from sepc.model.relations import Relations

N, RELATED = 400, 5


@cache
def related() -> tuple[Relations, np.ndarray]:
    """Return relations of columns of which one is nearly the sum of two others, and the records."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, RELATED))
    X[:, 4] = X[:, 0] + X[:, 1] + 0.01 * rng.normal(size=N)
    judged = learn_relations(X, np.arange(N) % 2, np.arange(N), None)
    return judged.relations, X


def test_a_broken_relation_departs_and_values_on_their_own_do_not():
    relations, X = related()
    new = X[:3] + 0.5 * np.eye(RELATED)[[0, 2, 4]]
    from_others, from_class = relations.departures(new).T
    assert (from_others[[0, 2]] > 4.0).all()
    assert from_others[1] < 1.5
    assert (from_class < 2.0).all()


def test_the_strangest_value_is_the_one_that_is_off():
    relations, X = related()
    for far in (8.0, 1e6):
        found = relations.strangest(X[1] + [0, 0, far, 0, 0], 0.0)
        assert found.sizes.argmax() == 2
    broken = relations.strangest(X[0] + [0, 0, 0, 0, 0.5], 0.0)
    assert broken.from_others
    assert broken.sizes.argmax() in (0, 1, 4)
    assert broken.expected[4] == pytest.approx(X[0, 4], abs=0.05)
    assert relations.strangest(X[0], -1e6) is None


def test_a_record_is_judged_alone_and_by_its_density_where_a_value_is_missing():
    relations, X = related()
    together = relations.departures(X)
    assert all((relations.departures(X[[k]])[0] == together[k]).all() for k in range(0, N, 100))
    gap = np.where(np.arange(RELATED) == 2, np.nan, X[:1])
    assert np.isnan(relations.departures(gap)).all()
    assert relations.score(gap, np.array([-3.0])) == pytest.approx(-(3.0 - relations.middle[0]) / relations.width[0])


def test_huge_values_are_strange():
    relations, X = related()
    assert (relations.departures(1e140 * X[:5]) > 100.0).all()
