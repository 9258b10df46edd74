"""A small ellipsoid around the intersection of several ellipsoids."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, log, sqrt

import numpy as np
from scipy.linalg.lapack import dgeqp3, dtrtri
from scipy.optimize import nnls

from sepc.common.errors import InputError
from sepc.common.typing import FloatArray
from sepc.geometry.checks import same_features
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.passes import principal_axes
from sepc.geometry.separation import CONTACT_TOLERANCE, separate

# Below this level rounding decides the size of a cover.
_SMALLEST_LEVEL = 1e-13


@dataclass(frozen=True, eq=False, slots=True)
class IntersectionCover:
    """An ellipsoid that covers the intersection of several, or the proof that they have no point in common.

    Attributes
    ----------
    ellipsoid : Ellipsoid or None
        Covers the intersection; None if that is empty.
    empty : bool
        Whether it is certain that no point lies in all of them (in all of them grown by a relative 1e-9).
    weights : ndarray of shape (m,)
        Non-negative, one per ellipsoid, with sum 1. With the gauges g_i, each common point has
        ``sum_i weights_i * g_i(x)^2 <= 1``: the points that obey this are the cover. If `empty`, no point
        obeys it, which is the certificate. Weight 0: that ellipsoid plays no part.
    log_volume : float
        Of the cover; minus infinity if `empty`.
    gap : float
        The log volume exceeds the least that any choice of weights gives by at most this. It comes from a
        feasible point of the dual problem, so it holds whatever the solver did; infinite when no such point
        was found.
    converged : bool
        Whether `gap` is within the tolerance. False for ellipsoids that only just touch, or of which one is
        next to nothing beside another: rounding blurs their covers, which are valid and small, not smallest.
    n_iter : int
        Newton steps.
    hyperplane : tuple of (ndarray of shape (d,), float), or None
        For two disjoint ellipsoids, what `separate` found.

    Examples
    --------
    >>> ball = Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 1.0])
    >>> cover_intersection(ball, Ellipsoid([3.0, 0.0], np.eye(2), [1.0, 1.0])).empty
    True
    """

    ellipsoid: Ellipsoid | None
    empty: bool
    weights: FloatArray
    log_volume: float
    gap: float
    converged: bool
    n_iter: int
    hyperplane: tuple[FloatArray, float] | None = None

    def __post_init__(self) -> None:
        self.weights.setflags(write=False)


def cover_intersection(*ellipsoids: Ellipsoid, tol: float = 1e-8) -> IntersectionCover:
    """Cover the intersection of ellipsoids by a small ellipsoid (the paper's LMI, without an LMI solver).

    The smallest ellipsoid that the S-procedure can give. The smallest of all is NP-hard to find and may be
    smaller; the smallest of `ellipsoids` is never smaller.

    Parameters
    ----------
    *ellipsoids : Ellipsoid
        One or more, of the same dimension, with any radii.
    tol : float, default=1e-8
        Stop when the log volume is certain to be this close to the best.

    Returns
    -------
    IntersectionCover

    Notes
    -----
    With ``P_i = S_i^-1`` and weights t >= 0, the common points satisfy ``sum_i t_i g_i(x)^2 <= sum_i t_i``,
    which is the ellipsoid ``(x - c)' P (x - c) <= rho`` with ``P = sum_i t_i P_i``. The best t minimises the
    convex ``d rho(t) - log det P(t)``; Newton's method with bounds finds it. Dual problem: the largest
    ``det W`` with ``trace(P_i W)/d + g_i(x)^2 <= 1`` for all i. At the optimum ``W = P^-1`` and ``x = c``.

    Examples
    --------
    >>> disc = Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 1.0])
    >>> lens = cover_intersection(disc, Ellipsoid([1.0, 0.0], np.eye(2), [1.0, 1.0]))
    >>> lens.ellipsoid.center.round(6).tolist(), lens.ellipsoid.radii.round(6).tolist()
    ([0.5, 0.0], [0.866025, 0.866025])
    """
    _check(ellipsoids)
    m = len(ellipsoids)
    if m == 1:
        return IntersectionCover(ellipsoids[0], False, np.ones(1), ellipsoids[0].log_volume, 0.0, True, 0)
    if m == 2:
        verdict = separate(*ellipsoids)
        if verdict.hyperplane is not None:
            return _empty(_contact_weights(verdict.hyperplane[0], ellipsoids), 0, verdict.hyperplane)
    family = _Family(ellipsoids)
    # The other half of the tolerance is for the choice between the best cover and the smallest ellipsoid.
    best, n_iter = _minimize(family, 0.5 * tol, may_be_empty=m > 2)
    if best.proves_empty:
        return _empty(best.weights, n_iter)
    return _result(family, best, tol, n_iter)


def _check(ellipsoids: tuple[Ellipsoid, ...]) -> None:
    if not ellipsoids:
        raise InputError("no-ellipsoid")
    for i, E in enumerate(ellipsoids):
        same_features(E.radii, ellipsoids[0].dim, f"ellipsoid {i}", "ellipsoid 0")


class _Family:
    """The ellipsoids as ``|B_i x - h_i| <= 1``, in coordinates where the smallest is the unit ball."""

    def __init__(self, ellipsoids: tuple[Ellipsoid, ...]) -> None:
        self.home = int(np.argmin([E.log_volume for E in ellipsoids]))
        self.smallest = home = ellipsoids[self.home]
        self.dim, self.size = home.dim, len(ellipsoids)
        self.B = np.stack([(E.axes.T @ home.axes) * home.radii / E.radii[:, None] for E in ellipsoids])
        self.h = np.stack([((E.center - home.center) @ E.axes) / E.radii for E in ellipsoids])

    def back(self, center: FloatArray, root: FloatArray) -> Ellipsoid:
        """Return ``{center + root u : |u| <= 1}`` in the original coordinates."""
        axes, radii = principal_axes((self.smallest.axes * self.smallest.radii) @ root)
        place = self.smallest.center + self.smallest.axes @ (self.smallest.radii * center)
        return Ellipsoid.trusted(place, axes.T, radii)


class _Member:
    """One cover of the family, ``{center + root u : |u| <= 1}``, with what its weights imply."""

    def __init__(self, family: _Family, weights: FloatArray) -> None:
        self.family, self.dim = family, family.dim
        self.weights = weights / weights.sum()
        root, self.center = _least_squares(family, self.weights)
        self.lean = family.B @ self.center - family.h
        self.room = 1.0 - np.einsum("ij,ij->i", self.lean, self.lean)
        self.level = float(self.weights @ self.room)
        self.root = root * sqrt(max(self.level, 0.0))
        self.shapes = family.B @ self.root

    @cached_property
    def traces(self) -> FloatArray:
        """Traces of ``B_i root root' B_i'``, shape (m,)."""
        traces: FloatArray = np.einsum("ijk,ijk->i", self.shapes, self.shapes)
        return traces

    @cached_property
    def value(self) -> float:
        """Log volume, relative to the smallest ellipsoid's."""
        return float(np.linalg.slogdet(self.root)[1])

    @property
    def rounding(self) -> float:
        """Rounding error of `value`: a small level is a difference of numbers near 1."""
        return 1e-13 * (1.0 + abs(self.value)) + 1e-15 * self.dim / self.level

    @cached_property
    def gap(self) -> float:
        """Bound of the excess of `value` over the optimum, by the dual point ``root root'``, scaled down."""
        if self.room.min() <= 0.0:
            return inf
        return 0.5 * self.dim * max(log((self.traces / self.room).max() / self.dim), 0.0)

    @cached_property
    def level_error(self) -> float:
        """Bound of the rounding error in `level`."""
        size = np.linalg.norm(np.abs(self.family.B) @ np.abs(self.center) + np.abs(self.family.h), axis=1)
        return 4.0 * float(np.finfo(np.float64).eps) * float(self.weights @ (1.0 + size))

    @property
    def proves_empty(self) -> bool:
        """Whether no point obeys the weighted sum of the ellipsoids' inequalities."""
        # Levels are squares: the intersection is empty even after growth by the tolerance of `separate`.
        return self.level < -2.0 * CONTACT_TOLERANCE and self.level < -self.level_error

    def newton(self) -> tuple[FloatArray, float]:
        """Return the Newton step from ``weights / level``, within the bounds, and the slope along it."""
        gradient = 0.5 * (self.dim * self.room - self.traces)
        gram = (self.shapes.mT @ self.shapes).reshape(len(gradient), -1)
        turn = np.einsum("ijk,ij->ik", self.shapes, self.lean)
        hessian = 0.5 * gram @ gram.T + self.dim * turn @ turn.T
        # An ellipsoid far larger than the others has almost no curvature: the gradient gives the scale.
        unit = 1.0 / np.sqrt(hessian.diagonal() + np.square(gradient))
        start = self.weights / (self.level * unit)
        step = unit * _bounded_newton(hessian * unit * unit[:, None], gradient * unit, start)
        return step, float(gradient @ step)


def _least_squares(family: _Family, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a root of ``(sum_i w_i B_i'B_i)^-1`` and the x that minimises ``sum_i w_i |B_i x - h_i|^2``."""
    live = weights > 0.0
    share = np.sqrt(weights[live])[:, None]
    B = (share[:, :, None] * family.B[live]).reshape(-1, family.dim)
    h = (share * family.h[live]).reshape(-1)
    # With its largest rows first, a pivoted QR is precise relative to each row.
    order = np.abs(B).max(axis=1).argsort()[::-1]
    triangle, pivot, *_ = dgeqp3(B[order])
    root = np.empty((family.dim, family.dim))
    root[pivot - 1] = dtrtri(np.triu(triangle[: family.dim]))[0]
    x = root @ (root.T @ (h @ B))
    # One step of iterative refinement makes the normal equations as precise as the QR.
    return root, x - root @ (root.T @ ((B @ x - h) @ B))


def _bounded_newton(hessian: FloatArray, gradient: FloatArray, start: FloatArray) -> FloatArray:
    """Return the p that minimises ``gradient @ p + p @ hessian @ p / 2`` subject to ``start + p >= 0``."""
    # Equal ellipsoids make the Hessian singular.
    hessian = hessian + 1e-14 * len(start) * np.eye(len(start))
    factor = np.linalg.cholesky(hessian)
    end = nnls(factor.T, start @ factor - np.linalg.solve(factor, gradient))[0]
    free = end > 0.0
    # A small step would be lost in the rounding of the end point: with the zeros known, solve for the step itself.
    step = np.where(free, 0.0, -start)
    right = gradient + hessian @ step
    step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], right[free])
    return step if (start + step).min() >= 0.0 else end - start


def _minimize(family: _Family, tol: float, *, may_be_empty: bool) -> tuple[_Member, int]:
    """Return the best member, or one whose negative level proves that the intersection is empty."""
    best = _Member(family, np.ones(family.size))
    if may_be_empty and best.proves_empty:
        return best, 0
    if best.level < _SMALLEST_LEVEL:
        best = _Member(family, np.eye(family.size)[family.home])
    for n_iter in range(100):
        if best.gap <= tol:
            return best, n_iter
        following = _line_search(family, best, may_be_empty=may_be_empty)
        if following is None:
            return best, n_iter
        if following.proves_empty:
            return following, n_iter + 1
        if following.value > best.value - best.rounding and following.gap >= best.gap:
            return best, n_iter
        best = following
    return best, 100


def _line_search(family: _Family, now: _Member, *, may_be_empty: bool) -> _Member | None:
    """Return a better member along the Newton step, or one that proves the intersection empty, or None."""
    step, slope = now.newton()
    start = now.weights / now.level
    for halvings in range(40):
        part = 0.5**halvings
        weights = np.maximum(start + part * step, 0.0)
        member = _Member(family, weights)
        if may_be_empty and member.proves_empty:
            return member
        # Near the optimum values differ by rounding only, and the full step is accepted.
        if member.level >= _SMALLEST_LEVEL and member.value <= now.value + 1e-4 * part * slope + now.rounding:
            return member
    return None


def _result(family: _Family, best: _Member, tol: float, n_iter: int) -> IntersectionCover:
    if best.value >= -0.5 * tol:
        weights, gap = np.eye(family.size)[family.home], max(best.gap - best.value, 0.0)
        E = family.smallest
    else:
        # Rounding of the level must not leave a common point outside.
        growth = sqrt(1.0 + best.level_error / best.level)
        weights, gap = best.weights, best.gap + family.dim * log(growth)
        E = family.back(best.center, best.root * growth)
    return IntersectionCover(E, False, weights, E.log_volume, gap, gap <= tol, n_iter)


def _empty(weights: FloatArray, n_iter: int, hyperplane: tuple[FloatArray, float] | None = None) -> IntersectionCover:
    return IntersectionCover(None, True, weights, -inf, 0.0, True, n_iter, hyperplane)


def _contact_weights(normal: FloatArray, ellipsoids: tuple[Ellipsoid, ...]) -> FloatArray:
    """Return the weights that prove two ellipsoids disjoint: in the ratio of their support functions."""
    widths: FloatArray = np.array([np.linalg.norm(E.radii * (normal @ E.axes)) for E in ellipsoids])
    widths /= widths.sum()
    return widths
