"""Promises around other models, beside MAPIE's risk control: how many labels are accepted, and how many are wrong.

Records are split at random into a half to learn from, a quarter to calibrate by and a quarter to judge, many times. The
promise is that at most 5 % of the accepted labels are wrong, with a confidence of 95 %. MAPIE's controller finds a
threshold on the model's largest probability, or on our trust; its precision is the share of right labels among the
accepted ones. `select_min_trust` finds one on our trust, and accepts no strange or contested records.

Prints a Markdown table. Sets are read from the folder that SEPC_DATA names.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from around import MODELS, tuple_of
from measure import recording, row, table, versions
from results_file import outcomes
from sklearn.model_selection import train_test_split

from sepc import select_min_trust
from sepc.around import TrustedClassifier

SETS = ("adult", "magic", "spambase")
AROUND = ("logistic regression", "random forest", "HistGradientBoosting")
LIMIT, CONFIDENCE = 0.05, 0.95
MAPIE_OWN, MAPIE_OURS, OURS = "MAPIE, model's probability", "MAPIE, our trust", "select_min_trust"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20, help="how often (default 20)")
    parser.add_argument("--rows", type=int, default=4000, help="at most so many rows of a set (default 4000)")
    parser.add_argument("--sets", nargs="+", default=SETS, help="some of the sets")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    jobs = {
        (name, model, seed): (model, *tuple_of(name, options.rows), seed)
        for name in options.sets
        for model in AROUND
        for seed in range(options.repeats)
    }
    done = dict(outcomes(jobs, judge, options.jobs))
    print(versions("sepc", "scikit-learn", "MAPIE"))
    print(f"At most {LIMIT:.0%} of the accepted labels wrong, with a confidence of {CONFIDENCE:.0%}.\n")
    table("promises", "set", "model", "way", "accepted, %", "wrong among them, %", "broken, %", "no promise, %")
    for name in options.sets:
        for model in AROUND:
            for way in (MAPIE_OWN, MAPIE_OURS, OURS):
                found = np.array([done[name, model, seed][way] for seed in range(options.repeats)])
                row(name, model, way, *in_words(*found.T))


def in_words(accepted: np.ndarray, wrong: np.ndarray, n: np.ndarray) -> list[str]:
    none = accepted == 0
    broken = wrong > LIMIT * accepted
    shares = accepted.sum() / n.sum(), wrong.sum() / max(accepted.sum(), 1), broken.mean(), none.mean()
    return [f"{100 * shares[0]:.1f}", f"{100 * shares[1]:.2f}", *(f"{100 * share:.0f}" for share in shares[2:])]


def judge(model: str, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, tuple[int, int, int]]:
    """Return the accepted labels, the wrong ones among them and all, for each way."""
    X_fit, X_rest, y_fit, y_rest = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    X_cal, X_new, y_cal, y_new = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed)
    clf = TrustedClassifier(MODELS[model]()).fit(X_fit, y_fit)
    new = ~np.asarray(clf.has_learned(X_cal))  # some sets hold copies
    X_cal, y_cal = X_cal[new], y_cal[new]
    threshold = select_min_trust(clf, X_cal, y_cal, max_error=LIMIT, confidence=CONFIDENCE)
    accepted = {
        MAPIE_OWN: by_mapie(partial(own_confidence, clf.estimator_), X_cal, clf.predict(X_cal) == y_cal, X_new),
        MAPIE_OURS: by_mapie(clf.trust_score, X_cal, clf.predict(X_cal) == y_cal, X_new),
        OURS: clf.assess(X_new).accepted(threshold),
    }
    wrong = clf.predict(X_new) != y_new
    return {way: (int(taken.sum()), int((taken & wrong).sum()), len(wrong)) for way, taken in accepted.items()}


def own_confidence(estimator: Any, X: np.ndarray) -> np.ndarray:
    return estimator.predict_proba(X).max(axis=1)


def by_mapie(confidence: Callable, X_cal: np.ndarray, right: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """Return which new records MAPIE's controller accepts: those of a classifier of right labels, by its precision."""
    from mapie.risk_control import BinaryClassificationController

    controller = BinaryClassificationController(
        predict_function=lambda X: np.column_stack([1 - confidence(X), confidence(X)]),
        risk="precision",
        target_level=1 - LIMIT,
        confidence_level=CONFIDENCE,
    )
    controller.calibrate(X_cal, right.astype(int))
    if controller.best_predict_param is None:
        return np.zeros(len(X_new), dtype=bool)
    return confidence(X_new) >= controller.best_predict_param


if __name__ == "__main__":
    with recording():
        main()
