"""Training sets in files: which are read into memory, and what is left on disk."""

import gc
import tempfile

import numpy as np
import pytest
from real_sets import tic_tac_toe
from scattered_fits import agree, in_file, iris

from sepc import SEPClassifier
from sepc.estimators import fitting
from sepc.scale import file_points, file_training

pytestmark = [
    pytest.mark.usefixtures("small_chunks"),
    pytest.mark.filterwarnings("ignore::sepc.SepcWarning"),  # isolated points are wanted here
]


def test_single_precision_in_a_file_is_converted(tmp_path):
    X, y = iris()
    single = X.astype(np.float32)
    agree(in_file(SEPClassifier(), single, y, np.float32), SEPClassifier().fit(single, y), single, tmp_path)


@pytest.mark.usefixtures("size_in_memory")
@pytest.mark.parametrize("standardize", [False, True])
def test_points_exactly_on_an_ellipsoid_are_in_it_wherever_they_are(standardize, monkeypatch, tmp_path):
    X, y = tic_tac_toe()
    monkeypatch.setattr(file_points, "CHUNK_BYTES", X.nbytes // 12)
    expected = SEPClassifier(standardize=standardize).fit(X, y)
    agree(in_file(SEPClassifier(standardize=standardize), X, y), expected, X, tmp_path)


def test_small_files_are_read_into_memory(monkeypatch):
    X, y = iris()
    monkeypatch.setattr(file_training, "OUT_OF_CORE_BYTES", X.nbytes + 1)
    assert in_file(SEPClassifier(), X, y)._model.records is not None
    monkeypatch.setattr(file_training, "OUT_OF_CORE_BYTES", X.nbytes)
    assert in_file(SEPClassifier(), X, y)._model.records is None


@pytest.mark.usefixtures("size_in_memory")
def test_temporary_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    in_file(SEPClassifier(), *iris())
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_they_are_removed_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fitting, "counts_of_scattered", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        in_file(SEPClassifier(), *iris())
    gc.collect()
    assert list(tmp_path.iterdir()) == []
