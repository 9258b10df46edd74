"""Fits to training sets that are not in memory: time, memory and bytes moved, from files and on Dask, and their cost.

Prints Markdown tables. Two overlapping Gaussians with 10 features, written to a temporary folder (``--keep`` names one
that stays); each fit runs in a process of its own with one BLAS thread. ``--rows`` sets the largest number of rows,
``--quick`` stops at 100 000. ``--before`` names a checkout of an earlier commit, whose fits of small sets in memory are
then measured beside the present ones.
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
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from measure import cpu_seconds, peak_growth, resident, row, table, versions
from sets import BUNDLED, numbers

DIM = 10
PARTS = ("files", "agreement", "model", "dask", "overhead")
SMALL = ("iris", "wdbc", "vertebral_2c", "banknote")
# Points that are brought into memory, of each class: what is above is gone through chunk by chunk.
IN_MEMORY = (1 << 22) // DIM
# Rows of the fits that the cost model learns from.
SAMPLE = 100_000
# Of a cluster that the cost model is read for.
WORKERS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6, help="the largest number of rows (1e7 takes half an hour)")
    parser.add_argument("--quick", action="store_true", help="nothing above 100 000 rows")
    parser.add_argument("--keep", type=Path, help="a folder for the data, which stay there")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some of the parts")
    parser.add_argument("--before", type=Path, help="a checkout of an earlier commit to compare small fits with")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.job:
        print(json.dumps(JOBS[(job := json.loads(options.job)).pop("name")](**job)))
        return
    print(versions("numpy", "scipy", "numba", "scikit-learn", "dask"))
    with tempfile.TemporaryDirectory() as folder:
        data = options.keep or Path(folder)
        largest = SAMPLE if options.quick else int(options.rows)
        parts = {
            "files": lambda: out_of_core(data, largest),
            "agreement": lambda: agreement(data, min(largest, 1_000_000)),
            "model": lambda: cost_model(data, largest),
            "dask": lambda: on_dask(data, min(largest, 1_000_000)),
            "overhead": lambda: overhead(options.before),
        }
        for name, part in parts.items():
            if name in options.only:
                part()


def out_of_core(folder: Path, largest: int) -> None:
    print("### From a file, beside the fit in memory\n")
    table(
        "rows", "n_imp", "where", "n_jobs", "seconds", "CPU seconds", "peak, MB", "data, MB", "passes", "read, GB",
        "written, GB", "ellipsoids",
    )  # fmt: skip
    # With a share of 1 % a million rows take six minutes, and ten million hours.
    for n_imp, sizes in ((0.05, (SAMPLE, 1_000_000, 10_000_000)), (0.01, (SAMPLE,))):
        for n in (size for size in sizes if size <= largest):
            path = str(gaussians(folder, n))
            if n <= 1_000_000:
                told(n, n_imp, "memory", 1, child("in_memory", path=path, n_imp=n_imp))
            for n_jobs in (1, 2) if n_imp == 0.05 and n <= 1_000_000 else (1,):
                told(n, n_imp, "file", n_jobs, from_file(path, n_imp, n_jobs))
    print()


def told(n: int, n_imp: float, where: str, n_jobs: int, found: dict[str, Any]) -> None:
    moved = [f"{found[name] / 1e9:.3g}" if name in found else "" for name in ("read", "written")]
    row(
        f"{n:,}", n_imp, where, n_jobs, f"{found['wall']:.3g}", f"{found['cpu']:.3g}", f"{found['peak'] / 1e6:.0f}",
        f"{8 * DIM * n / 1e6:.0f}", found.get("passes", ""), *moved, found["ellipsoids"],
    )  # fmt: skip


def agreement(folder: Path, largest: int) -> None:
    print("### Models of the same rows, n_imp = 0.05, asked about 100,000 new rows\n")
    print("Beside memory and file a fit in memory without one of the rows.\n")
    table(
        "rows", "equal blocks of memory and file, up to the first other one", "ellipsoids, memory / file / without one",
        "right, memory / file / without one", "label as from memory, file / without one",
        "trust differs from memory's, median, file / without one",
    )  # fmt: skip
    for n in (size for size in (SAMPLE, 1_000_000) if size <= largest):
        in_memory = IN_MEMORY * n // 10_000_000
        found = child("both", path=str(gaussians(folder, n)), n_imp=0.05, in_memory=in_memory)
        formats = {"ellipsoids": "d", "right": ".4f", "same": ".2%", "trust": ".1e"}
        row(f"{n:,}", found["equal"], *(" / ".join(f"{v:{f}}" for v in found[name]) for name, f in formats.items()))
    print()


def on_dask(folder: Path, n: int) -> None:
    print(f"### Dask, {n:,} rows, n_imp = 0.05, chunks of {n // 10:,} rows\n")
    table(
        "workers",
        "seconds",
        "in passes, s",
        "passes",
        "received, MB",
        "median of a pass, kB",
        "largest, MB",
        "data, MB",
    )
    path = str(gaussians(folder, n))
    for n_workers in (0, 1, 2):
        found = child("on_workers", path=path, n_imp=0.05, n_workers=n_workers)
        received = found["received"]
        row(
            n_workers or "none, in this process", f"{found['wall']:.3g}", f"{found['in_passes']:.3g}", len(received),
            f"{sum(received) / 1e6:.3g}", f"{median(received) / 1e3:.3g}", f"{max(received) / 1e6:.3g}",
            f"{8 * DIM * n / 1e6:.0f}",
        )  # fmt: skip
    found = from_file(path, 0.05, 1)
    row("none, from a file", f"{found['wall']:.3g}", f"{found['in_passes']:.3g}", found["passes"], "", "", "", "")
    print()


def overhead(before: Path | None) -> None:
    print("### Small sets in memory, CPU milliseconds of a fit\n")
    table("set", "Dask not imported", "Dask imported", "ratio", *(["earlier commit", "ratio"] if before else []))
    ways: list[dict[str, Any]] = [{"with_dask": False}, {"with_dask": True}]
    for name in SMALL:
        if name not in BUNDLED and "SEPC_DATA" not in os.environ:
            print(f"SEPC_DATA names no folder with {name}.csv.", file=sys.stderr)
            continue
        times: list[list[float]] = [[] for _ in range(3 if before else 2)]
        for _ in range(7):  # processes take turns, as the machine's speed changes
            for k, way in enumerate(ways):
                times[k].append(child("small", data=name, **way)["cpu"])
            if before:
                times[2].append(child("small", data=name, with_dask=False, source=before / "src")["cpu"])
        now, with_dask, *earlier = (1e3 * median(turns) for turns in times)
        cells = [f"{earlier[0]:.3g}", f"{now / earlier[0]:.3f}"] if earlier else []
        row(name, f"{now:.3g}", f"{with_dask:.3g}", f"{with_dask / now:.3f}", *cells)
    print()


def cost_model(folder: Path, largest: int) -> None:
    """Predict large fits from fits of few points that bring as small a share of them into memory.

    A sweep is a pass over all rows; passes over what remains of them count as much as they read. How many bytes a
    second they go through is learned from the same fits.
    """
    n_imp, path = 0.05, str(gaussians(folder, SAMPLE))
    plain = child("bandwidth", path=str(gaussians(folder, min(largest, 1_000_000))))["bytes_per_s"]
    print(f"### Cost model, n_imp = {n_imp}\n")
    print(f"One plain pass (read a chunk, one product, one norm): {plain / 1e9:.2f} GB/s in one thread.\n")
    table(
        "rows", "ellipsoids", "sweeps per ellipsoid", "sweeps predicted", "sweeps", "GB/s learned",
        "s in passes predicted", "s in passes", "other s", "s in all", f"s in passes predicted, {WORKERS} workers",
    )  # fmt: skip
    known = []
    for n in (10**k for k in range(6, 10)):
        like = child("in_file", path=path, n_imp=n_imp, n_jobs=1, in_memory=max(IN_MEMORY * SAMPLE // n, 1))
        known = known or [(SAMPLE, like["ellipsoids"])]
        per_ellipsoid = like["read"] / (8 * DIM * SAMPLE) / like["ellipsoids"]
        speed = like["read"] / like["in_passes"]
        measured = [""] * 4
        if n <= largest:
            found = from_file(str(gaussians(folder, n)), n_imp, 1)
            known.append((n, found["ellipsoids"]))
            seconds = found["in_passes"], found["wall"] - found["in_passes"], found["wall"]
            measured = [f"{found['read'] / (8 * DIM * n):.0f}", *(f"{s:.3g}" for s in seconds)]
        ellipsoids = extrapolated(known, n)
        sweeps = per_ellipsoid * ellipsoids
        predicted = sweeps * 8 * DIM * n / speed
        row(
            f"{n:,}", f"{ellipsoids:.0f}", f"{per_ellipsoid:.2f}", f"{sweeps:.0f}", measured[0], f"{speed / 1e9:.2f}",
            f"{predicted:.3g}", *measured[1:], f"{predicted / WORKERS:.3g}",
        )  # fmt: skip
    print()


def extrapolated(known: list[tuple[int, int]], n: int) -> float:
    """Return the number of ellipsoids for so many rows: what was found, or on as from the first to the last known."""
    (few, start), (many, end) = known[0], known[-1]
    return end if n == many or many == few else end * (n / many) ** (np.log(end / start) / np.log(many / few))


def gaussians(folder: Path, n: int) -> Path:
    """Write two overlapping Gaussians, 2 standard deviations apart, a part at a time; classes take turns."""
    path = folder / f"gaussians-{n}.npy"
    if not path.exists():
        rng = np.random.default_rng([n, 0])
        X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, DIM))
        for start in range(0, n, SAMPLE):
            part = rng.standard_normal((min(SAMPLE, n - start), DIM))
            part[1::2, 0] += 2.0
            X[start : start + len(part)] = part
            X.flush()
    return path


def child(name: str, source: Path | None = None, **job: Any) -> dict[str, Any]:
    """Return what a job finds in a process of its own, with an earlier source of the package if one is given."""
    environment = os.environ if source is None else {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--job", json.dumps({"name": name, **job})]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


@cache
def from_file(path: str, n_imp: float, n_jobs: int) -> dict[str, Any]:
    """Return what a fit from a file finds, once for all tables."""
    return child("in_file", path=path, n_imp=n_imp, n_jobs=n_jobs)


def in_memory(path: str, n_imp: float) -> dict[str, Any]:
    X = np.load(path)
    return measured(X, n_imp)[0]


def in_file(path: str, n_imp: float, n_jobs: int, in_memory: int = IN_MEMORY) -> dict[str, Any]:
    from sepc.geometry.points.sets import ScatteredPoints
    from sepc.scale import file_training
    from sepc.scale.file_points import FilePoints

    file_training.OUT_OF_CORE_BYTES = 0
    ScatteredPoints.local_size = in_memory * DIM
    clock = Clock(FilePoints, "ask", "ask_each", "fold", "keep", "drop", "local")
    found, training = measured(np.load(path, mmap_mode="r"), n_imp, n_jobs)
    io = training.points[0].io_counters
    counted = {"passes": io.n_passes, "read": io.bytes_read, "written": io.bytes_written}
    return {**found, **counted, "in_passes": clock.seconds}


def both(path: str, n_imp: float, in_memory: int) -> dict[str, Any]:
    """Fit the same rows in memory and from a file, and compare the two models."""
    from sepc import SEPClassifier
    from sepc.geometry.points.sets import ScatteredPoints
    from sepc.scale import file_training

    file_training.OUT_OF_CORE_BYTES, ScatteredPoints.local_size = 0, in_memory * DIM
    y = np.arange(len(X := np.load(path, mmap_mode="r"))) % 2
    sets = (np.array(X), y), (X, y), (np.array(X[:-1]), y[:-1])
    models = [SEPClassifier(n_imp=n_imp).fit(*rows) for rows in sets]
    new = np.random.default_rng(1).standard_normal((SAMPLE, DIM))
    new[1::2, 0] += 2.0
    labels, trust = ([getattr(clf, ask)(new) for clf in models] for ask in ("predict", "trust_score"))
    blocks = [clf.partitions_[0].blocks for clf in models]
    equal = [np.array_equal(a.members, b.members) for a, b in zip(*blocks[:2], strict=False)]
    return {
        "equal": int(np.cumprod(equal).sum()),
        "ellipsoids": [len(found) for found in blocks],
        "right": [float(np.mean(label == np.arange(SAMPLE) % 2)) for label in labels],
        "same": [float(np.mean(labels[0] == label)) for label in labels[1:]],
        "trust": [float(np.median(np.abs(trust[0] - other))) for other in trust[1:]],
    }


def on_workers(path: str, n_imp: float, n_workers: int) -> dict[str, Any]:
    from contextlib import ExitStack

    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    from sepc.scale.cluster_points import ClusterPoints

    n = len(np.load(path, mmap_mode="r"))
    size = n // 10
    parts = [
        da.from_delayed(dask.delayed(rows_of)(path, start, size), (size, DIM), np.float64)
        for start in range(0, n, size)
    ]
    clock = Clock(ClusterPoints, "ask", "ask_each", "fold", "keep", "drop", "local")
    with ExitStack() as stack:
        if n_workers:
            cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0")
            stack.enter_context(Client(stack.enter_context(cluster)))
        else:
            stack.enter_context(dask.config.set(scheduler="synchronous"))
        found, training = measured(da.concatenate(parts), n_imp)
    return {**found, "received": training.points[0].bytes_received, "in_passes": clock.seconds}


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


def bandwidth(path: str) -> dict[str, Any]:
    """Measure one pass: read a chunk, one product, one norm."""
    from sepc.geometry.points import queries
    from sepc.scale.file_points import FilePoints

    X = np.load(path, mmap_mode="r")
    points, nothing = FilePoints.of(X), np.zeros(DIM)
    times = []
    for _ in range(7):
        start = perf_counter()
        points.ask(queries.farthest, nothing, nothing, np.eye(DIM), nothing, np.inf, 0)
        times.append(perf_counter() - start)
    return {"bytes_per_s": X.nbytes / median(times)}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    job.__name__: job for job in (in_memory, in_file, both, on_workers, small, bandwidth)
}


class Clock:
    """Measures the time that some methods of a class take, calls within each other once."""

    def __init__(self, cls: type, *names: str) -> None:
        self.seconds, self.depth = 0.0, 0
        for name in names:
            setattr(cls, name, self.timed(getattr(cls, name)))

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that does the same, and is measured."""

        def call(*arguments: Any) -> Any:
            start, self.depth = perf_counter(), self.depth + 1
            try:
                return method(*arguments)
            finally:
                self.depth -= 1
                self.seconds += (perf_counter() - start) * (self.depth == 0)

        return call


def measured(X: Any, n_imp: float, n_jobs: int = 1) -> tuple[dict[str, Any], Any]:
    """Fit; return time, peak memory above the idle process and number of ellipsoids, and the training set."""
    from sepc import SEPClassifier
    from sepc.estimators import classifier

    few = np.random.default_rng(0).standard_normal((2000, DIM))
    few[1::2, 0] += 2.0
    SEPClassifier().fit(few, np.arange(2000) % 2)  # the compiled code is loaded
    sets: list[Any] = []
    scattered_training_set = classifier.scattered_training_set
    classifier.scattered_training_set = lambda *arguments: sets.append(scattered_training_set(*arguments)) or sets[-1]
    y = np.arange(X.shape[0]) % 2
    clf, found = SEPClassifier(n_imp=n_imp, n_jobs=n_jobs), {}

    def fit() -> None:
        start, cpu = perf_counter(), process_time()
        clf.fit(X, y)
        found.update(wall=perf_counter() - start, cpu=process_time() - cpu)

    idle = resident("VmRSS")
    found["peak"] = peak_growth(fit)
    found.update(idle=idle, ellipsoids=len(clf.partitions_[0].blocks))
    return found, sets[0]


if __name__ == "__main__":
    main()
