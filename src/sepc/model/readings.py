"""Readings: the ways in which training points in a region become trust in a label."""

from collections.abc import Callable

import numpy as np
from scipy.special import betaincinv

from sepc.common.errors import InputError
from sepc.common.text import READINGS
from sepc.common.typing import FloatArray, IntArray

# The share of a label is below the lower bound with this probability.
_BELOW_BOUND = 0.05


def trust_of(own: IntArray, other: IntArray, n_own: int | IntArray, n_other: int | IntArray) -> FloatArray:
    """Return the paper's trust in a label, by Bayes' formula from counts.

    Parameters
    ----------
    own, other : ndarray of int, shape (n,)
        Training points of that label, and of the other, in the deciding region.
    n_own, n_other : int or ndarray of int
        The same in the whole training set.

    Returns
    -------
    ndarray of shape (n,)
        Above 0, at most 1.
    """
    return np.asarray(1.0 / (1.0 + other * n_other / ((own + 1.0) * (n_own + 1.0))))


def share_of(own: IntArray, other: IntArray) -> FloatArray:
    """Return the smoothed share of a label in the deciding region."""
    return np.asarray((own + 1.0) / (own + other + 2.0))


def lower_bound_of(own: IntArray, other: IntArray) -> FloatArray:
    """Return what the share of a label in the deciding region exceeds with a probability of 95 %.

    Every share is equally likely before the counts are seen, so that 2 points of 2 say less than 2000 of 2000.
    """
    return np.asarray(betaincinv(own + 1.0, other + 1.0, _BELOW_BOUND))


# Readings that count points which took no part in shaping the regions, and what the counts of a label and of all others
# become.
HELD_OUT_READINGS: dict[str, Callable[[IntArray, IntArray], FloatArray]] = {"counts": share_of, "bound": lower_bound_of}
# Readings that count, for a point outside of all ellipsoids, what the nearest one holds once it is grown until it
# touches the point. The others count what it holds as it was found, as the paper does.
GROWING_READINGS = ("local", "raw", "counts", "bound")
# Readings of the blocks as local densities; the others count.
DENSITY_READINGS = ("local", "raw")
# Readings that need neither the training points in sorted order nor a part of them held out.
READINGS_WITHOUT_ORDER = ("local", "raw", "paper")


def require_reading(trust: str, readings: tuple[str, ...] = READINGS) -> None:
    """Raise an `InputError` unless a way to read the regions is one of some."""
    if trust in readings:
        return
    expected = f"trust is {trust!r}; expected one of {', '.join(map(repr, readings))}"
    if trust in READINGS:
        raise InputError(
            f"{expected} for a training set that is not in memory: records that are held out are chosen in sorted "
            "order, which chunks do not have."
        )
    raise InputError(f"{expected}. Use {READINGS[0]!r} unless another way to read the regions is asked for.")


def region_trust(reading: str, own: int, others: int, n_own: int, n_others: int) -> float:
    """Return the trust that the counts in an ellipsoid give its label.

    Parameters
    ----------
    reading : {"counts", "bound", "paper"}
    own, others : int
        Training points of the ellipsoid's label, and of all others, in it.
    n_own, n_others : int
        The same in the whole training set.

    Returns
    -------
    float
    """
    counts = np.array(own), np.array(others)
    if reading == "paper":
        return float(trust_of(*counts, n_own, n_others))
    return float(HELD_OUT_READINGS[reading](*counts))
