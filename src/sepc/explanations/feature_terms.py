"""Terms of features in the log odds between two regions, of many points in one go."""

from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.model.densities import FARTHEST, LocalDensities


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
        In the units of the densities.
    label, rival : ndarray of int, shape (n,)
        Numbers of two classes at each point.

    Returns
    -------
    Terms

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> X = [[0.0, 5.0], [1.0, 4.0], [2.0, 6.0], [5.0, 5.0], [6.0, 4.0], [9.0, 6.0]]
    >>> model = SEPClassifier().fit(X, ["low"] * 3 + ["high"] * 3)._model
    >>> found = feature_terms(model.densities, model.units(np.array([[1.0, 5.0]])), np.array([1]), np.array([0]))
    >>> bool(found.values[0, 0] > abs(found.values[0, 1]))
    True
    """
    logs = densities.by_component(points)
    best, against = (_strongest(densities, logs, codes) for codes in (label, rival))
    own, other = (_log_tails(densities, logs, points, components) for components in (best, against))
    return Terms(best, against, own - other)


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

    Features of categories that are read by the shares of their values have a part in them only beyond 0 and 1.

    Examples
    --------
    >>> from sepc import SEPClassifier
    >>> model = SEPClassifier().fit([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]], [0, 0, 0, 1, 1, 1])._model
    >>> squares_to(model.densities, 0, model.units(np.array([[1.0]]))).round(6).tolist()
    [[0.0]]
    """
    center, frame = densities.frame(component)
    reach = FARTHEST * densities.unit
    away = np.clip(points[:, densities.numbers], densities.center - reach, densities.center + reach) - center
    squares = np.zeros_like(points)
    squares[:, densities.numbers] = away * ((away @ frame) @ frame.T)
    if densities.shares is not None:
        categories = densities.shares.categories
        squares[:, categories.features] = categories.squares_beyond(points)
    return squares
