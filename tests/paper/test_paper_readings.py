"""Readings of the paper's algorithm give the numbers that were found for them, on a few seeds."""

import numpy as np
import pytest
from paper_data import require_data
from sklearn.base import clone

from paper import adult_stratum, wdbc
from paper.paper_readings import MAIN, READINGS, PaperClassifier
from sepc.datasets import make_circles, make_moons
from sepc.partitions.algorithm import partition

pytestmark = pytest.mark.study

SEEDS = range(5)


def test_the_paper_s_n_imp_is_one_more_than_ours_but_0_stays_0():
    assert [MAIN.allowed(n) for n in (0, 1, 2, 10)] == [0, 0, 1, 9]
    assert [READINGS["at_most"].allowed(n) for n in (0, 2)] == [0, 2]


def test_each_reading_but_the_last_differs_from_the_main_one_in_one_thing():
    for key, reading in READINGS.items():
        different = sum(a != b for a, b in zip(reading[1:], MAIN[1:], strict=True))
        assert different == {"main": 0, "package": 2}.get(key, 1)


def test_the_package_s_own_reading_is_the_default_of_partition():
    data = make_moons(100, 0.2, seed=3)
    A, B = (data.X[data.y == label] for label in data.counts)
    assert repr(READINGS["package"].partition(A, B, 2)) == repr(partition(A, B, 2))


def test_the_classifier_of_a_reading_has_its_partition_and_can_be_cloned():
    data = make_moons(100, 0.2, seed=3)
    A, B = (data.X[data.y == label] for label in data.counts)
    for key, reading in READINGS.items():
        clf = clone(PaperClassifier(2, key)).fit(data.X, data.y)
        assert repr(clf.partitions_[0]) == repr(reading.partition(A, B, 2))
        assert (clf.trust, clf.standardize) == ("paper", False)


def iterations(make, n_imp, reading="main", **setting):
    found = []
    for seed in SEEDS:
        data = make(**setting, seed=seed)
        found.append(READINGS[reading].partition(*(data.X[data.y == label] for label in data.counts), n_imp).n_iter)
    return found


def test_circles_take_four_iterations():
    assert iterations(make_circles, 5, n=100, noise=0.05, factor=0.5).count(4) >= 4


def test_moons_take_three_iterations_without_the_early_exit_alone():
    assert iterations(make_moons, 2, n=100, noise=0.05).count(3) >= 4
    assert iterations(make_moons, 2, "exit", n=100, noise=0.05).count(3) <= 1


def medians(values, *measures):
    return [float(np.median(values[measure])) for measure in measures]


def of_form(module, key):
    """Return the measures of one form of an experiment's data over four seeds."""
    found = [module.of_form(key, seed) for seed in range(4)]
    return {measure: [one[measure] for one in found] for measure in found[0]}


def test_iris_takes_three_ellipsoids_for_setosa_without_the_early_exit_and_one_with_it(runs):
    without, with_it, versicolor, virginica = medians(
        runs("iris").values, "r_main.four_setosa", "r_exit.four_setosa", "r_exit.two_versicolor", "r_exit.two_virginica"
    )
    assert (without, with_it) == (3, 1)
    assert versicolor in (4, 5)
    assert virginica == 4


def test_wdbc_has_three_ellipsoids_each_six_regions_and_the_accuracies_of_r3_by_the_letter():
    measures = ("n_benign", "n_malignant", "regions", "accuracy")
    benign, malignant, regions, raw = medians(of_form(wdbc, "raw"), *(f"raw.{name}" for name in measures))
    (standard,) = medians(of_form(wdbc, "standard"), "standard.accuracy")
    assert benign == 3
    assert 3 <= malignant <= 3.5
    assert 5.75 <= regions <= 7
    assert raw == pytest.approx(0.896, abs=0.03)
    assert standard == pytest.approx(0.961, abs=0.02)


def test_adult_overlaps_as_the_paper_says_once_it_is_coded(runs):
    coded, dollars = medians(runs("adult").values, "coded.minority", "dollars.minority")
    assert coded == pytest.approx(0.624, abs=0.001)
    assert dollars == pytest.approx(0.31, abs=0.01)


def test_the_adult_stratum_gives_the_numbers_that_were_found_for_it(runs):
    require_data("adult_stratum")
    measures = ("n_majority", "n_minority", "regions", "accuracy", "inside")
    majority, minority, regions, accuracy, inside = medians(
        of_form(adult_stratum, "everywhere"), *(f"everywhere.{name}" for name in measures)
    )
    (fewer,) = medians(of_form(adult_stratum, "noise"), "noise.regions")
    assert 35 <= fewer <= 45
    assert 15 <= majority <= 18
    assert 15 <= minority <= 18
    assert 55 <= regions <= 63
    assert accuracy == pytest.approx(0.64, abs=0.04)
    assert 0.48 <= inside <= 0.54
    overlap = medians(runs("adult_stratum").values, "all.majority", "all.minority", "all_dollars.minority")
    assert overlap == pytest.approx([0.42, 0.45, 0.03], abs=0.006)
