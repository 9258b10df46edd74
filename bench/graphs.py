"""ONNX graphs against the classifiers that they are made of: answers on all sets. `serving.py` measures their speed.

Prints a Markdown table. ``--most`` is the number of records of a set that are fitted to and judged, half of them each;
``--sets`` names some sets.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import sets

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from graph_checks import answers, cells_of, differences, hard_records, hard_rows
from measure import recording, row, table, take_turns, versions
from sklearn.datasets import make_classification

from sepc import SEPClassifier, SEPEnsembleClassifier, make_table_pipeline
from sepc.serving import to_onnx

COUNTED, MEASURED = ("label", "accepted", "refusal", "region"), ("probabilities", "typicality")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=2000, help="records of a set (default: 2000)")
    parser.add_argument("--sets", nargs="*", help="names of sets (default: all)")
    options = parser.parse_args()
    print(versions("sepc", "onnx", "onnxruntime", "numpy"))
    agreement(options.sets or sets.names(), options.most)


def agreement(names: list[str], most: int) -> None:
    """Print how many answers differ, and by how much numbers do, for each kind of classifier over all sets."""
    warnings.simplefilter("ignore")
    found: dict[str, list[dict[str, float]]] = {
        "default": [],
        "ensemble": [],
        "table pipeline": [],
        "table, ensemble": [],
    }
    single: list[float] = []
    for name in names:
        cells, labels = sets.cells(name)
        rows = sets.in_large_classes(np.random.default_rng(0).permutation(len(labels))[:most], labels)
        cells, labels = cells[rows], labels[rows]
        frame = pd.DataFrame({f"x{j}": _values(column) for j, column in enumerate(cells.T)})
        half = len(rows) // 2
        raw = pd.concat([frame[half:], hard_rows(frame)], ignore_index=True)
        kinds = {
            "table pipeline": (make_table_pipeline(), frame, raw),
            "table, ensemble": (make_table_pipeline(SEPEnsembleClassifier()), frame, raw),
        }
        if all(map(sets.is_number_column, cells.T)):
            X = cells.astype(float)
            numbers = np.concatenate([X[half:], hard_records(X)])
            kinds |= {"default": (SEPClassifier(), X, numbers), "ensemble": (SEPEnsembleClassifier(), X, numbers)}
        for kind, (clf, records, new) in kinds.items():
            clf.fit(records[:half], labels[:half])
            found[kind].append({**differences(clf, new, judged(clf, new)), "n": len(new)})
            if kind == "default":
                single.append(_in_single_precision(clf, new))
    print("### Answers that differ\n")
    table("agreement", "classifier", "sets", "records", *COUNTED, *(f"{name}, largest difference" for name in MEASURED))
    for kind, of_sets in found.items():
        if of_sets:
            counts = [f"{sum(one[name] for one in of_sets):,}" for name in COUNTED]
            largest = [f"{max(one[name] for one in of_sets):.1e}" for name in MEASURED]
            row(kind, len(of_sets), f"{sum(one['n'] for one in of_sets):,}", *counts, *largest)
    if single:
        print()
        table("single", "inputs and outputs", "probabilities, largest difference")
        row("float32, default", f"{max(single):.1e}")


def _values(column: np.ndarray) -> np.ndarray:
    return column.astype(float) if sets.is_number_column(column) else column.astype(str)


def judged(clf, new, **options) -> dict[str, np.ndarray]:
    """Return the answers of a classifier's graph."""
    with tempfile.TemporaryDirectory() as folder:
        to_onnx(clf, f"{folder}/model.onnx", **options)
        dtype = np.dtype(options.get("dtype", np.float64))
        return answers(session(f"{folder}/model.onnx"), cells_of(clf, new, dtype))


def _in_single_precision(clf, new: np.ndarray) -> float:
    """Return the largest difference of probabilities of numbers that fit into 32 bits."""
    fitting = new[(np.abs(np.nan_to_num(new)) < 1e30).all(axis=1)].astype(np.float32)
    found = judged(clf, fitting, dtype="float32")["probabilities"]
    return float(np.abs(found - clf.predict_proba(fitting.astype(float))).max())


def session(path: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def speed(n: int) -> None:
    """Print CPU seconds of the graph and of the classifier, both on one core."""
    X, y = make_classification(5000, 30, n_informative=12, random_state=0)
    many = np.resize(X, (n, 30)) + np.random.default_rng(0).normal(scale=0.1, size=(n, 30))
    print(f"\n### {n:,} records of 30 features, in batches of 10,000\n")
    table("speed", "classifier", "answers", "classifier, s", "graph, s", "graph is faster by")
    for name, clf, some in (("default", SEPClassifier(), many), ("ensemble", SEPEnsembleClassifier(), many[: n // 10])):
        clf.fit(X, y)
        for what, outputs, ours in (
            ("probabilities", ["probabilities"], clf.predict_proba),
            ("all", None, lambda batch, clf=clf: _everything(clf, batch)),
        ):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.onnx")
                to_onnx(clf, path, outputs=outputs)
                graph = session(path)
            slow, fast = take_turns(
                (_in_batches, ours, some), (_in_batches, lambda batch, graph=graph: graph.run(None, {"X": batch}), some)
            )
            row(f"{name}, {len(some):,} records", what, f"{slow:.2f}", f"{fast:.2f}", f"{slow / fast:.2f}")


def _everything(clf, batch: np.ndarray) -> None:
    """Make the columns that a graph has as outputs."""
    a = clf.assess(batch)
    a.refusals()
    _ = a.typicality, a.region if isinstance(clf, SEPEnsembleClassifier) else a.main_region


def _in_batches(call, X: np.ndarray) -> None:
    for first in range(0, len(X), 10_000):
        call(X[first : first + 10_000])


if __name__ == "__main__":
    with recording():
        main()
