"""Counts of scattered points, against counts of all points under all ellipsoids at once."""

import numpy as np
import pytest
from scattered_fits import FIELDS, WHERE, around, in_file, iris, same_bits, same_partitions, same_verdicts
from sklearn.datasets import make_moons

import sepc
from sepc import SEPClassifier
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE, Ellipsoid
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import distinct_patterns, packed
from sepc.model.counts import isolated_points
from sepc.model.stored_counts import GAUGE_GRID
from sepc.scale import scattered_counts
from sepc.scale.scattered_counts import Counted, counts_of_scattered
from sepc.scale.scattered_records import SlicedRecords


def discs(n, seed):
    """Return n discs."""
    centers = np.random.default_rng(seed).standard_normal((n, 2))
    return EllipsoidStack([Ellipsoid(center, np.eye(2), np.full(2, 0.8)) for center in centers], 2)


def records_of(sets, chunk_rows):
    X, codes = np.concatenate(sets), np.repeat(np.arange(len(sets)), list(map(len, sets)))
    order = np.random.default_rng(9).permutation(len(X))
    return SlicedRecords(X[order].__getitem__, codes[order], X.shape[1], chunk_rows=chunk_rows)


# Of 64 and more the last bit of a word is one of them.
@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 130])
@pytest.mark.parametrize("chunk_rows", [500, 17])
def test_counts_are_those_of_every_point_under_every_ellipsoid(n, chunk_rows):
    stack = discs(n, seed=n)
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((200, 2)), rng.standard_normal((300, 2)) + 0.3
    alone = sets[1][:3]
    counted = Counted(stack, isolated_points(alone, np.ones(3, dtype=int)), np.array([0, 1]), grows=True)
    (found,) = counts_of_scattered(records_of(sets, chunk_rows), [counted])
    gauges = [stack.gauges(points) for points in sets]
    inside = [gauge <= 1.0 + MEMBERSHIP_TOLERANCE for gauge in gauges]
    assert np.array_equal(found.counts, np.column_stack([flags.sum(axis=0) for flags in inside]))
    assert found.counts is found.held
    assert found.totals.tolist() == [200, 300]
    assert found.isolated.counts.tolist() == [[0, 1]] * 3
    patterns, _, which = distinct_patterns(packed(np.concatenate(inside)))
    expected = np.zeros((len(patterns), 2), dtype=np.int64)
    np.add.at(expected, (which, np.repeat([0, 1], [200, 300])), 1)
    assert np.array_equal(found.patterns, patterns)
    assert np.array_equal(found.pattern_counts, expected)
    for k in range(n):
        for side in (0, 1):
            beyond = np.sort(gauges[side][~inside[side][:, k], k])
            np.testing.assert_allclose(found.outside[k][side], beyond, rtol=1e-12)


def test_one_pass_counts_for_several_problems():
    sets = np.random.default_rng(1).standard_normal((3, 40, 2))
    stack, nobody = discs(7, seed=1), isolated_points(np.empty((0, 2)), np.empty(0, dtype=int))
    against = [(np.arange(3) != k).astype(int) for k in range(3)]
    records = records_of(list(sets), 30)
    found = counts_of_scattered(records, [Counted(stack, nobody, sides, grows=False) for sides in against])
    assert records.n_passes == 1
    held = np.array([stack.gauges(points) <= 1.0 + MEMBERSHIP_TOLERANCE for points in sets]).sum(axis=1)
    for k, counts in enumerate(found):
        assert counts.held[:, 0].tolist() == held[k].tolist()
        assert counts.held[:, 1].tolist() == (held.sum(axis=0) - held[k]).tolist()
        assert counts.outside is counts.grid_counts is None


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # isolated points are wanted here
class TestGaugeGrid:
    @pytest.mark.slow
    @WHERE
    def test_grown_ellipsoids_miss_at_most_a_step(self, where, monkeypatch):
        X, y = iris()
        expected = SEPClassifier().fit(X, y)
        monkeypatch.setattr(scattered_counts, "KEPT_GAUGES", 0)
        found = where(SEPClassifier(), X, y)
        same_partitions(found, expected)
        for on_grid, exact in zip(found.model_.rules, expected.model_.rules, strict=True):
            assert on_grid.training_counts.grid_counts is not None
            for k in range(len(exact.stack)):
                gauges = 1.0 + np.geomspace(1e-5, 1e3, 300)
                counts, true = on_grid.training_counts.grown(k, gauges), exact.training_counts.grown(k, gauges)
                below = GAUGE_GRID[np.searchsorted(GAUGE_GRID, gauges, side="right") - 1]
                least = exact.training_counts.grown(k, below / (1.0 + 2e-7))
                assert (least <= counts).all()
                assert (counts <= true).all()
                assert (counts.sum(axis=1) < true.sum(axis=1)).mean() < 0.2

    @pytest.mark.slow
    def test_verdicts_inside_are_the_same(self, monkeypatch):
        X, y = make_moons(150, noise=0.3, random_state=0)
        expected = SEPClassifier().fit(X, y)
        monkeypatch.setattr(scattered_counts, "KEPT_GAUGES", 0)
        found = in_file(SEPClassifier(), X, y)
        Z = around(X)
        a, b = found.assess(Z), expected.assess(Z)
        inside = b.rule != "R3"
        assert {"R1", "R2a"} <= set(b.rule[inside])
        assert inside.mean() > 0.5
        np.testing.assert_array_equal(a.rule, b.rule)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(a, name)[inside], getattr(b, name)[inside])
        np.testing.assert_allclose(a.trust, b.trust, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(a.region, b.region)

    def test_it_is_saved(self, monkeypatch, tmp_path):
        monkeypatch.setattr(scattered_counts, "KEPT_GAUGES", 0)
        X, y = iris()
        found = in_file(SEPClassifier(), X, y)
        sepc.save(found, tmp_path / "model.sepc")
        same_bits(sepc.load(tmp_path / "model.sepc"), found, around(X))


@pytest.mark.usefixtures("small_chunks")
@WHERE
def test_where_nothing_is_grown_nothing_is_kept_of_points_outside(where, tmp_path):
    X, y = iris()
    found = where(SEPClassifier(trust="paper"), X, y)
    for rules in found.model_.rules:
        assert (rules.grows, rules.training_counts.outside, rules.training_counts.grid_counts) == (False, None, None)
    expected = SEPClassifier(trust="paper").fit(X, y)
    Z = around(X)
    assert (expected.assess(Z).rule == "R3").any()
    same_verdicts(found, expected, Z, tmp_path)
    sepc.save(found, tmp_path / "model.sepc")
    same_bits(sepc.load(tmp_path / "model.sepc"), found, Z)
