"""The ellipsoid: a centre, orthonormal axes and radii, and everything that follows from these three."""

from collections.abc import Callable
from math import lgamma, log, pi
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.common.errors import InputError
from sepc.common.typing import BoolArray, FloatArray
from sepc.geometry.checks import as_points, as_vector, same_features
from sepc.geometry.chunks import chunk_slices

# A point is inside when its gauge is at most 1 plus this.
MEMBERSHIP_TOLERANCE = 1e-7
# The largest gauge of a point inside.
LARGEST_HELD = 1.0 + MEMBERSHIP_TOLERANCE
# A direction in which the standard deviation of points, in units of the features, is less than this is flat.
FLAT = 1e-6

# A few units in the last place.
ULPS = 4.0 * float(np.finfo(float).eps)


def is_held(gauges: Any) -> Any:
    """Return whether points with these gauges, arrays of any library or numbers, are inside."""
    return gauges <= LARGEST_HELD


class Ellipsoid:
    """The set ``{center + axes @ (radii * u) : |u| <= 1}``.

    Immutable: its arrays are read-only copies. Ellipsoids are kept as centre, axes and radii because a
    matrix that mixes radii of 1e-6 and 1e6 loses the small ones.

    Parameters
    ----------
    center : array-like of shape (d,)
    axes : array-like of shape (d, d)
        Orthonormal columns, the directions of the radii.
    radii : array-like of shape (d,)
        Half-lengths along the axes, all positive.

    Examples
    --------
    >>> E = Ellipsoid(center=[1.0, 0.0], axes=[[1.0, 0.0], [0.0, 1.0]], radii=[2.0, 1.0])
    >>> E.gauge([[3.0, 0.0], [1.0, 0.5]]).tolist()
    [1.0, 0.5]
    >>> E.distance([[5.0, 0.0], [1.0, 0.5]]).tolist()
    [2.0, 0.0]
    """

    __slots__ = ("_axes", "_center", "_radii")

    def __init__(self, center: ArrayLike, axes: ArrayLike, radii: ArrayLike) -> None:
        directions = as_points(axes, "axes")
        d = len(directions)
        if directions.shape != (d, d) or np.abs(directions.T @ directions - np.eye(d)).max() > 1e-8:
            raise InputError("axes-not-orthonormal", shape=directions.shape)
        lengths = as_vector(radii, "radii", d)
        if lengths.min() <= 0:
            raise InputError("radii-not-positive", smallest=lengths.min())
        self._fill(as_vector(center, "center", d), directions, lengths)

    @classmethod
    def trusted(cls, center: FloatArray, axes: FloatArray, radii: FloatArray) -> Self:
        """Make an ellipsoid of three valid float64 arrays, without the checks: for solvers, which build thousands.

        Examples
        --------
        >>> Ellipsoid.trusted(np.zeros(2), np.eye(2), np.ones(2)).contains([[0.5, 0.5]]).tolist()
        [True]
        """
        self = object.__new__(cls)
        self._fill(center, axes, radii)
        return self

    @classmethod
    def from_factor(cls, center: ArrayLike, factor: ArrayLike) -> Self:
        """Return the image of the unit ball, ``{center + factor @ u : |u| <= 1}``.

        Parameters
        ----------
        center : array-like of shape (d,)
        factor : array-like of shape (d, m)
            Of rank d.

        Examples
        --------
        >>> Ellipsoid.from_factor([0.0, 0.0], [[0.0, 3.0], [2.0, 0.0]]).radii.tolist()
        [3.0, 2.0]
        """
        matrix = as_points(factor, "factor")
        axes, radii, _ = np.linalg.svd(matrix, full_matrices=False)
        rank = np.count_nonzero(radii > radii[0] * len(radii) * np.finfo(float).eps)
        if rank < len(matrix):
            raise InputError("factor-rank", shape=matrix.shape, rank=rank)
        return cls.trusted(as_vector(center, "center", len(matrix)), axes, radii)

    def _fill(self, center: FloatArray, axes: FloatArray, radii: FloatArray) -> None:
        self._center, self._axes, self._radii = (_read_only_copy(array) for array in (center, axes, radii))

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[FloatArray, FloatArray, FloatArray]]:
        return type(self), (self.center, self.axes, self.radii)

    def __repr__(self) -> str:
        def short(values: FloatArray) -> str:
            return np.array2string(values, precision=4, threshold=6, edgeitems=2, separator=", ")

        return f"Ellipsoid(dim={self.dim}, center={short(self.center)}, radii={short(self.radii)})"

    @property
    def center(self) -> FloatArray:
        """The centre, shape (d,)."""
        return self._center

    @property
    def axes(self) -> FloatArray:
        """Orthonormal columns, the directions of the radii, shape (d, d)."""
        return self._axes

    @property
    def radii(self) -> FloatArray:
        """Half-lengths along the axes, shape (d,)."""
        return self._radii

    @property
    def dim(self) -> int:
        """Number of features, d."""
        return len(self.radii)

    @property
    def A(self) -> FloatArray:  # noqa: N802  (the paper's name)
        """The symmetric matrix of the paper's form ``{z : |A z + b| <= 1}``, shape (d, d)."""
        return (self.axes / self.radii) @ self.axes.T

    @property
    def b(self) -> FloatArray:
        """The vector of the paper's form ``{z : |A z + b| <= 1}``, shape (d,)."""
        return -self.A @ self.center

    @property
    def log_volume(self) -> float:
        """Logarithm of the d-dimensional volume."""
        return float(np.log(self.radii).sum()) + log_unit_ball_volume(self.dim)

    @property
    def half_widths(self) -> FloatArray:
        """Half of the width in each coordinate, shape (d,)."""
        return np.asarray(np.sqrt(np.square(self.axes * self.radii).sum(axis=1)))

    def gauge(self, points: ArrayLike) -> FloatArray:
        """Return the factor by which the ellipsoid must be scaled about its centre to reach each point.

        Below 1 inside, 1 on the boundary, above 1 outside.

        Parameters
        ----------
        points : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> Ellipsoid([0.0], [[1.0]], [2.0]).gauge([[1.0], [4.0]]).tolist()
        [0.5, 2.0]
        """
        return self._by_chunks(self._points(points), lambda y: _row_norms(np.divide(y, self.radii, out=y)))

    def contains(self, points: ArrayLike, tol: float = MEMBERSHIP_TOLERANCE) -> BoolArray:
        """Return which points have a gauge of at most ``1 + tol``.

        Parameters
        ----------
        points : array-like of shape (n, d)
        tol : float, default=1e-7

        Returns
        -------
        ndarray of bool, shape (n,)

        Examples
        --------
        >>> Ellipsoid([0.0], [[1.0]], [2.0]).contains([[2.0], [2.1]]).tolist()
        [True, False]
        """
        return self.gauge(points) <= 1.0 + tol

    def distance(self, points: ArrayLike) -> FloatArray:
        """Return the Euclidean distance of each point to the ellipsoid, 0 for points inside.

        Parameters
        ----------
        points : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> Ellipsoid([0.0, 0.0], np.eye(2), [2.0, 1.0]).distance([[0.0, 4.0]]).tolist()
        [3.0]
        """
        return self._by_chunks(self._points(points), lambda y: distance_from_axes(y, self.radii))

    def project(self, points: ArrayLike) -> FloatArray:
        """Return the nearest point of the ellipsoid to each point; points inside are their own.

        Parameters
        ----------
        points : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> Ellipsoid([0.0, 0.0], np.eye(2), [2.0, 1.0]).project([[0.0, 4.0], [1.0, 0.0]]).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        z = self._points(points)

        def from_axes(y: FloatArray) -> FloatArray:
            _, shrink = _secular_root(y, self.radii)
            return (np.square(self.radii) * y * shrink) @ self.axes.T

        nearest = self.center + self._by_chunks(z, from_axes, width=self.dim)
        inside = self.contains(z, tol=0.0)
        nearest[inside] = z[inside]  # without rounding
        return nearest

    def grown_to(self, point: ArrayLike) -> Self:
        """Return this ellipsoid, grown about its centre until it contains `point`; itself if it does already.

        Parameters
        ----------
        point : array-like of shape (d,)

        Examples
        --------
        >>> Ellipsoid([0.0, 0.0], np.eye(2), [2.0, 1.0]).grown_to([4.0, 0.0]).radii.round(9).tolist()
        [4.0, 2.0]
        """
        point = as_vector(point, "point", self.dim)[None]
        factor = float(self.gauge(point)[0])
        if factor <= 1.0:
            return self
        factor *= 1.0 + ULPS  # rounding must not leave the point outside
        return type(self).trusted(self.center, self.axes, self.radii * factor)

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> FloatArray:
        """Draw points uniformly from the ellipsoid.

        Parameters
        ----------
        n : int
        rng : numpy.random.Generator, int or None
            A generator, or the seed of a new one.

        Returns
        -------
        ndarray of shape (n, d)

        Examples
        --------
        >>> E = Ellipsoid([5.0, 0.0], np.eye(2), [2.0, 1.0])
        >>> bool(E.contains(E.sample(100, rng=0)).all())
        True
        """
        rng = np.random.default_rng(rng)
        direction = rng.standard_normal((n, self.dim))
        length = rng.random((n, 1)) ** (1.0 / self.dim)
        inside = direction * (length / _row_norms(direction)[:, None])
        return self.center + (inside * self.radii) @ self.axes.T

    def boundary(self, n: int = 128) -> FloatArray:
        """Return points along the closed boundary of an ellipse, for drawing.

        Parameters
        ----------
        n : int, default=128
            The first point is repeated as the last.

        Returns
        -------
        ndarray of shape (n, 2)

        Examples
        --------
        >>> E = Ellipsoid([0.0, 0.0, 0.0], np.eye(3), [3.0, 2.0, 1.0])
        >>> E.shadow([0, 1]).boundary(5).round(6).tolist()[0]
        [3.0, 0.0]
        """
        if self.dim != 2:
            raise InputError("curve-needs-two-dimensions", n_features=self.dim)
        angle = np.linspace(0.0, 2.0 * pi, n)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        return self.center + (circle * self.radii) @ self.axes.T

    def shadow(self, onto: ArrayLike) -> "Ellipsoid":
        """Return the orthogonal projection onto the span of some features or directions.

        Parameters
        ----------
        onto : sequence of m int, or array-like of shape (d, m)
            Feature numbers, or orthonormal columns.

        Returns
        -------
        Ellipsoid
            Of dimension m, in the coordinates of `onto`.

        Examples
        --------
        >>> E = Ellipsoid([0.0, 0.0, 7.0], np.eye(3), [3.0, 2.0, 1.0])
        >>> E.shadow([2, 1]).radii.tolist()
        [2.0, 1.0]
        """
        frame = self._frame(onto)
        return Ellipsoid.from_factor(frame.T @ self.center, (frame.T @ self.axes) * self.radii)

    def slice(self, along: ArrayLike, through: ArrayLike | None = None) -> "Ellipsoid | None":
        """Return the cut with the plane through a point, along some features or directions.

        Parameters
        ----------
        along : sequence of m int, or array-like of shape (d, m)
            Feature numbers, or orthonormal columns.
        through : array-like of shape (d,), optional
            A point of the plane; the centre if not given.

        Returns
        -------
        Ellipsoid or None
            Of dimension m, in the coordinates of `along`; None if the plane misses the ellipsoid.

        Examples
        --------
        >>> E = Ellipsoid([0.0, 0.0, 0.0], np.eye(3), [3.0, 2.0, 1.0])
        >>> E.slice([0, 1], through=[0.0, 0.0, 0.6]).radii.round(6).tolist()
        [2.4, 1.6]
        >>> E.slice([0, 1], through=[0.0, 0.0, 1.5]) is None
        True
        """
        frame = self._frame(along)
        point = self.center if through is None else as_vector(through, "through", self.dim)
        # In coordinates of the unit ball the plane is offset + ball_frame @ t; its point nearest to 0 is the centre.
        ball_frame = (self.axes.T @ frame) / self.radii[:, None]
        offset = (self.axes.T @ (point - self.center)) / self.radii
        left, stretch, right = np.linalg.svd(ball_frame, full_matrices=False)
        on_plane = left.T @ offset
        height = 1.0 - np.square(offset - left @ on_plane).sum()
        if height <= 0.0:
            return None
        center = frame.T @ point - right.T @ (on_plane / stretch)
        longest_first = np.argsort(stretch)
        return Ellipsoid.trusted(center, right[longest_first].T, np.sqrt(height) / stretch[longest_first])

    def _points(self, points: ArrayLike) -> FloatArray:
        z = as_points(points, "points")
        same_features(z, self.dim, "points", "the ellipsoid")
        return z

    def _frame(self, directions: ArrayLike) -> FloatArray:
        frame = np.asarray(directions)
        if frame.ndim == 1 and frame.dtype.kind in "iu" and len(set(frame.tolist())) == len(frame) > 0:
            if frame.min() < 0 or frame.max() >= self.dim:
                raise InputError("features-out-of-range", features=frame.tolist(), last=self.dim - 1)
            return np.eye(self.dim)[:, frame]
        frame = as_points(frame, "directions")
        same_features(frame.T, self.dim, "directions (transposed)", "the ellipsoid")
        if np.abs(frame.T @ frame - np.eye(frame.shape[1])).max() > 1e-8:
            raise InputError("directions-not-orthonormal")
        return frame

    def _by_chunks(
        self, z: FloatArray, from_axes: Callable[[FloatArray], FloatArray], width: int | None = None
    ) -> FloatArray:
        """Apply `from_axes` to the points in the ellipsoid's axes, 1024 at a time: their temporaries fit the cache."""
        if len(z) <= 1024:
            return from_axes((z - self.center) @ self.axes)
        out = np.empty(len(z) if width is None else (len(z), width))
        for rows in chunk_slices(len(z), 1024):
            out[rows] = from_axes((z[rows] - self.center) @ self.axes)
        return out


def _read_only_copy(array: FloatArray) -> FloatArray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def log_unit_ball_volume(d: int) -> float:
    """Return the logarithm of the volume of the unit ball in d dimensions."""
    return 0.5 * d * log(pi) - lgamma(0.5 * d + 1.0)


def distance_from_axes(y: FloatArray, radii: FloatArray) -> FloatArray:
    """Return the distances to an ellipsoid of points in its axes about its centre; each depends on its row alone."""
    t, shrink = _secular_root(y, radii)
    return _row_norms(y * shrink * t[:, None])


def _row_norms(y: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->i", y, y))
    largest = float(np.sqrt(np.finfo(float).max))
    if not norms.max(initial=0.0) <= largest:  # squares have overflowed
        huge = ~(norms <= largest) & np.isfinite(y).all(axis=1)
        size = np.abs(y[huge]).max(axis=1, keepdims=True)
        norms[huge] = size[:, 0] * _row_norms(y[huge] / size)
    return norms


def _secular_root(y: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve the projection's one-dimensional equation for each row of `y` (points in the ellipsoid's axes).

    The nearest point is ``r^2 y / (r^2 + t)`` with the root t >= 0 of ``phi(t) = |r y / (r^2 + t)|^2 = 1``.
    ``phi^-1/2`` is concave and increasing, so Newton from the left climbs to the root and never passes it.

    Returns
    -------
    t : ndarray of shape (n,), 0 for points inside
    shrink : ndarray of shape (n, d), ``1 / (r^2 + t)``
    """
    square = radii * radii
    scaled = np.abs(y) * radii
    outside = _row_norms(y / radii) > 1.0
    # Two lower bounds of the root: by the largest term alone, and with the largest radius in all terms.
    start = np.maximum((scaled - square).max(axis=1), _row_norms(scaled) - square.max())
    t = np.where(outside, np.maximum(start, 0.0), 0.0)
    active = np.flatnonzero(outside)
    while len(active):
        now = t[active]
        inverse = 1.0 / (square + now[:, None])
        terms = np.square(scaled[active] * inverse)
        phi = terms.sum(axis=1)
        slope = np.einsum("ij,ij->i", terms, inverse)
        step = phi * (np.sqrt(phi) - 1.0) / slope
        t[active] = np.maximum(now + step, now)
        # Convergence is quadratic: a smaller step is the last that matters.
        active = active[step > 1e-9 * (now + step)]
    return t, 1.0 / (square + t[:, None])
