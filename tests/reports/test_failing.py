"""The section of a report on where the model fails is the landscape of its errors."""

import numpy as np
import pandas as pd
import pytest

from sepc import make_table_pipeline, report
from sepc.landscapes import error_landscape


@pytest.fixture(scope="module")
def failing():
    rng = np.random.default_rng(0)
    n = 900
    X = pd.DataFrame({"size": rng.normal(size=n), "ward": rng.choice(["A", "B", "C"], n, p=[0.5, 0.4, 0.1])})
    y = np.where(X["size"] > 0.0, "yes", "no")
    clf = make_table_pipeline().fit(X[:300], y[:300])
    swapped = np.where((X["ward"] == "C") & (rng.random(n) < 0.9), np.where(y == "yes", "no", "yes"), y)
    return clf, X[300:], swapped[300:]


def test_regions_are_those_of_the_error_landscape(failing):
    found = error_landscape(*failing)
    made = report(*failing, max_records=2)
    content = made.to_dict()["failing"]
    assert [row[0] for row in content["table"]["rows"]] == [one.rule for one in found.regions] == ["ward is C"]
    assert content["regions"][0]["error_rate"] == found.regions[0].error_rate
    assert "ward is C" in made.markdown()
    assert "Where the model fails: share of wrong labels" in made.html()


def test_nothing_found_is_a_sentence(iris, iris_clf):
    _, X, _, y = iris
    made = report(iris_clf, X, y, max_records=2)
    assert made.to_dict()["failing"]["regions"] == []
    assert "No region is known where labels are wrong more often" in made.markdown()
    assert "Where the model fails: share" not in made.html()
