"""Folders with training data, a model of it, and new data."""

import pytest
from command_line import COLUMNS, as_csv, records

from sepc import SEPEnsembleClassifier
from sepc.cli import main


@pytest.fixture(autouse=True)
def _fits_once(fits_once):
    """Commands know nothing of fits that another command has made."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with training data, a model of it, and new data."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.csv").write_text(as_csv(records(300)))
    (folder / "new.csv").write_text(as_csv([row[:-1] for row in records(120, seed=1)], COLUMNS))
    assert main(["fit", f"{folder}/train.csv", "--target", "label", "-o", f"{folder}/model.sepc"]) == 0
    return folder


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """An empty current folder; the shared files are linked into it."""
    for name in ("train.csv", "new.csv", "model.sepc"):
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def few_members(monkeypatch):
    """Let ensembles have three members, where nothing is said of their number."""
    monkeypatch.setitem(SEPEnsembleClassifier.__init__.__kwdefaults__, "n_estimators", 3)
