"""Linear structure of records: their moments, their affine hull, and features that depend linearly on others.

A direction of tiny variance is a candidate for a dependence. It counts only if every record obeys it up to the rounding
of its columns to decimals or to their floating-point format; features that are merely correlated do not.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry.chunks import chunks
from sepc.geometry.ellipsoid import FLAT, Ellipsoid
from sepc.geometry.passes import kernels, principal_axes, read_only
from sepc.geometry.threads import one_blas_thread
from sepc.landscapes.constants import RESIDUAL, ROUNDING_SLACK, WORST_RESIDUAL

# Rows for each term; fewer may fit some combination by chance.
_ROWS_PER_TERM = 5
# Significant digits of the coefficients of an equation.
_MOST_DIGITS = 6
_EPS = float(np.finfo(np.float64).eps)
# A column with a standard deviation of at most 8 units in the last place of its mean is constant.
CONSTANT = 8.0 * _EPS


class Moments(NamedTuple):
    """Number, mean and covariance (ddof 0) of some points."""

    n: int
    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, points: FloatArray) -> "Moments":
        """Return the moments of points, shape (n, d), in one pass; a constant column has a variance of exactly 0."""
        with one_blas_thread(points.size):
            origin, mean, _, covariance = kernels().moments(read_only(points), np.ones(points.shape[1]))
        return cls(len(points), origin + mean, covariance)

    @classmethod
    def joint(cls, parts: "Sequence[Moments]") -> "Moments":
        """Return the moments of all points from those of their parts."""
        n = sum(part.n for part in parts)
        start = parts[0].mean
        mean = sum((part.n / n) * (part.mean - start) for part in parts)
        steps = [part.mean - start - mean for part in parts]
        covariance = np.zeros((len(start), len(start)))
        for part, step in zip(parts, steps, strict=True):
            covariance += (part.n / n) * (part.covariance + np.outer(step, step))
        return cls(n, start + mean, covariance)


class AffineHull:
    """Affine hull of all records, given their moments and the unit of length of each feature, shape (d,).

    Where the hull is the whole space (`is_all`), its coordinates are the features themselves.
    """

    def __init__(self, total: Moments, unit: FloatArray) -> None:
        self.mean, self.unit = total.mean, unit
        variance, axes = np.linalg.eigh(total.covariance / np.outer(unit, unit))
        self.axes = axes[:, ::-1]
        # One point has dimension 0, but an ellipsoid needs one.
        self.dimension = max(int(np.count_nonzero(variance >= FLAT**2)), 1)
        self.is_all = self.dimension == len(unit)

    @property
    def length(self) -> FloatArray:
        """Units of length of the coordinates."""
        return self.unit if self.is_all else np.ones(self.dimension)

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the coordinates of points in the hull, shape (n, dimension)."""
        if self.is_all:
            return points
        basis = self.axes[:, : self.dimension]
        inside = np.concatenate([((x - self.mean) / self.unit) @ basis for x in chunks(points)])
        inside.setflags(write=False)
        return inside

    def in_original_units(self, E: Ellipsoid) -> Ellipsoid:
        """Return an ellipsoid of the hull in the original units, with the radius `FLAT` across the hull."""
        if self.is_all:
            return E
        basis, across = np.split(self.axes, [self.dimension], axis=1)
        factor = np.hstack([basis @ (E.axes * E.radii), across * FLAT]) * self.unit[:, None]
        axes, radii = principal_axes(factor)
        return Ellipsoid.trusted(self.mean + self.unit * (basis @ E.center), axes.T, radii)


class Relation(NamedTuple):
    """One feature as a linear combination of others, ``x[feature] = coefficients @ x[others] + constant``.

    `worst` is the largest deviation of a record, `scale` the standard deviation of the feature.
    """

    feature: int
    others: tuple[int, ...]
    coefficients: tuple[float, ...]
    constant: float
    worst: float
    scale: float

    @property
    def terms(self) -> tuple[int, ...]:
        """The features of both sides."""
        return (self.feature, *self.others)

    def text(self, names: Sequence[str]) -> str:
        """Return the relation as an equation between named features."""
        terms = [(c, names[j]) for c, j in zip(self.coefficients, self.others, strict=True)]
        if self.constant:
            # A sum that starts with a minus sign reads better with its constant in front.
            terms.insert(0 if all(c < 0.0 for c, _ in terms) else len(terms), (self.constant, ""))
        return f"{names[self.feature]} = {combination(terms)}"


def combination(terms: Sequence[tuple[float, str]]) -> str:
    """Return a sum of coefficients times names as text."""
    text = ""
    for c, name in terms:
        sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
        size = f"{abs(c):.{_MOST_DIGITS}g}"
        text += sign + (name if size == "1" and name else f"{size} {name}".strip())
    return text or "0"


def flat_directions(covariance: FloatArray, below: float) -> tuple[FloatArray, IntArray]:
    """Return the directions, shape (d, m), with a standard deviation less than `below`, and their leading features.

    Each direction has the entry 1 at its own leading feature, and 0 at those of the others.
    """
    variance, axes = np.linalg.eigh(covariance)
    null = axes[:, np.sqrt(np.maximum(variance, 0.0)) < below]
    if not null.shape[1]:
        return null, np.empty(0, np.int64)
    leading = qr(null.T, mode="r", pivoting=True)[1][: null.shape[1]]
    return null @ np.linalg.inv(null[leading]), leading


def is_constant(column: FloatArray) -> bool:
    """Return whether the known values of a column are the same, up to rounding."""
    return bool(np.nanstd(column) <= CONSTANT * abs(np.nanmean(column)))


def known_relations(X: FloatArray, scale: FloatArray, covariance: FloatArray) -> list[Relation]:
    """Return what `linear_relations` does, of records with NaN where values are missing.

    Relations are those of the complete records that hold in all others too, as far as their values are known. Features
    that most records lack take no part.
    """
    gaps = np.isnan(X)
    if not gaps.any():
        return linear_relations(X, scale, covariance)
    usual = np.where(2 * np.count_nonzero(gaps, axis=0) <= len(X), scale, 0.0)
    complete = ~gaps[:, usual > 0.0].any(axis=1)
    if not complete.any():
        return []
    whole = np.where(usual > 0.0, X, 0.0)[complete]
    moments = Moments.of(np.ascontiguousarray(whole))
    scale = np.sqrt(moments.covariance.diagonal())
    scale = np.where(scale > CONSTANT * np.abs(moments.mean), scale, 0.0)
    return [one for one in linear_relations(whole, scale, moments.covariance) if _holds_everywhere(one, X)]


def linear_relations(X: FloatArray, scale: FloatArray, covariance: FloatArray) -> list[Relation]:
    """Return the features that are linear combinations of others, up to rounding.

    `scale` has their standard deviations; constant features have 0 and take no part. The covariance may be in any
    units.
    """
    varying = np.flatnonzero(scale > 0.0)
    if len(varying) < 2 or len(X) < _ROWS_PER_TERM * 2:
        return []
    spread = np.sqrt(covariance[varying, varying])
    _, leading = flat_directions(covariance[np.ix_(varying, varying)] / np.outer(spread, spread), RESIDUAL)
    free = np.setdiff1d(np.arange(len(varying)), leading)
    sample = X[:: -(-len(X) // 4000)]  # to estimate coefficients, which are checked on all rows
    center = sample[0] + (sample - sample[0]).mean(axis=0)
    found = []
    for feature in leading:
        relation = _NearlyConstantSum(X, sample, center, scale, varying[np.append(free, feature)]).relation()
        if relation is not None and _terms_vary(X, relation):
            found.append(relation)
    return sorted(found)


def _terms_vary(X: FloatArray, relation: Relation) -> bool:
    """Return whether each term has another than its most frequent value in enough records to show a dependence."""
    frequent = (np.unique(X[:, j], return_counts=True)[1].max() for j in relation.terms)
    return bool(len(X) - max(frequent) >= _ROWS_PER_TERM)


def _holds_everywhere(relation: Relation, X: FloatArray) -> bool:
    """Return whether a relation holds in all records, shape (n, d), of which the values of its terms are known."""
    rest = X[:, relation.feature] - X[:, list(relation.others)] @ np.array(relation.coefficients) - relation.constant
    return not (np.abs(rest) > max(relation.worst, WORST_RESIDUAL * relation.scale)).any()


class _NearlyConstantSum:
    """Weighted sum of some features that is nearly constant, and whether rounding explains its variation."""

    def __init__(
        self, X: FloatArray, sample: FloatArray, center: FloatArray, scale: FloatArray, terms: IntArray
    ) -> None:
        self.X, self.sample, self.center, self.scale = X, sample, center, scale
        self.terms = terms
        self.weights, self.residual = self.estimate(terms)
        # Drop terms that contribute no more than the residual.
        matter = np.abs(self.weights * scale[terms]) > 3.0 * self.residual
        if not matter.all():
            weights, residual = self.estimate(terms[matter])
            if residual <= 1.5 * self.residual + 64.0 * _EPS * scale[terms[-1]]:
                self.terms, self.weights, self.residual = terms[matter], weights, residual

    def estimate(self, terms: IntArray) -> tuple[FloatArray, float]:
        """Return weights of sum 0 over the records, 1 for the last feature, and the RMS of that sum."""
        Z = (self.sample[:, terms] - self.center[terms]) / self.scale[terms]
        slopes = np.linalg.lstsq(Z[:, :-1], Z[:, -1], rcond=None)[0]
        left = float(np.sqrt(np.square(Z[:, -1] - Z[:, :-1] @ slopes).mean()))
        last = self.scale[terms[-1]]
        return np.append(-slopes * last / self.scale[terms[:-1]], 1.0), left * last

    def relation(self) -> Relation | None:
        """Return the combination, solved for one feature in the simplest numbers; None if it is no dependence."""
        if len(self.terms) < 2 or len(self.X) < _ROWS_PER_TERM * len(self.terms):
            return None
        lead = max(range(len(self.terms)), key=self.simplicity)
        feature, others = self.terms[lead], np.delete(self.terms, lead)
        slopes = np.delete(-self.weights / self.weights[lead], lead)
        if self.residual / abs(self.weights[lead]) > RESIDUAL * self.scale[feature]:
            return None
        resolutions = np.array([_resolution(self.X[:, j]) for j in (*others, feature)])
        sizes = np.array([np.abs(self.X[:, j]).max() for j in (*others, feature)])
        for digits in (*range(1, _MOST_DIGITS + 1), 17):
            shares = _to_digits(slopes, digits)
            rounding = float(
                np.append(np.abs(shares), 1.0) @ (0.5 * ROUNDING_SLACK * resolutions + 16.0 * _EPS * sizes)
            )
            bound = min(rounding, WORST_RESIDUAL * float(self.scale[feature]))
            rest = self.X[:, feature] - self.X[:, others] @ shares
            constant = _simplest(0.5 * float(rest.max() + rest.min()), bound)
            worst = float(np.abs(rest - constant).max())
            if worst <= bound:
                order = np.argsort(others)
                return Relation(
                    int(feature),
                    tuple(others[order].tolist()),
                    tuple(shares[order].tolist()),
                    constant,
                    worst,
                    float(self.scale[feature]),
                )
        return None

    def simplicity(self, lead: int) -> tuple[int, int, int]:
        """Rank a feature as the left-hand side: whole coefficients, positive ones, a later column."""
        slopes = np.delete(-self.weights / self.weights[lead], lead)
        spread = np.delete(self.scale[self.terms], lead)
        off = np.abs(slopes - np.round(slopes)) * spread
        whole = off <= 3.0 * self.residual / abs(self.weights[lead]) + 1e-9 * spread
        return (
            int(np.count_nonzero(whole & (np.round(slopes) != 0.0))),
            int((slopes > 0.0).sum()),
            int(self.terms[lead]),
        )


def _resolution(column: FloatArray) -> float:
    """Return the step between the values that a column can take: of its decimals, or of its floating-point format."""
    size = float(np.abs(column).max())
    for decimals in range(11):  # as many as people or instruments write
        scaled = column * 10.0**decimals
        blur = 4.0 * _EPS * size * 10.0**decimals
        if blur > 0.01:  # any number would pass
            break
        if np.abs(scaled - np.round(scaled)).max() <= blur:
            return float(10.0**-decimals)
    with np.errstate(over="ignore"):  # numbers beyond single precision become infinite, and differ
        single = bool((column == column.astype(np.float32)).all())
    return size * float(np.finfo(np.float32 if single else np.float64).eps)


def _to_digits(values: FloatArray, digits: int) -> FloatArray:
    return np.array([float(f"{value:.{digits}g}") for value in values.tolist()])


def _simplest(value: float, tolerance: float) -> float:
    """Return the number with the fewest digits within half the tolerance of a value, 0 if that is."""
    if abs(value) <= 0.5 * tolerance:
        return 0.0
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= 0.5 * tolerance:
            return short
    return value
