"""Laws of the nearest points of two reduced convex hulls."""

import numpy as np
import pytest
from coded import raises
from hull_pairs import TOL, check
from hypothesis import given
from hypothesis import strategies as st
from linear_program import separable_by_a_linear_program
from oracle import reduced_hull_distance
from sklearn.svm import NuSVC
from strategies import FAMILIES, drawn_points, examples, labelled_points, point_set, seeds

from sepc.geometry.hulls import linearly_separable, nearest_points


def two_sets(family, n_a, n_b, d, apart, seed=0):
    """Two sets of one family, their centres `apart` from each other."""
    A, B = point_set(family, n_a, d, seed), point_set(family, n_b, d, seed + 1)
    return A + apart / np.sqrt(d), B


# Of as many points as a cap of 0.07 needs.
DRAWN = st.integers(1, 3).flatmap(lambda d: st.tuples(drawn_points(d, 15, 40), drawn_points(d, 15, 30)))


def caps_between(n_a, n_b):
    """The default, its value, one with a fractional inverse, the hull itself, and two different ones."""
    low = 1 / min(n_a, n_b)
    return None, low, 1 / 7.3, 1.0, (1 / n_a, 0.2), (0.3, 1 / (n_b - 0.5))


def agrees(pair, distance):
    if pair.meet:
        return distance <= 1e-5 * pair.data_range
    return pair.distance**2 == pytest.approx(distance**2, rel=1e-8)  # the objective, twice


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.4, 6.0])
@pytest.mark.parametrize("d", [1, 2, 5, 10, 30])
@pytest.mark.parametrize("family", FAMILIES)
def test_distance_agrees_with_clarabel(family, d, apart):
    A, B = two_sets(family, 31, 22, d, apart)
    for cap in caps_between(31, 22):
        pair = nearest_points(A, B, cap)
        check(pair, A, B)
        assert agrees(pair, reduced_hull_distance(A, B, *pair.caps)), cap


@pytest.mark.slow
@pytest.mark.parametrize("cap", [None, 0.004, 1.0, (1 / 1200, 1 / 333.3)])
@pytest.mark.parametrize("family", FAMILIES)
def test_distance_of_many_points_agrees_with_clarabel(family, cap):
    A, B = two_sets(family, 1800, 1200, 5, 3.0)
    pair = nearest_points(A, B, cap)
    check(pair, A, B)
    assert agrees(pair, reduced_hull_distance(A, B, *pair.caps))


@pytest.mark.parametrize("share", [1.0, 0.6, 0.25])
@pytest.mark.parametrize(("n_a", "n_b", "d"), [(60, 60, 2), (90, 60, 5), (50, 130, 3)])
def test_distance_agrees_with_nu_svc(n_a, n_b, d, share):
    A, B = two_sets("gauss", n_a, n_b, d, 4.0)
    nu = share * 2 * min(n_a, n_b) / (n_a + n_b)
    # At nu = 1 - 0 exactly no support vector is free, and libsvm has no threshold.
    svm = NuSVC(kernel="linear", nu=nu * (1 - 1e-12), tol=1e-10).fit(np.vstack([A, B]), np.repeat([1, 0], [n_a, n_b]))
    coef, vectors = svm.dual_coef_[0], svm.support_vectors_
    means = [coef[side] @ vectors[side] / coef[side].sum() for side in (coef > 0, coef < 0)]
    pair = nearest_points(A, B, 2 / (nu * (n_a + n_b)))
    check(pair, A, B)
    assert pair.distance**2 == pytest.approx(np.square(means[0] - means[1]).sum(), rel=1e-8)


@pytest.mark.parametrize("apart", [0.0, 0.3, 1.0, 8.0])
@pytest.mark.parametrize(("n_a", "n_b", "d"), [(1500, 700, 2), (700, 1500, 10), (20000, 9000, 5), (9000, 20000, 30)])
def test_gap_is_certified_on_large_sets(n_a, n_b, d, apart):
    A, B = two_sets("gauss", n_a, n_b, d, apart)
    check(nearest_points(A, B), A, B)


@pytest.mark.parametrize("cap", [1.0, 0.01, (1.0, 1 / 4000), (1 / 7000, 1 / 3999)])
@pytest.mark.parametrize("family", FAMILIES)
def test_gap_is_certified_for_any_cap(family, cap):
    A, B = two_sets(family, 8000, 4000, 5, 5.0)
    check(nearest_points(A, B, cap), A, B)


def test_default_cap_pins_the_smaller_set_to_its_centroid():
    A, B = two_sets("gauss", 30, 80, 3, 2.0)
    pair = nearest_points(A, B)
    assert pair.c == pytest.approx(A.mean(axis=0), abs=1e-15)
    assert pair.weights_a.tolist() == [1 / 30] * 30
    assert pair.caps == (1 / 30, 1 / 30)


def test_equal_sizes_give_the_centroids_at_once():
    A, B = two_sets("student", 50, 50, 4, 1.0)
    pair = nearest_points(A, B)
    assert pair.c == pytest.approx(A.mean(axis=0), abs=1e-14)
    assert pair.d == pytest.approx(B.mean(axis=0), abs=1e-14)
    assert (pair.gap, pair.n_iter, pair.converged) == (0.0, 0, True)


@given(DRAWN, st.sampled_from([None, 1.0, 0.07]))
@examples(30)
def test_swapping_the_sets_swaps_the_points(sets, cap):
    A, B = sets
    pair, swapped = nearest_points(A, B, cap), nearest_points(B, A, cap)
    assert pair.distance == pytest.approx(swapped.distance, rel=1e-8, abs=1e-8 * pair.data_range)
    if not pair.meet:
        assert pair.normal == pytest.approx(-swapped.normal, abs=1e-4 * pair.distance)


@given(DRAWN, st.floats(-3, 3), st.sampled_from([None, 1.0, 0.07]))
@examples(40)
def test_normal_follows_shift_rotation_and_scale(sets, log_scale, cap):
    A, B = sets
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((A.shape[1],) * 2))[0]
    scale, shift = 10.0**log_scale, 10 * rng.standard_normal(A.shape[1])
    pair = nearest_points(A, B, cap)
    image = nearest_points(scale * A @ turn + shift, scale * B @ turn + shift, cap)
    assert image.distance == pytest.approx(scale * pair.distance, rel=1e-8, abs=2e-8 * image.data_range)
    if not pair.meet:
        # The objective is flat at the optimum: a gap of 1e-9 leaves the normal known to its square root.
        assert image.normal == pytest.approx(scale * pair.normal @ turn, abs=1e-4 * image.distance)


@given(DRAWN)
@examples(30)
def test_order_of_the_rows_does_not_matter(sets):
    A, B = sets
    rng = np.random.default_rng(0)
    pair, shuffled = nearest_points(A, B), nearest_points(rng.permutation(A), rng.permutation(B))
    assert pair.distance == pytest.approx(shuffled.distance, rel=1e-8, abs=1e-8 * pair.data_range)


@given(DRAWN)
@examples(30)
def test_doubling_every_row_and_halving_the_cap_changes_nothing(sets):
    A, B = sets
    pair = nearest_points(A, B, 0.1)
    doubled = nearest_points(np.vstack([A, A]), np.vstack([B, B]), 0.05)
    check(doubled, np.vstack([A, A]), np.vstack([B, B]))
    assert pair.distance == pytest.approx(doubled.distance, rel=1e-8, abs=1e-8 * pair.data_range)


@given(DRAWN)
@examples(30)
def test_larger_caps_never_increase_the_distance(sets):
    A, B = sets
    distances = [nearest_points(A, B, cap).distance for cap in (0.07, 0.09, 0.3, 1.0)]
    assert (np.diff(distances) <= 1e-8 * np.abs(np.vstack([A, B])).max()).all()


@pytest.mark.parametrize("d", [1, 2, 5, 10])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [60, 1500])
def test_hulls_that_meet_are_found(family, n, d):
    A, B = np.split(point_set(family, 2 * n - 20, d), [n])
    pair = nearest_points(A, B, 1.0)
    check(pair, A, B)
    assert pair.meet


@pytest.mark.parametrize("cap", [None, 1.0, 0.2])
@pytest.mark.parametrize("n", [1, 7, 300, 3000])
def test_a_set_meets_itself(n, cap):
    A = point_set("gauss", n, 3)
    pair = nearest_points(A, A, max(cap, 1 / n) if cap else cap)
    check(pair, A, A)
    assert pair.meet


def test_equal_centroids_meet():
    A = point_set("gauss", 200, 4)
    B = np.vstack([A.mean(axis=0) + point_set("gauss", 50, 4), np.zeros((1, 4))])
    B[-1] = 51 * A.mean(axis=0) - B[:-1].sum(axis=0)
    pair = nearest_points(A, B)
    check(pair, A, B)
    assert pair.meet


@given(seeds(), st.sampled_from(FAMILIES), st.sampled_from(FAMILIES), st.sampled_from([1, 2, 5, 20]))
@examples(150)
def test_any_two_sets_and_caps_are_solved(seed, family_a, family_b, d):
    rng = np.random.default_rng(seed)
    n_a, n_b = (10 ** rng.uniform(0, 3.3, size=2)).astype(int)
    A = point_set(family_a, n_a, d, seed) + rng.standard_normal(d) * 10 ** rng.uniform(-2, 1)
    B = point_set(family_b, n_b, d, seed + 1)
    pair = nearest_points(A, B, (n_a ** -rng.random(), n_b ** -rng.random()))
    # Nearer than this, float64 may not see a gap of 1e-9.
    if pair.meet or pair.distance > 1e-5 * pair.data_range:
        check(pair, A, B)


@pytest.mark.parametrize("margin", [1e-2, 1e-4, 1e-6])
def test_hulls_a_hair_apart_do_not_meet(margin):
    A, B = point_set("ball", 500, 2), point_set("ball", 400, 2, seed=1)
    A[:, 0] += margin - A[:, 0].min()
    B[:, 0] -= B[:, 0].max()
    pair = nearest_points(A, B, 1.0)
    check(pair, A, B)
    assert not pair.meet
    assert pair.distance >= margin * (1 - 1e-9)


def test_parallel_faces_a_hair_apart_are_solved():
    side = np.linspace(-1, 1, 40)
    B = np.column_stack([np.zeros(40), side])
    A = B + np.array([1e-6, 0.3])
    pair = nearest_points(A, B, 1.0)
    check(pair, A, B)
    assert pair.distance == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("cap", [None, 0.11, 1.0])
@pytest.mark.parametrize(
    "kind", ["lattice", "duplicates", "wide", "single", "flat", "scales", "cauchy", "constant", "line"]
)
def test_degenerate_sets_are_solved(kind, cap):
    rng = np.random.default_rng(5)
    A, B = rng.standard_normal((60, 4)) + 1.5, rng.standard_normal((33, 4))
    if kind == "lattice":
        A, B = np.round(A), np.round(B)
    elif kind == "duplicates":
        A, B = np.repeat(A[:6], 10, axis=0), np.repeat(B[:3], 11, axis=0)
    elif kind == "wide":
        A, B = rng.standard_normal((14, 40)) + 0.2, rng.standard_normal((11, 40))
    elif kind == "single":
        A, cap = A[:1], None if cap is None else (1.0, cap)
    elif kind == "flat":
        A, B = A[:, :2] @ rng.standard_normal((2, 4)), B[:, :2] @ rng.standard_normal((2, 4)) + 1.0
    elif kind == "scales":
        A, B = A * [1e-3, 1e-1, 1e1, 1e2], B * [1e-3, 1e-1, 1e1, 1e2]
    elif kind == "cauchy":
        A, B = rng.standard_cauchy((60, 4)) + 3, rng.standard_cauchy((33, 4))
    elif kind == "constant":
        A, B = np.full((60, 4), 2.0), np.full((33, 4), -1.0)
    elif kind == "line":
        A, B = np.outer(np.arange(60), np.ones(4)), np.outer(np.arange(33) - 50.0, np.ones(4))
    pair = nearest_points(A, B, cap)
    check(pair, A, B)
    assert agrees(pair, reduced_hull_distance(A, B, *pair.caps, cone=kind == "scales"))


@pytest.mark.parametrize("kind", ["lattice", "duplicates", "line", "constant"])
@pytest.mark.parametrize("cap", [None, 0.002, 1.0])
def test_many_ties_are_solved(kind, cap):
    A, B = two_sets("lattice", 9000, 3000, 2, 3.0)
    if kind == "duplicates":
        A, B = np.repeat(A[:6], 1500, axis=0), np.repeat(B[:3], 1000, axis=0)
    elif kind == "line":
        A, B = np.outer(np.arange(9000), [1.0, 1.0]), np.outer(np.arange(3000) - 2000.0, [1.0, 1.0])
    elif kind == "constant":
        A, B = np.full((9000, 2), 2.0), np.full((3000, 2), -1.0)
    check(nearest_points(A, B, cap), A, B)


@pytest.mark.parametrize("n", [200, 4000])
@pytest.mark.parametrize("offset", [1e6, 1e12])
def test_a_far_origin_does_not_spoil_the_gap(offset, n):
    A, B = two_sets("gauss", n, n // 2, 3, 3.0)
    # The same rounded points, with and without the offset.
    A, B = A + offset, B + offset
    for cap in (None, 0.02, 1.0):
        pair, near = nearest_points(A, B, cap), nearest_points(A - offset, B - offset, cap)
        assert pair.gap <= TOL
        assert pair.certificate(A, B) <= 2 * TOL
        assert pair.distance == pytest.approx(near.distance, rel=1e-8, abs=1e-8 * near.data_range)


def test_a_set_too_large_for_a_moved_copy_has_the_same_pair_far_away():
    A, B = two_sets("gauss", 101_000, 3000, 3, 3.0)
    A, B = A + 1e6, B + 1e6
    pair, near = nearest_points(A, B, (0.001, 0.01)), nearest_points(A - 1e6, B - 1e6, (0.001, 0.01))
    assert pair.gap <= TOL
    assert pair.certificate(A, B) <= 2 * TOL
    assert pair.distance == pytest.approx(near.distance, rel=1e-8)


@pytest.mark.parametrize(
    "convert", [np.float32, np.int64, np.asfortranarray, lambda x: x[::2, ::-1], np.ndarray.tolist]
)
def test_input_of_any_form_is_read_and_left_alone(convert):
    A, B = (convert(np.round(8 * x)) for x in two_sets("gauss", 60, 40, 4, 2.0))
    before = [np.array(A), np.array(B)]
    for x in (A, B):
        if isinstance(x, np.ndarray):
            x.flags.writeable = False
    pair = nearest_points(A, B, 0.2)
    check(pair, A, B)
    assert [np.array_equal(x, y) for x, y in zip((A, B), before, strict=True)] == [True, True]


def test_same_input_gives_the_same_bits():
    A, B = two_sets("student", 9000, 4000, 6, 1.0)
    pair, again = nearest_points(A, B, 0.001), nearest_points(A.copy(), B.copy(), 0.001)
    assert pair.weights_a.tobytes() == again.weights_a.tobytes()
    assert pair.normal.tobytes() == again.normal.tobytes()


def test_result_is_read_only():
    pair = nearest_points([[0.0, 1.0]], [[3.0, 1.0], [4.0, 1.0]])
    with pytest.raises(ValueError, match="read-only"):
        pair.c[0] = 1.0
    with pytest.raises(AttributeError):
        pair.gap = 0.0


def test_certificate_rejects_weights_of_other_points():
    A, B = two_sets("gauss", 40, 30, 3, 4.0)
    pair = nearest_points(A, B, 0.2)
    assert pair.certificate(A[::-1], B) > 1e-3
    assert pair.certificate(A[:-1], B) == np.inf


@pytest.mark.parametrize("n", [100, 5000])
def test_on_step_sees_progress_and_can_stop_the_run(n):
    A, B = two_sets("gauss", n, n // 2, 3, 2.0)
    seen = []
    pair = nearest_points(A, B, on_step=lambda n_iter, gap: seen.append((n_iter, gap)))
    assert seen[-1] == (pair.n_iter, pair.gap)
    assert [n_iter for n_iter, _ in seen] == sorted(n_iter for n_iter, _ in seen)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nearest_points(A, B, on_step=stop)


@pytest.mark.parametrize(
    ("cap", "refusal"),
    [
        (0.01, raises("hull-cap-too-small", cap=0.01, name="A", n_points=40)),
        (1.5, raises("hull-cap-too-small", cap=1.5, name="A")),
        (float("nan"), raises("hull-cap-too-small", name="A")),
        ("0.5", raises("hull-cap-too-small", cap="0.5", name="A")),
        ((0.5, 0.01), raises("hull-cap-too-small", cap=0.01, name="B", n_points=30)),
        ((0.5, None), raises("hull-cap-too-small", cap=None, name="B")),
        ((0.5, 0.5, 0.5), raises("hull-cap")),
        ([], raises("hull-cap")),
    ],
)
def test_a_bad_cap_is_named(cap, refusal):
    A, B = two_sets("gauss", 40, 30, 3, 4.0)
    with refusal:
        nearest_points(A, B, cap)


@pytest.mark.parametrize("tol", [0, 1, -1e-9, float("nan"), "small", None])
def test_a_bad_tolerance_is_named(tol):
    with raises("tol", tol=tol):
        nearest_points([[0.0]], [[1.0]], tol=tol)


def test_different_features_are_named():
    with raises("features-differ", name="B", n_features=2, other="A", n_other=3):
        nearest_points(np.zeros((4, 3)), np.ones((5, 2)))


def test_caps_within_rounding_of_the_bounds_are_accepted():
    A, B = two_sets("gauss", 49, 30, 3, 4.0)
    low = 1 / 49 * (1 - 2e-16)
    assert nearest_points(A, B, (low, 1 + 2e-16)).caps == (1 / 49, 1.0)


@given(labelled_points(regimes=("lattice", "spread", "copies")))
@examples(60)
def test_separability_agrees_with_a_linear_program(data):
    A, B, _ = data
    expected = separable_by_a_linear_program(A, B)
    assert linearly_separable(A, B) == expected
    assert linearly_separable(B, A) == expected


@pytest.mark.parametrize("n", [50, 3000])
def test_one_point_beyond_decides(n):
    rng = np.random.default_rng(n)
    A, B = rng.uniform(0.0, 1.0, (n, 4)), rng.uniform(0.0, 1.0, (n, 4))
    B[:, 0] += 1.001
    assert linearly_separable(A, B)
    A[n // 2] = B.mean(axis=0)
    assert not linearly_separable(A, B)
