"""Dispatch: what is not in memory stays there, and is told apart without loading libraries that nobody needs."""

import subprocess
import sys
import tempfile

import numpy as np
import pytest
from real_sets import tic_tac_toe
from scattered_fits import agree, in_file, iris

from sepc import SEPClassifier
from sepc.estimators.fitting import FitSettings, fit_scattered
from sepc.estimators.progress import Progress
from sepc.scale import dispatch, scattered_records


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.filterwarnings("ignore::sepc.SepcWarning")  # isolated points are wanted here
class TestFiles:
    @pytest.mark.slow
    def test_single_precision_in_a_file_is_converted(self, tmp_path):
        X, y = iris()
        single = X.astype(np.float32)
        agree(in_file(SEPClassifier(), single, y, np.float32), SEPClassifier().fit(single, y), single, tmp_path)

    @pytest.mark.slow
    @pytest.mark.parametrize("standardize", [False, True])
    def test_points_exactly_on_an_ellipsoid_are_in_it_wherever_they_are(self, standardize, monkeypatch, tmp_path):
        X, y = tic_tac_toe()
        monkeypatch.setattr(scattered_records, "CHUNK_BYTES", X.nbytes // 12)
        expected = SEPClassifier(standardize=standardize).fit(X, y)
        agree(in_file(SEPClassifier(standardize=standardize), X, y), expected, X, tmp_path)

    def test_small_files_are_read_into_memory(self, monkeypatch):
        X, y = iris()
        monkeypatch.setattr(dispatch, "OUT_OF_CORE_BYTES", X.nbytes + 1)
        assert in_file(SEPClassifier(), X, y).model_.records is not None
        monkeypatch.setattr(dispatch, "OUT_OF_CORE_BYTES", X.nbytes)
        assert in_file(SEPClassifier(), X, y).model_.records is None

    def test_a_fit_writes_no_files(self, tmp_path, monkeypatch):
        X, y = iris()
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        empty = tmp_path / "empty"
        empty.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(empty))
        monkeypatch.setattr(tempfile, "mkstemp", lambda *_: 1 / 0)
        SEPClassifier().fit(mapped, y)
        assert list(empty.iterdir()) == []

    @pytest.mark.slow
    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_a_file_is_read_at_most_twenty_times(self, n_threads, small_core):
        rng = np.random.default_rng(0)
        y = np.arange(3 * small_core) % 2
        X = np.column_stack([rng.normal(size=(len(y), 2)) + y[:, None], rng.integers(0, 2, size=len(y))])
        training = dispatch.mapped_set(X, y, True, n_threads)
        fit_scattered(
            training,
            list("abc"),
            FitSettings(None, "local", True, None),
            Progress(SEPClassifier(), ["all"], verbose=False),
        )
        assert 8 <= training.records.n_passes <= 13


@pytest.mark.first_use
def test_an_array_in_memory_loads_neither_dask_nor_torch():
    code = (
        "import sys, sepc; clf = sepc.SEPClassifier().fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]); "
        "clf.assess([[3.0]]); print({'dask', 'distributed', 'torch', 'cupy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
