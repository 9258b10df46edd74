"""Regions in the columns of raw tables: ranges of numbers, shares of values."""

import re

import numpy as np
import pandas as pd
import pytest

from sepc import SEPClassifier, load, make_table_pipeline, save


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    n = 150
    table = pd.DataFrame(
        {
            "amount": rng.integers(250, 18424, n),
            "rate": np.round(rng.normal(2.0, 0.5, n), 1),
            "status": rng.choice(["A11", "A12", "A13", "A14"], n),
        }
    )
    y = np.where((table["status"] == "A14") | (table["amount"] < 3000), "good", "bad")
    return make_table_pipeline(SEPClassifier(n_imp=4)).fit(table, y), table


def test_values_are_told_by_their_shares_among_the_records_of_a_region(fitted):
    clf, table = fitted
    frame = clf.regions()
    inner, model = clf["classifier"], clf["classifier"].model_
    (rules,) = model.rules
    told = 0
    for k, row in frame.iterrows():
        inside = rules.stack[k].contains(model.records.points)
        values = table["status"].iloc[model.records.rows[inside]]
        for value, share in re.findall(r"(A1\d) (\d+) %", row["where"]):
            assert float(share) == pytest.approx(100 * np.mean(values == value), abs=0.51)
            told += 1
    assert told > 0
    assert len(inner.regions()) == len(frame)


def test_numbers_have_the_precision_of_their_column_and_stay_within_it(fitted):
    clf, table = fitted
    for where in clf.regions()["where"]:
        assert "e+" not in where
        for name in ("amount", "rate"):
            for found in re.findall(rf"{name} (\S+) to ([^;]+)", where):
                low, high = map(float, found)
                assert table[name].min() <= low <= high <= table[name].max()
                assert all(len(text.partition(".")[2]) <= (name == "rate") for text in found)


def test_without_records_the_value_at_the_centre_is_told(fitted, tmp_path):
    clf, _ = fitted
    save(clf, tmp_path / "model.sepc", training_rows=False)
    places = " ".join(load(tmp_path / "model.sepc").regions()["where"])
    assert " %" not in places
    assert re.search("status: [a-z]* ?A1", places)
