"""Stored counts: they give the same verdicts as the training points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted_partitions import make_rules
from strategies import labelled_points, point_set

import sepc
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.model.rules import Rules
from sepc.model.stored_counts import StoredCounts
from sepc.partitions.blocks import Block, Partition


def with_stored_counts(rules):
    stored = StoredCounts.of(rules.training_counts, growing=rules.grows)
    return Rules(stored, rules.sides, rules.labels, rules.grows)


def assert_same_verdicts(one, two, rows=slice(None)):
    for field in ("counts", "rule", "lead", "owner", "distance"):
        assert np.array_equal(getattr(one, field)[rows], getattr(two, field)[rows]), field
    assert one.regions.names()[rows].tolist() == two.regions.names()[rows].tolist()


def assert_same_but_for_ties(one, two):
    """Of two grown ellipsoids that are equally near, stored counts may not tell which points they share."""
    assert_same_verdicts(one, two, np.array([name.count("~") < 2 for name in one.regions.names()]))


class TestStoredCounts:
    """They give the same verdicts as the training points."""

    @pytest.mark.slow
    @given(labelled_points(), st.booleans())
    def test_verdicts_are_those_of_the_points(self, data, grows):
        A, B, n_imp = data
        rules = make_rules(A, B, sepc.partitions.partition(A, B, n_imp), grows=grows)
        rng = np.random.default_rng(0)
        both = np.vstack([A, B])
        Z = np.vstack([both, both.mean(0) + 2 * both.std(0) * rng.normal(size=(40, both.shape[1]))])
        assert_same_but_for_ties(rules.judge(Z), with_stored_counts(rules).judge(Z))

    @pytest.mark.parametrize("grows", [False, True])
    @pytest.mark.parametrize("seed", range(20))
    def test_votes_of_some_points_only(self, seed, grows):
        X = point_set("lattice", 90, 2, seed)
        rng = np.random.default_rng(seed)
        side, votes = (rng.random(90) < 0.5).astype(np.int8), rng.random(90) < 0.4
        P = sepc.partitions.partition(X[side == 0], X[side == 1], 2)
        rules = Rules.of(P, X, side, ("a", "b"), votes, grows=grows)
        Z = X + rng.normal(size=X.shape)
        assert_same_but_for_ties(rules.judge(Z), with_stored_counts(rules).judge(Z))
        assert np.array_equal(with_stored_counts(rules).counts, rules.counts)
        assert not with_stored_counts(rules).training_counts.all_counted

    def planted(self, *shapes, isolated=((), ())):
        """Return a partition of one-dimensional ellipsoids: side, centre, radius."""
        blocks = tuple(Block(s, np.array([], int), Ellipsoid([c], [[1.0]], [r]), 1) for s, c, r in shapes)
        return Partition(blocks, tuple(np.array(rows, dtype=int) for rows in isolated), (), 1, "", 0)

    A = np.array([[0.0], [0.5], [1.0], [1.5], [2.0], [8.0]])
    B = np.array([[4.0], [4.5], [6.0], [9.0]])

    @pytest.mark.parametrize("grows", [False, True])
    @pytest.mark.parametrize(
        ("shapes", "isolated", "z"),
        [
            (((0, 1.0, 1.0), (1, 5.0, 1.0)), ((), ()), 3.0),  # halfway between two that share nothing
            (((0, 1.0, 1.0), (1, 1.0, 1.0)), ((), ()), 3.5),  # twice the same
            (((0, 1.0, 1.0),), ((5,), ()), 5.0),  # halfway to an isolated point
            (((0, 1.0, 1.0), (0, 1.0, 1.0)), ((5,), (3,)), 15.0),
            ((), ((5,), (3,)), 8.5),  # halfway between isolated points
            (((0, 1.0, 1.0), (1, 4.0, 5.0)), ((), ()), 40.0),
        ],
    )
    def test_ties_with_one_answer(self, shapes, isolated, z, grows):
        rules = make_rules(self.A, self.B, self.planted(*shapes, isolated=isolated), grows=grows)
        Z = np.array([[z], [-z]])
        assert_same_verdicts(rules.judge(Z), with_stored_counts(rules).judge(Z))

    def test_an_undecided_tie_of_grown_ones_goes_to_the_first(self):
        A, B = np.array([[-10.0], [1.0], [9.0]]), np.array([[0.5], [8.5], [9.5]])
        rules = make_rules(A, B, self.planted((0, 1.0, 1.0), (1, 9.0, 1.0)), grows=True)
        one, two = rules.judge(np.array([[5.0]])), with_stored_counts(rules).judge(np.array([[5.0]]))
        assert (one.regions.names()[0], one.counts.tolist()) == ("~a#1|~b#1", [[2, 3]])
        assert (two.regions.names()[0], two.counts.tolist(), two.owner.tolist()) == ("~a#1", [[1, 1]], [0])
        assert one.distance[0] == two.distance[0]
        a_hair_nearer = rules.judge(np.array([[5.0 - 1e-6]]))
        assert (a_hair_nearer.regions.names()[0], a_hair_nearer.counts.tolist()) == ("~a#1", [[1, 1]])
