"""Incomplete points: which of their features are there, and how unlikely they are by these alone.

What is missing of a component's density can be integrated out exactly: some features of Student's t have Student's t
again, with the same tails. The density of fewer features has another unit, though. To be as unlikely as a point with
all features, one with fewer must lie at a distance that as few points of the component exceed: by that it gets a
density that can be compared.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, gammaln

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry.chunks import chunk_slices

# Degrees of freedom of the tails, unless records that were left out tell of others.
USUAL_TAILS = 8.0
# With 4 and 16 between them the sets that constants are chosen by have the same log loss.
OTHER_TAILS = (2.0, 32.0)
# Numbers in tables of matrices that are solved at once.
_AT_ONCE = 1 << 20


def has_gaps(points: FloatArray) -> bool:
    """Return whether a value is missing."""
    return bool(np.isnan(points.sum()))


def known_share(points: FloatArray) -> FloatArray | float:
    """Return the share of each point's features that are there, shape (n,); 1 if all are there of all points."""
    return np.asarray(1.0 - np.isnan(points).mean(axis=1)) if has_gaps(points) else 1.0


def rows_by_gaps(points: FloatArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Yield rows that have the same features, and which ones these are, shape (d,)."""
    missing, which = np.unique(np.isnan(points), axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(missing)))
    for pattern, rows in zip(missing, np.split(order, ends[:-1]), strict=True):
        yield rows, ~pattern


def log_constant(d: IntArray | int, tails: float) -> FloatArray:
    """Return the logarithm of the density of Student's t in d dimensions at its mean, for a scale of 1."""
    return np.asarray(gammaln(0.5 * (tails + d)) - gammaln(0.5 * tails) - 0.5 * d * np.log(tails * np.pi))


def as_far_in(log_tails: FloatArray, known: IntArray, d: int, tails: float) -> FloatArray:
    """Return how far points of all features are that are as unlikely as points of some.

    Parameters
    ----------
    log_tails : ndarray of shape (n, n_components)
        Logarithms of one plus the squared distance over `tails`, in the features that are known.
    known : ndarray of int, shape (n, 1)
        How many of these there are.
    d : int
        How many there are of all.
    tails : float
        Degrees of freedom.

    Returns
    -------
    ndarray of shape (n, n_components)
        The same for all features. Where none are known, the distance that half of all points exceed.
    """
    # One over one plus the squared distance over the tails has a beta distribution.
    share = betainc(0.5 * tails, 0.5 * np.maximum(known, 1), np.exp(-log_tails))
    share = np.where(known > 0, share, 0.5)
    far = -np.log(betaincinv(0.5 * tails, 0.5 * max(d, 1), share))
    return np.where(known == d, log_tails, far)


def distances(z: FloatArray, means: FloatArray, covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances of points with gaps to components, and the scales of these, in what is known.

    Parameters
    ----------
    z : ndarray of shape (n, d)
        NaN where a value is missing. Those with the same gaps follow each other.
    means : ndarray of shape (n_components, d)
    covariances : ndarray of shape (n_components, d, d)

    Returns
    -------
    squares : ndarray of shape (n, n_components)
    log_scales : ndarray of shape (n, n_components)
        Halves of the logarithms of the determinants.
    """
    n, k, d = len(z), *means.shape
    squares, log_scales = np.empty((n, k)), np.empty((n, k))
    diagonal = np.arange(d)
    for rows in chunk_slices(n, max(_AT_ONCE // max(k * d * d, 1), 1)):
        there = ~np.isnan(z[rows])
        patterns, which = np.unique(there, axis=0, return_inverse=True)
        known = patterns[:, None].astype(np.float64)
        # The covariance of the features that are known, with a 1 for each of the others: all have the same shape.
        some = covariances * known[..., :, None] * known[..., None, :]
        some[..., diagonal, diagonal] += 1.0 - known
        factor = np.linalg.cholesky(some)
        if len(patterns) > 1:
            factor = factor[which]
        away = np.where(there[:, None], z[rows, None] - means, 0.0)
        # Feature after feature: sums over features may depend on how many other points there are, in the last bit.
        square, log_scale = np.zeros((2, *away.shape[:2]))
        for j in range(d):
            away[..., j] /= factor[..., j, j]
            away[..., j + 1 :] -= away[..., j, None] * factor[..., j + 1 :, j]
            square += np.square(away[..., j])
            log_scale += np.log(factor[..., j, j])
        squares[rows], log_scales[rows] = square, log_scale
    return squares, log_scales


class Expected(NamedTuple):
    """What can be expected of points with gaps.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        With the mean of what may stand in each gap, by the values that are there.
    spread : ndarray of shape (d, d)
        Sum over the points of the covariances of what may stand there.
    """

    points: FloatArray
    spread: FloatArray


def expected(points: FloatArray, gaps: BoolArray, mean: FloatArray, covariance: FloatArray) -> Expected:
    """Return what can be expected of points with gaps, if all are drawn from a normal distribution.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Whatever stands in the gaps does not count.
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
        # Systems of the features that are known, with a 1 for each of the others: all have the same shape.
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
