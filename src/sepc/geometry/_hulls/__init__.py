"""Solvers behind `nearest_points`: which of them runs when, and why.

The weights of all but a few points are 0 or the cap: with the normal w they are on the points lowest along it in A, on
the highest in B. A smooth stage finds w: Newton's method on the dual problem, with the caps rounded off over a slab.
Then the shares of the points at the two thresholds are left to find. The last column names the module that runs;
the numbers that choose among the stages stand in `hull_search`, those of a stage itself at the head of its module.
A set is free unless its cap leaves nothing but equal weights.

Where to search:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
no free set, or centroids     nothing: the centroids         they are the answer                 hull_search
that coincide
at most 1000                  the first round in four        calls from the interpreter would    small_hulls
points of both sets           compiled steps; the next rows  take longer than the work
                              where that cannot be
                              certified
a set of more                 a sample first, then the       most points are decided by a rough  hull_search
than 3 (300 + 50 d) points    points it leaves unsure        normal already
fewer points                  all points at once             a sample would cost as much         hull_search
more than 300 points still    points far from the            they are decided                    smooth_hulls
in play                       thresholds are dropped
samples that all but meet     one in four of the points      enough to show that the hulls       smooth_hulls
                              inside of the slabs            meet; all of them where it is not
============================  =============================  ==================================  ====================

How the shares are found:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
first round                   slabs that narrow until they   the normal is all that counts,      slabs.narrow,
                              hold 100 + 4 d points, by      and each step is a pass over        slabs.newton
                              compiled Newton steps          columns, with a d by d system
first and later rounds, the   the proximal point method:     starts from the shares found        slabs.refine
hulls do not meet             slabs about the last shares    before, ends at the exact ones
a round in vain               three times as many points     the dropped points decide           hull_search
the smooth stage fails, or    the exact stage, an interior   independent of how w was found;     box_problem
all points were chosen and    point over the box of shares   slower, as it needs the points
it was in vain                                               about their means in each step
============================  =============================  ==================================  ====================

Where rounding decides:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
points more than twice their  they are moved to the mean;    differences keep their digits       hull_search
range from the origin         many, a part at a time
hulls that all but touch      the normal without components  these are rounding, and the         hull_search
                              between undecided points       certificate would see them first
more than 20 000 points, or   the same with the shares       a point next to the hyperplane is   hull_search
the exact stage was in vain   moved along                    on one side however w was found;
                                                             a normal a millionth of the range
                                                             long needs shares to the last bit
============================  =============================  ==================================  ====================
"""

import numpy as np

from sepc.common.typing import FloatArray

# Hulls nearer to each other than this share of the data's range meet.
MEETING_TOLERANCE = 1e-8


def certified_gap(distance: float, lower: float, data_range: float) -> float:
    """Return the certified gap of a pair at this distance where no pair is nearer than `lower`."""
    if distance == 0.0:
        return 0.0
    gap = max((distance - lower) / distance, 0.0)
    if distance <= MEETING_TOLERANCE * data_range:
        return min(gap, distance / data_range)
    return gap


def support(score: FloatArray, cap: float) -> float:
    """Return the largest weighted mean of `score`, shape (n,), with weights of at most `cap` and sum 1."""
    n = len(score)
    full = min(int(1.0 / cap + 1e-9), n - 1)
    ordered = np.partition(score, n - full - 1)
    threshold = float(ordered[n - full - 1])
    return threshold * (cap * (1.0 / cap)) + cap * float((ordered[n - full :] - threshold).sum())
