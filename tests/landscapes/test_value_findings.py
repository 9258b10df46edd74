"""Sentinels for missing values, codes that are read as numbers, one value in several spellings."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sepc import landscape, make_table_pipeline, report
from sepc.estimators.classifier import SEPClassifier
from sepc.landscapes.known_values import KnownValues
from sepc.landscapes.value_findings import code_findings, sentinel_findings
from sepc.tables import TableEncoder
from sepc.tables.columns import date_columns, features_by_column

N = 300
CODES = {"sentinel-value", "code-as-number", "value-in-two-spellings"}


def found_in(frame, y=None):
    """Return the findings of these kinds as a user of Python gets them."""
    y = np.random.default_rng(9).choice(["a", "b"], len(frame)) if y is None else y
    encoder = TableEncoder(keep_gaps=True).fit(frame)
    features = encoder.transform(frame)
    columns = features_by_column(encoder.columns_, features.columns.tolist())
    dates = date_columns(encoder.columns_)
    view = landscape(features, y, columns=columns, dates=dates, findings=encoder.findings_)
    return [finding for finding in view.findings if finding.code in CODES]


def planted(values, value, k, seed=1):
    values = np.array(values, dtype=float)
    values[np.random.default_rng(seed).choice(len(values), k, replace=False)] = value
    return values


def beside(values):
    """Return a column beside a measurement."""
    return pd.DataFrame({"size": np.random.default_rng(2).normal(size=len(values)), "x": values})


RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 90, N)
AMOUNTS = np.round(RNG.lognormal(8.0, 1.0, N), 2)


class TestSentinels:
    @pytest.mark.parametrize(
        ("values", "told"),
        [
            (planted(AGES, 999, 2), "999"),
            (planted(AMOUNTS, -999, 5), "-999"),
            (planted(RNG.integers(1, 6, N), 99, 3), "99"),
            (planted(RNG.integers(1, 3, N), 9, 3), "9"),
            (planted(np.round(RNG.gamma(2.0, 1.0, N), 1), -200, 4), "-200"),
            (planted(RNG.normal(size=N), 1e30, 3), "1e+30"),
            (planted(RNG.normal(80.0, 20.0, N), -999.25, 6), "-999.25"),
            (planted(planted(RNG.normal(size=N), -9999, 4), 9999, 5, seed=2), "-9999 and 9999"),
            (planted(planted(RNG.integers(0, 20, N), 98, 5), 99, 9, seed=2), "98 and 99"),
        ],
    )
    def test_values_far_from_all_others_that_are_repeated(self, values, told):
        (finding,) = found_in(beside(values))
        assert (finding.code, finding.severity) == ("sentinel-value", "warning")
        assert finding.title.startswith(f"{told} ")
        assert finding.title.endswith(": x")
        for word in told.split(" and "):
            assert f"--missing={word}" in finding.remedy

    def test_columns_with_the_same_one_are_told_together_with_their_counts(self):
        frame = pd.DataFrame({"age": planted(AGES, -999, 7), "pay": planted(AMOUNTS, -999, 4), "size": AMOUNTS})
        (finding,) = found_in(frame)
        assert finding.title.endswith(": age, pay")
        assert "-999 in 7 of 300" in finding.evidence
        assert "-999 in 4 of 300" in finding.evidence
        assert f"{frame.age[frame.age > 0].min():g} to" in finding.evidence

    @pytest.mark.parametrize(
        "values",
        [
            np.append(AGES[1:], 999),  # once
            np.rint(RNG.pareto(1.0, N) * 10.0),
            np.rint(RNG.lognormal(3.0, 2.0, N)),
            np.round(RNG.standard_t(1, N), 1),
            RNG.poisson(0.1, N),
            np.where(RNG.random(N) < 0.8, 0.0, np.rint(RNG.normal(5000.0, 300.0, N))),
            np.where(RNG.random(N) < 0.5, np.rint(RNG.normal(10.0, 1.0, N)), np.rint(RNG.normal(1000.0, 3.0, N))),
            np.clip(np.rint(RNG.normal(40.0, 20.0, N)), 1, 99),
            RNG.choice([1, 2, 3, 4, 8], N),
            planted(RNG.choice([0, 1], N), 2, 5),
        ],
    )
    def test_ordinary_columns_have_none(self, values):
        assert found_in(beside(np.asarray(values, dtype=float))) == []

    def test_copies_of_one_record_have_none(self):
        frame = beside(np.append(AGES[1:], 5000.0))
        assert found_in(pd.concat([frame] * 5, ignore_index=True)) == []

    def test_dates_have_none(self):
        days = pd.to_datetime("2020-01-01") + pd.to_timedelta(planted(AGES, 99999, 5), unit="D")
        assert found_in(beside(AGES).assign(x=days)) == []

    def test_one_that_is_read_as_missing_is_gone(self):
        frame = beside(planted(AGES, 999, 4)).replace({"x": {999.0: np.nan}})
        assert found_in(frame) == []


class TestCodes:
    @pytest.mark.parametrize("name", ["zip", "postal_code", "ZipCode", "plz", "product code"])
    def test_numbers_of_one_length_in_a_column_named_like_codes(self, name):
        postcodes = np.random.default_rng(3).integers(1067, 99998, N)
        (finding,) = found_in(beside(postcodes).rename(columns={"x": name}))
        assert (finding.code, finding.severity) == ("code-as-number", "warning")
        assert finding.title.startswith(f"{name} ")
        assert f"--categorical-features {name}" in finding.remedy

    def test_codes_by_any_name_if_they_are_repeated(self):
        rng = np.random.default_rng(3)
        (finding,) = found_in(beside(rng.choice(rng.integers(10000, 99999, 60), N)))
        assert finding.code == "code-as-number"

    @pytest.mark.parametrize("dtype", [object, "str", "string"])
    def test_texts_with_zeros_in_front(self, dtype):
        texts = pd.Series([f"{k:06d}" for k in np.random.default_rng(3).choice(200_000, N)], dtype=dtype)
        (finding,) = found_in(beside(texts))
        assert finding.code == "code-as-number"
        assert "6 digits, with zeros in front" in finding.evidence

    def test_a_postcode_with_zeros_in_front_is_told_once(self):
        texts = [f"{k:05d}" for k in np.random.default_rng(3).integers(1067, 99998, N)]
        (finding,) = found_in(beside(texts).rename(columns={"x": "plz"}))
        assert "zeros in front" in finding.evidence

    @pytest.mark.parametrize(
        "values",
        [
            RNG.integers(1950, 2024, N),  # years
            RNG.integers(20000, 90000, N),  # pay
            RNG.choice(np.round(RNG.lognormal(10.5, 0.5, 60), -2).clip(10000, 99900), N),  # prices
            np.rint(RNG.normal(3000.0, 400.0, N)),  # weights
            [f"{k:02d}" for k in RNG.integers(1, 13, N)],  # months
            [f"{k}" for k in RNG.integers(0, 99999, N)],
        ],
    )
    def test_years_and_amounts_have_none(self, values):
        assert found_in(beside(values)) == []


class TestSpellings:
    def test_values_that_differ_in_case_or_blanks_are_told_with_their_counts(self):
        sex = np.random.default_rng(3).choice(["Male", "Female"], N).astype(object)
        sex[[4, 40]], sex[7] = "male", " male"  # blanks around a text do not count
        city = np.random.default_rng(4).choice(["New York", "Rome"], N).astype(object)
        city[9] = "New  York"
        frame = beside(AGES).assign(sex=sex, city=city)
        of_sex, of_city = found_in(frame)
        assert (of_sex.code, of_sex.severity) == ("value-in-two-spellings", "warning")
        assert of_sex.title.startswith("sex ")
        assert f"'Male' in {(sex == 'Male').sum()} and 'male' in 3" in of_sex.evidence
        assert "'New  York' in 1" in of_city.evidence
        assert "emale'" not in of_sex.evidence

    def test_different_values_have_none(self):
        frame = beside(AGES).assign(grade=np.random.default_rng(3).choice(["A", "B", "ab", "a b"], N))
        assert found_in(frame) == []

    def test_truths_in_any_case_are_one_value(self):
        frame = beside(AGES).assign(ok=np.random.default_rng(3).choice(["True", "true", "FALSE"], N))
        assert found_in(frame) == []

    def test_a_report_of_a_pipeline_tells_them_even_after_a_file(self):
        sex = np.random.default_rng(3).choice(["Male", "Female", "male"], N)
        frame, y = beside(planted(AGES, 999, 4)).assign(sex=sex), np.array(["a", "b"] * (N // 2))
        model = make_table_pipeline(SEPClassifier()).fit(frame, y)
        encoder = TableEncoder.from_dict(model["columns"].to_dict())
        assert encoder.findings_ == model["columns"].findings_
        told = report(model, frame[:20], y[:20], max_records=0).to_dict()["landscape"]["findings"]
        assert {"sentinel-value", "value-in-two-spellings"} <= {finding["code"] for finding in told}

    def test_damaged_findings_of_a_state_are_refused(self):
        state = TableEncoder().fit([[1], [2]]).to_dict()
        one = {"code": "x", "severity": "note", "title": "t", "evidence": "e", "remedy": "r"}
        assert TableEncoder.from_dict(state | {"findings": [one]}).findings_[0].title == "t"
        for damaged in (None, [1], [{"code": "x"}], [one | {"title": 3}], [one | {"severity": "grave"}]):
            with pytest.raises(ValueError, match="state"):
                TableEncoder.from_dict(state | {"findings": damaged})


@pytest.mark.slow
def test_real_sets_have_none_but_the_cap_of_adult():
    folder = Path(os.environ.get("SEPC_DATA", ""))
    sets = sorted([*folder.glob("*.csv"), *folder.glob("more/*.csv")]) if os.environ.get("SEPC_DATA") else []
    if not sets:
        pytest.skip("set SEPC_DATA to the folder of data sets")
    for path in sets:
        frame = pd.read_csv(path, nrows=4000)
        encoder = TableEncoder(keep_gaps=True).fit(frame.drop(columns="label"))
        features = encoder.transform(frame)
        names = features.columns.tolist()
        columns = KnownValues.of(features.to_numpy(), names, features_by_column(encoder.columns_, names)).columns
        told = [*sentinel_findings(columns), *code_findings(columns), *encoder.findings_]
        expected = ["99999 may stand for a missing value: capital_gain"] if "adult" in path.name else []
        assert [finding.title for finding in told] == expected, path
