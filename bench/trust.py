"""Scoreboard of selective classification: how well trust ranks the labels it stands for, against peers.

Out-of-fold labels of five stratified folds are pooled, once for each seed; every model sees the same folds. A model is
judged by its labels and by the confidence that it has in them: `trust_score` where it has one, else its largest
probability; one with `assess` also by the labels that it accepts, which leaves out strange and contested records.
Prints Markdown tables, means for each half of the sets: on one of them constants may be chosen, the other only judges.
Costs are CPU time in one thread of the fits and of one prediction of probabilities each, in times of the forest's; the
sets where ours cost most come first.
Sets are read from the folder that SEPC_DATA names; those of scikit-learn and two generated ones come along.

Each finished (set, seed, model) is a line of the file that ``--out`` names; the same command continues after an
interruption and computes only what is not there. ``--redo NAME`` computes the models whose name contains NAME anew:
of several lines for the same thing the last one counts. ``--jobs`` works on several at once.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import metadata
from pathlib import Path
from time import process_time

import numpy as np
from costs import Shape, print_costs
from measure import recording, row, table, versions
from results_file import ResultsFile, add_options, chosen
from scipy.stats import rankdata
from sets import HALVES, as_numbers, cells, is_number_column, names, of_half, some_rows
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import accuracy_at_coverage, augrc, aurc, coverage_at_risk, expected_calibration_error

DENSITY_NEIGHBOURS = 10
SPARSE_SHARE = 1 / 16
# Predictions are repeated until they have taken so long together.
ENOUGH_SECONDS = 0.05


class Quadratic(QuadraticDiscriminantAnalysis):
    """Quadratic discriminant analysis, regularised where the covariance of a class is singular."""

    def fit(self, X, y):
        """Fit, with the first of three settings that will do."""
        # The last one for classes with fewer rows than features, which the others refuse.
        for remedy in {}, {"reg_param": 0.1}, {"solver": "eigen", "shrinkage": 0.1}:
            try:
                self.set_params(**remedy)
                return super().fit(X, y)
            except np.linalg.LinAlgError as error:
                singular = error
        raise singular


class NeighbourRatio(BaseEstimator):
    """Labels of a model, ranked by the trust score of Jiang, Kim, Guan and Gupta (NeurIPS 2018).

    The score is r / (1 + r), where r is the distance to the nearest training row of another class over that to the
    nearest one of the predicted class. In each class the sparsest rows do not count.
    """

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Fit the model, and keep the rows that distances are measured to."""
        self.model.fit(X, y)
        self.scale = StandardScaler().fit(X)
        points = self.scale.transform(X)
        self.trees = [NearestNeighbors(n_neighbors=1).fit(dense(points[y == c])) for c in self.model.classes_]
        return self

    def predict(self, X):
        """Return the model's labels."""
        return self.model.classes_[np.argmax(self.model.predict_proba(X), axis=1)]

    def trust_score(self, X):
        """Return r / (1 + r)."""
        points = self.scale.transform(X)
        distances = np.column_stack([tree.kneighbors(points)[0][:, 0] for tree in self.trees])
        predicted = self.predict(X)[:, None] == self.model.classes_
        own, other = distances[predicted], np.where(predicted, np.inf, distances).min(axis=1)
        both = own + other
        # A point on rows of both classes is as near to one as to the other.
        return np.divide(other, both, out=np.full(len(both), 0.5), where=both > 0)


class ConformalSets(BaseEstimator):
    """A forest's labels, ranked by MAPIE's sets of labels: the share of levels at which the set is a single one.

    The second largest p-value of a conformal classifier, taken from the largest one, in steps of one in a hundred.
    """

    def fit(self, X, y):
        """Fit by cross-conformal prediction."""
        from mapie.classification import CrossConformalClassifier

        levels = np.arange(1, 100) / 100
        self.model = CrossConformalClassifier(PEERS["RF"](), confidence_level=levels, random_state=0)
        self.model.fit_conformalize(X, y)
        return self

    def predict(self, X):
        """Return the forest's labels."""
        return self.model.predict(X)

    def trust_score(self, X):
        """Return the share of confidence levels with one label only."""
        return np.mean(self.model.predict_set(X)[1].sum(axis=1) == 1, axis=1)


class VennAbers(BaseEstimator):
    """A forest calibrated by calibrated-explanations, on a quarter of the training rows.

    Its probabilities rank the labels better than the lower ends or the widths of their intervals do.
    """

    def fit(self, X, y):
        """Fit to three quarters of the rows and calibrate on the rest."""
        from calibrated_explanations import WrapCalibratedExplainer

        X_fit, X_calibrate, y_fit, y_calibrate = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
        self.model = WrapCalibratedExplainer(PEERS["RF"]())
        self.model.fit(X_fit, y_fit)
        self.model.calibrate(X_calibrate, y_calibrate)
        return self

    def predict_proba(self, X):
        """Return the calibrated probabilities, scaled to a sum of 1."""
        p = self.model.predict_proba(X)
        return p / p.sum(axis=1, keepdims=True)


def cat_boost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=False, allow_writing_files=False, thread_count=1)


def light_gbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def explainable_boosting():
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1)


def dense(points: np.ndarray) -> np.ndarray:
    """Return the rows of a class but for the share of them that lies farthest from its neighbours."""
    k = min(DENSITY_NEIGHBOURS, len(points) - 1)
    radius = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()[0][:, -1]
    return points[np.argsort(radius, kind="stable")[: int(np.ceil((1 - SPARSE_SHARE) * len(points)))]]


def scaled(model):
    return make_pipeline(StandardScaler(), model)


PEERS: dict[str, Callable] = {
    "LR": lambda: scaled(LogisticRegression(max_iter=1000)),
    # What scikit-learn names in place of SVC(probability=True), which goes.
    "SVM": lambda: CalibratedClassifierCV(scaled(SVC()), ensemble=False),
    # It ranks the labels of three and more classes much better: the other's one-against-rest margins are made of votes.
    "SVM Platt": lambda: scaled(SVC(probability=True, random_state=0)),
    "RF": lambda: RandomForestClassifier(300, random_state=0),
    "HGB": lambda: HistGradientBoostingClassifier(random_state=0),
    "QDA": lambda: scaled(Quadratic()),
    "kNN": lambda: scaled(KNeighborsClassifier()),
    "NB": GaussianNB,
    "tree": lambda: DecisionTreeClassifier(random_state=0),
}
CALIBRATED = {
    f"{name} cal": lambda make=make: CalibratedClassifierCV(make(), cv=3)
    for name, make in PEERS.items()
    if not name.startswith("SVM")  # they are calibrated as they are
}
MODELS: dict[str, Callable] = {
    "sepc ensemble": SEPEnsembleClassifier,
    "sepc": SEPClassifier,
    "sepc raw": lambda: SEPClassifier(trust="raw"),
    "sepc counts": lambda: SEPClassifier(trust="counts"),
    "sepc bound": lambda: SEPClassifier(trust="bound"),
    "sepc paper": lambda: SEPClassifier(trust="paper"),
    **PEERS,
    **CALIBRATED,
    "RF ratio": lambda: NeighbourRatio(PEERS["RF"]()),
    "SVM ratio": lambda: NeighbourRatio(PEERS["SVM"]()),
}
# Those that need another package, and its name.
OPTIONAL: dict[str, tuple[str, Callable]] = {
    "CatBoost": ("catboost", cat_boost),
    "LightGBM": ("lightgbm", light_gbm),
    "EBM": ("interpret-core", explainable_boosting),
    "RF sets": ("MAPIE", ConformalSets),
    "RF Venn": ("calibrated-explanations", VennAbers),
}
MAKERS = MODELS | {name: make for name, (_, make) in OPTIONAL.items()}

# From labels, predicted labels and confidence.
METRICS: dict[str, Callable] = {
    "aurc": lambda *a: 1000 * aurc(*a),
    "augrc": lambda *a: 1000 * augrc(*a),
    "accuracy": lambda y, predicted, _: np.mean(y == predicted),
    "accuracy_at_90": partial(accuracy_at_coverage, coverage=0.9),
    "accuracy_at_80": partial(accuracy_at_coverage, coverage=0.8),
    "accuracy_at_50": partial(accuracy_at_coverage, coverage=0.5),
    "coverage_at_1": partial(coverage_at_risk, max_risk=0.01),
    "coverage_at_5": partial(coverage_at_risk, max_risk=0.05),
}
# These mean something only if the confidence is a probability, not just a rank.
METRICS_OF_PROBABILITIES: dict[str, Callable] = {
    "ece": partial(expected_calibration_error, n_bins=15),
    "labels_at_99": lambda _y, _predicted, confidence: np.sum(confidence >= 0.99),
    "right_at_99": lambda y, predicted, confidence: np.sum((confidence >= 0.99) & (y == predicted)),
    "labels_at_95": lambda _y, _predicted, confidence: np.sum(confidence >= 0.95),
    "right_at_95": lambda y, predicted, confidence: np.sum((confidence >= 0.95) & (y == predicted)),
}
KEY = {"set": str, "rows": int, "folds": int, "seed": int, "model": str, "version": str}
VALUES = (
    *METRICS,
    *METRICS_OF_PROBABILITIES,
    *("brier", "log_loss", "labels_accepted", "right_accepted", "fit_s", "proba_s"),
)


def main() -> None:
    options = arguments()
    shown = chosen(names(), options.sets, "--sets")
    if options.half:
        shown = of_half(shown, options.half)
        if not shown:
            sys.exit(f"--sets names none of the {options.half} sets: {', '.join(of_half(names(), options.half))}.")
    results = ResultsFile(options.out, KEY, VALUES)
    there = results.read(to_show=options.show)
    known = list(dict.fromkeys(job[4] for job in there)) if options.show else [*MODELS, *installed()]
    models = chosen(known, options.models, "--models")
    rows = {name: some_rows(*cells(name), options.rows) for name in shown}
    data = {name: (as_numbers(X), y) for name, (X, y) in rows.items()}
    jobs = (
        there
        if options.show
        else {
            (name, len(y), options.folds, seed, model, version(model)): (model, X, y, options.folds, seed)
            for seed in range(options.seeds)
            for name, (X, y) in data.items()
            for model in models
        }
    )
    done = results.completed(jobs, judge, in_short, options)
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    means = seed_means(jobs, done)
    shown = [name for name in shown if any(name == of for of, _ in means)]
    with_texts = {name for name in shown if not all(map(is_number_column, rows[name][0].T))}
    order = report(means, shown, with_texts, models)
    print_costs(
        means, {s: Shape(len(data[s][1]), len(np.unique(data[s][1])), data[s][0].shape[1]) for s in shown}, order, "RF"
    )
    if options.plot:
        plot(options.plot, ranks(means, shown, order, "aurc"), order)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", help="names of sets, with commas between; all by default")
    parser.add_argument("--half", choices=HALVES, help="only the sets of one half")
    parser.add_argument("--rows", type=int, default=2000, help="at most so many rows of a set (default 2000)")
    parser.add_argument("--folds", type=int, default=5, help="number of folds (default 5)")
    parser.add_argument("--seeds", type=int, default=3, help="number of ways to fold (default 3)")
    add_options(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the ranks")
    return parser.parse_args()


def installed() -> list[str]:
    """Return the optional models whose packages are installed."""
    found = []
    for name, (package, _) in OPTIONAL.items():
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            print(f"{name} is left out: {package} is not installed.", file=sys.stderr)
        else:
            found.append(name)
    return found


def version(model: str) -> str:
    """Return the package that a result belongs to."""
    package = "sepc" if model.startswith("sepc") else OPTIONAL[model][0] if model in OPTIONAL else "scikit-learn"
    return f"{package} {metadata.version(package)}"


def in_short(results: dict[str, float]) -> str:
    return f"AURC {results['aurc']:.2f}, {results['fit_s'] + results['proba_s']:.1f} s"


def judge(name: str, X: np.ndarray, y: np.ndarray, n_folds: int, seed: int) -> dict[str, float]:
    predicted, confidence, accepted = np.empty_like(y), np.empty(len(y)), np.full(len(y), np.nan)
    probabilities = np.full((len(y), y.max() + 1), np.nan)
    fit_s = proba_s = 0.0
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y):
        model = MAKERS[name]()
        start = process_time()
        model.fit(X[train], y[train])
        fit_s += process_time() - start
        predicted[test], confidence[test], probabilities[test] = verdicts(model, X[test])
        proba_s += seconds_of_proba(model, X[test])
        if hasattr(model, "assess"):
            accepted[test] = model.assess(X[test]).accepted()
    results = {of: metric(y, predicted, confidence) for of, metric in METRICS.items()}
    if not np.isnan(probabilities).any():
        results |= {of: metric(y, predicted, confidence) for of, metric in METRICS_OF_PROBABILITIES.items()}
        results["brier"] = np.mean(np.sum((probabilities - np.eye(probabilities.shape[1])[y]) ** 2, axis=1))
        results["log_loss"] = log_loss(y, probabilities)
    results |= {"labels_accepted": accepted.sum(), "right_accepted": accepted @ (predicted == y)}
    results |= {"fit_s": fit_s, "proba_s": proba_s}
    return {of: float(results.get(of, np.nan)) for of in VALUES}


def verdicts(model, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | float]:
    """Return labels, the confidence in each, and the probabilities of all classes, NaN where a model has none."""
    probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else np.nan
    if hasattr(model, "trust_score"):
        return model.predict(X), model.trust_score(X), probabilities
    return np.argmax(probabilities, axis=1), np.max(probabilities, axis=1), probabilities


def seconds_of_proba(model, X: np.ndarray) -> float:
    """Return the CPU seconds of one prediction that is not the first; NaN of a model without probabilities."""
    if not hasattr(model, "predict_proba"):
        return np.nan
    start, n_times, spent = process_time(), 0, 0.0
    while spent < ENOUGH_SECONDS:  # some clocks tick in hundredths of a second
        model.predict_proba(X)
        n_times, spent = n_times + 1, process_time() - start
    return spent / n_times


def seed_means(jobs: Iterable[tuple], done: dict[tuple, dict[str, float]]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the mean results over the seeds, of each set and model."""
    lines: dict[tuple[str, str], list[dict[str, float]]] = {}
    for job in jobs:
        if job in done:
            lines.setdefault((job[0], job[4]), []).append(done[job])
    return {key: {m: float(np.mean([r[m] for r in of])) for m in of[0]} for key, of in lines.items()}


def ranks(means: dict, sets: list[str], models: list[str], metric: str) -> np.ndarray:
    """Return the rank of each model (column) on each set (row), 1 for the best; a missing result comes last."""
    sign = -1 if metric == "accuracy" else 1
    values = [[sign * means[s, m][metric] if (s, m) in means else np.inf for m in models] for s in sets]
    return rankdata(np.round(values, 9), axis=1)


def report(means: dict, sets: list[str], with_texts: set[str], models: list[str]) -> list[str]:
    """Print the tables and return the models from the best mean rank on."""
    best = np.argsort(ranks(means, sets, models, "aurc").mean(axis=0), kind="stable")
    order = [models[i] for i in best]
    print("### AURC x 1000, out of fold, mean over the seeds (smaller is better)\n")
    table("each", "set", *order)
    for s in sets:
        row(s, *(f"{means[s, m]['aurc']:.2f}" if (s, m) in means else "" for m in order))
    for half in HALVES:
        members = of_half(sets, half)
        if members:
            print(f"\n### Mean over the {len(members)} {half} sets\n")
            mean_table(half, means, members, models)
            members = [name for name in members if name in with_texts]
        if members:
            print(f"\n### Mean over the {len(members)} of them with texts\n")
            mean_table(f"{half}, texts", means, members, models)
    return order


def mean_table(half: str, means: dict, sets: list[str], models: list[str]) -> None:
    """Print mean ranks and mean results, and the share of right labels among those of all sets that are sure enough."""
    rank = {metric: ranks(means, sets, models, metric).mean(axis=0) for metric in ("aurc", "augrc", "accuracy")}
    shown = {"accuracy": ".4f", "accuracy_at_80": ".4f", "coverage_at_1": ".3f", "coverage_at_5": ".3f", "ece": ".4f"}
    shown |= {"brier": ".4f", "log_loss": ".4f", "fit_s": ".2f", "proba_s": ".3f"}
    pooled = {"at_99": "confidence of 0.99", "at_95": "confidence of 0.95", "accepted": "accepted"}
    table(
        half,
        "model",
        *("rank in AURC", "rank in AUGRC", "rank in accuracy"),
        *(name.replace("_", " ") for name in shown),
        *(f"{what}: {among}" for among in pooled.values() for what in ("right", "labels")),
        "sets",
    )
    for i in np.argsort(rank["aurc"], kind="stable"):
        of = [means[s, models[i]] for s in sets if (s, models[i]) in means]
        texts = [f"{np.mean([r[m] for r in of]):{form}}" if of else "" for m, form in shown.items()]
        for among in pooled:
            right, labels = (sum(r[f"{what}_{among}"] for r in of) for what in ("right", "labels"))
            texts += [f"{right / labels:.4f}" if labels else "", f"{labels:.0f}"]
        row(models[i], *(f"{rank[m][i]:.2f}" for m in rank), *(text.replace("nan", "") for text in texts), len(of))


def plot(path: Path, rank: np.ndarray, models: list[str]) -> None:
    """Draw the rank of each model on each set as points, and their mean as a diamond."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.32 * len(models)), layout="constrained")
    axes = figure.subplots()
    for place, (model, of) in enumerate(zip(models, rank.T, strict=True)):
        colour = "#D55E00" if model.startswith("sepc") else "#0072B2"
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color="0.95", linewidth=0, zorder=0)
        # Equal ranks lie above each other; a little height tells them apart.
        heights = place + np.linspace(-0.3, 0.3, len(of)) if len(of) > 1 else [place]
        axes.scatter(of, heights, s=12, color=colour, alpha=0.35, linewidths=0)
        axes.scatter(of.mean(), place, s=70, marker="D", color=colour, edgecolors="white", zorder=3)
        axes.annotate(f"{of.mean():.1f}", (of.mean(), place), (0, 7), textcoords="offset points", ha="center", size=8)
    axes.set_yticks(range(len(models)), models)
    axes.set_ylim(len(models) - 0.5, -0.8)
    axes.set_xlabel(f"rank in AURC, 1 is best: points are {len(rank)} data sets, diamonds the mean")
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    with recording():
        main()
