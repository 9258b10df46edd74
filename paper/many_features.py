"""Many features: two overlapping classes, and more and more features that say nothing."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.svm import SVC

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import legend, panels, ranges
from paper.shared_measures import classifier, mean
from paper.statements import Expectation, Statement, Values, in_words, spread
from sepc.common.typing import FloatArray
from sepc.plot.style import label_axes, style

_SIZES = (2, 5, 10, 20, 30)
_N_TRAIN, _N_TEST, _N_IMP, _APART = 100, 500, 2, 3.0
_MODELS = {"paper": "SEP-C, paper's form", "local": "SEP-C, default", "svm": "RBF SVM"}
_LOOKS = {"paper": 0, "local": 2, "svm": 3}
# What no classifier exceeds on average.
_LIMIT = float(norm.cdf(_APART / 2.0))


def sample(n: int, d: int, seed: list[int]) -> tuple[FloatArray, NDArray[Any]]:
    """Return n points of each of two normal distributions that differ in the first of d features alone.

    Examples
    --------
    >>> X, y = sample(2, 5, [0])
    >>> X.shape, y.tolist()
    ((4, 5), ['left', 'left', 'right', 'right'])
    """
    X = np.random.default_rng(seed).standard_normal((2 * n, d))
    X[n:, 0] += _APART
    return X, np.repeat(["left", "right"], n)


def _measure(seed: int) -> dict[str, float]:
    """Return accuracies with few and with many features, and how many points are outside of all ellipsoids."""
    found: dict[str, float] = {}
    for d in _SIZES:
        (X, y), (X_test, y_test) = sample(_N_TRAIN, d, [seed, 0]), sample(_N_TEST, d, [seed, 1])
        a = classifier("paper", _N_IMP).fit(X, y).assess(X_test)
        labels = {
            "paper": a.label,
            "local": classifier("local", _N_IMP).fit(X, y).predict(X_test),
            "svm": SVC().fit(X, y).predict(X_test),
        }
        found |= {f"{model}.accuracy_{d}": mean(label == y_test) for model, label in labels.items()}
        found[f"outside.share_{d}"] = mean(a.rule == "R3")
    few, many = _SIZES[0], _SIZES[-1]
    return found | {
        f"{model}.drop": found[f"{model}.accuracy_{few}"] - found[f"{model}.accuracy_{many}"] for model in _MODELS
    }


def _draw(values: Values) -> Any:
    """Draw accuracies, and the share of points outside, against the number of features."""
    figure, (left, right) = panels(2)
    for model, name in _MODELS.items():
        look = style(_LOOKS[model])
        columns = [list(values[f"{model}.accuracy_{d}"]) for d in _SIZES]
        ranges(left, np.array(_SIZES), columns, color=look.colour, marker=look.marker, linestyle=look.line, label=name)
    left.axhline(_LIMIT, color="black", linestyle=":", linewidth=0.9, label="best possible")
    left.set(xticks=_SIZES, ylim=(0.5, 1.0))
    label_axes(left, "features", "accuracy")
    legend(left, loc="lower left")
    look = style(_LOOKS["paper"])
    columns = [list(values[f"outside.share_{d}"]) for d in _SIZES]
    ranges(right, np.array(_SIZES), columns, color=look.colour, marker=look.marker, linestyle=look.line)
    right.set(xticks=_SIZES, ylim=(0.0, 1.02))
    label_axes(right, "features", "test points outside of all ellipsoids")
    return figure


EXPERIMENT = Experiment(
    name="many_features",
    title="Many features",
    about=(
        "The paper claims, without figures, that the number of features does not affect its rules. Here: two normal "
        f"distributions that are {_APART:g} standard deviations apart in one feature, and up to {_SIZES[-1] - 1} "
        f"features that say nothing; {_N_TRAIN} points of each to train, {_N_TEST} to test; n_imp {_N_IMP}."
    ),
    statements=(
        Statement(
            "The rules of classification are not affected by the number of features.",
            "not affected",
            (
                Expectation(
                    "paper.drop", f"loss of accuracy from {_SIZES[0]} to {_SIZES[-1]} features", "share", -inf, 0.02
                ),
            ),
            note=lambda values: (
                f"The default loses {in_words(spread(values['local.drop']).median, 'share')}, an RBF SVM "
                f"{in_words(spread(values['svm.drop']).median, 'share')}. With {_SIZES[-1]} features "
                f"{in_words(spread(values[f'outside.share_{_SIZES[-1]}']).median, 'share')} of the test points are "
                "outside of all ellipsoids."
            ),
            reason="With many features nearly every new point is outside of all ellipsoids, and the nearest decides.",
        ),
    ),
    tables=(
        Table(
            "Accuracy by number of features",
            tuple(Row(key, text) for key, text in _MODELS.items()),
            (
                *(Column(f"accuracy_{d}", str(d), "share") for d in _SIZES),
                Column("drop", f"loss, {_SIZES[0]} to {_SIZES[-1]}", "share"),
            ),
        ),
        Table(
            "Test points outside of all ellipsoids",
            (Row("outside", "the paper's form"),),
            tuple(Column(f"share_{d}", str(d), "share") for d in _SIZES),
        ),
    ),
    measure=_measure,
    draw=_draw,
    caption="Left: accuracy against the number of features, medians and ranges over the runs. Right: how many test "
    "points are outside of all ellipsoids.",
)
