"""Classes by themselves, and overlap of classes: volumes, counts and what must not change them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from landscape_data import codes, two_classes
from strategies import examples, is_solid, labelled_points, rotation, seeds

from sepc import landscape
from sepc.common.validation import training_set
from sepc.geometry import Ellipsoid, min_volume_ellipsoid, overlap_coefficient
from sepc.landscapes.survey import Survey


def boundary(E, n, rng):
    u = rng.standard_normal((n, E.dim))
    return E.center + (u / np.linalg.norm(u, axis=1, keepdims=True) * E.radii) @ E.axes.T


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 3, 4, 5, 6])
def test_overlap_ratios_agree_with_monte_carlo_volumes(d):
    rng = np.random.default_rng(d)
    view = landscape(*two_classes(d, n=400, apart=0.8))
    pair = view.overlaps[0]
    three = (*view.ellipsoids, pair.by_points)
    around = min_volume_ellipsoid(np.concatenate([boundary(E, 300, rng) for E in three])).ellipsoid
    around = Ellipsoid(around.center, around.axes, 1.1 * around.radii)
    assert all(around.contains(boundary(E, 5000, rng)).all() for E in three)
    sample = around.sample(400_000, rng)
    of_a, of_b, shared = (np.count_nonzero(E.contains(sample)) for E in three)
    error = 5.0 / np.sqrt(min(of_a, of_b, shared))
    assert pair.ovr == pytest.approx((shared / of_a, shared / of_b), rel=error)
    common = np.count_nonzero(three[0].contains(sample) & three[1].contains(sample))
    assert pair.by_intersection.contains(sample[three[0].contains(sample) & three[1].contains(sample)], tol=1e-9).all()
    assert pair.cover_ratio[0] >= common / of_a * (1.0 - error)


@given(labelled_points(regimes=("lattice", "spread")))
@examples(25)
def test_overlap_counts_the_points_in_both_ellipsoids(data):
    A, B, _ = data
    assume(is_solid(A) and is_solid(B))
    X, y = np.concatenate([A, B]), np.repeat([0, 1], [len(A), len(B)])
    view = landscape(X, y)
    pair = view.overlaps[0]
    both = np.logical_and(*(E.contains(X) for E in view.ellipsoids))
    assert pair.n_inside == tuple(np.bincount(y[both], minlength=2))
    assert pair.n_outside == tuple(np.bincount(y[~both], minlength=2))
    assert pair.ovl == pytest.approx(overlap_coefficient(*view.ellipsoids), abs=1e-9)
    assert pair.by_points is None or pair.by_points.contains(X[both]).all()
    assert all(0.0 <= ratio <= 1.0 for ratio in (*pair.ovr, *pair.cover_ratio))


@given(seed=seeds(), d=st.integers(1, 5))
@examples(25)
def test_affine_maps_change_nothing(seed, d):
    X, y = two_classes(d, n=100, seed=seed)
    rng = np.random.default_rng(seed)
    matrix = rotation(d, rng) * 10.0 ** rng.uniform(-1, 1, d) @ rotation(d, rng)
    one, other = landscape(X, y).overlaps[0], landscape(X @ matrix + rng.standard_normal(d), y).overlaps[0]
    assert one.ovr == pytest.approx(other.ovr, rel=1e-4)
    assert one.ovl == pytest.approx(other.ovl, abs=1e-4)
    assert one.cover_ratio == pytest.approx(other.cover_ratio, rel=1e-4)
    assert (one.n_inside, one.separable) == (other.n_inside, other.separable)


@given(labelled_points())
@examples(25)
def test_the_order_of_rows_does_not_matter(data):
    A, B, _ = data
    X, y = np.concatenate([A, B]), np.repeat(["a", "b"], [len(A), len(B)])
    order = np.random.default_rng(0).permutation(len(X))
    one, other = landscape(X, y), landscape(X[order], y[order])
    assert codes(one) == codes(other)
    assert one.overlaps[0].n_inside == other.overlaps[0].n_inside
    assert one.overlaps[0].separable == other.overlaps[0].separable
    assert one.overlaps[0].ovr == pytest.approx(other.overlaps[0].ovr, rel=1e-4, abs=1e-12)


def test_no_more_than_twenty_reads_by_the_solvers():
    X, y = two_classes(10, n=20_000, apart=2.0)
    assert landscape(X, y).n_passes <= 12.0


def test_progress_is_reported_and_may_interrupt():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    steps = []
    landscape(X, y, on_step=lambda done, total: steps.append((done, total)))
    assert steps == [(k, 6) for k in range(1, 7)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        landscape(X, y, on_step=stop)


@pytest.mark.parametrize("d", [1, 3])
def test_the_records_left_outside_are_those_that_refits_without_them_leave_outside(d):
    X, y = two_classes(d, n=40, apart=1.5)
    X, y = np.vstack([X, X[:1]]), np.append(y, y[0])  # one of two equal records stays where it is
    outside = 0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        ellipsoids = [min_volume_ellipsoid(X[others & (y == label)]).ellipsoid for label in np.unique(y)]
        outside += not any(E.contains(X[[i]])[0] for E in ellipsoids)
    assert Survey(training_set(X, y), None).n_outside() == outside > 0


def test_pairs_come_in_sorted_order():
    X, _ = two_classes(3, n=300)
    y = np.array(["c", "a", "b"])[np.arange(300) % 3]
    view = landscape(X, y)
    assert list(zip(view.pairs["class_a"], view.pairs["class_b"], strict=True)) == [("a", "b"), ("a", "c"), ("b", "c")]
    binary = landscape(X[y != "c"], y[y != "c"]).overlaps[0]
    # The unit of length is that of all records; it decides what is flat, no more.
    assert view.overlaps[0].ovr == pytest.approx(binary.ovr, rel=1e-6)


def test_classes_by_themselves():
    rng = np.random.default_rng(0)
    line = rng.standard_normal((50, 1)) * [1.0, 2.0, -1.0]
    view = landscape(np.concatenate([line, rng.standard_normal((50, 3)) + 5.0]), np.repeat(["line", "ball"], 50))
    ball, thin = view.notes
    assert (thin.dimension, thin.dimension_99, len(thin.nearly_flat)) == (1, 1, 2)
    assert (ball.dimension, ball.dimension_99, ball.nearly_flat) == (3, 3, ())
    assert thin.participation == pytest.approx(1.0)
    assert 2.0 < ball.participation <= 3.0
    assert (thin.n_records, thin.share) == (50, 0.5)


def test_pairs_table_is_that_of_the_overlaps():
    X, _ = two_classes(2, n=90)
    y = np.arange(90) % 3
    view = landscape(X, y)
    for row, pair, (a, b) in zip(view.pairs.to_dict("records"), view.overlaps, combinations(range(3), 2), strict=True):
        assert (row["class_a"], row["class_b"]) == (a, b)
        assert (row["ovr_a"], row["ovr_b"], row["ovl"]) == (*pair.ovr, pair.ovl)
        assert row["mean_error"] == pair.ovl / 2
