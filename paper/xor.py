"""XOR: four points that no hyperplane separates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import panels
from paper.shared_measures import beyond, classifier
from paper.statements import Expectation, Statement, Values
from sepc.common.typing import FloatArray
from sepc.datasets import make_xor
from sepc.geometry.hulls import nearest_points
from sepc.geometry.separation import separate
from sepc.plot import PartitionDisplay

_RADIUS = 0.01  # within which the paper adds a point to each label
_ROWS = (
    Row("plain", "the four points"),
    Row("scaled", "the four points, `standardize=True`"),
    Row("added", "the paper's way: one more point for each label, within 0.01"),
)
_COLUMNS = (
    Column("n", "ellipsoids", "count"),
    Column("meet", "they cross", "yes"),
    Column("flatness", "shorter over longer radius, the flatter one", "number"),
    Column("right", "of the four points right", "count"),
    Column("trust", "smallest trust", "share"),
)
_RELAXED = Table(
    "Algorithm 2 on the four points, as if line 7 of Algorithm 1 let it run",
    (Row("relaxed", "the four points"),),
    (
        Column("meet", "reduced hulls meet", "yes"),
        Column("taken", "points that lines 13 and 14 take, as printed", "count"),
    ),
)
_TAKEN = """\
>>> from paper.shared_measures import beyond
>>> from sepc.datasets import make_xor
>>> from sepc.geometry import nearest_points
>>> data = make_xor()
>>> A, B = (data.X[data.y == label] for label in "01")
>>> nearest_points(A, B).normal.tolist()
[0.0, 0.0]
>>> [taken.tolist() for taken in beyond(A, B)]
[[True, True], [True, True]]
"""


def with_neighbours(seed: int) -> tuple[FloatArray, NDArray[Any]]:
    """Return the four points, and one more near (0, 1) and one near (1, 1), as the paper has it.

    Examples
    --------
    >>> with_neighbours(0)[1].tolist()
    ['0', '1', '1', '0', '1', '0']
    """
    data = make_xor()
    rng = np.random.default_rng(seed)
    angle, length = rng.uniform(0.0, 2.0 * np.pi, 2), _RADIUS * np.sqrt(rng.uniform(0.0, 1.0, 2))
    corners = np.array([[0.0, 1.0], [1.0, 1.0]])
    near = corners + length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([data.X, near]), np.append(data.y, ["1", "0"])


def _measure(seed: int) -> dict[str, float]:
    """Return the two ellipsoids, and what the four points are labelled."""
    data = make_xor()
    found: dict[str, float] = {}
    for key, form, (X, y) in (
        ("plain", "paper", (data.X, data.y)),
        ("scaled", "scaled", (data.X, data.y)),
        ("added", "paper", with_neighbours(seed)),
    ):
        clf = classifier(form, 0).fit(X, y)
        ellipsoids = [block.ellipsoid for block in clf.partitions_[0].blocks]
        a = clf.assess(data.X)
        found |= {
            f"{key}.n": len(ellipsoids),
            f"{key}.meet": len(ellipsoids) == 2 and not separate(*ellipsoids).disjoint,
            f"{key}.flatness": min(E.radii.min() / E.radii.max() for E in ellipsoids),
            f"{key}.right": int((a.label == data.y).sum()),
            f"{key}.trust": a.trust.min(),
        }
    A, B = (data.X[data.y == label] for label in data.counts)
    taken = sum(map(np.count_nonzero, beyond(A, B)))
    return found | {"relaxed.meet": nearest_points(A, B).meet, "relaxed.taken": taken}


def _draw(values: Values) -> Any:  # noqa: ARG001
    """Draw the flat ellipsoids, and those with the paper's added points."""
    data = make_xor()
    figure, axes = panels(2)
    cases = ((data.X, data.y), with_neighbours(0))
    for ax, (X, y), title in zip(axes, cases, ("the four points", "two points added"), strict=True):
        PartitionDisplay.from_estimator(classifier("paper", 0).fit(X, y), n_names=0, ax=ax)
        ax.set(xlabel="x1", ylabel="x2", title=title, xlim=(-0.45, 1.45), ylim=(-0.45, 1.45), aspect="equal")
        ax.get_legend().set_loc("center left")
    return figure


EXPERIMENT = Experiment(
    name="xor",
    title="XOR",
    about="The four points of the exclusive or, n_imp 0. Nothing is random but the paper's added points.",
    statements=(
        Statement(
            "No hyperplane separates them; two ellipsoids that cross are found at the end.",
            "2 that cross",
            (
                Expectation("plain.n", "ellipsoids", "count", 2, 2),
                Expectation("plain.meet", "they cross", "yes", 1, 1),
            ),
        ),
        Statement(
            "Even if line 7 is relaxed, no hulls that are apart can be found: empty sets are left, and line 27 finds "
            "the same two ellipsoids.",
            "they meet; 0 points",
            (
                Expectation("relaxed.meet", "reduced hulls meet", "yes", 1, 1),
                Expectation("relaxed.taken", "points taken", "count", 0, 0),
                Expectation("plain.n", "ellipsoids", "count", 2, 2),
            ),
            reason="The hulls do meet, but then w = 0, and lines 13 and 14 as printed take all points, for 0 >= 0. "
            "The two ellipsoids are the same.",
            example=_TAKEN,
        ),
        Statement(
            "They are flat: no solver may be able to find them, so one more point is added to each label.",
            "a radius of 0",
            (Expectation("plain.flatness", "shorter over longer radius", "number", 0, 1e-5),),
        ),
        Statement(
            "The two ellipsoids are the function: all four points get their label.",
            "4 of 4",
            (
                Expectation("plain.right", "right", "count", 4, 4),
                Expectation("added.right", "right with the added points", "count", 4, 4),
            ),
        ),
    ),
    tables=(Table("Measured", _ROWS, _COLUMNS), _RELAXED),
    measure=_measure,
    draw=_draw,
    caption="The two ellipsoids of the four points alone, and with the paper's added points. Seed 0.",
)
