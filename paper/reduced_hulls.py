"""Reduced convex hulls, before and after."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import ellipse, legend, panels, scatter
from paper.overlap_2d import data
from paper.shared_measures import beyond
from paper.statements import Expectation, Statement, Values
from sepc.common.typing import FloatArray
from sepc.geometry.hulls import linearly_separable
from sepc.geometry.mve import min_volume_ellipsoid
from sepc.geometry.separation import separate
from sepc.plot.style import class_styles

_COLUMNS = (
    Column("hulls", "convex hulls meet", "yes"),
    Column("ellipsoids", "ellipsoids meet", "yes"),
    Column("kept", "points kept", "share"),
)
_ROWS = (Row("before", "all points"), Row("after", "beyond the nearest points, once"), Row("twice", "the same, twice"))


def stages(X: FloatArray, y: NDArray[Any]) -> list[tuple[FloatArray, NDArray[Any]]]:
    """Return all points, those beyond the nearest points of the reduced hulls, and the same once more.

    Examples
    --------
    >>> [len(X) for X, _ in stages(*data(0))][0]
    200
    """
    found = [(X, y)]
    for _ in range(2):
        X, y = found[-1]
        kept = np.zeros(len(y), dtype=bool)
        first = y == "L+1"
        kept[first], kept[~first] = beyond(X[first], X[~first])
        found.append((X[kept], y[kept]))
    return found


def _measure(seed: int) -> dict[str, float]:
    """Return whether hulls and ellipsoids meet at each stage."""
    found: dict[str, float] = {}
    everything = stages(*data(seed))
    for (key, _), (X, y) in zip(_ROWS, everything, strict=True):
        A, B = X[y == "L+1"], X[y == "L-1"]
        E, F = (min_volume_ellipsoid(part).ellipsoid for part in (A, B))
        found[f"{key}.hulls"] = not linearly_separable(A, B)
        found[f"{key}.ellipsoids"] = not separate(E, F).disjoint
        found[f"{key}.kept"] = len(y) / len(everything[0][1])
    return found


def _draw(values: Values) -> Any:  # noqa: ARG001
    """Draw hulls and ellipsoids before and after."""
    everything = stages(*data(0))
    figure, axes = panels(2)
    for ax, (X, y), title in zip(axes, everything, ("all points", "beyond the nearest points"), strict=False):
        scatter(ax, *everything[0], ("x1", "x2"), pale=True)
        scatter(ax, X, y, ("x1", "x2"))
        for label, look in class_styles(np.unique(y)).items():
            points = X[y == label]
            corners = points[ConvexHull(points).vertices]
            ax.plot(*np.vstack([corners, corners[:1]]).T, color=look.colour, linewidth=0.9, label=f"{label}, hull")
            E = min_volume_ellipsoid(points).ellipsoid
            ellipse(ax, E, color=look.colour, linestyle="--", label=f"{label}, ellipsoid")
        low, high = ax.get_ylim()
        ax.set(title=title, ylim=(low, high + 0.4 * (high - low)))
        legend(ax, loc="upper center", ncols=2)
    return figure


EXPERIMENT = Experiment(
    name="reduced_hulls",
    title="Reduced convex hulls",
    about=(
        "The paper's second figure, whose data it does not give; here those of the first. Kept is what lies beyond the "
        "nearest points of the reduced hulls (Algorithm 2), with the largest reduction."
    ),
    statements=(
        Statement(
            "Convex hulls and ellipsoids of the two sets meet before.",
            "both meet",
            (
                Expectation("before.hulls", "hulls meet", "yes", 1, 1),
                Expectation("before.ellipsoids", "ellipsoids meet", "yes", 1, 1),
            ),
        ),
        Statement(
            "The reduced hulls and their ellipsoids do not.",
            "neither meet",
            (
                Expectation("after.hulls", "hulls meet", "yes", 0, 0),
                Expectation("after.ellipsoids", "ellipsoids meet", "yes", 0, 0),
            ),
            ((Expectation("twice.ellipsoids", "ellipsoids meet after a second reduction", "yes", 0, 0),),),
            reason="One reduction parts the hulls; their ellipsoids need a second.",
        ),
    ),
    tables=(Table("Measured", _ROWS, _COLUMNS),),
    measure=_measure,
    draw=_draw,
    caption="Convex hulls (solid) and ellipsoids (dashed) of the two sets, and of what is kept. Seed 0.",
)
