"""Frames go out as they came in."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coded import raises

from sepc import SepcError
from sepc.common.frames import FrameMaker, plain, records


def test_a_frame_is_of_the_kind_that_came_in():
    columns = {"a": [1, 2]}
    assert isinstance(FrameMaker.like(pl.DataFrame(columns)).frame(columns), pl.DataFrame)
    for X in (pd.DataFrame(columns), np.zeros((2, 1)), [[1], [2]]):
        assert isinstance(FrameMaker.like(X).frame(columns), pd.DataFrame)


def test_rows_that_came_in_keep_their_names():
    maker = FrameMaker.like(pd.DataFrame({"x": [0, 1]}, index=["p", "q"]))
    assert maker.frame({"a": [1, 2]}, rows=True).index.tolist() == ["p", "q"]
    assert maker.frame({"a": [1, 2, 3]}).index.tolist() == [0, 1, 2]
    joined = FrameMaker.joined([maker, FrameMaker("pandas", pd.Index(["r"]))])
    assert joined.frame({"a": [1, 2, 3]}, rows=True).index.tolist() == ["p", "q", "r"]


def test_a_missing_library_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises("frame-library-missing", SepcError, library="pandas"):
        FrameMaker().frame({"a": [1]})


def test_plain_values_and_records():
    assert [type(plain(value)) for value in (np.int8(1), np.float32(1), np.bool_(1), np.str_("a"), 1, None)] == [
        int,
        float,
        bool,
        str,
        int,
        type(None),
    ]
    assert records({"a": [1, 2], "b": "xy"}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    with pytest.raises(ValueError, match="zip"):
        records({"a": [1, 2], "b": "x"})
