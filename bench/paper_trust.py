"""The paper's trust on records that its fit has not seen: outside of all ellipsoids, and where labels overlap.

Fits of `SEPClassifier(trust="paper")`, five-fold cross-validation. Prints two Markdown tables. The first has, for each
set, the accuracy and the AURC where a record outside of all ellipsoids is decided by the nearest one as it was found,
by the paper's letter, and where that is grown to the record first. The second is about records that ellipsoids of both
labels hold: how many labels are wrong, how many among those with a `local_overlap` below 0.1, and how often a wrong
label has the larger one. Sets are read from the folder that SEPC_DATA names, text columns left out.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from dataclasses import replace

import numpy as np
from measure import recording, row, table, versions
from outside import WAYS
from sets import names_with_numbers, numbers, some_rows
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier
from sepc.common.frames import FrameMaker
from sepc.metrics import aurc
from sepc.model.rules import Rules

N_FOLDS = 5
TOLD = 0.1
# Fewer records in an overlap, those of all folds together, say too little.
LEAST = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="some of the sets")
    parser.add_argument("--most", type=int, default=1000, help="rows of a set, drawn at random")
    parser.add_argument("--repeats", type=int, default=3, help="of the cross-validation")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("numpy", "scipy", "scikit-learn"))
    names = options.sets or names_with_numbers()
    found = {name: judged(*some_rows(*numbers(name), options.most), options.repeats) for name in names}
    outside(found)
    print()
    overlaps(found)


def judged(X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, np.ndarray]:
    """Return right or wrong and trust in both ways, and the local overlap, of each record in each repeat."""
    parts = []
    for seed in range(repeats):
        for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y):
            model = SEPClassifier(trust="paper").fit(X[train], y[train]).model_
            part = {}
            for way, grows in WAYS.items():
                rules = [Rules(r.training_counts, r.sides, r.labels, grows) for r in model.rules]
                a = replace(model, rules=rules).assess(X[test], FrameMaker())
                part |= {f"right {way}": a.label == y[test], f"trust {way}": a.trust}
            parts.append(part | {"overlap": a.local_overlap})
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def outside(found: dict[str, dict[str, np.ndarray]]) -> None:
    table("outside", "set", *(f"{measure}: {' / '.join(WAYS)}" for measure in ("accuracy", "AURC")))
    accuracy, risk = [], []
    for name, f in found.items():
        accuracy.append([f[f"right {way}"].mean() for way in WAYS])
        ones = np.ones(len(f["overlap"]), dtype=bool)
        risk.append([aurc(ones, f[f"right {way}"], f[f"trust {way}"]) for way in WAYS])
        row(name, *(" / ".join(f"{value:.4f}" for value in pair) for pair in (accuracy[-1], risk[-1])))
    row("mean", *(" / ".join(f"{value:.4f}" for value in np.mean(pairs, axis=0)) for pairs in (accuracy, risk)))
    better = np.subtract(*np.transpose(accuracy)), np.subtract(*np.transpose(risk)[::-1])
    row("sets on which as found is better, worse", *(f"{(b > 0).sum()}, {(b < 0).sum()}" for b in better))


def overlaps(found: dict[str, dict[str, np.ndarray]]) -> None:
    table(
        "overlap",
        "set",
        "records in an overlap",
        "wrong",
        f"told less than {TOLD}",
        "wrong among them",
        "area under the ROC curve",
    )
    for name, f in found.items():
        held = np.isfinite(f["overlap"])
        wrong, told = ~f["right as found"][held], f["overlap"][held]
        if held.sum() < LEAST or len(np.unique(wrong)) < 2:
            continue
        few = told < TOLD
        among = f"{wrong[few].mean():.0%}" if few.any() else ""
        row(name, held.sum(), f"{wrong.mean():.0%}", few.sum(), among, f"{roc_auc_score(wrong, told):.2f}")


if __name__ == "__main__":
    with recording():
        main()
