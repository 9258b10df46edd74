"""The overlapping coefficient of two ellipsoids: their similarity as normal distributions.

Let f and g be two normal densities and ``K(t) = log(integral of f^(1-t) g^t)`` their Chernoff function, which is convex
with ``K(0) = K(1) = 0``. The log ratio ``log(g/f)`` has the moment-generating function ``exp(K(t))`` under f and
``exp(K(1+t))`` under g. Inverting both and adding the two error probabilities leaves one integral,

    ``OVL = 1/(2 pi i) * integral of exp(K(t)) / (t (1-t)) dt``

from below to above the real axis, through any point between 0 and 1. All singularities of the integrand are on the real
axis outside of (0, 1), so that any path through the upper half-plane will do (the lower half is its mirror image). It
starts at the saddle point and follows the steepest descent: there the integrand falls without oscillating, however
different the scales of its factors are.
"""

from math import copysign, erfc, exp, inf, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sepc.common.typing import FloatArray
from sepc.geometry.checks import same_features
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.threads import one_blas_thread

ComplexArray = NDArray[np.complexfloating[Any, Any]]

# Ratios beyond this mean a coefficient of 0; their squares and cubes stay finite.
_FAR = 1e60
# Gauss's rule on [-1, 1]: with 32 nodes exact to rounding over one segment of the path.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS  # on [0, 1]


def overlap_coefficient(E: Ellipsoid, F: Ellipsoid) -> float:
    """Return the overlapping coefficient of two ellipsoids, each taken as a normal distribution.

    The distribution has the ellipsoid's centre as mean, and the covariance of the uniform distribution on it,
    ``axes @ diag(radii^2) @ axes.T / (d + 2)``. With the densities f and g the coefficient is the integral of
    ``min(f, g)``: 1 for equal ellipsoids, 0 for ellipsoids far apart.

    It is the sum of the two error rates of the rule "the label whose density is larger", on points of f and on points
    of g. It compares whole distributions: half-way between two that hardly overlap the error rate is still one half.
    `Assessment.local_overlap` compares them at a point.

    Parameters
    ----------
    E, F : Ellipsoid
        Of the same dimension, with any radii.

    Returns
    -------
    float
        Between 0 and 1; the same for ``(F, E)``, and the same after any common affine map.

    Notes
    -----
    Accurate to about 1e-10 as long as the ellipsoids themselves are (the axes of an ellipsoid with a ratio of radii of
    1e6 are known to 1e-10 of its smallest radius).

    Examples
    --------
    >>> E = Ellipsoid([0.0], [[1.0]], [2.0])
    >>> overlap_coefficient(E, E), overlap_coefficient(E, Ellipsoid([500.0], [[1.0]], [2.0]))
    (1.0, 0.0)

    Two equal balls in four dimensions, whose standard deviation is ``2 / sqrt(6)`` along each axis:

    >>> disc, other = (Ellipsoid([x, 0.0, 0.0, 0.0], np.eye(4), np.full(4, 2.0)) for x in (0.0, 1.0))
    >>> round(overlap_coefficient(disc, other), 6)
    0.540291
    """
    same_features(F.radii, E.dim, "F", "E")
    # Sorted, so that both orders give the same bits.
    if (E.radii.tolist(), E.center.tolist()) > (F.radii.tolist(), F.center.tolist()):
        E, F = F, E
    with one_blas_thread(E.axes.size):
        spread, shift = _side_by_side(E, F)
    if np.abs(np.log(spread)).max() <= 1e-10:  # equal covariances: a closed form holds
        return erfc(float(np.linalg.norm(shift)) / sqrt(8.0))
    chernoff = _Chernoff(spread, shift)
    if chernoff.at(np.array([0.5]), np.array([0.5]))[0].real < -700.0:  # even the bound ``exp(K(1/2))`` is 0
        return 0.0
    return min(max(_integral(chernoff), 0.0), 1.0)


def _side_by_side(E: Ellipsoid, F: Ellipsoid) -> tuple[FloatArray, FloatArray]:
    """Return standard deviations and means of F's distribution in axes where E's is standard normal."""
    turned, spread, _ = np.linalg.svd((E.axes.T @ F.axes) * F.radii / E.radii[:, None])
    shift = turned.T @ ((F.center - E.center) @ E.axes / E.radii) * sqrt(E.dim + 2.0)
    return np.clip(spread, 1.0 / _FAR, _FAR), np.clip(shift, -_FAR, _FAR)


class _Chernoff:
    """The function K for f standard normal and g with independent coordinates, at t and ``rest = 1 - t``.

    Both are arguments, since near 1 one minus t loses its digits.
    """

    def __init__(self, spread: FloatArray, shift: FloatArray) -> None:
        self.variance, self.shift = np.square(spread)[:, None], np.square(shift)[:, None]
        self.log_spread = np.log(spread)
        # Of q below; its zero is where K is singular.
        self.slope = 1.0 - self.variance

    def q(self, t: ComplexArray, rest: ComplexArray) -> ComplexArray:
        """Return the variance of the product ``f^(1-t) g^t``, inverted and in units of g's, shape (d, n)."""
        q: ComplexArray = self.variance * rest + t
        return q

    def at(self, t: ComplexArray, rest: ComplexArray) -> ComplexArray:
        """Return K, shape (n,)."""
        q = self.q(t, rest)
        terms = np.log(q) + self.shift * (t / q) * rest
        value: ComplexArray = rest * self.log_spread.sum() - 0.5 * terms.sum(axis=0)
        return value

    def slopes(self, t: complex, rest: complex) -> tuple[complex, complex]:
        """Return the first and second derivative of ``K(t) - log(t (1-t))``."""
        q = self.q(np.array([t]), np.array([rest]))
        turn, bend = self.slope / q, self.shift / q
        first = -self.log_spread.sum() - 0.5 * (turn + bend * (self.variance * rest * rest - t * t) / q).sum()
        second = (0.5 * turn * turn + bend * (self.variance / q) / q).sum()
        return complex(first - 1.0 / t + 1.0 / rest), complex(second + 1.0 / (t * t) + 1.0 / (rest * rest))

    def room(self, t: complex, rest: complex) -> float:
        """Return the distance from t to the nearest singularity."""
        q = self.q(np.array([t]), np.array([rest]))
        nearest = (np.abs(q) / np.maximum(np.abs(self.slope), 1.0 / _FAR)).min()
        return float(min(nearest, abs(t), abs(rest)))


def _integral(chernoff: _Chernoff) -> float:
    """Integrate along the path from the saddle point, by Gauss's rule on each segment, until a segment adds nothing."""
    t: complex
    rest: complex
    t, rest = start = _saddle(chernoff)
    top = float(chernoff.at(np.array([t]), np.array([rest]))[0].real) - log(start[0] * start[1])
    total = 0.0
    for _ in range(1000):
        step = _segment(chernoff, t, rest)
        here, there = t + step * _NODES, rest - step * _NODES
        values = np.exp(chernoff.at(here, there) - top) / (here * there)
        total += float((step * (values @ _WEIGHTS)).imag)
        t, rest = t + step, rest - step
        # It falls at least like the square of the distance.
        if abs(values[-1]) * abs(t - start[0]) <= 1e-13 * total:
            break
    return total * exp(top) / pi


def _saddle(chernoff: _Chernoff) -> tuple[float, float]:
    """Return the t between 0 and 1 at which ``exp(K(t)) / (t (1-t))`` is smallest, about, and ``1 - t``."""

    def both(logit: float) -> tuple[float, float]:
        return 1.0 / (1.0 + exp(-logit)), 1.0 / (1.0 + exp(logit))

    def slope(logit: float) -> float:
        t, rest = both(logit)
        return chernoff.slopes(t, rest)[0].real * t * rest

    return both(brentq(slope, -300.0, 300.0, xtol=1e-2))


def _segment(chernoff: _Chernoff, t: complex, rest: complex) -> complex:
    """Return the next step of the path: downhill, so short that 32 nodes are enough.

    It covers at most 0.7 of the way to the nearest singularity, and a drop of the exponent by about 8. The path climbs
    at 45 degrees at least: the singularities are on the real axis.
    """
    first, second = chernoff.slopes(t, rest)
    length = min(0.7 * chernoff.room(t, rest), 8.0 / (abs(first) or 1e-300), sqrt(8.0 / abs(second)))
    downhill = -first.conjugate() / (abs(first) or inf)
    if t.imag == 0.0:
        downhill = 1j
    elif downhill.imag < sqrt(0.5):
        downhill = complex(copysign(sqrt(0.5), downhill.real), sqrt(0.5))
    return downhill * length
