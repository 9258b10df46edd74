"""Solvers behind `min_volume_ellipsoid`: which of them runs when, and why.

The optimal design is sought on working sets, by interior-point steps whose cost is a Newton system. N points of rank
r are lifted to n = r + 1 entries; a moment matrix has n (n + 1) / 2 distinct ones. The last column names the module
that runs; the numbers that choose stand in `design` (few or many points, small or large working sets) and
`large_interior_point` (the forms of its systems), those of a case itself in its module.

Where to search:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
rank 0                        nothing: equal weights         copies of one point                 design_search
few points, with              the next row, on a short       the interpreter would take longer   ellipsoid_of_few
small working sets            path                           than the kernels
few points                    all outer points at once, to   one pass certifies it as a rule;    design_search
                              the end; the next row where    working sets would need several
                              that cannot be certified
many points                   first steps over a fading      a rough design already shows the    design_search
                              uniform design, then working   points that a small set lacks
                              sets near the boundary
many copies of few points     the same, each point once      copies fill a working set and       mve
                                                             make it singular
============================  =============================  ==================================  ====================

The short path is for at most 1000 points of at most 48 features, and for working sets that the compiled interior point
solves; where it ends without a certificate, the next row starts from the beginning. Points are few if N <= 10 n, or if
N times the entries of a moment matrix is at most 120 000 and either these entries are at most 36 or the body is not
evenly filled.

The initial working set:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
few, N <= 10 n                all but the inner points       nearly all may carry weight         outer_rows
the same, some stick out      4 n, or 0.6 N of them          the outermost support it            outer_rows
few, N <= 30 n (or 135)       those above a part of the      a comparison takes less time than   outer_rows
                              mean leverage                  a selection
few, more of them             the 10 n (or 45) outermost     enough, as a rule                   outer_rows
many, some stick out          10 n, then those that stick    few points support the ellipsoid    design_search
                              out after each step
many, evenly filled           larger sets, sooner            up to n (n + 1) / 2 support points, design_search
                                                             and many others near them
============================  =============================  ==================================  ====================

A body is evenly filled where the first gap, that of equal weights, is at most 0.5 (`design`).

The solver of a working set of k points, by the order min(k, n (n + 1) / 2) of its Newton matrix:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
order <= 120 and at most      the compiled interior point,   calls into NumPy and LAPACK would   small_interior_point
6 million products            over pairs of points or over   take longer than the work
                              matrices, the smaller one
larger                        the interior point that calls  BLAS beats compiled loops           large_interior_point
                              LAPACK, with one of the next
                              three forms of its system
k < 350, k <= 3/4 n (n + 1)   pairs of points, order k       the smaller matrix                  Pairs
k < 350, more points          symmetric matrices, of order   does not grow with the points       Matrices
                              n (n + 1) / 2
k >= 350                      conjugate gradients with the   most points are far from the        CorePairs
                              factor of a core as            boundary
                              preconditioner; matrices
                              where that is less work
============================  =============================  ==================================  ====================

With more than 60 entries of a lifted point, frames of designs and their transformation to the units of the data use
BLAS and LAPACK, and so do principal axes with more than 48 features (`passes`): with 300 features compiled loops would
take two to ten times as long.

How a design becomes optimal to rounding, from a gap of 1e-5 on, or from the tolerance on if the body is evenly filled:

============================  =============================  ==================================  ====================
Case                          What runs                      Why                                 Module
============================  =============================  ==================================  ====================
at most 120 support points    Newton's method on these       a gap of 1e-7 may be 1e-4 in the    small_interior_point
                              alone, compiled                shape where points without weight
                                                             lie on the ellipsoid
more                          the same with LAPACK           BLAS beats compiled loops           large_interior_point
it fails                      the interior point, to the     an evenly filled body may have      design
                              tolerance; then once more      more points near its boundary
                                                             than can be distinguished
points beyond the working     another working set, twice at  they would carry weight, too        design_search
set stick out by more than    most if the points are many
1e-10
============================  =============================  ==================================  ====================

There are two interior points since neither suits all sizes; times of one alone, in multiples of those of both:

============================  =============================  ==================================
Ellipsoid of                  Compiled alone                 LAPACK alone
============================  =============================  ==================================
50 points in 2 dimensions     1.0                            9.5 to 12
200 points in 4 dimensions    1.0                            7 to 9
2000 points in 10 dimensions  1.0                            1.9
569 points in 30 dimensions   1.0                            1.0
2000 points in 30 dimensions  1.0 to 2.0, if evenly filled   1.0
3000 points in 57 dimensions  1.9 to 3.1, if evenly filled   1.0
============================  =============================  ==================================
"""
