"""Claims about the method itself: what the paper says of hulls, ellipsoids, overlap and trust in general.

Each is measured on small cases, and each that does not hold has a counterexample that a reader can run.
"""

from math import inf, sqrt
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.svm import NuSVC

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import ellipse, legend, panels, scatter
from paper.paper_readings import MAIN, READINGS
from paper.statements import Expectation, Statement, Values, spread_in_words
from sepc.common.typing import FloatArray
from sepc.geometry.coefficient import overlap_coefficient
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.hulls import linearly_separable, nearest_points
from sepc.geometry.mve import min_volume_ellipsoid
from sepc.geometry.separation import separate
from sepc.landscapes.data_landscape import landscape
from sepc.model.decision import trust_of
from sepc.plot.style import class_styles, label_axes, style

_N_POINTS, _N_TEST = 50, 20_000
_GAP = 0.005  # between the strips
_FAR = 4.0  # standard deviations between the centres of two normal distributions
_N_PASSES = 100


def strips(seed: int) -> tuple[FloatArray, FloatArray]:
    """Return points of two thin strips, one above the other, that a line separates.

    Examples
    --------
    >>> A, B = strips(0)
    >>> bool(A[:, 1].max() < B[:, 1].min())
    True
    """
    A, B = np.random.default_rng(seed).uniform([0.0, 0.0], [1.0, 0.1], (2, _N_POINTS, 2))
    return A, B + np.array([0.0, 0.1 + _GAP])


def printed_loop(A: FloatArray, B: FloatArray, n_imp: int) -> int:
    """Return how often lines 13 and 14 of Algorithm 1 run, exactly as printed, up to a hundred times.

    Examples
    --------
    >>> A, B = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[5.0, 5.0], [6.0, 5.0], [5.0, 6.0]])
    >>> printed_loop(A, B, 1), printed_loop(A, B, 0)
    (0, 100)
    """
    for n_passes in range(_N_PASSES):
        if np.count_nonzero(min_volume_ellipsoid(A).ellipsoid.contains(B)) < n_imp:
            return n_passes
        A = _printed_split(A, B)
    return _N_PASSES


def _printed_split(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the first part of Algorithm 2, all of it where the ellipsoids are disjoint."""
    if separate(*(min_volume_ellipsoid(X).ellipsoid for X in (A, B))).disjoint:
        return A
    pair = nearest_points(A, B)
    return A[(A - pair.c) @ pair.normal >= 0.0]


def _measure(seed: int) -> dict[str, float]:
    """Return all cases of one seed."""
    return {
        **_of_strips(seed),
        **_of_hulls(seed),
        **_of_dual(seed),
        **_of_ellipsoids(seed),
        **_of_overlap(seed),
        **_of_trust(),
        **_of_balance(seed),
        **_of_loop(seed),
    }


def _of_strips(seed: int) -> dict[str, float]:
    A, B = strips(seed)
    E, F = (min_volume_ellipsoid(X).ellipsoid for X in (A, B))
    return {
        "strips.separable": linearly_separable(A, B),
        "strips.ellipsoids": not separate(E, F).disjoint,
        "strips.hulls": nearest_points(A, B).meet,
        "strips.n_exit": len(READINGS["exit"].partition(A, B, 0).blocks),
        "strips.n_main": len(MAIN.partition(A, B, 0).blocks),
    }


def _of_hulls(seed: int) -> dict[str, float]:
    """Return how far the nearest points of reduced hulls are from the centroids, for equal and unequal sizes."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 1.0
    equal, unequal = nearest_points(A, B), nearest_points(A, B[:30])
    return {
        "hulls.equal": max(np.abs(equal.c - A.mean(axis=0)).max(), np.abs(equal.d - B.mean(axis=0)).max()),
        "hulls.smaller": np.abs(unequal.d - B[:30].mean(axis=0)).max(),
        "hulls.larger": np.abs(unequal.c - A.mean(axis=0)).max(),
    }


def _of_dual(seed: int) -> dict[str, float]:
    """Return the cosine between the normals of the reduced hulls and of the nu-SVM that is their dual."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((60, 3)), rng.standard_normal((40, 3)) + 1.0
    found = {}
    for key, k in (("least", 40), ("less", 32)):
        normal = nearest_points(A, B, cap=1.0 / k).normal
        # Slightly below the largest nu that is feasible.
        model = NuSVC(nu=2.0 * k / 100.0 * (1.0 - 1e-9), kernel="linear", tol=1e-6, max_iter=100_000)
        w = model.fit(np.vstack([A, B]), np.repeat([1, 0], [60, 40])).coef_[0]
        found[f"dual.{key}"] = w @ normal / (np.linalg.norm(w) * np.linalg.norm(normal))
    return found


def _of_ellipsoids(seed: int) -> dict[str, float]:
    """Return what holds of ellipsoids of few points, of disjoint ones, and of the form ``|A z + b| <= 1``."""
    rng = np.random.default_rng(seed)
    d = 6
    X = rng.standard_normal((40, d)) + 3.0
    E, F = min_volume_ellipsoid(X).ellipsoid, min_volume_ellipsoid(X + 20.0).ellipsoid
    found = separate(E, F)
    assert found.hyperplane is not None, "two sets this far apart are disjoint"
    normal, offset = found.hyperplane
    reach = [np.linalg.norm(one.axes.T @ normal * one.radii) for one in (E, F)]
    form = E.axes / E.radii @ E.axes.T
    small, large = (Ellipsoid(np.zeros(d), np.eye(d), np.full(d, r)) for r in (1.0, 2.0))
    return {
        "few.rank": max(min_volume_ellipsoid(X[:n]).rank - (n - 1) for n in range(1, d + 1)),
        "few.full": min_volume_ellipsoid(X[: d + 1]).rank - d,
        "apart.margin": min(abs(normal @ one.center - offset) - r for one, r in zip((E, F), reach, strict=True)),
        "form.center": np.abs(-form @ E.center - E.center).max(),
        "form.volume": np.exp(large.log_volume - small.log_volume) / sqrt(2.0**d),
    }


def _of_overlap(seed: int) -> dict[str, float]:
    """Return what overlap ratio and overlapping coefficient say of two sets."""
    rng = np.random.default_rng(seed)
    inner, outer = 0.1 * rng.standard_normal((40, 2)), rng.standard_normal((400, 2))
    view = landscape(np.vstack([inner, outer]), np.repeat(["inner", "outer"], [40, 400]))
    centers = np.zeros(2), np.array([_FAR, 0.0])
    radius = np.full(2, sqrt(4.0))  # the uniform distribution on it has unit variance: radius squared over d + 2
    E, F = (Ellipsoid(center, np.eye(2), radius) for center in centers)
    f, g = (multivariate_normal(center) for center in centers)
    x, y = rng.standard_normal((2, _N_TEST, 2))
    errors = np.mean(f.pdf(x) < g.pdf(x)) + np.mean(f.pdf(y + centers[1]) > g.pdf(y + centers[1]))
    halfway = centers[1] / 2.0
    ovl = overlap_coefficient(E, F)
    return {
        "inside.ovr": view.overlaps[0].ovr[1],
        "inside.separable": linearly_separable(inner, outer),
        "ovl.same": overlap_coefficient(E, E),
        "ovl.far": overlap_coefficient(E, Ellipsoid(np.full(2, 100.0), np.eye(2), radius)),
        "ovl.sum": abs(errors - ovl),
        "ovl.between": ovl,
        "ovl.halfway": min(f.pdf(halfway), g.pdf(halfway)) / (f.pdf(halfway) + g.pdf(halfway)),
        "ovl.ratio": 0.5 / ovl,
    }


def _of_trust() -> dict[str, float]:
    """Return what the paper's formula gives for chosen counts."""
    cases = {
        "balanced": (10, 2, 1000, 1000),
        "minority": (10, 2, 10, 1000),
        "pure": (10, 0, 10, 1000),
        "equal": (10, 10, 438, 204),
    }
    found = {
        f"trust.{key}": float(trust_of(np.array(own), np.array(other), n_own, n_other))
        for key, (own, other, n_own, n_other) in cases.items()
    }
    return found | {"trust.loss": found["trust.balanced"] - found["trust.minority"]}


def _of_balance(seed: int) -> dict[str, float]:
    """Return how far the trust formula is from its approximation for sets of one size, for all counts there can be."""
    size = int(np.random.default_rng(seed).integers(50, 501))
    own, other = np.meshgrid(np.arange(size + 1), np.arange(size + 1))
    exact, approximate = trust_of(own, other, size, size), 1.0 / (1.0 + other / (own + 1.0))
    return {
        "balance.size": size,
        "balance.difference": np.abs(exact - approximate).max(),
        "balance.few": exact[other <= 0.01 * (own + 1)].min(),
    }


def _of_loop(seed: int) -> dict[str, float]:
    """Return how the printed loop ends, and how many iterations two samples of one distribution take."""
    A, B = np.random.default_rng(seed).standard_normal((2, _N_POINTS, 2))
    return {
        "loop.passes_1": printed_loop(A, B + 10.0, 1),
        "loop.passes_0": printed_loop(A, B + 10.0, 0),
        "same.n_iter_0": MAIN.partition(A, B, 0).n_iter,
        "same.n_iter_10": MAIN.partition(A, B, 10).n_iter,
    }


def _draw(values: Values) -> Any:  # noqa: ARG001
    """Draw the strips with their ellipsoids and blocks, and the trust of a minority label against the ratio."""
    A, B = strips(0)
    figure, (left, right) = panels(2)
    X, y = np.vstack([A, B]), np.repeat(["below", "above"], _N_POINTS)
    scatter(left, X, y, ("x1", "x2"))
    looks = class_styles(np.unique(y))
    p = READINGS["exit"].partition(A, B, 0)
    for side, (label, points) in enumerate((("below", A), ("above", B))):
        whole = min_volume_ellipsoid(points).ellipsoid
        ellipse(left, whole, color=looks[label].colour, linestyle="--", label=f"{label}, one ellipsoid")
        for block in (b for b in p.blocks if b.side == side):
            ellipse(left, block.ellipsoid, color=looks[label].colour)
    left.set(title="two strips, separable", ylim=(-0.06, 0.4))
    legend(left, loc="upper center", ncols=2)
    majority = np.arange(10, 1001, 10)
    for k, other in enumerate((0, 2, 10)):
        look = style(k)
        trust = trust_of(np.array(10), np.array(other), 10, majority)
        right.plot(
            majority / 10, trust, color=look.colour, linestyle=look.line, label=f"10 of its points, {other} others"
        )
    right.set(xscale="log", xticks=(1, 10, 100), xticklabels=("1:1", "1:10", "1:100"), ylim=(0.0, 1.5))
    right.set(yticks=np.linspace(0.0, 1.0, 6), title="trust in the minority's label")
    label_axes(right, "minority to majority in the training set", "trust")
    legend(right, loc="upper center")
    return figure


_STRIPS = """\
>>> import numpy as np
>>> from sepc.geometry import min_volume_ellipsoid, nearest_points, separate
>>> from sepc.partitions import partition
>>> x = np.linspace(0, 1, 8)
>>> A = np.array([(s, t) for s in x for t in (0.0, 0.1)])
>>> B = A + [0.0, 0.12]
>>> bool(A[:, 1].max() < B[:, 1].min())
True
>>> separate(min_volume_ellipsoid(A).ellipsoid, min_volume_ellipsoid(B).ellipsoid).disjoint
False
>>> nearest_points(A, B).meet
False
>>> partition(A, B, n_imp=0)
Partition(A 8 8 | B 8 8, n_imp=0, n_iter=2)
"""
_ENDLESS = """\
>>> from paper.claims import printed_loop, strips
>>> A, B = strips(0)
>>> printed_loop(A, B + 10.0, n_imp=1), printed_loop(A, B + 10.0, n_imp=0)
(0, 100)
"""
_INSIDE = """\
>>> import numpy as np
>>> from sepc import landscape
>>> from sepc.geometry.hulls import linearly_separable
>>> angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
>>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
>>> pair = landscape(np.vstack([0.1 * ring, ring]), ["inner"] * 12 + ["outer"] * 12).overlaps[0]
>>> round(pair.ovr[1], 3), linearly_separable(0.1 * ring, ring)
(0.01, False)
"""
_HALFWAY = """\
>>> from scipy.stats import multivariate_normal
>>> from sepc.geometry import Ellipsoid, overlap_coefficient
>>> E, F = (Ellipsoid([x, 0], [[1, 0], [0, 1]], [2, 2]) for x in (0, 4))
>>> round(overlap_coefficient(E, F), 4)
0.0455
>>> f, g = (multivariate_normal([x, 0]).pdf([2, 0]) for x in (0, 4))
>>> float(min(f, g) / (f + g))
0.5
"""
_MINORITY = """\
>>> import numpy as np
>>> from sepc.model.decision import trust_of
>>> own, other = np.array(10), np.array(2)
>>> round(float(trust_of(own, other, 1000, 1000)), 3), round(float(trust_of(own, other, 10, 1000)), 3)
(0.846, 0.057)
"""
_EQUAL = """\
>>> import numpy as np
>>> from sepc.model.decision import trust_of
>>> round(float(trust_of(np.array(10), np.array(10), 438, 204)), 3)
0.703
"""
_CENTER = """\
>>> import numpy as np
>>> A, center = np.diag([1.0, 0.5]), np.array([3.0, 4.0])
>>> b = -A @ center
>>> float(np.linalg.norm(A @ center + b)), b.tolist()
(0.0, [-3.0, -2.0])
"""
_VOLUME = """\
>>> import numpy as np
>>> from sepc.geometry import Ellipsoid
>>> unit, double = (Ellipsoid(np.zeros(6), np.eye(6), np.full(6, r)) for r in (1.0, 2.0))
>>> round(float(np.exp(double.log_volume - unit.log_volume)), 6), 2.0 ** (6 / 2)
(64.0, 8.0)
"""

EXPERIMENT = Experiment(
    name="claims",
    title="Claims about the method",
    about=(
        f"What the paper says of the method in general, on small cases: two separable strips of {_N_POINTS} points, "
        "random sets in 2 to 6 dimensions, two normal distributions, and counts put into the trust formula."
    ),
    statements=(
        Statement(
            "The reduced hulls intersect if their ellipsoids do.",
            "if, then",
            (Expectation("strips.hulls", "hulls meet where ellipsoids do", "yes", 1, 1),),
            reason="Two separable strips: their ellipsoids meet, their hulls do not.",
            example=_STRIPS,
        ),
        Statement(
            "Of linearly separable sets all points are taken in the first iteration: one ellipsoid for each label.",
            "2 ellipsoids",
            (Expectation("strips.n_exit", "ellipsoids, with the early exit", "count", 2, 2),),
            ((Expectation("strips.n_main", "without it", "count", 2, 2),),),
            reason="The same strips: ellipsoids that meet are cut although a line separates the points.",
            example=_STRIPS,
        ),
        Statement(
            "Sets of one size: the nearest points of the reduced hulls are the two centroids; else the smaller set's "
            "is its centroid, and the larger set's is not.",
            "centroids",
            (
                Expectation("hulls.equal", "distance from the centroids, one size", "number", 0.0, 1e-9),
                Expectation("hulls.smaller", "of the smaller set", "number", 0.0, 1e-9),
                Expectation("hulls.larger", "of the larger set", "number", 1e-3, inf),
            ),
        ),
        Statement(
            "The nearest points of reduced hulls are the dual of the SVM, and akin to the nu-SVM.",
            "dual",
            tuple(
                Expectation(f"dual.{key}", f"cosine between the two normals, {text}", "number", 0.99999, inf)
                for key, text in (("least", "D = 1/K, K all of the smaller set"), ("less", "K four fifths of it"))
            ),
        ),
        Statement(
            "An ellipsoid of n features needs more than n points.",
            "more than n",
            (
                Expectation("few.rank", "dimensions of n points beyond n - 1", "count", -inf, 0),
                Expectation("few.full", "dimensions that n + 1 points lack", "count", 0, 0),
            ),
        ),
        Statement(
            "Between two disjoint ellipsoids there is a hyperplane that strictly separates them.",
            "strictly",
            (Expectation("apart.margin", "room on either side of it", "number", 1e-9, inf),),
        ),
        Statement(
            "The algorithm is guaranteed to end, for any n_imp from 0 on.",
            "ends",
            (Expectation("loop.passes_0", "passes of lines 13 and 14, n_imp 0", "count", 0, _N_PASSES - 1),),
            reason="As printed, line 13 asks for at least n_imp points of the other label: 0 are at least 0, for ever.",
            example=_ENDLESS,
        ),
        Statement(
            "If the classes overlap heavily it may end in the first iteration; n_imp above 0 lets it go on.",
            "1; more",
            (
                Expectation("same.n_iter_0", "iterations of one distribution twice, n_imp 0", "count", 0, 1),
                Expectation("same.n_iter_10", "with n_imp 10", "count", 2, inf),
            ),
            reason="Small groups at the rim are found even there, before it ends.",
        ),
        Statement(
            "An overlap ratio near 0 means little or no overlap, and linear separability.",
            "separable",
            (Expectation("inside.separable", "a small class inside a large one is separable", "yes", 1, 1),),
            note=lambda values: (
                f"The overlap ratio of the large one: {spread_in_words(values['inside.ovr'], 'number')}."
            ),
            reason="A small class inside a large one: the large one's ratio is small, and no line separates them.",
            example=_INSIDE,
        ),
        Statement(
            "The volume of {z : |A z + b| <= 1} is proportional to the square root of det(A^-1).",
            "proportional",
            (Expectation("form.volume", "doubled ball, volume over what the root gives", "number", 0.999, 1.001),),
            reason="It is proportional to det(A^-1). The paper's own ratios come out of true volumes.",
            example=_VOLUME,
        ),
        Statement(
            "In that form b is the centre of the ellipsoid, and A the covariance.",
            "b",
            (Expectation("form.center", "largest difference of b and the centre", "number", 0.0, 1e-6),),
            reason="The centre is -A^-1 b, and the covariance is proportional to A^-2.",
            example=_CENTER,
        ),
        Statement(
            "The overlapping coefficient is 1 for equal distributions, 0 for disjoint ones, and the sum of two errors.",
            "1; 0; sum",
            (
                Expectation("ovl.same", "coefficient of equal ones", "number", 0.999, 1.001),
                Expectation("ovl.far", "of ones far apart", "number", 0.0, 1e-6),
                Expectation("ovl.sum", "difference from the two error rates", "number", 0.0, 0.01),
            ),
        ),
        Statement(
            "It bounds the probability that the label of a point is wrong.",
            "at most OVL",
            (Expectation("ovl.ratio", "error half-way between two distributions, over OVL", "number", 0.0, 1.0),),
            reason="It is a property of two whole distributions; half-way between them the error is one half.",
            example=_HALFWAY,
        ),
        Statement(
            "Balanced sets: the trust is about 1 / (1 + n_imp / (n + 1)), close to 1 if n_imp is far below n + 1.",
            "about",
            (
                Expectation("balance.difference", "largest difference, for all counts", "share", 0.0, 0.01),
                Expectation("balance.few", "least trust where n_imp is a hundredth of n + 1", "share", 0.95, 1.0),
            ),
        ),
        Statement(
            "Imbalance: a label of the minority still gets a high trust where its ellipsoid is nearly pure.",
            "about 1",
            (
                Expectation("trust.pure", "trust at 1:100, 10 against 0 points", "share", 0.95, 1.0),
                Expectation("trust.minority", "10 against 2 points", "share", 0.5, 1.0),
                Expectation("trust.loss", "what 1:100 costs beside 1:1", "share", -inf, 0.02),
            ),
            reason="Only where it is pure: the formula weighs impurities by the class sizes, a second time.",
            example=_MINORITY,
        ),
        Statement(
            "Where a region holds as many points of one label as of the other, trust is close to 50 %.",
            "50 %",
            (Expectation("trust.equal", "trust with 10 against 10 points, 438 and 204 in all", "share", 0.45, 0.55),),
            reason="Only for classes of one size; on the Adult stratum it is the majority's share, near 70 %.",
            example=_EQUAL,
        ),
    ),
    tables=(
        Table(
            "Two separable strips",
            (Row("strips", "strips"),),
            (
                Column("separable", "separable", "yes"),
                Column("ellipsoids", "ellipsoids meet", "yes"),
                Column("hulls", "reduced hulls meet", "yes"),
                Column("n_exit", "ellipsoids of the partition, early exit", "count"),
                Column("n_main", "the same, without", "count"),
            ),
        ),
        Table(
            "Nearest points of reduced hulls: distance from the centroids",
            (Row("hulls", "60 and 60, 60 and 30 points"),),
            (
                Column("equal", "one size", "number"),
                Column("smaller", "the smaller set", "number"),
                Column("larger", "the larger set", "number"),
            ),
        ),
        Table(
            "Normals of reduced hulls and of the nu-SVM with nu = 2 K / (N + M)",
            (Row("dual", "60 and 40 points"),),
            (Column("least", "cosine, K = 40", "number"), Column("less", "K = 32", "number")),
        ),
        Table(
            "Ellipsoids of few points, 6 features",
            (Row("few", "up to 7 points"),),
            (
                Column("rank", "dimensions of n points beyond n - 1", "count"),
                Column("full", "dimensions that 7 points lack", "count"),
            ),
        ),
        Table(
            "Disjoint ellipsoids",
            (Row("apart", "two sets far apart"),),
            (Column("margin", "room between ellipsoid and hyperplane", "number"),),
        ),
        Table(
            "The form |A z + b| <= 1",
            (Row("form", "6 features"),),
            (
                Column("center", "largest difference of b and the centre", "number"),
                Column("volume", "doubled ball, volume over what the root gives", "number"),
            ),
        ),
        Table(
            "The printed loop, and one distribution twice",
            (Row("loop", "two sets far apart"),),
            (
                Column("passes_1", "passes with n_imp 1", "count"),
                Column("passes_0", f"with n_imp 0, ended after {_N_PASSES}", "count"),
            ),
        ),
        Table(
            "One distribution twice",
            (Row("same", "two samples of it"),),
            (Column("n_iter_0", "iterations, n_imp 0", "count"), Column("n_iter_10", "n_imp 10", "count")),
        ),
        Table(
            "A small class inside a large one",
            (Row("inside", "40 points and 400"),),
            (Column("ovr", "overlap ratio of the large one", "number"), Column("separable", "separable", "yes")),
        ),
        Table(
            f"Two normal distributions, {_FAR:g} standard deviations apart",
            (Row("ovl", "overlapping coefficient (OVL)"),),
            (
                Column("same", "equal ones", "number"),
                Column("far", "far apart", "number"),
                Column("between", "these", "number"),
                Column("sum", "difference from the two error rates", "number"),
                Column("halfway", "error half-way between them", "share"),
                Column("ratio", "that over OVL", "number"),
            ),
        ),
        Table(
            "Trust by the paper's formula",
            (Row("trust", "counts in the region, and in the training set"),),
            (
                Column("balanced", "10 against 2, at 1:1", "share"),
                Column("minority", "10 against 2, at 1:100", "share"),
                Column("pure", "10 against 0, at 1:100", "share"),
                Column("equal", "10 against 10, at 438:204", "share"),
                Column("loss", "first less second", "share"),
            ),
        ),
        Table(
            "The approximation of the trust for balanced sets",
            (Row("balance", "sets of one size, 50 to 500 points"),),
            (
                Column("size", "points of each", "count"),
                Column("difference", "largest difference, for all counts", "share"),
                Column("few", "least trust, impurities a hundredth", "share"),
            ),
        ),
    ),
    measure=_measure,
    draw=_draw,
    caption="Left: two strips that a line separates; dashed, the ellipsoid of each, solid, those of the partition with "
    "the early exit. Right: the trust formula for a label of the minority, by the ratio of the classes. Seed 0.",
)
