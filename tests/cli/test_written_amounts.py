"""Columns of amounts, times and dates: each is read in one way by all commands, or refused with the choice."""

import csv
import io
from datetime import datetime, time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from coded import raises
from command_line import do, read
from pyarrow import parquet
from said import said

from sepc import load
from sepc.cli.cell_values import CellParser, require_no_strays
from sepc.common.errors import InputError
from sepc.tables import TableEncoder
from sepc.tables.notation import CLOCK

N = 40


def values(texts, **remembered):
    """Return what texts are read as, and their notation."""
    column = pa.array(texts)
    parser = CellParser(remembered=remembered)
    parser.look_at({"c": column})
    found = parser.values("c", column)
    if pa.types.is_string(found.type):
        require_no_strays(found, "c")
    return found.to_pylist(), parser.notations.get("c")


@pytest.mark.parametrize(
    ("texts", "numbers", "unit"),
    [
        (["23.3 mg", "7mg", None, "0.5  mg"], [23.3, 7.0, None, 0.5], "mg"),
        (["1,234.5 kg", "700 kg"], [1234.5, 700.0], "kg"),
        (["36,6 °C", "39,15 °C"], [36.6, 39.15], "°C"),
        (["1 day", "14 days"], [1.0, 14.0], "day"),
        (["22.5 kg/m²", "31 kg/m²"], [22.5, 31.0], "kg/m²"),
        (["3 / 10", "10/10"], [3.0, 10.0], "/10"),
        (["-3 m", "+2 m", "1e3 m"], [-3.0, 2.0, 1000.0], "m"),
        (["13:45", "0:30", "23:59:06"], [13.75, 0.5, 23 + 59 / 60 + 6 / 3600], CLOCK),
        (["1:45 PM", "12:00 AM", "12:30 p.m.", "9 am"], [13.75, 0.0, 12.5, 9.0], CLOCK),
        (["36:20", "100:15"], [36 + 1 / 3, 100.25], CLOCK),
        (["\u22125.5", "3", "\u200b4", "\xa07\xa0", "\uff11\uff12.\uff15"], [-5.5, 3.0, 4.0, 7.0, 12.5], ""),
    ],
)
def test_amounts_and_times_are_read_as_numbers(texts, numbers, unit):
    found, notation = values(texts)
    assert [one is None for one in found] == [one is None for one in numbers]
    assert np.allclose([x for x in found if x is not None], [x for x in numbers if x is not None], rtol=1e-14)
    assert notation.unit == unit


@pytest.mark.parametrize(
    ("texts", "dates"),
    [
        (["January 31, 2024", "Feb 1, 2023"], ["2024-01-31", "2023-02-01"]),
        (["Wednesday, 31 January 2024", "Thu. 1 Feb 2024"], ["2024-01-31", "2024-02-01"]),
        (["3rd of March, 2024", "21st April 2024"], ["2024-03-03", "2024-04-21"]),
        (["Sept. 5, 2020 1:30 PM", "May 5, 2020 13:30"], ["2020-09-05T13:30", "2020-05-05T13:30"]),
        (
            ["2024-01-31", "31.12.2023", "1 Feb 2024", "2024/02/03"],
            ["2024-01-31", "2023-12-31", "2024-02-01", "2024-02-03"],
        ),
        (["2024-01-31T23:30:00-05:00", "13.12.2023"], ["2024-02-01T04:30", "2023-12-13"]),
        (["2024-03", "12/2023", "2024-05-07"], ["2024-03-01", "2023-12-01", "2024-05-07"]),
        (["Mar 2024", "December 2023"], ["2024-03-01", "2023-12-01"]),
    ],
)
def test_long_and_mixed_dates_are_read(texts, dates):
    assert values(texts)[0] == [datetime.fromisoformat(date) for date in dates]


@pytest.mark.parametrize(
    ("texts", "code", "named"),
    [
        (["5 mg", "0.2 g"] * 5, "units-mixed", ["'mg' ('5 mg')", "'g' ('0.2 g')", "--drop c"]),
        (["5 mg", "7"] * 5, "units-mixed", ["'mg' ('5 mg')", "none ('7')"]),
        (["300K", "1.2M"] * 5, "units-mixed", ["'K'", "'M'"]),
        (["18 months", "3 years"], "units-mixed", ["'month'", "'year'"]),
        ([f"{k} mg" for k in range(12)] + ["<5 mg"], "stray-value", ["'<5 mg'", "row 13", "--missing"]),
        ([f"{k}:30" for k in range(12)] + ["noon"], "stray-value", ["'noon'", "times"]),
        (["36:20", "100:15:07"], "times-mixed", ["'36:20'", "'100:15:07'"]),
        ([f"{110 + k}/{70 + k}" for k in range(12)], "two-numbers", ["'110/70'", "row 1", "--drop c"]),
        ([f"{110 + k} x {70 + k}" for k in range(12)], "two-numbers", ["'110 x 70'"]),
        ([f"52.{k}, 13.{k}" for k in range(12)], "two-numbers", ["'52.0, 13.0'"]),
        ([f"5.{k} \xb1 0.2" for k in range(12)], "two-numbers", ["'5.0 \xb1 0.2'"]),
        ([f"5.{k} (0.2)" for k in range(12)], "two-numbers", ["'5.0 (0.2)'"]),
        ([f"{k}h {k + 5}m" for k in range(12)], "two-numbers", ["'0h 5m'"]),
        ([f"PT{k}H5M" for k in range(12)], "two-numbers", ["'PT0H5M'"]),
        ([f"{k} days 03:00:00" for k in range(12)], "two-numbers", ["'0 days 03:00:00'"]),
        ([f"'5.{k}" for k in range(12)], "number-with-marks", ["5.0"]),
        ([f'="5.{k}"' for k in range(12)], "number-with-marks", ["5.0"]),
        ([f"5.{k}*" for k in range(12)], "number-with-marks", ["'5.0*'"]),
        ([f"{k}-Jan-24" for k in range(1, 13)], "date-two-digit-years", ["'1-Jan-24'"]),
        ([f"2024-W{k}" for k in range(10, 22)], "date-unreadable", ["'2024-W10'"]),
        ([f"Q{1 + k % 4} {2000 + k}" for k in range(12)], "date-unreadable", ["'Q1 2000'"]),
        (["13/02/2024", "02/13/2024"], "date-orders-mixed", ["'13/02/2024'", "'02/13/2024'"]),
        (
            ["2024-02-13", "01/01/2024", "01/02/2024"],
            "date-order-unclear",
            ["'01/02/2024'", "--date dmy", "2024-02-01"],
        ),
        (["31.01.2024", "1.2.24"], "date-two-digit-years", ["31.01.2020"]),
        ([f"{k}. Januar 2024" for k in range(1, 13)], "date-unreadable", ["'1. Januar 2024'", "row 1", "--drop c"]),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_the_choice(texts, code, named):
    with pytest.raises(InputError) as caught:
        values(texts)
    assert caught.value.code == code
    for one in named:
        assert one in str(caught.value)


@pytest.mark.parametrize(
    "texts",
    [
        ["12a", "14b", "3c"],
        ["1A", "2B", "3C"],
        ["0-4", "5-9", "10-14"],
        ["3 small", "4 large"],
        ["route 66", "7 eleven"],
        ["1:2:3:4", "1:2"],
        ["Apollo 11", "Soyuz 5"],
        ["mg", "kg"],
        ["1/2", "3/4"],
        [f"192.168.0.{k}" for k in range(12)],
        [f"030 {1234567 + k}" for k in range(12)],
        [f"{10 * k}-{10 * k + 9}" for k in range(12)],
        [f"A-{k}" for k in range(12)],
        [f"2024-A-{k}" for k in range(12)],
    ],
)
def test_codes_and_names_stay_texts(texts):
    assert values(texts) == (texts, None)


def table(columns, labels=None):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, *(["label"] if labels else [])])
    writer.writerows(zip(*columns.values(), *([labels] if labels else []), strict=True))
    return out.getvalue()


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A model of amounts, times and mixed dates, which alone tell the label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ill = np.arange(N) % 2 == 1
    columns = {
        "dose": [f"{x:.1f} mg" for x in rng.normal(20 + 20 * ill, 2)],
        "at": [f"{int(x)}:{int(60 * (x % 1)):02d}" for x in rng.uniform(6, 11, N) + 10 * ill],
        "day": [
            f"{1 + k % 28}.{1 + k % 12}.2024" if k % 3 else f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(N)
        ],
    }
    Path("t.csv").write_text(table(columns, ["no", "yes"] * (N // 2)))
    assert do("fit t.csv --target label -o m.sepc") == 0
    return "m.sepc"


@pytest.mark.usefixtures("model")
class TestModels:
    def test_no_column_is_dropped(self, capsys):
        assert {c.name: c.kind for c in load("m.sepc")["columns"].columns_} == {
            "dose": "number",
            "at": "number",
            "day": "date",
        }
        assert do("fit t.csv --target label -o again.sepc") == 0
        taken = {one.columns: one.notation for one in said(capsys.readouterr().err)["read-as"].all}
        assert taken["dose"] == "amounts in mg"
        assert taken["at"] == "times, in hours"

    def test_a_new_file_is_read_in_the_same_way(self):
        Path("new.csv").write_text(
            table({"dose": ["41 mg", "19.5mg"], "at": ["18:30", "8:00 am"], "day": ["5 May 2024"] * 2})
        )
        assert do("predict m.sepc new.csv -o out.csv") == 0
        assert [row["label"] for row in read("out.csv")] == ["yes", "no"]
        parquet.write_table(
            pa.table({"dose": [41.0, 19.5], "at": [time(18, 30), time(8)], "day": [datetime(2024, 5, 5)] * 2}),
            "new.parquet",
        )
        assert do("predict m.sepc new.parquet -o typed.csv") == 0
        assert [row["trust"] for row in read("typed.csv")] == [row["trust"] for row in read("out.csv")]

    @pytest.mark.parametrize(
        ("dose", "at", "named"),
        [
            ("41 g", "18:30", "'41 g'"),
            ("41", "18:30", "in mg"),
            ("41 mg", "1830", "in h:mm"),
            ("41 mg", "18.5", "in h:mm"),
            ("$41", "18:30", "'$41'"),
            ("many", "18:30", "'many'"),
        ],
    )
    def test_what_is_written_otherwise_is_refused(self, dose, at, named, capsys):
        Path("new.csv").write_text(table({"dose": [dose], "at": [at], "day": ["2024-05-05"]}))
        assert do("predict m.sepc new.csv -o out.csv") == 1
        assert named in capsys.readouterr().err
        assert not Path("out.csv").exists()


def test_a_model_of_bare_numbers_takes_no_times_for_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(table({"x": [str(k % 2 * 10 + k / 8) for k in range(N)]}, ["no", "yes"] * (N // 2)))
    assert do("fit t.csv --target label -o m.sepc") == 0
    Path("new.csv").write_text("x\n10:30\n")
    assert do("predict m.sepc new.csv -o out.csv") == 1
    assert "'10:30'" in capsys.readouterr().err


def test_a_date_with_equal_steps_is_no_id(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    days = [str(np.datetime64("2024-01-01") + k) for k in range(N)]
    columns = {"day": days, "no": range(N), "x": rng.normal(size=N).round(3)}
    Path("t.csv").write_text(table(columns, ["no", "yes"] * (N // 2)))
    for line in ("landscape t.csv --target label --json", "fit t.csv --target label -o m.sepc --json"):
        capsys.readouterr()
        assert do(line) == 0
        told = capsys.readouterr().out
        assert "no is a running number" in told
        assert "day is a running number" not in told
    assert do("report t.csv --target label --max-records 0 -o r.json") == 0
    told = Path("r.json").read_text()
    assert "no is a running number" in told
    assert "day is a running number" not in told


@pytest.mark.parametrize("text", ["{} mg", "{}:30", "{}/80"])
def test_a_table_pipeline_warns_of_a_column_that_it_cannot_read(text):
    rows = [[text.format(k), k % 3] for k in range(60)]
    with pytest.warns(match="x0"):
        encoder = TableEncoder().fit(rows)
    assert "convert" in encoder.columns_[0].reason


def test_a_unit_is_kept_in_the_notation_of_a_file():
    assert values(["5 mg", "6 mg"], c=values(["1 mg"])[1])[0] == [5.0, 6.0]
    with raises("unit-differs-from-model"):
        values(["5 g", "6 g"], c=values(["1 mg"])[1])
