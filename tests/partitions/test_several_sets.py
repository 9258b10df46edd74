"""Partitions of several sets at once obey the laws that those of two sets obey."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from strategies import examples, sets_of_points

from sepc.partitions import partition, run, several_sets
from sepc.partitions.algorithm import partition_in_place
from sepc.partitions.run import PartitionOptions
from sepc.partitions.several_sets import partition_several_in_place


def made(sets, n_imp, **options):
    return partition_several_in_place([points.copy() for points in sets], n_imp, **options)


def members_of(P):
    return sorted((b.side, b.iteration, *b.members.tolist()) for b in P.blocks)


@examples(30)
@given(sets_of_points())
def test_each_point_is_in_exactly_one_block_or_isolated_and_comes_back_to_its_place(data):
    sets, n_imp = data
    worked_in = [points.copy() for points in sets]
    P = partition_several_in_place(worked_in, n_imp)
    assert all(np.array_equal(*pair) for pair in zip(sets, worked_in, strict=True))
    for side, points in enumerate(sets):
        rows = np.concatenate([*(b.members for b in P.blocks if b.side == side), P.isolated[side]])
        assert sorted(rows.tolist()) == list(range(len(points)))
        assert len(P.isolated[side]) < points.shape[1]


@examples(30)
@given(sets_of_points())
def test_blocks_contain_their_members_and_at_most_n_imp_of_the_others_that_remained(data):
    sets, n_imp = data
    P = made(sets, n_imp)
    remaining = [np.ones(len(points), dtype=bool) for points in sets]
    for iteration in range(1, P.n_iter + 1):
        found = [b for b in P.blocks if b.iteration == iteration]
        assert found
        assert len({b.side for b in found}) == len(found)
        for b in found:
            assert b.ellipsoid.contains(sets[b.side][b.members]).all()
            others = [points[stay] for k, (points, stay) in enumerate(zip(sets, remaining, strict=True)) if k != b.side]
            assert np.count_nonzero(b.ellipsoid.contains(np.concatenate(others))) <= n_imp
        for b in found:
            remaining[b.side][b.members] = False
    assert sum(not b.left_over for b in P.blocks) >= len(P.hyperplanes)


@examples(20)
@given(sets_of_points())
def test_the_order_of_rows_does_not_matter(data):
    sets, n_imp = data
    orders = [np.random.default_rng(k).permutation(len(points)) for k, points in enumerate(sets)]
    P = made(sets, n_imp)
    Q = made([points[order] for points, order in zip(sets, orders, strict=True)], n_imp)
    back = sorted((b.side, b.iteration, *sorted(orders[b.side][b.members].tolist())) for b in Q.blocks)
    assert back == members_of(P)


@pytest.mark.parametrize("early_exit", [True, False])
@examples(30)
@given(data=sets_of_points(2))
def test_two_sets_are_split_as_the_paper_splits_them(data, early_exit):
    (A, B), n_imp = data
    P = partition(A, B, n_imp, early_exit=early_exit)
    Q = made([A, B], n_imp, options=PartitionOptions(early_exit=early_exit))
    assert members_of(P) == members_of(Q)
    assert [rows.tolist() for rows in P.isolated] == [rows.tolist() for rows in Q.isolated]


def test_a_set_whose_ellipsoid_meets_that_of_no_other_leaves_whole():
    rng = np.random.default_rng(0)
    near, far = [rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 1.0], rng.normal(size=(40, 2)) + 40.0
    # The hull of all others goes round it: from these as one set no hyperplane parts it.
    between = rng.normal(scale=0.1, size=(30, 2)) + 20.0
    P = made([*near, between, far], 2)
    assert [(b.side, len(b.members)) for b in P.blocks if b.side > 1] == [(2, 30), (3, 40)]
    assert sum(b.side < 2 for b in P.blocks) > 2
    cut = made([*near, between, far], 2, options=PartitionOptions(early_exit=False))
    assert all(len(b.members) < 30 for b in cut.blocks if b.side == 2)


def cuts_and_partition(sets, n_imp, kept_size):
    """Return how many hull problems a relaxed partition takes, and the partition."""
    cuts, cut, relaxed = [], run.Run.cut, PartitionOptions(relax=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_KEPT_SIZE", kept_size)
        patch.setattr(run.Run, "cut", lambda self, a, b: cuts.append(None) or cut(self, a, b))
        if len(sets) == 2:
            return cuts, partition_in_place(*(points.copy() for points in sets), n_imp, options=relaxed)
        return cuts, made(sets, n_imp, options=relaxed)


@examples(30)
@given(sets_of_points() | sets_of_points(2))
def test_parts_that_were_looked_at_are_the_same_when_more_is_allowed(data):
    sets, n_imp = data
    (cuts, P), (more_cuts, Q) = (cuts_and_partition(sets, n_imp, size) for size in (run._KEPT_SIZE, 0))
    assert members_of(P) == members_of(Q)
    assert (P.n_iter, P.stopped) == (Q.n_iter, Q.stopped)
    assert len(cuts) <= len(more_cuts)


@pytest.mark.slow
@pytest.mark.parametrize("n_sets", [2, 3])
def test_parts_that_were_looked_at_are_not_cut_again(n_sets):
    sets = [np.random.default_rng(k).normal(size=(80, 2)) for k in range(n_sets)]
    cuts, more_cuts = (cuts_and_partition(sets, 0, size)[0] for size in (run._KEPT_SIZE, 0))
    assert len(cuts) < len(more_cuts)


def test_relaxed_partitions_go_on_until_little_is_left_over():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(60, 2)) for _ in range(3)]
    plain, relaxed = made(sets, 0), made(sets, 0, options=PartitionOptions(relax=True))
    left = [sum(len(b.members) for b in P.blocks if b.left_over) for P in (plain, relaxed)]
    assert left[1] < left[0] / 2


def test_why_it_stopped_is_reported():
    sets = [np.arange(6.0)[:, None] + k * 10 for k in range(3)]
    assert " 1 points" in made(sets, 0).stopped
    same = [np.ones((5, 1)) for _ in range(3)]
    assert "(5 of set 1, 5 of set 2, 5 of set 3)" in made(same, 0).stopped


def test_a_limit_that_makes_no_sense_is_refused():
    with raises("n-imp-value", n_imp=-1):
        made([np.ones((2, 1)), np.zeros((2, 1)), np.full((2, 1), 5.0)], -1)


def test_hundreds_of_small_sets_far_apart_leave_whole_without_a_look_at_every_pair(monkeypatch):
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(4, 2)) + 40.0 * np.array(divmod(k, 15)) for k in range(200)]
    looked_at = []
    monkeypatch.setattr(several_sets._SeveralRun, "between", lambda *pair: looked_at.append(pair))
    P = made(sets, 0)
    assert [len(b.members) for b in P.blocks] == [4] * 200
    assert P.n_iter == 1
    assert not looked_at
