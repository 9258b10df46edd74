"""Fits to training sets that are not in memory: time, memory and passes, from files and on Dask, beside memory.

Prints Markdown tables. Two overlapping Gaussians, written to a temporary folder (``--keep`` names one that stays); each
fit runs in a process of its own with one BLAS thread. ``--rows`` sets the largest number of rows, ``--features`` how
wide they are, ``--quick`` stops at 100 000.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from measure import cpu_seconds, peak_growth, recording, row, table, versions
from sets import BUNDLED, numbers

PARTS = ("files", "agreement", "dask", "overhead")
SMALL = ("iris", "wdbc", "vertebral_2c", "banknote")
SIZES = (100_000, 1_000_000, 10_000_000)
# Above this a fit in memory would take too much of it.
IN_MEMORY = 1_000_000
# Rows that are written at a time, and new rows that models are asked about.
SOME = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6, help="the largest number of rows")
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="nothing above 100 000 rows")
    parser.add_argument("--keep", type=Path, help="a folder for the data, which stay there")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some of the parts")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.job:
        print(json.dumps(JOBS[(job := json.loads(options.job)).pop("name")](**job)))
        return
    print(versions("numpy", "scipy", "numba", "scikit-learn", "dask"))
    with tempfile.TemporaryDirectory() as folder:
        largest = SIZES[0] if options.quick else int(options.rows)
        paths = [gaussians(options.keep or Path(folder), n, options.features) for n in SIZES if n <= largest]
        if "files" in options.only:
            from_files(paths)
        if "agreement" in options.only:
            agreement(paths)
        if "dask" in options.only:
            on_dask(paths)
        if "overhead" in options.only:
            overhead()


def gaussians(folder: Path, n: int, d: int) -> str:
    """Write two overlapping Gaussians, 2 standard deviations apart, some rows at a time; classes take turns."""
    path = folder / f"gaussians-{n}-{d}.npy"
    if not path.exists():
        rng = np.random.default_rng([n, 0])
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
        for start in range(0, n, SOME):
            part = rng.standard_normal((min(SOME, n - start), d))
            part[1::2, 0] += 2.0
            X[start : start + len(part)] = part
            X.flush()
    return str(path)


def from_files(paths: list[str]) -> None:
    print("### From a file, beside the fit in memory\n")
    table(
        "files",
        "rows",
        "features",
        "where",
        "n_jobs",
        "seconds",
        "CPU seconds",
        "peak, MB",
        "data, MB",
        "passes",
        "regions",
    )
    for path in paths:
        n, d = np.load(path, mmap_mode="r").shape
        fits = [("memory", 1)] if n <= IN_MEMORY else []
        for where, n_jobs in (*fits, ("file", 1), ("file", 2)):
            found = fit_of(path, where, n_jobs)
            row(
                f"{n:,}", d, where, n_jobs, f"{found['wall']:.3g}", f"{found['cpu']:.3g}", f"{found['peak'] / 1e6:.0f}",
                f"{8 * d * n / 1e6:.0f}", found.get("passes", ""), found["regions"],
            )  # fmt: skip
    print()


def agreement(paths: list[str]) -> None:
    print("### Models of the same rows, asked about 100,000 new rows\n")
    print("Beside memory and file a fit in memory without one of the rows.\n")
    table(
        "models",
        "rows", "equal blocks of memory and file, up to the first other one", "regions, memory / file / without one",
        "right, memory / file / without one", "label as from memory, file / without one",
        "trust differs from memory's, median, file / without one",
    )  # fmt: skip
    formats = {"regions": "d", "right": ".4f", "same": ".2%", "trust": ".1e"}
    for path in paths:
        n = len(np.load(path, mmap_mode="r"))
        if n <= IN_MEMORY:
            found = child("both", path=path)
            row(f"{n:,}", found["equal"], *(" / ".join(f"{v:{f}}" for v in found[name]) for name, f in formats.items()))
    print()


def on_dask(paths: list[str]) -> None:
    print("### Dask, chunks of a tenth of the rows\n")
    table(
        "dask", "rows", "workers", "seconds", "passes", "peak of the client, MB", "received, MB", "median of a pass, kB"
    )
    for path in paths:
        n = len(np.load(path, mmap_mode="r"))
        for n_workers in (0, 1, 2):
            found = child("on_workers", path=path, n_workers=n_workers)
            received = found["received"]
            row(
                f"{n:,}", n_workers or "none, in this process", f"{found['wall']:.3g}", found["passes"],
                f"{found['peak'] / 1e6:.0f}", f"{sum(received) / 1e6:.3g}", f"{median(received) / 1e3:.3g}",
            )  # fmt: skip
    print()


def overhead() -> None:
    print("### Small sets in memory, CPU milliseconds of a fit\n")
    table("small", "set", "Dask not imported", "Dask imported", "ratio")
    for name in SMALL:
        if name not in BUNDLED and "SEPC_DATA" not in os.environ:
            print(f"SEPC_DATA names no folder with {name}.csv.", file=sys.stderr)
            continue
        times: list[list[float]] = [[], []]
        for _ in range(7):  # processes take turns, as the machine's speed changes
            for with_dask in (False, True):
                times[with_dask].append(child("small", data=name, with_dask=with_dask)["cpu"])
        without, with_dask = (1e3 * median(turns) for turns in times)
        row(name, f"{without:.3g}", f"{with_dask:.3g}", f"{with_dask / without:.3f}")
    print()


def child(name: str, **job: Any) -> dict[str, Any]:
    """Return what a job finds in a process of its own."""
    command = [sys.executable, __file__, "--job", json.dumps({"name": name, **job})]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@cache
def fit_of(path: str, where: str, n_jobs: int) -> dict[str, Any]:
    """Return what a fit finds, once for all tables."""
    return child("one_fit", path=path, where=where, n_jobs=n_jobs)


def one_fit(path: str, where: str, n_jobs: int) -> dict[str, Any]:
    from sepc.scale import dispatch

    dispatch.OUT_OF_CORE_BYTES = 0
    found, training = measured(np.load(path, mmap_mode=None if where == "memory" else "r"), n_jobs)
    return found if training is None else {**found, "passes": training.records.n_passes}


def both(path: str) -> dict[str, Any]:
    """Fit the same rows in memory and from a file, and compare the two models."""
    from sepc import SEPClassifier
    from sepc.scale import dispatch

    dispatch.OUT_OF_CORE_BYTES = 0
    X = np.load(path, mmap_mode="r")
    y = np.arange(len(X)) % 2
    models = [SEPClassifier().fit(*rows) for rows in ((np.array(X), y), (X, y), (np.array(X[:-1]), y[:-1]))]
    new = np.random.default_rng(1).standard_normal((SOME, X.shape[1]))
    new[1::2, 0] += 2.0
    labels, trust = ([getattr(clf, ask)(new) for clf in models] for ask in ("predict", "trust_score"))
    blocks = [clf.partitions_[0].blocks for clf in models]
    equal = [np.array_equal(a.members, b.members) for a, b in zip(*blocks[:2], strict=False)]
    return {
        "equal": int(np.cumprod(equal).sum()),
        "regions": [len(found) for found in blocks],
        "right": [float(np.mean(label == np.arange(SOME) % 2)) for label in labels],
        "same": [float(np.mean(labels[0] == label)) for label in labels[1:]],
        "trust": [float(np.median(np.abs(trust[0] - other))) for other in trust[1:]],
    }


def on_workers(path: str, n_workers: int) -> dict[str, Any]:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    n, d = np.load(path, mmap_mode="r").shape
    size = n // 10
    parts = [
        da.from_delayed(dask.delayed(rows_of)(path, start, size), (size, d), np.float64) for start in range(0, n, size)
    ]
    with ExitStack() as stack:
        if n_workers:
            cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0")
            stack.enter_context(Client(stack.enter_context(cluster)))
        else:
            stack.enter_context(dask.config.set(scheduler="synchronous"))
        found, training = measured(da.concatenate(parts))
    return {**found, "passes": training.records.n_passes, "received": training.records.bytes_received}


def rows_of(path: str, start: int, size: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start : start + size])


def small(data: str, with_dask: bool) -> dict[str, Any]:
    from sepc import SEPClassifier

    if with_dask:
        import_module("dask.array")
        import_module("dask.dataframe")
    X, y = numbers(data)
    SEPClassifier().fit(X, y)
    # The least of many: what other processes do to the caches only adds.
    return {"cpu": min(cpu_seconds(SEPClassifier().fit, X, y) for _ in range(40))}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {job.__name__: job for job in (one_fit, both, on_workers, small)}


def measured(X: Any, n_jobs: int = 1) -> tuple[dict[str, Any], Any]:
    """Fit; return time, peak memory above the idle process and number of regions, and the training set if scattered."""
    from sepc import SEPClassifier
    from sepc.estimators import classifier

    few = np.random.default_rng(0).standard_normal((2000, X.shape[1]))
    few[1::2, 0] += 2.0
    SEPClassifier().fit(few, np.arange(2000) % 2)  # the compiled code is loaded
    sets: list[Any] = []
    scattered_training_set = classifier.scattered_training_set
    classifier.scattered_training_set = lambda *arguments: sets.append(scattered_training_set(*arguments)) or sets[-1]
    y = np.arange(X.shape[0]) % 2
    clf, found = SEPClassifier(n_jobs=n_jobs), {}

    def fit() -> None:
        start, cpu = perf_counter(), process_time()
        clf.fit(X, y)
        found.update(wall=perf_counter() - start, cpu=process_time() - cpu)

    found["peak"] = peak_growth(fit)
    return {**found, "regions": len(clf.regions())}, sets[0]


if __name__ == "__main__":
    with recording():
        main()
