"""Class densities in a graph: as `sepc.model.densities`, with missing values integrated out.

The squared distance to a component is a form, by its precision matrix P. With the known values in place, the unknown
ones are eliminated from it one after the other: the rest is the squared distance by the known features, and the pivots
multiply to the determinant of P among the unknown ones. With few gaps these are small matrices.
"""

from typing import NamedTuple

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.model.category_shares import Categories, CategoryShares
from sepc.model.constants import BEYOND
from sepc.model.densities import FARTHEST, LocalDensities
from sepc.model.incomplete import log_constant
from sepc.serving.graphs.functions import as_far_in, first_largest, log_sum_exp
from sepc.serving.graphs.graph import Graph, Operand, Tensor

# Numbers in the forms of one pass over records with missing values.
_AT_ONCE = 1 << 18


class Points(NamedTuple):
    """Points in the units of densities, shape (n, d), and whether any value of them is missing, a scalar."""

    Z: Tensor
    have_gaps: Tensor

    @classmethod
    def of(cls, g: Graph, Z: Tensor) -> "Points":
        """Return points with what is known of their gaps."""
        return cls(Z, g.isnan(g.op("ReduceSum", g.clip(Z, -FARTHEST, FARTHEST), keepdims=0)))

    def filled(self, g: Graph) -> Tensor:
        """Return the points with 0 in place of missing values."""
        return g.if_any(self.have_gaps, lambda: g.where(g.isnan(self.Z), 0.0, self.Z), self.Z)

    def known(self, g: Graph, d: int) -> Tensor:
        """Return the share of known features, of d, shape (n,)."""
        return g.if_any(
            self.have_gaps,
            lambda: 1.0 - g.sum(g.floats(g.isnan(self.Z)), 1) / float(d),
            g.rows_of(self.Z, 1.0),
        )


def by_component(g: Graph, densities: LocalDensities, points: Points) -> Tensor:
    """Return what `LocalDensities.by_component` does, shape (n, n_components)."""
    numbers = points.Z if densities.shares is None else g.take(points.Z, densities.numbers, axis=1)
    z = g.clip((numbers - densities.center) / densities.unit, -FARTHEST, FARTHEST)
    squares, log_shares = _squares(g, densities, z), _log_shares(g, densities.shares, points.Z)
    logs = g.log(1.0 + (squares + log_shares.beyond) / densities.degrees_of_freedom)
    whole = _log_densities(densities, logs, log_shares.known)

    def with_gaps() -> Tensor:
        rows = g.op("Squeeze", g.op("NonZero", g.any(g.isnan(points.Z), 1)), np.array([0]))
        found = _incomplete(g, densities, g.take(z, rows), _log_shares(g, densities.shares, g.take(points.Z, rows)))
        return g.op("ScatterND", whole, g.expanded(rows, 1), found)

    return g.if_any(points.have_gaps, with_gaps, whole)


def log_joint(g: Graph, densities: LocalDensities, of_components: Tensor) -> tuple[Tensor, Tensor]:
    """Return `LocalDensities.log_joint`, and the likeliest component of each class, both of shape (n, n_classes)."""
    members = _members(densities.codes, densities.n_classes)
    nothing = g.expanded(g.rows_of(of_components, -np.inf), 1)
    by_class = g.take(g.concat([of_components, nothing], 1), members, axis=1)
    likeliest = first_largest(g, by_class, 2) + np.arange(densities.n_classes) * members.shape[1]
    return log_sum_exp(g, by_class, 2), g.take(members.ravel(), likeliest)


def _members(codes: IntArray, n_classes: int) -> IntArray:
    """Return the components of each class, shape (n_classes, most), filled up by the number of components."""
    of_each = [np.flatnonzero(codes == k) for k in range(n_classes)]
    most = max(len(own) for own in of_each)
    return np.array([np.pad(own, (0, most - len(own)), constant_values=len(codes)) for own in of_each])


def _squares(g: Graph, densities: LocalDensities, z: Tensor) -> Tensor:
    """Return squared distances of complete points to components, shape (n, n_components)."""
    d, k = len(densities.unit), len(densities.codes)
    if d == 0:
        return g.expanded(g.rows_of(z, 0.0), 1) * np.ones(k)
    means, precisions = densities.middles()
    frames = np.linalg.cholesky(precisions)
    offsets = (frames.transpose(0, 2, 1) @ means[..., None])[..., 0]
    images = g.op("Gemm", z, frames.transpose(1, 0, 2).reshape(d, k * d), -offsets.ravel())
    return g.square_sum(g.reshape(images, 0, k, d), 2)


def _log_densities(densities: LocalDensities, logs: Tensor, log_shares: Operand) -> Tensor:
    power = -0.5 * (densities.degrees_of_freedom + len(densities.unit))
    joint: Tensor = logs * power + densities.log_weights + log_shares
    return joint


class _Shares(NamedTuple):
    """Logarithms of shares of categories: of known values, the expected ones of others; squares of what is beyond."""

    known: Operand = 0.0
    expected: Operand = 0.0
    beyond: Operand = 0.0


def _log_shares(g: Graph, shares: CategoryShares | None, Z: Tensor) -> _Shares:
    """Return what `CategoryShares.of_incomplete` does; a category with any gap is not known."""
    if shares is None:
        return _Shares()
    categories, of_group = shares.categories, _groups(shares.categories)
    values = g.take(Z, categories.features, axis=1)
    known = 1.0 - g.minimum(g.floats(g.isnan(values)) @ of_group, 1.0)
    held = (g.where(g.isnan(values), categories.no, values) - categories.no) / (categories.yes - categories.no)
    within = g.clip(held, 0.0, 1.0)
    possible = within / g.maximum((within @ of_group) @ of_group.T, 1.0)
    is_known = known @ of_group.T
    beyond = (held - possible) * is_known / BEYOND
    of_each = [np.vstack([c, shares.slopes[at] + c]) for c, at in zip(shares.constants, categories.slices, strict=True)]
    expected = np.array([(np.exp(logs) * logs).sum(axis=0) for logs in of_each])
    logs = (possible * is_known) @ shares.slopes + known @ shares.constants
    return _Shares(logs, (1.0 - known) @ expected, g.expanded(g.square_sum(beyond, 1), 1))


def _groups(categories: Categories) -> FloatArray:
    """Return which feature belongs to which category, shape (n_features_of_all_groups, n_groups)."""
    sizes = [len(group) for group in categories.groups]
    return np.repeat(np.eye(len(sizes)), sizes, axis=0)


def _incomplete(g: Graph, densities: LocalDensities, z: Tensor, shares: _Shares) -> Tensor:
    """Return the log densities of points with gaps by component, as `LocalDensities` does."""
    d, dof = len(densities.unit), densities.degrees_of_freedom
    if d:
        squares, log_pivots = _marginal_squares(g, densities, z)
        known = float(d) - g.sum(g.floats(g.isnan(z)), 1, keepdims=True)
    else:
        squares = log_pivots = _squares(g, densities, z)
        known = g.expanded(g.rows_of(z, 0.0), 1)
    squares = squares + shares.beyond
    constants = np.array([float(log_constant(m, dof)) for m in range(d + 1)]) - float(log_constant(d, dof))
    wider = g.take(constants, g.integers(known)) - 0.5 * log_pivots
    logs = g.log(1.0 + squares / dof)
    found: Tensor = densities.log_weights + wider - 0.5 * (known + dof) * logs + shares.known
    far = as_far_in(g, squares, known, d, dof)
    as_complete = _log_densities(densities, far, shares.known) + shares.expected
    return found + g.expanded(log_sum_exp(g, as_complete, 1) - log_sum_exp(g, found, 1), 1)


def _marginal_squares(g: Graph, densities: LocalDensities, z: Tensor) -> tuple[Tensor, Tensor]:
    """Return squared distances by the known features, and logs of the pivots of the others, (n, n_components) each.

    A few records are taken at once, so that the forms fit into memory.
    """
    d, k = len(densities.unit), len(densities.codes)
    (means, precisions), n = densities.middles(), g.size(z)
    n_rows = g.minimum(n, np.array([max(_AT_ONCE // (k * d * d), 1)]))
    each = g.op("Range", np.array(0), g.op("Squeeze", n_rows), np.array(1))

    def one_pass(i: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        rows = g.minimum(i * n_rows + each, n - np.array([1]))  # the last pass repeats the last record
        return [], _eliminated(g, means, precisions, g.take(z, rows))

    found = g.loop(g.op("Squeeze", (n + n_rows - np.array([1])) / n_rows), [], one_pass)
    squares, log_pivots = (g.op("Slice", g.reshape(one, -1, k), np.array([0]), n) for one in found)
    return squares, log_pivots


def _eliminated(g: Graph, means: FloatArray, precisions: FloatArray, z: Tensor) -> list[Tensor]:
    """Return squares and logs of pivots, (n, n_components) each, of a few points."""
    k, d = means.shape
    gaps = g.floats(g.isnan(z))
    # Differences first: near the middle of a component small squares keep all their digits.
    away = g.where(g.isnan(z), 0.0, z - means[:, None])
    slopes = away @ precisions
    squares = g.sum(slopes * away, 2)
    n_gaps = g.op("ReduceMax", g.sum(gaps, 1), keepdims=0)
    is_gap, which = g.ops("TopK", gaps, g.reshape(g.integers(n_gaps), 1), n=2, axis=1)
    place = g.expanded(which, 2) * np.array(d) + g.expanded(which, 1)
    both = g.expanded(is_gap, 2) * g.expanded(is_gap, 1)
    same = g.floats(g.expanded(which, 2).equals(g.expanded(which, 1)))
    # Where a record has fewer gaps than others, a 1 on the diagonal stands for what is not eliminated.
    among = g.take(precisions.reshape(k, d * d), place, axis=1) * both + same * (1.0 - both)
    of_gaps = g.op("Expand", g.expanded(which, 0), g.concat([np.array([k]), g.shape(which)], 0))
    slopes = g.take_along(slopes, of_gaps, axis=2) * is_gap

    def eliminate(
        i: Tensor, among: Tensor, slopes: Tensor, squares: Tensor, log_pivots: Tensor
    ) -> tuple[tuple[Tensor, ...], tuple[()]]:
        column, slope = g.take(among, i, axis=3), g.expanded(g.take(slopes, i, axis=2), 2)
        pivot = g.expanded(g.take(column, i, axis=2), 2)
        scaled = column / pivot
        among = among - g.expanded(scaled, 3) * g.expanded(column, 2)
        squares = squares - g.op("Squeeze", slope * slope / pivot, np.array([2]))
        log_pivots = log_pivots + g.op("Squeeze", g.log(pivot), np.array([2]))
        return (among, slopes - scaled * slope, squares, log_pivots), ()

    state = among, slopes, squares, g.zeros_like(squares)
    _, _, squares, log_pivots = g.loop(g.integers(n_gaps), state, eliminate)
    return [g.transposed(g.maximum(squares, 0.0), 1, 0), g.transposed(log_pivots, 1, 0)]
