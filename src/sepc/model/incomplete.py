"""Points with missing values: their distances to components by the known features, and conditional means for gaps.

Missing features can be integrated out of a component's density exactly: some features of Student's t have Student's t
again, with the same degrees of freedom. The density of fewer features has another unit, though. To be as unlikely as a
point with all features, one with fewer must lie at a distance that as few points of the component exceed: that gives
it a comparable density.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, betaln, gammaln, hyp2f1

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.model.category_shares import category_groups

# SciPy's inverse of the incomplete beta function goes wrong for smaller shares, or is slow to say that they are 0.
_TINY, _FIXED_POINT = 1e-100, 12
# Entries of tables of matrices that are solved at once.
_AT_ONCE = 1 << 20


def rows_by_gaps(points: FloatArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yield rows with the same known features, and which features these are, shape (d,)."""
    missing, which = np.unique(np.isnan(points), axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(missing)))
    for pattern, rows in zip(missing, np.split(order, ends[:-1]), strict=True):
        yield rows, ~pattern


def log_constant(d: IntArray | int, dof: float) -> FloatArray:
    """Return the logarithm of the density of Student's t in d dimensions at its mean, for a scale of 1."""
    return np.asarray(gammaln(0.5 * (dof + d)) - gammaln(0.5 * dof) - 0.5 * d * np.log(dof * np.pi))


def as_far_in(squares: FloatArray, known: IntArray, d: int, dof: float) -> FloatArray:
    """Return the distances of complete points that are as unlikely as points of which some features are known.

    Takes squared distances over `dof`, and returns logarithms of one plus these, both of shape (n, n_components);
    `known` is the number of known features, shape (n, 1), of d. Without any it is the distance that half of all points
    exceed.
    """
    whole = max(d, 1)
    far = np.logaddexp(0.0, log_odds_in(squares, np.maximum(known, 1), whole, dof))
    half_of_all = -np.log(betaincinv(0.5 * dof, 0.5 * whole, 0.5))
    return np.where(known == d, np.log1p(squares), np.where(known > 0, far, half_of_all))


def log_odds_in(squares: FloatArray, known: IntArray | int, d: int, dof: float) -> FloatArray:
    """Return logarithms of squared distances over `dof` in d features that are as unlikely as those in a few.

    `squares` are over `dof`, too, and `known`, 1 or more, is their number of features.
    """
    a, b, all_b = 0.5 * dof, np.broadcast_to(0.5 * np.asarray(known), squares.shape), 0.5 * d
    # A distance over one plus itself has a beta distribution. Of both tails the smaller one has all its digits.
    is_far, odds = betainc(a, b, 1.0 / (1.0 + squares)) < 0.5, np.full(squares.shape, -np.inf)
    away = _log_of_equal_share(1.0 / (1.0 + squares[is_far]), a, b[is_far], a, all_b)
    odds[is_far] = np.log1p(-np.exp(away)) - away
    is_near = ~is_far & (squares > 0.0)
    q = squares[is_near]
    within = _log_of_equal_share(q / (1.0 + q), b[is_near], a, all_b, a)
    odds[is_near] = within - np.log1p(-np.exp(within))
    return odds


def _log_of_equal_share(z: FloatArray, a: Any, b: Any, other_a: float, other_b: float) -> FloatArray:
    """Return log x with ``I_x(other_a, other_b) = I_z(a, b)``, the regularised incomplete beta function I."""
    share = betainc(a, b, z)
    with np.errstate(divide="ignore"):
        logs = np.log(betaincinv(other_a, other_b, share))
    tiny = share < _TINY
    if tiny.any():
        a, b, z = (np.broadcast_to(one, share.shape)[tiny] for one in (a, b, z))
        # I_z(a, b) = z^a F(a, 1 - b; a + 1; z) / (a B(a, b)), with the hypergeometric function F near 1.
        log_share = a * np.log(z) + np.log(hyp2f1(a, 1.0 - b, a + 1.0, z)) - np.log(a) - betaln(a, b)
        log_power = log_share + np.log(other_a) + betaln(other_a, other_b)
        found = log_power / other_a
        for _ in range(_FIXED_POINT):
            factor = hyp2f1(other_a, 1.0 - other_b, other_a + 1.0, np.exp(found))
            found = (log_power - np.log(factor)) / other_a
        logs[tiny] = found
    return np.asarray(logs)


def distances(z: FloatArray, means: FloatArray, precisions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances of points with gaps to components by what is known, both (n, n_components).

    Of a form in all features what is left, once the unknown ones are eliminated, is that of the known ones. The second
    array has half the logarithms of the determinants of the precisions among the unknown features.

    Parameters
    ----------
    z : ndarray of shape (n, d)
        NaN where a value is missing. Those with the same gaps follow each other.
    means : ndarray of shape (n_components, d)
    precisions : ndarray of shape (n_components, d, d)
    """
    n, k, d = len(z), *means.shape
    squares, log_pivots = np.empty((n, k)), np.empty((n, k))
    diagonal = np.arange(d)
    for rows in chunk_slices(n, max(_AT_ONCE // max(k * d * d, 1), 1)):
        there = ~np.isnan(z[rows])
        patterns, which = np.unique(there, axis=0, return_inverse=True)
        unknown = 1.0 - patterns[:, None]
        # The precision among the unknown features, with a 1 for each of the others: all have the same shape.
        some = precisions * unknown[..., :, None] * unknown[..., None, :]
        some[..., diagonal, diagonal] += 1.0 - unknown
        factor = np.linalg.cholesky(some)
        log_pivot = np.log(factor[..., diagonal, diagonal]).sum(axis=-1)[which]
        if len(patterns) > 1:
            factor = factor[which]
        away = np.where(there[:, None], z[rows, None] - means, 0.0)
        # Feature after feature: sums over features may depend on the number of other points, in the last bit.
        slopes, square = np.zeros_like(away), np.zeros(away.shape[:2])
        for j in range(d):
            slopes += away[..., j, None] * precisions[:, j]
        for j in range(d):
            square += away[..., j] * slopes[..., j]
        slopes[np.broadcast_to(there[:, None], slopes.shape)] = 0.0
        for j in np.flatnonzero(~there.all(axis=0)).tolist():
            slopes[..., j] /= factor[..., j, j]
            slopes[..., j + 1 :] -= slopes[..., j, None] * factor[..., j + 1 :, j]
            square -= np.square(slopes[..., j])
        squares[rows], log_pivots[rows] = np.maximum(square, 0.0), log_pivot
    return squares, log_pivots


class Expected(NamedTuple):
    """Points with conditional means in place of missing values.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        With the mean of each missing value, given the known ones.
    spread : ndarray of shape (d, d)
        Sum over the points of the conditional covariances of the missing values.
    """

    points: FloatArray
    spread: FloatArray


def expected(points: FloatArray, gaps: BoolArray, mean: FloatArray, covariance: FloatArray) -> Expected:
    """Return conditional means and covariances of missing values under a normal distribution.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        What stands in the gaps does not matter.
    gaps : ndarray of bool, shape (n, d)
        Where values are missing.
    mean : ndarray of shape (d,)
    covariance : ndarray of shape (d, d)
        Of that distribution.
    """
    d = points.shape[1]
    patterns, which, counts = np.unique(gaps, axis=0, return_inverse=True, return_counts=True)
    out, spread, diagonal = points.copy(), np.zeros((d, d)), np.arange(d)
    for some in chunk_slices(len(patterns), max(_AT_ONCE // (d * d), 1)):
        known = (~patterns[some]).astype(np.float64)
        # Systems of the known features, with a 1 for each of the others: all have the same shape.
        systems = covariance * known[:, :, None] * known[:, None, :]
        systems[:, diagonal, diagonal] += 1.0 - known
        with_known = covariance * known[:, :, None]
        slopes = np.linalg.solve(systems, with_known)
        left = covariance - with_known.transpose(0, 2, 1) @ slopes
        left *= patterns[some][:, :, None] & patterns[some][:, None, :]
        spread += np.tensordot(counts[some], left, axes=1)
        rows = np.flatnonzero((which >= some.start) & (which < some.stop))
        away = np.where(gaps[rows], 0.0, points[rows] - mean)
        means = mean + np.einsum("ij,ijk->ik", away, slopes[which[rows] - some.start])
        out[rows] = np.where(gaps[rows], means, points[rows])
    return Expected(out, spread)


def completed(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return records with something in place of each gap, and where the gaps are, both of shape (n, d).

    A partition needs a place for each record. A gap gets the conditional mean given the record's other values, if all
    records, whatever their labels, were drawn from one normal distribution: with labels the classes would look better
    separated than they are. Of features that are 0 or 1 it is the likelier of both, and of those that add up to 1 the
    likeliest alone is 1. Only the partition uses it; densities are made with conditional covariances, and held-out
    records are judged by their known values. The result for a record does not depend on the order of the rows.
    """
    gaps = np.isnan(X)
    filled = np.where(gaps, np.nanmedian(X, axis=0), X)
    # Sums in sorted order do not depend on that of the rows.
    order = np.lexsort((*gaps.T, *filled.T))
    back = np.argsort(order)
    return _conditional_means(filled[order], gaps[order])[back], gaps


def _conditional_means(X: FloatArray, gaps: BoolArray) -> FloatArray:
    known = np.count_nonzero(~gaps, axis=0)
    mean = np.where(gaps, 0.0, X).sum(axis=0) / known
    unit = np.sqrt(np.where(gaps, 0.0, np.square(X - mean)).sum(axis=0) / known)
    unit = np.where(unit > 0.0, unit, 1.0)
    Z = (X - mean) / unit
    some = slice(None, None, max(-(-len(Z) // 6000), 1))  # at most 6000 records
    middle, covariance = _distribution(Z[some], gaps[some])
    out = np.where(gaps, mean + unit * expected(Z, gaps, middle, covariance).points, X)
    return _with_values(out, gaps)


def _distribution(Z: FloatArray, gaps: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of records with gaps, by EM iterations."""
    d = Z.shape[1]
    points, spread = np.where(gaps, 0.0, Z), np.zeros((d, d))
    for _ in range(5):
        mean = points.mean(axis=0)
        covariance = ((points - mean).T @ (points - mean) + spread) / len(Z) + 1e-2 * np.eye(d)
        points, spread = expected(Z, gaps, mean, covariance)
    return mean, covariance


def _with_values(X: FloatArray, gaps: BoolArray) -> FloatArray:
    """Return the same with possible values in place of features that are 0 or 1; overwrites it."""
    is_truth = np.array([np.isin(column[~gap], (0.0, 1.0)).all() for column, gap in zip(X.T, gaps.T, strict=True)])
    for group in _truth_groups(X, gaps, np.flatnonzero(is_truth)):
        rows = np.flatnonzero(gaps[:, group].any(axis=1))
        if len(group) == 1:
            X[rows, group] = X[rows, group] >= 0.5
        else:
            likeliest = X[np.ix_(rows, group)].argmax(axis=1)
            X[np.ix_(rows, group)] = np.arange(len(group)) == likeliest[:, None]
    return X


def _truth_groups(X: FloatArray, gaps: BoolArray, features: IntArray) -> list[IntArray]:
    """Return the features of each category, and others that are 0 or 1 one by one."""
    found: list[IntArray] = []
    begins = np.flatnonzero((gaps[:, features[1:]] != gaps[:, features[:-1]]).any(axis=0)) + 1
    for run in np.split(features, begins):
        # The features of one category are missing together.
        there = X[~gaps[:, run].any(axis=1)][:, run] if len(run) else X[:, :0]
        groups = [run[group] for group in category_groups(len(there), there.sum(axis=0), there.T @ there)]
        alone = np.setdiff1d(run, np.concatenate([*groups, run[:0]]))
        found += [*groups, *alone[:, None]]
    return found
