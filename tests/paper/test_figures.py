"""Figures of the experiments have named axes, and are the same to the byte."""

import pytest

from paper import EXPERIMENTS
from paper.figures import style
from paper.running import reproduce

pytestmark = pytest.mark.study


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_figure_has_named_axes_and_fits_a_column(runs, name):
    result = runs(name)
    with style():
        figure = result.experiment.draw(result.values)
    assert figure.get_figwidth() in (3.4, 7.0)
    for ax in figure.axes:
        assert ax.get_ylabel()
    assert all(ax.get_xlabel() for ax in figure.axes if ax.yaxis.get_label_position() == "left")


def test_figures_are_the_same_to_the_byte(tmp_path):
    for folder in ("a", "b"):
        reproduce(["reduced_hulls"], tmp_path / folder, n_jobs=1)
    for file in ("reduced_hulls.svg", "reduced_hulls.png", "results.json", "index.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
