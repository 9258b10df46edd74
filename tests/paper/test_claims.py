"""Claims about the method: what was measured, and cases that a reader can run."""

import doctest

import numpy as np
import pytest
from sklearn.svm import NuSVC

from paper import EXPERIMENTS
from paper.claims import printed_loop, strips

EXAMPLES = [
    pytest.param(statement.example, id=f"{name}: {statement.text[:40]}")
    for name, experiment in EXPERIMENTS.items()
    for statement in experiment.statements
    if statement.example
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_cases_on_the_page_run_and_give_what_is_shown(example):
    case = doctest.DocTestParser().get_doctest(example, {}, "case", None, 0)
    assert case.examples
    told = []
    assert doctest.DocTestRunner().run(case, out=told.append).failed == 0, "".join(told)


def test_the_strips_are_separable_yet_their_ellipsoids_meet_and_are_cut(runs):
    values = {name: column[0] for name, column in runs("claims").values.items()}
    assert (values["strips.separable"], values["strips.ellipsoids"], values["strips.hulls"]) == (1, 1, 0)
    assert values["strips.n_exit"] > 2


def test_the_trust_formula_gives_the_numbers_that_are_told(runs):
    values = {name: column[0] for name, column in runs("claims").values.items()}
    assert values["trust.minority"] == pytest.approx(121 / 2121, rel=1e-5)
    assert values["trust.equal"] == pytest.approx(11 * 439 / (11 * 439 + 10 * 204), rel=1e-5)


def test_the_printed_loop_ends_unless_none_are_at_least_none():
    A, B = strips(1)
    assert printed_loop(A, B + 10.0, 1) == 0
    assert printed_loop(A, B + 10.0, 0) == 100
    inside = np.array([[0.5, 0.05]])
    assert printed_loop(A, np.vstack([B, inside]), len(B) + 1) == 0


def test_the_nu_svm_of_all_points_of_the_smaller_set_has_the_centroids_direction():
    """Sets of one size: both nearest points are centroids, and so is the dual of the nu-SVM."""
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((2, 30, 3)) + np.array([[[0.0]], [[1.5]]])
    between = A.mean(axis=0) - B.mean(axis=0)
    model = NuSVC(nu=1.0 - 1e-9, kernel="linear", tol=1e-6, max_iter=100_000)
    w = model.fit(np.vstack([A, B]), np.repeat([1, 0], 30)).coef_[0]
    assert w @ between / np.linalg.norm(w) / np.linalg.norm(between) == pytest.approx(1.0, abs=1e-6)


def test_the_two_normals_are_one_and_the_approximation_is_near_for_balanced_sets(runs):
    values = runs("claims").values
    assert min(values["dual.least"] + values["dual.less"]) > 0.99999
    sizes, differences = values["balance.size"], values["balance.difference"]
    for size, difference in zip(sizes, differences, strict=True):
        assert 50 <= size <= 500
        # The factor N / (N + 1) costs most where the trust is one half.
        assert difference == pytest.approx(0.25 / (size + 1), rel=0.05)
