"""Adult, all rows: how the paper coded them, and how far the two classes overlap."""

from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import panels
from paper.paper_readings import PaperClassifier
from paper.shared_measures import ACCEPTANCE, acceptance
from paper.statements import Expectation, Statement, Values, in_words, spread
from sepc.common.typing import FloatArray
from sepc.datasets import DataSet, load_adult
from sepc.landscapes.data_landscape import landscape
from sepc.plot.style import TINY, class_styles, label_axes

_CLASSES = ("<=50K", ">50K")
_N_IMP = 10
# For labels with trust: as many rows as keep a run short.
_N_TRAIN, _N_TEST = 2000, 2000
# The codes that the paper gives of the categories of its stratum.
_CODES = {
    "workclass": 2,
    "education": 11,
    "marital_status": 2,
    "occupation": 2,
    "relationship": 0,
    "race": 4,
    "sex": 1,
    "native_country": 38,
}
_ROWS = (
    Row("coded", "14 features, each coded by rank, all rows (no seed in it)"),
    Row("coded_part", "the same, 80 % of the rows"),
    Row("dollars", "6 numeric features as they are (dollars), all rows"),
    Row("dollars_part", "the same, 80 % of the rows"),
    Row("numbered", "the 6 as they are and 8 categories numbered, 80 % of the rows"),
)
_TICKS = ("coded", "coded, 80 %", "dollars", "dollars, 80 %", "and categories")
_COLUMNS = (
    Column("minority", "OVR of >50K", "number"),
    Column("majority", "OVR of <=50K", "number"),
    Column("shared", "points of >50K in both ellipsoids", "share"),
)
_LOADED = {"coded": {"coded": True}, "dollars": {}, "numbered": {"categories": True}}


@cache
def _data(form: str = "coded") -> DataSet:
    return load_adult(**_LOADED[form])


@cache
def _of_all(form: str) -> tuple[float, float, float]:
    return overlap(_data(form).X, _data(form).y)


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
    """Return codes and strata, the overlap in all rows and in a random 80 %, and what is accepted of a sample."""
    data = _data()
    rows, others = train_test_split(np.arange(len(data.y)), test_size=0.2, random_state=seed, stratify=data.y)
    ratios = {
        "coded": _of_all("coded"),
        "dollars": _of_all("dollars"),
        "coded_part": overlap(data.X[rows], data.y[rows]),
        "dollars_part": overlap(_data("dollars").X[rows], data.y[rows]),
        "numbered": overlap(_data("numbered").X[rows], data.y[rows]),
    }
    found = {
        f"{key}.{column.key}": value
        for key, three in ratios.items()
        for column, value in zip(_COLUMNS, three, strict=True)
    }
    some, test = rows[:_N_TRAIN], others[:_N_TEST]
    found |= _of_table() | {"sample.flat": _share_of_flat(data.X[some], data.y[some])}
    return found | acceptance(data.X[some], data.y[some], data.X[test], data.y[test], _N_IMP)


@cache
def _of_table() -> dict[str, float]:
    """Return what the table holds: rows of each label, and the strata of its categories."""
    data = _data()
    categories = data.X[:, [data.feature_names.index(name) for name in _CODES]]
    strata, sizes = np.unique(categories, axis=0, return_counts=True)
    possible = np.prod(categories.max(axis=0) + 1.0)
    return {
        "table.majority": data.counts["<=50K"],
        "table.minority": data.counts[">50K"],
        "strata.codes": np.count_nonzero(strata[sizes.argmax()] == list(_CODES.values())),
        "strata.largest": sizes.max(),
        "strata.share": len(strata) / possible,
    }


def _share_of_flat(X: FloatArray, y: NDArray[Any]) -> float:
    """Return the share of the ellipsoids in whose points a feature is constant."""
    (p,) = PaperClassifier(_N_IMP).fit(X, y).partitions_
    return float(np.mean([(np.ptp(X[block.members], axis=0) == 0.0).any() for block in p.blocks]))


def _draw(values: Values) -> Any:
    """Draw the overlap ratios under each form of the data beside the paper's."""
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
    label_axes(ax, "form of the data", "overlap ratio (OVR)")
    ax.legend(fontsize=TINY, ncols=3, loc="upper center", frameon=False)
    return figure


EXPERIMENT = Experiment(
    name="adult",
    title="Adult, all rows",
    about=(
        "The training part of the census data without gaps, 30162 rows. Every column is label-encoded, numbers too: a "
        "value becomes its rank among the distinct ones (`load_adult(coded=True)`). The paper does not say so, but its "
        'figures do: its capital-gain axis ends at 120 and its tree splits at "capital-gain > 77", where there are '
        "118 distinct values of up to 99999 dollars. What dollars give stands beside it. For labels with trust, which "
        f"the paper does not give for all rows: {_N_TRAIN} rows to train, {_N_TEST} to test, n_imp {_N_IMP}."
    ),
    statements=(
        Statement(
            "30162 records, 22654 of one label and 7508 of the other.",
            "22654 and 7508",
            (
                Expectation("table.majority", "<=50K", "count", 22654, 22654),
                Expectation("table.minority", ">50K", "count", 7508, 7508),
            ),
        ),
        Statement(
            "A significant portion of the minority class lies in the overlap of the class ellipsoids.",
            "OVR 0.6",
            (Expectation("coded.minority", "OVR of >50K", "number", 0.55, 0.65),),
            tuple(
                (Expectation(f"{row.key}.minority", f"OVR of >50K, {text}", "number", 0.55, 0.65),)
                for row, text in zip(_ROWS[1:], _TICKS[1:], strict=True)
            ),
            lambda values: (
                f"In dollars it is {in_words(spread(values['dollars.minority']).median, 'number')}: an overlap ratio "
                "does not change with the scale of a feature, but with its form. Of the points of >50K, "
                f"{in_words(spread(values['coded.shared']).median, 'share')} lie in both ellipsoids."
            ),
            reason="Without the coding by rank the ratio is another.",
        ),
        Statement(
            "The most populated stratum has the codes 2, 11, 2, 2, 0, 4, 1 and 38 of its categories.",
            "8 codes",
            (Expectation("strata.codes", "codes that agree", "count", 8, 8),),
        ),
        Statement(
            "For some combinations of the categories there is no record at all.",
            "none",
            (Expectation("strata.share", "of the possible combinations that occur", "number", 0.0, 0.5),),
        ),
        Statement(
            "When all features are taken, many ellipsoids cannot be found: features are constant in the parts.",
            "many",
            (Expectation("sample.flat", "ellipsoids that are flat", "share", 0.25, inf),),
            reason="With ranks, few parts are constant in a feature.",
        ),
    ),
    tables=(
        Table("The overlap of the class ellipsoids, by form of the data", _ROWS, _COLUMNS),
        Table(
            "The table and its strata (no seed in it)",
            (Row("table", "all rows"),),
            (
                Column("majority", "rows of <=50K", "count"),
                Column("minority", "rows of >50K", "count"),
            ),
        ),
        Table(
            "The 8 categories",
            (Row("strata", "strata"),),
            (
                Column("codes", "codes of the largest that are the paper's", "count"),
                Column("largest", "rows of the largest", "count"),
                Column("share", "combinations that occur, of all possible", "number"),
            ),
        ),
        Table(
            f"A sample of {_N_TRAIN} rows, partitioned",
            (Row("sample", "14 features, coded"),),
            (Column("flat", "ellipsoids that are flat", "share"),),
        ),
        ACCEPTANCE,
    ),
    measure=_measure,
    draw=_draw,
    caption="Overlap ratios of each form of the data: medians and ranges over the runs; dotted, the paper's value.",
    quick=2,
)
