"""Files that some of the paper's experiments need."""

import os
from pathlib import Path

import pytest

NEEDS_DATA = {
    "adult": "adult_train_clean.csv",
    "adult_stratum": "adult_train_clean.csv",
    "vertebral": "vertebral_2c.csv",
}


def require_data(name):
    folder, file = os.environ.get("SEPC_DATA"), NEEDS_DATA.get(name)
    if file and not (folder and (Path(folder) / file).exists()):
        pytest.skip(f"set SEPC_DATA to the folder that holds {file}")
