"""Points with missing values: their distances to components by the known features, and conditional means for gaps.

Missing features can be integrated out of a component's density exactly: some features of Student's t have Student's t
again, with the same degrees of freedom. The density of fewer features has another unit, though. To be as unlikely as a
point with all features, one with fewer must lie at a distance that as few points of the component exceed: that gives
it a comparable density.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, gammaln

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices
from sepc.model.category_shares import category_groups

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


def as_far_in(logs: FloatArray, known: IntArray, d: int, dof: float) -> FloatArray:
    """Return the distances of complete points that are as unlikely as points of which some features are known.

    Distances, given and returned, are logarithms of one plus the squared distance over `dof`, shape (n, n_components);
    `known` is the number of known features, shape (n, 1), of d. Without any it is the distance that half of all points
    exceed.
    """
    # One over one plus the squared distance over the degrees of freedom has a beta distribution.
    share = betainc(0.5 * dof, 0.5 * np.maximum(known, 1), np.exp(-logs))
    share = np.where(known > 0, share, 0.5)
    far = -np.log(betaincinv(0.5 * dof, 0.5 * max(d, 1), share))
    return np.where(known == d, logs, far)


def distances(z: FloatArray, means: FloatArray, covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances of points with gaps to components, and log scales of these, both (n, n_components).

    Parameters
    ----------
    z : ndarray of shape (n, d)
        NaN where a value is missing. Those with the same gaps follow each other.
    means : ndarray of shape (n_components, d)
    covariances : ndarray of shape (n_components, d, d)
    """
    n, k, d = len(z), *means.shape
    squares, log_scales = np.empty((n, k)), np.empty((n, k))
    diagonal = np.arange(d)
    for rows in chunk_slices(n, max(_AT_ONCE // max(k * d * d, 1), 1)):
        there = ~np.isnan(z[rows])
        patterns, which = np.unique(there, axis=0, return_inverse=True)
        known = patterns[:, None].astype(np.float64)
        # The covariance of the known features, with a 1 for each of the others: all have the same shape.
        some = covariances * known[..., :, None] * known[..., None, :]
        some[..., diagonal, diagonal] += 1.0 - known
        factor = np.linalg.cholesky(some)
        if len(patterns) > 1:
            factor = factor[which]
        away = np.where(there[:, None], z[rows, None] - means, 0.0)
        # Feature after feature: sums over features may depend on the number of other points, in the last bit.
        square, log_scale = np.zeros((2, *away.shape[:2]))
        for j in range(d):
            away[..., j] /= factor[..., j, j]
            away[..., j + 1 :] -= away[..., j, None] * factor[..., j + 1 :, j]
            square += np.square(away[..., j])
            log_scale += np.log(factor[..., j, j])
        squares[rows], log_scales[rows] = square, log_scale
    return squares, log_scales


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
