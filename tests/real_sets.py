"""Real data sets from the folder that SEPC_DATA names."""

import os
from pathlib import Path

import pandas as pd
import pytest


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
