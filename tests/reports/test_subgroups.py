"""Results by subgroup are those of NumPy on the rows of each group."""

import numpy as np
import pandas as pd
import pytest
from texts import assert_readable

from sepc import make_table_pipeline, report
from sepc.common.intervals import exact_interval
from sepc.common.text import percent
from sepc.reports.subgroups import N_VALUES, subgroup_results
from sepc.reports.subject import Subject


@pytest.fixture(scope="module")
def table():
    """Labels follow the size, but not where the ward is C; there are gaps, many towns, an id and a flag."""
    rng = np.random.default_rng(0)
    n = 400
    y = rng.choice(["no", "yes"], n)
    ward = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]).astype(object)
    size = rng.normal(size=n) + 5.0 * ((y == "yes") ^ ((ward == "C") & (rng.random(n) < 0.6)))
    towns = rng.choice([f"town {k:02}" for k in range(15)], n)
    ward[::40] = None
    X = pd.DataFrame({"size": size, "ward": ward, "town": towns, "flag": rng.integers(0, 2, n)})
    X["id"] = [f"id {k}" for k in range(n)]
    return X, y


@pytest.fixture(scope="module")
def subject(table):
    X, y = table
    return Subject.of(
        make_table_pipeline().fit(X[::2][["size", "ward", "town", "flag", "id"]], y[::2]), X[1::2], y[1::2]
    )


def test_each_value_of_a_category_has_its_results(table, subject):
    X, _ = table
    found = subgroup_results(subject, 0.9)["table"]["rows"]
    assert {row[0] for row in found} == {"ward", "town", "flag"}
    wards = X["ward"].iloc[1::2].fillna("missing").to_numpy()
    accepted = subject.verdicts.accepted(0.9)
    for _, value, n, right, interval, coverage, right_accepted, interval_accepted in (
        r for r in found if r[0] == "ward"
    ):
        here = wards == value
        assert n == here.sum() > 0
        assert right == subject.right[here].mean()
        assert interval == " to ".join(map(percent, exact_interval(subject.right[here].sum(), n)))
        assert coverage == accepted[here].mean()
        among = here & accepted
        assert right_accepted == (subject.right[among].mean() if among.any() else None)
        assert (interval_accepted is None) == (not among.any())
    assert sum(row[2] for row in found if row[0] == "ward") == len(wards)


def test_many_values_become_one_group(table, subject):
    X, _ = table
    towns = [row for row in subgroup_results(subject, 0.9)["table"]["rows"] if row[0] == "town"]
    assert len(towns) == N_VALUES + 1
    assert towns[-1][1].startswith(f"{15 - N_VALUES} ")
    counts = X["town"].iloc[1::2].value_counts()
    assert [row[2] for row in towns[:-1]] == counts.iloc[:N_VALUES].tolist()
    assert sum(row[2] for row in towns) == 200


def test_a_group_that_is_right_less_often_is_named_and_others_are_not(subject):
    (note,) = subgroup_results(subject, 0.9)["notes"]
    assert " ward is C, " in note
    assert_readable(note)


def test_a_table_of_numbers_has_no_subgroups(iris, iris_clf):
    _, X_test, _, y_test = iris
    told = report(iris_clf, X_test, y_test, max_records=0)
    assert told.to_dict()["subgroups"]["table"]["rows"] == []
