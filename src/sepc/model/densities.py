"""Blocks of a partition as components of class densities: the probability of each class at a point, by Bayes' formula.

The paper remarks that each ellipsoid may be seen as a local Gaussian. Here each block becomes a component with the mean
and the covariance of its points. A covariance of few points is shrunk towards what all blocks have in common, and the
distribution is Student's t: a point far from everything is then no reason for certainty. The posterior varies within a
region and beyond all of them, so that it ranks points with the same counts.

Features of categories may be modelled apart: mean and covariance are then those of the other features, and the shares
of the values among the block's points are factors of the density; see `category_shares`.

Missing values (NaN) are integrated out: see `LocalDensities.marginal`. `mixtures` makes densities of blocks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import softmax

from sepc.common.typing import BoolArray, FloatArray, IntArray
from sepc.common.validation import has_gaps
from sepc.geometry.chunks import chunk_slices
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import CategoryShares
from sepc.model.constants import DEGREES_OF_FREEDOM
from sepc.model.incomplete import as_far_in, distances, log_constant

# Values further away than this, in units of the features, are as good as infinite, but can be computed with.
FARTHEST = 1e9
# Logarithms that differ by less are taken for equal: where nothing is known, say, several regions are equally likely.
ROUNDING = 1e-9
# From this number of features on a table of all products of two of them costs more than a product for each component,
# and LAPACK inverts a triangle in less time than NumPy a matrix.
MANY_FEATURES = 48
# Rows of a product: the same number for all blocks, so that no row depends on the others or on its place.
_ROWS = 128
# Numbers in a table of monomials, or in the forms that are kept: more of them would fill the memory.
_TABLE = 1 << 22


@dataclass(frozen=True, eq=False, slots=True)
class LocalDensities:
    """Components around blocks of training points, each of one class.

    The squared Mahalanobis distance to a component is a polynomial of the second degree in the features, so that one
    matrix product gives those of many points to all components.

    Attributes
    ----------
    center, unit : ndarray of shape (d,)
        Densities are those of ``(x - center) / unit``, without the features of `shares`.
    coefficients : ndarray of shape ((d + 1) * (d + 2) / 2, n_components)
        Of these polynomials: products of two features, features, the constant.
    codes : ndarray of int, shape (n_components,)
        Class of each component, ascending.
    log_weights : ndarray of shape (n_components,)
        Logarithms of the prior of its class, its share of that class, and its scale.
    n_classes : int
    shares : CategoryShares or None
        Of the values of categories that are modelled apart.
    degrees_of_freedom : float
        Of the t distributions of all components.
    """

    center: FloatArray
    unit: FloatArray
    coefficients: FloatArray
    codes: IntArray
    log_weights: FloatArray
    n_classes: int
    shares: CategoryShares | None = None
    degrees_of_freedom: float = DEGREES_OF_FREEDOM

    @property
    def numbers(self) -> IntArray | slice:
        """The features that distances are measured in: all but those of `shares`."""
        if self.shares is None:
            return slice(None)
        categories = self.shares.categories
        return categories.numbers(len(self.unit) + len(categories.features))

    def frames(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield centre c and frame F, shapes (d,) and (d, d), of each component: distances are ``|F' (x - c)|``."""
        yield from (self.frame(k) for k in range(len(self.codes)))

    def frame(self, component: int) -> tuple[FloatArray, FloatArray]:
        """Return centre and frame of one component, as `frames` yields them, in the features of `numbers`."""
        d = len(self.unit)
        i, j = pairs(d + 1)
        form = np.empty((d + 1, d + 1))
        form[i, j] = form[j, i] = self.coefficients[:, component] * np.where(i == j, 1.0, 0.5)
        middle = -np.linalg.solve(form[:d, :d], form[:d, d])
        return self.center + self.unit * middle, np.linalg.cholesky(form[:d, :d]) / self.unit[:, None]

    def mean(self, component: int) -> FloatArray:
        """Return the mean of a component's points, shape (d,), in all features; shares of values are smoothed."""
        center = self.frame(component)[0]
        if self.shares is None:
            return center
        categories = self.shares.categories
        out = np.empty(len(center) + len(categories.features))
        out[self.numbers] = center
        out[categories.features] = categories.no + self.shares.shares(component) * (categories.yes - categories.no)
        return out

    def size(self, component: int, n: int) -> int:
        """Return the number of training points, of n in all, that made a component.

        Its weight is its share of these points over its scale, and the frame gives the scale: no count need be kept.
        """
        log_scale = -float(np.log(self.frame(component)[1].diagonal() * self.unit).sum())
        return round(n * float(np.exp(self.log_weights[component] + log_scale)))

    def posterior(self, points: FloatArray) -> FloatArray:
        """Return the probability of each class at each point, shape (n, n_classes); rows sum to 1."""
        return np.asarray(softmax(self.log_joint(points), axis=1))

    def log_joint(self, points: FloatArray) -> FloatArray:
        """Return the logarithm of each class's prior times its density, up to one constant, shape (n, n_classes).

        With missing values the odds between classes are those of the known values. The density is that of a complete
        point that is as unlikely; see `incomplete`.
        """
        out = np.full((len(points), self.n_classes), -np.inf)
        classes, first, n_components = np.unique(self.codes, return_index=True, return_counts=True)
        for rows, n, by_component in self._blocks(points):
            # All classes at once: there may be many of them, with a few components each.
            top = np.maximum.reduceat(by_component, first, axis=1)
            by_component -= np.repeat(top, n_components, axis=1)
            top += np.log(np.add.reduceat(np.exp(by_component, out=by_component), first, axis=1))
            out[rows if isinstance(rows, slice) else rows[:, None], classes] = top[:n]
        return out

    def by_component(self, points: FloatArray) -> FloatArray:
        """Return the logarithm of each component's weight times its density, shape (n, n_components).

        `log_joint` adds up these numbers, class by class.
        """
        out = np.empty((len(points), len(self.codes)))
        for rows, n, by_component in self._blocks(points):
            out[rows] = by_component[:n]
        return out

    def log_joint_in(self, unit: FloatArray, points: FloatArray) -> FloatArray:
        """Return the same for densities per volume in other units of length, of shape (d,)."""
        return np.asarray(self.log_joint(points) + np.log(unit).sum() - np.log(self.unit).sum())

    def of_classes(self) -> list[tuple[int, slice]]:
        """Return the number and the components of each class that has any."""
        bounds = np.searchsorted(self.codes, range(self.n_classes + 1)).tolist()
        return [(k, slice(first, end)) for k, (first, end) in enumerate(pairwise(bounds)) if end > first]

    def of_class(self, code: int) -> "LocalDensities":
        """Return the components of one class alone."""
        own = self.codes == code
        return replace(
            self,
            coefficients=np.ascontiguousarray(self.coefficients[:, own]),
            codes=self.codes[own],
            log_weights=self.log_weights[own],
            shares=None if self.shares is None else self.shares.of_components(own),
        )

    def claims(self, points: FloatArray, code: int | None = None) -> IntArray:
        """Return the component to which each point most likely belongs, of one class if it is given, shape (n,)."""
        first, end = (0, len(self.codes)) if code is None else np.searchsorted(self.codes, [code, code + 1])
        out = np.empty(len(points), dtype=np.int64)
        for rows, n, by_component in self._blocks(points):
            out[rows] = first + by_component[:n, first:end].argmax(axis=1)
        return out

    def claims_within(self, points: FloatArray, codes: IntArray) -> IntArray:
        """Return the component to which each point most likely belongs among those of its own class, shape (n,)."""
        out = np.empty(len(points), dtype=np.int64)
        for rows, n, by_component in self._blocks(points):
            own = self.codes == codes[rows][:, None]
            out[rows] = first_largest(np.where(own, by_component[:n], -np.inf), axis=1)
        return out

    def known_of(self, point: FloatArray) -> BoolArray:
        """Return the known features of a point, shape (d,); none of a category that is known in part only."""
        known = ~np.isnan(point)
        return known if self.shares is None else self.shares.categories.known_as_a_whole(known)

    def marginal(self, known: BoolArray) -> "LocalDensities":
        """Return the densities of the `known` features, shape (d,), all others integrated out.

        Of a category that is modelled apart all features must be known, or none.
        """
        means, covariances = self.moments()
        shares = None if self.shares is None else self.shares.among(np.flatnonzero(known))
        inside = np.flatnonzero(known[self.numbers])
        coefficients, log_scales = components_of(means[:, inside], covariances[:, inside[:, None], inside])
        wider = 0.5 * np.linalg.slogdet(covariances)[1] - log_scales + self._log_constants(len(inside))
        return replace(
            self,
            center=self.center[inside],
            unit=self.unit[inside],
            coefficients=coefficients,
            log_weights=self.log_weights + wider,
            shares=shares,
        )

    def _log_constants(self, known: IntArray | int) -> FloatArray:
        """Return the difference of the log constants of the t distribution in `known` features and in all."""
        return log_constant(known, self.degrees_of_freedom) - log_constant(len(self.unit), self.degrees_of_freedom)

    def middles(self) -> tuple[FloatArray, FloatArray]:
        """Return means and precisions of the components, (n_components, d) and (n_components, d, d), in its units."""
        d = len(self.unit)
        i, j = pairs(d + 1)
        form = np.empty((len(self.codes), d + 1, d + 1))
        form[:, i, j] = form[:, j, i] = self.coefficients.T * np.where(i == j, 1.0, 0.5)
        precisions = np.ascontiguousarray(form[:, :d, :d])
        return np.asarray(-np.linalg.solve(precisions, form[:, :d, d:])[..., 0], dtype=np.float64), precisions

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return means and covariances of the components, (n_components, d) and (n_components, d, d), in its units."""
        means, precisions = self.middles()
        return means, np.asarray(np.linalg.inv(precisions), dtype=np.float64)

    def _blocks(self, points: FloatArray) -> Iterator[tuple[slice | IntArray, int, FloatArray]]:
        """Yield rows, their number n, and `_by_component` of them, perhaps with padding after the first n rows."""
        if not has_gaps(points):
            for rows, logs, log_shares in self._logs(points):
                yield rows, rows.stop - rows.start, self._by_component(logs, log_shares)
            return
        gaps = np.isnan(points)
        whole, incomplete = (np.flatnonzero(gaps.any(axis=1) == which) for which in (False, True))
        for among, n, by_component in self._blocks(points[whole]):
            yield whole[among], n, by_component
        means, precisions = self.middles()
        incomplete = incomplete[np.lexsort(gaps[incomplete].T)]  # those with the same gaps together
        for some in chunk_slices(len(incomplete), 1024):
            mine = incomplete[some]
            yield mine, len(mine), self._incomplete(points[mine], means, precisions)

    def _incomplete(self, points: FloatArray, means: FloatArray, precisions: FloatArray) -> FloatArray:
        """Return `_by_component` of points with missing values, by the `middles` of the components."""
        z = np.clip((points[:, self.numbers] - self.center) / self.unit, -FARTHEST, FARTHEST)
        square, log_pivots = distances(z, means, precisions)
        known = np.count_nonzero(~np.isnan(z), axis=1)[:, None]
        log_shares: FloatArray | float = 0.0
        of_missing: FloatArray | float = 0.0
        if self.shares is not None:
            log_shares, of_missing, beyond = self.shares.of_incomplete(points)
            square += beyond[:, None]
        square /= self.degrees_of_freedom
        logs = np.log1p(square)
        wider = self._log_constants(known) - log_pivots
        by_component = self.log_weights + wider - 0.5 * (self.degrees_of_freedom + known) * logs + log_shares
        far = as_far_in(square, known, len(self.unit), self.degrees_of_freedom)
        as_complete = self._by_component(far, log_shares + of_missing)
        return np.asarray(by_component + (log_sum_exp(as_complete) - log_sum_exp(by_component))[:, None])

    def _logs(self, points: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray | float]]:
        """Yield rows, log(1 + squared distances / degrees of freedom), and logarithms of shares.

        Both have the shape (n, n_components), with padding after these rows.
        """
        squares, numbers = quadratics(self.coefficients, len(self.unit)), self.numbers
        block = np.zeros((squares.n_rows, points.shape[1]))
        with one_blas_thread(squares.n_rows * len(self.coefficients)):
            for rows in chunk_slices(len(points), squares.n_rows):
                block[: rows.stop - rows.start] = points[rows]
                z = np.clip((block[:, numbers] - self.center) / self.unit, -FARTHEST, FARTHEST)
                square = squares(z)
                if self.shares is not None:
                    square += self.shares.categories.squares_beyond(block).sum(axis=1, keepdims=True)
                np.maximum(square, 0.0, out=square)
                square *= 1.0 / self.degrees_of_freedom
                square += 1.0
                yield rows, np.log(square, out=square), 0.0 if self.shares is None else self.shares.log_shares(block)

    def _by_component(self, logs: FloatArray, log_shares: FloatArray | float) -> FloatArray:
        """Return the logarithm of each component's weight times its density from what `_logs` yields; overwrites it."""
        logs *= -0.5 * (self.degrees_of_freedom + len(self.unit))
        logs += self.log_weights
        logs += log_shares
        return logs


def log_sum_exp(logs: FloatArray) -> FloatArray:
    """Return the logarithm of the sum of exponentials of each row, shape (n,)."""
    # SciPy's checks would take a third of a prediction's time.
    top = logs.max(axis=1)
    total: FloatArray = np.exp(logs - top[:, None]).sum(axis=1)
    return np.asarray(top + np.log(total))


def first_largest(values: FloatArray, axis: int) -> IntArray:
    """Return the number of the first entry along an axis that is the largest, or equal to it but for rounding."""
    return np.asarray((values >= values.max(axis=axis, keepdims=True) - ROUNDING).argmax(axis=axis))


def components_of(means: FloatArray, covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return squared distances to components as coefficients of `pairs`, and the logarithms of the scales.

    `means` and `covariances` have the shapes (n_components, d) and (n_components, d, d); the coefficients
    ((d + 1) * (d + 2) / 2, n_components).
    """
    d = means.shape[1]
    factors = np.linalg.cholesky(covariances)
    whiten = (
        np.linalg.inv(factors) if d < MANY_FEATURES else np.array([dtrtri(factor, lower=1)[0] for factor in factors])
    )
    # The square of |whiten (z - mean)|, as a form in (z, 1).
    lifted = np.concatenate([whiten, -whiten @ means[:, :, None]], axis=2)
    forms = lifted.transpose(0, 2, 1) @ lifted
    i, j = pairs(d + 1)
    log_scales = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    return np.ascontiguousarray((forms[:, i, j] * np.where(i == j, 1.0, 2.0)).T), log_scales


def quadratics(coefficients: FloatArray, d: int) -> "ByMonomials | ByForms":
    """Return polynomials in d features with these coefficients, shape ((d + 1) * (d + 2) / 2, n_polynomials)."""
    by_forms = d + 1 >= MANY_FEATURES and coefficients.shape[1] <= 24
    return ByForms(coefficients, d) if by_forms else ByMonomials(coefficients, d)


class ByMonomials:
    """Polynomials of the second degree as one matrix product with a table of monomials.

    A polynomial in d features has ``n (n + 1) / 2`` coefficients with ``n = d + 1``: of the products of two features,
    of the features, and the constant, in the order of `pairs`. With many features the table of all such products is
    far larger than the points: then each of a few polynomials is evaluated by itself (`ByForms`).
    """

    def __init__(self, coefficients: FloatArray, d: int) -> None:
        self.coefficients = coefficients
        self.n_rows = min(max(_TABLE // len(coefficients), 1), _ROWS)
        # By features, not by points: what lies side by side in memory is multiplied. To allocate these tables anew for
        # each block would cost more time than what is done in them.
        self.lifted = np.ones((d + 1, self.n_rows))
        self.monomials = np.empty((len(coefficients), self.n_rows))
        self.factors = np.empty_like(self.monomials) if d + 1 < MANY_FEATURES else None

    def __call__(self, z: FloatArray) -> FloatArray:
        """Return the value of each polynomial at `n_rows` points, shape (n_rows, n_polynomials)."""
        self.lifted[:-1] = z.T
        self._multiply()
        values: FloatArray = self.monomials.T @ self.coefficients
        return values

    def _multiply(self) -> None:
        lifted, out, n = self.lifted, self.monomials, len(self.lifted)
        if self.factors is not None:
            # With mode="clip" NumPy writes into `out` without a buffer.
            for which, table in zip(pairs(n), (out, self.factors), strict=True):
                lifted.take(which, axis=0, out=table, mode="clip")
            out *= self.factors
            return
        first = 0
        for k in range(n):
            # The same products; copying both factors of each would take most of the time.
            np.multiply(lifted[k:], lifted[k], out=out[first : first + n - k])
            first += n - k


class ByForms:
    """Polynomials one after the other, each as a form ``(z, 1) T (z, 1)'`` with an upper triangle T."""

    def __init__(self, coefficients: FloatArray, d: int) -> None:
        self.coefficients = coefficients
        self.n_rows = _ROWS
        # Rows end with zeros at a multiple of 64 bytes: sums over rows that begin elsewhere may differ in the last bit.
        n = -(-(d + 1) // 8) * 8
        self.n, self.lifted, self.image = d + 1, np.zeros((_ROWS, n)), np.empty((_ROWS, n))
        self.lifted[:, d] = 1.0
        self.values = np.empty((_ROWS, coefficients.shape[1]))
        kept = coefficients.shape[1] if n * n * coefficients.shape[1] <= _TABLE else 1
        self.forms = np.zeros((kept, n, n))
        if kept > 1:
            for k in range(kept):
                self._unpack(k, self.forms[k])

    def __call__(self, z: FloatArray) -> FloatArray:
        """Return the values, as `ByMonomials` does; the next call overwrites them."""
        self.lifted[:, : self.n - 1] = z
        for k, value in enumerate(self.values.T):
            form = self.forms[k if len(self.forms) > 1 else 0]
            if len(self.forms) == 1:
                self._unpack(k, form)
            np.dot(self.lifted, form, out=self.image)
            np.einsum("ij,ij->i", self.image, self.lifted, out=value)
        return self.values

    def _unpack(self, k: int, form: FloatArray) -> None:
        own, first, n = self.coefficients[:, k].copy(), 0, self.n
        for row in range(n):
            form[row, row:n] = own[first : first + n - row]
            first += n - row


@cache
def pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return the two factors of each product of two of n numbers."""
    i, j = np.triu_indices(n)
    return i, j
