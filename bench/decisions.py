"""Decisions with costs, and under other shares of the classes: what they cost, and whether trust stays calibrated.

First table: planted distributions whose densities are known. Expected cost of the decisions, asking a person included,
over that of the best possible ones. The rule is the same for everyone; what differs are the probabilities.

Second table: at most 1000 rows of real sets with two classes, five folds, several times. Test records are drawn so that
the rarer class has another share than in training. Calibration error without the shift, with it, and with it where the
shares are stated; without the shift and where shares are stated with what chance makes of it, were every trust right.
Means over the times: one deal of a few hundred records may happen to look better calibrated than it is, or worse.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings

import numpy as np
from measure import recording, row, table, versions
from scipy.stats import multivariate_normal, multivariate_t
from sets import numbers
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.metrics import expected_calibration_error

MODELS = {
    "SEPClassifier": lambda: SEPClassifier(n_imp=0.05),
    "SEPEnsembleClassifier": SEPEnsembleClassifier,
    "forest": lambda: RandomForestClassifier(300, random_state=0),
    "QDA": QuadraticDiscriminantAnalysis,
}
PLANTED = {
    "two normals": (multivariate_normal([0, 0]), multivariate_normal([1.5, 1.0], [[1.5, 0.4], [0.4, 0.8]])),
    "normal in a wide one": (multivariate_normal([0, 0], 6.0), multivariate_normal([0.5, 0.5], 0.6)),
    "heavy tails": (multivariate_t([0, 0], df=3), multivariate_t([2, 1], df=3)),
    "five features": (multivariate_normal(np.zeros(5)), multivariate_normal(np.full(5, 0.7), 1.5)),
}
PRIOR = np.array([0.85, 0.15])
ERRORS = np.array([[0.0, 1.0], [6.0, 0.0]])
MOST_ROWS = 1000
# Of what is right, were every trust right.
DRAWS = 200
SETS = ("wdbc", "banknote", "heart_statlog", "ionosphere", "magic", "ring", "vertebral_2c", "moons")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1500, help="training records of each class (default 1500)")
    parser.add_argument(
        "--repeats", type=int, default=3, help="number of draws; 0 leaves the first table out (default 3)"
    )
    parser.add_argument("--deals", type=int, default=5, help="into folds, of the second table (default 5)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("numpy", "scipy", "scikit-learn"))
    if options.repeats:
        print("### Expected cost of the decisions over the least possible one\n")
        table("costs", "distribution", "price of asking", *MODELS)
        for name, parts in PLANTED.items():
            for asking in (0.2, 0.6):
                draws = [ratios(parts, asking, options.rows, seed) for seed in range(options.repeats)]
                row(name, asking, *(f"{ratio:.3f}" for ratio in np.mean(draws, axis=0)))
    print("\n### Calibration error (by chance alone): as in training / shifted / shifted and stated\n")
    table("calibration", "set", "share in training", "share in use", "SEPClassifier", "SEPEnsembleClassifier")
    for name in SETS:
        X, y = numbers(name)
        some = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        X, y = X[some], np.asarray(y)[some]
        labels, codes = np.unique(y, return_inverse=True)
        rare = int(np.bincount(codes).argmin())
        share = float(np.mean(codes == rare))
        told = []
        for make in (SEPClassifier, SEPEnsembleClassifier):
            deals = [errors_of(make, X, codes, rare, 0.2 * share, seed) for seed in range(options.deals)]
            (usual, chance), (shifted, _), (stated, chance_there) = np.mean(deals, axis=0)
            told.append(f"{usual:.3f} ({chance:.3f}) / {shifted:.3f} / {stated:.3f} ({chance_there:.3f})")
        row(name, f"{labels[rare]} {share:.2f}", f"{0.2 * share:.2f}", *told)


def ratios(parts: tuple, asking: float, n: int, seed: int) -> list[float]:
    """Return the expected cost of each model's decisions over the least possible one."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([part.rvs(n, random_state=rng) for part in parts])
    truth = (rng.random(20_000) < PRIOR[1]).astype(int)
    new = np.where(truth[:, None] == 0, *(part.rvs(len(truth), random_state=rng) for part in parts))
    joint = np.column_stack([share * part.pdf(new) for share, part in zip(PRIOR, parts, strict=True)])
    costs = np.column_stack([ERRORS, np.full(2, asking)])
    expected = joint / joint.sum(axis=1, keepdims=True) @ costs
    found = []
    for make in MODELS.values():
        clf = make().fit(X, np.repeat([0, 1], n))
        if hasattr(clf, "under"):
            given = clf.predict_or_abstain(new, class_prior=PRIOR, costs=costs, min_typicality=0.0)
            decided = np.array([2 if label is None else label for label in given])
        else:
            proba = clf.predict_proba(new) * PRIOR  # in training both have one half
            decided = (proba @ costs).argmin(axis=1)
        found.append(expected[np.arange(len(new)), decided].mean() / expected.min(axis=1).mean())
    return found


def errors_of(make, X, codes, rare: int, share: float, seed: int) -> list[tuple[float, float]]:
    """Return the calibration error out of fold, and by chance.

    Of all records, of a draw with another share, and with it stated.
    """
    parts = {"usual": [], "shifted": [], "stated": []}
    rng = np.random.default_rng(seed)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, codes):
        clf = make().fit(X[train], codes[train])
        trained = float(np.mean(codes[train] == rare))
        # All of the others are kept, and so few of the rare ones that their share is the one asked for.
        keep = (codes[test] != rare) | (rng.random(len(test)) < share / (1 - share) * (1 - trained) / trained)
        here = test[keep]
        prior = np.where(np.arange(2) == rare, share, 1.0 - share)
        for name, rows, stated in (("usual", test, None), ("shifted", here, None), ("stated", here, prior)):
            a = clf.assess(X[rows], class_prior=stated)
            parts[name].append((codes[rows], a.label, a.trust))
    errors = []
    for found in parts.values():
        truth, label, trust = (np.concatenate(column) for column in zip(*found, strict=True))
        by_chance = [
            expected_calibration_error(rng.random(len(trust)) < trust, np.full(len(trust), True), trust)
            for _ in range(DRAWS)
        ]
        errors.append((expected_calibration_error(truth, label, trust), float(np.mean(by_chance))))
    return errors


if __name__ == "__main__":
    with recording():
        main()
