"""Cost of many classes and many features: fit and prediction of both classifiers against a random forest's.

CPU seconds in one thread, of 300 trees in the same run and of ours, medians of a few turns; accuracy and log loss on
records that were held out. The planted sets have 2,000 training records whatever the number of classes, each class
made of two normal distributions in a few of the features, the others noise. Prints Markdown tables: every set, medians
by number of classes and of features, and the growth of the cost with the number of classes.
Letter is read from the folder that SEPC_DATA names, and left out without it.

A fit that takes more than ``--most-seconds`` is cut off there, and counts as having taken so long.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import NamedTuple

import numpy as np
from costs import Cost, Shape, print_medians
from measure import recording, row, table, versions
from results_file import chosen
from sets import numbers, paths, some_rows
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPEnsembleClassifier

FOREST = "forest"
MODELS: dict[str, Callable] = {
    FOREST: lambda: RandomForestClassifier(300, n_jobs=1, random_state=0),
    "default": SEPClassifier,
    "ensemble": SEPEnsembleClassifier,
}
N_CLASSES, N_FEATURES = (3, 10, 26, 100), (10, 30, 100, 300)
# Features that tell the classes apart, and how far the middles of the distributions lie from each other.
N_INFORMATIVE, APART = 8, 2.0
# Letter has 20,000 records; a third of each set is held out.
N_LETTERS, HELD_OUT = 2500, 1 / 3
# Fits that take longer are not repeated; predictions are until they have taken so long together.
LONG, LONG_ENOUGH = 10.0, 0.3


class Measured(NamedTuple):
    """CPU seconds of one fit and one prediction, and how good it is; NaN of a fit that was cut off."""

    fit: float
    predict: float = np.nan
    accuracy: float = np.nan
    log_loss: float = np.nan

    @property
    def is_cut_off(self) -> bool:
        """Whether the fit never ended."""
        return bool(np.isnan(self.predict))


class Split(NamedTuple):
    """Records to train with and records that are held out."""

    X: np.ndarray
    X_test: np.ndarray
    y: np.ndarray
    y_test: np.ndarray

    @property
    def shape(self) -> Shape:
        """Records to train with, classes, features."""
        return Shape(len(self.y), len(np.unique(self.y)), self.X.shape[1])


class TooLongError(BaseException):
    """A call has used the CPU for as long as it may. Like an interruption, not for what it interrupts to handle."""


def main() -> None:
    options = arguments()
    warnings.simplefilter("ignore")
    models = [FOREST, *(name for name in chosen(MODELS, options.only, "--only") if name != FOREST)]
    SEPClassifier().fit(*load_iris(return_X_y=True))  # loads the compiled code
    print(versions("sepc", "numpy", "scipy", "scikit-learn"))
    table(
        "fits",
        "set",
        "rows",
        "classes",
        "features",
        "model",
        "fit, s",
        "predict, s",
        "times the forest's",
        "accuracy",
        "log loss",
    )
    costs, shapes, seconds, results = {}, {}, {}, {}
    for name, split in data_sets(options):
        shapes[name] = split.shape
        found = results[name] = measured(split, models, options.repeats, options.most_seconds)
        for model, one in found.items():
            costs[name, model] = Cost(one.fit / found[FOREST].fit, one.predict / found[FOREST].predict, one.is_cut_off)
            seconds[name, model] = one.fit
            print_one(name, split.shape, model, one, costs[name, model])
    ours = models[1:]
    print("\n### Seconds of the forest, costs of the others in times of its, and log loss\n")
    table("sets", "set", "rows", "classes", "features", "forest, s", *ours, f"log loss: {' / '.join(models)}")
    for name, found in results.items():
        forest = Cost(found[FOREST].fit, found[FOREST].predict).in_words()
        losses = " / ".join(f"{found[model].log_loss:.3f}" for model in models)
        row(name, *shapes[name], forest, *(costs[name, model].in_words() for model in ours), losses)
    print("\n### Fit / prediction in times of the forest's\n")
    print_medians(costs, shapes, ours)
    print_growth(costs, shapes, seconds, models)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 and 10 classes, 10 and 30 features, no repeats")
    parser.add_argument("--only", metavar="MODELS", help=f"some of {', '.join(MODELS)}, with commas between")
    parser.add_argument("--classes", type=int, nargs="+", help="numbers of classes of planted sets")
    parser.add_argument("--features", type=int, nargs="+", help="numbers of features of planted sets")
    parser.add_argument("--rows", type=int, default=2000, help="training records of planted sets (default 2000)")
    parser.add_argument("--repeats", type=int, help="how often each fit is made (default 3)")
    parser.add_argument("--most-seconds", type=float, help="CPU seconds after which a fit is cut off (default 600)")
    options = parser.parse_args()
    quick = {"classes": (3, 10), "features": (10, 30), "repeats": 1, "most_seconds": 30.0}
    full = {"classes": N_CLASSES, "features": N_FEATURES, "repeats": 3, "most_seconds": 600.0}
    for name, value in (quick if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.rows < 4 * max(options.classes):
        parser.error(f"--rows is {options.rows}; {max(options.classes)} classes need at least 4 records each.")
    return options


def data_sets(options: argparse.Namespace) -> Iterator[tuple[str, Split]]:
    """Yield the names of the sets and their records, real sets first."""
    yield "digits", held_out(*numbers("digits"))
    if "letter" not in paths():
        print("letter is left out: SEPC_DATA names no folder with letter.csv.", file=sys.stderr)
    elif not options.quick:
        yield "letter", held_out(*some_rows(*numbers("letter"), N_LETTERS))
    for n_features in options.features:
        for n_classes in options.classes:
            yield f"{n_classes} classes, {n_features} features", planted(options.rows, n_classes, n_features)


def held_out(X: np.ndarray, y: np.ndarray) -> Split:
    return Split(*train_test_split(X, y, test_size=HELD_OUT, stratify=y, random_state=0))


def planted(n_rows: int, n_classes: int, n_features: int) -> Split:
    """Return so many training records, and half as many to test with, of classes that are two normal clouds each."""
    rng = np.random.default_rng([n_classes, n_features])
    informative = min(N_INFORMATIVE, n_features)
    middles = APART * rng.standard_normal((n_classes, 2, informative))
    y = np.arange(round(n_rows / (1.0 - HELD_OUT))) % n_classes
    X = rng.standard_normal((len(y), n_features))
    X[:, :informative] += middles[y, rng.integers(2, size=len(y))]
    return held_out(X, y)


def measured(split: Split, models: list[str], repeats: int, most_seconds: float) -> dict[str, Measured]:
    """Measure models that take turns."""
    found: dict[str, list[Measured]] = {model: [] for model in models}
    for _ in range(repeats):
        for model, turns in found.items():
            if not turns or turns[-1].fit < LONG:
                # What all others are measured by is never cut off.
                turns.append(once(MODELS[model](), split, np.inf if model == FOREST else most_seconds))
    return {
        model: turns[-1]._replace(fit=median(t.fit for t in turns), predict=median(t.predict for t in turns))
        for model, turns in found.items()
    }


def once(model, split: Split, most_seconds: float) -> Measured:
    try:
        with at_most(most_seconds):
            start = process_time()
            model.fit(split.X, split.y)
            fit = process_time() - start
    except TooLongError:
        return Measured(most_seconds)
    proba = model.predict_proba(split.X_test)
    # Some clocks tick in hundredths of a second.
    start, n_times, predict = process_time(), 0, 0.0
    while predict < LONG_ENOUGH:
        model.predict_proba(split.X_test)
        n_times, predict = n_times + 1, process_time() - start
    right = model.classes_[proba.argmax(axis=1)] == split.y_test
    return Measured(fit, predict / n_times, right.mean(), log_loss(split.y_test, proba, labels=model.classes_))


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLongError` once this process has used the CPU for so long."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds if np.isfinite(seconds) else 0.0)
    try:
        yield
    except SystemError as error:
        # What compiled code makes of an error that is raised in it.
        if isinstance(error.__cause__, TooLongError):
            raise error.__cause__ from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def print_one(name: str, shape: Shape, model: str, one: Measured, cost: Cost) -> None:
    told = [f"{'> ' * one.is_cut_off}{one.fit:.3g}", f"{one.predict:.3g}", cost.in_words()]
    told += [f"{one.accuracy:.3f}", f"{one.log_loss:.3f}"]
    row(name, *shape, model, *("" if text == "nan" else text for text in told))


def print_growth(costs: dict, shapes: dict[str, Shape], seconds: dict, models: list[str]) -> None:
    """Print by which power of the number of classes the seconds of a fit grow over the planted sets."""
    planted_sets = {name: shape for name, shape in shapes.items() if " classes, " in name}
    found = sorted({shape.classes for shape in planted_sets.values()})
    if len(found) < 2:
        return
    print(f"### Fit: seconds grow as this power of the number of classes, {found[0]} to {found[-1]}\n")
    table("growth", "features", *models)
    for n_features in sorted({shape.features for shape in planted_sets.values()}):
        members = {name: shape.classes for name, shape in planted_sets.items() if shape.features == n_features}
        members = dict(sorted(members.items(), key=lambda item: item[1]))
        row(n_features, *(growth(members, model, costs, seconds) for model in models))
    logarithms = np.log(found)
    print(f"\nK log K grows as the power {power(logarithms, logarithms + np.log(logarithms)):.2f} of K here.")


def growth(members: dict[str, int], model: str, costs: dict, seconds: dict) -> str:
    """Return the power for one model over some sets; at least so much if fits with more classes were cut off."""
    cut_off = [costs[name, model].is_cut_off for name in members]
    if cut_off[0]:
        return ""
    found = power(np.log(list(members.values())), np.log([seconds[name, model] for name in members]))
    return f"{'> ' * any(cut_off)}{found:.2f}"


def power(logarithms: np.ndarray, of_seconds: np.ndarray) -> float:
    """Return the slope of the line through points by least squares."""
    return float(np.polyfit(logarithms, of_seconds, 1)[0])


if __name__ == "__main__":
    with recording():
        main()
