"""Columns of raw tables: kinds, features, rare and unseen values, and the way back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_tables import patients, texts

from sepc.tables import TableEncoder
from sepc.tables.column_learning import Limits, learn_column


def test_each_column_gets_the_kind_that_its_values_have():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    kinds = {column.name: column.kind for column in encoder.columns_}
    assert kinds == {
        "age": "number",
        "color": "category",
        "smoker": "bool",
        "weight": "number",
        "joined": "date",
        "sex": "category",
        "id": "left out",
        "country": "left out",
    }
    names = encoder.get_feature_names_out().tolist()
    assert names[:2] == ["age", "age is missing"]
    assert {"color = red", "color = (missing)", "smoker", "weight", "joined"} < set(names)
    assert sum(name.startswith("sex = ") for name in names) == 1


def test_what_is_missing_too_rarely_gets_no_feature_of_its_own():
    few = pd.DataFrame({"age": [*range(999), None], "color": ["red", "blue"] * 499 + ["red", None]})
    assert TableEncoder().fit(few).get_feature_names_out().tolist() == [
        "age",
        "color = red",
        "color = blue",
        "color = (other)",
    ]
    many = pd.DataFrame({"age": [*range(980), *[None] * 20]})
    assert TableEncoder().fit(many).get_feature_names_out().tolist() == ["age", "age is missing"]


def test_a_number_that_is_always_the_same_leaves_only_whether_it_is_missing():
    table = pd.DataFrame({"dead since": [5.0, None, None, 5.0, None]})
    encoder = TableEncoder().fit(table)
    assert encoder.transform(table)["dead since is missing"].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]
    assert encoder.inverse_transform(encoder.transform(table)).astype(float).equals(table)


def test_rare_values_and_those_beyond_the_limit_share_a_feature():
    color = ["red"] * 500 + ["green"] * 300 + ["blue"] * 195 + ["teal"] * 5
    encoder = TableEncoder(max_levels=2).fit(pd.DataFrame({"color": color}))
    assert encoder.columns_[0].levels == ("red", "green", "(other)")
    assert encoder.columns_[0].pooled == ("blue", "teal")
    assert encoder.transform(pd.DataFrame({"color": ["teal", "pink", None]})).to_numpy().tolist() == [[0, 0, 1]] * 3


def test_unseen_values_work_and_are_reported_but_rare_ones_were_seen():
    color = ["red"] * 50 + ["green"] * 30 + ["blue"] * 20 + ["teal"]
    encoder = TableEncoder().fit(pd.DataFrame({"color": color, "size": range(101)}))
    new = pd.DataFrame({"color": ["pink", "pink", "teal", None], "size": [1, 2, None, 4]})
    assert encoder.unseen(new) == {"color": {"(missing)": 1, "pink": 2}}
    plain = TableEncoder().fit(pd.DataFrame({"color": color[:100]}))
    assert plain.transform(new).to_numpy().tolist() == [[0.0, 0.0, 0.0]] * 4


@pytest.mark.slow
@given(st.lists(texts, min_size=1, max_size=11, unique=True), st.integers(0, 11))
def test_decoding_returns_the_categories_that_were_encoded(known, at):
    values = [*known[:at], None, *known[at:]]
    table = pd.DataFrame({"a": pd.Series(pd.Categorical(values * 2))})
    encoder = TableEncoder().fit(table)
    raw = encoder.inverse_transform(encoder.transform(table))["a"].astype(object)
    assert raw.where(raw.notna(), None).tolist() == values * 2


def test_decoding_every_kind_of_column_returns_the_table():
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    raw = encoder.inverse_transform(encoder.transform(table))
    assert raw.index.equals(table.index)
    expected = table.drop(columns=["id", "country"]).astype({"weight": float})
    expected["joined"] = table["joined"].dt.strftime("%Y-%m-%d")
    pd.testing.assert_frame_equal(raw, expected, check_dtype=False, check_categorical=False)


def test_what_was_never_negative_cannot_be():
    months = learn_column("months", np.array([4, 6, 48]), Limits(2, 20))
    balance = learn_column("balance", np.array([-10.5, 3.25, 8.0]), Limits(2, 20))
    below = np.array([[-8.25]])
    assert months.nearest_valid(below).tolist() == [[0.0]]
    assert balance.nearest_valid(below).tolist() == [[-8.25]]
