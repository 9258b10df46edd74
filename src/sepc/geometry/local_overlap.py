"""The local overlap of ellipsoids: how alike two of them are at a point, each read as a normal distribution."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from sepc.common.typing import IntArray
from sepc.geometry.ellipsoid import is_held
from sepc.geometry.stack import EllipsoidStack


def local_overlap(xp: Any, stack: EllipsoidStack, gauges: Iterable[Any], group: IntArray) -> Any:
    """Return how alike the two ellipsoids of different groups are that hold a point and are most alike there.

    Each ellipsoid is read as the normal distribution that `overlap_coefficient` reads it as. With the densities f and g
    of two of them at the point, they are alike there by ``min(f, g) / (f + g)``: one half where the densities are
    equal, next to 0 where one of them is far the larger. It compares two densities, and limits no error.

    Parameters
    ----------
    xp : module
        Library of the arrays.
    stack : EllipsoidStack
    gauges : iterable of arrays of shape (n,)
        Of the points under each ellipsoid.
    group : ndarray of int, shape (n_ellipsoids,)
        The group of each, 0, 1, ...; there are two or more.

    Returns
    -------
    array of shape (n,)
        Between 0 and one half; NaN for points that no two ellipsoids of different groups hold. The same after any
        common affine map.
    """
    # Group after group: those that an ellipsoid is compared with lie side by side.
    by_group = sorted(zip(group.tolist(), stack.ellipsoids, gauges, strict=True), key=lambda one: one[0])
    groups = [k for k, _, _ in by_group]
    logs = xp.stack([-0.5 * (stack.dim + 2.0) * gauge * gauge - E.log_volume for _, E, gauge in by_group], axis=1)
    held = xp.stack([is_held(gauge) for _, _, gauge in by_group], axis=1)
    gap = xp.full_like(logs[:, 0], xp.inf)
    for k, own in enumerate(groups[: groups.index(groups[-1])]):
        later = slice(bisect_right(groups, own), None)
        both = held[:, later] & held[:, k : k + 1]
        gap = xp.minimum(gap, xp.min(xp.where(both, xp.abs(logs[:, later] - logs[:, k : k + 1]), xp.inf), axis=1))
    ratio = xp.exp(-gap)
    return xp.where(gap < xp.inf, ratio / (1.0 + ratio), xp.nan)
