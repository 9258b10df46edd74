"""What training records show of relations between columns; see `model.relations`.

Each record is judged as if it, and its copies, had been left out: the inverse of a covariance without some records is
that with them and a term of rank one. So do all scores of a record, and the limits of typicality, come from others.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sepc.common.typing import FloatArray, IntArray
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
from sepc.model.calibration import Calibration
from sepc.model.category_shares import Categories
from sepc.model.constants import DEGREES_OF_FREEDOM
from sepc.model.relations import Relations, largest


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
    z, copies = points[np.ix_(whole, numbers)], np.bincount(equal[whole])[equal[whole]]
    left_in = count[own] - copies
    some = left_in > 0  # records that are judged
    if not len(numbers) or np.count_nonzero(some) < LEAST_JUDGED:
        return None
    centers = np.array([z[own == k].mean(axis=0) for k in range(len(classes))])
    away = z - centers[own]
    scale = np.sqrt(np.square(away).mean(axis=0))
    varies = scale > 1e-9 * (1.0 + np.abs(z).max(axis=0))
    if not varies.any():
        return None
    z, away, centers, scale = (one[..., varies] for one in (z, away, centers, scale))
    z, away, centers = z / scale, away / scale, centers / scale
    farther = np.where(some, count[own] / np.maximum(left_in, 1), 1.0)  # from the centre of the others than from theirs
    weight: FloatArray = np.asarray(copies * farther, dtype=np.float64)
    precision, shrunken = _precision(away[some], weight[some], farther[some], len(z))
    # Distances to all classes, that to the own one without the record.
    image, of_centers = away @ precision, centers @ precision
    square = (image * away).sum(axis=1)
    rest = np.maximum(1.0 - weight / shrunken * square, 1e-9)
    distances = (z @ precision * z).sum(axis=1)[:, None] - 2.0 * z @ of_centers.T + (of_centers * centers).sum(axis=1)
    distances[np.arange(len(z)), own] = np.square(farther) * square / rest
    nearest = distances.argmin(axis=1)
    from_class = z - centers[nearest]
    from_others = from_class @ precision / np.sqrt(precision.diagonal())
    # The same from the own class without the record.
    spread = precision.diagonal() + (weight / shrunken / rest)[:, None] * np.square(image)
    from_others_own = (farther / rest)[:, None] * image / np.sqrt(spread)
    squares = np.maximum(1.0 - weight[:, None] / len(z) * np.square(away), 1e-9)
    from_class_own = farther[:, None] * away / np.sqrt(squares)
    usual, power = (
        np.stack(of) for of in zip(_tails(from_others_own[some]), _tails(from_class_own[some]), strict=True)
    )
    pairs = (from_others, from_others_own), (from_class, from_class_own)
    is_own = (nearest == own)[:, None]
    found = [
        largest(np, np.where(is_own, mine, it).T, usual[k][..., None], power[k][..., None])
        for k, (it, mine) in enumerate(pairs)
    ]
    departures = np.full((len(points), 2), np.nan)
    departures[whole[some]] = np.column_stack(found)[some]
    levels = np.zeros(3), np.ones(3)
    return Judged(Relations(numbers[varies], scale, centers, precision, usual, power, *levels), departures)


def _precision(away: FloatArray, weight: FloatArray, farther: FloatArray, n: int) -> tuple[FloatArray, float]:
    """Return the inverse of a shrunken covariance, and the number of records that it stands for.

    Beside n records the identity weighs as much as some; their number gives the least log loss of a t distribution at
    records that are left out. `away`, shape (m, d), are these records; each is `farther` from the centre of the others,
    and takes its square times `weight` with it.
    """
    d = away.shape[1]
    scatter = away.T @ away + RELATION_RIDGE * n * np.eye(d)
    values, vectors = np.linalg.eigh(scatter)
    squares = np.square(away @ vectors)
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


def _tails(away: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return limits and powers of the departures of each column, shape (2, d), above and below."""
    n = len(away)
    share = 1.0 - max(SHARE_BEYOND, min(RECORDS_BEYOND / (0.5 * n), 0.25))
    middles, limits = np.empty((2, 2, away.shape[1]))
    for side, signed in enumerate((away, -away)):
        for j, column in enumerate(signed.T):
            there = column[column > 1e-9]  # below is rounding, of either sign
            there = there if len(there) > n // 4 else np.abs(column)
            middles[side, j], limits[side, j] = np.quantile(there, (0.5, share))
    limits = np.maximum(limits, 1.0)
    ratios = np.log(limits / np.clip(middles, 1e-3 * limits, 0.9 * limits))
    as_normal = np.log(ndtri(0.5 + 0.5 * share) / ndtri(0.75))
    return limits, np.clip(as_normal / ratios, LEAST_POWER, MOST_POWER)


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
