"""Adult, the largest stratum: the paper's main example of heavy overlap."""

from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from paper.experiment import Column, Experiment, Row, Table
from paper.figures import legend, panels, regions_by_label
from paper.paper_readings import MAIN, READINGS, PaperClassifier, readings_table
from paper.shared_measures import (
    ACCEPTANCE,
    MIN_TRUST,
    acceptance,
    beyond,
    by_the_letter,
    classifier,
    mean,
    n_ellipsoids,
    trust_in,
)
from paper.statements import Expectation, Statement, Values, in_words, spread, spread_in_words
from sepc.common.typing import BoolArray, FloatArray
from sepc.datasets import DataSet, load_adult, load_adult_stratum
from sepc.estimators.classifier import SEPClassifier
from sepc.landscapes.data_landscape import landscape
from sepc.model.assessment import Assessment
from sepc.model.decision import trust_of
from sepc.plot.style import GREY, label_axes

_N_IMP = 10
_REGION_61 = 0.737
_FLAT = ("capital_gain", "capital_loss")
_COLUMNS = (
    Column("n_majority", "ellipsoids of <=50K", "count"),
    Column("n_minority", "ellipsoids of >50K", "count"),
    Column("regions", "regions hit", "count"),
    Column("accuracy", "accuracy", "share"),
    Column("own", "accuracy, own label", "share"),
    Column("inside", "right and inside of an ellipsoid", "share"),
    Column("balanced", "mean of both labels' recalls", "share"),
)


class _Form(NamedTuple):
    """A form of the data: coded or not, noise on the flat features of training or all rows, standardised or not."""

    text: str
    coded: bool = True
    noise: float = 0.01
    classifier: str = "paper"
    on_all_rows: bool = False


_FORMS = {
    "noise": _Form("coded, noise up to 0.01"),
    "everywhere": _Form("the same, noise on the test rows too", on_all_rows=True),
    "plain": _Form("coded, no noise", noise=0.0),
    "more": _Form("coded, noise up to 0.1", noise=0.1),
    "most": _Form("coded, noise up to 1", noise=1.0),
    "scaled_noise": _Form("coded and standardised, noise up to 0.01", classifier="scaled"),
    "dollars": _Form("dollars, noise up to 0.01", coded=False),
    "dollars_plain": _Form("dollars, no noise", coded=False, noise=0.0),
}
_OTHER_FORMS = {key: form.text for key, form in _FORMS.items() if key != "noise"}
_PARTITIONS = Table(
    "Forms of the data: coded by rank or in dollars, with and without noise on capital gain and loss",
    tuple(Row(key, form.text) for key, form in _FORMS.items()),
    _COLUMNS,
    "Own label: a point in (or next to) one ellipsoid alone gets the label of that ellipsoid, even where the other "
    "label outnumbers it there. Right and inside of an ellipsoid: the accuracy if a point outside of all counts as not "
    "classified. Regions: those next to which points lie apart from those in which they lie. Noise is on the training "
    "rows alone where nothing else is said.",
)
_BY_READING = readings_table(*_COLUMNS[:6])
_OVERLAP = Table(
    "The overlap of the class ellipsoids",
    (
        Row("all", "coded, all rows (no seed in it)"),
        Row("train", "coded, 80 % of the rows"),
        Row("all_dollars", "dollars, all rows"),
        Row("train_dollars", "dollars, 80 % of the rows"),
    ),
    (Column("majority", "OVR of <=50K", "number"), Column("minority", "OVR of >50K", "number")),
)
_FIRST = Table(
    "The first subset of <=50K, coded, no noise",
    (
        Row("cut", "all rows, after the first call of Algorithm 2 (no seed in it)"),
        Row("twice", "all rows, after the second call (no seed in it)"),
        Row("part_cut", "80 % of the rows, after the first call"),
        Row("part_twice", "80 % of the rows, after the second call"),
        Row("part_block", "80 % of the rows, the first ellipsoid"),
    ),
    (
        Column("gain", "rows with capital gain 0", "share"),
        Column("loss", "rows with capital loss 0", "share"),
        Column("size", "rows", "count"),
    ),
)
_OTHERS = Table(
    "Other classifiers on the same splits, coded",
    (
        Row("tree", "decision tree, depth 10"),
        Row("linear", "SVM, linear, standardised"),
        Row("rbf", "SVM, RBF, features as they are"),
    ),
    (Column("accuracy", "accuracy", "share"),),
)
_ROOT = Table(
    "The root of the tree of depth 10",
    (Row("root", "80 % of the rows, coded"),),
    (
        Column("gain", "splits capital gain", "yes"),
        Column("above", "above", "number"),
        Column("leaf", "what is above is a leaf", "yes"),
        Column("node", "its number", "count"),
    ),
)
_LIMITS = (2, 5, _N_IMP, 20, 40)
_BY_LIMIT = Table(
    "By n_imp",
    tuple(Row(f"limit_{n_imp}", f"n_imp {n_imp}") for n_imp in _LIMITS),
    (
        Column("n", "ellipsoids", "count"),
        Column("train", "accuracy, training rows", "share"),
        Column("test", "accuracy, test rows", "share"),
        Column("gap", "difference", "share"),
    ),
)
_LIMITS_APART = Table(
    f"n_imp {_LIMITS[-1]} beside {_N_IMP}",
    (Row("limits", "the same fits"),),
    (
        Column("gap", "the difference smaller by", "share"),
        Column("test", "accuracy on the test rows larger by", "share"),
    ),
)
_TRUSTED = Table(
    "Labels by their trust",
    (
        Row("sure", "trust of at least 95 %"),
        Row("sure_everywhere", "the same, noise on the test rows too"),
        Row("unsure", "trust below 50 %"),
    ),
    (
        Column("share", "share of the test points", "share"),
        Column("right", "of these right", "share"),
        Column("outside", "of the wrong ones outside every ellipsoid", "share"),
        Column("wrong", "of all wrong ones", "share"),
        Column("n_wrong", "wrong ones", "count"),
        Column("n_outside", "of these outside", "count"),
    ),
)
_BY_TRUTH = Table(
    "Trust in the true label, as in the paper's panels",
    (Row("majority", "<=50K"), Row("minority", ">50K")),
    (
        Column("right", "right", "share"),
        Column("right_high", "of the right ones with a trust of 50 % or more", "share"),
        Column("right_full", "of the right ones with a trust of 99.5 % or more", "share"),
        Column("wrong_low", "of the wrong ones with a trust below 50 %", "share"),
    ),
)
_FACTS = Table(
    "The data, and the formula (no seed in it)",
    (Row("facts", "the stratum"),),
    (
        Column("majority", "rows of <=50K", "count"),
        Column("minority", "rows of >50K", "count"),
        Column("constant", "numeric features that are constant", "count"),
        Column("gain", "largest code of capital gain", "count"),
        Column("region_61", "trust with 5 against 1 points, 204 and 438 in all", "share"),
        Column("printed_61", "with 80 % of 547 and 256", "share"),
    ),
)


@cache
def _data(coded: bool = True) -> DataSet:
    return load_adult_stratum(coded)


@cache
def _overlap_of_all(coded: bool) -> tuple[float, float]:
    return landscape(_data(coded).X, _data(coded).y).overlaps[0].ovr


def with_noise(X: FloatArray, names: tuple[str, ...], high: float, seed: int) -> FloatArray:
    """Add uniform noise to capital gain and loss, as the paper does to make them less flat.

    Examples
    --------
    >>> with_noise(np.zeros((1, 2)), ("age", "capital_gain"), 0.0, 0).tolist()
    [[0.0, 0.0]]
    """
    X = X.copy()
    flat = [k for k, name in enumerate(names) if name in _FLAT]
    X[:, flat] += np.random.default_rng(seed).uniform(0.0, high, (len(X), len(flat)))
    return X


def counts_of_region_61(n_train: int) -> list[tuple[int, int]]:
    """Return which training counts of <=50K and >50K give the paper's 73.7 % for 1 against 5 points.

    Examples
    --------
    >>> counts_of_region_61(642)
    [(438, 204)]
    """
    pairs = ((n_train - minority, minority) for minority in range(1, n_train))
    return [pair for pair in pairs if round(_trust_in_region_61(*pair), 3) == _REGION_61]


def _trust_in_region_61(majority: int, minority: int) -> float:
    return float(trust_of(np.array(5), np.array(1), minority, majority))


def first_subset(A: FloatArray, B: FloatArray, n_calls: int) -> BoolArray:
    """Return which points of A are left after so many calls of Algorithm 2, each on what the last one left.

    Examples
    --------
    >>> A, B = np.array([[0.0], [2.0], [4.0], [6.0]]), np.array([[0.0], [-1.0], [-2.0], [-3.0]])
    >>> first_subset(A, B, 1).tolist(), first_subset(A, B, 2).tolist()
    ([False, False, True, True], [False, False, False, True])
    """
    left = np.ones(len(A), dtype=bool)
    for _ in range(n_calls):
        left[left] = beyond(A[left], B)[0]
    return left


def _split(seed: int, form: _Form = _FORMS["noise"]) -> list[Any]:
    """Return training points, test points and their labels: 80 and 20 %."""
    data = _data(form.coded)
    X = with_noise(data.X, data.feature_names, form.noise, seed) if form.on_all_rows else data.X
    X, X_test, y, y_test = train_test_split(X, data.y, test_size=0.2, random_state=seed, stratify=data.y)
    if not form.on_all_rows:
        X = with_noise(X, data.feature_names, form.noise, seed)
    return [X, X_test, y, y_test]


def _measure(seed: int) -> dict[str, float]:
    """Return partitions, accuracies and trust on one split."""
    found = _facts()
    for key in _FORMS:
        found |= of_form(key, seed)
    X, X_test, y, y_test = _split(seed)
    for key in READINGS:
        clf = PaperClassifier(_N_IMP, key).fit(X, y)
        found |= _partition(f"r_{key}", clf, clf.assess(X_test), y_test)
    a = classifier("paper", _N_IMP).fit(X, y).assess(X_test)
    found |= _by_trust(a, y_test) | _by_truth(a, y, y_test) | acceptance(X, y, X_test, y_test, _N_IMP)
    return (
        found | _everywhere(seed) | _overlaps(seed) | _first_of_all() | _first(seed) | _others(seed) | _by_limit(seed)
    )


def of_form(key: str, seed: int) -> dict[str, float]:
    """Return partition and accuracies on one split under one form of the data."""
    form = _FORMS[key]
    X, X_test, y, y_test = _split(seed, form)
    clf = classifier(form.classifier, _N_IMP).fit(X, y)
    return _partition(key, clf, clf.assess(X_test), y_test)


@cache
def _facts() -> dict[str, float]:
    counts = _data().counts
    names = set(load_adult().feature_names)
    return {
        "facts.majority": counts["<=50K"],
        "facts.minority": counts[">50K"],
        "facts.constant": len(names - set(_data().feature_names)),
        "facts.gain": _data().X[:, _data().feature_names.index("capital_gain")].max(),
        "facts.region_61": _trust_in_region_61(438, 204),
        "facts.printed_61": _trust_in_region_61(437, 205),
    }


def _partition(key: str, clf: SEPClassifier, a: Assessment, y_test: NDArray[Any]) -> dict[str, float]:
    p = clf.partitions_[0]
    right, outside = a.label == y_test, a.rule == "R3"
    return {
        f"{key}.n_majority": n_ellipsoids(p, 0),
        f"{key}.n_minority": n_ellipsoids(p, 1),
        f"{key}.regions": len(set(zip(outside.tolist(), a.region.tolist(), strict=True))),
        f"{key}.accuracy": mean(right),
        f"{key}.own": mean(by_the_letter(a) == y_test),
        f"{key}.inside": mean(right & ~outside),
        f"{key}.balanced": balanced_accuracy_score(y_test, a.label),
    }


def _by_trust(a: Assessment, y_test: NDArray[Any]) -> dict[str, float]:
    right, outside = a.label == y_test, a.rule == "R3"
    found: dict[str, float] = {}
    for key, chosen in (("sure", a.trust >= MIN_TRUST), ("unsure", a.trust < 0.5)):
        found[f"{key}.share"] = mean(chosen)
        found[f"{key}.right"] = mean(right[chosen])
        found[f"{key}.outside"] = mean(outside[chosen & ~right])
        found[f"{key}.wrong"] = mean(chosen[~right])
        found[f"{key}.n_wrong"] = int((chosen & ~right).sum())
        found[f"{key}.n_outside"] = int((chosen & ~right & outside).sum())
    return found


def _everywhere(seed: int) -> dict[str, float]:
    """Return the trusted labels once noise is on the test rows, too."""
    X, X_test, y, y_test = _split(seed, _FORMS["everywhere"])
    found = _by_trust(classifier("paper", _N_IMP).fit(X, y).assess(X_test), y_test)
    return {f"sure_everywhere.{column.key}": found[f"sure.{column.key}"] for column in _TRUSTED.columns}


def _by_truth(a: Assessment, y: NDArray[Any], y_test: NDArray[Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    in_truth = trust_in(y_test, a, y)
    for key, label in (("majority", "<=50K"), ("minority", ">50K")):
        trust, right = in_truth[y_test == label], a.label[y_test == label] == label
        found[f"{key}.right"] = mean(right)
        found[f"{key}.right_high"] = mean(trust[right] >= 0.5)
        found[f"{key}.right_full"] = mean(trust[right] >= 0.995)
        found[f"{key}.wrong_low"] = mean(trust[~right] < 0.5)
    return found


def _overlaps(seed: int) -> dict[str, float]:
    """Return the overlap of all rows and of the training part, coded and in dollars."""
    ratios: dict[str, tuple[float, float]] = {}
    for end, coded in (("", True), ("_dollars", False)):
        X, _, y, _ = _split(seed, _Form("", coded, noise=0.0))
        ratios |= {f"all{end}": _overlap_of_all(coded), f"train{end}": landscape(X, y).overlaps[0].ovr}
    return {
        f"{key}.{column.key}": ratio
        for key, pair in ratios.items()
        for column, ratio in zip(_OVERLAP.columns, pair, strict=True)
    }


@cache
def _first_of_all() -> dict[str, float]:
    A, B = _by_label(_data().X, _data().y)
    return _zeros("cut", A[first_subset(A, B, 1)]) | _zeros("twice", A[first_subset(A, B, 2)])


def _first(seed: int) -> dict[str, float]:
    """Return what the first subset of the majority holds in a split: after one call, after two, and in the end."""
    X, _, y, _ = _split(seed, _FORMS["plain"])
    A, B = _by_label(X, y)
    first = next(A[block.members] for block in MAIN.partition(A, B, _N_IMP).blocks if block.side == 0)
    once, twice = (A[first_subset(A, B, n)] for n in (1, 2))
    return _zeros("part_cut", once) | _zeros("part_twice", twice) | _zeros("part_block", first)


def _by_label(X: FloatArray, y: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    return X[y == "<=50K"], X[y == ">50K"]


def _zeros(key: str, part: FloatArray) -> dict[str, float]:
    gain, loss = (part[:, _data().feature_names.index(name)] == 0.0 for name in _FLAT)
    return {f"{key}.gain": mean(gain), f"{key}.loss": mean(loss), f"{key}.size": len(part)}


def _others(seed: int) -> dict[str, float]:
    X, X_test, y, y_test = _split(seed, _FORMS["plain"])
    linear = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    models = {"tree": DecisionTreeClassifier(max_depth=10, random_state=seed), "linear": linear, "rbf": SVC()}
    found = {f"{key}.accuracy": model.fit(X, y).score(X_test, y_test) for key, model in models.items()}
    nodes = models["tree"].tree_
    above = nodes.children_right[0]
    return found | {
        "root.gain": nodes.feature[0] == _data().feature_names.index("capital_gain"),
        "root.above": nodes.threshold[0],
        "root.leaf": nodes.children_left[above] == nodes.children_right[above],
        "root.node": above,
    }


def _by_limit(seed: int) -> dict[str, float]:
    """Return how far the accuracy on the training rows is above that on the test rows, by n_imp."""
    X, X_test, y, y_test = _split(seed)
    found: dict[str, float] = {}
    for n_imp in _LIMITS:
        clf = classifier("paper", n_imp).fit(X, y)
        train, test = mean(clf.predict(X) == y), mean(clf.predict(X_test) == y_test)
        row = {"n": len(clf.partitions_[0].blocks), "train": train, "test": test, "gap": train - test}
        found |= {f"limit_{n_imp}.{name}": value for name, value in row.items()}
    few, many = f"limit_{_N_IMP}", f"limit_{_LIMITS[-1]}"
    return found | {
        "limits.gap": found[f"{few}.gap"] - found[f"{many}.gap"],
        "limits.test": found[f"{many}.test"] - found[f"{few}.test"],
    }


def _draw(values: Values) -> Any:
    """Draw the flat features; test points by region and by leaf, for either true label, with the trust there."""
    several = list(zip(values["noise.n_majority"], values["noise.n_minority"], strict=True))
    seed = several.index((17.0, 17.0) if (17.0, 17.0) in several else max(several, key=min))
    X, X_test, y, y_test = _split(seed)
    a = classifier("paper", _N_IMP).fit(X, y).assess(X_test)
    tree = DecisionTreeClassifier(max_depth=10, random_state=seed).fit(X, y)
    codes = np.searchsorted(tree.classes_, y_test)
    leaves, share = tree.apply(X_test), tree.predict_proba(X_test)[np.arange(len(y_test)), codes]
    figure, axes = panels(2, 3, height=2.5)
    _draw_first(axes[0])
    rows = (
        ("SEP-C", "regions", "trust", a.region, a.label, trust_in(y_test, a, y)),
        ("tree", "leaves", "share", leaves, tree.predict(X_test), share),
    )
    for row, (name, across, line, regions, predicted, trust) in zip(axes[1:], rows, strict=True):
        for ax, label in zip(row, np.unique(y), strict=True):
            chosen = y_test == label
            regions_by_label(ax, regions[chosen], predicted[chosen], trust[chosen], np.unique(y), across, line)
            ax.set_title(f"{name}, true label {label}")
    return figure


def _draw_first(axes: Any) -> None:
    """Draw capital gain and loss of all rows, and of the first subset of <=50K, after two calls of Algorithm 2."""
    data = _data()
    first = np.zeros(len(data.y), dtype=bool)
    majority = data.y == "<=50K"
    first[majority] = first_subset(data.X[majority], data.X[~majority], 2)
    at = np.arange(1, len(data.y) + 1)
    for ax, name in zip(axes, _FLAT, strict=True):
        values = data.X[:, data.feature_names.index(name)]
        ax.vlines(at, 0.0, values, color=GREY, linewidth=0.8, label="all rows", rasterized=True)
        ax.plot(
            at[first], values[first], "o", color="black", markersize=2, label="first subset of <=50K", rasterized=True
        )
        ax.set(title=name.replace("_", " "), ylim=(-0.04 * values.max(), 1.3 * values.max()))
        label_axes(ax, "row", f"{name.replace('_', ' ')} (rank)")
        legend(ax, loc="upper right", ncols=2)


def _both(key: str, text: str) -> tuple[Expectation, ...]:
    return (
        Expectation(f"{key}.majority", f"{text}OVR of <=50K", "number", 0.4, 0.6),
        Expectation(f"{key}.minority", f"{text}OVR of >50K", "number", 0.4, 0.6),
    )


def _seventeen(key: str, text: str) -> tuple[Expectation, ...]:
    return (
        Expectation(f"{key}.n_majority", f"ellipsoids of <=50K{text}", "count", 16, 18),
        Expectation(f"{key}.n_minority", f"ellipsoids of >50K{text}", "count", 16, 18),
    )


def _all_zero(key: str, text: str) -> tuple[Expectation, ...]:
    return (
        Expectation(f"{key}.gain", f"rows with a gain of 0{text}", "share", 1.0, 1.0),
        Expectation(f"{key}.loss", f"rows with a loss of 0{text}", "share", 1.0, 1.0),
    )


def _by_calls(values: Values) -> str:
    """Say what is 0 after the first call of Algorithm 2, and after the second with fewer rows."""
    once = in_words(spread(values["cut.loss"]).median, "share")
    splits = list(zip(values["part_twice.gain"], values["part_twice.loss"], strict=True))
    return (
        "That is after the second call of Algorithm 2, on all 803 rows, as in the paper's figure. After the first "
        f"{once} have a loss of 0. With 80 % of the rows all are 0 after the second in {splits.count((1.0, 1.0))} of "
        f"{len(splits)} runs."
    )


def _tried(column: str, text: str, low: float, high: float) -> tuple[tuple[Expectation, ...], ...]:
    """Return what is expected of one number under the other forms of the data and readings of the algorithm."""
    kind = "count" if column == "regions" else "share"
    ways = _OTHER_FORMS | {f"r_{key}": reading.text for key, reading in READINGS.items() if reading is not MAIN}
    return tuple((Expectation(f"{key}.{column}", f"{text}, {way}", kind, low, high),) for key, way in ways.items())


def _in_one_run(values: Values) -> str:
    """Say in how many runs both counts are the paper's at once, or nearly so."""
    both = list(zip(values["noise.n_majority"], values["noise.n_minority"], strict=True))
    near = sum(max(abs(a - 17.0), abs(b - 17.0)) <= 2.0 for a, b in both)
    return (
        f"Both labels come within 2 of 17 at once in {near} of {len(both)} runs, exactly 17 and 17 in "
        f"{both.count((17.0, 17.0))}."
    )


def _gaps(values: Values) -> str:
    """Say how far apart training and test rows are, by n_imp."""
    each = (f"{in_words(spread(values[f'limit_{n}.gap']).median, 'share')} with {n}" for n in _LIMITS)
    return (
        f"Accuracy on training less test rows, by n_imp: {', '.join(each)}. Below 5 it is small, for hardly anything "
        "is partitioned."
    )


def _pooled(values: Values) -> str:
    """Say how many of all runs' wrong labels with high trust are outside."""
    n_wrong, n_outside = (sum(values[f"sure.{name}"]) for name in ("n_wrong", "n_outside"))
    return f"Of those of all runs together {n_outside:.0f} of {n_wrong:.0f} are outside."


EXPERIMENT = Experiment(
    name="adult_stratum",
    title="Adult, the largest stratum",
    about=(
        "The 803 rows that share the commonest categories, 5 numeric features, coded by rank over all 30162 rows, "
        f"n_imp {_N_IMP}, 80 % to train and 20 % to test. The paper adds uniform noise of low magnitude to capital "
        'gain and loss "in the entire training set", because its solver fails on flat sets; ours does not, so both '
        "ways were run. Each seed draws a split and the noise. Statements are judged with noise on the training rows "
        "alone, up to 0.01, the magnitude that the paper gives for XOR, where it does the same."
    ),
    statements=(
        Statement(
            "The stratum has 547 records of one label and 256 of the other.",
            "547 and 256",
            (
                Expectation("facts.majority", "<=50K", "count", 547, 547),
                Expectation("facts.minority", ">50K", "count", 256, 256),
            ),
            note=lambda values: (
                "Of all counts that make up the 642 training rows of an 80 % split, "
                + " or ".join(f"{majority} and {minority}" for majority, minority in counts_of_region_61(642))
                + " alone give the paper's 73.7 % for region 61: 80 % of 548 and 255. 80 % of 547 and 256 give "
                f"{in_words(spread(values['facts.printed_61']).median, 'share')}."
            ),
            reason="A slip of the paper: its own 73.7 % for region 61 comes out of 80 % of 548 and 255 alone, the "
            "counts of the public file.",
        ),
        Statement(
            "One of the continuous features is constant in the stratum.",
            "1 feature",
            (Expectation("facts.constant", "constant features", "count", 1, 1),),
        ),
        Statement(
            "The overlap ratio is close to 50 % for both labels.",
            "about 0.5 and 0.5",
            _both("all", ""),
            (
                _both("train", "80 % of the rows, "),
                _both("all_dollars", "dollars, "),
                _both("train_dollars", "80 % of the rows, dollars, "),
            ),
            reason="The ratio of one label is further from 0.5.",
        ),
        Statement(
            "In the first subset that the reduced hulls give, capital gain and capital loss are all 0.",
            "all 0",
            _all_zero("twice", ""),
            tuple(_all_zero(row.key, f", {row.text}") for row in _FIRST.rows if row.key != "twice"),
            _by_calls,
        ),
        Statement(
            "With noise, 17 ellipsoids are found for each label.",
            "17 and 17",
            _seventeen("noise", ""),
            (
                *(_seventeen(key, f", {text}") for key, text in _OTHER_FORMS.items()),
                *(_seventeen(f"r_{key}", f", {r.text}") for key, r in READINGS.items() if r is not MAIN),
            ),
            _in_one_run,
            reason="The counts hang on the split and the noise; one or the other is off by more than a tenth.",
        ),
        Statement(
            "The test points lie in 66 different regions.",
            "66",
            (Expectation("noise.regions", "regions", "count", 60, 72),),
            _tried("regions", "regions", 60, 72),
            reason="With noise on the training rows alone, test rows whose gain and loss are exactly 0 lie next to the "
            "ellipsoids, not in them; with noise on the test rows, too, there are about 60.",
        ),
        Statement(
            "The trust in region 61, which holds 1 and 5 points, is 73.7 %.",
            "73.7 %",
            (Expectation("facts.region_61", "trust", "share", 0.7365, 0.7375),),
        ),
        Statement(
            "SEP-C's accuracy is low.",
            "52.5 %",
            (Expectation("noise.accuracy", "accuracy", "share", 0.495, 0.555),),
            (
                (Expectation("noise.own", "each ellipsoid's own label", "share", 0.495, 0.555),),
                *_tried("accuracy", "accuracy", 0.495, 0.555),
                *(
                    (
                        Expectation(
                            f"{key}.inside", f"points outside of all not classified, {text}", "share", 0.495, 0.555
                        ),
                    )
                    for key, text in (("noise", "noise on the training rows"), ("everywhere", "on the test rows too"))
                ),
            ),
            reason="Unexplained: 52.5 % are 84 of 160 test points, which an 80/20 split of 803 does not have. Near it "
            "comes only who puts noise on the test rows, too, and counts points outside of all ellipsoids as not "
            "classified, but the paper's Case 3 gives these a label.",
        ),
        Statement(
            "Accuracies of other classifiers: a tree of depth 10, a linear SVM, an RBF SVM.",
            "69.5 %, 71 %, 68 %",
            (
                Expectation("tree.accuracy", "tree", "share", 0.665, 0.725),
                Expectation("linear.accuracy", "linear SVM", "share", 0.68, 0.74),
                Expectation("rbf.accuracy", "RBF SVM", "share", 0.65, 0.71),
            ),
            reason="One of the three is off by more than three points.",
        ),
        Statement(
            "Capital gain goes up to the tick 120 of its axis; a tree splits it above 77, and what is above is a leaf.",
            "77 to 120; > 77",
            (
                Expectation("facts.gain", "largest code of capital gain", "count", 77, 120),
                Expectation("root.gain", "the root splits capital gain", "yes", 1, 1),
                Expectation("root.above", "above", "number", 76.5, 77.5),
                Expectation("root.leaf", "what is above is a leaf", "yes", 1, 1),
            ),
            note=lambda values: (
                f"The leaf is node {spread_in_words(values['root.node'], 'count')} here, 134 in the paper."
            ),
            reason="In dollars it goes up to 99999.",
        ),
        Statement(
            "Overfitting can be controlled by n_imp.",
            "controlled",
            (
                Expectation(
                    "limits.gap",
                    f"accuracy on training less test rows with {_N_IMP}, less the same with {_LIMITS[-1]}",
                    "share",
                    0.05,
                    inf,
                ),
                Expectation(
                    "limits.test",
                    f"accuracy on test rows with {_LIMITS[-1]} less that with {_N_IMP}",
                    "share",
                    0.0,
                    inf,
                ),
            ),
            note=_gaps,
            reason="Training and test rows come nearer to each other, but the test rows lose.",
        ),
        Statement(
            "If only labels with a trust above 95 % are accepted, nearly all wrong ones are rejected; the accuracy of "
            "the accepted is high.",
            "nearly all; high",
            (
                Expectation("sure.wrong", "of the wrong ones accepted", "share", 0.0, 0.1),
                Expectation("paper.accepted", "accuracy of the accepted", "share", 0.95, 1.0),
            ),
            note=lambda values: (
                f"Of all labels, right or wrong, {in_words(spread(values['paper.coverage']).median, 'share')} are "
                "accepted."
            ),
            reason="Nearly all labels are rejected, right ones too; of the few that are accepted many are wrong.",
        ),
        Statement(
            "Records of the majority: nearly all right labels have a high trust, the wrong ones one below 50 %.",
            "high; below 50 %",
            (
                Expectation("majority.right_high", "right ones with 50 % or more", "share", 0.9, 1.0),
                Expectation("majority.wrong_low", "wrong ones below 50 %", "share", 0.9, 1.0),
            ),
            reason="Many wrong ones lie where the formula gives their true label, the majority's, more than one half; "
            "it weighs the class sizes a second time.",
        ),
        Statement(
            "Records of the minority: few are right, these with a trust of 100 %; most wrong labels have a low trust.",
            "few; 100 %; below 50 %",
            (
                Expectation("minority.right", "right", "share", 0.0, 0.5),
                Expectation("minority.right_full", "right ones with 99.5 % or more", "share", 0.9, 1.0),
                Expectation("minority.wrong_low", "wrong ones below 50 %", "share", 0.5, 1.0),
            ),
            reason="Few are right, and wrong ones have a low trust in their true label; but few ellipsoids of the "
            "minority are pure, so that few right ones have 100 %.",
        ),
        Statement(
            "Wrong labels with high trust are outside of every ellipsoid (Case 3).",
            "none of them inside",
            (Expectation("sure.outside", "of the wrong ones outside", "share", 1.0, 1.0),),
            others=((Expectation("sure_everywhere.outside", "with noise on the test rows too", "share", 1.0, 1.0),),),
            note=_pooled,
            reason="Most of them are, in most runs not all.",
        ),
    ),
    tables=(
        _PARTITIONS,
        _BY_READING,
        _OVERLAP,
        _FIRST,
        _OTHERS,
        _ROOT,
        _BY_LIMIT,
        _LIMITS_APART,
        _TRUSTED,
        _BY_TRUTH,
        _FACTS,
        ACCEPTANCE,
    ),
    measure=_measure,
    draw=_draw,
    caption="Above: the two features that the paper finds flat in the first subset. Below: test points by region, and "
    "by leaf of a tree of depth 10, for either true label: bars by the label that they were given, line: trust in the "
    "true label, or its share of the leaf's training points. The first seed with 17 ellipsoids for each label, "
    "else that with the most of both.",
)
