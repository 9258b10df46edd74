"""Terms of features in the log odds between two regions, of many points in one go."""

from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.model.densities import FARTHEST, LocalDensities
from sepc.model.incomplete import has_gaps, rows_by_gaps


class Terms(NamedTuple):
    """What features add to the log odds between the strongest components of two classes, at n points.

    Attributes
    ----------
    best, against : ndarray of int, shape (n,)
        Numbers of the components.
    values : ndarray of shape (n, d)
        Positive ones speak for the first class.
    """

    best: IntArray
    against: IntArray
    values: FloatArray


def feature_terms(densities: LocalDensities, points: FloatArray, label: IntArray, rival: IntArray) -> Terms:
    """Return what each feature adds to the log odds between the strongest component of a label and that of its rival.

    The terms of a point are those of `Parting`, in the order of the features: with the part that is the same at all
    points they add up to the log odds.

    Parameters
    ----------
    densities : LocalDensities
    points : ndarray of shape (n, d)
        In the units of the densities. What is missing adds nothing, and the part that is the same at all points is that
        of the densities of what is there.
    label, rival : ndarray of int, shape (n,)
        Numbers of two classes at each point.

    Returns
    -------
    Terms
    """
    if has_gaps(points):
        return _terms_of_what_is_there(densities, points, label, rival)
    logs = densities.by_component(points)
    best, against = (_strongest(densities, logs, codes) for codes in (label, rival))
    own, other = (_log_tails(densities, logs, points, components) for components in (best, against))
    return Terms(best, against, own - other)


def _terms_of_what_is_there(densities: LocalDensities, points: FloatArray, label: IntArray, rival: IntArray) -> Terms:
    found = Terms(np.empty_like(label), np.empty_like(rival), np.zeros_like(points))
    for rows, _ in rows_by_gaps(points):
        known = densities.known_of(points[rows[0]])
        there = densities if known.all() else densities.marginal(known)
        some = feature_terms(there, points[rows][:, known], label[rows], rival[rows])
        found.best[rows], found.against[rows], found.values[np.ix_(rows, known)] = some
    return found


def _strongest(densities: LocalDensities, logs: FloatArray, codes: IntArray) -> IntArray:
    """Return the component of a class that has the largest share at each point, shape (n,)."""
    return np.asarray(np.where(densities.codes == codes[:, None], logs, -np.inf).argmax(axis=1))


def _log_tails(densities: LocalDensities, logs: FloatArray, points: FloatArray, components: IntArray) -> FloatArray:
    """Return the part of a component's logarithm that depends on the point as a sum over features, shape (n, d)."""
    tails = np.empty_like(points)
    for component in np.unique(components).tolist():
        here = components == component
        squares = squares_to(densities, component, points[here])
        whole = squares.sum(axis=1)
        # The sum of the terms is the very number that the probability was made of, whatever the squares round to.
        tail = logs[here, component] - densities.log_weights[component]
        if densities.shares is not None:
            told = densities.shares.by_feature(points[here], component)
            tail -= told.sum(axis=1)
        tails[here] = squares * (tail / np.where(whole > 0.0, whole, 1.0))[:, None]
        if densities.shares is not None:
            tails[np.ix_(here, densities.shares.categories.features)] += told
    return tails


def squares_to(densities: LocalDensities, component: int, points: FloatArray) -> FloatArray:
    """Return squared distances to a component as sums over features, shape (n, d); of those some may be negative.

    Features of categories that are read by the shares of their values have a part in them only beyond 0 and 1, and
    those that are missing have none.
    """
    if has_gaps(points):
        squares = np.zeros_like(points)
        for rows, _ in rows_by_gaps(points):
            known = densities.known_of(points[rows[0]])
            there = densities if known.all() else densities.marginal(known)
            squares[np.ix_(rows, known)] = squares_to(there, component, points[rows][:, known])
        return squares
    center, frame = densities.frame(component)
    reach = FARTHEST * densities.unit
    away = np.clip(points[:, densities.numbers], densities.center - reach, densities.center + reach) - center
    squares = np.zeros_like(points)
    squares[:, densities.numbers] = away * ((away @ frame) @ frame.T)
    if densities.shares is not None:
        categories = densities.shares.categories
        squares[:, categories.features] = categories.squares_beyond(points)
    return squares
