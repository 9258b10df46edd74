"""The exact stage of the nearest points: least squares over a box with given sums."""

import numpy as np
import pytest
from oracle import box_distance

from sepc.geometry._hulls.box_problem import solve_box

SIZES = [(20,), (70,), (9, 14), (40, 3)]


def problem(d, sizes, apart, seed=0):
    """Return groups of points with factors, shares to start from, and what is left of the sum without them."""
    rng = np.random.default_rng(seed)
    blocks = [(rng.standard_normal((n, d)), factor / n) for n, factor in zip(sizes, (-0.7, 0.4), strict=False)]
    before = np.concatenate([np.full(n, rng.uniform(0.1, 0.9)) for n in sizes])
    return blocks, before, apart * np.ones(d) / np.sqrt(d)


def columns_of(blocks):
    return np.hstack([factor * points.T for points, factor in blocks])


@pytest.mark.parametrize("apart", [0.5, 3.0])
@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.parametrize("sizes", SIZES)
def test_the_length_is_clarabel_s(sizes, d, apart):
    blocks, before, r = problem(d, sizes, apart)
    t, n_iter = solve_box(blocks, before, r, 1e-9)
    columns = columns_of(blocks)
    assert 0 < n_iter < 40
    assert t.min() >= 0.0
    assert t.max() <= 1.0 + 1e-14  # t and 1 - t are kept apart
    for part, start in zip(np.split(t, np.cumsum(sizes)[:-1]), np.split(before, np.cumsum(sizes)[:-1]), strict=True):
        assert part.sum() == pytest.approx(start.sum(), rel=1e-9)
    found, best = np.linalg.norm(r + columns @ (t - before)), box_distance(columns, sizes, before, r)
    assert found == pytest.approx(best, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("sizes", SIZES)
def test_optimal_shares_follow_the_scores(sizes):
    blocks, before, r = problem(4, sizes, 3.0)
    t, _ = solve_box(blocks, before, r, 1e-9)
    columns = columns_of(blocks)
    scores = (r + columns @ (t - before)) @ columns
    for part, score in zip(*(np.split(values, np.cumsum(sizes)[:-1]) for values in (t, scores)), strict=True):
        least, most = score[part > 1e-6].max(), score[part < 1.0 - 1e-6].min()
        assert least <= most + 1e-6 * np.abs(score).max()


def test_points_and_start_stay_as_they_are():
    blocks, before, r = problem(3, (12, 7), 2.0)
    kept = [points.copy() for points, _ in blocks], before.copy(), r.copy()
    solve_box(blocks, before, r, 1e-9)
    for (points, _), old in zip(blocks, kept[0], strict=True):
        np.testing.assert_array_equal(points, old)
    np.testing.assert_array_equal(before, kept[1])
    np.testing.assert_array_equal(r, kept[2])


def test_groups_without_points_do_not_matter():
    blocks, before, r = problem(3, (15,), 2.0)
    nothing = np.empty((0, 3)), 0.4
    t, _ = solve_box([nothing, *blocks], before, r, 1e-9)
    np.testing.assert_array_equal(t, solve_box(blocks, before, r, 1e-9)[0])


def test_numbers_that_are_none_leave_the_start():
    blocks, before, r = problem(3, (15,), 2.0)
    blocks[0][0][4, 1] = np.nan
    with np.errstate(all="ignore"):
        t, _ = solve_box(blocks, before, r, 1e-9)
    np.testing.assert_array_equal(t, before)
