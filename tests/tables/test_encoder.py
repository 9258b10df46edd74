"""The encoder of raw tables: the same features from any library, errors, and its state as JSON."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from coded import raises, warns
from hypothesis import given
from hypothesis import strategies as st
from raw_tables import as_polars, patients, texts

from sepc import InputError, make_table_pipeline
from sepc.tables import TableEncoder
from sepc.tables.cells import CellError


def test_features_are_what_pandas_makes_of_the_same_columns():
    table, _ = patients()
    features = TableEncoder().fit(table).transform(table)
    assert features.index.equals(table.index)
    assert set(features.dtypes) == {np.dtype("float64")}
    assert np.array_equal(features["age"], table["age"].fillna(table["age"].median()))
    assert np.array_equal(features["age is missing"], table["age"].isna())
    dummies = pd.get_dummies(table["color"].fillna("(missing)"), prefix="color", prefix_sep=" = ")
    assert np.array_equal(features[dummies.columns], dummies.astype(float))
    assert np.array_equal(features["joined"], (table["joined"] - table["joined"].min()).dt.days)
    assert np.array_equal(features["weight"], table["weight"].astype(float))


def test_pandas_polars_and_arrow_tables_give_the_same_features():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    expected = encoder.transform(table).to_numpy()
    other = as_polars(table).with_columns(pl.col("sex").cast(pl.Categorical), pl.col("color").cast(pl.Categorical))
    assert isinstance(encoder.transform(other), pl.DataFrame)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    for kind in (other, arrow, table.convert_dtypes(), table.astype(object)):
        assert np.array_equal(np.asarray(encoder.transform(kind)), expected)
        assert TableEncoder().fit(kind).to_dict() == encoder.to_dict()


def test_the_order_of_rows_and_columns_does_not_matter():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    assert TableEncoder().fit(table.sample(frac=1, random_state=1)).to_dict() == encoder.to_dict()
    mixed = table[table.columns[::-1]].assign(extra=1)
    assert encoder.transform(mixed).equals(encoder.transform(table))
    assert encoder.transform(table.drop(columns=["id", "country"])).equals(encoder.transform(table))


def test_columns_that_lack_are_all_named():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    with raises("table-columns-missing", columns="'age', 'sex'"):
        encoder.transform(table.drop(columns=["age", "sex", "id"]))


@pytest.mark.parametrize(
    ("table", "refusal"),
    [
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), raises("table-columns-duplicated", columns="'a'")),
        (pd.DataFrame({"a": []}), raises("table-empty", n_rows=0, n_columns=1)),
        (
            pd.DataFrame({"a": [1, 1], "b": [None, None]}),
            raises("table-without-differences", reason="a: 1 in all rows; b: no row has a value"),
        ),
        (pd.DataFrame({"a": [1.0, np.inf]}), raises("cell-value", CellError, column="a", row=2)),
        (pd.DataFrame({"a": [1j, 2j]}), raises("complex-data")),
    ],
)
def test_a_table_of_no_use_is_refused(table, refusal):
    with refusal:
        TableEncoder().fit(table)


@pytest.mark.parametrize("wrong", [{"min_share": 1.0}, {"min_share": "a"}, {"max_levels": 0}, {"max_levels": 2.5}])
def test_a_wrong_parameter_is_named(wrong):
    with raises(next(iter(wrong)).replace("_", "-"), **wrong):
        TableEncoder(**wrong).fit([[1], [2]])


def odd_cells(table: pd.DataFrame, column: str) -> pd.Series:
    """Return the cells of a column that are missing, or whose value no other row has."""
    values = table[column]
    rows_of_value = values.map(values.value_counts())
    return values.isna() | (rows_of_value == 1 if column in ("color", "town") else False)


def table_with_towns() -> pd.DataFrame:
    table, _ = patients()
    towns = ["Ulm"] * 50 + ["Bonn"] * 40 + ["Rome"] * 20 + ["Pisa"] * 4 + list("abcdef")
    return table.assign(town=towns)


def test_gaps_of_training_rows_are_missing_cells_and_texts_that_no_other_row_has():
    table = table_with_towns()
    encoder = TableEncoder().fit(table)
    used = [column.name for column in encoder.columns_ if column.kind != "left out"]
    odd = np.sum([odd_cells(table, name) for name in used], axis=0)
    assert encoder.gap_counts_.tolist() == np.bincount(odd).tolist()
    assert encoder.gap_counts_[1] > 6


def test_a_row_with_more_gaps_is_less_typical():
    table = table_with_towns()
    encoder = TableEncoder().fit(table)
    row = table[table.notna().all(axis=1)][:1].astype(object)
    rows = pd.concat([row] * 6, ignore_index=True)
    used = ["age", "color", "town", "weight", "sex"]
    for k, name in enumerate(used, 1):
        rows.loc[k:, name] = "never seen" if name in ("color", "town", "sex") else None
    assert encoder.gaps(rows) == [tuple(c for c in table if c in used[:k]) for k in range(6)]
    typicality = encoder.gap_typicality(rows)
    at_least = [encoder.gap_counts_[k:].sum() / len(table) for k in range(6)]
    assert typicality.tolist() == at_least
    assert (typicality[0], typicality[-1]) == (1.0, 0.0)


def test_columns_that_were_left_out_have_no_gaps():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    full = table[table.notna().all(axis=1)]
    assert encoder.gaps(full.assign(id=None, country=None)) == [()] * len(full)
    assert (encoder.gap_typicality(full.drop(columns=["id", "country"])) == 1.0).all()


cells = st.one_of(st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), texts)


@pytest.mark.slow
@given(st.lists(st.tuples(cells, cells, st.sampled_from(["red", "blue", None])), min_size=4, max_size=30))
def test_the_state_survives_json_exactly(rows):
    table = pd.DataFrame(rows * 2, columns=["a", "b", "c"])
    try:
        encoder = TableEncoder().fit(table)
    except InputError as error:
        assert error.code in ("table-without-differences", "cell-value")  # noqa: PT017
        return
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.columns_ == encoder.columns_
    assert again.to_dict() == encoder.to_dict()
    assert np.array_equal(again.gap_typicality(table), encoder.gap_typicality(table))
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.transform(table).equals(encoder.transform(table))


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"columns": 3},
        {"columns": [{}]},
        {"columns": []},
        {"min_share": 7},
        {"gap_counts": []},
        {"gap_counts": [0, 0]},
        {"gap_counts": [3, -1]},
        {"gap_counts": [1.5]},
        {"gap_counts": "12"},
        {"gap_counts": [1] * 20},
    ],
)
def test_a_damaged_state_is_refused(damage):
    state = TableEncoder().fit(patients()[0]).to_dict()
    with pytest.raises(InputError):
        TableEncoder.from_dict({**state, **damage} if damage else {})
    for name, value in {"fill": "a", "kind": "odd", "levels": ["a", 3], "whole": 1}.items():
        columns = [{**state["columns"][0], name: value}, *state["columns"][1:]]
        with pytest.raises(InputError):
            TableEncoder.from_dict({**state, "columns": columns})


class TestCategoricalFeatures:
    def table(self):
        return pd.DataFrame({"kind": [1, 2, 3, 1, 2, 3] * 4, "age": np.arange(24.0)})

    @pytest.mark.parametrize("asked", [["kind"], [0], np.array([0]), pd.Index(["kind"])])
    def test_numbers_can_stand_for_categories(self, asked):
        encoder = TableEncoder(categorical_features=asked).fit(self.table())
        assert encoder.get_feature_names_out().tolist() == ["kind = 1", "kind = 2", "kind = 3", "age"]
        assert encoder.transform(self.table()).iloc[1].tolist() == [0.0, 1.0, 0.0, 1.0]
        # Texts and floats of the same numbers are the same values.
        new = pd.DataFrame({"kind": ["3", 2.0, 7], "age": [0, 0, 0]})
        assert encoder.transform(new).to_numpy()[:, :3].tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
        assert encoder.unseen(new) == {"kind": {"7": 1}}

    def test_arrays_have_them_by_number(self):
        X = self.table().to_numpy()
        found = make_table_pipeline(categorical_features=[0]).fit(X, X[:, 0] == 2)
        assert found["columns"].columns_[0].levels == ("1", "2", "3")
        assert found.predict(X).tolist() == (X[:, 0] == 2).tolist()

    def test_they_are_kept_with_the_encoder(self):
        encoder = TableEncoder(categorical_features=[0]).fit(self.table())
        back = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
        assert back.categorical_features == ["kind"]
        assert back.columns_ == encoder.columns_

    @pytest.mark.parametrize("asked", ["kind", 0])
    def test_what_is_no_list_is_refused(self, asked):
        with raises("categorical-features", categorical_features=asked):
            TableEncoder(categorical_features=asked).fit(self.table())

    @pytest.mark.parametrize("asked", [2, "size", -1, True])
    def test_what_is_no_column_is_refused(self, asked):
        with raises("categorical-features-unknown", column=asked):
            TableEncoder(categorical_features=[asked]).fit(self.table())


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ([f"{i % 28 + 1:02}.{i % 12 + 1:02}.{2000 + i}" for i in range(60)], "dates, such as '01.01.2000'"),
        ([f"{i}.{i:03},5" for i in range(1, 60)] + ["unknown"], "numbers, such as '1.001,5'"),
    ],
)
def test_texts_that_are_something_else_in_another_notation_are_not_dropped_in_silence(written, told):
    table = pd.DataFrame({"other": np.arange(len(written)) % 7.0, "written": written})
    with warns("column-left-out", name="written") as caught:
        encoder = TableEncoder().fit(table)
    (one,) = caught
    assert f"look like {told}" in one.message.fields["reason"]
    assert any(note.startswith("written: ") for note in encoder.notes)
