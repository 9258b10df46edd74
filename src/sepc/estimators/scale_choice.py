"""The choice of the scales of columns: as they are, signed logarithms or normal scores (see `model.column_scales`).

Columns with heavy tails propose another scale, by the weight of their tails: the distance of their median from the 1 %
or the 99 % quantile, over that from the quartile on the same side, whichever is larger; 3.4 for a normal distribution,
5.6 for an exponential one, 32 for Cauchy's. Where there is none, nothing is computed and all columns stay as they are.

Held-out records decide: the columns with heavy tails are tried as they are, all as signed logarithms, and all as normal
scores. Each time the blocks of three partitions, each without a third of the records, are the components of densities.
Another scale is chosen if the log loss of the held-out records is clearly less.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sepc.common.typing import BoolArray, FloatArray
from sepc.estimators.constants import CHOOSING_RECORDS, HEAVY_TAILS, LEAST_VALUES
from sepc.estimators.density_fit import HeldOutFit, Search
from sepc.estimators.records import Core, core_rows
from sepc.geometry.chunks import Extents
from sepc.geometry.threads import one_blas_thread
from sepc.model.category_shares import found_categories, moments_about
from sepc.model.column_scales import ColumnScales, Curves
from sepc.partitions.run import PartitionOptions
from sepc.partitions.units import location_and_unit


class ChosenScales(NamedTuple):
    """The functions of the columns that are not to stay as they are; None if all are.

    And the partitions that showed it, in the chosen units; None if no column has heavy tails.
    """

    curves: Curves | None = None
    search: Search | None = None


def chosen_scales(
    core: Core, classes: NDArray[Any], n_imp: int | float | None, options: PartitionOptions
) -> ChosenScales:
    """Choose the scales of columns, by records in their original units, class by class in canonical order."""
    heavy = np.flatnonzero(has_heavy_tails(core.with_gaps))
    if not len(heavy):
        return ChosenScales()
    some = _some(core)
    tried = [None, *(Curves.of(core.with_gaps, heavy, np.full(len(heavy), ranked)) for ranked in (False, True))]
    trials: list[_Trial] = []
    with one_blas_thread():
        for curves in tried:
            trials.append(_Trial.of(some, curves, classes, n_imp, options, trials[0].search if trials else None))
    default = trials[0].fit
    losses = [one.fit.loss if one.fit.is_clearly_better_than(default) else np.inf for one in trials]
    best = int(np.argmin(losses))  # the first one where none is better
    return ChosenScales(tried[best], trials[best].search)


def curves_like(curves: Curves | None, X: FloatArray) -> Curves | None:
    """Return the functions of such a choice for other columns: of those of points, shape (n, d), with heavy tails."""
    if curves is None or not len(heavy := np.flatnonzero(has_heavy_tails(X))):
        return None
    return Curves.of(X, heavy, np.full(len(heavy), curves.ranked[0]))


def has_heavy_tails(X: FloatArray) -> BoolArray:
    """Return which columns of points, shape (n, d), have heavy tails and more than a few values; NaN is unknown."""
    return np.array([_is_heavy(column[~np.isnan(column)]) for column in X.T])


def _is_heavy(values: FloatArray) -> bool:
    if len(values) < LEAST_VALUES:
        return False
    low, first, middle, third, high = np.quantile(values, [0.01, 0.25, 0.5, 0.75, 0.99]).tolist()
    is_heavy = high - middle > HEAVY_TAILS * (third - middle) or middle - low > HEAVY_TAILS * (middle - first)
    return is_heavy and len(np.unique(values)) >= LEAST_VALUES


def _some(core: Core) -> Core:
    """Return few enough records for the choice to take little time: at even distances, but small classes whole."""
    places = np.arange(len(core.codes), dtype=np.uint64)
    return core.of(core_rows(np.bincount(core.codes), places, CHOOSING_RECORDS))


class _Trial(NamedTuple):
    """Partitions on some scale, and the best fit of their blocks as they are."""

    search: Search
    fit: HeldOutFit

    @classmethod
    def of(
        cls,
        core: Core,
        curves: Curves | None,
        classes: NDArray[Any],
        n_imp: int | float | None,
        options: PartitionOptions,
        like: Search | None = None,
    ) -> Self:
        """Partition a core on scales with these functions, without the same parts as in another search."""
        points = core.points.copy()
        scales = ColumnScales.of(points, curves)
        points = (points - scales.mean) / scales.scale
        extents = Extents.of([points[core.codes == k] for k in range(len(classes))])
        categories = found_categories(extents, lambda at: moments_about(at, points), scales.mean, scales.scale)
        unit, on_scales = location_and_unit(points)[1], Core(points, core.codes, core.gaps)
        search = Search.of(on_scales, classes, unit, n_imp, options, like)
        return cls(search, search.simplest(categories))
