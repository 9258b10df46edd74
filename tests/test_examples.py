"""Scripts of the gallery run to their end, each by itself, without a warning and without a trace."""

import os
import runpy
import warnings
from pathlib import Path

import pytest

pytestmark = [pytest.mark.pages, pytest.mark.usefixtures("fits_once")]

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))


def test_there_are_enough_of_them():
    assert len(SCRIPTS) >= 20


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_a_script_runs(script, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Matplotlib's own advice on a backend without a window.
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        runpy.run_path(str(script), run_name="__main__")
    plt.close("all")
    assert os.listdir(tmp_path) == []
