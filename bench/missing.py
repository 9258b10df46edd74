"""Records with missing values: judged by what is there, against values that were filled in before.

At most 500 rows of the sets with columns of numbers, two folds. Values are removed at random, in training and in test
records alike; several times, for a few hundred records tell little of a calibration error. The same classifier sees the
gaps as they are, filled by the mean of the column, and filled by the five nearest records; gradient boosting has a way
of its own with gaps. First the means over the sets of each half, then how often either is better. Few records have a
calibration error even where each trust is the chance to be right: what of it is due to that is drawn and told, and so
is the error of all records of a half together. Last, complete records: what a prediction takes now that gaps are looked
for, in times of one pass over the data that finds out whether there are any.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from functools import partial
from itertools import chain

import numpy as np
from joblib import Parallel, delayed
from measure import recording, row, table, take_turns, versions
from sets import HALVES, names_with_numbers, numbers, of_half, some_rows
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import aurc, expected_calibration_error

MOST_ROWS = 500
SHARES = (0.05, 0.2, 0.5)
ONE, MANY = partial(SEPClassifier, n_imp=0.05), SEPEnsembleClassifier


def filled(imputer, classifier):
    """Return a classifier that sees what an imputer makes of standardised columns."""
    return make_pipeline(StandardScaler(), imputer, classifier)


MEAN, NEAREST = SimpleImputer, KNNImputer
MODELS = {
    "one partition": ONE,
    "mean, one": lambda: filled(MEAN(keep_empty_features=True), ONE()),
    "nearest, one": lambda: filled(NEAREST(keep_empty_features=True), ONE()),
    "ensemble": MANY,
    "mean, ensemble": lambda: filled(MEAN(keep_empty_features=True), MANY()),
    "nearest, ensemble": lambda: filled(NEAREST(keep_empty_features=True), MANY()),
    "boosting": partial(HistGradientBoostingClassifier, random_state=0),
}
MEASURES = ("accuracy", "calibration error", "AURC x 1000")
# How often labels are drawn that each trust is the chance of.
DRAWS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", help="names of sets (default: all with columns of numbers)")
    parser.add_argument("--shares", nargs="*", type=float, default=SHARES, help="of the values that are removed")
    parser.add_argument("--repeats", type=int, default=12, help="how often values are removed, one partition (12)")
    parser.add_argument("--other-repeats", type=int, default=4, help="the same for ensembles and boosting (4)")
    parser.add_argument("--jobs", type=int, default=1, help="sets that are looked at side by side (default 1)")
    options = parser.parse_args()
    print(versions("numpy", "scipy", "scikit-learn"))
    names = options.sets or names_with_numbers()
    repeats = [options.repeats if "one" in model else options.other_repeats for model in MODELS]
    asked = [(share, name) for share in options.shares for name in names]
    answers = Parallel(n_jobs=options.jobs)(delayed(verdicts_of)(name, share, repeats) for share, name in asked)
    verdicts = dict(zip(asked, answers, strict=True))
    found = {
        key: np.array([np.mean([measured(*of_draw) for of_draw in draws], axis=0) for draws in of_models])
        for key, of_models in verdicts.items()
    }
    for half in HALVES:
        mine = of_half(names, half)
        if not mine:
            continue
        print(f"### Means over {len(mine)} {half} sets: {' / '.join(MEASURES)}\n")
        table(half, "removed", *MODELS)
        for share in options.shares:
            means = np.mean([found[share, name] for name in mine], axis=0)
            row(f"{100 * share:.0f} %", *(" / ".join(told(*values)) for values in means))
        print(f"\n### Calibration error, {half} sets: mean / of it by chance / of all records together\n")
        table(f"chance, {half}", "removed", *MODELS)
        for share in options.shares:
            of_models = zip(*(verdicts[share, name] for name in mine), strict=True)
            row(f"{100 * share:.0f} %", *(" / ".join(calibration_told(list(chain(*sets)))) for sets in of_models))
        print()
    print("### On how many sets what is there does better: accuracy / calibration error / AURC\n")
    table("wins", "removed", "one: mean", "one: nearest", "ensemble: mean", "ensemble: nearest", "sets")
    for share in options.shares:
        every = np.array([found[share, name] for name in names]) * [-1.0, 1.0, 1.0]
        pairs = ((0, 1), (0, 2), (3, 4), (3, 5))
        better = [" / ".join(map(str, (every[:, a] < every[:, b]).sum(axis=0))) for a, b in pairs]
        row(f"{100 * share:.0f} %", *better, len(names))
    print("\n### Complete records, 10,000 at once and one by one: time of a prediction / of the look for gaps\n")
    table("complete", "classifier", "10,000", "1")
    for name, model in (("one partition", ONE()), ("ensemble", MANY())):
        row(name, *(f"{against_a_look(model, n):.0f}" for n in (10_000, 1)))


def verdicts_of(name: str, share: float, repeats: list[int]) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Return of each model and each of its draws which labels of one set are right, and their trust."""
    warnings.simplefilter("ignore")
    X, y = numbers(name)
    X, y = some_rows(X, np.asarray(y), MOST_ROWS)
    return [
        [verdicts_of_draw(make, X, y, share, seed) for seed in range(n)]
        for make, n in zip(MODELS.values(), repeats, strict=True)
    ]


def verdicts_of_draw(make, X: np.ndarray, y: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)
    proba = np.empty((len(y), y.max() + 1))
    for train, test in StratifiedKFold(2, shuffle=True, random_state=seed).split(X, y):
        known = ~np.isnan(X[train]).all(axis=0)
        proba[test] = make().fit(X[train][:, known], y[train]).predict_proba(X[test][:, known])
    return proba.argmax(axis=1) == y, proba.max(axis=1)


def measured(right: np.ndarray, trust: np.ndarray) -> tuple[float, float, float]:
    """Return the measures of verdicts."""
    return float(right.mean()), calibration_error(right, trust), 1000.0 * aurc(right, np.ones_like(right), trust)


def calibration_error(right: np.ndarray, trust: np.ndarray) -> float:
    return expected_calibration_error(right, np.ones_like(right), trust)


def calibration_told(of_draws: list[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """Return the mean calibration error over draws, of labels that are right by chance as well, and of all together."""
    rng = np.random.default_rng(0)
    drawn = [calibration_error(rng.random(len(trust)) < trust, trust) for _ in range(DRAWS) for _, trust in of_draws]
    together = calibration_error(*(np.concatenate(column) for column in zip(*of_draws, strict=True)))
    values = np.mean([calibration_error(*verdicts) for verdicts in of_draws]), np.mean(drawn), together
    return [f"{value:.3f}" for value in values]


def told(accuracy: float, calibration: float, area: float) -> tuple[str, str, str]:
    return f"{accuracy:.3f}", f"{calibration:.3f}", f"{area:.0f}"


def against_a_look(model, n: int) -> float:
    X, y = numbers("wdbc")
    model.fit(X, y)
    X = X[np.arange(n) % len(X)]
    predicting, looking = take_turns((model.predict_proba, X), (lambda: np.isnan(X.sum()),))
    return predicting / looking


if __name__ == "__main__":
    with recording():
        main()
