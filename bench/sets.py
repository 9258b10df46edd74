"""The data sets that the benchmarks read: those of scikit-learn, two generated ones, and CSV files.

The files lie in the folder that SEPC_DATA names, and in its subfolder `more`. Their last column is the label; a column
with a cell that is no number holds texts.
"""

import os
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

BUNDLED: dict[str, Callable] = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "wdbc": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
GENERATED: dict[str, Callable] = {
    "moons": partial(datasets.make_moons, 1000, noise=0.3, random_state=0),
    "circles": partial(datasets.make_circles, 1000, noise=0.1, factor=0.5, random_state=0),
}
# The test rows of adult are left out, and a second copy of the same set at another precision.
NOT_SETS = ("adult_test_clean", "vertebral_2c_fullprec")
# Fewer rows of a class would leave a training fold less than the five that inner cross-validation needs.
LEAST_ROWS_OF_A_CLASS = 7

# Constants may be chosen by results on these sets.
CHOOSING = (
    "adult",
    "blood_transfusion",
    "car_good",
    "contraceptive",
    "ecoli",
    "glass",
    "heart_statlog",
    "letter",
    "monk_2",
    "ring",
    "segment",
    "spambase",
    "tic_tac_toe",
    "vehicle",
    # The same records as those of the other vertebral set, and so on the same side.
    "vertebral_2c",
    "vertebral_3c",
    "wdbc",
)
# These only judge: nothing is ever chosen by results on them.
JUDGING = (
    "banknote",
    "breast",
    "circles",
    "digits",
    "german_credit",
    "haberman",
    "ionosphere",
    "iris",
    "led7digit",
    "magic",
    "moons",
    "seeds",
    "sonar",
    "splice",
    "titanic",
    "vowel",
    "wine",
)
HALVES = {"judging": JUDGING, "choosing": CHOOSING}


def half(name: str) -> str:
    """Return the half that a set belongs to; an error for one that is in none."""
    for which, members in HALVES.items():
        if name in members:
            return which
    sys.exit(f"{name} is in no half of the sets. Add it to CHOOSING or to JUDGING in bench/sets.py.")


def of_half(names: Iterable[str], which: str) -> list[str]:
    return [name for name in names if half(name) == which]


@cache
def paths() -> dict[str, Path]:
    """Return the file of each set that has one; none, with a word about it, if the folder is not known."""
    folder = os.environ.get("SEPC_DATA")
    if folder is None:
        print("SEPC_DATA names no folder with data sets: only those of scikit-learn.", file=sys.stderr)
        return {}
    found = [*Path(folder).glob("*.csv"), *Path(folder, "more").glob("*.csv")]
    return {path.stem.removesuffix("_train_clean"): path for path in found if path.stem not in NOT_SETS}


def names() -> list[str]:
    """Return the names of all sets in alphabetical order."""
    found = sorted({*BUNDLED, *GENERATED, *paths()})
    for name in found:
        half(name)
    return found


def names_with_numbers() -> list[str]:
    """Return the names of the sets that have a column of numbers."""
    return [name for name in names() if any(map(is_number_column, cells(name)[0].T))]


@cache
def cells(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a set, and the labels: those of a file as texts."""
    if name in GENERATED:
        return GENERATED[name]()
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True)
    if name not in paths():
        sys.exit(f"SEPC_DATA names no folder with {name}.csv; `make bench` sets it where it can.")
    table = np.loadtxt(paths()[name], delimiter=",", skiprows=1, dtype=str, comments=None)
    return table[:, :-1], table[:, -1]


def numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a set that hold numbers, and the labels."""
    X, y = cells(name)
    return np.column_stack([column.astype(float) for column in X.T if is_number_column(column)]), y


def is_number_column(column: np.ndarray) -> bool:
    try:
        column.astype(float)
    except ValueError:
        return False
    return True


def some_rows(X: np.ndarray, labels: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most so many rows, without classes that are too small to fold, and their classes as 0, 1, ..."""
    rows = in_large_classes(np.arange(len(labels)), labels)
    if len(rows) > most:
        rows, _ = train_test_split(rows, train_size=most, stratify=labels[rows], random_state=0)
        rows = in_large_classes(rows, labels)
    return X[rows], np.unique(labels[rows], return_inverse=True)[1]


def in_large_classes(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    classes, counts = np.unique(labels[rows], return_counts=True)
    return rows[np.isin(labels[rows], classes[counts >= LEAST_ROWS_OF_A_CLASS])]


def as_numbers(X: np.ndarray) -> np.ndarray:
    """Return columns as numbers, one of texts as a column for each text."""
    # No label is used here, so the folds may share it.
    one_hot = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = (column[:, None] for column in X.T)
    return np.hstack([c.astype(float) if is_number_column(c) else one_hot.fit_transform(c) for c in columns])
