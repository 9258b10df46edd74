"""How a file is written: what a model remembers of it goes through a file, and damage is refused."""

import pytest

from sepc.common.errors import InputError
from sepc.tables import TableEncoder
from sepc.tables.notation import ColumnNotation, TextNotation

NOTATION = TextNotation(";", {"x": ColumnNotation(",", ".", "%"), "since": ColumnNotation(date="dmy")})


def test_an_encoder_remembers_until_the_next_fit():
    encoder = TableEncoder().fit([[1], [2]])
    assert "text_notation" not in encoder.to_dict()
    encoder.text_notation_ = NOTATION
    assert TableEncoder.from_dict(encoder.to_dict()).text_notation_ == NOTATION
    assert encoder.fit([[1], [2]]).text_notation_ == TextNotation()


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        {"separator": ";"},
        {"separator": ";;", "columns": {}},
        {"separator": None, "columns": []},
        {"separator": None, "columns": {"x": {"decimal": ","}}},
        {"separator": None, "columns": {"x": {"decimal": "x", "thousands": None, "unit": "", "date": None}}},
        {"separator": None, "columns": {"x": {"decimal": ",", "thousands": ",", "unit": "", "date": None}}},
        {"separator": None, "columns": {"x": {"decimal": None, "thousands": 3, "unit": "", "date": None}}},
        {"separator": None, "columns": {"x": {"decimal": None, "thousands": None, "unit": None, "date": "ydm"}}},
    ],
)
def test_what_is_no_notation_is_refused(damaged):
    state = TableEncoder().fit([[1], [2]]).to_dict() | {"text_notation": damaged}
    with pytest.raises(InputError):
        TableEncoder.from_dict(state)
