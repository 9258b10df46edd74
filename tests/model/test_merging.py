"""Merged regions: against the likelihood counted by hand, and their densities."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import mahalanobis
from scipy.stats import entropy, multivariate_normal
from strategies import REGIMES, decimals, drawn_points, examples

from sepc.model.category_shares import Categories
from sepc.model.merging import LEVELS, UNMERGED, groupings, members, merged, merged_mixtures, together
from sepc.model.mixtures import common_covariance, component_of_points, mixture_of_blocks, shrunken_covariance


@st.composite
def pieces(draw, n_classes=2):
    """Return points of a few clouds in each class, some of them cut in two, as pairs of class and points."""
    found = []
    for code in range(n_classes):
        for _ in range(draw(st.integers(1, 3))):
            cloud = draw(decimals((draw(st.integers(6, 20)), 2), 200)) * draw(st.sampled_from([0.5, 1.0]))
            cloud += draw(decimals((1, 2), 600))
            cut = np.arange(len(cloud)) % 2 == 0 if draw(st.booleans()) else cloud[:, 0] < cloud[:, 0].mean()
            found += [(code, part) for part in (cloud[cut], cloud[~cut]) if len(part)]
    return found


def components(found):
    return [component_of_points(code, points.copy(), np.zeros(2), np.ones(2)) for code, points in found]


def merged_by_hand(found, penalty, common, n_saved=6):
    """Return the same by looking at all pairs each time, and at the points themselves: two numbers, and categories.

    Without a penalty two are merged if there is no gap between them, and those that gain most are still the first.
    """
    first = [(k,) for k in range(len(found))]
    before = merged_by_hand(found, 1.0, common, n_saved) if penalty is None else first

    def likelihood(points):
        away = points[:, :2] - points[:, :2].mean(axis=0)
        covariance = shrunken_covariance(away.T @ away, len(points), common)
        each = np.log(len(points)) + multivariate_normal(cov=covariance).logpdf(away).mean()
        for values in (points[:, 2:5], points[:, 5:]):
            each -= entropy(np.unique(values, axis=0, return_counts=True)[1]) if values.size else 0.0
        return len(points) * each

    def no_gap(one, other):
        shapes = []
        for points in (one[:, :2], other[:, :2]):
            away = points - points.mean(axis=0)
            shapes.append(shrunken_covariance(away.T @ away, len(points), common))
        return mahalanobis(one[:, :2].mean(axis=0), other[:, :2].mean(axis=0), np.linalg.inv(sum(shapes) / 2)) <= 3.5

    out = []
    for code in sorted({code for code, _ in found}):
        own = {
            regions: np.concatenate([found[k][1] for k in regions])
            for regions in before
            if found[regions[0]][0] == code
        }
        saved = 0.5 * n_saved * np.log(sum(map(len, own.values())))
        while len(own) > 1:
            gains = {
                (a, b): likelihood(np.concatenate([own[a], own[b]])) - likelihood(own[a]) - likelihood(own[b])
                for a, b in itertools.combinations(own, 2)
                if penalty is not None or no_gap(own[a], own[b])
            }
            if not gains:
                break
            (a, b), gain = max(gains.items(), key=lambda item: item[1])
            if penalty is not None and gain <= -penalty * saved:
                break
            own[tuple(sorted(a + b))] = np.concatenate([own.pop(a), own.pop(b)])
        out += own
    return sorted(out)


@pytest.mark.slow
@examples(20)
@given(pieces())
def test_the_same_as_by_hand(found):
    parts = components(found)
    common = common_covariance(sum(part.scatter for part in parts), np.array([part.n for part in parts]))
    apart, *others = groupings(parts, None, np.zeros(2), np.ones(2))
    assert apart.tolist() == list(range(len(parts)))
    for groups, penalty in zip(others, (0.0, 1.0, None), strict=True):
        assert [tuple(regions) for regions in members(groups)] == merged_by_hand(found, penalty, common)


@examples(40)
@given(pieces(3))
def test_higher_levels_only_merge_more_and_never_two_classes(found):
    near, *higher = groupings(components(found), None, np.zeros(2), np.ones(2))
    for far in higher:
        assert all(len(set(far[near == k])) == 1 for k in range(near.max() + 1))
        near = far
    codes = np.array([code for code, _ in found])
    assert all(len(set(codes[regions])) == 1 for regions in members(near))


def test_halves_of_a_cloud_are_merged_and_clouds_are_not():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(300, 2))
    left = cloud[:, 0] < 0
    found = [(0, cloud[left]), (0, cloud[~left]), (0, rng.normal(8.0, 1.0, size=(200, 2)))]
    for groups in groupings(components(found), None, np.zeros(2), np.ones(2))[1:]:
        assert groups.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("away", "one"), [(3.0, True), (4.5, False)])
def test_without_a_gap_clouds_are_merged_whatever_it_costs(away, one):
    rng = np.random.default_rng(0)
    found = [(0, rng.normal(size=(2000, 2))), (0, rng.normal([away, 0.0], size=(2000, 2)))]
    *_, by_criterion, without_gaps = groupings(components(found), None, np.zeros(2), np.ones(2))
    # With this number of points the criterion keeps both, as it does a core in a wide cloud.
    assert without_gaps.tolist() == ([0, 0] if one else [0, 1])
    found = [(0, rng.normal(size=(2000, 2))), (0, rng.normal([away, 0.0], 5.0, size=(200, 2)))]
    *_, by_criterion, without_gaps = groupings(components(found), None, np.zeros(2), np.ones(2))
    assert by_criterion.tolist() == [0, 1]
    assert without_gaps.tolist() == [0, 0]


@pytest.mark.slow
@examples(15)
@given(pieces())
def test_categories_count_by_the_shares_of_their_values(clouds):
    rng = np.random.default_rng(len(clouds))
    categories = Categories.of([[2, 3, 4], [5]], np.zeros(6), np.ones(6))
    found = []
    for code, numbers in clouds:
        colour = np.eye(3)[rng.choice(3, len(numbers), p=rng.dirichlet(np.full(3, 0.3)))]
        flag = rng.random((len(numbers), 1)) < rng.beta(0.3, 0.3)
        found.append((code, np.column_stack([numbers, colour, flag])))
    parts = [component_of_points(code, points.copy(), np.zeros(6), np.ones(6)) for code, points in found]
    scatter = sum(part.scatter[:2, :2] for part in parts)
    common = common_covariance(scatter, np.array([part.n for part in parts]))
    _, *others = groupings(parts, categories, np.zeros(6), np.ones(6))
    for groups, penalty in zip(others, (0.0, 1.0, None), strict=True):
        by_hand = merged_by_hand(found, penalty, common, n_saved=6 + 2 + 1)
        assert [tuple(regions) for regions in members(groups)] == by_hand


class TestDensities:
    @examples(20)
    @given(pieces())
    def test_merged_ones_are_those_of_all_points_of_their_blocks(self, found):
        points = np.concatenate([part for _, part in found])
        ends = np.cumsum([0, *(len(part) for _, part in found)])
        blocks = [(code, np.arange(a, b)) for (code, _), a, b in zip(found, ends[:-1], ends[1:], strict=True)]
        how = np.array([sum(len(p) for c, p in found if c == k) for k in range(2)]), np.zeros(2), np.ones(2)
        for level, (mixture, groups) in enumerate(merged_mixtures(points, blocks, *how, LEVELS)):
            densities = mixture.densities
            assert level != UNMERGED or groups.tolist() == list(range(len(blocks)))
            whole = [
                (blocks[regions[0]][0], np.concatenate([blocks[k][1] for k in regions])) for regions in members(groups)
            ]
            expected = mixture_of_blocks(points, whole, *how).densities
            assert np.array_equal(densities.codes, expected.codes)
            assert densities.log_joint(points) == pytest.approx(expected.log_joint(points), abs=1e-8)
            n = len(points)
            assert [densities.size(k, n) for k in range(len(densities.codes))] == [len(rows) for _, rows in whole]

    def test_gaps_are_filled_by_all_that_is_merged(self):
        rng = np.random.default_rng(3)
        points = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]], size=300)
        gaps = rng.random(points.shape) < 0.2
        gaps[gaps.all(axis=1)] = False
        points[gaps] = 0.0
        halves = [(0, np.flatnonzero(points[:, 0] < 0)), (0, np.flatnonzero(points[:, 0] >= 0))]
        how = np.array([300]), np.zeros(2), np.ones(2)
        ((mixture, groups),) = merged_mixtures(points, halves, *how, [2], None, gaps)
        densities = mixture.densities
        assert groups.tolist() == [0, 0]
        expected = mixture_of_blocks(points, [(0, np.arange(300))], *how, None, gaps).densities
        assert densities.log_joint(points) == pytest.approx(expected.log_joint(points), abs=1e-9)


def test_regions_are_their_own_components_if_nothing_is_merged():
    parts = components([(0, np.arange(8.0).reshape(4, 2)), (1, np.arange(8.0).reshape(4, 2))])
    assert LEVELS[0] == UNMERGED
    assert [part.n for part in merged(parts, np.array([0, 1]))] == [4, 4]


@examples(40)
@given(
    st.integers(1, 4).flatmap(
        lambda d: st.lists(drawn_points(d, max_size=9, regimes=REGIMES[:5]), min_size=1, max_size=4)
    )
)
def test_several_together_have_the_moments_of_all_their_points(clouds):
    rng, d = np.random.default_rng(0), clouds[0].shape[1]
    center, unit = rng.normal(size=d), rng.uniform(0.5, 2.0, d)
    parts = [component_of_points(3, cloud.copy(), center, unit) for cloud in clouds]
    found, whole = together(parts), component_of_points(3, np.concatenate(clouds), center, unit)
    assert (found.code, found.n) == (whole.code, whole.n)
    assert found.mean == pytest.approx(whole.mean, abs=1e-12)
    assert found.scatter == pytest.approx(whole.scatter, abs=1e-9)


def test_one_alone_is_itself():
    part = component_of_points(0, np.array([[1.0], [3.0]]), np.zeros(1), np.ones(1))
    assert together([part]) is part
