"""The nearest points of two reduced convex hulls, with a certificate, and linear separability."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.geometry._hulls import MEETING_TOLERANCE, certified_gap, support
from sepc.geometry.checks import as_points, as_vector, same_features
from sepc.geometry.chunks import chunks
from sepc.geometry.threads import one_blas_thread

# Number of points of both sets up to which the short path is tried.
_FEW = 1000


@dataclass(frozen=True, eq=False, slots=True)
class HullPair:
    """The nearest points of two reduced convex hulls, as `nearest_points` returns them.

    Arrays are read-only.

    Attributes
    ----------
    c, d : ndarray of shape (n_features,)
        The point of A's hull, and that of B's.
    normal : ndarray of shape (n_features,)
        ``c - d`` as the solver knows it: more accurate than the difference of the two rounded fields where
        the origin is far, or the hulls all but touch.
    weights_a, weights_b : ndarray of shape (n_a,), (n_b,)
        Nonnegative, at most the cap of their side, of sum 1: ``c = weights_a @ A``, ``d = weights_b @ B``.
    caps : tuple of two float
        Upper bounds of the weights of A and of B.
    data_range : float
        The largest distance of a coordinate of the data from `c`.
    gap : float
        Certified error, see `certificate`.
    converged : bool
        Whether `gap` is at most the tolerance. For hulls that are disjoint, but less than about 1e-5 of the
        range apart, float64 may not suffice.
    n_iter : int
        Iterations: steps of Newton's method on all points, and of the exact solver on small sets of them.
    n_passes : float
        Matrix-vector products over all the points of the sides that had to be solved for.

    Examples
    --------
    >>> pair = nearest_points([[0.0, 2.0], [4.0, 2.0]], [[1.0, 0.0], [1.0, -2.0], [9.0, 0.0]], cap=1.0)
    >>> bool(abs(pair.distance - 2.0) < 1e-9), pair.meet
    (True, False)
    """

    c: FloatArray
    d: FloatArray
    normal: FloatArray
    weights_a: FloatArray
    weights_b: FloatArray
    caps: tuple[float, float]
    data_range: float
    gap: float
    converged: bool
    n_iter: int
    n_passes: float

    def __post_init__(self) -> None:
        for array in (self.c, self.d, self.normal, self.weights_a, self.weights_b):
            array.setflags(write=False)

    @property
    def distance(self) -> float:
        """Distance between the two points."""
        return float(np.linalg.norm(self.normal))

    @property
    def meet(self) -> bool:
        """Whether the hulls meet: the distance is at most 1e-8 of the data's range."""
        return self.distance <= MEETING_TOLERANCE * self.data_range

    def certificate(self, A: ArrayLike, B: ArrayLike) -> float:
        """Recompute the gap from the weights and the points alone.

        No two points of the hulls are nearer than they are along `normal`: there the gap between them is
        ``lower``, the smallest weighted mean of A minus the largest of B that the caps allow. The gap is
        ``(distance - lower) / distance``: the share by which the distance may exceed the best. Where the
        hulls `meet`, the distance itself is the error, and the gap is ``distance / data_range`` if that
        is smaller.

        Parameters
        ----------
        A : array-like of shape (n_a, n_features)
        B : array-like of shape (n_b, n_features)

        Returns
        -------
        float
            Nonnegative; infinite if the weights are not feasible.

        Examples
        --------
        >>> A, B = [[0.0, 2.0], [4.0, 2.0], [4.0, 3.0]], [[1.0, 0.0], [1.0, -2.0]]
        >>> nearest_points(A, B).certificate(A, B) < 1e-9
        True
        """
        points = as_points(A, "A"), as_points(B, "B")
        shift = points[0][0] + (points[1] - points[0][0]).mean(axis=0)
        images, lower, data_range = [], 0.0, 0.0
        for x, u, cap in zip(points, (self.weights_a, self.weights_b), self.caps, strict=True):
            if len(x) != len(u) or u.min() < 0 or u.max() > cap or abs(u.sum() - 1.0) > 1e-12:
                return float("inf")
            images.append(u @ (x - shift))
        for x, cap, sign in zip(points, self.caps, (-1.0, 1.0), strict=True):
            data_range = max(data_range, float(np.abs(x - shift - images[0]).max()))
            lower -= support((x - shift) @ (sign * self.normal), cap)
        distance = float(np.linalg.norm(images[0] - images[1]))
        return certified_gap(distance, lower / max(self.distance, 1e-300), data_range)


def nearest_points(
    A: ArrayLike,
    B: ArrayLike,
    cap: float | tuple[float, float] | None = None,
    *,
    tol: float = 1e-9,
    on_step: Callable[[int, float], None] | None = None,
) -> HullPair:
    """Return the nearest points of the reduced convex hulls of two point sets.

    The reduced hull of A holds the weighted means of its points with weights of at most `cap`. A cap of 1
    gives the convex hull, ``1 / n_a`` the centroid alone.

    Parameters
    ----------
    A : array-like of shape (n_a, n_features)
    B : array-like of shape (n_b, n_features)
    cap : float or pair of float, optional
        Largest weight of one point, on both sides or one for each; ``1 / n <= cap <= 1``. The default is the
        paper's ``1 / min(n_a, n_b)``, which makes the smaller set's point its centroid.
    tol : float, default=1e-9
        Gap to reach, see `HullPair.certificate`.
    on_step : callable, optional
        Called as ``on_step(n_iter, gap)`` between passes over the points; an error it raises ends the run.

    Returns
    -------
    HullPair

    Notes
    -----
    With w for the normal, the weights of A sit on its lowest points along w, those of B on the highest of B;
    only the few points at the two thresholds have weights between 0 and the cap. Newton's method on a smooth
    form of the dual problem finds w, first on a sample, then on the points near the thresholds, whose weights
    it brings to those of the exact problem; a pass over all points shows whether others belong to it.

    Examples
    --------
    >>> pair = nearest_points([[0.0, 0.0], [2.0, 0.0]], [[0.0, 3.0], [1.0, 3.0], [2.0, 5.0]])
    >>> pair.c.tolist()
    [1.0, 0.0]
    >>> pair.d.round(6).tolist()
    [0.5, 3.0]
    """
    a, b = as_points(A, "A"), as_points(B, "B")
    same_features(b, a.shape[1], "B", "A")
    caps = _check_caps(cap, len(a), len(b))
    if not (isinstance(tol, (int, float)) and 0 < tol < 1):
        raise InputError("tol", tol=tol, default="1e-9")
    return nearest_of(a, b, caps, float(tol), on_step)


def nearest_of(
    a: FloatArray,
    b: FloatArray,
    caps: tuple[float, float] | None = None,
    tol: float = 1e-9,
    on_step: Callable[[int, float], None] | None = None,
) -> HullPair:
    """Do what `nearest_points` does, without its checks."""
    # Here, so that importing this module does not load the compiler.
    from sepc.geometry._hulls.hull_search import Search
    from sepc.geometry._hulls.small_hulls import nearest_of_few

    if caps is None:
        caps = _default_caps(len(a), len(b))
    if len(a) + len(b) <= _FEW:
        pair = HullPair(*nearest_of_few(a, b, caps, tol))
        if on_step is not None:
            on_step(pair.n_iter, pair.gap)
        if pair.converged:
            return pair
    with one_blas_thread(a.size + b.size):
        search = Search(a, b, caps, tol, on_step)
        search.run()
    of_a, of_b = search.sides
    return HullPair(
        c=search.shift + of_a.image,
        d=search.shift + of_b.image,
        normal=search.normal,
        weights_a=of_a.cap * of_a.share,
        weights_b=of_b.cap * of_b.share,
        caps=caps,
        data_range=search.data_range,
        gap=search.gap,
        converged=search.gap <= search.tol,
        n_iter=search.n_iter,
        n_passes=search.n_passes,
    )


def _default_caps(n_a: int, n_b: int) -> tuple[float, float]:
    """Return the paper's caps."""
    return (1.0 / min(n_a, n_b),) * 2


def _check_caps(cap: Any, n_a: int, n_b: int) -> tuple[float, float]:
    if cap is None:
        return _default_caps(n_a, n_b)
    both = (cap, cap) if np.ndim(cap) == 0 else tuple(cap)
    if len(both) != 2:
        raise InputError("hull-cap", cap=cap)
    return _check_cap(both[0], n_a, "A"), _check_cap(both[1], n_b, "B")


def _check_cap(cap: Any, n: int, name: str) -> float:
    try:
        value = float(cap) if not isinstance(cap, (str, bytes)) else float("nan")
    except (TypeError, ValueError):
        value = float("nan")
    slack = 8.0 * np.finfo(float).eps
    if not (1.0 - slack) / n <= value <= 1.0 + slack:
        raise InputError("hull-cap-too-small", cap=cap, name=name, n_points=n)
    return min(max(value, 1.0 / n), 1.0)


def linearly_separable(
    A: ArrayLike, B: ArrayLike, *, unit: ArrayLike | None = None, first: tuple[BoolArray, BoolArray] | None = None
) -> bool:
    """Return whether a hyperplane separates two point sets: whether their convex hulls do not meet.

    Parameters
    ----------
    A : array-like of shape (n_a, d)
    B : array-like of shape (n_b, d)
    unit : array-like of shape (d,), optional
        Units of the features; 1 by default. They only matter for rounding: hulls meet where they are nearer to each
        other than 1e-8 of their range in these units.
    first : tuple of two ndarray of bool, shapes (n_a,) and (n_b,), optional
        Points to begin with: those that probably decide.

    Notes
    -----
    Exact, and large sets are read a few times only: the hulls of subsets are tested. Where these meet, so do the hulls
    of all points. Else a hyperplane separates the subsets, and either all points, or those on its wrong side are added.
    """
    sets = as_points(A, "A"), as_points(B, "B")
    d = sets[0].shape[1]
    same_features(sets[1], d, "B", "A")
    length = np.ones(d) if unit is None else as_vector(unit, "unit", d)
    origin, share = sets[0][0], 15 * d
    preferred = [np.empty(0, np.int64)] * 2 if first is None else [np.flatnonzero(mask) for mask in first]
    rows = [_evenly(some, len(points), share) for some, points in zip(preferred, sets, strict=True)]
    while True:
        few_a, few_b = ((points[some] - origin) / length for points, some in zip(sets, rows, strict=True))
        pair = nearest_points(few_a, few_b, cap=1.0)
        if pair.meet:
            return False
        normal = pair.normal / (length * pair.distance)
        a, b = (np.concatenate([(x - origin) @ normal for x in chunks(points)]) for points in sets)
        # The margin is wider than the rounding of the points' distances from the hyperplane.
        if a.min() - b.max() > 1e-12 * max(np.abs(a).max(), np.abs(b).max()):
            return True
        more = [np.union1d(rows[0], _lowest(a, share)), np.union1d(rows[1], _lowest(-b, share))]
        if [len(some) for some in more] == [len(some) for some in rows]:  # all but touching: rounding hides the margin
            return False
        rows, share = more, 2 * share


def _evenly(preferred: IntArray, n: int, count: int) -> IntArray:
    """Return about `count` of n rows, evenly spaced: of the preferred ones, if these are enough."""
    rows = preferred if len(preferred) >= count else np.arange(n)
    return np.union1d(rows[:: -(-len(rows) // count)], preferred[:count])


def _lowest(score: FloatArray, count: int) -> IntArray:
    return np.arange(len(score)) if len(score) <= count else np.argpartition(score, count)[:count]
