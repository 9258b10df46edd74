"""Data that are not kind: heavy tails, few records, small groups, noise, many columns, broken relations.

Each case plants what is ordinary in practice, so that the truth is known: `CASES` has a family for each trouble. A
model is fitted to the training records of a case and judged by 2,000 fresh ones. Some cases have further records, which
the case is about: new ones of a small group, one value off by 8 standard deviations, a broken relation. Prints Markdown
tables for each family: means over draws, and the shares of labels that are right above a trust of 0.95 and 0.99, over
all draws together.

Each finished (case, draw, model) is a line of the file that ``--out`` names; the same command continues after an
interruption and computes only what is not there. ``--redo NAME`` computes the models whose name contains NAME anew.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
from measure import recording, row, table, versions
from results_file import ResultsFile, add_options, chosen
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVC

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import aurc, expected_calibration_error

TEST = 2000
# Labels are accepted from this trust on, and records are strange below this typicality.
TRUSTED, VERY_SURE, STRANGE = 0.95, 0.99, 0.01

KEY = {"case": str, "draw": int, "model": str}
VALUES = (
    *("accuracy", "log_loss", "aurc", "ece", "strange", "fit_s", "n"),
    *("n_trusted", "right_trusted", "n_sure", "right_sure"),
    # Of the further records, where a case has some: right, wrong and accepted, accepted, strange.
    *("further_right", "further_wrong_accepted", "further_accepted", "further_strange"),
    # Of the test records beside the small group: right.
    "beside_right",
)


@dataclass
class Records:
    """Training and test records of a draw, and the further ones that the case is about.

    Parameters
    ----------
    X, X_test : ndarray of shape (n, d), (m, d)
    y, y_test : ndarray of shape (n,), (m,)
        Labels 0 and 1.
    further : ndarray of shape (k, d)
        Records of which no ordinary test set has enough.
    further_label : int or None
        Their label; None where no label is right.
    beside : ndarray of shape (m,), bool
        Test records of the other label that lie near them.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    further: np.ndarray | None = None
    further_label: int | None = None
    beside: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))


def train_and_test(make: Callable, n: int, rng: np.random.Generator) -> Records:
    """Return n training records with at least two of each label, and test records of the same distribution."""
    X, y = make(rng, n + TEST)
    while min(np.bincount(y[:n], minlength=2)) < 2:
        X, y = make(rng, n + TEST)
    return Records(X[:n], y[:n], X[n:], y[n:])


# Heavy tails and strange columns: two labels whose columns are apart, and a distribution of each value.


def moved(rng: np.random.Generator, n: int, noise: Callable, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, and columns that are moved by 1.5, 1 and 0.5 between them; the others tell nothing."""
    y = rng.integers(0, 2, n)
    steps = np.zeros(d)
    steps[:3] = 1.5, 1.0, 0.5
    return noise(rng, (n, d)) + y[:, None] * steps, y


def lognormal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = moved(rng, n, lambda rng, shape: rng.normal(size=shape))
    return np.exp(2.0 * X), y


def zero_inflated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = lognormal(rng, n)
    return np.where(rng.random(X.shape) < 0.6 - 0.2 * y[:, None], 0.0, X), y


def copies(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records of 40 places, each with its own share of the labels."""
    places = np.random.default_rng(7).normal(size=(40, 4)).round(1)
    shares = np.random.default_rng(8).beta(0.6, 0.6, 40)
    at = rng.integers(0, 40, n)
    return places[at], (rng.random(n) < shares[at]).astype(int)


def lattice(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return six columns of three values, whose label is a rule on two of them, wrong in one of ten."""
    X = rng.integers(0, 3, (n, 6))
    y = (X[:, 0] == X[:, 1]).astype(int)
    return X.astype(float), np.where(rng.random(n) < 0.1, 1 - y, y)


TAILS: dict[str, Callable] = {
    "Cauchy": partial(moved, noise=lambda rng, shape: rng.standard_cauchy(shape)),
    "t2": partial(moved, noise=lambda rng, shape: rng.standard_t(2, shape)),
    "lognormal": lognormal,
    "zero-inflated": zero_inflated,
    "40 places": copies,
    "lattice": lattice,
}


# Few records, and noise: shapes that are not hard in themselves.


def normals(rng: np.random.Generator, n: int, d: int = 4, apart: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * y
    return X, y


def two_clouds(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y, side = rng.integers(0, 2, n), rng.choice([-1.0, 1.0], n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 2.0 * side * (1 - y)
    return X, y


def rings(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y, angle = rng.integers(0, 2, n), rng.uniform(0, 2 * np.pi, n)
    radius = 1.0 + y + rng.normal(scale=0.3, size=n)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def line(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 6))
    return X, (rng.random(n) < 1 / (1 + np.exp(-2.0 * X[:, :3].sum(axis=1)))).astype(int)


def nothing(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


SHAPES: dict[str, Callable] = {
    "normals": normals,
    "wide and narrow": lambda rng, n: (lambda X, y: (X * (1 + 2 * y[:, None]), y))(*normals(rng, n, 3, 0.5)),
    "two clouds": two_clouds,
    "rings": rings,
    "line": line,
    "t2": TAILS["t2"],
    "nothing to learn": nothing,
}


def flipped(share: float, make: Callable, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return records of which a share has the other label."""
    X, y = make(rng, n)
    return X, np.where(rng.random(n) < share, 1 - y, y)


# Many columns.


def wide(rng: np.random.Generator, n: int, d: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two normal distributions whose means are apart along all columns together."""
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + y[:, None] * apart / np.sqrt(d), y


def off_in_one_column(d: int, apart: float, rng: np.random.Generator) -> Records:
    """Return test records again with one value off by 8 standard deviations, as further ones."""
    records = train_and_test(partial(wide, d=d, apart=apart), 500, rng)
    further = records.X_test[:500].copy()
    further[np.arange(500), rng.integers(0, d, 500)] += 8.0 * rng.choice([-1.0, 1.0], 500)
    records.further = further
    return records


# Small groups.


def group(size: int, d: int, rng: np.random.Generator) -> Records:
    """Return 400 records of each label, and a tight group of label 1 amid those of label 0."""
    centre = np.zeros(d)
    centre[0] = 1.0

    def of_group(n: int) -> np.ndarray:
        return centre + 0.05 * rng.normal(size=(n, d))

    def ordinary(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(n) % 2
        return rng.normal(size=(n, d)) + 6.0 * y[:, None] * (np.arange(d) == 1), y

    X, y = ordinary(800)
    X_test, y_test = ordinary(TEST)
    near = np.linalg.norm(X_test - centre, axis=1)
    beside = (y_test == 0) & (near <= np.quantile(near[y_test == 0], 0.1))
    X, y = np.vstack([X, of_group(size)]), np.append(y, np.ones(size, dtype=int))
    return Records(X, y, X_test, y_test, of_group(300), 1, beside)


# Records that no training record is like.


def cancer(change: Callable, rng: np.random.Generator) -> Records:
    """Return WDBC, and its test records after a change that breaks a relation or moves them away."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=int(rng.integers(1000)))
    return Records(X, y, X_test, y_test, change(X_test.copy(), X, rng))


def radius_against_perimeter(Z: np.ndarray, *_) -> np.ndarray:
    Z[:, 0] *= 1.1
    Z[:, 2] *= 0.9
    return Z


def area_of_another(Z: np.ndarray, _: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    Z[:, 3] = rng.permutation(Z[:, 3])
    return Z[np.abs(np.log(Z[:, 3] / (np.pi * Z[:, 0] ** 2))) > 0.2]


def three_times_as_far(Z: np.ndarray, X: np.ndarray, *_) -> np.ndarray:
    return X.mean(axis=0) + 3.0 * (Z - X.mean(axis=0))


def total(rng: np.random.Generator) -> Records:
    """Return five columns and their total, and test records whose total is off by one of its standard deviations."""

    def make(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = moved(rng, n, lambda rng, shape: rng.normal(size=shape))
        return np.column_stack([X, X.sum(axis=1)]), y

    records = train_and_test(make, 500, rng)
    further = records.X_test[:500].copy()
    further[:, -1] += records.X[:, -1].std() * rng.choice([-1.0, 1.0], 500)
    records.further = further
    return records


def far_normals(rng: np.random.Generator) -> Records:
    """Return two normal distributions, and test records three times as far from the mean."""
    records = train_and_test(normals, 500, rng)
    records.further = three_times_as_far(records.X_test[:500], records.X)
    return records


def case(make: Callable, n: int) -> Callable:
    return partial(train_and_test, make, n)


CASES: dict[str, dict[str, Callable]] = {
    "heavy tails": {f"{name}, {n}": case(make, n) for name, make in TAILS.items() for n in (300, 1000)},
    "few records": {f"{name}, {n} records": case(make, n) for name, make in SHAPES.items() for n in (8, 16, 30, 60)},
    "noise": {
        f"{name}, {share:.0%} flipped": case(partial(flipped, share, SHAPES[name]), 500)
        for name in ("normals", "rings", "line")
        for share in (0.05, 0.1, 0.2)
    },
    "many columns": {
        f"{d} columns, {apart:g} sd apart": partial(off_in_one_column, d, apart)
        for d in (100, 300)
        for apart in (2.0, 4.0)
    },
    "small groups": {f"group of {m}, d={d}": partial(group, m, d) for d in (2, 5, 10) for m in (6, 12, 25, 50)},
    "strange records": {
        "radius x 1.1, perimeter x 0.9": partial(cancer, radius_against_perimeter),
        "area of another record": partial(cancer, area_of_another),
        "a total that is no sum": total,
        "normals, three times as far": far_normals,
        "WDBC, three times as far": partial(cancer, three_times_as_far),
    },
}
FAMILY = {name: family for family, cases in CASES.items() for name in cases}

# What the table of a family shows: title, value, format.
COLUMNS = {
    "accuracy": ("accuracy", "{:.3f}"),
    "log_loss": ("log loss", "{:.3f}"),
    "ece": ("calibration error", "{:.3f}"),
    "further_right": ("of the group right", "{:.0%}"),
    "further_wrong_accepted": ("wrong and accepted", "{:.0%}"),
    "beside_right": ("beside it right", "{:.3f}"),
    "further_accepted": ("accepted", "{:.0%}"),
    "further_strange": ("strange", "{:.0%}"),
    "strange": ("ordinary ones strange", "{:.1%}"),
}
SHOWN = {
    "heavy tails": ("accuracy", "ece"),
    "few records": ("accuracy", "log_loss"),
    "noise": ("accuracy", "ece"),
    "many columns": ("accuracy", "ece", "further_strange", "strange"),
    "small groups": ("further_right", "further_wrong_accepted", "beside_right"),
    "strange records": ("further_accepted", "further_strange", "strange"),
}
WITH_SURE = ("few records", "noise", "heavy tails")


def cat_boost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=False, allow_writing_files=False, thread_count=1)


class InFewerFolds:
    """A classifier with inner folds: five, or as many as the smaller class has records.

    Parameters
    ----------
    make : function
        Takes the number of folds.
    """

    def __init__(self, make: Callable) -> None:
        self.make = make

    def fit(self, X: np.ndarray, y: np.ndarray) -> "InFewerFolds":
        """Fit the classifier with as many folds as there can be."""
        folds = min(5, *np.bincount(y))
        self.clf = self.make(folds).fit(X, y)
        self.classes_ = self.clf.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the labels."""
        return self.clf.predict_proba(X)


def logistic(folds: int):
    return make_pipeline(
        RobustScaler(), StandardScaler(), LogisticRegressionCV(cv=folds, scoring="neg_log_loss", max_iter=2000)
    )


def svm(folds: int):
    return CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), cv=folds, ensemble=False)


MODELS: dict[str, Callable] = {
    "sepc": SEPClassifier,
    "sepc ensemble": SEPEnsembleClassifier,
    "RF": lambda: RandomForestClassifier(300, random_state=0),
    "CatBoost": cat_boost,
    "logistic": partial(InFewerFolds, logistic),
    "SVM": partial(InFewerFolds, svm),
}


def judged(name: str, draw: int, model: str) -> dict[str, float]:
    """Return the results of one fit."""
    records = CASES[FAMILY[name]][name](np.random.default_rng([draw, sum(name.encode())]))
    clf, start = MODELS[model](), process_time()
    clf.fit(records.X, records.y)
    seconds = process_time() - start
    y, proba = records.y_test, clf.predict_proba(records.X_test)
    label, trust = proba.argmax(axis=1), proba.max(axis=1)
    right = label == y
    return {
        "n": len(y),
        "fit_s": seconds,
        "accuracy": float(right.mean()),
        "log_loss": float(-np.log(np.clip(proba[np.arange(len(y)), y], 1e-15, 1.0)).mean()),
        "aurc": 1000 * aurc(y, label, trust),
        "ece": expected_calibration_error(y, label, trust),
        "strange": float(np.mean(is_strange(clf, records.X_test))),
        "n_trusted": int((trust >= TRUSTED).sum()),
        "right_trusted": int(right[trust >= TRUSTED].sum()),
        "n_sure": int((trust > VERY_SURE).sum()),
        "right_sure": int(right[trust > VERY_SURE].sum()),
        "beside_right": float(right[records.beside].mean()) if records.beside.any() else np.nan,
        **on_further(clf, records),
    }


def on_further(clf, records: Records) -> dict[str, float]:
    """Return what becomes of the further records; NaN where a case has none, or none with a label."""
    names = "further_right", "further_wrong_accepted", "further_accepted", "further_strange"
    if records.further is None:
        return dict.fromkeys(names, np.nan)
    proba, strange = clf.predict_proba(records.further), is_strange(clf, records.further)
    right = proba.argmax(axis=1) == records.further_label
    accepted = (proba.max(axis=1) >= TRUSTED) & ~strange
    has_label = records.further_label is not None
    of_label = [right.mean(), (accepted & ~right).mean()] if has_label else [np.nan, np.nan]
    return dict(zip(names, map(float, [*of_label, accepted.mean(), strange.mean()]), strict=True))


def is_strange(clf, X: np.ndarray) -> np.ndarray:
    """Return which records a classifier calls strange; none, if it has no such verdict."""
    return clf.assess(X).typicality < STRANGE if hasattr(clf, "assess") else np.zeros(len(X), dtype=bool)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", help="names of families, with commas between; all by default")
    parser.add_argument("--draws", type=int, default=5, help="draws of a case; of few records four times as many")
    add_options(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw some of the tables")
    parser.add_argument("--quick", action="store_true", help="ours and the forest, one draw")
    options = parser.parse_args()
    if options.quick:
        options.models, options.draws = options.models or "sepc,sepc ensemble,RF", 1
    families = chosen(CASES, options.families, "--families")
    models = chosen(MODELS, options.models, "--models")
    asked = [
        (name, draw, model)
        for family in families
        for name in CASES[family]
        for draw in range(options.draws * (4 if family == "few records" else 1))
        for model in models
    ]
    done = ResultsFile(options.out, KEY, VALUES).completed({job: job for job in asked}, judged, told, options)
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    for family in families:
        show(family, {job: results for job, results in done.items() if FAMILY[job[0]] == family}, models)
    if options.plot:
        plot(options.plot, done, models)


def told(results: dict[str, float]) -> str:
    return f"accuracy {results['accuracy']:.3f}, log loss {results['log_loss']:.3f}, {results['fit_s']:.1f} s"


def show(family: str, done: dict[tuple, dict[str, float]], models: list[str]) -> None:
    """Print the tables of a family: a row for each case, a column for each model."""
    models = [model for model in models if any(job[-1] == model for job in done)]
    for value in SHOWN[family]:
        title, form = COLUMNS[value]
        print(f"\n### {family}: {title}\n")
        table(f"{family}: {value}", "case", *models)
        for name in CASES[family]:
            means = [mean(done, name, model, value) for model in models]
            row(name, *("" if np.isnan(x) else form.format(x) for x in means))
    if family in WITH_SURE:
        show_sure(family, done, models)


def show_sure(family: str, done: dict[tuple, dict[str, float]], models: list[str]) -> None:
    """Print how many labels are right above a trust, cases of the same size or share of noise taken together."""
    print(f"\n### {family}: labels that are right, of those with a trust of at least 0.95 / above 0.99\n")
    table(f"{family}: right above a trust", "cases", *models)
    for ending in dict.fromkeys(name.rpartition(", ")[2] for name in CASES[family]):
        cells = []
        for model in models:
            found = [r for job, r in done.items() if job[-1] == model and job[0].endswith(f", {ending}")]
            cells.append(f"{share_right(found, 'trusted')} / {share_right(found, 'sure')}")
        row(ending, *cells)


def share_right(found: Iterable[dict[str, float]], which: str) -> str:
    given = sum(results[f"n_{which}"] for results in found)
    return f"{sum(results[f'right_{which}'] for results in found) / given:.1%}" if given else "none"


def mean(done: dict[tuple, dict[str, float]], name: str, model: str, value: str) -> float:
    """Return the mean over draws; NaN where there are none."""
    found = [results[value] for job, results in done.items() if (job[0], job[-1]) == (name, model)]
    return float(np.mean(found)) if found else np.nan


# Family, value and title of the panels of the picture.
PANELS = (
    ("heavy tails", "accuracy", "heavy tails and copies: accuracy"),
    ("many columns", "accuracy", "500 records, many columns: accuracy"),
    ("small groups", "further_right", "small groups amid another class: new records right"),
    ("strange records", "further_accepted", "strange records: accepted (less is better)"),
)


def plot(path: Path, done: dict[tuple, dict[str, float]], models: list[str]) -> None:
    """Draw means over draws: a row for each case, a point for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    markers = dict(zip(models, "oDs^vP", strict=False))
    for axes, (family, value, title) in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
        names = [name for name in CASES[family] if any(job[0] == name for job in done)]
        for model, marker in markers.items():
            ours = model.startswith("sepc")
            axes.scatter(
                [mean(done, name, model, value) for name in names],
                range(len(names)),
                marker=marker,
                s=52 if ours else 26,
                color={"sepc": "#D55E00", "sepc ensemble": "#CC79A7"}.get(model, "0.45"),
                facecolors=None if ours else "none",
                label=model,
                zorder=3 if ours else 2,
            )
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_title(title, size=10, loc="left")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(models), frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    with recording():
        main()
