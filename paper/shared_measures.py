"""Common parts of several experiments: classifiers in the paper's form, counts of ellipsoids, and accepted labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiment import Column, Row, Table
from paper.paper_readings import PaperClassifier
from sepc.common.typing import BoolArray, FloatArray
from sepc.estimators.classifier import SEPClassifier
from sepc.geometry.hulls import nearest_points
from sepc.model.assessment import Assessment
from sepc.model.decision import trust_of
from sepc.partitions.blocks import Partition

# A label is accepted from this trust on.
MIN_TRUST = 0.95

_READINGS = (
    Row("paper", "the paper's trust, features as they are"),
    Row("scaled", "the paper's trust, `standardize=True`"),
    Row("local", 'the default: `trust="local"`, `standardize=True`'),
)
_ACCEPTED = (
    Column("accuracy", "accuracy, all points", "share"),
    Column("coverage", "accepted", "share"),
    Column("accepted", "accuracy of the accepted", "share"),
)
ACCEPTANCE = Table(
    "Beyond the paper: only labels with a trust of at least 95 % are accepted",
    _READINGS,
    _ACCEPTED,
    "Accuracy of the accepted: over the runs in which any were.",
)


def classifier(form: str, n_imp: int) -> SEPClassifier:
    """Return an unfitted classifier: in the paper's form, with scaled features, grown ellipsoids, or the default.

    Parameters
    ----------
    form : {"paper", "scaled", "grown", "scaled_grown", "local"}
    n_imp : int

    Examples
    --------
    >>> classifier("scaled", 2).standardize, classifier("local", 2).trust
    (True, 'local')
    """
    if form == "local":
        return SEPClassifier(n_imp=n_imp)
    return PaperClassifier(n_imp, standardize=form.startswith("scaled"), grown=form.endswith("grown"))


def acceptance(
    X: FloatArray, y: NDArray[Any], X_test: FloatArray, y_test: NDArray[Any], n_imp: int
) -> dict[str, float]:
    """Return, for each reading, the accuracy, the share of accepted labels, and the accuracy of these.

    Parameters
    ----------
    X, X_test : ndarray of shape (n, d), (n_test, d)
    y, y_test : ndarray of shape (n,), (n_test,)
    n_imp : int

    Returns
    -------
    dict of str to float
        The measures of the table `ACCEPTANCE`.
    """
    found = {}
    for reading, _ in _READINGS:
        a = classifier(reading, n_imp).fit(X, y).assess(X_test)
        found.update(accepted_share(reading, a, y_test))
    return found


def accepted_share(reading: str, a: Assessment, y_test: NDArray[Any]) -> dict[str, float]:
    """Return the row of the table `ACCEPTANCE` that an assessment gives."""
    right, accepted = a.label == y_test, a.trust >= MIN_TRUST
    return {
        f"{reading}.accuracy": float(right.mean()),
        f"{reading}.coverage": float(accepted.mean()),
        f"{reading}.accepted": mean(right[accepted]),
    }


def mean(values: NDArray[Any]) -> float:
    """Return the mean; of nothing, NaN.

    Examples
    --------
    >>> mean(np.array([]))
    nan
    """
    return float(values.mean()) if len(values) else float("nan")


def n_ellipsoids(p: Partition, side: int) -> int:
    """Return how many ellipsoids one side has.

    Examples
    --------
    >>> from sepc.partitions import partition
    >>> n_ellipsoids(partition([[0.0], [1.0]], [[5.0], [6.0]]), 0)
    1
    """
    return sum(block.side == side for block in p.blocks)


def n_left_over(p: Partition) -> int:
    """Return how many points ended in a left-over ellipsoid, or alone.

    Examples
    --------
    >>> from sepc.partitions import partition
    >>> n_left_over(partition([[0.0], [1.0]], [[5.0], [6.0]]))
    0
    """
    return sum(len(b.members) for b in p.blocks if b.left_over) + sum(map(len, p.isolated))


def n_isolated(p: Partition) -> int:
    """Return how many points are in no ellipsoid.

    Examples
    --------
    >>> from sepc.partitions import partition
    >>> n_isolated(partition([[0.0], [1.0]], [[5.0], [6.0]]))
    0
    """
    return sum(map(len, p.isolated))


def by_the_letter(a: Assessment) -> NDArray[Any]:
    """Return labels where a point in (or next to) one ellipsoid alone gets that ellipsoid's label: the paper's R1.

    The labels of an assessment differ from these where an ellipsoid is outnumbered by the other label.
    """
    names = [str(region) for region in a.region]
    alone = [not any(sign in name for sign in "&|@") for name in names]
    own = [name.rpartition("#")[0] for name in names]
    return np.where(alone, own, a.label)


def trust_in(label: NDArray[Any], a: Assessment, y: NDArray[Any]) -> FloatArray:
    """Return the paper's trust in labels of two classes that need not be those of the assessment.

    Parameters
    ----------
    label : ndarray of shape (n,)
    a : Assessment of n points
    y : ndarray of shape (n_train,)
        Labels of the training points.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]), np.repeat(["low", "high"], 3)
    >>> trust_in(y[::-1], PaperClassifier(0, "exit").fit(X, y).assess(X), y).round(2).tolist()
    [0.31, 0.31, 0.31, 0.31, 0.31, 0.31]
    """
    own, other = np.where(label == a.label, a.counts.T, a.counts.T[::-1])
    names, sizes = np.unique(y, return_counts=True)
    n_own = sizes[np.searchsorted(names, label)]
    return trust_of(own, other, n_own, len(y) - n_own)


def beyond(A: FloatArray, B: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Return which points lie beyond the nearest points of the reduced hulls: the paper's Algorithm 2.

    Parameters
    ----------
    A, B : ndarray of shape (n_a, d), (n_b, d)

    Returns
    -------
    of_a, of_b : ndarray of bool, shape (n_a,), (n_b,)

    Examples
    --------
    >>> beyond(np.array([[0.0], [2.0]]), np.array([[1.0], [-1.0]]))[0].tolist()
    [False, True]
    """
    pair = nearest_points(A, B)
    return (A - pair.c) @ pair.normal >= 0.0, (B - pair.d) @ pair.normal <= 0.0
