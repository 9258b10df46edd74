"""Labels that flip if one training record is left out: how well `stability` tells them, and how well trust does.

A fit to two thirds of the rows of a set whose classes overlap, and refits without one record of these at random; the
label of a test record flips if any refit gives another one. Prints a Markdown table: the areas under the ROC curve of
1 - stability and of 1 - trust for the flips, and how many labels flip among those that all partial partitions agree on.
Sets are read from the folder that SEPC_DATA names, text columns left out.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings

import numpy as np
from measure import recording, row, table, versions
from sets import half, names_with_numbers, numbers, some_rows
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier

OVERLAPPING = ("haberman", "blood_transfusion", "vertebral_2c", "heart_statlog", "german_credit")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="other sets than those that overlap")
    parser.add_argument("--most", type=int, default=1000, help="rows of a set, drawn at random (default 1000)")
    parser.add_argument("--refits", type=int, default=20, help="each without one record (default 20)")
    parser.add_argument("--seeds", type=int, default=3, help="number of splits of each set (default 3)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    there = names_with_numbers()
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    table(
        "sets",
        *("set", "half", "labels", "flips", "ROC area of 1 - stability", "ROC area of 1 - trust"),
        *("stability of 1", "flips among these", "flips among others"),
    )
    areas = []
    for name in options.sets or [name for name in OVERLAPPING if name in there]:
        X, y = some_rows(*numbers(name), options.most)
        parts = [judged(X, y, options.refits, seed) for seed in range(options.seeds)]
        flips, stability, trust = (np.concatenate(of) for of in zip(*parts, strict=True))
        areas.append([area(flips, 1 - stability), area(flips, 1 - trust)])
        stable = stability == 1
        row(
            *(name, half(name), len(flips), f"{flips.mean():.1%}", *(f"{value:.3f}" for value in areas[-1])),
            *(f"{stable.mean():.0%}", share(flips[stable]), share(flips[~stable])),
        )
    if areas:
        row("mean", "", "", "", *(f"{value:.3f}" for value in np.nanmean(areas, axis=0)), "", "", "")


def judged(X: np.ndarray, y: np.ndarray, refits: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each test record whether its label flips, its stability and its trust."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    a = SEPClassifier().fit(X_train, y_train).assess(X_test)
    flips = np.zeros(len(y_test), dtype=bool)
    for out in np.random.default_rng(seed).choice(len(y_train), refits, replace=False):
        refit = SEPClassifier().fit(np.delete(X_train, out, axis=0), np.delete(y_train, out))
        flips |= refit.predict(X_test) != a.label
    return flips, a.stability, a.trust


def area(flips: np.ndarray, score: np.ndarray) -> float:
    return roc_auc_score(flips, score) if 0 < flips.sum() < len(flips) else np.nan


def share(flips: np.ndarray) -> str:
    return f"{flips.mean():.1%}" if len(flips) else ""


if __name__ == "__main__":
    with recording():
        main()
