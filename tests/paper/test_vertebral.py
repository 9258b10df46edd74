"""Vertebral Column gives the paper's figures."""

import pytest

from paper.vertebral import fold_sizes


@pytest.mark.slow
def test_vertebral_column_gives_the_paper_s_figures_exactly(runs):
    values = {name: column[0] for name, column in runs("vertebral").values.items()}
    assert (values["normal.outside"], values["abnormal.outside"]) == (7, 157)
    assert round(values["normal.ovr"], 3) == 0.667
    assert round(values["abnormal.ovr"], 4) == 0.0056


def test_the_worst_and_best_fold_of_the_paper_are_shares_of_14_or_28():
    assert (9 * 1000 // 14, 13 * 1000 // 14) == (642, 928)
    assert fold_sizes(0.642, 0.928) == [14, 28]
