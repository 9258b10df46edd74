"""Stratified splits: their laws, and each split of the project against a plain reading of it."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import class_codes, drawn_points, examples, orders, seeds

from sepc.common.splits import IN_NO_PART, apart, record_hashes, stratified_parts
from sepc.estimators.ensemble.growth import N_PARTS, grow
from sepc.estimators.ensemble.members import Plan
from sepc.estimators.n_imp_selection import _folds
from sepc.estimators.records import _third_of_each_class
from sepc.feedback.held_out_models import parts_of

numbers_of_parts = st.integers(2, 6)


class TestLaws:
    @given(class_codes(), numbers_of_parts, seeds())
    def test_parts_of_a_class_differ_in_size_by_one_at_most(self, codes, n_parts, seed):
        rng = np.random.default_rng(seed)
        parts = stratified_parts(codes, n_parts, order=rng.permutation, first=lambda _: int(rng.integers(100)))
        for k in range(codes.max() + 1):
            if np.count_nonzero(codes == k) > 1:
                assert np.ptp(np.bincount(parts[codes == k], minlength=n_parts)) <= 1

    @given(class_codes(), numbers_of_parts)
    def test_the_only_record_of_a_class_is_in_no_part_and_every_other_record_is_in_one(self, codes, n_parts):
        parts = stratified_parts(codes, n_parts)
        alone = np.bincount(codes)[codes] == 1
        assert (parts[alone] == IN_NO_PART).all()
        assert ((parts[~alone] >= 0) & (parts[~alone] < n_parts)).all()

    @given(class_codes(), numbers_of_parts, st.data())
    def test_records_are_dealt_in_the_order_asked_for_from_the_part_asked_for(self, codes, n_parts, data):
        place = data.draw(orders(len(codes)))
        parts = stratified_parts(codes, n_parts, order=lambda rows: rows[np.argsort(place[rows])], first=len)
        for k in range(codes.max() + 1):
            rows = np.flatnonzero(codes == k)
            if len(rows) > 1:
                dealt = parts[rows[np.argsort(place[rows])]]
                assert dealt.tolist() == [(i + len(rows)) % n_parts for i in range(len(rows))]

    def test_the_first_part_is_asked_for_before_the_order(self):
        asked = []
        stratified_parts(
            np.array([0, 1, 0, 2, 1]),
            2,
            order=lambda rows: asked.append(("order", rows.tolist())) or rows,
            first=lambda rows: asked.append(("first", rows.tolist())) or 0,
        )
        assert asked == [("first", [0, 2]), ("order", [0, 2]), ("first", [1, 4]), ("order", [1, 4])]


def parts_of_a_member(codes, seed):
    """Return the part of each record: by chance, from a part by chance on."""
    rng = np.random.default_rng(seed)
    dealt = np.full(len(codes), -1)
    for k in range(codes.max() + 1):
        rows = np.flatnonzero(codes == k)
        if len(rows) > 1:
            dealt[rng.permutation(rows)] = (np.arange(len(rows)) + rng.integers(3)) % 3
    return dealt


class TestMembersOfAnEnsemble:
    @given(class_codes(), seeds())
    def test_parts_are_dealt_by_chance_from_a_part_by_chance_on(self, codes, seed):
        rng = np.random.default_rng(seed)
        dealt = stratified_parts(codes, 3, order=rng.permutation, first=lambda _: int(rng.integers(3)))
        assert dealt.tolist() == parts_of_a_member(codes, seed).tolist()

    @pytest.mark.parametrize("seed", range(5))
    def test_members_leave_these_parts_out(self, seed):
        codes = np.repeat([0, 1, 2], [9, 7, 1])
        X = np.random.default_rng(seed).normal(size=(len(codes), 1)) + codes[:, None]
        member, *_ = grow(Plan(0, np.array([0]), seed), X, codes, np.array(["a", "b", "c"]), 2)
        expected = parts_of_a_member(codes, seed)
        for k in range(N_PARTS):
            assert member.parts[k].out.tolist() == np.flatnonzero(expected == k).tolist()


@given(class_codes(in_order=True), numbers_of_parts)
def test_held_out_models_lack_records_in_one_shuffled_order(codes, n_parts):
    shuffled = np.random.default_rng(0).permutation(len(codes))
    expected = [[] for _ in range(n_parts)]
    for k in range(codes.max() + 1):
        rows = [row for row in shuffled.tolist() if codes[row] == k]
        if len(rows) > 1:
            for i, row in enumerate(rows):
                expected[i % n_parts].append(row)
    found = parts_of(
        SimpleNamespace(
            records=SimpleNamespace(codes=codes, as_they_came=codes),
            original=np.asarray,
            class_count=np.bincount(codes),
        ),
        n_parts,
    )
    assert [part.tolist() for part in found] == [sorted(part) for part in expected]


@given(class_codes(in_order=True))
def test_points_that_are_only_counted_are_every_third_of_all(codes):
    expected = (np.arange(len(codes)) % 3 == 2) & (np.bincount(codes)[codes] > 1)
    points = np.arange(float(len(codes)))[:, None]  # in canonical order
    assert _third_of_each_class(points, codes, np.ones(1)).tolist() == expected.tolist()


@examples(60)
@given(class_codes(), st.integers(2, 6), st.integers(0, 2**31), st.booleans())
def test_folds_go_on_from_class_to_class(codes, cv, seed, tied):
    assume(np.bincount(codes).max() > 1)
    points = np.random.default_rng(seed).normal(size=(len(codes), 2))
    if tied:
        points = np.round(points)
    rng, order = np.random.default_rng(seed), []
    for k in range(codes.max() + 1):
        rows = np.flatnonzero(codes == k)
        if len(rows) > 1:
            canonical = rows[np.lexsort(points[rows, ::-1].T)]
            order += canonical[rng.permutation(len(rows))].tolist()
    expected = np.full(len(codes), -1)
    expected[order] = np.arange(len(order)) % cv
    assert _folds(points, codes, cv, seed).tolist() == expected.tolist()


@given(drawn_points())
def test_equal_records_have_equal_hashes_wherever_they_stand(X):
    order = np.random.default_rng(0).permutation(len(X))
    hashes = record_hashes(X)
    assert np.array_equal(record_hashes(X[order]), hashes[order])
    assert len(np.unique(hashes)) == len(np.unique(X, axis=0))


def test_columns_are_told_apart():
    one, other = record_hashes(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert one != other


def test_arrays_in_any_order_of_memory():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert np.array_equal(record_hashes(np.asfortranarray(X)), record_hashes(X))
    assert np.array_equal(record_hashes(X[:, ::2]), record_hashes(X[:, ::2].copy()))


def test_zero_has_one_sign():
    assert len(np.unique(record_hashes(np.array([[0.0], [-0.0]])))) == 1


def test_bits_are_even():
    hashes = record_hashes(np.arange(4096.0)[:, None])
    ones = ((hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 0.05


def test_equal_records_are_told_apart_where_it_is_asked_for():
    assert len(np.unique(apart(np.full(500, 7, dtype=np.uint64)))) == 500
