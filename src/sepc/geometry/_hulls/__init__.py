"""Solvers behind `nearest_points`: which of them runs when, and why.

The weights of all but a few points are 0 or the cap: along the normal w, the lowest points of A and the highest of B
have the cap. A smooth stage finds w: Newton's method on the dual problem, smoothed over a slab at each threshold. Then
the shares (weight divided by cap) of the points at the two thresholds are determined. The last column names the module;
the numbers that choose among the stages are in `hull_search`, those of a stage in its module. A set is free unless its
cap allows equal weights only.

Where to search:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
no free set, or centroids     nothing: the centroids         they are the answer                 hull_search
that coincide
at most 1000                  the first round in a few       the interpreter would take longer   small_hulls
points of both sets           calls; the next rows           than the work
                              where that cannot be
                              certified
a set of more                 a sample first, then the       a rough normal decides most points  hull_search
than 3 (300 + 50 d) points    points it leaves undecided
fewer points                  all points at once             a sample would cost as much         hull_search
more than 300 points          points far from the            they are decided                    smooth_hulls
undecided                     thresholds are dropped
samples that all but meet     one in four of the points      enough to show that the hulls       smooth_hulls
                              inside of the slabs            meet; else all of them follow
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
a round without progress      three times as many points     the dropped points decide           hull_search
the smooth stage fails, or    the exact stage, an interior   independent of how w was found;     box_problem
makes no progress with all    point over the box of shares   slower, as it needs the points
points                                                       about their means in each step
============================  =============================  ==================================  ====================

Where rounding decides:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
points more than twice their  they are moved to the mean;    differences keep their digits       hull_search
range from the origin         many, a part at a time
hulls that all but touch      the normal without components  these are rounding, and the         hull_search
                              between undecided points       certificate would see them first
more than 20 000 points, or   the same, with the shares      the side of a point next to the     hull_search
the exact stage made no       adjusted                       hyperplane must not depend on the
progress                                                     path; a normal of a millionth of
                                                             the range needs exact shares
============================  =============================  ==================================  ====================
"""

import numpy as np

from sepc.common.typing import FloatArray

# Hulls meet if their distance is at most this share of the data's range.
MEETING_TOLERANCE = 1e-8


def certified_gap(distance: float, lower: float, data_range: float) -> float:
    """Return the certified gap of a pair at this distance, given a lower bound of all distances."""
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
