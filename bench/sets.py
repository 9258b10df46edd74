"""The data sets that the benchmarks read: those of scikit-learn, and CSV files in the folder that SEPC_DATA names."""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

BUNDLED = {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer, "digits": load_digits}


def files() -> list[Path]:
    """Return the files of the folder, the smallest first; none, with a word about it, if it is not known."""
    folder = os.environ.get("SEPC_DATA")
    if folder is None:
        print("SEPC_DATA names no folder with data sets: only those of scikit-learn.", file=sys.stderr)
        return []
    return sorted(Path(folder).glob("*.csv"), key=lambda path: path.stat().st_size)


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of all columns but the last, and the last one, the labels, as text."""
    cells = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str, comments=None)
    return cells[:, :-1], cells[:, -1]


def numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a set that hold numbers, and the labels."""
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    if "SEPC_DATA" not in os.environ:
        sys.exit(f"SEPC_DATA names no folder with {name}.csv; `make bench` sets it where it can.")
    cells, y = read(Path(os.environ["SEPC_DATA"]) / f"{name}.csv")
    return np.column_stack([column.astype(float) for column in cells.T if is_number(column[0])]), y


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
