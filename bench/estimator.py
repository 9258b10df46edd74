"""Time, memory and score of SEPClassifier and its ensemble, against scikit-learn's classifiers in the same run.

Of the classifier with ``trust="raw"``: what its calibration costs on top `bench/calibration_cost.py` measures.

Prints Markdown tables. CPU time in one thread, medians of three fits that take turns; the smallest sets are repeated
more often. Real sets are read from the folder that SEPC_DATA names. ``--full`` adds a million training points,
``--quick`` leaves out what takes more than a minute.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import ctypes
import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from measure import cpu_seconds, peak_allocation, peak_growth, peak_in_use, recording, row, table, versions
from sets import numbers
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sepc import SEPClassifier, SEPEnsembleClassifier

REAL = ("wdbc", "vertebral_2c", "banknote", "spambase", "magic")
RAW = partial(SEPClassifier, trust="raw")
MODELS = {
    "sepc": RAW,
    "SVC, calibrated": lambda: CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), ensemble=False),
    "forest of 300": lambda: RandomForestClassifier(300, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}

# How memory is told: what is allocated beyond the pools that Python has for its own small objects; for sets up to 1 MB
# all that is in use, these objects among it; for larger sets resident pages.
MEMORY = ("copies of the data at peak", "all objects in use", "in resident pages")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="a million training points, too")
    parser.add_argument("--quick", action="store_true", help="nothing above 10 000 training points")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    parser.add_argument("--classes", type=int, default=2, help=argparse.SUPPRESS)
    parser.add_argument("--apart", type=float, default=2.0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.memory:
        print(*fit_copies(options.memory, options.classes, options.apart))
        return
    print(versions("numpy", "scipy", "numba", "scikit-learn"))
    RAW().fit(*gaussians(2000))  # the compiled code is loaded
    real_sets(options)
    ensembles(options)
    growth(options)
    several_classes()
    prediction(options)


def real_sets(options: argparse.Namespace) -> None:
    print("### Fit on all rows of real sets, seconds (in brackets: accuracy on a third, fitted to the rest)\n")
    table("real", "set", "rows", "features", *MODELS, "forest / sepc", "ellipsoids", *MEMORY)
    for name in REAL:
        X, y = numbers(name)
        if options.quick and len(X) > 10_000:
            continue
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
        score = {model: make().fit(X_train, y_train).score(X_test, y_test) for model, make in MODELS.items()}
        repeats = 3 if len(X) > 2000 else 9
        seconds: dict[str, list[float]] = {model: [] for model in MODELS}
        for _ in range(repeats):
            for model, make in MODELS.items():
                seconds[model].append(cpu_seconds(make().fit, X, y))
        medians = {model: median(times) for model, times in seconds.items()}
        blocks = len(RAW().fit(X, y).partitions_[0].blocks)
        row(
            name,
            f"{len(X):,}",
            X.shape[1],
            *(f"{medians[model]:.3g} ({score[model]:.3f})" for model in MODELS),
            f"{median(f / s for f, s in zip(seconds['forest of 300'], seconds['sepc'], strict=True)):.1f}",
            blocks,
            *memory(name),
        )


def ensembles(options: argparse.Namespace) -> None:
    print("\n### The default ensemble: fit on two thirds, `predict_proba` of the rest, seconds\n")
    table(
        "ensemble",
        *("set", "rows", "ensemble fits", "forest fits", "ratio of fits"),
        *("ensemble predicts", "forest predicts", "ratio of predictions", "score (the forest's)"),
    )
    for name in ("wdbc", "vertebral_2c", "banknote", "magic"):
        X, y = numbers(name)
        if options.quick and len(X) > 10_000:
            continue
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
        ours, forest = SEPEnsembleClassifier(), MODELS["forest of 300"]()
        turns = [
            [cpu_seconds(clf.fit, X_train, y_train) for clf in (ours, forest)]
            + [cpu_seconds(clf.predict_proba, X_test) for clf in (ours, forest)]
            for _ in range(3 if len(X) > 2000 else 9)
        ]
        fit, forest_fit, predict, forest_predict = np.median(turns, axis=0)
        of_fit, of_predict = np.median([(a / b, c / d) for a, b, c, d in turns], axis=0)
        row(
            name,
            f"{len(X):,}",
            *(f"{fit:.3g}", f"{forest_fit:.3g}", f"{of_fit:.2f}"),
            *(f"{predict:.3g}", f"{forest_predict:.3g}", f"{of_predict:.2f}"),
            f"{ours.score(X_test, y_test):.3f} ({forest.score(X_test, y_test):.3f})",
        )


def growth(options: argparse.Namespace) -> None:
    print("\n### Fit on two overlapping Gaussians, 10 features, n_imp = 0.01\n")
    table(
        "gaussians",
        "rows",
        "sepc, s",
        "forest of 300, s",
        "exponent since the row above",
        "ellipsoids",
        *MEMORY,
    )
    sizes = [1000, 10_000] if options.quick else [1000, 10_000, 100_000] + [1_000_000] * options.full
    before = None
    for n in sizes:
        X, y = gaussians(n)
        clf = RAW(n_imp=0.01)
        seconds = median(cpu_seconds(clf.fit, X, y) for _ in range(3 if n <= 10_000 else 1))
        forest = cpu_seconds(RandomForestClassifier(300, random_state=0).fit, X, y) if n <= 100_000 else None
        row(
            f"{n:,}",
            f"{seconds:.3g}",
            "" if forest is None else f"{forest:.3g}",
            "" if before is None else f"{np.log(seconds / before[1]) / np.log(n / before[0]):.2f}",
            len(clf.partitions_[0].blocks),
            *memory(n),
        )
        before = n, seconds


def several_classes() -> None:
    print("\n### Memory of a fit with several classes, 10 features, n_imp = 0.01\n")
    table("classes", "rows", "classes", "centres apart", *MEMORY)
    for n, k, apart in ((20_000, 3, 2.0), (100_000, 3, 2.0), (20_000, 3, 1.0), (20_000, 5, 1.0)):
        row(f"{n:,}", k, f"{apart * 2**0.5:.1f}", *memory(n, k, apart))


def prediction(options: argparse.Namespace) -> None:
    n = 10_000 if options.quick else 1_000_000
    print(f"\n### {n:,} rows, 10 features, to predict; trained on 10,000\n")
    X, y = gaussians(10_000)
    Z, _ = gaussians(n, seed=1)
    clf = RAW(n_imp=0.01).fit(X, y)
    forest = RandomForestClassifier(300, random_state=0).fit(X, y)
    k = len(clf.partitions_[0].blocks)
    one_pass = median(cpu_seconds(plain_pass, Z) for _ in range(5))
    ours, theirs = cpu_seconds(clf.predict, Z), cpu_seconds(forest.predict_proba, Z)
    a = clf.assess(Z)
    table("prediction", "", "seconds")
    row("sepc, `predict`", f"{ours:.3g}")
    row("forest of 300, `predict_proba`", f"{theirs:.3g}")
    row("ratio", f"{theirs / ours:.1f}")
    row("one plain pass over the rows", f"{one_pass:.3g}")
    row("ellipsoids", k)
    row("sepc in passes per ellipsoid", f"{ours / one_pass / k:.2f}")
    row(
        "share inside one / several / no ellipsoid",
        " / ".join(f"{np.isin(a.rule, r).mean():.0%}" for r in (["R1"], ["R2a", "R2b"], ["R3"])),
    )
    start = process_time()
    for z in Z[:200]:
        clf.predict(z[None])
    row("sepc, one row at a time, ms per row", f"{1e3 * (process_time() - start) / 200:.2f}")


def gaussians(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 10))
    X[y == 1, 0] += 2.0
    return X, y


def classes(n: int, seed: int = 0, k: int = 3, apart: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Return k Gaussians, each moved along an axis of its own."""
    rng = np.random.default_rng([n, seed])
    y = np.arange(n) % k
    X = rng.standard_normal((n, 10))
    X[np.arange(n), y] += apart
    return X, y


def plain_pass(X: np.ndarray) -> np.ndarray:
    Y = X @ np.eye(X.shape[1])
    return np.einsum("ij,ij->i", Y, Y)


def memory(what: int | str, k: int = 2, apart: float = 2.0) -> list[str]:
    """Peak memory of a fit to so many points, or to a real set, in a process of its own, as cells of `MEMORY`.

    In copies of its input, the input not counted.
    """
    command = [sys.executable, __file__, "--memory", str(what), "--classes", str(k), "--apart", str(apart)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return ["" if np.isnan(copies) else f"{copies:.2f}" for copies in map(float, found)]


def fit_copies(what: str, k: int, apart: float) -> tuple[float, float, float]:
    if what in REAL:
        return copies(RAW, numbers(what), numbers(what))
    make = gaussians if k == 2 else partial(classes, k=k, apart=apart)
    return copies(partial(RAW, n_imp=0.01), make(min(int(what), 30_000)), make(int(what)))


def copies(make: Callable[[], SEPClassifier], before: tuple, data: tuple) -> tuple[float, float, float]:
    """Return the peak of a fit in copies of its data, after a fit that takes what libraries and compiled code take."""
    size = data[0].nbytes
    make().fit(*before)
    in_use = resident = np.nan
    if size <= 10**6:
        in_use = peak_in_use(lambda: make().fit(*data))
    elif Path("/proc/self/clear_refs").exists():
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what that fit took is given back
        resident = peak_growth(lambda: make().fit(*data))
    allocated = peak_allocation(lambda: make().fit(*data), lambda: make().fit(*before))
    return allocated / size, in_use / size, resident / size


if __name__ == "__main__":
    with recording():
        main()
