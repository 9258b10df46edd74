"""Fits of real sets from files, on Dask and on devices, compared with fits of the same rows in memory.

Prints a Markdown table: how many parts (blocks, and the isolated points of a class) hold the same rows as in memory, up
to the first that does not, and for how many rows label, rule, region and counts are the same. Each set is cut into a
dozen chunks. Sets are read from the folder that SEPC_DATA names, text columns left out; those of scikit-learn and two
generated ones are always there. ``--on`` names the forms; torch and cupy need a CUDA device. ``--most`` limits the
rows.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", SCIPY_ARRAY_API="1")

import argparse
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from measure import figure, recording, row, table, versions
from sets import names_with_numbers, numbers
from sklearn import config_context

from sepc import SEPClassifier
from sepc.scale import dispatch, scattered_records

N_CHUNKS = 12
FIELDS = ("label", "rule", "region", "counts")

Fit = Callable[[np.ndarray, np.ndarray], SEPClassifier]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", nargs="+", choices=FORMS, default=["file", "dask", "strict"], help="the forms")
    parser.add_argument("--sets", nargs="+", help="some of the sets")
    parser.add_argument("--most", type=int, default=50_000, help="leave out sets with more rows")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    dispatch.OUT_OF_CORE_BYTES = 0
    print(versions("numpy", "scipy", "numba", "scikit-learn"))
    table("sets", "set", "rows", "features", "classes", "parts", *options.on)
    equal = []
    with ExitStack() as stack:
        forms = {name: FORMS[name](stack) for name in options.on}
        for name in options.sets or names_with_numbers():
            X, y = numbers(name)
            if len(X) <= options.most:
                equal.append(compare(name, X, y, forms))
    figure("sets", len(equal))
    figure("sets with equal blocks", sum(blocks for blocks, _ in equal))
    figure("sets with equal verdicts", sum(verdicts for _, verdicts in equal))


def compare(name: str, X: np.ndarray, y: np.ndarray, forms: dict[str, Fit]) -> tuple[bool, bool]:
    """Print a row; return whether all forms have the same blocks as the fit in memory, and the same verdicts."""
    scattered_records.CHUNK_BYTES = X.nbytes // N_CHUNKS
    y = np.unique(y, return_inverse=True)[1]
    expected = SEPClassifier().fit(X, y)
    said = expected.assess(X)
    cells, same_blocks, same_verdicts = [], True, True
    for fit in forms.values():
        found = fit(X, y)
        equal = [mine == theirs for mine, theirs in zip(parts(found), parts(expected), strict=False)]
        verdicts = found.assess(X)
        same = np.logical_and.reduce([match(getattr(verdicts, f), getattr(said, f)) for f in FIELDS])
        same_blocks &= all(equal) and len(parts(found)) == len(parts(expected))
        same_verdicts &= bool(same.all())
        cells.append(f"{np.cumprod(equal).sum():.0f}, {same.mean():.2%}")
    row(name, f"{len(X):,}", X.shape[1], len(np.unique(y)), len(parts(expected)), *cells)
    return same_blocks, same_verdicts


def parts(clf: SEPClassifier) -> list[list[int]]:
    """Return the rows of each block and those of isolated points, problem by problem."""
    found = [
        np.sort(np.asarray(rows)).tolist()
        for partition in clf.partitions_
        for rows in (*(block.members for block in partition.blocks), *partition.isolated)
    ]
    return [rows for rows in found if rows]


def match(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    same = np.asarray(one == other)
    return same if same.ndim == 1 else same.all(axis=1)


def in_file(stack: ExitStack) -> Fit:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def fit(X: np.ndarray, y: np.ndarray) -> SEPClassifier:
        np.save(folder / "X.npy", X)
        return SEPClassifier().fit(np.load(folder / "X.npy", mmap_mode="r"), y)

    return fit


def on_dask(stack: ExitStack) -> Fit:
    import dask.array as da
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    stack.enter_context(Client(stack.enter_context(cluster)))
    return lambda X, y: SEPClassifier().fit(da.from_array(X, chunks=(-(-len(X) // N_CHUNKS), -1)), y)


def on_device(library: str) -> Callable[[ExitStack], Fit]:
    def start(stack: ExitStack) -> Fit:
        stack.enter_context(config_context(array_api_dispatch=True))
        put = PUT[library]()
        return lambda X, y: SEPClassifier().fit(put(X), put(y))

    return start


def strict() -> Callable[[np.ndarray], Any]:
    import array_api_strict

    return array_api_strict.asarray


def torch() -> Callable[[np.ndarray], Any]:
    import torch

    return lambda array: torch.asarray(array, device="cuda")


def cupy() -> Callable[[np.ndarray], Any]:
    import cupy

    return cupy.asarray


PUT = {"strict": strict, "torch": torch, "cupy": cupy}
FORMS = {"file": in_file, "dask": on_dask, **{name: on_device(name) for name in PUT}}


if __name__ == "__main__":
    with recording():
        main()
