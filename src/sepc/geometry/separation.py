"""Separation of two ellipsoids: an exact test whether they intersect, with a certificate."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from scipy.linalg.lapack import dgeqp3, dposv, dpotrs

from sepc.common.typing import FloatArray
from sepc.geometry.checks import same_features
from sepc.geometry.ellipsoid import Ellipsoid

# Ellipsoids with a margin up to this count as touching.
CONTACT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Separation:
    """Whether two ellipsoids E and F intersect, with a certificate.

    Attributes
    ----------
    disjoint : bool
        False for ellipsoids that touch, to a relative 1e-9, and for ellipsoids so thin that rounding hides the
        strip between them (`margin` may then be larger).
    margin : float
        ``s - 1``, where s is the common factor by which both must be scaled about their centres to touch.
        -1 for a common centre, negative for ellipsoids that overlap, 0 for ellipsoids that touch, above 1e-9
        for disjoint ones. Symmetric in E and F, and the same after any common affine map.
    gap : float
        Width of the empty strip around the hyperplane, so a lower bound of the distance between E and F; 0.0
        unless disjoint.
    hyperplane : tuple of (ndarray of shape (d,), float), or None
        A unit normal and an offset with ``normal @ x < offset`` for all x in E and ``> offset`` for all x in
        F. Given when disjoint. The normal is certified: the strip is wider than all rounding in its own
        evaluation. (The offset is one float64, so it is as coarse as the coordinates of the centres are.)
    common_point : ndarray of shape (d,), or None
        The deepest point: the larger of its two gauges, ``1 + margin``, is the smallest possible. Given
        unless disjoint.

    Examples
    --------
    >>> ball = Ellipsoid([0.0, 0.0], np.eye(2), [1.0, 1.0])
    >>> separate(ball, Ellipsoid([4.0, 0.0], np.eye(2), [1.0, 1.0])).gap
    2.0
    """

    disjoint: bool
    margin: float
    gap: float
    hyperplane: tuple[FloatArray, float] | None
    common_point: FloatArray | None


def separate(E: Ellipsoid, F: Ellipsoid) -> Separation:
    """Test whether two ellipsoids meet; return a separating hyperplane or a common point.

    Parameters
    ----------
    E, F : Ellipsoid
        Of the same dimension, with any radii.

    Returns
    -------
    Separation

    Notes
    -----
    The scale factor at contact is the largest ``n @ (c_F - c_E) / (h_E(n) + h_F(n))`` over all directions n,
    with the support functions h, and also the smallest ``max(gauge_E(x), gauge_F(x))`` over all points x.
    Both are found on the curve ``(S_E/p + S_F/q) n = c_F - c_E`` with ``p + q = 1``, so one unknown is left.
    Any n bounds the factor from below, hence an error in n costs its square. Where radii differ much, each n
    comes from a QR factorisation of the scaled axes: a matrix of squared radii would lose the small ones.

    Examples
    --------
    >>> E = Ellipsoid([0.0, 0.0], np.eye(2), [2.0, 1.0])
    >>> apart = separate(E, Ellipsoid([5.0, 0.0], np.eye(2), [1.0, 1.0]))
    >>> apart.disjoint, round(apart.margin, 9), apart.hyperplane[0].round(9).tolist()
    (True, 0.666666667, [1.0, 0.0])
    >>> separate(E, Ellipsoid([2.5, 0.0], np.eye(2), [1.0, 1.0])).common_point.round(6).tolist()
    [1.666667, 0.0]
    """
    same_features(F.radii, E.dim, "F", "E")
    # Sorted, so that separate(F, E) gives the same bits.
    swap = (E.radii.tolist(), E.center.tolist()) > (F.radii.tolist(), F.center.tolist())
    pair = _Pair(F, E) if swap else _Pair(E, F)
    if pair.far == 0.0:
        return Separation(False, -1.0, 0.0, None, E.center)
    normal, balance = _contact(pair)
    reach, (h_e, h_f) = float(pair.offset.dot(normal)), pair.supports(normal)
    strip = reach - h_e - h_f
    margin = reach / (h_e + h_f) - 1.0
    if margin <= CONTACT_TOLERANCE or (strip <= pair.coarse_rounding and strip <= pair.rounding(normal)):
        return Separation(False, margin, 0.0, None, _read_only(pair.point(normal, balance)))
    middle = 0.5 * float((pair.E.center + pair.F.center).dot(normal) + pair.unit * (h_e - h_f))
    hyperplane = (0.0 - normal, 0.0 - middle) if swap else (normal, middle)
    return Separation(True, margin, strip * pair.unit, (_read_only(hyperplane[0]), hyperplane[1]), None)


class _Pair:
    """Two ellipsoids with their axes stacked as rows, in units of the largest radius."""

    # Methods of arrays where there is a choice: on short arrays operators and functions take twice as long.

    def __init__(self, E: Ellipsoid, F: Ellipsoid) -> None:
        self.E, self.F, self.dim = E, F, E.dim
        e, f = E.radii.tolist(), F.radii.tolist()
        least_e, most_e, least_f, most_f = min(e), max(e), min(f), max(f)
        self.unit = max(most_e, most_f)
        self.rows = np.concatenate((E.axes.T, F.axes.T))
        self.radii = np.concatenate((E.radii, F.radii)) / self.unit
        if min(least_e, least_f) < 1e-140 * self.unit:  # squares would underflow
            self.radii = np.maximum(self.radii, 1e-140)
        offset = F.center - E.center
        self.far = max(map(abs, offset.tolist()))
        self.offset = offset / self.unit
        # Bounds of log(q/p) at contact, by the largest ratios of radii.
        self.bracket = log(least_f / most_e), log(most_f / least_e)
        self.scaled_rows = scaled = self.rows * self.radii[:, None]
        # With such radii a matrix of their squares is precise enough.
        self.even = least_e >= 0.01 * most_e and least_f >= 0.01 * most_f
        if self.even:
            by_ellipsoid = scaled.reshape(2, self.dim, self.dim)
            self.matrices = (by_ellipsoid.mT @ by_ellipsoid).reshape(scaled.shape)
            self.flat_matrices = self.matrices.reshape(2, -1)

    def supports(self, normal: FloatArray) -> tuple[float, float]:
        """Return both support functions along `normal`, relative to the centres."""
        y = self.scaled_rows.dot(normal)
        e, f = y[: self.dim], y[self.dim :]
        return sqrt(e.dot(e)), sqrt(f.dot(f))

    def pulls(self, normal: FloatArray) -> FloatArray:
        """Return ``S_E normal`` and ``S_F normal`` as rows, with ``S = axes diag(radii^2) axes'``."""
        pulls: FloatArray
        if self.even:
            pulls = self.matrices.dot(normal).reshape(2, -1)
            return pulls
        y = (self.radii * (self.radii * (self.rows @ normal))).reshape(2, 1, -1)
        pulls = (y @ self.rows.reshape(2, self.dim, self.dim))[:, 0]
        return pulls

    def solve(self, p: float, q: float, toward: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the x with ``(S_E/p + S_F/q) x = toward``, and the map from other right-hand sides to theirs."""
        if self.even:
            matrix = np.array((1.0 / p, 1.0 / q)).dot(self.flat_matrices).reshape(self.dim, -1)
            triangle, x, _ = dposv(matrix.T, toward, overwrite_a=1)
            return x, lambda b: dpotrs(triangle, b)[0]
        solver = _graded_solver(self.rows, self.spread(1.0 / sqrt(p), 1.0 / sqrt(q)) * self.radii)
        return solver(toward), solver

    def spread(self, e: float, f: float) -> FloatArray:
        """Return one number per row: `e` for those of E, `f` for those of F."""
        out = np.empty(2 * self.dim)
        out[: self.dim], out[self.dim :] = e, f
        return out

    @property
    def coarse_rounding(self) -> float:
        """Bound `rounding` for every unit normal."""
        return (self.dim + 4) * np.finfo(float).eps * self.dim * float(self.far / self.unit + 2.0 * sqrt(self.dim))

    def rounding(self, normal: FloatArray) -> float:
        """Bound the rounding error in the width of the strip between the two supporting hyperplanes."""
        size = np.abs(normal)
        terms = np.abs(self.offset) @ size + self.radii @ (np.abs(self.rows) @ size)
        return (self.dim + 4) * float(np.finfo(float).eps * terms)

    def point(self, normal: FloatArray, balance: float) -> FloatArray:
        """Return the point that belongs to `normal`: it minimises ``p gauge_E^2 + q gauge_F^2``."""
        p, q = _shares(balance)
        e, f = self.pulls(normal)
        stretch = self.unit * float(self.offset.dot(normal)) / float(e.dot(normal) / p + f.dot(normal) / q)
        from_e: FloatArray = self.E.center + (stretch / p) * e
        from_f: FloatArray = self.F.center - (stretch / q) * f
        if self.even:
            return from_e if p < q else from_f
        point = min(from_e, from_f, key=self.larger_gauge)
        return min(point, self.polished(point, p, q), key=self.larger_gauge)

    def larger_gauge(self, x: FloatArray) -> float:
        """Return the larger of the two gauges of `x`."""
        e = ((x - self.E.center) @ self.E.axes) / self.E.radii
        f = ((x - self.F.center) @ self.F.axes) / self.F.radii
        return sqrt(max(e @ e, f @ f))

    def polished(self, point: FloatArray, p: float, q: float) -> FloatArray:
        """Correct the rounding of `point` along short radii by two steps of least squares in the gauges."""
        shares = self.spread(p, q)
        radii = self.radii * self.unit
        solve = _graded_solver(self.rows, np.sqrt(shares) / radii)
        for _ in range(2):
            y = np.concatenate(((point - self.E.center) @ self.E.axes, (point - self.F.center) @ self.F.axes))
            point = point - solve((shares * y / np.square(radii)) @ self.rows)
        return point


def _graded_solver(rows: FloatArray, weights: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the map from b to the x with ``rows' diag(weights^2) rows x = b``."""
    # With its largest rows first, a pivoted QR is precise relative to each row.
    order = weights.argsort()[::-1]
    triangle, pivot, *_ = dgeqp3(rows.take(order, 0) * weights[order, None])
    back = pivot.argsort()
    return lambda b: dpotrs(triangle[: len(b)], b[pivot - 1])[0][back]


def _contact(pair: _Pair) -> tuple[FloatArray, float]:
    """Return the unit normal at contact, and the balance ``log(q/p)`` there.

    On the curve both gauges are equal where ``log(h_F/h_E)`` equals the balance. The difference has a slope
    between -1 and 0 and is almost linear in the balance: Newton's method, safeguarded by a bracket.
    """
    low, high = pair.bracket
    # Only the direction counts, and squares of a tiny offset would underflow.
    toward = pair.offset * (pair.unit / pair.far)
    h_e, h_f = pair.supports(toward)
    balance = min(max(log(h_f / h_e), low), high)
    for _ in range(60):  # enough for bisection
        normal, turn, excess, slope, apart = _on_curve(pair, toward, balance)
        low, high = (balance, high) if excess > 0.0 else (low, balance)
        step = -excess / slope if slope < 0.0 else high - low
        # The error is the square of the last step, below the tolerance of contact. Of disjoint ellipsoids only the
        # normal is used: its error is the square of the step, that of the margin its fourth power.
        if abs(step) <= (1e-3 if apart else 2e-5):
            balance, normal = balance + step, normal + step * turn
            break
        balance = balance + step if low < balance + step < high else 0.5 * (low + high)
    return normal / sqrt(normal.dot(normal)), balance


def _on_curve(pair: _Pair, toward: FloatArray, balance: float) -> tuple[FloatArray, FloatArray, float, float, bool]:
    """Return the normal n, ``log(h_F/h_E) - balance``, the derivatives of both by the balance, and if n separates.

    n solves ``(S_E/p + S_F/q) n = toward`` with ``log(q/p) = balance`` and ``p + q = 1``.
    """
    p, q = _shares(balance)
    normal, solve = pair.solve(p, q, toward)
    pulls = pair.pulls(normal)
    turn = solve(np.array((-q / p, p / q)).dot(pulls))
    ee, ff = pulls.dot(normal).tolist()
    e_turn, f_turn = pulls.dot(turn).tolist()
    reach = (ee / p + ff / q) * (pair.far / pair.unit)
    apart = pair.even and reach > (1.0 + 1e-6) * (sqrt(ee) + sqrt(ff))
    return normal, turn, 0.5 * log(ff / ee) - balance, f_turn / ff - e_turn / ee - 1.0, apart


def _shares(balance: float) -> tuple[float, float]:
    return 1.0 / (1.0 + exp(balance)), 1.0 / (1.0 + exp(-balance))


def _read_only(array: FloatArray) -> FloatArray:
    array.setflags(write=False)
    return array
