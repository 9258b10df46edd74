"""Loaders hand out what they promise, or say what is missing and where to put it."""

import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from coded import raises

from sepc import SepcError, datasets


@pytest.fixture
def folder():
    path = os.environ.get("SEPC_DATA")
    if not path or not (Path(path) / "adult_train_clean.csv").exists():
        pytest.skip("set SEPC_DATA to the folder that holds adult_train_clean.csv and vertebral_2c.csv")
    return Path(path)


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("SEPC_DATA", raising=False)


def answers(monkeypatch, frame):
    asked = []

    def fetch_openml(**options):
        asked.append(options["data_id"])
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return asked


def adult_frame(n_low=22654, n_high=7508, n_test=16281):
    """A frame like OpenML's: test rows first, gaps as NaN, numbers as they are parsed there."""
    n_gaps = 32561 - 22654 - 7508
    n = n_test + n_low + n_high + n_gaps
    frame = pd.DataFrame({name: np.arange(n) % 7 for name in datasets._ADULT_COLUMNS})
    frame["workclass"] = pd.Series(["Private"] * n, dtype="category")
    frame.loc[n - n_gaps :, "workclass"] = np.nan
    frame["label"] = ["<=50K"] * (n_test + n_low) + [">50K"] * (n_high + n_gaps)
    return frame


def vertebral_frame(n_normal=100):
    columns = {f"V{k}": np.linspace(k, k + 1.23456789, 310) for k in range(1, 7)}
    return pd.DataFrame({**columns, "Class": pd.Series([2] * n_normal + [1] * (310 - n_normal)).astype("category")})


@pytest.mark.slow
def test_local_files_give_the_counts_of_the_paper(folder):  # noqa: ARG001
    adult, stratum, spine = datasets.load_adult(), datasets.load_adult_stratum(), datasets.load_vertebral()
    assert adult.X.shape == (30162, 6)
    assert adult.counts == {"<=50K": 22654, ">50K": 7508}
    assert stratum.X.shape == (803, 5)
    assert "education_num" not in stratum.feature_names
    assert spine.counts == {"Abnormal": 210, "Normal": 100}
    assert np.array_equal(np.round(spine.X, 2), spine.X)


@pytest.mark.slow
def test_adult_is_coded_by_rank_over_all_rows(folder):  # noqa: ARG001
    plain, coded = datasets.load_adult(), datasets.load_adult(coded=True)
    assert coded.X.shape == (30162, 14)
    for name in plain.feature_names:
        values, ranks = (data.X[:, data.feature_names.index(name)] for data in (plain, coded))
        distinct = np.sort(list(set(values.tolist())))
        assert np.array_equal(distinct[ranks.astype(int)], values)
    commonest = [np.bincount(column.astype(int)).argmax() for column in coded.X.T]
    assert commonest[coded.feature_names.index("native_country")] == 38
    assert "rank" in " ".join(coded.notes)


@pytest.mark.slow
def test_the_coded_stratum_has_the_ranks_of_the_whole_table(folder):  # noqa: ARG001
    plain, coded = datasets.load_adult_stratum(), datasets.load_adult_stratum(coded=True)
    assert plain.feature_names == coded.feature_names
    assert plain.counts == coded.counts == {"<=50K": 548, ">50K": 255}
    whole = datasets.load_adult()
    for k, name in enumerate(plain.feature_names):
        distinct = np.unique(whole.X[:, whole.feature_names.index(name)])
        assert np.array_equal(distinct[coded.X[:, k].astype(int)], plain.X[:, k])


def test_the_vertebral_loader_rounds_full_precision_to_the_same_data(folder, tmp_path, monkeypatch):
    rounded = datasets.load_vertebral()
    text = (folder / "vertebral_2c_fullprec.csv").read_text()
    (tmp_path / "vertebral_2c.csv").write_text(text)
    monkeypatch.setenv("SEPC_DATA", str(tmp_path))
    assert np.array_equal(datasets.load_vertebral().X, rounded.X)
    assert "two decimals" in " ".join(rounded.notes)


@pytest.mark.slow
def test_uci_files_are_read_as_they_come(tmp_path, monkeypatch):
    row = "39, State-gov, 77516, Bachelors, 13, Never-married, Sales, Husband, White, Male, 2174, 0, 40, Cuba, {}\n"
    gap = row.replace("State-gov", "?").format("<=50K")
    (tmp_path / "adult.data").write_text(row.format("<=50K") * 22654 + row.format(">50K") * 7508 + gap * 9 + "\n")
    lines = "63.03 22.55 39.61 40.48 98.67 -0.25 AB\n" * 210 + "1 2 3 4 5 6.789 NO\n" * 100
    (tmp_path / "column_2C.dat").write_text(lines)
    monkeypatch.setenv("SEPC_DATA", str(tmp_path))
    assert datasets.load_adult().X[0].tolist() == [39.0, 77516.0, 13.0, 2174.0, 0.0, 40.0]
    spine = datasets.load_vertebral()
    assert (spine.source, spine.X[-1].tolist()) == ("column_2C.dat", [1.0, 2.0, 3.0, 4.0, 5.0, 6.79])


@pytest.mark.slow
@pytest.mark.usefixtures("no_folder")
def test_openml_stands_in_for_local_files(monkeypatch):
    asked = answers(monkeypatch, adult_frame())
    adult = datasets.load_adult()
    assert (asked, adult.X.shape, adult.source) == ([1590], (30162, 6), "OpenML, data set 1590")
    asked = answers(monkeypatch, vertebral_frame())
    spine = datasets.load_vertebral()
    assert (asked, spine.counts) == ([1524], {"Abnormal": 210, "Normal": 100})
    assert spine.X[-1].tolist() == [2.23, 3.23, 4.23, 5.23, 6.23, 7.23]


@pytest.mark.slow
@pytest.mark.usefixtures("no_folder")
def test_other_counts_are_refused_with_both_numbers(monkeypatch):
    answers(monkeypatch, adult_frame(n_low=22653, n_high=7509))
    with raises("adult-rows", n_rows=30162, counts={"<=50K": 22653, ">50K": 7509}):
        datasets.load_adult()
    answers(monkeypatch, vertebral_frame(n_normal=99))
    with raises("data-set-labels", counts={"Abnormal": 310}, expected={"Abnormal": 210, "Normal": 100}):
        datasets.load_vertebral()


@pytest.mark.parametrize("known", [True, False])
def test_without_file_and_network_the_error_says_where_to_put_what(monkeypatch, tmp_path, known):
    def fetch_openml(**_):
        raise URLError("no route")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    monkeypatch.setenv("SEPC_DATA", str(tmp_path) if known else "")
    with raises(
        "data-set-missing", SepcError, name="Adult", files="adult_train_clean.csv or adult.data", variable="SEPC_DATA"
    ):
        datasets.load_adult_stratum()
    place = f"SEPC_DATA is {tmp_path}, which has no such file" if known else "SEPC_DATA is not set"
    with raises("data-set-missing", SepcError, name="Vertebral Column", place=place):
        datasets.load_vertebral()


def test_iris_refuses_a_feature_that_it_does_not_have():
    with raises("data-set-features", features=["petal colour"]):
        datasets.load_iris(["petal colour"])


def test_generators_keep_to_their_seed():
    assert np.array_equal(datasets.make_moons(seed=3).X, datasets.make_moons(seed=3).X)
    assert not np.array_equal(datasets.make_circles(seed=3).X, datasets.make_circles(seed=4).X)
    xor = datasets.make_xor()
    assert (xor.y == (xor.X[:, 0] != xor.X[:, 1]).astype(int).astype(str)).all()
