"""The rules against a plain reading of them, one point and one ellipsoid at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from normal_reading import largest_local_overlap
from planted_partitions import discs, make_rules, planted
from strategies import examples, labelled_points

import sepc
from sepc.model.rules import Rules
from sepc.model.stored_counts import StoredCounts
from sepc.model.verdicts import Rule


def plain_verdict(P, A, B, z, grows):
    """Return rule and counts for one point, as the paper states them, or with the nearest ellipsoids grown."""
    points = (np.asarray(A), np.asarray(B))

    def held(sets):
        return [[np.flatnonzero(s(x)) for s in sets] for x in points]

    def common_or_union(sets):
        members = held(sets)
        common = [set.intersection(*(set(m) for m in side)) for side in members]
        union = [set.union(*(set(m) for m in side)) for side in members]
        return (True, common) if any(common) else (False, union)

    inside = [block.ellipsoid for block in P.blocks if block.ellipsoid.contains(z[None])[0]]
    if len(inside) == 1:
        return "R1", [int(inside[0].contains(x).sum()) for x in points]
    if inside:
        shared, rows = common_or_union([E.contains for E in inside])
        return ("R2a" if shared else "R2b"), [len(r) for r in rows]
    ellipsoids = [block.ellipsoid for block in P.blocks]
    candidates = [(E.distance(z[None])[0], (E.grown_to(z) if grows else E).contains) for E in ellipsoids]
    alone = np.unique(np.concatenate([x[rows] for x, rows in zip(points, P.isolated, strict=True)]), axis=0)
    candidates += [(np.linalg.norm(z - x), lambda p, x=x: (p == x).all(axis=1)) for x in alone]
    best = min(distance for distance, _ in candidates)
    nearest = [region for distance, region in candidates if distance <= best * (1 + 1e-9)]
    _, rows = common_or_union(nearest)
    return "R3", [len(r) for r in rows]


@pytest.mark.slow
@examples(120)
@given(labelled_points(), st.booleans())
def test_verdicts_follow_the_rules(data, grows):
    A, B, n_imp = data
    P = sepc.partitions.partition(A, B, n_imp)
    rng = np.random.default_rng(0)
    both = np.vstack([A, B])
    Z = np.vstack(
        [both[rng.integers(len(both), size=10)], both.mean(0) + 2 * both.std(0) * rng.normal(size=(20, both.shape[1]))]
    )
    v = make_rules(A, B, P, grows=grows).judge(Z)
    for i, z in enumerate(Z):
        rule, counts = plain_verdict(P, A, B, z, grows)
        assert (Rule(v.rule[i]).name, v.counts[i].tolist()) == (rule, counts)


@pytest.mark.slow
@examples(20)
@given(labelled_points(), st.booleans())
def test_a_point_alone_is_judged_as_in_a_batch(data, grows):
    A, B, n_imp = data
    rules = make_rules(A, B, sepc.partitions.partition(A, B, n_imp), grows=grows)
    rng = np.random.default_rng(0)
    Z = np.vstack([A, B, A.mean(0) + 3 * rng.normal(size=(200, A.shape[1]))])
    together, alone = rules.judge(Z), [rules.judge(z[None]) for z in Z]
    for field in ("counts", "rule", "lead", "distance"):
        assert np.array_equal(getattr(together, field), np.concatenate([getattr(v, field) for v in alone]))
    assert together.regions.names().tolist() == [v.regions.names()[0] for v in alone]


class TestPlanted:
    """Three discs in a row of which neighbours overlap: 0 and 1.5 for a, 10 for b."""

    A = np.array([[0.0, 0.0], [0.75, 0.0], [0.75, 0.1], [1.5, 0.0]])
    B = np.array([[0.75, -0.1], [10.0, 0.0], [10.5, 0.0], [40.0, 0.0]])
    P = planted(discs((0.0, 0.0), (1.5, 0.0), (10.0, 0.0)), (0, 0, 1), isolated=((), (3,)))
    rules, growing = make_rules(A, B, P), make_rules(A, B, P, grows=True)

    def judge(self, *z, grows=False):
        v = (self.growing if grows else self.rules).judge(np.array([z]))
        return Rule(v.rule[0]).name, v.regions.names()[0], v.counts[0].tolist(), v.distance[0]

    def test_one_ellipsoid(self):
        assert self.judge(-0.5, 0.0) == ("R1", "a#1", [3, 1], 0.0)

    def test_an_intersection_with_training_points(self):
        assert self.judge(0.75, 0.05) == ("R2a", "a#1&a#2", [2, 1], 0.0)

    def test_an_intersection_without_training_points(self):
        rules = make_rules(self.A[[0, 3]], self.B, planted(discs((0.0, 0.0), (1.5, 0.0)), (0, 1)))
        v = rules.judge(np.array([[0.75, 0.3]]))
        assert (v.rule[0], v.regions.names()[0], v.counts[0].tolist()) == (Rule.R2a, "a#1&b#1", [0, 1])
        rules = make_rules(self.A[[0, 3]], self.B[1:], planted(discs((0.0, 0.0), (1.5, 0.0)), (0, 1)))
        v = rules.judge(np.array([[0.75, 0.3]]))
        assert (v.rule[0], v.regions.names()[0], v.counts[0].tolist()) == (Rule.R2b, "a#1|b#1", [2, 0])

    def test_outside_the_nearest_decides_as_it_is(self):
        assert self.judge(5.0, 0.0) == ("R3", "a#2", [3, 1], 2.5)
        assert self.judge(7.0, 0.0) == ("R3", "b#1", [0, 2], 2.0)

    def test_outside_the_nearest_is_grown(self):
        assert self.judge(5.0, 0.0, grows=True) == ("R3", "~a#2", [4, 1], 2.5)
        assert self.judge(7.0, 0.0, grows=True) == ("R3", "~b#1", [0, 2], 2.0)

    def test_outside_two_at_the_same_distance(self):
        assert self.judge(5.75, 0.0) == ("R3", "a#2|b#1", [3, 3], 3.25)
        assert self.judge(5.75, 0.0, grows=True) == ("R3", "~a#2|~b#1", [4, 3], 3.25)

    @pytest.mark.parametrize("grows", [False, True])
    def test_an_isolated_point_is_not_grown(self, grows):
        assert self.judge(30.0, 0.0, grows=grows) == ("R3", "b@1", [0, 1], 10.0)

    def test_at_an_isolated_point_and_an_ellipsoid_alike(self):
        assert self.judge(25.5, 0.0) == ("R3", "b#1|b@1", [0, 3], 14.5)
        assert self.judge(25.5, 0.0, grows=True) == ("R3", "~b#1|b@1", [4, 4], 14.5)


class TestEquallyNear:
    """R2 on the nearest ellipsoids as they are: discs about -1.5 and 1.5, or touching ones, judged from between."""

    def judge(self, A, B, sides, centres=((-1.5, 0.0), (1.5, 0.0)), z=(0.0, 2.0), isolated=((), ())):
        rules = make_rules(np.array(A), np.array(B), planted(discs(*centres), sides, isolated))
        v = rules.judge(np.array([z]))
        assert v.rule[0] == Rule.R3
        stored = Rules(StoredCounts.of(rules.training_counts, growing=False), rules.sides, rules.labels)
        same = stored.judge(np.array([z]))
        assert (same.counts.tolist(), same.regions.names()[0]) == (v.counts.tolist(), v.regions.names()[0])
        assert v.lead[0] == -1
        return v.regions.names()[0], v.counts[0].tolist(), int(v.owner[0])

    def test_of_different_labels_without_common_points(self):
        A, B = [[-1.5, 0.0], [-1.0, 0.0], [9.0, 9.0]], [[1.5, 0.0]]
        assert self.judge(A, B, (0, 1)) == ("a#1|b#1", [2, 1], -1)

    def test_of_the_same_label_without_common_points(self):
        A, B = [[-1.5, 0.0], [1.0, 0.0], [9.0, 9.0]], [[1.5, 0.0]]
        assert self.judge(A, B, (0, 0)) == ("a#1|a#2", [2, 1], 0)

    overlapping = ((-0.5, 0.0), (0.5, 0.0))

    def test_of_different_labels_with_common_points(self):
        A, B = [[-1.4, 0.0], [-1.3, 0.0], [0.0, 0.1]], [[0.0, 0.0], [0.1, 0.0], [1.4, 0.0]]
        assert self.judge(A, B, (0, 1), self.overlapping) == ("a#1&b#1", [1, 2], -1)

    def test_of_the_same_label_with_common_points(self):
        A, B = [[-1.4, 0.0], [-1.3, 0.0], [0.0, 0.1]], [[0.0, 0.0], [1.4, 0.0]]
        assert self.judge(A, B, (0, 0), self.overlapping) == ("a#1&a#2", [1, 1], 0)

    def test_an_ellipsoid_and_an_isolated_point_with_its_duplicates(self):
        A, B = [[0.0, 0.0], [0.5, 0.0], [5.0, 0.0]], [[5.0, 0.0], [9.0, 9.0]]
        near = self.judge(A, B, (0,), ((0.0, 0.0),), (3.0, 0.0), isolated=((2,), ()))
        assert near == ("a#1|a@1", [3, 1], 0)

    def test_an_ellipsoid_and_an_isolated_point_that_it_holds(self):
        A, B = [[0.0, 0.0], [0.5, 0.0]], [[1.0, 0.0], [9.0, 9.0]]
        near = self.judge(A, B, (0,), ((0.0, 0.0),), (3.0, 0.0), isolated=((), (0,)))
        assert near == ("a#1&b@1", [0, 1], -1)

    def test_two_isolated_points(self):
        A, B = [[0.0, 0.0], [50.0, 50.0]], [[4.0, 0.0], [4.0, 0.0]]
        near = self.judge(A, B, (), (), (2.0, 0.0), isolated=((0,), (0, 1)))
        assert near == ("a@1|b@1", [1, 2], -1)


def test_isolated_points_count_their_duplicates_of_either_label():
    A, B = np.array([[5.0, 5.0, 5.0]]), np.array([[5.0, 5.0, 5.0], [9.0, 0.0, 0.0]])
    rules = make_rules(A, B, sepc.partitions.partition(A, B, 0))
    v = rules.judge(np.array([[5.0, 5.0, 6.0]]))
    assert v.regions.names().tolist() == ["a@1"]
    assert v.counts.tolist() == [[1, 1]]


def test_many_ellipsoids_are_more_than_one_word_of_bits():
    centres = [(0.1 * i, 0.0) for i in range(150)]
    A = np.array(centres)
    rules = make_rules(A, np.add(A, (0.0, 50.0)), planted(discs(*centres), [0] * 150))
    v = rules.judge(np.array([[7.0, 0.0]]))
    names = v.regions.names()[0].split("&")
    assert names == [f"a#{i + 1}" for i in range(150) if abs(0.1 * i - 7.0) <= 1.0 + 1e-7]
    assert v.counts.tolist() == [[1, 0]]


class TestLocalOverlaps:
    A = np.array([[0.0, 0.0], [0.5, 0.0], [0.75, 0.1]])
    B = np.array([[1.5, 0.0], [0.75, 0.0], [9.0, 0.0]])
    rules = make_rules(A, B, planted(discs((0.0, 0.0), (0.3, 0.0), (1.5, 0.0), (9.0, 0.0)), (0, 0, 1, 1)))

    def at(self, *z):
        return self.rules.local_overlaps(np.array([z]))[0]

    def test_it_is_that_of_the_most_alike_of_different_labels_around_the_point(self):
        assert self.at(0.75, 0.0) == pytest.approx(0.5)  # half-way between the first and the third
        for z in ((0.75, 0.0), (0.8, 0.3), (1.1, 0.0)):
            expected = largest_local_overlap(self.rules.stack.ellipsoids, self.rules.sides, z)
            assert self.at(*z) == pytest.approx(expected)

    def test_one_label_alone_has_none(self):
        assert np.isnan([self.at(-0.5, 0.0), self.at(0.2, 0.0), self.at(9.0, 0.0)]).all()

    def test_outside_there_is_none(self):
        assert np.isnan(self.at(5.0, 0.0))

    def test_ellipsoids_of_one_label_only(self):
        rules = make_rules(self.A, self.B, planted(discs((0.0, 0.0), (0.3, 0.0)), (0, 0)))
        assert np.isnan(rules.local_overlaps(np.array([[0.2, 0.0]]))).all()

    def test_it_is_there_where_ellipsoids_of_both_labels_hold_the_point(self):
        Z = np.column_stack([np.linspace(-2.0, 11.0, 300), np.zeros(300)])
        v = self.rules.judge(Z)
        assert 0 < v.between_labels.sum() < len(Z)
        assert np.array_equal(v.between_labels, ~np.isnan(self.rules.local_overlaps(Z)))

    def test_a_point_alone_and_among_others_has_the_same(self):
        Z = np.random.default_rng(0).uniform([0.4, -0.5], [1.4, 0.5], (300, 2))
        alone = np.array([self.at(*z) for z in Z])
        np.testing.assert_array_equal(self.rules.local_overlaps(Z), alone)

    def test_verdicts_that_are_taken_keep_their_points(self):
        Z = np.array([[0.75, 0.0], [5.0, 0.0], [1.1, 0.0]])
        some = self.rules.judge(Z).taken(np.array([2, 0, 2]))
        assert some.points.tolist() == Z[[2, 0, 2]].tolist()
        assert some.between_labels.all()
