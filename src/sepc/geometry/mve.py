"""The minimum-volume (Loewner-John) ellipsoid of a point set, with a certificate.

A point x is lifted to ``q = (x, 1)`` with n = d + 1 entries. Weights u on the points, summing to 1, make a design
with the moment matrix ``M = sum u_i q_i q_i'`` and give point i the leverage ``g_i = q_i' M^-1 q_i``. Whatever the
design, its ellipsoid ``{x : g(x) <= max g}`` covers the points, and its log volume exceeds the minimum by at most
``n / 2 * (max g / n - 1)``: the number in brackets is the gap that is reported. It is 0 for the optimal design.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sepc.common.errors import InputError
from sepc.common.typing import SMALLEST_SPREAD, FloatArray, IntArray
from sepc.geometry.checks import as_points, as_vector
from sepc.geometry.ellipsoid import FLAT, ULPS, Ellipsoid
from sepc.geometry.passes import FEW_FEATURES, kernels, principal_axes, principal_directions
from sepc.geometry.threads import one_blas_thread

if TYPE_CHECKING:
    from sepc.geometry._mve.design import Design

# Number of points up to which the short path is tried.
_FEW = 1000


@dataclass(frozen=True, eq=False, slots=True)
class MVE:
    """A minimum-volume ellipsoid with its certificate.

    Attributes
    ----------
    ellipsoid : Ellipsoid
        Contains every point it was built on.
    weights : ndarray of shape (n,)
        The optimal design: non-negative, summing to 1, positive on the support points of the ellipsoid.
    gap : float
        Certified: the ellipsoid's log volume exceeds the minimum by at most ``(rank + 1) / 2 * gap``.
    rank : int
        Dimension of the points' affine hull; the minimum is meant inside of it.
    n_iter : int
        Steps of the interior-point method, and of Newton's method on the support points.
    n_passes : float
        Passes of the solver over the points; the check of the input is not counted.
    converged : bool
        Whether the gap is at most the tolerance.

    Examples
    --------
    >>> m = min_volume_ellipsoid([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.1, 0.2]])
    >>> m.ellipsoid.radii.round(6).tolist(), m.converged, m.rank
    ([1.0, 1.0], True, 2)
    """

    ellipsoid: Ellipsoid
    weights: FloatArray
    gap: float
    rank: int
    n_iter: int
    n_passes: float
    converged: bool

    def certificate(self, points: ArrayLike, unit: ArrayLike | None = None) -> float:
        """Recompute the gap from points and weights alone, inside the hull of the points.

        Parameters
        ----------
        points : array-like of shape (n, d)
            The points that the ellipsoid was built on.
        unit : array-like of shape (d,), optional
            The units of length it was built with.

        Returns
        -------
        float
            ``max g / n - 1``, the same number as `gap` up to rounding.

        Examples
        --------
        >>> points = [[0.0], [1.0], [4.0]]
        >>> min_volume_ellipsoid(points).certificate(points) < 1e-7
        True
        """
        X = as_points(points, "points")
        if self.rank == 0:
            return 0.0
        origin, mean, length, covariance = kernels().moments(X, _units(unit, X.shape[1]))
        directions, variance = principal_directions(covariance)
        in_hull = (directions[: self.rank] / np.sqrt(variance[: self.rank, None])) / length
        Y = (X - origin - mean) @ in_hull.T  # differences, so that a large offset costs no digits
        held = self.weights > 0
        Y -= self.weights[held] @ Y[held]
        _, stretch, axes = np.linalg.svd(Y[held] * np.sqrt(self.weights[held])[:, None], full_matrices=False)
        whitened = Y @ (axes.T / stretch)
        return float((1.0 + np.square(whitened).sum(axis=1).max()) / (self.rank + 1) - 1.0)


def min_volume_ellipsoid(
    points: ArrayLike,
    tol: float = 1e-7,
    *,
    unit: ArrayLike | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> MVE:
    """Return the ellipsoid of least volume that contains all points.

    Points in a lower-dimensional affine set get their minimum-volume ellipsoid inside that set, with a radius of
    1e-6 units in the flat directions. A direction is flat when the points spread (RMS) by less than 1e-6 units.

    Parameters
    ----------
    points : array-like of shape (n, d)
        Finite numbers, n >= 1 and d >= 1.
    tol : float, default=1e-7
        Largest certified gap to accept; the log volume is then known to ``(d + 1) / 2 * tol``. As a rule the support
        points are on the ellipsoid up to rounding, and the gap is far smaller. Below 1e-12 rounding may prevent it.
    unit : array-like of shape (d,), optional
        Unit of length of each feature. By default its standard deviation over the points, or the largest one of
        the other features where that is 0.
    on_step : callable, optional
        Called as ``on_step(n_iter, gap)`` after each pass over the points; may raise to interrupt.

    Returns
    -------
    MVE

    Examples
    --------
    >>> m = min_volume_ellipsoid([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0], [4.0, 2.0]])
    >>> m.ellipsoid.center.round(6).tolist(), m.ellipsoid.radii.round(6).tolist()
    ([2.0, 1.0], [2.828427, 1.414214])
    """
    if not 0.0 < tol < 1.0:
        raise InputError("tol", tol=tol, default="1e-7")
    X = as_points(points, "points")
    length, finest = _units(unit, X.shape[1]), max(tol, 1e-12)
    # Here, so that importing this module does not load the compiler.
    from sepc.geometry._mve import design_search
    from sepc.geometry._mve.design import Design

    # With a singular working set numbers may overflow; the certificate shows it.
    with one_blas_thread(X.size), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if len(X) <= _FEW and X.shape[1] <= FEW_FEATURES:
            found = design_search.ellipsoid_of_few(X, length, finest)
            if found is not None:
                m = MVE(*found, converged=found[2] <= tol)
                if on_step is not None:
                    on_step(m.n_iter, m.gap)
                return m
        measures = kernels().moments(X, length)
        run = Design(X, measures, on_step)
        design = design_search.solve(run, finest)
        distinct = None if run.certified(tol) else np.sort(np.unique(X, axis=0, return_index=True)[1])
        if distinct is None or len(distinct) == len(X):
            return _answer(run, *design, tol)
        # Hundreds of copies of a point can fill a working set and make it singular: each point once.
        once = X[distinct]
        again = Design(once, measures, on_step)
        return _for_all(_answer(again, *design_search.solve(again, finest), tol), distinct, run)


def _units(unit: ArrayLike | None, d: int) -> FloatArray:
    """Return the checked units of length; an empty array for the default, which kernels compute."""
    if unit is None:
        return np.empty(0)
    length = as_vector(unit, "unit", d)
    if length.min() <= 0.0:
        raise InputError("unit-not-positive", smallest=length.min())
    if length.min() < SMALLEST_SPREAD:
        raise InputError("unit-too-small", smallest=length.min(), least=SMALLEST_SPREAD)
    return length


def _for_all(answer: MVE, rows: IntArray, run: "Design") -> MVE:
    """Turn the result for the distinct points into one for all, after `run` has failed."""
    weights = np.zeros(len(run.X))
    weights[rows] = answer.weights
    weights.setflags(write=False)
    passes = run.n_read / len(weights) + answer.n_passes * len(rows) / len(weights)
    return replace(answer, weights=weights, n_iter=run.n_iter + answer.n_iter, n_passes=passes)


def _answer(run: "Design", rows: IntArray, weights: FloatArray, tol: float) -> MVE:
    """Turn the design into an ellipsoid in raw coordinates that contains every point."""
    stretch, thickness = _room_for_flat(run)
    reach = stretch * sqrt(max(run.top - 1.0, 0.0))
    from sepc.geometry._mve.large_interior_point import raw_factor

    Q = run.lift_to_base(rows)
    center, factor = raw_factor(
        Q, weights, reach, run.origin, run.center, run.unit, run.directions, run.spread, thickness
    )
    axes_t, radii = principal_axes(factor)
    axes = axes_t.T.copy()
    # The largest gauge of the points, in the arithmetic of `Ellipsoid.gauge`.
    square = run.square_of_reach(center, axes, radii)
    radii *= sqrt(square) * (1.0 + ULPS) if square > 0.0 else 1.0
    ellipsoid = Ellipsoid.trusted(center, axes, radii)
    full = run.all_weights(rows, weights)
    certified = run.certified(tol)
    return MVE(ellipsoid, full, run.gap, run.rank, run.n_iter, run.n_passes, certified)


def _room_for_flat(run: "Design") -> tuple[float, float]:
    """Return the factor of the hull's radii and the radius of the flat directions with which all points are inside.

    With no deviation from the hull they are 1 and 1e-6. Else they are those of the smallest ellipsoid around a product
    of two sets, so that the result is continuous in the deviation.
    """
    rank, d = run.rank, len(run.unit)
    if rank == d:
        return 1.0, FLAT
    worst = run.widest_deviation((run.directions[rank:] / (run.unit * FLAT)).T.copy())
    widening = max(1.0, worst * d / (d - rank))
    return float(1.0 / np.sqrt(1.0 - worst / widening)) if rank else 1.0, float(FLAT * np.sqrt(widening))
