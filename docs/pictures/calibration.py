"""Draw how often labels are right at a given trust: ``python docs/pictures/calibration.py`` (needs the extra ``plot``).

Out-of-fold trust of five folds, pooled over the sets below; ten bins with equally many records. Sets that are not
scikit-learn's come from the folder that SEPC_DATA names, and are left out without it.
"""

import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier, SEPEnsembleClassifier

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from measure import figure, recording, versions

FOLDER_SETS = ("vertebral_2c", "haberman", "blood_transfusion", "heart_statlog", "ionosphere")
MODELS = {
    "SEPEnsembleClassifier": SEPEnsembleClassifier,
    'SEPClassifier, "local"': SEPClassifier,
    '"counts"': lambda: SEPClassifier(trust="counts"),
    '"bound"': lambda: SEPClassifier(trust="bound"),
    '"paper"': lambda: SEPClassifier(trust="paper"),
    "random forest of 300": lambda: RandomForestClassifier(300, random_state=0),
}
N_BINS = 10
COLOUR = "#0072B2"


def main() -> None:
    """Write calibration.png beside this file."""
    warnings.simplefilter("ignore")
    data = list(sets())
    print(versions("numpy", "scipy", "scikit-learn", "matplotlib"))
    picture, panels = plt.subplots(2, 3, figsize=(9.6, 6.2), sharex=True, sharey=True, layout="constrained")
    for axes, (name, make) in zip(panels.flat, MODELS.items(), strict=True):
        trust, right = (np.concatenate(part) for part in zip(*(out_of_fold(make, X, y) for X, y in data), strict=True))
        draw(axes, trust, right)
        axes.set_title(name, fontsize=10)
    figure("records", sum(len(y) for _, y in data))
    picture.supxlabel("trust", fontsize=10)
    picture.supylabel("share of labels that are right", fontsize=10)
    picture.savefig(Path(__file__).with_name("calibration.png"), dpi=130)


def sets():
    """Yield points and labels of each set."""
    yield load_breast_cancer(return_X_y=True)
    yield make_moons(1000, noise=0.3, random_state=0)
    folder = os.environ.get("SEPC_DATA")
    for name in FOLDER_SETS if folder else ():
        table = np.genfromtxt(Path(folder) / f"{name}.csv", delimiter=",", skip_header=1, dtype=str)
        yield table[:, :-1].astype(float), table[:, -1]


def out_of_fold(make, X, y) -> tuple[np.ndarray, np.ndarray]:
    """Return the trust in each label, and whether it is right."""
    trust, right = np.empty(len(y)), np.empty(len(y), dtype=bool)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        clf = make().fit(X[train], y[train])
        trusted = hasattr(clf, "trust_score")
        trust[test] = clf.trust_score(X[test]) if trusted else clf.predict_proba(X[test]).max(axis=1)
        right[test] = clf.predict(X[test]) == y[test]
    return trust, right


def draw(axes, trust: np.ndarray, right: np.ndarray) -> None:
    """Draw the share of right labels in bins of trust, with 95 % intervals."""
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    edges = np.unique(np.quantile(trust, np.linspace(0, 1, N_BINS + 1)))
    which = np.clip(np.searchsorted(edges, trust, side="right") - 1, 0, max(len(edges) - 2, 0))
    for k in np.unique(which):
        mine = which == k
        n, hits = np.count_nonzero(mine), np.count_nonzero(right[mine])
        low, high = beta.ppf([0.025, 0.975], [hits, hits + 1], [n - hits + 1, n - hits])
        at = trust[mine].mean()
        axes.plot([at, at], [np.nan_to_num(low), np.nan_to_num(high, nan=1.0)], color=COLOUR, linewidth=1.0)
        axes.plot(at, hits / n, "o", color=COLOUR, markersize=4)
    axes.set(xlim=(0.3, 1.02), ylim=(0.3, 1.02))
    axes.grid(alpha=0.3)


if __name__ == "__main__":
    with recording():
        main()
