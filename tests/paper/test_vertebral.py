"""Vertebral Column gives the paper's figures."""

import numpy as np
import pytest
from paper_data import require_data

from paper.paper_readings import PaperClassifier
from paper.vertebral import _folds, ellipsoid_of_their_own, fold_sizes


@pytest.mark.slow
def test_vertebral_column_gives_the_paper_s_figures_exactly(runs):
    values = {name: column[0] for name, column in runs("vertebral").values.items()}
    assert (values["normal.outside"], values["abnormal.outside"]) == (7, 157)
    assert round(values["normal.ovr"], 3) == 0.667
    assert round(values["abnormal.ovr"], 4) == 0.0056


def test_the_worst_and_best_fold_of_the_paper_are_shares_of_14_or_28():
    assert (9 * 1000 // 14, 13 * 1000 // 14) == (642, 928)
    assert fold_sizes(0.642, 0.928) == [14, 28]


def test_the_folds_are_of_28_points_but_one_as_a_90_10_split_leaves_them():
    require_data("vertebral")
    folds = _folds(0)
    assert sorted(len(test) for _, test in folds) == [27, *(28 for _ in range(9))]
    tested = np.sort(np.concatenate([test for _, test in folds]))
    assert len(np.unique(tested)) == len(tested) == 279
    assert all(np.array_equal(np.sort(np.concatenate(fold)), tested) for fold in folds)


def test_an_ellipsoid_of_their_own_holds_them_and_few_others():
    rng = np.random.default_rng(0)
    places = np.repeat([0.0, 20.0, 10.0], [20, 10, 30])
    X = rng.standard_normal((60, 2))
    X[:, 0] += places
    p = PaperClassifier(0).fit(X, places == 10.0).partitions_[0]
    together, theirs = ellipsoid_of_their_own(p, places == 20.0)
    assert (together >= 0.5, theirs) == (True, 1.0)
    scattered = np.arange(60) % 10 == 0
    assert ellipsoid_of_their_own(p, scattered)[1] < 0.5
    assert np.isnan(ellipsoid_of_their_own(p, places < 0.0)).all()


@pytest.mark.slow
def test_missed_points_do_not_get_an_ellipsoid_of_their_own(runs):
    values = {name: column[0] for name, column in runs("vertebral").values.items()}
    assert 0 < values["worst.missed"] < 7
    assert values["in_best.theirs"] < 0.5
    assert values["again.right"] == values["worst.missed"]
