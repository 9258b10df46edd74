"""Functions that ONNX does not have: ranks, smooth functions by pieces, scales of columns."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import cheb2poly, chebvander
from scipy.special import betaincinv, expit, ndtri

from sepc.common.typing import FloatArray
from sepc.model.column_scales import LARGEST_SCORE, ColumnScales, Curves
from sepc.model.densities import ROUNDING
from sepc.model.incomplete import log_odds_in
from sepc.serving.graphs.graph import Graph, Operand, Tensor

# Degree of the polynomials. On pieces that are shorter than the distance to the nearest complex pole by a factor of
# six, the error is that of rounding.
_DEGREE = 13
# Range of the logarithm of squared distances over the degrees of freedom; beyond, a straight line goes on.
_NEAREST, _FARTHEST = -100.0, 40.0


class Pieces(NamedTuple):
    """Smooth functions of one number by polynomials on pieces of equal length.

    `coefficients` have the shape (n_functions * n_pieces, degree + 1), the highest power first, in half lengths of a
    piece from its middle.
    """

    low: float
    high: float
    n_pieces: int
    coefficients: FloatArray

    @classmethod
    def of(
        cls, functions: list[Callable[[FloatArray], FloatArray]], low: float, high: float, n_pieces: int
    ) -> "Pieces":
        """Return functions between two numbers."""
        half, every = 0.5 * (high - low) / n_pieces, np.arange(_DEGREE + 1)
        nodes: FloatArray = np.cos(np.pi * (every + 0.5) / len(every))
        # From values at the nodes by way of Chebyshev polynomials, which keep all digits, to powers.
        weights: FloatArray = chebvander(nodes, _DEGREE) * np.where(every == 0, 1.0, 2.0) / len(every)
        ones = np.eye(_DEGREE + 1)
        powers = np.array([np.pad(cheb2poly(ones[k, : k + 1]), (0, _DEGREE - k)) for k in every.tolist()])
        x = low + half * (2.0 * np.arange(n_pieces)[:, None] + 1.0 + nodes)
        coefficients = np.concatenate([function(x) for function in functions]) @ weights @ powers
        return cls(low, high, n_pieces, coefficients[:, ::-1].copy())

    def at(self, g: Graph, x: Tensor, which: Tensor | None = None) -> Tensor:
        """Return the functions of numbers between `low` and `high`; `which` are their numbers, if there are several."""
        along = (x - self.low) * (self.n_pieces / (self.high - self.low))
        piece = g.clip(g.op("Floor", along), 0.0, self.n_pieces - 1.0)
        row = g.integers(piece)
        if which is not None:
            row = row + which * np.array(self.n_pieces)
        u, total = 2.0 * (along - piece) - 1.0, None
        for power in self.coefficients.T:
            coefficient = g.take(power, row)
            total = coefficient if total is None else total * u + coefficient
        assert total is not None
        return total


@cache
def _normal_quantiles() -> Pieces:
    """Return the normal quantile as a function of the logit of a share, for scores up to `LARGEST_SCORE`."""
    return Pieces.of([lambda logit: np.asarray(ndtri(expit(logit)))], -7.0, 7.0, 28)


@cache
def _comparable_distances(d: int, dof: float) -> Pieces:
    """Return what turns log squared distances over `dof` in fewer features into as unlikely ones in d features.

    The k-th function is for k known features, up to d; the one for none does not matter.
    """

    def function(known: int) -> Callable[[FloatArray], FloatArray]:
        return lambda logs: log_odds_in(np.exp(logs), known, d, dof)

    return Pieces.of([function(max(known, 1)) for known in range(d + 1)], _NEAREST, _FARTHEST, 140)


def as_far_in(g: Graph, squares: Tensor, known: Tensor, d: int, dof: float) -> Tensor:
    """Return what `sepc.model.incomplete.as_far_in` does, for squared distances, shape (n, n_components).

    `known`, shape (n, 1), are numbers of known features, of d.
    """
    q = squares / dof
    logs = g.log(1.0 + q)
    if d == 0:
        return logs
    t = g.log(g.maximum(q, np.exp(_NEAREST)))
    which = g.op("Expand", g.integers(known), g.shape(squares))
    s = _comparable_distances(d, dof).at(g, g.minimum(t, _FARTHEST), which) + g.maximum(t - _FARTHEST, 0.0)
    far = g.maximum(s, 0.0) + log1p(g, g.exp(-g.op("Abs", s)))
    far = g.where(q <= 0.0, 0.0, far)
    half_of_all = -np.log(betaincinv(0.5 * dof, 0.5 * d, 0.5))
    far = g.where(known <= 0.0, half_of_all, far)
    return g.where(known >= float(d), logs, far)


def log1p(g: Graph, x: Tensor) -> Tensor:
    """Return log(1 + x) of numbers from 0 on, to the last digits also where x is small."""
    more = 1.0 + x
    left = more - 1.0
    return g.where(left <= 0.0, x, g.log(more) * x / g.where(left <= 0.0, 1.0, left))


def log_sum_exp(g: Graph, logs: Tensor, axis: int) -> Tensor:
    """Return the logarithm of the sum of exponentials along an axis; minus infinity where all are."""
    top = g.maximum(g.max(logs, axis, keepdims=True), -1e300)
    return g.op("Squeeze", top, np.array([axis])) + g.log(g.sum(g.exp(logs - top), axis))


def first_largest(g: Graph, values: Tensor, axis: int) -> Tensor:
    """Return what `sepc.model.densities.first_largest` does."""
    return g.argmax(g.floats(values >= g.max(values, axis, keepdims=True) - ROUNDING), axis)


def softmax(g: Graph, logs: Tensor) -> Tensor:
    """Return exponentials that add up to 1 in each row."""
    found = g.exp(logs - g.max(logs, 1, keepdims=True))
    return found / g.sum(found, 1, keepdims=True)


def rank(g: Graph, tables: FloatArray, x: Tensor, which: Operand = 0) -> Tensor:
    """Return how many numbers of an ascending table are at most x, of the shape of x.

    `tables` have the shape (n_tables, n_numbers); `which` is the table of each x.
    """
    n = tables.shape[1]
    width = 1 << int(n).bit_length()  # larger than n: the last entry is infinite
    flat = np.pad(tables, ((0, 0), (0, width - n)), constant_values=np.inf).ravel()
    start = which * np.array(width)
    found: Operand = np.array(0)
    step = width // 2
    while step:
        further = found + np.array(step)
        is_least = g.take(flat, start + (further - np.array(1))) <= x
        found = g.where(is_least, further, found)
        step //= 2
    return g.tensor(found)


def scaled(g: Graph, X: Tensor, scales: ColumnScales) -> Tensor:
    """Return points, shape (n, d), in the units of a model."""
    curves = scales.curves
    for ranked in (False, True):
        of_kind = np.flatnonzero(curves.ranked == ranked)
        if len(of_kind):
            columns = curves.columns[of_kind]
            bent = (_scores if ranked else _logs)(g, g.take(X, columns, axis=1), curves, of_kind)
            if len(columns) == len(scales.mean):
                X = bent if (columns == np.arange(len(columns))).all() else g.take(bent, np.argsort(columns), axis=1)
            else:
                both = np.concatenate([np.setdiff1d(np.arange(len(scales.mean)), columns), columns])
                rest = g.take(X, both[: len(both) - len(columns)], axis=1)
                X = g.take(g.concat([rest, bent], 1), np.argsort(both), axis=1)
    return (X - scales.mean) / scales.scale


def _logs(g: Graph, x: Tensor, curves: Curves, of_kind: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Tensor:
    t = (x - curves.middle[of_kind]) / curves.length[of_kind]
    return g.op("Sign", t) * log1p(g, g.op("Abs", t))


def _scores(g: Graph, x: Tensor, curves: Curves, of_kind: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> Tensor:
    """Return normal scores of columns: by quantiles, and beyond them along a line in the signed logarithm."""
    is_missing, known, shares = g.isnan(x), curves.quantiles[:, of_kind].T, curves.shares
    x = g.where(is_missing, 0.0, x)
    n, m = known.shape[1], len(of_kind)
    every = np.arange(m)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.nan_to_num(np.diff(shares) / np.diff(known), posinf=0.0)
    first = np.array([shares[np.searchsorted(row, row, side="left")] for row in known])
    # Below the first quantile no piece counts, and above the last one neither.
    piece = g.clip(
        rank(g, known, g.where(g.isnan(x), 0.0, x), every) - np.array(1), np.array(0), np.array(max(n - 2, 0))
    )
    at = piece + every * n
    start = g.take(known.ravel(), at)
    up = g.take(np.tile(shares, m), at) + g.take(np.pad(slopes, ((0, 0), (0, 1))).ravel(), at) * (x - start)
    share = 0.5 * (up + g.where(x.equals(start), g.take(first.ravel(), at), up))
    share = g.clip(share, shares[0], shares[-1])
    scores = _normal_quantiles().at(g, g.log(share / (1.0 - share)))
    logs = _logs(g, x, curves, of_kind)
    for end, side, sign in ((-1, "Greater", 1.0), (0, "Less", -1.0)):
        edge = known[:, end]
        tails = [curves.tail(k, end) for k in of_kind.tolist()]
        starts, steep = (np.array(values) for values in zip(*tails, strict=True))
        beyond = sign * LARGEST_SCORE + steep * (logs - starts)
        scores = g.where(x.equals(edge), sign * LARGEST_SCORE, scores)
        scores = g.where(g.op(side, x, edge), beyond, scores)
    return g.where(is_missing, np.nan, scores)
