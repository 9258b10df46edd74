"""The rules against a plain reading of them, one point and one ellipsoid at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import labelled_points, seeds

import sepc
from sepc.assessment import decide, trust_of
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.stack import Candidates, EllipsoidStack, candidates_among
from sepc.partitioning import Block, Partition
from sepc.rules import Rule, Rules


def make_rules(A, B, P, labels=("a", "b")):
    return Rules(P, np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)]), labels)


def plain_verdict(P, A, B, z):
    """Return rule and counts for one point, as the paper states them."""
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
    candidates = [(block.ellipsoid.distance(z[None])[0], block.ellipsoid.grown_to(z).contains) for block in P.blocks]
    alone = np.unique(np.concatenate([x[rows] for x, rows in zip(points, P.isolated, strict=True)]), axis=0)
    candidates += [(np.linalg.norm(z - x), lambda p, x=x: (p == x).all(axis=1)) for x in alone]
    best = min(distance for distance, _ in candidates)
    nearest = [region for distance, region in candidates if distance <= best * (1 + 1e-9)]
    _, rows = common_or_union(nearest)
    return "R3", [len(r) for r in rows]


@settings(max_examples=300, deadline=None)
@given(seeds())
def test_verdicts_follow_the_rules(seed):
    A, B, n_imp = labelled_points(seed)
    P = sepc.partition(A, B, n_imp)
    rng = np.random.default_rng(seed)
    both = np.vstack([A, B])
    Z = np.vstack(
        [both[rng.integers(len(both), size=10)], both.mean(0) + 2 * both.std(0) * rng.normal(size=(20, both.shape[1]))]
    )
    v = make_rules(A, B, P).judge(Z)
    for i, z in enumerate(Z):
        rule, counts = plain_verdict(P, A, B, z)
        assert (Rule(v.rule[i]).name, v.counts[i].tolist()) == (rule, counts)


@settings(max_examples=50, deadline=None)
@given(seeds())
def test_a_point_alone_is_judged_as_in_a_batch(seed):
    A, B, n_imp = labelled_points(seed)
    rules = make_rules(A, B, sepc.partition(A, B, n_imp))
    rng = np.random.default_rng(seed)
    Z = np.vstack([A, B, A.mean(0) + 3 * rng.normal(size=(200, A.shape[1]))])
    together, alone = rules.judge(Z), [rules.judge(z[None]) for z in Z]
    for field in ("counts", "rule", "lead", "distance"):
        assert np.array_equal(getattr(together, field), np.concatenate([getattr(v, field) for v in alone]))
    assert together.regions.names().tolist() == [v.regions.names()[0] for v in alone]


def discs(*centres, radius=1.0):
    return [Ellipsoid(c, np.eye(len(c)), np.full(len(c), radius)) for c in centres]


def planted(ellipsoids, sides, isolated=((), ())):
    """Return a partition with given ellipsoids; the rules count what is in them, whoever built them."""
    blocks = tuple(Block(s, np.array([], dtype=int), E, 1) for E, s in zip(ellipsoids, sides, strict=True))
    return Partition(blocks, tuple(np.array(i, dtype=int) for i in isolated), (), 1, "", 0)


class TestPlanted:
    """Three discs in a row of which neighbours overlap: 0 and 1.5 for a, 10 for b."""

    A = np.array([[0.0, 0.0], [0.75, 0.0], [0.75, 0.1], [1.5, 0.0]])
    B = np.array([[0.75, -0.1], [10.0, 0.0], [10.5, 0.0], [40.0, 0.0]])
    rules = make_rules(A, B, planted(discs((0.0, 0.0), (1.5, 0.0), (10.0, 0.0)), (0, 0, 1), isolated=((), (3,))))

    def judge(self, *z):
        v = self.rules.judge(np.array([z]))
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

    def test_outside_the_nearest_is_grown(self):
        assert self.judge(5.0, 0.0) == ("R3", "~a#2", [4, 1], 2.5)
        assert self.judge(7.0, 0.0) == ("R3", "~b#1", [0, 2], 2.0)

    def test_outside_two_at_the_same_distance(self):
        assert self.judge(5.75, 0.0) == ("R3", "~a#2|~b#1", [4, 3], 3.25)

    def test_an_isolated_point_is_not_grown(self):
        assert self.judge(30.0, 0.0) == ("R3", "b@1", [0, 1], 10.0)

    def test_at_an_isolated_point_and_an_ellipsoid_alike(self):
        assert self.judge(25.5, 0.0) == ("R3", "~b#1|b@1", [4, 4], 14.5)


def test_isolated_points_count_their_duplicates_of_either_label():
    A, B = np.array([[5.0, 5.0, 5.0]]), np.array([[5.0, 5.0, 5.0], [9.0, 0.0, 0.0]])
    rules = make_rules(A, B, sepc.partition(A, B, 0))
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


def test_region_61_of_the_adult_figure():
    assert trust_of(np.array([5]), np.array([1]), 204, 438)[0] == pytest.approx(0.737, abs=5e-4)


class TestChoice:
    """Which label the counts give."""

    def choose(self, counts, totals):
        A, B = np.zeros((totals[0], 1)), np.ones((totals[1], 1))
        rules = make_rules(A, B, planted(discs((0.0,), radius=0.5), (0,)))
        v = rules.judge(np.array([[0.0]]))
        v.counts[:] = counts
        return decide([v], [rules], np.array(totals))

    def test_more_points_win_whatever_the_class_sizes(self):
        assert self.choose([3, 2], [4, 900]).label.tolist() == [0]
        assert self.choose([2, 3], [900, 4]).label.tolist() == [1]

    def test_equal_counts_go_to_the_larger_class(self):
        assert self.choose([2, 2], [5, 9]).label.tolist() == [1]
        assert self.choose([2, 2], [9, 5]).label.tolist() == [0]

    def test_equal_counts_and_classes_go_to_the_first(self):
        d = self.choose([2, 2], [5, 5])
        assert d.label.tolist() == [0]
        assert d.contested.tolist() == [True]
        assert 0.5 < d.proba[0, 0] < 0.5 + 1e-6

    def test_an_outnumbered_ellipsoid_is_contested(self):
        assert self.choose([2, 3], [5, 5]).contested.tolist() == [True]
        assert self.choose([3, 2], [5, 5]).contested.tolist() == [False]

    def test_trust_weighs_in_the_class_sizes(self):
        d = self.choose([5, 2], [10, 300])
        assert d.trust[0] == pytest.approx(1 / (1 + 2 * 300 / (6 * 11)))
        assert d.trust[0] < 0.5


class TestStack:
    def test_it_agrees_with_single_ellipsoids(self):
        rng = np.random.default_rng(0)
        for d, k in ((1, 3), (2, 1), (3, 40), (12, 7)):
            ellipsoids = [
                Ellipsoid(
                    3 * rng.normal(size=d), np.linalg.qr(rng.normal(size=(d, d)))[0], 10.0 ** rng.uniform(-3, 0.5, d)
                )
                for _ in range(k)
            ]
            stack, Z = EllipsoidStack(ellipsoids, d), 4 * rng.normal(size=(500, d))
            gauges = np.column_stack([E.gauge(Z) for E in ellipsoids])
            assert stack.gauges(Z) == pytest.approx(gauges, rel=1e-12)
            Z = Z[gauges.min(axis=1) > 1.0]
            distances = np.column_stack([E.distance(Z) for E in ellipsoids])
            near = stack.nearest(Z, np.full(len(Z), np.inf))
            assert near.row.tolist() == list(range(len(Z)))
            assert near.which.tolist() == distances.argmin(axis=1).tolist()
            assert near.distance == pytest.approx(distances.min(axis=1), rel=1e-12)

    def test_points_far_out_of_range_still_have_a_nearest(self):
        stack = EllipsoidStack(discs((0.0, 0.0), (5.0, 0.0)), 2)
        near = stack.nearest(np.array([[1e149, 0.0], [-1e149, 0.0]]), np.full(2, np.inf))
        assert set(near.row.tolist()) == {0, 1}

    @pytest.mark.parametrize("scale", [1e-100, 1e-40, 1.0, 1e40, 1e82, 1e120])
    def test_units_of_length_do_not_matter(self, scale):
        ellipsoids = [Ellipsoid([x * scale, 0.0], np.eye(2), [scale, 1e-3 * scale]) for x in (0.0, 8.0)]
        near = EllipsoidStack(ellipsoids, 2).nearest(np.array([[4.5 * scale, 2.0 * scale]]), np.array([np.inf]))
        assert near.which.tolist() == [1]
        assert near.distance[0] / scale == pytest.approx(np.hypot(2.5, 2.0), rel=1e-2)

    def test_rounding_leaves_each_point_a_candidate(self):
        just_inside = 1.0 - 1e-12
        found = candidates_among(np, np.full((2, 1, 3), just_inside), 1.0, np.array([np.inf]))
        assert found.which.tolist() == [0, 1]

    def test_candidates_of_some_rows(self):
        blocks = [(0, Candidates(*np.array([[1, 0, 1], [0, 2, 3]]), np.arange(3.0), np.ones(3, bool)))]
        blocks.append((2, Candidates(*np.array([[0], [1]]), np.array([9.0]), np.zeros(1, bool))))
        every = Candidates.joined(blocks)
        assert every.row.tolist() == [0, 1, 1, 2]
        some = every.of_rows(slice(1, 3))
        assert [field.tolist() for field in some] == [[0, 0, 1], [0, 3, 1], [0.0, 2.0, 9.0], [True, True, False]]

    def test_ellipsoids_beyond_the_limit_do_not_count(self):
        stack = EllipsoidStack(discs((0.0, 0.0)), 2)
        assert stack.nearest(np.array([[3.0, 0.0]]), np.array([1.0])).row.tolist() == []

    def test_no_ellipsoids_at_all(self):
        stack = EllipsoidStack([], 2)
        assert stack.gauges(np.zeros((3, 2))).shape == (3, 0)
        assert len(stack.nearest(np.zeros((3, 2)), np.full(3, np.inf)).row) == 0


class TestErrorBound:
    """The paper's remark: what overlaps may be confused, and by how much."""

    A = np.array([[0.0, 0.0], [0.5, 0.0], [0.75, 0.1]])
    B = np.array([[1.5, 0.0], [0.75, 0.0], [9.0, 0.0]])
    rules = make_rules(A, B, planted(discs((0.0, 0.0), (0.3, 0.0), (1.5, 0.0), (9.0, 0.0)), (0, 0, 1, 1)))

    def bound(self, *z):
        v = self.rules.judge(np.array([z]))
        return self.rules.error_bounds(v.regions, np.array([0]))[0]

    def test_it_is_the_largest_overlap_of_two_labels_around_the_point(self):
        near, middle, far, _ = self.rules.stack.ellipsoids
        both = overlap_coefficient(near, far), overlap_coefficient(middle, far)
        assert both[0] < both[1] < 1
        assert self.bound(0.75, 0.0) == both[1]
        assert self.bound(1.1, 0.0) == both[1]

    def test_one_label_alone_has_none(self):
        assert np.isnan(self.bound(-0.5, 0.0))
        assert np.isnan(self.bound(0.2, 0.0))
        assert np.isnan(self.bound(9.0, 0.0))

    def test_outside_there_is_none(self):
        assert np.isnan(self.bound(5.0, 0.0))

    def test_verdicts_and_explanations_carry_it(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [2, 0]], 150, axis=0)
        clf = sepc.SEPClassifier(n_imp=10).fit(X, np.repeat(["a", "b"], 150))
        a = clf.assess(X)
        bounded = np.flatnonzero(~np.isnan(a.error_bound))
        assert len(bounded)
        assert set(a.rule[bounded]) <= {"R2a", "R2b"}
        assert ((a.error_bound[bounded] > 0) & (a.error_bound[bounded] <= 1)).all()
        why = clf.explain(X[bounded[0]])
        assert why.error_bound == a.error_bound[bounded[0]]
        alone = np.flatnonzero(a.rule == "R1")[0]
        assert clf.explain(X[alone]).error_bound is None
