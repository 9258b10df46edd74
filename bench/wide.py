"""Very wide tables: few records of thousands of columns, in Python and on the command line.

Planted sets of 64 and 200 records with 6,830 columns: a few of these tell two labels apart, all do so a little, or none
does. Prints Markdown tables: what a model that has read some of the columns makes of 1,000 new records,
beside logistic regression, as means over draws; and time, memory and the size of the file of ``sepc fit``.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from measure import recording, row, table, versions
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier, SEPEnsembleClassifier
from sepc.cli import main as _sepc  # noqa: F401 (what the processes run)

COLUMNS, NEW, TRUSTED = 6830, 1000, 0.95
# Runs a command, and prints its exit code, seconds by the clock and of the CPU, and its peak memory in bytes.
WATCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)
"""


def few(_: np.random.Generator, X: np.ndarray, y: np.ndarray) -> None:
    X[:, :10] += 1.2 * y[:, None]


def heavy(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> None:
    X[:] = rng.standard_t(2, X.shape)
    X[:, :10] += 1.5 * y[:, None]


def many(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> None:
    hidden = rng.normal(size=(len(X), 8))
    hidden[:, :2] += y[:, None] * (1.5, 1.0)
    X *= 2.0
    X += hidden @ rng.normal(size=(8, X.shape[1]))


def nothing(*_: object) -> None:
    pass


KINDS = {"10 columns": few, "10 columns, heavy tails": heavy, "all columns": many, "none": nothing}
MODELS = {
    "sepc": SEPClassifier,
    "sepc ensemble": SEPEnsembleClassifier,
    "logistic regression": lambda: make_pipeline(
        StandardScaler(), LogisticRegressionCV(Cs=np.logspace(-5, 0, 6), scoring="neg_log_loss", max_iter=500)
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=3, help="of each set")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(versions("numpy", "scikit-learn"))
    table(
        "quality",
        "labels told by",
        "rows",
        "model",
        "right, %",
        "mean trust, %",
        "above 0.95, %",
        "right of these, %",
        "largest trust",
    )
    for kind in KINDS:
        for n in (64, 200):
            for name, make in MODELS.items():
                found = np.array([judged(make(), *drawn(kind, n, draw)) for draw in range(options.draws)])
                right, trust, sure, right_sure, largest = (
                    *found[:, :3].mean(axis=0),
                    found[:, 3].sum(),
                    found[:, 4].max(),
                )
                of_sure = f"{100 * right_sure / (found[:, 2].sum() * NEW):.1f}" if sure else "-"
                shown = (f"{100 * share:.1f}" for share in (right, trust, sure))
                row(kind, n, name, *shown, of_sure, f"{largest:.3f}")
    print()
    table("commands", "command", "seconds", "CPU seconds", "peak memory, MB", "file, MB")
    with tempfile.TemporaryDirectory() as folder:
        commands(Path(folder))


def drawn(kind: str, n: int, draw: int) -> tuple[np.ndarray, ...]:
    """Return training records and labels, and new ones."""
    rng = np.random.default_rng([draw, n])
    y = rng.integers(0, 2, n + NEW)
    X = rng.normal(size=(n + NEW, COLUMNS))
    KINDS[kind](rng, X, y)
    return X[:n], y[:n], X[n:], y[n:]


def judged(model, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> tuple[float, ...]:
    """Return the share of right labels, mean trust, share of trusted labels, number of right ones, largest trust."""
    proba = model.fit(X, y).predict_proba(X_new)
    trust, right = proba.max(axis=1), proba.argmax(axis=1) == y_new
    sure = trust >= TRUSTED
    return right.mean(), trust.mean(), sure.mean(), np.count_nonzero(right & sure), trust.max()


def commands(folder: Path) -> None:
    """Measure commands on a file of 64 rows."""
    X, y, X_new, y_new = drawn("10 columns", 64, 0)
    for name, values, labels in (("train", X, y), ("new", X_new[:100], y_new[:100])):
        frame = pd.DataFrame(values.round(4), columns=[f"g{j}" for j in range(COLUMNS)])
        frame.assign(label=labels).to_csv(folder / f"{name}.csv", index=False)
    train, new, model = (str(folder / name) for name in ("train.csv", "new.csv", "m.sepc"))
    asked = {
        "fit": ["fit", train, "--target", "label", "-o", model],
        "fit --holdout": ["fit", train, "--target", "label", "--holdout", "0.3", "-o", str(folder / "h.sepc")],
        "fit --ensemble": ["fit", train, "--target", "label", "--ensemble", "-o", str(folder / "e.sepc")],
        "predict": ["predict", model, new, "-o", str(folder / "out.csv")],
        "explain": ["explain", model, new, "-o", str(folder / "why.csv")],
        "inspect": ["inspect", model],
        "landscape": ["landscape", train, "--target", "label"],
        "report": ["report", train, "--target", "label", "-o", str(folder / "r.html")],
    }
    for name, arguments in asked.items():
        command = [sys.executable, "-c", WATCH, sys.executable, "-m", "sepc", *arguments]
        code, seconds, cpu, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        if int(code):
            raise SystemExit(f"sepc {name} has failed")
        size = Path(arguments[-1]).stat().st_size / 1e6 if name.startswith("fit") else None
        row(
            name,
            f"{float(seconds):.1f}",
            f"{float(cpu):.1f}",
            f"{float(peak) / 1e6:.0f}",
            "" if size is None else f"{size:.1f}",
        )


if __name__ == "__main__":
    with recording():
        main()
