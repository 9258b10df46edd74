"""False alarms and delays of FeedbackMonitor, in simulated streams.

Each run draws a training set, fits, makes a monitor and feeds it a stream: at first unchanged, then shifted in all
features at once by a common length, in standard deviations. Prints Markdown tables. ``--quick`` takes fewer runs.

The first table compares with a naive alarm: the same test, but the pooled outcomes of cross-validation taken as
independent trials of the classifier that is watched. Its false alarms can exceed what it states (heavy tails), for
partitions of much the same data may differ in their share of strange records by more than those outcomes tell.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import warnings
from statistics import median

import numpy as np
from joblib import Parallel, delayed
from measure import row, table, versions
from scipy.stats import binom

from sepc import FeedbackMonitor, SEPClassifier
from sepc.feedback.drift import SequentialRateTest

RATES = (0.1, 0.01)
N_TRAIN, BATCH, UNCHANGED, LIFE = 120, 20, 500, 3000
SETS = {
    "two Gaussians, 2 features": ("gauss", 2),
    "two Gaussians, 5 features": ("gauss", 5),
    "heavy tails (Student, 2), 3 features": ("student", 3),
    "two moons": ("moons", 2),
}
SHIFTS = (1.0, 2.0, 4.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="40 runs instead of 400")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    runs = 40 if options.quick else 400
    print(versions("numpy", "scipy", "numba", "scikit-learn"))
    results = {
        name: Parallel(options.jobs)(delayed(one_run)(*kind, seed) for seed in range(runs))
        for name, kind in SETS.items()
    }
    false_alarms(results, runs)
    delays(results)


def false_alarms(results: dict[str, list[dict]], runs: int) -> None:
    print(
        f"### Runs with a false alarm within {LIFE} records without drift, {runs} runs of {N_TRAIN} training records\n"
    )
    table("set", "stated", "at most, by chance", "drift", "drift, reference", "error_drift", "naive")
    for name, outcomes in results.items():
        for rate in RATES:
            limit = binom.isf(0.01, runs, rate) / runs
            shares = [np.mean([o[kind, rate] for o in outcomes]) for kind in ("drift", "reference", "errors", "naive")]
            row(name, rate, f"{limit:.3f}", *(f"{share:.3f}{' (!)' if share > limit else ''}" for share in shares))
    print()


def delays(results: dict[str, list[dict]]) -> None:
    print(f"### After {UNCHANGED} unchanged records a shift; stated rate 0.01\n")
    columns = ("detected within 2000", "median delay")
    table("set", "shift, sd", "outside before", "outside after", *columns, *(f"{c}, reference" for c in columns))
    for title, outcomes in results.items():
        for shift in SHIFTS:
            before, after = (np.mean([o[when, "drift", shift] for o in outcomes]) for when in ("before", "after"))
            cells = []
            for name in ("drift", "reference"):
                found = [o["delay", name, shift] for o in outcomes]
                cells += [f"{np.mean(np.isfinite(found)):.2f}", f"{median(found):.0f}"]
            row(title, shift, f"{before:.2f}", f"{after:.2f}", *cells)


def one_run(kind: str, d: int, seed: int) -> dict:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X, y = draw(kind, d, N_TRAIN, rng)
    clf = SEPClassifier().fit(X, y)
    by_folds = FeedbackMonitor(clf)
    by_reference = FeedbackMonitor(clf, reference=draw(kind, d, N_TRAIN, rng)[0])
    start = {name: m._outside_test.held_out for name, m in (("drift", by_folds), ("reference", by_reference))}
    start["errors"], start["naive"] = by_folds._error_test.held_out, start["drift"].sum(axis=0, keepdims=True)
    Z, labels = draw(kind, d, LIFE, rng)
    seen = {"drift": outside(by_folds, Z), "reference": outside(by_reference, Z), "errors": wrong(by_folds, Z, labels)}
    seen["naive"] = seen["reference"]
    out: dict = {(name, rate): replay(start[name], seen[name], rate).alarm for name in seen for rate in RATES}
    fine = UNCHANGED // BATCH
    for shift in SHIFTS:
        moved = Z[UNCHANGED : UNCHANGED + 2000] + shift / np.sqrt(Z.shape[1]) * clf.scale_
        for name, monitor in (("drift", by_folds), ("reference", by_reference)):
            after = outside(monitor, moved)
            when = replay(start[name], seen[name][:fine] + after, 0.01).when
            out["delay", name, shift] = np.inf if when is None else when - UNCHANGED
            out["before", name, shift], out["after", name, shift] = share(seen[name][:fine]), share(after)
    return out


def outside(monitor: FeedbackMonitor, Z: np.ndarray) -> list[list[int]]:
    """Return what `observe` counts in each batch, all batches at once."""
    return by_batch([model.assess(Z).rule == "R3" for model in monitor._comparison_models])


def wrong(monitor: FeedbackMonitor, Z: np.ndarray, y: np.ndarray) -> list[list[int]]:
    return by_batch([model.predict(Z) != y for model in monitor._comparison_models])


def by_batch(flags: list[np.ndarray]) -> list[list[int]]:
    counts = np.array(flags).reshape(len(flags), -1, BATCH).sum(axis=2).T
    return [[BATCH, *hits] for hits in counts.tolist()]


def replay(held_out: np.ndarray, seen: list[list[int]], rate: float):
    test = SequentialRateTest("outside", held_out, rate)
    for n, *hits in seen:
        test.add(n, hits)
    return test.state()


def share(seen: list[list[int]]) -> float:
    counts = np.array(seen)
    return float(counts[:, 1:].mean() / BATCH)


def draw(kind: str, d: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=n)
    if kind == "moons":
        angle = np.pi * rng.random(n)
        X = np.column_stack([np.cos(angle), np.sin(angle)])
        X[y == 1] = [1.0, 0.5] - X[y == 1]
        return X + 0.25 * rng.standard_normal(X.shape), y
    X = rng.standard_normal((n, d)) if kind == "gauss" else rng.standard_t(2, size=(n, d))
    X[:, 0] += 2.0 * y
    return X, y


if __name__ == "__main__":
    main()
