"""Scoreboard of trust around other models: how well each way around a model ranks its labels, and what it costs.

Each model is judged alone; calibrated alone by sigmoid, isotonic, temperature (`CalibratedClassifierCV`, not an
ensemble) and Venn-ABERS; ranked by TrustScore (Jiang and others, 2018); and inside `TrustedClassifier`, with its labels
kept and with joint labels. Labels and confidence are out of fold in stratified folds, pooled, as in ``trust.py``, whose
models and sets these are. All ways around a model learn from the same refits of it, which are made once and kept: the
folder that ``--answers`` names keeps them between runs. Costs are CPU time as if each way had made them itself.

Prints Markdown tables, means for each half of the sets: constants are chosen on one of them, the other only judges.
Sets are read from the folder that SEPC_DATA names. Each finished (set, seed, model) is a line of the file that
``--out`` names; the same command continues after an interruption.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from measure import figure, recording, row, table, take_turns, versions
from recorded import Recorded, kept, seconds_now
from results_file import ResultsFile, add_options, chosen, outcomes
from scipy.special import expit, softmax
from sets import HALVES, as_numbers, cells, names, of_half, some_rows
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from trust import PEERS, NeighbourRatio, cat_boost, light_gbm, ranks, scaled

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.around import TrustedClassifier
from sepc.around.cross_fitting import splits_of
from sepc.common.validation import training_set
from sepc.metrics import aurc, expected_calibration_error

# They are on a page of their own, with many classes.
LEFT_OUT = ("digits", "letter")
MODELS: dict[str, Callable] = {
    "logistic regression": PEERS["LR"],
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "HistGradientBoosting": PEERS["HGB"],
    "LightGBM": light_gbm,
    "CatBoost": cat_boost,
    "neural network": lambda: scaled(MLPClassifier(random_state=0)),
    "SVM": lambda: scaled(SVC()),
    "sepc ensemble": SEPEnsembleClassifier,
    "sepc": SEPClassifier,
}
# Ours need nothing around them but one another.
OURS = ("sepc ensemble", "sepc")
OTHERS = tuple(name for name in MODELS if name not in OURS)
CALIBRATIONS = ("sigmoid", "isotonic", "temperature", "Venn-ABERS")
KEEP, JOINT = "sepc, labels kept", "sepc, joint labels"
WAYS = ("alone", *CALIBRATIONS, "TrustScore", KEEP, JOINT)
METRICS = ("AURC", "log loss", "calibration error", "by chance", "accuracy", "seconds")
KEY = {"set": str, "rows": int, "folds": int, "seed": int, "model": str}
VALUES = tuple(f"{way}: {metric}" for way in WAYS for metric in METRICS)
FORMS = {"AURC": ".1f", "log loss": ".3f", "calibration error": ".3f", "by chance": ".3f", "accuracy": ".4f"}
# The model whose joint labels are to be first.
FIRST = ("CatBoost", JOINT)


class KeptLabels(NeighbourRatio):
    """TrustScore of labels that a model gives by `predict`."""

    def predict(self, X):
        """Return the model's labels."""
        return self.model.predict(X)


def main() -> None:
    options = arguments()
    warnings.simplefilter("ignore")
    if options.overhead:
        print(versions("sepc", "scikit-learn", "numpy", "scipy"))
        overheads(options.rows)
        return
    shown = [name for name in chosen(names(), options.sets, "--sets") if name not in LEFT_OUT]
    if options.half:
        shown = of_half(shown, options.half)
    models = chosen(MODELS, options.models, "--models")
    data = {} if options.show else {name: tuple_of(name, options.rows) for name in shown}
    results = ResultsFile(options.out, KEY, VALUES)
    there = results.read(to_show=options.show)
    shared = options.folds, options.answers
    jobs = (
        there
        if options.show
        else {
            (name, len(y), options.folds, seed, model): (model, name, X, y, seed, *shared)
            for seed in range(options.seeds)
            for model in models
            for name, (X, y) in data.items()
        }
    )
    make_answers([of for job, of in jobs.items() if job not in there], options)
    done = results.completed(jobs, judge, in_short, options)
    print(versions("sepc", "scikit-learn", "catboost", "lightgbm", "venn-abers", "numpy", "scipy"))
    means = seed_means(jobs, done)
    report(means, [name for name in shown if any(name == of for of, *_ in means)])
    if options.plot:
        plot(options.plot, means, shown)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", help="names of sets, with commas between; all by default")
    parser.add_argument("--half", choices=HALVES, help="only the sets of one half")
    parser.add_argument("--rows", type=int, default=1000, help="at most so many rows of a set (default 1000)")
    parser.add_argument("--folds", type=int, default=5, help="number of folds (default 5)")
    parser.add_argument("--seeds", type=int, default=1, help="number of ways to fold (default 1)")
    parser.add_argument("--answers", type=Path, metavar="FOLDER", help="keep refits and their answers there")
    parser.add_argument("--overhead", action="store_true", help="measure only fit and predict beside their parts")
    add_options(parser)
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the mean AURC of each way")
    return parser.parse_args()


def tuple_of(name: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = some_rows(*cells(name), most)
    return as_numbers(X), y


def in_short(results: dict[str, float]) -> str:
    return ", ".join(f"{way} {results[f'{way}: AURC']:.1f}" for way in ("alone", KEEP, JOINT))


# Refits and their answers.


def make_answers(jobs: list[tuple], options: argparse.Namespace) -> None:
    """Make refits of other models and keep them, a fold at a time, the longest first."""
    if options.answers is None:
        return
    folds = {(of[1], of[4], of[0], k): (*of, k) for of in jobs if of[0] != "sepc" for k in range(options.folds)}
    slow = ("CatBoost", "sepc ensemble")  # by classes and features
    ahead = sorted(folds, key=lambda job: (job[1], job[2] not in slow, -work(*folds[job][2:4])))
    for count, (job, failed) in enumerate(outcomes({job: folds[job] for job in ahead}, answer, options.jobs), 1):
        if failed or count % 100 == 0:
            print(f"answers [{count}/{len(folds)}] {', '.join(map(str, job))} {failed}", flush=True)


def work(X: np.ndarray, y: np.ndarray) -> float:
    return len(X) * X.shape[1] * (1 if y.max() == 1 else y.max() + 1)


def answers_file(folder: Path | None, model: str, name: str, seed: int, k: int) -> Path | None:
    return None if folder is None else folder / model / f"{name} {seed} {k}.pkl"


def answer(
    model: str, name: str, X: np.ndarray, y: np.ndarray, seed: int, n_folds: int, folder: Path, k: int
) -> str | None:
    """Make the refits of one fold."""
    train, test = folds_of(X, y, n_folds, seed)[k]
    with kept(answers_file(folder, model, name, seed, k)):
        around(Recorded(MODELS[model]()), X[train], y[train], X[test])
    return None


def folds_of(X: np.ndarray, y: np.ndarray, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))


def own_splits(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the refits that `TrustedClassifier` makes with ``cv=5``."""
    return splits_of(5, training_set(X, y), X, y, np.arange(len(y)), {})


def scores_of(clf: Any, X: np.ndarray) -> np.ndarray:
    return clf.predict_proba(X) if hasattr(clf, "predict_proba") else clf.decision_function(X)


# Ways around a model: each returns labels, confidence and probabilities of test records, or None for these.


def judge(
    model: str, name: str, X: np.ndarray, y: np.ndarray, seed: int, n_folds: int, folder: Path | None
) -> dict[str, float]:
    """Return the results of all ways around a model."""
    ways, found, seconds = ways_of(model), {}, {}
    for k, (train, test) in enumerate(folds_of(X, y, n_folds, seed)):
        with kept(answers_file(folder, model, name, seed, k)):
            for way, call in ways.items():
                start = seconds_now()
                told = call(Recorded(MODELS[model]()), X[train], y[train], X[test])
                seconds[way] = seconds.get(way, 0.0) + seconds_now() - start
                for of, verdicts in told.items():
                    found.setdefault(of, []).append((test, *verdicts))
    results: dict[str, float] = {}
    for of, verdicts in found.items():
        test, labels, confidence, proba = (np.concatenate(part) for part in zip(*verdicts, strict=True))
        measured = metrics(y[test], labels, confidence, proba) | {"seconds": seconds.get(of, seconds.get(KEEP, np.nan))}
        results |= {f"{of}: {metric}": float(value) for metric, value in measured.items()}
    return {value: results.get(value, np.nan) for value in VALUES}


def metrics(y: np.ndarray, labels: np.ndarray, confidence: np.ndarray, proba: np.ndarray) -> dict[str, float]:
    found = {"AURC": 1000 * aurc(y, labels, confidence), "accuracy": np.mean(y == labels)}
    if np.isnan(proba).any():
        return found
    error = expected_calibration_error(y, labels, confidence, n_bins=15)
    # What it would be if every confidence were the true probability: bins of few records are never exact.
    drawn = np.random.default_rng(0).random((20, len(y))) >= confidence
    chance = np.mean([expected_calibration_error(wrong, np.zeros(len(y)), confidence, n_bins=15) for wrong in drawn])
    return found | {"calibration error": error, "by chance": chance, "log loss": log_loss(y, proba)}


def ways_of(model: str) -> dict[str, Callable]:
    """Return how a model is used, by the name of the way; one call may tell of two."""
    if model == "sepc":
        return {"alone": alone}
    if model in OURS:
        return {"alone": alone, KEEP: around}
    calibrated = {method: calibration(method) for method in ("sigmoid", "isotonic", "temperature")}
    own = calibration("sigmoid", "alone") if model == "SVM" else alone
    return {"alone": own} | calibrated | {"Venn-ABERS": venn_abers, "TrustScore": trust_score, KEEP: around}


def by_proba(way: str, proba: np.ndarray) -> dict[str, tuple]:
    return {way: (proba.argmax(axis=1), proba.max(axis=1), proba)}


def alone(clf, X, y, X_test):
    clf.fit(X, y)
    proba = clf.predict_proba(X_test)
    return {"alone": (clf.predict(X_test), proba.max(axis=1), proba)}


def calibration(method: str, way: str | None = None) -> Callable:
    def calibrated(clf, X, y, X_test):
        around = CalibratedClassifierCV(clf, method=method, cv=own_splits(X, y), ensemble=False)
        return by_proba(way or method, around.fit(X, y).predict_proba(X_test))

    return calibrated


def venn_abers(clf, X, y, X_test):
    from venn_abers import VennAbersCalibrator

    method = "predict_proba" if hasattr(clf, "predict_proba") else "decision_function"
    own = cross_val_predict(clf, X, y, cv=own_splits(X, y), method=method)
    asked = scores_of(clf.fit(X, y), X_test)
    own, asked = (as_probabilities(scores, method) for scores in (own, asked))
    proba = VennAbersCalibrator().predict_proba(p_cal=own, y_cal=y, p_test=asked)
    return by_proba("Venn-ABERS", np.asarray(proba))


def as_probabilities(scores: np.ndarray, method: str) -> np.ndarray:
    if method == "decision_function":
        return np.column_stack([expit(-scores), expit(scores)]) if scores.ndim == 1 else softmax(scores, axis=1)
    # Pairs of labels are compared by their shares, which two zeros have not.
    return np.maximum(scores, 1e-9)


def trust_score(clf, X, y, X_test):
    ranked = KeptLabels(clf).fit(X, y)
    return {"TrustScore": (ranked.predict(X_test), ranked.trust_score(X_test), np.full((len(X_test), 1), np.nan))}


def around(clf, X, y, X_test):
    """Return what `TrustedClassifier` says with each setting of `labels`, which share a fit."""
    trusted = TrustedClassifier(clf).fit(X, y)
    found = {KEEP: (trusted.predict(X_test), trusted.trust_score(X_test), trusted.predict_proba(X_test))}
    trusted.model_ = replace(trusted.model_, keeps_labels=False)
    return found | {JOINT: (trusted.predict(X_test), trusted.trust_score(X_test), trusted.predict_proba(X_test))}


# Tables.


def seed_means(jobs: Iterable[tuple], done: dict[tuple, dict[str, float]]) -> dict[tuple, dict[str, float]]:
    """Return the mean results over the seeds, by set, model and way."""
    lines: dict[tuple, list[dict[str, float]]] = {}
    for job in jobs:
        for way in WAYS:
            of = {metric: done[job][f"{way}: {metric}"] for metric in METRICS} if job in done else {"AURC": np.nan}
            if not np.isnan(of["AURC"]):
                lines.setdefault((job[0], (job[4], way)), []).append(of)
    return {key: {m: float(np.mean([r[m] for r in of])) for m in METRICS} for key, of in lines.items()}


def report(means: dict, sets: list[str]) -> None:
    """Print the tables of each half: each metric by model and way, and mean ranks of all of these."""
    for half in HALVES:
        members = of_half(sets, half)
        if not members:
            continue
        for metric, form in FORMS.items():
            print(f"\n### {metric}{' x 1000' * (metric == 'AURC')}: mean over the {len(members)} {half} sets\n")
            table(f"{half}, {metric}", "model", *WAYS)
            for model in MODELS:
                of = (mean(means, members, (model, way), metric) for way in WAYS)
                row(model, *("" if np.isnan(value) else f"{value:{form}}" for value in of))
        figure(f"{half} sets", len(members))
        print(f"\n### Mean ranks in AURC, {half} sets\n")
        rank_table(half, means, members)
    costs(means, sets)


def mean(means: dict, sets: Iterable[str], key: tuple[str, str], metric: str) -> float:
    return float(np.mean([means.get((s, key), {}).get(metric, np.nan) for s in sets]))


def rank_table(half: str, means: dict, sets: list[str]) -> None:
    """Print the mean rank of each model in each way, among all of them, and without calibrations and TrustScore."""
    there = list(dict.fromkeys(key for _, key in means))
    few = [key for key in there if key[1] in ("alone", JOINT)]
    among, among_few = ranks(means, sets, there, "AURC").mean(axis=0), ranks(means, sets, few, "AURC").mean(axis=0)
    table(f"{half}, ranks", "model", "way", f"rank of {len(there)}", f"alone and joint: rank of {len(few)}")
    for i in np.argsort(among, kind="stable"):
        key = there[i]
        row(*key, f"{among[i]:.2f}", f"{among_few[few.index(key)]:.2f}" if key in few else "")
    place = 1 + int(np.sum(among < among[there.index(FIRST)])) if FIRST in there else 0
    figure(f"{half}, place of {', '.join(FIRST)}", place)


def costs(means: dict, sets: list[str]) -> None:
    """Print what fits and predictions cost in times of the model's own."""
    print("\n### CPU time of fit and prediction in times of the model's alone, median over the sets\n")
    ways = [way for way in WAYS[1:] if way != JOINT]
    table("costs", "model", *ways)
    for model in MODELS:
        found = []
        for way in ways:
            pairs = [(means.get((s, (model, w)), {}).get("seconds", np.nan) for w in (way, "alone")) for s in sets]
            ratios = [one / other for one, other in pairs if one == one and model != "SVM"]
            found.append(f"{median(ratios):.1f}" if ratios else "")
        row(model, *found)


def overheads(rows: int) -> None:
    """Print fit without refits in times of a `SEPClassifier`'s, and predict in times of both models' together."""
    print("\n### What it costs beside its parts, CPU time, medians of calls that take turns\n")
    table(
        "overhead",
        "set",
        "model",
        "fit without refits / SEPClassifier's",
        "predict_proba / the model's and the regions'",
    )
    for name in ("wdbc", "adult", "vehicle"):
        X, y = tuple_of(name, rows)
        for model in ("logistic regression", "random forest", "HistGradientBoosting"):
            row(name, model, *overhead(model, X, y))


def overhead(model: str, X: np.ndarray, y: np.ndarray) -> tuple[str, str]:
    regions, clf = SEPClassifier().fit(X, y), MODELS[model]().fit(X, y)
    with kept(None):
        trusted = TrustedClassifier(Recorded(clf)).fit(X, y)  # the next fits find all refits made
        whole, ours = take_turns((trusted.fit, X, y), (SEPClassifier().fit, X, y))
    trusted = TrustedClassifier(clf).fit(X, y)
    both, parts = take_turns((trusted.predict_proba, X), (lambda: (clf.predict_proba(X), regions.predict_proba(X)),))
    return f"{whole / ours:.2f}", f"{both / parts:.2f}"


def plot(path: Path, means: dict, sets: list[str]) -> None:
    """Draw the mean AURC of each model alone, calibrated, and with sepc, a panel for each half."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9, 4.4), layout="constrained")
    panels = drawn.subplots(1, 2, sharey=True)
    looks = {"alone": ("alone", "0.35", "o", 46)}
    looks |= {way: ("calibrated alone" if way == "sigmoid" else "", "#56B4E9", "|", 70) for way in CALIBRATIONS}
    looks |= {"TrustScore": ("TrustScore", "#CC79A7", "x", 40)}
    looks |= {KEEP: ("sepc, labels kept", "#D55E00", "D", 44), JOINT: ("sepc, joint labels", "#E69F00", "s", 44)}
    for axes, half in zip(panels, HALVES, strict=True):
        members = of_half(sets, half)
        for way, (label, colour, marker, size) in looks.items():
            found = [mean(means, members, (model, way), "AURC") for model in OTHERS]
            axes.scatter(found, range(len(OTHERS)), s=size, color=colour, marker=marker, label=label or None, zorder=3)
        ours = mean(means, members, ("sepc ensemble", "alone"), "AURC")
        axes.axvline(ours, color="0.6", linestyle=":", label="SEPEnsembleClassifier alone")
        axes.set_title(f"{len(members)} {half} sets", fontsize=10)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(OTHERS)), OTHERS)
    panels[0].invert_yaxis()
    drawn.supxlabel("mean AURC x 1000, smaller is better", fontsize=10)
    handles, labels = panels[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    drawn.savefig(path, dpi=150)


if __name__ == "__main__":
    with recording():
        main()
