"""Rounding in `nearest_points`: where points lie far from the origin, hulls all but touch, or points are many."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sepc.common.typing import FloatArray, IntArray
from sepc.geometry._hulls.hull_gap import norm
from sepc.geometry._hulls.hull_side import Side

# Far from the origin: points this close to it, in multiples of their range, are used as they are. Rounding costs no
# more there than about their own mean, and moving them costs a copy or a pass.
_NEAR = 2.0

# Many points: of more than this some are so near to a hyperplane that the last digits of its normal decide their side.
_CROWDED = 20_000

# Many points, and hulls that all but touch: up to so many points between the bounds, their differences show which
# components of the normal are rounding.
_FEW = 600


def is_far(low: FloatArray, high: FloatArray) -> bool:
    """Return whether points within these bounds are better moved to the origin."""
    return bool(max(float(-low.min()), float(high.max())) > _NEAR * float((high - low).max()))


def is_crowded(n: int) -> bool:
    """Return whether the last digits of a normal decide the side of some of n points."""
    return n > _CROWDED


class PairOnItsWay(Protocol):
    """A pair of nearest points that is being searched for: its sides, the normal between them, and how good it is."""

    tol: float
    normal: FloatArray
    gap: float

    @property
    def free(self) -> Sequence[Side]:
        """Sides whose weights are to be chosen."""

    def difference(self) -> FloatArray:
        """Return the point of A minus that of B."""

    def gap_along(self, w: FloatArray, length: float) -> float:
        """Return the certified gap with the normal w."""


def sharpen(search: PairOnItsWay) -> None:
    """Change the weights between the bounds until the normal is orthogonal to differences of their points.

    Two searches that end with the same undecided points then have the same normal but for rounding, whichever way
    they have come: a point next to the hyperplane is on the same side for both.
    """
    between = [(side, side.between()) for side in search.free]
    if not 1 < sum(len(rows) for _, rows in between) <= _FEW or not all(len(rows) for _, rows in between):
        return
    blocks = [_centred(side, rows) for side, rows in between]
    left, size, axes = np.linalg.svd(np.concatenate(blocks), full_matrices=False)
    rank = np.count_nonzero(size > 1e-10 * size[0])
    if rank >= len(search.normal):
        return
    left, size, axes = left[:, :rank], size[:rank], axes[:rank]
    before = search.normal, search.gap, [(side.share[rows], side.image) for side, rows in between]
    moves = np.split(left @ (-(axes @ search.difference()) / size), [len(blocks[0])])
    for (side, rows), block, move in zip(between, blocks, moves, strict=False):
        side.put_shares(rows, side.share[rows] + move)
        side.image = side.image - side.sign * (move @ block)
    r = search.difference()
    search.normal = r - (axes @ r) @ axes  # without what rounding left
    search.gap = search.gap_along(search.normal, norm(r))
    if search.gap > max(search.tol, before[1]) or not all(side.is_feasible(rows) for side, rows in between):
        search.normal, search.gap = before[:2]
        for (side, rows), (share, image) in zip(between, before[2], strict=True):
            side.put_shares(rows, share)
            side.image = image


def cleaned(sides: list[Side], r: FloatArray) -> FloatArray:
    """Return r without its components along differences of undecided points, which the optimum has not.

    They are rounding. Where the hulls all but touch, they would be what the certificate sees first.
    """
    blocks = []
    for side in sides:
        inside = side.between()
        if 1 < len(inside) <= _FEW:
            block = side.points[inside] - side.shift
            blocks.append(block - block.mean(axis=0))
    if not blocks:
        return r
    _, size, axes = np.linalg.svd(np.concatenate(blocks), full_matrices=False)
    axes = axes[size > 1e-10 * size[0]]
    for _ in range(2):  # the second time for what rounding left of the first
        r = r - (axes @ r) @ axes
    return r


def _centred(side: Side, rows: IntArray) -> FloatArray:
    """Return points about their mean, times what a full share of each adds to the difference of the two images."""
    block = side.points[rows] - side.points[rows[0]]
    result: FloatArray = (-side.sign * side.cap) * (block - block.mean(axis=0))
    return result
