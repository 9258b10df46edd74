"""Columns that tell the label, ids, categories that say the same, and subgroups full of contradictions."""

import numpy as np
import pandas as pd
import pytest
from coded import raises
from landscape_data import clean_set

from sepc import landscape
from sepc.tables import TableEncoder
from sepc.tables.columns import feature_slices

N = 400


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.4, "bad", "good")
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "income": rng.normal(3000.0, 500.0, N) + 600.0 * (y == "good"),
            "site": rng.choice(list("ABC"), N),
        }
    )
    return frame, y


def findings(frame, y):
    encoder = TableEncoder().fit(frame)
    features = encoder.transform(frame)
    names = features.columns.tolist()
    columns = {column.name: names[at] for column, at in feature_slices(encoder.columns_)}
    return {finding.title: finding for finding in landscape(features, y, columns=columns).findings}


def about(found, *columns):
    """Return the finding whose title begins with these columns."""
    (finding,) = (one for title, one in found.items() if title.split()[: len(columns)] == [*columns])
    return finding


def test_a_plain_table_has_none(table):
    assert findings(*table) == {}


class TestDependences:
    def test_indicators_that_the_encoder_made_are_no_finding(self, table):
        frame, y = table
        rng = np.random.default_rng(1)
        for k in range(5):
            frame[f"kind{k}"] = rng.choice(["red", "green", "blue", "grey"], N)
        assert findings(frame, y) == {}

    def test_columns_that_say_the_same_are_told_once(self, table):
        frame, y = table
        frame["site_name"] = frame["site"].map({"A": "Aachen", "B": "Bonn", "C": "Celle"})
        (finding,) = findings(frame, y).values()
        assert finding.code == "linear-dependence"
        assert finding.title.startswith("site and site_name ")
        assert " site_name" in finding.remedy

    def test_numbers_that_depend_on_a_category_are_told(self, table):
        frame, y = table
        frame["site_code"] = frame["site"].map({"A": 1, "B": 2, "C": 5})
        (finding,) = findings(frame, y).values()
        assert finding.code == "linear-dependence"
        assert "site_code" in finding.evidence

    def test_columns_that_share_one_value_are_not_said_to_say_the_same(self, table):
        frame, y = table
        rng = np.random.default_rng(2)
        online = rng.random(N) < 0.7
        for name in ("backup", "streaming"):
            frame[name] = np.where(online, rng.choice(["yes", "no"], N), "no internet")
        (finding,) = findings(frame, y).values()
        assert (finding.code, finding.severity) == ("linear-dependence", "note")
        assert finding.title == "backup and streaming have a value in common"
        assert "Drop" not in finding.remedy


class TestLeaks:
    def test_a_category_that_equals_the_label(self, table):
        frame, y = table
        frame["outcome"] = np.where(y == "bad", "default", "paid")
        finding = about(findings(frame, y), "outcome")
        assert (finding.code, finding.severity) == ("label-leak", "problem")
        assert f" {N} records" in finding.evidence
        assert "--drop outcome" in finding.remedy

    def test_a_number_that_nearly_equals_the_label(self, table):
        frame, y = table
        flipped = np.arange(N) % 100 == 0
        frame["code"] = np.where((y == "bad") ^ flipped, 2, 1)
        assert "396 of 400 records" in about(findings(frame, y), "code").evidence

    def test_a_noisy_copy_of_the_label(self, table):
        frame, y = table
        frame["score"] = (y == "bad") + np.random.default_rng(1).normal(scale=0.01, size=N)
        finding = about(findings(frame, y), "score")
        assert (finding.code, finding.severity) == ("label-leak", "problem")

    def test_a_column_that_only_one_label_has(self, table):
        frame, y = table
        frame["days_overdue"] = np.where(y == "bad", np.random.default_rng(1).integers(1, 90, N), 0)
        frame["written_off"] = np.where(y == "bad", 7.5 * frame["age"], np.nan)
        found = findings(frame, y)
        assert {about(found, name).code for name in ("days_overdue", "written_off")} == {"label-leak"}

    def test_three_classes(self):
        rng = np.random.default_rng(0)
        y = rng.integers(3, size=300)
        frame = pd.DataFrame({"x": rng.normal(size=300), "copy": 10.0 * y + rng.normal(scale=0.1, size=300)})
        assert about(findings(frame, y), "copy").code == "label-leak"

    @pytest.mark.slow
    def test_a_measurement_that_separates_is_a_note_at_most(self):
        for seed in range(40):
            X, y = clean_set(seed)
            for finding in landscape(X, y).findings:
                assert finding.code != "label-leak" or finding.severity == "note"

    def test_a_few_records_may_agree_by_chance(self):
        rng = np.random.default_rng(0)
        y = np.arange(12) % 2
        X = np.column_stack([rng.normal(size=12), y])
        assert "label-leak" not in {finding.code for finding in landscape(X, y).findings}


class TestIds:
    @pytest.mark.parametrize(
        "ids",
        [
            np.arange(10001, 10001 + N),
            np.random.default_rng(3).permutation(N) + 1,
            7 + 13 * np.arange(N),
            np.random.default_rng(3).integers(1e8, 1e9, N),
        ],
    )
    def test_a_number_that_names_the_record(self, table, ids):
        frame, y = table
        finding = about(findings(frame.assign(customer_id=ids), y), "customer_id")
        assert (finding.code, finding.severity) == ("id-as-feature", "warning")
        assert "--drop customer_id" in finding.remedy

    def test_an_id_in_a_file_sorted_by_label_is_a_problem(self, table):
        frame, y = table
        y = np.sort(y)
        finding = about(findings(frame.assign(number=np.arange(N)), y), "number")
        assert (finding.code, finding.severity) == ("id-as-feature", "problem")

    @pytest.mark.parametrize("amounts", [np.random.default_rng(3).integers(0, 10**9, N), np.arange(N) / 7.0])
    def test_amounts_are_no_ids(self, table, amounts):
        frame, y = table
        assert findings(frame.assign(revenue=amounts), y) == {}


class TestSubgroups:
    def test_a_site_with_random_labels_is_found(self, table):
        frame, y = table
        rng = np.random.default_rng(1)
        frame["income"] += np.where(y == "good", 3000.0, 0.0)
        here = frame["site"] == "C"
        y = np.where(here, rng.choice(["bad", "good"], N), y)
        (finding,) = (one for one in findings(frame, y).values() if one.code == "contradictions-in-subgroup")
        assert finding.title.endswith(" site = C")
        assert f"{np.count_nonzero(here)} records" in finding.evidence

    def test_levels_of_a_plain_array_are_groups(self):
        rng = np.random.default_rng(0)
        group = rng.integers(3, size=600)
        y = np.where(group == 2, rng.integers(2, size=600), np.arange(600) % 2)
        frame = pd.DataFrame({"x": 6.0 * (np.arange(600) % 2) + rng.normal(size=600), "group": group})
        found = {finding.code: finding.title for finding in landscape(frame, y).findings}
        assert found["contradictions-in-subgroup"].endswith(" group = 2")


def test_columns_must_name_features():
    with raises("columns-unknown-feature", feature="b"):
        landscape([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], columns={"a": ["b"]})
