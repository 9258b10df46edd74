"""What training records show of relations between columns; see `model.relations`.

Each record is judged as if it, and its copies, had been left out: the inverse of a covariance without some records is
that with them and a term of rank one. So do all scores of a record, and the limits of typicality, come from others.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.estimators.constants import (
    LEAST_JUDGED,
    LEAST_POWER,
    MOST_POWER,
    RECORDS_BEYOND,
    RELATION_RIDGE,
    SHARE_BEYOND,
    SHRINKAGES,
    WORST,
)
from sepc.geometry.chunks import chunk_slices
from sepc.model.calibration import Calibration
from sepc.model.category_shares import Categories
from sepc.model.constants import DEGREES_OF_FREEDOM
from sepc.model.relations import Relations, largest

_ROWS, _COLUMNS = 1024, 2  # of a chunk
FOLDS = 5  # of records whose limits come from the others


class Judged(NamedTuple):
    """Relations between columns, and the departures of the training records, shape (n, 2), each left out.

    These are NaN for records with missing values, and for those that are the only ones of their class.
    """

    relations: Relations
    departures: FloatArray


def learn_relations(
    points: FloatArray, codes: IntArray, equal: IntArray, categories: Categories | None
) -> Judged | None:
    """Learn relations between columns of numbers; None where too few complete records could show any.

    Parameters
    ----------
    points : ndarray of shape (n, n_features)
        Missing values are NaN.
    codes : ndarray of int, shape (n,)
        Classes of the points.
    equal : ndarray of int, shape (n,)
        The same number for records that are equal.
    categories : Categories or None
        Whose columns are no numbers.
    """
    numbers = np.arange(points.shape[1])
    if categories is not None:
        numbers = np.setdiff1d(numbers, categories.features)
    whole = np.flatnonzero(~np.isnan(points[:, numbers]).any(axis=1))
    classes, own, count = np.unique(codes[whole], return_inverse=True, return_counts=True)
    copies = np.bincount(equal[whole])[equal[whole]]
    left_in = count[own] - copies
    some = left_in > 0  # records that are judged
    if not len(numbers) or np.count_nonzero(some) < LEAST_JUDGED:
        return None
    away = points[np.ix_(whole, numbers)]
    largest_value = np.abs(away).max(axis=0)
    centers = np.array([away[own == k].mean(axis=0) for k in range(len(classes))])
    chunks = list(chunk_slices(len(away), _ROWS))
    for rows in chunks:
        away[rows] -= centers[own[rows]]
    scale = np.sqrt(np.einsum("ij,ij->j", away, away) / len(away))
    varies = scale > 1e-9 * (1.0 + largest_value)
    if not varies.any():
        return None
    if not varies.all():
        away, centers, scale = (one[..., varies] for one in (away, centers, scale))
    away /= scale
    centers /= scale
    farther = np.where(some, count[own] / np.maximum(left_in, 1), 1.0)  # from the centre of the others than from theirs
    weight: FloatArray = np.asarray(copies * farther, dtype=np.float64)
    precision, shrunken = _precision(away, some, weight, farther)
    left_out = _LeftOut(away, own, centers, precision, weight, farther, shrunken)
    nearest = np.concatenate([left_out.nearest(rows) for rows in chunks])
    departures, tails, fold = np.full((len(points), 2), np.nan), [], equal[whole] % FOLDS
    mine = np.empty_like(away)  # from the own class, without the record
    for kind, of_own in enumerate((left_out.from_others, left_out.from_class)):
        for rows in chunks:
            mine[rows] = of_own(rows)
        tails.append(_tails(mine, some))
        # The limits that a record is judged by come from others, too: with many columns it would hardly pass its own.
        limits, powers = (
            np.stack(of) for of in zip(*(_tails(mine, some & (fold != k)) for k in range(FOLDS)), strict=True)
        )
        for rows in chunks:
            of_record = fold[rows]
            it = left_out.from_other_class(rows, nearest[rows])[kind]
            it = np.where((nearest[rows] == own[rows])[:, None], mine[rows], it)
            found = largest(np, it.T, *(np.moveaxis(one[of_record], 0, -1) for one in (limits, powers)))
            departures[whole[rows], kind] = np.where(some[rows], found, np.nan)
    usual, power = (np.stack(of) for of in zip(*tails, strict=True))
    levels = np.zeros(3), np.ones(3)
    return Judged(Relations(numbers[varies], scale, centers, precision, usual, power, *levels), departures)


class _LeftOut:
    """Departures of records of shape (n, d), each judged without itself and its copies; by rows, to save memory."""

    def __init__(
        self,
        away: FloatArray,
        own: IntArray,
        centers: FloatArray,
        precision: FloatArray,
        weight: FloatArray,
        farther: FloatArray,
        shrunken: float,
    ) -> None:
        self.away, self.own, self.centers, self.precision = away, own, centers, precision
        self.farther, self.share, self.squared = farther, weight / shrunken, weight / len(away)
        self.square = np.concatenate(
            [np.einsum("ij,ij->i", away[rows] @ precision, away[rows]) for rows in chunk_slices(len(away), _ROWS)]
        )
        self.rest = np.maximum(1.0 - self.share * self.square, 1e-9)

    def nearest(self, rows: slice) -> IntArray:
        """Return the nearest class of each record."""
        z, own = self.away[rows] + self.centers[self.own[rows]], self.own[rows]
        of_centers = self.centers @ self.precision
        distances = np.einsum("ij,ij->i", z @ self.precision, z)[:, None] - 2.0 * z @ of_centers.T
        distances += (of_centers * self.centers).sum(axis=1)
        distances[np.arange(len(z)), own] = np.square(self.farther[rows]) * self.square[rows] / self.rest[rows]
        return np.asarray(distances.argmin(axis=1))

    def from_others(self, rows: slice) -> FloatArray:
        """Return departures from what the other values predict, in the own class."""
        image = self.away[rows] @ self.precision
        spread = self.precision.diagonal() + (self.share[rows] / self.rest[rows])[:, None] * np.square(image)
        return np.asarray((self.farther[rows] / self.rest[rows])[:, None] * image / np.sqrt(spread))

    def from_class(self, rows: slice) -> FloatArray:
        """Return departures from the mean of the own class."""
        squares = np.maximum(1.0 - self.squared[rows, None] * np.square(self.away[rows]), 1e-9)
        return np.asarray(self.farther[rows, None] * self.away[rows] / np.sqrt(squares))

    def from_other_class(self, rows: slice, nearest: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return both departures in another class."""
        from_class = self.away[rows] + self.centers[self.own[rows]] - self.centers[nearest]
        return from_class @ self.precision / np.sqrt(self.precision.diagonal()), from_class


def _precision(away: FloatArray, some: BoolArray, weight: FloatArray, farther: FloatArray) -> tuple[FloatArray, float]:
    """Return the inverse of a shrunken covariance, and the number of records that it stands for.

    Beside n records the identity weighs as much as some; their number gives the least log loss of a t distribution at
    `some` records that are left out. `away` has shape (n, d); each is `farther` from the centre of the others, and
    takes its square times `weight` with it.
    """
    n, d = away.shape
    if not some.all():
        away, weight, farther = away[some], weight[some], farther[some]
    scatter = away.T @ away + RELATION_RIDGE * n * np.eye(d)
    values, vectors = np.linalg.eigh(scatter)
    squares = away @ vectors
    np.square(squares, out=squares)
    losses = []
    for added in np.sqrt(d) * np.array(SHRINKAGES):
        all_values = values + added
        square = squares @ (1.0 / all_values)
        rest = np.maximum(1.0 - weight * square, 1e-12)
        m = n + added - 1.0
        far = m * np.square(farther) * square / rest
        logs = (DEGREES_OF_FREEDOM + d) * np.log1p(far / DEGREES_OF_FREEDOM)
        losses.append(np.mean(logs + np.log(rest)) + np.log(all_values / m).sum())
    best = SHRINKAGES[int(np.argmin(losses))] * np.sqrt(d)
    return (vectors / (values + best)) @ vectors.T * (n + best), n + best


def _tails(away: FloatArray, some: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return limits and powers of some records' departures in each column, shape (2, d), above and below."""
    n = int(np.count_nonzero(some))
    share = 1.0 - max(SHARE_BEYOND, min(RECORDS_BEYOND / (0.5 * n), 0.25))
    middles, limits = np.empty((2, 2, away.shape[1]))
    for side, sign in enumerate((1.0, -1.0)):
        for columns in chunk_slices(away.shape[1], _COLUMNS):
            there = sign * away[some, columns]
            there[there <= 1e-9] = np.nan  # of the other side, or rounding of either sign
            few = np.count_nonzero(~np.isnan(there), axis=0) <= n // 4
            there[:, few] = np.abs(away[some, columns][:, few])
            middles[side, columns], limits[side, columns] = _quantiles(there, np.array([0.5, share]))
    limits = np.maximum(limits, 1.0)
    ratios = np.log(limits / np.clip(middles, 1e-3 * limits, 0.9 * limits))
    as_normal = np.log(ndtri(0.5 + 0.5 * share) / ndtri(0.75))
    return limits, np.clip(as_normal / ratios, LEAST_POWER, MOST_POWER)


def _quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return quantiles of each column that is not NaN, shape (n_shares, d); NumPy's take a call for each column."""
    values = np.sort(values, axis=0)  # NaN comes last
    at = shares[:, None] * (np.count_nonzero(~np.isnan(values), axis=0) - 1.0)
    below = at.astype(np.int64)
    low, high = (np.take_along_axis(values, rows, axis=0) for rows in (below, np.ceil(at).astype(np.int64)))
    return np.asarray(low + (at - below) * (high - low))


def with_relations(calibration: Calibration, relations: Relations, scores: FloatArray) -> Calibration:
    """Return a calibration whose typicality is by the worst of all scores of held-out records.

    `scores`, shape (n, 3), are their negative log densities, and their departures, NaN where these are not known.
    """
    share = max(WORST, min(RECORDS_BEYOND / len(scores), 0.25))
    middle = np.nanmedian(scores, axis=0)
    width = np.nanquantile(scores, 1.0 - share, axis=0) - middle
    relations = replace(relations, middle=middle, width=np.where(width > 0.0, width, 1.0))
    worst = np.sort(-relations.worst(-scores[:, 0], scores[:, 1:]))
    # Seven digits serve as well, and take half of the room in a file.
    return replace(calibration, held_out=worst.astype(np.float32).astype(np.float64), relations=relations)
