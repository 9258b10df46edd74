"""Imbalance: two overlapping classes, from as many points of each to a hundred times as many of one."""

from math import inf, log
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
_APART, _FURTHER = 2.0, (3.0, 4.0, 5.0, 6.0)  # standard deviations
_SHORT = 0.03  # of Bayes' rule, for a recall that is as good
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


_BY_DISTANCE = Table(
    "Recall of the minority by the distance of the classes",
    tuple(Row(f"apart_{apart:g}", f"{apart:g} standard deviations") for apart in (_APART, *_FURTHER)),
    (
        *(
            column
            for ratio in (10, 100)
            for column in (
                Column(f"recall_{ratio}", f"SEP-C, 1:{ratio}", "share"),
                Column(f"bayes_{ratio}", f"Bayes' rule, 1:{ratio}", "share"),
                Column(f"beside_{ratio}", f"difference, 1:{ratio}", "share"),
            )
        ),
        Column("drop", "SEP-C, loss of balanced accuracy, 1:1 to 1:100", "share"),
        Column("bayes_drop", "Bayes' rule, the same", "share"),
    ),
    "SEP-C in the paper's form. Bayes' rule knows both distributions and their shares: no rule is more accurate.",
)


def sample(n_majority: int, n_minority: int, seed: list[int], apart: float = _APART) -> tuple[FloatArray, NDArray[Any]]:
    """Return points of two normal distributions of the plane, so many standard deviations apart.

    Examples
    --------
    >>> sample(3, 1, [0])[1].tolist()
    ['majority', 'majority', 'majority', 'minority']
    """
    X = np.random.default_rng(seed).standard_normal((n_majority + n_minority, 2))
    X[n_majority:, 0] += apart
    return X, np.repeat(["majority", "minority"], [n_majority, n_minority])


def bayes_recalls(ratio: float, apart: float) -> tuple[float, float]:
    """Return the recalls of Bayes' rule for the minority and the majority.

    Examples
    --------
    >>> [round(recall, 3) for recall in bayes_recalls(10, 2.0)]
    [0.44, 0.984]
    """
    shift = log(ratio) / apart
    return float(norm.cdf(apart / 2.0 - shift)), float(norm.cdf(apart / 2.0 + shift))


def _measure(seed: int) -> dict[str, float]:
    """Return recalls at each ratio, and what is accepted at one of them."""
    X_test, y_test = sample(_N_TEST, _N_TEST, [seed, 1])
    found: dict[str, float] = {}
    for ratio in _RATIOS:
        X, y = sample(_N_MAJORITY, _N_MAJORITY // ratio, [seed, 0])
        for model in _MODELS:
            recalls = _recalls(_fitted(model, X, y).predict(X_test), y_test)
            found |= {f"{model}.recall_{ratio}": recalls[0], f"{model}.balanced_{ratio}": float(np.mean(recalls))}
        if ratio == _ACCEPTED_AT:
            found |= acceptance(X, y, X_test, y_test, _N_IMP)
    found |= {
        f"{model}.drop": found[f"{model}.balanced_{_RATIOS[0]}"] - found[f"{model}.balanced_{_RATIOS[-1]}"]
        for model in _MODELS
    }
    near = {ratio: (found[f"paper.recall_{ratio}"], found[f"paper.balanced_{ratio}"]) for ratio in (1, 10, 100)}
    for apart in (_APART, *_FURTHER):
        found |= _beside_bayes(apart, near if apart == _APART else _by_ratio(seed, apart))
    return found


def _recalls(label: NDArray[Any], y_test: NDArray[Any]) -> list[float]:
    return [mean(label[y_test == name] == name) for name in ("minority", "majority")]


def _by_ratio(seed: int, apart: float) -> dict[int, tuple[float, float]]:
    """Return recall of the minority and balanced accuracy of the paper's form at three ratios."""
    X_test, y_test = sample(_N_TEST, _N_TEST, [seed, 1], apart)
    found = {}
    for ratio in (1, 10, 100):
        X, y = sample(_N_MAJORITY, _N_MAJORITY // ratio, [seed, 0], apart)
        recalls = _recalls(_fitted("paper", X, y).predict(X_test), y_test)
        found[ratio] = recalls[0], float(np.mean(recalls))
    return found


def _beside_bayes(apart: float, by_ratio: dict[int, tuple[float, float]]) -> dict[str, float]:
    bayes = {ratio: bayes_recalls(ratio, apart) for ratio in by_ratio}
    found = {"drop": by_ratio[1][1] - by_ratio[100][1], "bayes_drop": float(np.mean(bayes[1]) - np.mean(bayes[100]))}
    for ratio in (10, 100):
        recall, best = by_ratio[ratio][0], bayes[ratio][0]
        found |= {f"recall_{ratio}": recall, f"bayes_{ratio}": best, f"beside_{ratio}": recall - best}
    return {f"apart_{apart:g}.{name}": value for name, value in found.items()}


def _fitted(model: str, X: FloatArray, y: NDArray[Any]) -> Any:
    if model.startswith("svm"):
        return SVC(class_weight="balanced" if model == "svm_weighted" else None).fit(X, y)
    return classifier(model, _N_IMP).fit(X, y)


def _draw(values: Values) -> Any:
    """Draw balanced accuracy and recall of the minority against the ratio, and recall against the distance."""
    figure, (upper, lower) = panels(2, 2)
    for ax, column, text in zip(
        upper, ("balanced", "recall"), ("balanced accuracy", "recall of the minority"), strict=True
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
    upper[0].axhline(_LIMIT, color="black", linestyle=":", linewidth=0.9, label="best possible")
    legend(upper[0], loc="lower left")
    look = style(_LOOKS["paper"])
    at = np.array([_APART, *_FURTHER])
    for ax, ratio in zip(lower, (10, 100), strict=True):
        columns = [list(values[f"{row.key}.recall_{ratio}"]) for row in _BY_DISTANCE.rows]
        ranges(ax, at, columns, color=look.colour, marker=look.marker, linestyle=look.line, label=_MODELS["paper"])
        best = [bayes_recalls(ratio, apart)[0] for apart in at]
        ax.plot(at, best, color="black", linestyle=":", linewidth=0.9, label="Bayes' rule")
        ax.set(xticks=at, ylim=(0.0, 1.0), title=f"1:{ratio}")
        label_axes(ax, "standard deviations between the classes", "recall of the minority")
    legend(lower[0], loc="lower right")
    return figure


def _handled(apart: float) -> tuple[Expectation, ...]:
    return tuple(
        Expectation(
            f"apart_{apart:g}.beside_{ratio}",
            f"recall of the minority less that of Bayes' rule at 1:{ratio}, {apart:g} standard deviations apart",
            "share",
            -_SHORT,
            inf,
        )
        for ratio in (10, 100)
    )


def _of_both(values: Values) -> str:
    """Say how the recalls of the paper's form and of Bayes' rule grow with the distance."""
    parts = []
    for row in _BY_DISTANCE.rows:
        ours, best = (
            " and ".join(in_words(spread(values[f"{row.key}.{name}_{ratio}"]).median, "share") for ratio in (10, 100))
            for name in ("recall", "bayes")
        )
        parts.append(f"{row.text}: {ours}, Bayes' rule {best}")
    return f"Recalls at 1:10 and 1:100: {'; '.join(parts)}."


EXPERIMENT = Experiment(
    name="imbalance",
    title="Imbalance",
    about=(
        "The paper claims, without figures, that imbalance does not hurt. Here: two normal distributions of the plane, "
        f"{_APART:g} standard deviations apart, {_N_MAJORITY} points of the majority, {_N_MAJORITY} down to "
        f"{_N_MAJORITY // _RATIOS[-1]} of the minority; tested with {_N_TEST} of each; n_imp {_N_IMP}. "
        "At this distance Bayes' rule itself, which knows both distributions, misses most of the minority; so other "
        "distances stand beside it, and the recall is judged by that of Bayes' rule."
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
                f"is {in_words(_LIMIT, 'share')}. Bayes' rule loses "
                f"{in_words(spread(values['apart_2.bayes_drop']).median, 'share')}; with classes "
                f"{_FURTHER[-1]:g} standard deviations apart SEP-C loses "
                f"{in_words(spread(values[f'apart_{_FURTHER[-1]:g}.drop']).median, 'share')}."
            ),
            reason="Where the classes overlap, most points of a region are the majority's, and these give the label; a "
            "rule that weighs the classes by their shares loses recall there, Bayes' rule too.",
        ),
        Statement(
            "Imbalanced data sets can be handled (experiments of the paper that it does not show).",
            "handled",
            _handled(_APART),
            tuple(_handled(apart) for apart in _FURTHER),
            _of_both,
            reason="As well as by Bayes' rule from about 6 standard deviations on; of nearer classes more of the "
            "minority is lost than must be, most at 1:100.",
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
        _BY_DISTANCE,
        ACCEPTANCE._replace(title=f"{ACCEPTANCE.title} (trained at 1:{_ACCEPTED_AT}, tested at 1:1)"),
    ),
    measure=_measure,
    draw=_draw,
    caption="Above: balanced accuracy and recall of the minority by ratio. Below: recall of the minority by the "
    "distance of the classes, beside Bayes' rule. Medians and ranges over the runs.",
)
