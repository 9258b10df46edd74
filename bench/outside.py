"""Trust in points outside of every ellipsoid: counts in the nearest one as it was found, or once it is grown to them.

Fits of `SEPClassifier(trust="counts")` to two thirds of the rows, several times; test rows that no ellipsoid holds are
judged in both ways by the same partitions, and pooled. Prints Markdown tables: for each set and for each half of the
sets the log loss and the Brier score of the probabilities, the calibration error and the AURC of the trust, and for
"bound" the AURC and the coverage. The coverage is the share of rows in those tenths, by the bound, whose share of right
labels is at least their mean bound. The halves are those of bench/sets.py: a way is chosen by one, and judged by the
other. Sets are read from the folder that SEPC_DATA names, text columns left out; those of scikit-learn and two
generated ones are always there.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from dataclasses import replace

import numpy as np
from measure import recording, row, table, versions
from sets import HALVES, names_with_numbers, numbers, of_half, some_rows
from sklearn.model_selection import StratifiedShuffleSplit

from sepc import SEPClassifier
from sepc.metrics import aurc, expected_calibration_error
from sepc.model.partition_model import PartitionModel
from sepc.model.rules import Rules
from sepc.model.verdicts import Rule

# Fewer test rows outside, those of all splits together, say too little.
LEAST_OUTSIDE = 50
WAYS = {"as found": False, "grown": True}
MEASURES = ("log loss", "Brier", "calibration error", "AURC", "AURC of bound", "coverage of bound")
# What is best for each measure: the least, but for the coverage, which should reach this.
BOUND_LEVEL = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="some of the sets")
    parser.add_argument("--most", type=int, default=1500, help="rows of a set, drawn at random")
    parser.add_argument("--splits", type=int, default=10, help="how many")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("numpy", "scipy", "scikit-learn"))
    table("each", "set", "rows outside", "share", *(f"{measure}: {' / '.join(WAYS)}" for measure in MEASURES))
    found = {}
    for name in options.sets or names_with_numbers():
        X, y = some_rows(*numbers(name), options.most)
        outside, share = judged(X, y, options.splits)
        if len(outside["grown"]["right"]) < LEAST_OUTSIDE:
            continue
        found[name] = {way: measures(**pooled) for way, pooled in outside.items()}
        cells = (" / ".join(f"{found[name][way][measure]:.3f}" for way in WAYS) for measure in MEASURES)
        row(name, len(outside["grown"]["right"]), f"{share:.0%}", *cells)
    print()
    compare(found)


def judged(X: np.ndarray, y: np.ndarray, n_splits: int) -> tuple[dict, float]:
    """Return what both ways say of the test rows outside, those of all splits together, and the share of these."""
    parts, n_test = [], 0
    for train, test in StratifiedShuffleSplit(n_splits, test_size=1 / 3, random_state=0).split(X, y):
        model = SEPClassifier(trust="counts").fit(X[train], y[train]).model_
        Z = model.units(X[test])
        rules = [problem.judge(Z, count_outside=False).rule for problem in model.rules]
        none = np.all(np.array(rules) == Rule.R3, axis=0)
        n_test += len(test)
        parts.append({way: verdicts(model, grows, Z[none], y[test][none]) for way, grows in WAYS.items()})
    fields = parts[0]["grown"]
    pooled = {way: {field: np.concatenate([part[way][field] for part in parts]) for field in fields} for way in WAYS}
    return pooled, len(pooled["grown"]["right"]) / n_test


def verdicts(model: PartitionModel, grows: bool, Z: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return what a model says of points outside if ellipsoids are grown, or not."""
    rules = [Rules(r.training_counts, r.sides, r.labels, grows) for r in model.rules]
    counts, bound = (replace(model, rules=rules, trust=trust).decide_in_units(Z) for trust in ("counts", "bound"))
    every = np.arange(len(y))
    return {
        "right": counts.label == y,
        "likely": counts.proba[every, y],
        "squares": np.square(counts.proba - np.eye(len(model.classes))[y]).sum(axis=1),
        "trust": counts.trust,
        "bound": bound.trust,
    }


def measures(
    right: np.ndarray, likely: np.ndarray, squares: np.ndarray, trust: np.ndarray, bound: np.ndarray
) -> dict[str, float]:
    ones = np.ones(len(right), dtype=bool)
    tenths = np.array_split(np.argsort(bound, kind="stable"), 10)
    covered = [len(rows) * (right[rows].mean() >= bound[rows].mean()) for rows in tenths]
    values = (
        -np.log(likely).mean(),
        squares.mean(),
        expected_calibration_error(ones, right, trust),
        aurc(ones, right, trust),
        aurc(ones, right, bound),
        sum(covered) / len(right),
    )
    return dict(zip(MEASURES, map(float, values), strict=True))


def compare(found: dict[str, dict[str, dict[str, float]]]) -> None:
    """Print the means of both halves of the sets, and on how many sets counts as found are the better estimate."""
    table("halves", "half", "sets", "way", *MEASURES)
    for half in HALVES:
        names = of_half(found, half)
        if not names:
            continue
        for way in WAYS:
            means = (np.mean([found[name][way][measure] for name in names]) for measure in MEASURES)
            row(half, len(names), way, *(f"{mean:.3f}" for mean in means))
        better = (
            sum(loss(found[name]["as found"], measure) < loss(found[name]["grown"], measure) for name in names)
            for measure in MEASURES
        )
        row(half, len(names), "sets on which as found is better", *better)


def loss(values: dict[str, float], measure: str) -> float:
    return max(BOUND_LEVEL - values[measure], 0.0) if measure.startswith("coverage") else values[measure]


if __name__ == "__main__":
    with recording():
        main()
