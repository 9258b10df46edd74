"""Imbalance: two overlapping classes, from as many points of each to a hundred times as many of one."""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.svm import SVC

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import legend, panels, ranges
from paper.shared_measures import ACCEPTANCE, acceptance, classifier, mean
from paper.statements import Expectation, Statement, Values, in_words, spread
from sepc.common.typing import FloatArray
from sepc.plot.style import label_axes, style

_RATIOS = (1, 3, 10, 30, 100)
_N_MAJORITY, _N_TEST, _N_IMP = 1000, 1000, 2
_APART = 2.0
_ACCEPTED_AT = 10
_MODELS = {
    "paper": "SEP-C, paper's form",
    "local": "SEP-C, default",
    "svm": "RBF SVM",
    "svm_weighted": "RBF SVM, weighted classes",
}
# Number of each one's look: that of the figure for Vertebral Column.
_LOOKS = {"paper": 0, "local": 2, "svm": 3, "svm_weighted": 4}
# What no classifier exceeds on average if both classes count the same.
_LIMIT = float(norm.cdf(_APART / 2.0))


def sample(n_majority: int, n_minority: int, seed: list[int]) -> tuple[FloatArray, NDArray[Any]]:
    """Return points of two normal distributions of the plane, two standard deviations apart.

    Examples
    --------
    >>> sample(3, 1, [0])[1].tolist()
    ['majority', 'majority', 'majority', 'minority']
    """
    X = np.random.default_rng(seed).standard_normal((n_majority + n_minority, 2))
    X[n_majority:, 0] += _APART
    return X, np.repeat(["majority", "minority"], [n_majority, n_minority])


def _measure(seed: int) -> dict[str, float]:
    """Return recalls at each ratio, and what is accepted at one of them."""
    X_test, y_test = sample(_N_TEST, _N_TEST, [seed, 1])
    found: dict[str, float] = {}
    for ratio in _RATIOS:
        X, y = sample(_N_MAJORITY, _N_MAJORITY // ratio, [seed, 0])
        for model in _MODELS:
            label = _fitted(model, X, y).predict(X_test)
            recalls = [mean(label[y_test == name] == name) for name in ("minority", "majority")]
            found |= {f"{model}.recall_{ratio}": recalls[0], f"{model}.balanced_{ratio}": float(np.mean(recalls))}
        if ratio == _ACCEPTED_AT:
            found |= acceptance(X, y, X_test, y_test, _N_IMP)
    return found | {
        f"{model}.drop": found[f"{model}.balanced_{_RATIOS[0]}"] - found[f"{model}.balanced_{_RATIOS[-1]}"]
        for model in _MODELS
    }


def _fitted(model: str, X: FloatArray, y: NDArray[Any]) -> Any:
    if model.startswith("svm"):
        return SVC(class_weight="balanced" if model == "svm_weighted" else None).fit(X, y)
    return classifier(model, _N_IMP).fit(X, y)


def _draw(values: Values) -> Any:
    """Draw balanced accuracy and recall of the minority against the ratio."""
    figure, axes = panels(2)
    for ax, column, text in zip(
        axes, ("balanced", "recall"), ("balanced accuracy", "recall of the minority"), strict=True
    ):
        for model, name in _MODELS.items():
            look = style(_LOOKS[model])
            columns = [list(values[f"{model}.{column}_{ratio}"]) for ratio in _RATIOS]
            ranges(
                ax, np.array(_RATIOS), columns, color=look.colour, marker=look.marker, linestyle=look.line, label=name
            )
        ax.set(xscale="log", xticks=_RATIOS, xticklabels=[f"1:{ratio}" for ratio in _RATIOS], ylim=(0.0, 1.0))
        ax.minorticks_off()
        label_axes(ax, "minority to majority", text)
    axes[0].axhline(_LIMIT, color="black", linestyle=":", linewidth=0.9, label="best possible")
    legend(axes[0], loc="lower left")
    return figure


EXPERIMENT = Experiment(
    name="imbalance",
    title="Imbalance",
    about=(
        "The paper claims, without figures, that imbalance does not hurt. Here: two normal distributions of the plane, "
        f"{_APART:g} standard deviations apart, {_N_MAJORITY} points of the majority, {_N_MAJORITY} down to "
        f"{_N_MAJORITY // _RATIOS[-1]} of the minority; tested with {_N_TEST} of each; n_imp {_N_IMP}."
    ),
    statements=(
        Statement(
            "The rules of classification are not affected by class imbalance.",
            "not affected",
            (Expectation("paper.drop", "loss of balanced accuracy from 1:1 to 1:100", "share", -inf, 0.02),),
            ((Expectation("local.drop", "the default's loss", "share", -inf, 0.02),),),
            lambda values: (
                f"An RBF SVM loses {in_words(spread(values['svm.drop']).median, 'share')}, with weighted classes "
                f"{in_words(spread(values['svm_weighted.drop']).median, 'share')}; the best possible balanced accuracy "
                f"is {in_words(_LIMIT, 'share')}."
            ),
            reason="Where the classes overlap, most points of a region are the majority's, and these give the label.",
        ),
        Statement(
            "Imbalanced data sets can be handled (experiments of the paper that it does not show).",
            "handled",
            (
                Expectation("paper.recall_10", "recall of the minority at 1:10", "share", 0.5, 1.0),
                Expectation("paper.recall_100", "at 1:100", "share", 0.5, 1.0),
            ),
            note=lambda values: (
                f"An RBF SVM has {in_words(spread(values['svm.recall_10']).median, 'share')} and "
                f"{in_words(spread(values['svm.recall_100']).median, 'share')}, with weighted classes "
                f"{in_words(spread(values['svm_weighted.recall_10']).median, 'share')} and "
                f"{in_words(spread(values['svm_weighted.recall_100']).median, 'share')}."
            ),
            reason="At 1:10 and 1:100 most points of the minority are taken for the majority.",
        ),
    ),
    tables=(
        Table(
            "Balanced accuracy",
            tuple(Row(key, text) for key, text in _MODELS.items()),
            (
                *(Column(f"balanced_{ratio}", f"1:{ratio}", "share") for ratio in _RATIOS),
                Column("drop", "loss, 1:1 to 1:100", "share"),
            ),
        ),
        Table(
            "Recall of the minority",
            tuple(Row(key, text) for key, text in _MODELS.items()),
            tuple(Column(f"recall_{ratio}", f"1:{ratio}", "share") for ratio in _RATIOS),
        ),
        ACCEPTANCE._replace(title=f"{ACCEPTANCE.title} (trained at 1:{_ACCEPTED_AT}, tested at 1:1)"),
    ),
    measure=_measure,
    draw=_draw,
    caption="Balanced accuracy and recall of the minority: medians and ranges over the runs.",
)
