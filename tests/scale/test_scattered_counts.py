"""Counts of scattered points, against counts of all points under all ellipsoids at once."""

import array_api_strict as xp
import numpy as np
import pytest
from scattered_fits import FIELDS, WHERE, around, in_file, iris, same_bits, same_partitions, same_verdicts
from sklearn.datasets import make_moons

import sepc
from sepc import SEPClassifier
from sepc.estimators import fitting
from sepc.geometry.ellipsoid import MEMBERSHIP_TOLERANCE, Ellipsoid
from sepc.geometry.points.sets import LocalPoints
from sepc.geometry.stack import EllipsoidStack
from sepc.model.bitsets import distinct_patterns, packed
from sepc.model.stored_counts import GAUGE_GRID
from sepc.partitions.blocks import Block, Partition
from sepc.scale.device_points import DevicePoints
from sepc.scale.scattered_counts import Beyond, _counts_of_side, counts_of_scattered

NONE = np.empty(0, dtype=np.int64)


def in_memory(points):
    return LocalPoints(points)


def on_device(points):
    return DevicePoints.of(xp, xp.asarray(points))


def in_two_arrays(points):
    return DevicePoints.of(xp, xp.asarray(points[:7]), xp.asarray(points[7:]))


EVERY_KIND = pytest.mark.parametrize("where", [in_memory, on_device, in_two_arrays])


def discs(n, seed):
    """Return n discs, and a partition that has found them."""
    rng = np.random.default_rng(seed)
    found = [Ellipsoid(center, np.eye(2), np.full(2, 0.8)) for center in rng.standard_normal((n, 2))]
    blocks = tuple(Block(k % 2, NONE, E, 1) for k, E in enumerate(found))
    return EllipsoidStack(found, 2), Partition(blocks, (NONE, NONE), (), 1, "", 0)


# Of 64 and more the sign bit of a word is one of them.
@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 130])
@EVERY_KIND
def test_counts_are_those_of_every_point_under_every_ellipsoid(n, where):
    stack, partition = discs(n, seed=n)
    rng = np.random.default_rng(0)
    sets = rng.standard_normal((200, 2)), rng.standard_normal((300, 2)) + 0.3
    nobody = LocalPoints(np.empty((0, 2)))
    found = counts_of_scattered(partition, [where(points) for points in sets], (nobody, nobody), Beyond.GAUGES)
    inside = [stack.gauges(points) <= 1.0 + MEMBERSHIP_TOLERANCE for points in sets]
    assert np.array_equal(found.counts, np.column_stack([flags.sum(axis=0) for flags in inside]))
    assert found.counts is found.held
    patterns, _, which = distinct_patterns(packed(np.concatenate(inside)))
    expected = np.zeros((len(patterns), 2), dtype=np.int64)
    np.add.at(expected, (which, np.repeat([0, 1], [200, 300])), 1)
    assert np.array_equal(found.patterns, patterns)
    assert np.array_equal(found.pattern_counts, expected)


@EVERY_KIND
def test_points_of_one_side_in_parts(where):
    stack, _ = discs(70, seed=1)
    points = np.random.default_rng(1).standard_normal((50, 2))
    found = _counts_of_side(where(points), (stack.centers[:, 0], stack.axes, stack.radii), Beyond.GRID)
    flags = stack.gauges(points) <= 1.0 + MEMBERSHIP_TOLERANCE
    patterns, counts = np.unique(packed(flags), axis=0, return_counts=True)
    assert np.array_equal(found.held, flags.sum(axis=0))
    assert np.array_equal(found.patterns, patterns)
    assert np.array_equal(found.counts, counts)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # isolated points are wanted here
class TestGaugeGrid:
    @WHERE
    def test_grown_ellipsoids_miss_at_most_a_step(self, where, monkeypatch):
        X, y = iris()
        expected = SEPClassifier().fit(X, y)
        monkeypatch.setattr(fitting, "KEPT_GAUGES", 0)
        found = where(SEPClassifier(), X, y)
        same_partitions(found, expected)
        for on_grid, exact in zip(found._model.rules, expected._model.rules, strict=True):
            assert on_grid.training_counts.grid_counts is not None
            for k in range(len(exact.stack)):
                gauges = 1.0 + np.geomspace(1e-5, 1e3, 300)
                counts, true = on_grid.training_counts.grown(k, gauges), exact.training_counts.grown(k, gauges)
                below = GAUGE_GRID[np.searchsorted(GAUGE_GRID, gauges, side="right") - 1]
                least = exact.training_counts.grown(k, below / (1.0 + 2e-7))
                assert (least <= counts).all()
                assert (counts <= true).all()
                assert (counts.sum(axis=1) < true.sum(axis=1)).mean() < 0.2

    def test_verdicts_inside_are_the_same(self, monkeypatch):
        X, y = make_moons(150, noise=0.3, random_state=0)
        expected = SEPClassifier().fit(X, y)
        monkeypatch.setattr(fitting, "KEPT_GAUGES", 0)
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
        monkeypatch.setattr(fitting, "KEPT_GAUGES", 0)
        X, y = iris()
        found = in_file(SEPClassifier(), X, y)
        sepc.save(found, tmp_path / "model.sepc")
        same_bits(sepc.load(tmp_path / "model.sepc"), found, around(X))


@pytest.mark.usefixtures("small_chunks")
@WHERE
def test_where_nothing_is_grown_nothing_is_kept_of_points_outside(where, tmp_path):
    X, y = iris()
    found = where(SEPClassifier(trust="paper"), X, y)
    for rules in found._model.rules:
        assert (rules.grows, rules.training_counts.outside, rules.training_counts.grid_counts) == (False, None, None)
    expected = SEPClassifier(trust="paper").fit(X, y)
    Z = around(X)
    assert (expected.assess(Z).rule == "R3").any()
    same_verdicts(found, expected, Z, tmp_path)
    sepc.save(found, tmp_path / "model.sepc")
    same_bits(sepc.load(tmp_path / "model.sepc"), found, Z)
