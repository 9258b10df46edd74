"""Algorithms 1 and 2: the worked cases, the laws, and what must not matter."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from strategies import examples, labelled_points

from sepc.geometry import min_volume_ellipsoid, nearest_points
from sepc.partitions import partition
from sepc.partitions import run as partitioning
from sepc.partitions.algorithm import impurity_count, partition_in_place


def sizes(P):
    """Return block sizes and isolated points the way the paper's readers write them."""
    return repr(P).removeprefix("Partition(").split(", n_imp")[0]


@pytest.mark.parametrize(
    ("species", "expected"),
    [
        (0, "A 50 | B 100"),
        (1, "A 4 22 16 5 3 | B 50 28 12 6 3 +1"),
        (2, "A 22 15 7 4 2 | B 75 13 8 4"),
    ],
)
def test_iris_with_two_features(species, expected):
    iris = load_iris()
    X = iris.data[:, [0, 2]]
    P = partition(X[iris.target == species], X[iris.target != species], n_imp=2)
    assert sizes(P) == expected


def test_xor():
    P = partition([[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], n_imp=0)
    assert sizes(P) == "A 2 | B 2"
    assert P.n_iter == 0
    assert all(block.left_over for block in P.blocks)


def test_breast_cancer():
    data = load_breast_cancer()
    malignant = data.target == list(data.target_names).index("malignant")
    P = partition(data.data[~malignant], data.data[malignant], n_imp=2)
    assert sizes(P) == "A 264 54 39 | B 95 37 45 35"
    assert P.n_iter == 3 == len(P.hyperplanes)
    assert "no part of what remained (39 of A, 35 of B)" in P.stopped


@pytest.mark.slow
@examples(200)
@given(labelled_points())
def test_each_point_is_in_exactly_one_block_or_isolated(data):
    A, B, n_imp = data
    P = partition(A, B, n_imp)
    for side, X in enumerate((A, B)):
        rows = [block.members for block in P.blocks if block.side == side]
        assert sorted(np.concatenate([*rows, P.isolated[side]])) == list(range(len(X)))


@pytest.mark.slow
@examples(200)
@given(labelled_points())
def test_blocks_contain_their_members_and_at_most_n_imp_of_the_others_that_remained(data):
    A, B, n_imp = data
    P = partition(A, B, n_imp)
    points, d = (A, B), A.shape[1]
    for block in P.blocks:
        own, other = points[block.side], points[1 - block.side]
        assert block.ellipsoid.contains(own[block.members]).all()
        assert len(block.members) > d - block.left_over
        gone = [b.members for b in P.blocks if b.side != block.side and 0 < b.iteration < block.iteration]
        remained = np.setdiff1d(np.arange(len(other)), np.concatenate([[], *gone]))
        if not block.left_over:
            assert np.count_nonzero(block.ellipsoid.contains(other[remained])) <= n_imp
    for alone in P.isolated:
        assert len(alone) < d


@examples(100)
@given(labelled_points())
def test_the_order_of_rows_does_not_matter(data):
    A, B, n_imp = data
    rng = np.random.default_rng(0)
    a, b = rng.permutation(len(A)), rng.permutation(len(B))
    P, Q = partition(A, B, n_imp), partition(A[a], B[b], n_imp)
    assert sizes(P) == sizes(Q)
    for p, q in zip(P.blocks, Q.blocks, strict=True):
        assert np.array_equal(p.ellipsoid.center, q.ellipsoid.center)
        assert np.array_equal(p.ellipsoid.radii, q.ellipsoid.radii)
        assert np.array_equal(p.ellipsoid.axes, q.ellipsoid.axes)
        X, order = ((A, a), (B, b))[p.side]
        assert np.array_equal(np.sort(X[p.members], axis=0), np.sort(X[order][q.members], axis=0))


@examples(50)
@given(labelled_points(regimes=("spread",)), st.sampled_from([0.25, 1024.0]))
def test_a_shift_and_a_common_scaling_do_not_matter(data, scale):
    A, B, n_imp = data
    P, Q = (
        partition(A, B, n_imp),
        partition(scale * (A + 16.0), scale * (B + 16.0), n_imp),
    )
    assert sizes(P) == sizes(Q)


@examples(100)
@given(labelled_points())
def test_in_place_the_points_are_back_in_their_places(data):
    A, B, n_imp = data
    a, b = np.array(A, dtype=float), np.array(B, dtype=float)
    P, Q = partition(A, B, n_imp), partition_in_place(a, b, n_imp)
    assert np.array_equal(a, A)
    assert np.array_equal(b, B)
    assert [block.members.tolist() for block in P.blocks] == [block.members.tolist() for block in Q.blocks]
    assert all((p.normal == q.normal).all() for p, q in zip(P.hyperplanes, Q.hyperplanes, strict=True))


def test_disjoint_sets_are_taken_whole_with_the_hyperplane_between_them():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(30, 3)), rng.normal(size=(40, 3)) + 20
    P = partition(A, B, n_imp=0)
    assert sizes(P) == "A 30 | B 40"
    normal, offset = P.hyperplanes[0]
    assert (A @ normal > offset).all()
    assert (B @ normal < offset).all()
    assert " 3 points" in P.stopped


def test_without_the_early_exit_disjoint_sets_are_cut_at_the_nearest_points():
    A = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.5]])
    B = A + np.array([9.0, 0.0])
    assert sizes(partition(A, B, 0)) == "A 5 | B 5"
    first = partition(A, B, 0, early_exit=False).blocks[0]
    assert A[first.members].tolist() == [[0.0, 0.0], [0.0, 1.0], [0.5, 0.5]]


@examples(100)
@given(labelled_points())
def test_without_the_early_exit_the_laws_hold(data):
    A, B, n_imp = data
    P = partition(A, B, n_imp, early_exit=False)
    for side, n in ((0, len(A)), (1, len(B))):
        rows = [b.members for b in P.blocks if b.side == side]
        assert sorted(np.concatenate([*rows, P.isolated[side]]).tolist()) == list(range(n))


def test_where_hulls_meet_the_cut_is_along_the_centroids_or_along_what_rounding_leaves():
    # The centroid of B lies well inside the hull of A: the nearest points are one point.
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((60, 2)), 0.2 * rng.standard_normal((20, 2)) + [0.3, 0.0]
    pair = nearest_points(A, B)
    assert pair.meet
    by_centroids, by_noise = (
        partitioning.Run(
            tuple(map(partitioning.Side, (A.copy(), B.copy()))),
            2,
            partitioning.PartitionOptions(where_hulls_meet=where),
            np.ones(2),
            None,
        )
        for where in ("centroids", "noise")
    )
    centroids = A.mean(axis=0) - B.mean(axis=0)
    cut = by_centroids.cut(*by_centroids.remaining)
    assert cut.hyperplane.normal @ centroids == pytest.approx(np.linalg.norm(centroids))
    noise = by_noise.cut(*by_noise.remaining)
    assert noise is None or np.linalg.norm(noise.direction) <= 1e-8 * pair.data_range


def test_a_way_to_cut_that_there_is_not_is_refused():
    with raises("where-hulls-meet", where_hulls_meet="guess"):
        partition([[0.0], [1.0]], [[5.0], [6.0]], where_hulls_meet="guess")


def test_coinciding_centroids_stop_the_run():
    square = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    P = partition(square, 2 * square, n_imp=0)
    assert sizes(P) == "A 4 | B 4"
    assert P.n_iter == 0
    assert "coincide" in P.stopped


def test_more_features_than_points_leaves_them_isolated():
    rng = np.random.default_rng(0)
    P = partition(rng.normal(size=(3, 5)), rng.normal(size=(5, 5)), n_imp=0)
    assert sizes(P) == "A +3 | B 5"


@pytest.mark.parametrize("n_imp", [-1, 1.0, 0.0, 1.5, -0.1, "2", True, float("nan"), np.float64(2.0)])
def test_n_imp_is_a_count_or_a_share(n_imp):
    with raises("n-imp-value", n_imp=n_imp):
        partition([[0.0]], [[1.0]], n_imp)


def test_a_share_is_that_of_the_smaller_class_rounded_down():
    assert impurity_count(0.05, 39) == 1
    assert impurity_count(np.float32(0.5), 7) == 3
    assert impurity_count(np.int32(7), 3) == 7


def test_the_default_grows_with_the_data_and_slower_than_they_do():
    sizes = np.arange(1, 200_000, 37)
    counts = np.array([impurity_count(None, int(size)) for size in sizes])
    assert counts[sizes <= 100].tolist() == [2] * int((sizes <= 100).sum())
    assert (np.diff(counts) >= 0).all()
    assert impurity_count(None, 1000) == 20
    assert impurity_count(None, 100_000) == 200


def test_different_columns_are_refused():
    with raises("features-differ", name="B", n_features=1, other="A", n_other=2):
        partition([[0.0, 1.0]], [[0.0]])


def test_progress_is_reported_and_may_interrupt():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    settled = []
    partition(A, B, 2, on_step=lambda done, total: settled.append((done, total)))
    assert all(total == 120 for _, total in settled)
    assert [done for done, _ in settled] == sorted(done for done, _ in settled)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        partition(A, B, 2, on_step=stop)


class TestRelaxed:
    """Where no ellipsoid can be made, more of the other label are allowed."""

    @pytest.mark.slow
    @examples(150)
    @given(labelled_points())
    def test_each_point_is_in_exactly_one_block_or_isolated_and_blocks_contain_their_members(self, data):
        A, B, n_imp = data
        P = partition(A, B, n_imp, relax=True)
        for side, X in enumerate((A, B)):
            mine = [block for block in P.blocks if block.side == side]
            rows = [block.members for block in mine]
            assert sorted(np.concatenate([*rows, P.isolated[side]])) == list(range(len(X)))
            assert all(block.ellipsoid.contains(X[block.members]).all() for block in mine)
            assert len(P.isolated[side]) < A.shape[1]
        assert P.n_imp == n_imp
        assert P.n_iter == len(P.hyperplanes)

    @examples(60)
    @given(labelled_points())
    def test_the_order_of_rows_does_not_matter(self, data):
        A, B, n_imp = data
        rng = np.random.default_rng(0)
        P = partition(A, B, n_imp, relax=True)
        Q = partition(A[rng.permutation(len(A))], B[rng.permutation(len(B))], n_imp, relax=True)
        assert sizes(P) == sizes(Q)
        for p, q in zip(P.blocks, Q.blocks, strict=True):
            assert np.array_equal(p.ellipsoid.center, q.ellipsoid.center)
            assert np.array_equal(p.ellipsoid.radii, q.ellipsoid.radii)

    @examples(100)
    @given(labelled_points())
    def test_it_begins_as_the_strict_one_and_is_the_same_where_too_few_points_remained(self, data):
        A, B, n_imp = data
        P, Q = partition(A, B, n_imp), partition(A, B, n_imp, relax=True)
        kept = [block for block in P.blocks if not block.left_over]
        for p, q in zip(kept, Q.blocks, strict=False):
            assert (p.side, p.iteration, p.members.tolist()) == (q.side, q.iteration, q.members.tolist())
        if P.stopped.startswith("at most"):
            assert repr(P) == repr(Q)
            assert P.stopped == Q.stopped

    def test_heavy_overlap_does_not_end_in_one_left_over_for_each_label(self):
        rng = np.random.default_rng(0)
        A, B = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + np.array([0.3, 0.0])
        strict, relaxed = (max(len(b.members) for b in partition(A, B, 2, relax=r).blocks) for r in (False, True))
        assert strict > 0.8 * 300
        assert relaxed < 0.6 * 300


class TestSamples:
    """Samples that show, without ellipsoids, that two sets meet."""

    @pytest.fixture
    def solved(self, monkeypatch):
        """The numbers of points whose ellipsoids were asked for."""
        sizes = []

        def counted(points, **options):
            sizes.append(len(points))
            return min_volume_ellipsoid(points, **options)

        monkeypatch.setattr(partitioning, "min_volume_ellipsoid", counted)
        return sizes

    @pytest.mark.slow
    def test_large_sets_that_meet_need_no_ellipsoids_of_all_their_points(self, solved, monkeypatch):
        X, y = make_moons(3000, noise=0.3, random_state=0)
        sets = [X[y == label] for label in (0, 1)]
        P = partition(*sets, n_imp=5)
        assert max(solved) < 1500
        monkeypatch.setattr(partitioning, "surely_meet", lambda *_: False)
        solved.clear()
        Q = partition(*sets, n_imp=5)
        assert max(solved) == 1500
        assert repr(P) == repr(Q)
        for p, q in zip(P.blocks, Q.blocks, strict=True):
            np.testing.assert_array_equal(p.members, q.members)
            np.testing.assert_array_equal(p.ellipsoid.axes, q.ellipsoid.axes)

    def test_sets_that_are_apart_are_taken_whole(self, solved):
        X, y = make_moons(3000, noise=0.05, random_state=0)
        P = partition(X[y == 0], X[y == 1] + [0.0, 4.0])
        assert [len(block.members) for block in P.blocks] == solved == [1500, 1500]

    def test_few_points_are_not_sampled(self, solved):
        X, y = make_moons(200, noise=0.3, random_state=0)
        partition(X[y == 0], X[y == 1])
        assert max(solved) == 100

    # Squares of a lattice that overlap, share a side, or are next to each other.
    @pytest.mark.parametrize(("gap", "meet"), [(-10.0, True), (0.0, False), (1.0, False)])
    def test_squares(self, gap, meet, monkeypatch):
        A = np.stack(np.meshgrid(np.arange(25.0), np.arange(25.0)), axis=-1).reshape(-1, 2)
        B = A + np.array([24.0 + gap, 0.0])
        assert partitioning.surely_meet(partitioning.Cloud(A), partitioning.Cloud(B), np.ones(2)) == meet
        P = partition(A, B, n_imp=0)
        monkeypatch.setattr(partitioning, "surely_meet", lambda *_: False)
        assert repr(P) == repr(partition(A, B, n_imp=0))

    @pytest.mark.parametrize("size", [1.0, 1e9])
    def test_a_gap_is_seen_next_to_a_feature_of_large_numbers(self, size):
        A = np.random.default_rng(0).random((2000, 2)) * [size, 1.0]
        P = partition(A, A + np.array([0.0, 1.5]))
        assert repr(P) == "Partition(A 2000 | B 2000, n_imp=2, n_iter=1)"
