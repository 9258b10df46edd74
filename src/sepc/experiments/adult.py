"""Adult, all rows: how far the two classes overlap."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from sepc.common.typing import FloatArray
from sepc.datasets import DataSet, load_adult
from sepc.experiments.experiment import Column, Experiment, Row, Table
from sepc.experiments.figures import panels
from sepc.experiments.shared_measures import ACCEPTANCE, acceptance
from sepc.experiments.statements import Expectation, Statement, Values, in_words, spread
from sepc.landscapes.data_landscape import landscape
from sepc.plot import class_styles
from sepc.plot.style import TINY, label_axes

_CLASSES = ("<=50K", ">50K")
_N_IMP = 10
# For labels with trust: as many rows as keep a run short.
_N_TRAIN, _N_TEST = 2000, 2000
_ROWS = (
    Row("all", "all rows (no seed in it), 6 numeric features, volumes"),
    Row("all_root", "the same, square roots of volumes"),
    Row("part", "80 % of the rows, 6 numeric features, volumes"),
    Row("part_root", "the same, square roots of volumes"),
    Row("scaled", "80 % of the rows, 6 standardised features, volumes"),
    Row("coded", "80 % of the rows, all 14 features, categories numbered, volumes"),
    Row("coded_root", "the same, square roots of volumes"),
)
_TICKS = ("all rows", "all, root", "80 %", "80 %, root", "80 %, scaled", "14 features", "14, root")
_COLUMNS = (
    Column("minority", "OVR of >50K", "number"),
    Column("majority", "OVR of <=50K", "number"),
    Column("shared", "points of >50K in both ellipsoids", "share"),
)


@cache
def _data(categories: bool = False) -> DataSet:
    return load_adult(categories)


@cache
def _overlap_of_all() -> tuple[float, float, float]:
    return overlap(_data().X, _data().y)


def overlap(X: FloatArray, y: NDArray[Any]) -> tuple[float, float, float]:
    """Return the overlap ratios of >50K and <=50K, and the share of >50K in both ellipsoids.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [2.5], [4.0], [6.0]])
    >>> overlap(X, np.array(["<=50K"] * 4 + [">50K"] * 3))[2].__round__(2)
    0.33
    """
    pair = landscape(X, y).overlaps[0]
    return pair.ovr[1], pair.ovr[0], pair.n_inside[1] / (pair.n_inside[1] + pair.n_outside[1])


def _measure(seed: int) -> dict[str, float]:
    """Return the overlap in a random 80 % of the rows, and what is accepted of a sample."""
    numeric, coded = _data(), _data(True)
    rows, others = train_test_split(np.arange(len(numeric.y)), test_size=0.2, random_state=seed, stratify=numeric.y)
    X, y = numeric.X[rows], numeric.y[rows]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    found: dict[str, float] = {}
    ratios = {"all": _overlap_of_all(), "part": overlap(X, y), "scaled": overlap(scaled, y)}
    for key, (minority, majority, shared) in (ratios | {"coded": overlap(coded.X[rows], y)}).items():
        found |= {f"{key}.minority": minority, f"{key}.majority": majority, f"{key}.shared": shared}
    for key in ("all", "part", "coded"):
        found |= {f"{key}_root.{name}": np.sqrt(found[f"{key}.{name}"]) for name in ("minority", "majority")}
        found[f"{key}_root.shared"] = found[f"{key}.shared"]
    some, test = rows[:_N_TRAIN], others[:_N_TEST]
    return found | acceptance(numeric.X[some], numeric.y[some], numeric.X[test], numeric.y[test], _N_IMP)


def _draw(values: Values) -> Any:
    """Draw the overlap ratios under each reading beside the paper's."""
    figure, ax = panels(1)
    at = np.arange(len(_ROWS))
    styles = class_styles(_CLASSES)
    for shift, (label, column) in zip((-0.2, 0.2), ((">50K", "minority"), ("<=50K", "majority")), strict=True):
        found = [spread(values[f"{row.key}.{column}"]) for row in _ROWS]
        middle = np.array([s.median for s in found])
        error = [middle - [s.low for s in found], [s.high for s in found] - middle]
        look = styles[label]
        ax.bar(at + shift, middle, 0.36, color=look.colour, hatch=look.hatch, edgecolor="white", label=label)
        ax.errorbar(at + shift, middle, error, fmt="none", ecolor="black", capsize=2, linewidth=0.8)
    ax.axhline(0.6, color="black", linestyle=":", linewidth=0.9, label="paper, >50K")
    ax.set_xticks(at, _TICKS, rotation=30, ha="right")
    ax.set_ylim(0.0, 0.95)
    label_axes(ax, "reading", "overlap ratio (OVR)")
    ax.legend(fontsize=TINY, ncols=3, loc="upper center", frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="adult",
    title="Adult, all rows",
    about=(
        "The training part of the census data without gaps, 30162 rows, and in each run a random 80 % of them. "
        f"For labels with trust, which the paper does not give for all rows: {_N_TRAIN} rows to train, {_N_TEST} to "
        f"test, n_imp {_N_IMP}."
    ),
    statements=(
        Statement(
            "A significant portion of the minority class lies in the overlap of the class ellipsoids.",
            "OVR 0.6",
            (Expectation("all.minority", "OVR of >50K", "number", 0.55, 0.65),),
            tuple(
                (Expectation(f"{row.key}.minority", f"OVR of >50K, {text}", "number", 0.55, 0.65),)
                for row, text in zip(_ROWS[1:], _TICKS[1:], strict=True)
            ),
            lambda values: (
                "The paper's formula has the square root of det(A^-1), while det(A^-1) itself is the volume of its "
                "ellipsoid: hence the root. (Its ratios of Vertebral Column come out of volumes, without the root.) "
                f"Of the points of >50K, {in_words(spread(values['all.shared']).median, 'share')} lie in both "
                "ellipsoids."
            ),
        ),
    ),
    tables=(Table("Tried: ways to take the overlap ratio", _ROWS, _COLUMNS), ACCEPTANCE),
    measure=_measure,
    draw=_draw,
    caption="Overlap ratios under each reading: medians and ranges over the runs; dotted, the paper's value.",
    quick=2,
)
