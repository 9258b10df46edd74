"""Stacked opinions: the weights that members of an ensemble learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import check_grad
from scipy.special import log_softmax
from strategies import seeds

from sepc.estimators.ensemble import stacking
from sepc.estimators.ensemble.stacking import Stack, learn_stack


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
