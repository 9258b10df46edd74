"""Real data sets from the folder that SEPC_DATA names."""

import os
from pathlib import Path

import pandas as pd
import pytest


def real_set(name):
    """Return features and labels of a set; skip the test where it cannot be had."""
    path = Path(os.environ.get("SEPC_DATA", ""), f"{name}.csv")
    if not path.exists():
        pytest.skip(f"set SEPC_DATA to the folder that holds {name}.csv")
    frame = pd.read_csv(path)
    return frame.iloc[:, :-1].to_numpy(dtype=float), frame.iloc[:, -1].to_numpy(dtype=str)
