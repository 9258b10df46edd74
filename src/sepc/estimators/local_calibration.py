"""The places where held-out records show that probabilities are wrong; see `model.local_counts`.

A place is a misjudged record with its nearest neighbours, or all records that are equal. Its evidence is that of a bet
on one record after the other, the nearest first: before each the probabilities are those of the model with the counts
of the records before it, as `model.local_counts` has them, and the stake is multiplied by the new probability of the
true label over the old one. If the old ones are right, the stake exceeds T anywhere along the way with a probability of
at most 1 / T (Ville, 1939). So the radius may be the one with the largest stake, and with ``T = n / LEVEL`` for n
records hardly any place is found where there is nothing to find.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from sepc.common.splits import record_hashes
from sepc.common.typing import FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.estimators.constants import LEAST_IN_PLACE, LEVEL, MOST_CENTERS, MOST_COPIES, MOST_NEIGHBOURS, MOST_PLACES
from sepc.geometry.chunks import chunk_slices
from sepc.model.calibration import Calibration
from sepc.model.constants import COUNTS_AGAINST
from sepc.model.local_counts import LocalCounts
from sepc.partitions.ordering import canonical_order

# The radius of a place of equal records, in units of the model: above rounding.
_POINT = 1e-9


def with_places(
    calibration: Calibration, points: FloatArray, codes: IntArray, predicted: Sequence[FloatArray]
) -> Calibration:
    """Return a calibration with the places at which labels differ from their predicted probabilities, if any.

    Parameters
    ----------
    calibration : Calibration
    points : ndarray of shape (n, d)
        Training records in the units of the model. Those with missing values (NaN) do not count.
    codes : ndarray of int, shape (n,)
        Their classes.
    predicted : sequence of ndarray of shape (n, n_classes)
        Probabilities without places: those of models that have not seen a record, and of the final one. What is wrong
        although the model has seen the labels is wrong all the more.
    """
    if has_gaps(points):
        known = ~np.isnan(points).any(axis=1)
        points, codes, predicted = points[known], codes[known], [proba[known] for proba in predicted]
    if len(codes) < 2:
        return calibration
    least, found = np.log(len(codes) / LEVEL), list[_Place]()
    for proba in predicted:
        odds = proba[np.arange(len(codes)), codes]
        copies = sorted(_copies(points, codes, odds), key=lambda one: -len(one.rows))[:MOST_COPIES]
        # In a table of a few values all places together may tell what no single one does.
        found += copies if sum(one.log_stake for one in copies) > least else []
        found += (one for one in _balls(points, codes, odds) if one.log_stake > least)
    places: list[_Place] = []
    for one in sorted(found, key=lambda one: (one.radius > _POINT, -one.log_stake)):
        reached = (np.linalg.norm(one.center - other.center) <= other.radius for other in places)
        if len(places) < MOST_COPIES + MOST_PLACES and not any(reached):
            places.append(one)
    if not places:
        return calibration
    counts = [np.bincount(codes[one.rows], minlength=len(calibration.class_share)) for one in places]
    centers, radii = np.array([one.center for one in places]), np.array([one.radius for one in places])
    return replace(calibration, local=LocalCounts(centers, radii, np.array(counts, dtype=np.float64)))


class _Place(NamedTuple):
    log_stake: float
    center: FloatArray
    radius: float
    rows: IntArray


def _copies(points: FloatArray, codes: IntArray, odds: FloatArray) -> Iterator[_Place]:
    """Yield all records that are equal to others, as a place without extent."""
    _, of_record, counts = np.unique(record_hashes(points), return_inverse=True, return_counts=True)
    for rows in np.split(np.argsort(of_record, kind="stable"), np.cumsum(counts)[:-1]):
        if len(rows) >= LEAST_IN_PLACE:
            yield _Place(float(_log_stakes(codes[rows][None], odds[rows][None])[0, -1]), points[rows[0]], _POINT, rows)


def _balls(points: FloatArray, codes: IntArray, odds: FloatArray) -> Iterator[_Place]:
    """Yield a ball around each misjudged record, or around some of them: the one with the largest stake.

    Its center is then the mean of its records, so that no place tells where a single one is.
    """
    misjudged = np.flatnonzero(odds < 0.5)
    n_neighbours = min(MOST_NEIGHBOURS, len(codes))
    if not len(misjudged) or n_neighbours < LEAST_IN_PLACE:
        return
    # Records of a large set come chunk by chunk.
    misjudged = canonical_order(points, misjudged)
    centers = misjudged[:: max(-(-len(misjudged) // MOST_CENTERS), 1)]
    tree = KDTree(points)
    for some in chunk_slices(len(centers), 64):
        distances, rows = tree.query(points[centers[some]], n_neighbours)
        stakes = _log_stakes(codes[rows], odds[rows])
        # Records at the same distance are all in a ball, or none; of those behind the last neighbour nothing is known.
        ends = np.diff(distances, axis=1, append=np.inf if n_neighbours == len(codes) else distances[:, -1:]) > 0.0
        ends[:, : LEAST_IN_PLACE - 1] = False
        best = np.where(ends & (distances > _POINT), stakes, -np.inf).argmax(axis=1)
        for k, last in enumerate(best.tolist()):
            if ends[k, last] and distances[k, last] > _POINT:
                own = points[rows[k, : last + 1]]
                center = own.mean(axis=0)
                radius = float(np.linalg.norm(own - center, axis=1).max())
                inside = np.array(tree.query_ball_point(center, radius * (1.0 + 1e-9)), dtype=np.int64)
                yield _Place(float(stakes[k, last]), center, radius, inside)


def _log_stakes(codes: IntArray, odds: FloatArray) -> FloatArray:
    """Return the logarithm of the stake after each record of sequences of classes and their probabilities, (k, n)."""
    is_class = codes[:, :, None] == np.unique(codes)
    before = np.take_along_axis(np.cumsum(is_class, axis=1) - is_class, is_class.argmax(axis=2)[:, :, None], axis=2)
    with_counts = (COUNTS_AGAINST * odds + before[:, :, 0]) / (COUNTS_AGAINST + np.arange(codes.shape[1]))
    return np.asarray(np.cumsum(np.log(with_counts / odds), axis=1))
