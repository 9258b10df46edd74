"""``sepc predict`` on large CSV files, against pandas and a random forest in the same run; reports and explanations.

Prints Markdown tables. Both run as processes of their own, one thread for each job, from the file to the verdicts:
`sepc predict` writes them to a file, the forest's probabilities stay in memory. Seconds contain the start of Python.
``--quick`` leaves out the million rows, ``--more`` adds four million for `sepc`, ``--reports`` is for reports and
explanations alone.
Seconds of a report contain the fit; Vertebral Column comes from the folder that SEPC_DATA names, or from OpenML.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
import pyarrow as pa
from measure import figure, recording, row, table, versions
from pyarrow import csv
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import sepc
import sepc.cli.commands.predict  # what the processes run
import sepc.datasets

FEATURES = 10
FOREST = """
import pickle, sys
import pandas as pd
with open(sys.argv[1], "rb") as file:
    forest = pickle.load(file)
print(forest.predict_proba(pd.read_csv(sys.argv[2])).shape)
"""
# Runs a command, and prints its exit code, seconds by the clock and of the CPU, and its peak memory in bytes.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=int, default=100_000, help="training rows (default: 100,000)")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="100,000 rows only, a model of 10,000")
    size.add_argument("--more", action="store_true", help="four million rows, too, for sepc")
    size.add_argument("--reports", action="store_true", help="only how long reports take")
    options = parser.parse_args()
    n_train = 10_000 if options.quick else options.train
    print(versions("numpy", "scikit-learn", "pandas", "pyarrow"))
    with tempfile.TemporaryDirectory() as folder:
        reports(Path(folder))
        explanations()
        many_explanations(Path(folder))
        if options.reports:
            return
        regions = make_models(Path(folder), n_train)
        print(f"### CSV, {FEATURES} features; models of {n_train:,} rows, sepc's with {regions} regions\n")
        table("csv", "rows", "what", "seconds", "rows per second", "CPU seconds", "peak memory, MB")
        for n in (100_000,) if options.quick else (100_000, 1_000_000):
            compare(Path(folder), n)
        if options.more:
            compare(Path(folder), 4_000_000, with_forest=False)
    figure("regions", regions)
    figure("sepc --help, s", round(help_time(), 2))
    figure("python alone, s", round(bare_time(), 2))


def reports(folder: Path) -> None:
    """Measure the reports of both classifiers, on two small sets and on one with more columns than rows."""
    print("### Reports, with the fit\n")
    table("reports", "data", "rows", "columns", "classifier", "seconds", "CPU seconds", "peak memory, MB", "size, MB")
    for name, (X, y) in report_data().items():
        path = folder / "labelled.csv"
        columns = [*X.T, np.asarray(y).astype(str)]
        csv.write_csv(pa.table(columns, [*(f"x{j}" for j in range(X.shape[1])), "label"]), path)
        for what, asked in (("one partition", []), ("ensemble", ["--ensemble"])):
            command = [sys.executable, "-m", "sepc", "report", path, "--target", "label", "-o", folder / "report.html"]
            clock, cpu, memory = watched([*command, *asked])
            size = (folder / "report.html").stat().st_size
            row(name, *X.shape, what, f"{clock:.1f}", f"{cpu:.1f}", f"{memory / 1e6:.0f}", f"{size / 1e6:.2f}")
    print()


def report_data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    wide, y = rng.standard_normal((100, 200)), np.arange(100) % 2
    wide[y == 1, :3] += 1.5
    wdbc, vertebral = sepc.datasets.load_wdbc(), sepc.datasets.load_vertebral()
    return {
        "WDBC": (wdbc.X, wdbc.y),
        "Vertebral Column": (vertebral.X, vertebral.y),
        "normal distributions": (wide, y),
    }


def make_models(folder: Path, n: int) -> int:
    """Fit both classifiers to two overlapping normal distributions; return the number of regions."""
    X, y = gaussians(n, seed=0)
    names = [f"x{j}" for j in range(FEATURES)]
    model = sepc.make_table_pipeline(sepc.SEPClassifier(n_imp=0.01)).fit(pa.table(list(X.T), names), y)
    sepc.save(model, folder / "model.sepc")
    forest = RandomForestClassifier(300, random_state=0, n_jobs=2).fit(X, y).set_params(n_jobs=1)
    with (folder / "forest.pickle").open("wb") as file:
        pickle.dump(forest, file)
    return len(model.regions())


def gaussians(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, seed])
    y = np.arange(n) % 2
    X = rng.standard_normal((n, FEATURES))
    X[y == 1, 0] += 2.0
    return X, y


def compare(folder: Path, n: int, with_forest: bool = True) -> None:
    path = folder / "new.csv"
    X, _ = gaussians(n, seed=1)
    csv.write_csv(pa.table(list(X.T), [f"x{j}" for j in range(FEATURES)]), path)
    del X
    ours = [sys.executable, "-m", "sepc", "predict", folder / "model.sepc", path, "-o", folder / "verdicts.csv"]
    theirs = [sys.executable, "-W", "ignore", "-c", FOREST, folder / "forest.pickle", path]
    for what, command in (("`sepc predict`", ours), ("`pandas.read_csv`, forest of 300", theirs))[: 1 + with_forest]:
        clock, cpu, memory = watched(command)
        row(f"{n:,}", what, f"{clock:.1f}", f"{n / clock:,.0f}", f"{cpu:.1f}", f"{memory / 1e6:.0f}")


def watched(command: list) -> tuple[float, float, float]:
    """Return seconds by the clock and of the CPU, and the peak memory, of a process; it has to succeed."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *map(str, command)], capture_output=True, text=True, check=True
    ).stdout.split()
    if done[0] != "0":
        sys.exit(f"{' '.join(map(str, command))} failed")
    return float(done[1]), float(done[2]), float(done[3])


def explanations() -> None:
    """Measure one explanation, without the fit, of both classifiers."""
    print("### One explanation, without the fit\n")
    table("explanations", "data", "classifier", "seconds", "CPU seconds")
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 200))
    wide[::2, 0] += 2.0
    cancer = load_breast_cancer()
    sets = {"100 x 200": (wide, np.arange(100) % 2), "breast cancer": (cancer.data, cancer.target)}
    for name, (X, y) in sets.items():
        test = np.arange(len(y)) % 4 == 0
        for clf in (sepc.SEPClassifier(), sepc.SEPEnsembleClassifier()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sepc.SepcWarning)
                clf.fit(X[~test], y[~test])
            clf.explain(X[0])
            clock, cpu = perf_counter(), process_time()
            clf.explain(X[4])
            row(name, type(clf).__name__, f"{perf_counter() - clock:.2f}", f"{process_time() - cpu:.2f}")


def many_explanations(folder: Path, n: int = 200, n_alone: int = 10) -> None:
    """Measure `sepc explain` of all rows in one call, and explanations of single rows with and without the change.

    A table of numbers, categories and gaps; seconds of the call contain the start of Python and reading the model.
    """
    print("\n### Explanations of many rows, milliseconds for each\n")
    table(
        "many explanations", "classifier", "alone, with change", "alone", "`explain_many`", "`sepc explain -o`", "times"
    )
    frame, y = loans(600 + n)
    frame[600:].to_csv(folder / "new.csv", index=False)
    for clf in (sepc.SEPClassifier(), sepc.SEPEnsembleClassifier()):
        model = sepc.make_table_pipeline(clf).fit(frame[:600], y[:600])
        sepc.save(model, folder / "loans.sepc")
        rows = [frame[600 + i : 601 + i] for i in range(n_alone)]
        model.explain(rows[0])
        ways = {
            "with change": lambda: [model.explain(row) for row in rows],  # noqa: B023  (called at once)
            "alone": lambda: [model.explain_many(row) for row in rows],  # noqa: B023
            "many": lambda: model.explain_many(frame[600:]),  # noqa: B023
        }
        took = []
        for way, number in zip(ways.values(), (n_alone, n_alone, n), strict=True):
            start = perf_counter()
            way()
            took.append(1e3 * (perf_counter() - start) / number)
        command = [sys.executable, "-m", "sepc", "explain", folder / "loans.sepc", folder / "new.csv"]
        took.append(1e3 * watched([*command, "-o", folder / "why.csv"])[0] / n)
        row(type(clf).__name__, *(f"{one:.1f}" for one in took), f"{took[0] / took[2]:.0f}")
    print()


def loans(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of 8 numbers and 8 categories, some of them missing, and labels."""
    rng = np.random.default_rng(0)
    numbers = {f"x{j}": rng.lognormal(size=n).round(3) for j in range(8)}
    categories = {f"c{j}": rng.choice(["a", "b", "c", "d"][: 2 + j % 3], n) for j in range(8)}
    frame = pd.DataFrame({**numbers, **categories})
    y = np.where(frame.x0 + (frame.c0 == "a") + rng.normal(size=n) > 1.5, "yes", "no")
    return frame.mask(rng.random(frame.shape) < 0.02), y


def help_time() -> float:
    return min(seconds([sys.executable, "-m", "sepc", "--help"]) for _ in range(5))


def bare_time() -> float:
    return min(seconds([sys.executable, "-c", "pass"]) for _ in range(5))


def seconds(command: list[str]) -> float:
    start = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - start


if __name__ == "__main__":
    with recording():
        main()
