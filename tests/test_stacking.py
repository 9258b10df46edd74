"""Members, views and weights of an ensemble: the laws of its parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import check_grad
from scipy.special import log_softmax
from strategies import labelled_points, seeds

from sepc import members, stacking
from sepc.members import Plan, feature_chances, grow, plans
from sepc.partitioning import canonical_order
from sepc.problems import canonical_rows, class_blocks, problems
from sepc.stacking import Stack, learn_stack
from sepc.views import PLAIN, SCORES, Views


def opinions_of(seed, n=60):
    rng = np.random.default_rng(seed)
    n_members, n_classes = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    codes = rng.integers(n_classes, size=n)
    said = rng.normal(size=(n_members, n, n_classes))
    said[0, np.arange(n), codes] += 1.0
    return log_softmax(said, axis=2), codes


class TestStack:
    def test_members_that_are_right_on_all_points_do_not_become_certain(self):
        codes = np.arange(60) % 3
        opinion = np.log(np.where(np.eye(3)[codes] == 1, 0.8, 0.1))
        stack = learn_stack(np.array([opinion] * 5), codes)
        assert 1 < stack.weights.sum() < 5
        assert stack.posterior([opinion] * 5).max() < 0.9999

    @settings(max_examples=50)
    @given(seeds())
    def test_no_weight_is_negative(self, seed):
        stack = learn_stack(*opinions_of(seed))
        assert (stack.weights >= 0).all()
        assert np.isfinite(stack.leaning).all()

    @settings(max_examples=20)
    @given(seeds())
    def test_it_is_no_worse_than_equal_weights(self, seed):
        opinions, codes = opinions_of(seed)
        equal = Stack(np.full(len(opinions), 1 / len(opinions)), np.zeros(opinions.shape[2]))

        def loss(stack):
            return -np.log(stack.posterior(opinions)[np.arange(len(codes)), codes]).mean()

        assert loss(learn_stack(opinions, codes)) <= loss(equal) + 1e-9

    def test_a_member_that_knows_counts_for_more(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(2, size=300)
        said = rng.normal(size=(5, 300, 2))
        said[3, np.arange(300), codes] += 4.0
        weights = learn_stack(log_softmax(said, axis=2), codes).weights
        assert weights.argmax() == 3
        assert weights[3] > 2 * np.delete(weights, 3).max()

    def test_a_member_that_is_always_wrong_gets_no_weight(self):
        codes = np.arange(100) % 2
        right = np.log(np.where(np.eye(2)[codes] > 0, 0.8, 0.2))
        weights = learn_stack(np.array([right, right[:, ::-1]]), codes).weights
        assert weights[0] > weights[1]
        assert weights[1] == 0.0

    @settings(max_examples=20)
    @given(seeds())
    def test_the_gradient_is_that_of_the_loss(self, seed):
        seen = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stacking, "minimize", lambda loss, start, **_: seen.append((loss, start)) or Found(start))
            learn_stack(*opinions_of(seed))
        ((loss, start),) = seen
        at = start + 0.3 * np.random.default_rng(seed).random(len(start))
        assert check_grad(lambda t: loss(t)[0], lambda t: loss(t)[1], at) < 1e-6

    def test_without_points_all_count_alike(self):
        stack = learn_stack(np.empty((4, 0, 3)), np.empty(0, dtype=int))
        assert stack.weights.tolist() == [0.25] * 4
        assert stack.leaning.tolist() == [0.0] * 3


class Found:
    def __init__(self, x):
        self.x = x


class TestViews:
    @settings(max_examples=30)
    @given(seeds())
    def test_monotone_maps_leave_normal_scores_as_they_are(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(5, 150)), 2))
        mapped = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3 + 5])
        assert Views.of(mapped)(mapped)[SCORES] == pytest.approx(Views.of(X)(X)[SCORES], abs=1e-6)

    def test_scores_keep_the_order_and_plain_is_standardised(self):
        X = np.random.default_rng(0).lognormal(sigma=2, size=(400, 3))
        views = Views.of(X)
        plain, scores = views(X)
        for j in range(3):
            assert (np.diff(scores[np.argsort(X[:, j]), j]) >= 0).all()
        for view in (plain, scores):
            assert view.mean(axis=0) == pytest.approx(0, abs=1e-9)
            assert view.std(axis=0) == pytest.approx(1)
        assert plain == pytest.approx((X - X.mean(0)) / X.std(0))

    def test_beyond_the_training_set_scores_stay_where_they_end(self):
        X = np.arange(50.0)[:, None]
        views = Views.of(X)
        assert views(np.array([[-1e9], [1e9]]))[SCORES].ravel().tolist() == views(X)[SCORES][[0, -1], 0].tolist()

    def test_constant_features_are_finite(self):
        X = np.column_stack([np.arange(9.0), np.full(9, 3.0)])
        views = Views.of(X)
        for view in (PLAIN, SCORES):
            assert np.isfinite(views(X + 1)[view]).all()
            assert (views(X)[view][:, 1] == views(X)[view][0, 1]).all()


class TestProblems:
    @settings(max_examples=50)
    @given(seeds())
    def test_canonical_rows_sort_by_class_and_coordinates(self, seed):
        A, B, _ = labelled_points(seed)
        X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
        order = np.random.default_rng(seed).permutation(len(X))
        found = canonical_rows(X[order], codes[order], 2)
        assert np.array_equal(codes[order][found], codes)
        assert np.array_equal(X[order][found], np.vstack([A[canonical_order(A)], B[canonical_order(B)]]))

    @settings(max_examples=50)
    @given(seeds())
    def test_blocks_of_the_classes_hold_every_point_once(self, seed):
        A, B, n_imp = labelled_points(seed)
        X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
        if seed % 2 and len(A) > 1:
            codes[: len(A) // 2] = 2
            X, codes = X[np.argsort(codes, kind="stable")], np.sort(codes)
        asked = problems(codes, np.unique(codes))
        blocks = list(class_blocks([problem.partition(X, n_imp) for problem in asked], asked))
        assert all((codes[rows] == code).all() for code, _, rows in blocks)
        assert [block.code for block in blocks] == sorted(block.code for block in blocks)
        assert len({block.name for block in blocks}) == len(blocks)
        assert np.sort(np.concatenate([block.rows for block in blocks])).tolist() == list(range(len(X)))

    @settings(max_examples=30)
    @given(seeds())
    def test_only_points_that_take_part_are_partitioned(self, seed):
        A, B, n_imp = labelled_points(seed)
        X, codes = np.vstack([A, B]), np.repeat([0, 1], [len(A), len(B)])
        taking = np.random.default_rng(seed).random(len(X)) < 0.6
        taking[[0, -1]] = True
        before = X.copy()
        (problem,) = problems(codes, np.array(["a", "b"]))
        P = problem.partition(X, n_imp, taking)
        assert np.array_equal(X, before)
        for side in (0, 1):
            rows = np.concatenate([*(b.members for b in P.blocks if b.side == side), P.isolated[side]])
            assert sorted(rows) == np.flatnonzero(taking[codes == side]).tolist()


class TestMembers:
    def test_every_point_is_left_out_once_and_shapes_the_other_parts(self):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(80, 2)), np.repeat([0, 1], [50, 30])
        member, honest = grow(Plan(0, np.array([0, 1]), 5), X, codes, np.array(["a", "b"]), 2)
        outs = [part.out for part in member.parts]
        assert sorted(np.concatenate(outs)) == list(range(80))
        for part in member.parts:
            assert sorted(np.concatenate([part.rows, part.out])) == list(range(80))
            shares = np.bincount(codes[part.out])
            assert abs(shares - [50 / 3, 10]).max() < 1
            assert np.array_equal(honest[part.out].argmax(axis=1), part.densities.posterior(X[part.out]).argmax(axis=1))
        assert np.isfinite(honest).all()
        assert (honest >= -12).all()

    def test_the_only_point_of_a_class_is_never_left_out(self):
        X, codes = np.arange(9.0)[:, None], np.array([0] * 5 + [1] * 3 + [2])
        member, honest = grow(Plan(0, np.array([0]), 0), X, codes, np.array(["a", "b", "c"]), 0)
        assert all(8 in part.rows for part in member.parts)
        assert np.isnan(honest[8]).all()
        assert np.isfinite(honest[:8]).all()

    def test_of_many_points_some_of_each_class_are_enough(self, monkeypatch):
        monkeypatch.setattr(members, "_MOST_POINTS", 30)
        rng = np.random.default_rng(0)
        X, codes = rng.normal(size=(400, 2)), np.repeat([0, 1, 2], [300, 97, 3])
        member, honest = grow(Plan(0, np.array([0, 1]), 1), X, codes, np.array(["a", "b", "c"]), 2)
        for part in member.parts:
            assert not np.isin(part.rows, part.out).any()
            for rows in (part.rows, part.out):
                assert len(rows) <= 31
                assert (np.diff(rows) > 0).all()
                assert set(codes[rows]) == {0, 1, 2}
        assert np.isfinite(honest).all()

    def test_relevant_features_are_drawn_more_often_and_constant_ones_never(self):
        rng = np.random.default_rng(0)
        codes = np.repeat([0, 1], 50)
        X = np.column_stack([rng.normal(size=100) + 3 * codes, rng.normal(size=100), np.full(100, 2.0)])
        chances = feature_chances(X, codes)
        assert chances.sum() == pytest.approx(1)
        assert chances[0] > 2 * chances[1] > 0
        assert chances[2] == 0
        planned = plans(X, codes, 12, [3, 1], rng)
        assert not any(2 in plan.features for plan in planned)
        assert [len(plan.features) for plan in planned] == [2, 2, 1, 1] * 3
