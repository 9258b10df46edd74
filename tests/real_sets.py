"""Real data sets from the folder that SEPC_DATA names."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

_FEWEST_ROWS, _MOST_ROWS = 90, 150
_FOLDER = Path(os.environ.get("SEPC_DATA", "no folder"))
_NONE = pytest.param(None, marks=pytest.mark.skip("set SEPC_DATA to the folder with data sets"), id="none")

# For tests that take the path of a file: once with each set of the folder.
every_set = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.real_data)
        for path in sorted([*_FOLDER.glob("*.csv"), *_FOLDER.glob("more/*.csv")])
    ]
    or [_NONE],
)


def some_of(path):
    """Return a few rows from all over a file, as a table of numbers or of texts, and their labels."""
    table = pd.read_csv(path)
    n_rows = np.clip(6 * table.iloc[:, -1].nunique(), _FEWEST_ROWS, _MOST_ROWS)
    table = table.iloc[np.unique(np.linspace(0, len(table) - 1, n_rows).astype(int))]
    labels = table.iloc[:, -1].astype(str)
    table = table[labels.map(labels.value_counts()).to_numpy() > 3]
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(dtype=str)


def real_set(name):
    """Return features and labels of a set; skip the test where it cannot be had."""
    frame = _table(name)
    return frame.iloc[:, :-1].to_numpy(dtype=float), frame.iloc[:, -1].to_numpy(dtype=str)


def tic_tac_toe():
    """Return boards, as 1 for x, -1 for o and 0 for blank, and who has won; skip the test where they cannot be had."""
    frame = _table("more/tic_tac_toe")
    boards = frame.iloc[:, :-1].replace({"x": "1", "o": "-1", "b": "0"})
    return boards.to_numpy(dtype=float), frame.iloc[:, -1].to_numpy(dtype=str)


def _table(name):
    path = Path(os.environ.get("SEPC_DATA", ""), f"{name}.csv")
    if not path.exists():
        pytest.skip(f"set SEPC_DATA to the folder that holds {name}.csv")
    return pd.read_csv(path)
