"""Training sets with missing values: what stands in for them where a partition needs a place for each record.

A gap gets what can be expected there by the record's other values: the mean given these, if all records, whatever their
labels, were drawn from one normal distribution. Labels take no part, or the classes would look better apart than they
are. Of features that are 0 or 1 it is the likelier of both, and of those that add up to 1 the likeliest alone is 1.

Only the partition goes by it. Densities are made of what can be expected of each block's records, with the uncertainty
that is left (`model.block_densities`), and records that were left out are judged by what is there.
"""

import numpy as np

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.model.category_shares import category_groups
from sepc.model.incomplete import expected

# Mean and covariance are learnt from at most so many records, in so many rounds.
_MOST_RECORDS = 6000
_ROUNDS = 5
# Variance, in units of the features, that keeps covariances of few records away from 0.
_RIDGE = 1e-2


def completed(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return records with something in place of each gap, and where the gaps are.

    The result for a record does not depend on the order of the rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN where a value is missing; each feature has one somewhere.

    Returns
    -------
    X : ndarray of shape (n, d)
    gaps : ndarray of bool, shape (n, d)
    """
    gaps = np.isnan(X)
    filled = np.where(gaps, np.nanmedian(X, axis=0), X)
    # Sums in an order of their own: equal rows are interchangeable.
    order = np.lexsort((*gaps.T, *filled.T))
    back = np.argsort(order)
    return _expected(filled[order], gaps[order])[back], gaps


def _expected(X: FloatArray, gaps: BoolArray) -> FloatArray:
    known = np.count_nonzero(~gaps, axis=0)
    mean = np.where(gaps, 0.0, X).sum(axis=0) / known
    unit = np.sqrt(np.where(gaps, 0.0, np.square(X - mean)).sum(axis=0) / known)
    unit = np.where(unit > 0.0, unit, 1.0)
    Z = (X - mean) / unit
    some = slice(None, None, max(-(-len(Z) // _MOST_RECORDS), 1))
    middle, covariance = _distribution(Z[some], gaps[some])
    out = np.where(gaps, mean + unit * expected(Z, gaps, middle, covariance).points, X)
    return _with_values(out, gaps)


def _distribution(Z: FloatArray, gaps: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance of records with gaps, with what can be expected in these."""
    d = Z.shape[1]
    points, spread = np.where(gaps, 0.0, Z), np.zeros((d, d))
    for _ in range(_ROUNDS):
        mean = points.mean(axis=0)
        covariance = ((points - mean).T @ (points - mean) + spread) / len(Z) + _RIDGE * np.eye(d)
        points, spread = expected(Z, gaps, mean, covariance)
    return mean, covariance


def _with_values(X: FloatArray, gaps: BoolArray) -> FloatArray:
    """Return the same with possible values in place of features that are 0 or 1; overwrites it."""
    is_truth = np.array([np.isin(column[~gap], (0.0, 1.0)).all() for column, gap in zip(X.T, gaps.T, strict=True)])
    for group in _groups(X, gaps, np.flatnonzero(is_truth)):
        rows = np.flatnonzero(gaps[:, group].any(axis=1))
        if len(group) == 1:
            X[rows, group] = X[rows, group] >= 0.5
        else:
            likeliest = X[np.ix_(rows, group)].argmax(axis=1)
            X[np.ix_(rows, group)] = np.arange(len(group)) == likeliest[:, None]
    return X


def _groups(X: FloatArray, gaps: BoolArray, features: IntArray) -> list[IntArray]:
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
