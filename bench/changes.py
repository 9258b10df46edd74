"""Smallest changes to another label: whether they are valid, ordinary and short, and how many columns they take.

Half of the rows of each set, at most so many, are learnt as a raw table; records of the other half are explained. For
the smallest change, the one of few columns, and the nearest training record of another label, a row says in how many
cases there is one; how often the label is another; how often the typicality is at least that asked for; how often many
tries at random within the same limits find one where there is none; how long the change is beside the shortest of
these; the local outlier factor of the changed record among the training records (1 is ordinary); how many columns
change; and the CPU time of the whole explanation. On WDBC it says how often radius, perimeter and area move in one
direction. Sets are read from the folder that SEPC_DATA names.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import importlib.util
import warnings
from time import process_time

import numpy as np
import pandas as pd
from measure import recording, row, table, versions
from sets import cells, is_number_column, names, some_rows
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.explanations.change_limits import ChangeLimits, ReachableRecords
from sepc.explanations.change_search import ChangeSearch

SETS = (
    *("banknote", "german_credit", "heart_statlog", "ionosphere", "seeds", "sonar"),
    *("vehicle", "vertebral_2c", "wdbc", "wine"),
)
MODELS = {"sepc": SEPClassifier, "ensemble": SEPEnsembleClassifier}
MIN_TYPICALITY, MAX_COLUMNS = 0.1, 3
KINDS = ("smallest change", "change of few columns", "nearest record of another label")
# Of the columns of WDBC: radius, perimeter and area, their means and their worst values.
SIZES = ((0, 2, 3), (20, 22, 23))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="other sets than the ten")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, help="(default: both)")
    parser.add_argument("--records", type=int, default=50, help="explained in each set (default 50)")
    parser.add_argument("--most", type=int, default=1000, help="rows of a set, drawn at random (default 1000)")
    parser.add_argument("--tries", type=int, default=20_000, help="at random, for each record (default 20,000)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    there = names()
    print(versions("sepc", "scikit-learn", "numpy", "scipy"))
    if importlib.util.find_spec("dice_ml") is None:
        print("DiCE is not installed and left out.\n")
    table(
        "changes",
        *("set", "model", "what", "records", "offered, %", "label changes, %", "typical, %"),
        *("found at random alone, %", "length / random search, median", "largest", "up to 1.5, %"),
        *("local outlier factor", "columns", "milliseconds"),
    )
    directions = {}
    for name in options.sets or [name for name in SETS if name in there]:
        for model in options.models:
            told = explained(name, model, options)
            for kind in KINDS:
                show(name, model, kind, [record[kind] for record in told], [record["seconds"] for record in told])
            if name == "wdbc":
                directions[model] = [way for record in told for way in record["directions"]]
    if directions:
        print()
        table("times", "model", "records", "median, ms", "90 %, ms")
        for model in options.models:
            times = 1e3 * np.array(seconds(model, options.records))
            row(model, len(times), *(f"{np.quantile(times, share):.0f}" for share in (0.5, 0.9)))
        print()
        table("directions", "model", "changes", "radius, perimeter and area in one direction, %")
        for model, ways in directions.items():
            row(model, len(ways), percent(ways))


def explained(name: str, model: str, options: argparse.Namespace) -> list[dict]:
    """Return what is found of each explained record of a set."""
    X, y = some_rows(*cells(name), options.most)
    columns = load_breast_cancer().feature_names if name == "wdbc" else [f"c{k}" for k in range(1, X.shape[1] + 1)]
    frame = pd.DataFrame(
        {k: c.astype(float if is_number_column(c) else object) for k, c in zip(columns, X.T, strict=True)}
    )
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
    clf = make_table_pipeline(MODELS[model]()).fit(frame.iloc[train], y[train])
    fitted = clf[-1].model_
    factor = LocalOutlierFactor(novelty=True).fit(fitted.records.points)
    return [of_record(clf, frame.iloc[[k]], factor, options.tries) for k in test[: options.records].tolist()]


def of_record(clf, record: pd.DataFrame, factor: LocalOutlierFactor, tries: int) -> dict:
    start = process_time()
    why = clf.explain(record, min_typicality=MIN_TYPICALITY, max_columns=MAX_COLUMNS)
    out = {"seconds": process_time() - start, "directions": []}
    shortest, of_few = at_random(clf, record, tries)
    change, few, other = why.counterfactual, why.actionable_change, why.nearest_other
    points = [None if one is None else one.point for one in (change, few)]
    for kind, point, length, least in zip(
        KINDS,
        [*points, other.values],
        [None if change is None else change.distance, None if few is None else few.distance, other.distance],
        [shortest, of_few, shortest],
        strict=True,
    ):
        out[kind] = {"missed": bool(np.isfinite(least))}
        if point is not None:
            out[kind] = judged(clf, record, point, why.label, factor) | {"ratio": length / least, "missed": False}
    if change is not None and "mean radius" in record:
        ways = {one.feature: np.sign(one.change) for one in change.changes}
        names = load_breast_cancer().feature_names
        out["directions"] = [len({ways.get(names[j]) for j in of}) == 1 for of in SIZES]
    return out


def judged(clf, record: pd.DataFrame, point: dict, label: object, factor: LocalOutlierFactor) -> dict:
    """Return the label, typicality and local outlier factor of a changed record, and how many columns have changed."""
    changed = pd.DataFrame([point])
    a = clf.assess(changed)
    features = clf[-1].model_.units(np.asarray(clf[0].transform(changed), dtype=float))
    before = record.iloc[0]
    return {
        "label": a.label[0] != label,
        "typical": a.typicality[0] >= MIN_TYPICALITY,
        "factor": -factor.score_samples(np.nan_to_num(features))[0],
        "columns": sum(point[name] != before[name] for name in point),
    }


def at_random(clf, record: pd.DataFrame, tries: int) -> tuple[float, float]:
    """Return the lengths of the shortest change of any columns, and of few, among tries at random.

    They go towards training records, so far as chance has it; half of them with noise whose covariance is that of the
    records within a class, at scales from 0.01 to 1; of a half few columns change.
    """
    model, vocabulary = clf[-1].model_, clf[0].vocabulary(record)
    model = getattr(model, "for_search", model)
    x = np.asarray(clf[0].transform(record), dtype=float)[0]
    label = int(model.decide(x[None]).label[0])
    search = ChangeSearch(model, label, ReachableRecords(vocabulary, ChangeLimits(), x), MIN_TYPICALITY, MAX_COLUMNS)
    rng, d = np.random.default_rng(0), len(search.z)
    records, root = model.records.points, np.linalg.inv(search.root)
    of_word = np.repeat(np.arange(len(vocabulary.words)), [w.at.stop - w.at.start for w in vocabulary.words])
    for first in range(0, tries, 1000):
        n = min(1000, tries - first)
        moved = rng.uniform(0.0, 1.2, (n, 1)) * (records[rng.integers(len(records), size=n)] - search.z)
        noise = rng.normal(size=(n, d)) @ root
        moved += np.where(rng.random((n, 1)) < 0.5, 10.0 ** rng.uniform(-2.0, 0.0, (n, 1)), 0.0) * noise
        order = rng.random((n, len(vocabulary.words))).argsort(axis=1).argsort(axis=1)
        few = (order < rng.integers(1, MAX_COLUMNS + 1, (n, 1)))[:, of_word]
        search.judge(search.z + np.where(few | (rng.random((n, 1)) < 0.5), moved, 0.0))
    return tuple(np.inf if found is None else found.length for found in (search.best, search.best_of_few))


def seconds(model: str, n: int) -> list[float]:
    """Return the CPU times of explanations of WDBC without a table in front of the classifier."""
    X, y = cells("wdbc")
    clf, times = MODELS[model]().fit(X[::2], y[::2]), []
    for x in X[1::2][: n + 1]:
        start = process_time()
        clf.explain(x)
        times.append(process_time() - start)
    return times[1:]  # the first one fills caches


def show(name: str, model: str, kind: str, found: list[dict], seconds: list[float]) -> None:
    there, missed = [one for one in found if "label" in one], percent([one["missed"] for one in found])
    if not there:
        row(name, model, kind, len(found), "0", "", "", missed, *[""] * 5, f"{1e3 * np.median(seconds):.0f}")
        return
    ratio = np.array([one["ratio"] for one in there if one["ratio"] > 0.0] or [np.nan])  # 0: not found at random
    row(
        *(name, model, kind, len(found), percent(["label" in one for one in found])),
        *(percent([one[what] for one in there]) for what in ("label", "typical")),
        missed,
        *(f"{np.median(ratio):.2f}", f"{ratio.max():.2f}", percent(ratio <= 1.5)),
        *(f"{np.median([one['factor'] for one in there]):.2f}", f"{np.median([one['columns'] for one in there]):.0f}"),
        f"{1e3 * np.median(seconds):.0f}",
    )


def percent(of: object) -> str:
    return f"{100 * np.mean(of):.0f}"


if __name__ == "__main__":
    with recording():
        main()
