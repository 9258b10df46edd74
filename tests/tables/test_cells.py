"""Cells of raw tables: values in whatever form they come, and errors that name the cell."""

import datetime as dt
import decimal
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from coded import raises
from raw_tables import patients

from sepc.tables import TableEncoder
from sepc.tables.cells import CellError, as_kind, read_cells, read_table
from sepc.tables.column_learning import Limits, learn_column


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1, None], [3.0, 1.0, 2.0]),
        (["3", " 1 ", "?"], [3.0, 1.0, 2.0]),
        (["3", "1", "N/A"], [3.0, 1.0, 2.0]),
        ([decimal.Decimal("3"), decimal.Decimal("1"), None], [3.0, 1.0, 2.0]),
        (pd.array([3, 1, None], dtype="Int64"), [3.0, 1.0, 2.0]),
        (pd.to_timedelta([3, 1, None], unit="D"), [3.0, 1.0, 2.0]),
        ([True, False, None], [1.0, 0.0, 0.0]),
        (["TRUE", "false", ""], [1.0, 0.0, 0.0]),
        (pd.array([True, False, None], dtype="boolean"), [1.0, 0.0, 0.0]),
        (["2020-01-03", "2020-01-01", None], [2.0, 0.0, 1.0]),
        ([dt.date(2020, 1, 3), dt.date(2020, 1, 1), None], [2.0, 0.0, 1.0]),
        (["2020-01-03T12:00+02:00", "2020-01-01 10:00", None], [2.0, 0.0, 1.0]),
    ],
)
def test_values_are_read_in_whatever_form_they_come(values, expected):
    assert TableEncoder().fit_transform(pd.DataFrame({"a": values}))["a"].tolist() == expected


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [("age", "old", "number"), ("age", np.inf, "number"), ("smoker", "maybe", "true or"), ("joined", 3, "date")],
)
def test_a_cell_that_does_not_fit_is_named_with_its_row(column, value, rule):
    table, _ = patients()
    encoder = TableEncoder().fit(table)
    table = table.astype({column: object})
    table.loc["row 6", column] = value
    with raises("cell-value", CellError, column=column, row=7) as caught:
        encoder.transform(table)
    found = caught.value
    assert rule in found.fields["rule"]
    assert found.moved(1000).fields == found.fields | {"row": 1007}
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


LONG_IDS = [12345678901234567890 + k for k in range(40)]


def test_equal_columns_of_an_arrow_table_are_no_equal_names():
    assert list(read_table(pa.table({"a": [0], "b": [0]})).columns) == ["a", "b"]
    with raises("table-columns-duplicated", columns="'a'"):
        read_table(pa.table([[0], [1]], names=["a", "a"]))


class TestLongNumbers:
    """Whole numbers of so many digits that a float cannot tell them apart are names."""

    @pytest.mark.parametrize(
        "ids",
        [
            np.array([str(i) for i in LONG_IDS], dtype=object),
            pd.Series([i - (1 << 62) * 2 for i in LONG_IDS], dtype="int64"),
            pd.Series(LONG_IDS, dtype="uint64"),
            pd.Series([*LONG_IDS[:-1], None], dtype="UInt64"),
            pd.Series(LONG_IDS, dtype=object),
        ],
        ids=["text", "int64", "uint64", "UInt64", "object"],
    )
    def test_ids_stay_apart_and_name_a_record(self, ids):
        column = learn_column("id", ids, Limits(2, 20))
        assert column.kind == "left out"
        assert f"{len(pd.Series(ids).dropna())} " in column.reason
        assert len(set(read_cells(ids).texts)) >= 39

    def test_one_long_number_among_others_is_a_number(self):
        cells = np.array(["1", "2", "3", "12345678901234567891"])
        assert learn_column("x", cells, Limits(2, 20)).kind == "number"

    def test_a_number_too_large_to_calculate_with_is_named_with_its_row(self):
        for cells in (np.array([1.0, 1e300]), np.array(["1", "1e300"])):
            with raises("cell-value", CellError, column="x", row=2):
                as_kind(read_cells(cells), "number", "x")
