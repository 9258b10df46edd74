"""Two overlapping classes in the plane: class ellipsoids, the ellipsoid of their overlap, and the partition."""

from itertools import combinations
from math import inf
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import ellipse, legend, panels, scatter
from paper.paper_readings import MAIN, READINGS, PaperReading, readings_table
from paper.shared_measures import ACCEPTANCE, MIN_TRUST, acceptance, classifier, mean, n_ellipsoids
from paper.statements import Expectation, Statement, Values, in_words, spread
from sepc.common.errors import SepcError
from sepc.common.typing import FloatArray
from sepc.geometry.ellipsoid import Ellipsoid
from sepc.geometry.separation import separate
from sepc.landscapes.data_landscape import landscape
from sepc.landscapes.survey import PairOverlap
from sepc.partitions.blocks import Partition
from sepc.plot import PartitionDisplay
from sepc.plot.style import class_styles

_N, _APART, _N_IMP = 100, 2.5, 2
_ROW = Row("plane", "two normal distributions")
_LIMITS = (0, 2, 5, 10, 20)
_BALL = """\
>>> from sepc.geometry import Ellipsoid, cover_intersection
>>> discs = Ellipsoid([0, 0], [[1, 0], [0, 1]], [1, 1]), Ellipsoid([1, 0], [[1, 0], [0, 1]], [1, 1])
>>> cover_intersection(*discs).ellipsoid.radii.round(2).tolist()
[0.87, 0.87]
>>> ellipses = Ellipsoid([0, 0], [[1, 0], [0, 1]], [1, 1]), Ellipsoid([1, 0], [[1, 0], [0, 1]], [1, 1.5])
>>> cover_intersection(*ellipses).ellipsoid.radii.round(2).tolist()
[0.98, 0.88]
"""


def data(seed: int, part: int = 0) -> tuple[FloatArray, NDArray[Any]]:
    """Return points of two normal distributions side by side, that share a part of the plane."""
    rng = np.random.default_rng([seed, part])
    X = rng.standard_normal((2 * _N, 2)) * [1.0, 1.2]
    X[_N:, 0] += _APART
    return X, np.repeat(["L+1", "L-1"], _N)


def _measure(seed: int) -> dict[str, float]:
    """Return how the two classes overlap, and how their partition lies."""
    X, y = data(seed)
    view = landscape(X, y)
    pair = view.overlaps[0]
    A, B = X[y == "L+1"], X[y == "L-1"]
    p = MAIN.partition(A, B, _N_IMP)
    outermost, inwards = _inwards(p)
    cover, points = _overlaps(pair)
    found = {
        "meet": pair.ellipsoids_meet,
        "common": sum(pair.n_inside),
        "larger": np.exp(cover.log_volume - points.log_volume),
        "roundness": cover.radii.min() / cover.radii.max(),
        "n": n_ellipsoids(p, 0) + n_ellipsoids(p, 1),
        "outermost": outermost,
        "inwards": inwards,
        "crossing": _n_crossing(p),
        "apart": _apart(p),
    }
    by_limit = {n_imp: MAIN.partition(A, B, n_imp) for n_imp in _LIMITS}
    return {
        **{f"plane.{key}": value for key, value in found.items()},
        **{f"limit_{n_imp}.n_iter": part.n_iter for n_imp, part in by_limit.items()},
        **{f"limit_{n_imp}.size": _median_size(part) for n_imp, part in by_limit.items()},
        **{f"beside_{n}.fewer": by_limit[0].n_iter - by_limit[n].n_iter for n in _LIMITS[1:]},
        **{f"beside_{n}.larger": _median_size(by_limit[n]) / _median_size(by_limit[0]) for n in _LIMITS[1:]},
        **_far(X, y, view.ellipsoids, seed),
        **{f"r_{key}.{name}": value for key, r in READINGS.items() for name, value in _counts(r, A, B).items()},
        **acceptance(X, y, *data(seed, 1), _N_IMP),
    }


def _counts(reading: PaperReading, A: FloatArray, B: FloatArray) -> dict[str, float]:
    p = reading.partition(A, B, _N_IMP)
    return {"n_iter": p.n_iter, "n": len(p.blocks), "apart": _apart(p)}


def _median_size(p: Partition) -> float:
    """Return the median number of points in an ellipsoid that an iteration made."""
    return median(len(block.members) for block in p.blocks if not block.left_over)


def _far(X: FloatArray, y: NDArray[Any], whole: tuple[Ellipsoid, ...], seed: int) -> dict[str, float]:
    """Return how new points that do not lie in the ellipsoids of both classes fare."""
    T, t = data(seed, 1)
    far = ~np.logical_and.reduce([E.contains(T) for E in whole])
    a = classifier("paper", _N_IMP).fit(X, y).assess(T[far])
    sure = a.trust >= MIN_TRUST
    return {"far.points": int(far.sum()), "far.sure": mean(sure), "far.right": mean((a.label == t[far])[sure])}


def _apart(p: Partition) -> float:
    """Return the share of the iterations with two ellipsoids, one of each label, where these do not meet."""
    rounds: dict[int, list[Ellipsoid]] = {}
    for block in p.blocks:
        rounds.setdefault(block.iteration, []).append(block.ellipsoid)
    pairs = [both for iteration, both in rounds.items() if iteration and len(both) == 2]
    return mean(np.array([separate(*both).disjoint for both in pairs]))


def _overlaps(pair: PairOverlap) -> tuple[Ellipsoid, Ellipsoid]:
    """Return the cover of the intersection, and the ellipsoid of the points in it."""
    if pair.by_intersection is None or pair.by_points is None:
        raise SepcError("paper-no-overlap")
    return pair.by_intersection, pair.by_points


def _inwards(p: Partition) -> tuple[float, float]:
    """Return whether the first ellipsoid of each side is the outermost, and how many pairs go from the outside in."""
    first, ordered = [], []
    for side, sign in ((0, 1.0), (1, -1.0)):
        at = [sign * b.ellipsoid.center[0] for b in p.blocks if b.side == side and not b.left_over]
        first.append(bool(at) and at[0] == min(at))
        ordered += [earlier < later for earlier, later in combinations(at, 2)]
    return float(all(first)), mean(np.array(ordered))


def _n_crossing(p: Partition) -> int:
    """Return how many pairs of ellipsoids of different labels meet."""
    a, b = ([block.ellipsoid for block in p.blocks if block.side == side] for side in (0, 1))
    return sum(not separate(E, F).disjoint for E in a for F in b)


def _draw(values: Values) -> Any:  # noqa: ARG001
    """Draw the classes with their ellipsoids, and the partition."""
    X, y = data(0)
    view = landscape(X, y)
    figure, (left, right) = panels(2)
    scatter(left, X, y, ("x1", "x2"))
    for label, look, E in zip(("L+1", "L-1"), class_styles(np.unique(y)).values(), view.ellipsoids, strict=True):
        ellipse(left, E, color=look.colour, linestyle=look.line, label=f"{label}, ellipsoid")
    cover, points = _overlaps(view.overlaps[0])
    ellipse(left, points, color="black", label="overlap, by points")
    ellipse(left, cover, color="black", linestyle=":", label="overlap, cover")
    low, high = left.get_ylim()
    left.set(title="classes and their overlap", ylim=(low, high + 0.45 * (high - low)))
    legend(left, loc="upper center", ncols=2)
    PartitionDisplay.from_estimator(classifier("paper", _N_IMP).fit(X, y), n_names=0, ax=right)
    right.set(title="partition", xlabel="x1", ylabel="x2")
    return figure


def _fewer_and_larger(n_imp: int) -> tuple[Expectation, ...]:
    return (
        Expectation(f"beside_{n_imp}.fewer", f"iterations with n_imp 0 less those with {n_imp}", "count", 1, inf),
        Expectation(
            f"beside_{n_imp}.larger", f"median size of an ellipsoid with {n_imp}, in times", "number", 1.01, inf
        ),
    )


def _by_limit(values: Values) -> str:
    each = (f"{in_words(spread(values[f'limit_{n}.n_iter']).median, 'count')} with {n}" for n in _LIMITS)
    return f"Iterations by n_imp (medians): {', '.join(each)}."


EXPERIMENT = Experiment(
    name="overlap_2d",
    title="Overlapping classes in the plane",
    about=(
        f"The paper's first figure, whose data it does not give. Here: {_N} points of each of two normal "
        f"distributions, {_APART:g} standard deviations apart; n_imp {_N_IMP}."
    ),
    statements=(
        Statement(
            "The ellipsoids of the two classes meet; the points in both have an ellipsoid of their own.",
            "they meet",
            (
                Expectation("plane.meet", "class ellipsoids that meet", "yes", 1, 1),
                Expectation("plane.common", "points in both", "count", 3, inf),
            ),
        ),
        Statement(
            "The cover of the intersection by a linear matrix inequality is a ball, clearly an over-approximation; the "
            "ellipsoid of the common points is the better one.",
            "a ball; too large",
            (
                Expectation("plane.larger", "volume of the cover over that by points", "number", 1.0, inf),
                Expectation("plane.roundness", "shortest over longest radius of the cover", "number", 0.99, 1.0),
            ),
            reason="Too large it is; its shape is a mix of those of the two ellipsoids, a ball only where both are.",
            example=_BALL,
        ),
        Statement(
            "Ellipsoids are found from the outside in, towards the overlap.",
            "left to right, and right to left",
            (
                Expectation("plane.outermost", "first one of each label the outermost", "yes", 1, 1),
                Expectation("plane.inwards", "pairs found from the outside in", "share", 0.9, 1.0),
            ),
            reason="The first are the outermost; later ones lie side by side where the classes overlap.",
        ),
        Statement(
            "In the overlap, ellipsoids of different labels overlap as well.",
            "they can be expected to",
            (Expectation("plane.crossing", "pairs that meet", "count", 1, inf),),
        ),
        Statement(
            "The two ellipsoids that one iteration finds do not overlap.",
            "none",
            (Expectation("plane.apart", "iterations whose two ellipsoids are apart", "share", 1.0, 1.0),),
            tuple(
                (Expectation(f"r_{key}.apart", reading.text, "share", 1.0, 1.0),)
                for key, reading in READINGS.items()
                if reading is not MAIN
            ),
            reason="Each side is cut back until it holds few points of the other, not until the ellipsoids part.",
        ),
        Statement(
            "n_imp above 0 limits the number of iterations, and ellipsoids do not become small.",
            "fewer and larger",
            _fewer_and_larger(_N_IMP),
            tuple(_fewer_and_larger(n_imp) for n_imp in _LIMITS[1:] if n_imp != _N_IMP),
            _by_limit,
            "With 2 there are as many iterations as with 0, and ellipsoids as small; from about 10 on it is so.",
        ),
        Statement(
            "Points far from the overlap can be given a label with high trust.",
            "high",
            (
                Expectation("far.sure", "of them with a trust of 95 % or more", "share", 0.5, 1.0),
                Expectation("far.right", "of these right", "share", 0.95, 1.0),
            ),
            reason="Some lie in ellipsoids with points of the other label.",
        ),
    ),
    tables=(
        Table(
            "Measured",
            (_ROW,),
            (
                Column("meet", "class ellipsoids meet", "yes"),
                Column("common", "points in both", "count"),
                Column("larger", "cover over ellipsoid of the points, volume", "number"),
                Column("roundness", "shortest over longest radius of the cover", "number"),
                Column("n", "ellipsoids", "count"),
                Column("outermost", "the first is the outermost", "yes"),
                Column("inwards", "pairs found from the outside in", "share"),
                Column("crossing", "pairs of different labels that meet", "count"),
                Column("apart", "iterations whose two ellipsoids are apart", "share"),
            ),
        ),
        readings_table(
            Column("n_iter", "iterations", "count"),
            Column("n", "ellipsoids", "count"),
            Column("apart", "iterations whose two ellipsoids are apart", "share"),
        ),
        Table(
            "By n_imp",
            tuple(Row(f"limit_{n_imp}", f"n_imp {n_imp}") for n_imp in _LIMITS),
            (Column("n_iter", "iterations", "count"), Column("size", "median points in an ellipsoid", "number")),
            "Ellipsoids that iterations made, without what is left over.",
        ),
        Table(
            "The same partitions beside that of n_imp 0",
            tuple(Row(f"beside_{n_imp}", f"n_imp {n_imp}") for n_imp in _LIMITS[1:]),
            (Column("fewer", "iterations fewer", "count"), Column("larger", "median size, in times", "number")),
        ),
        Table(
            "New points that do not lie in both class ellipsoids",
            (Row("far", "the paper's trust"),),
            (
                Column("points", "points", "count"),
                Column("sure", "with a trust of 95 % or more", "share"),
                Column("right", "of these right", "share"),
            ),
        ),
        ACCEPTANCE,
    ),
    measure=_measure,
    draw=_draw,
    caption="Left: the two classes, their ellipsoids, and the overlap by points and by intersection. Right: the "
    "partition. Seed 0.",
)
