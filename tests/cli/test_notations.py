"""How files are written: what a model remembers, what tells a new file apart, and answers in the same notation."""

from pathlib import Path

import pyarrow as pa
import pytest
from coded import raises
from command_line import do
from pyarrow import parquet
from said import said

import sepc
from sepc.cli.notations import GivenNotation, find_notations
from sepc.tables.notation import ColumnNotation

GERMAN = "income;score;since;label\n" + "".join(
    f"{1 + k}.{100 + 7 * k};{40 + 5 * (k % 2)},{k % 10};{10 + k % 15}.0{1 + k % 9}.20{19 + k % 2};{'ab'[k % 2]}\n"
    for k in range(30)
)
NEW = "income;score;since\n2.017;41,5;31.01.2020\n950;45,25;01.02.2019\n"


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A folder with a model of a file that has decimal commas."""
    folder = tmp_path_factory.mktemp("german")
    (folder / "german.csv").write_text(GERMAN)
    assert do(f"fit {folder}/german.csv --target label -o {folder}/german.sepc") == 0
    return folder


@pytest.fixture
def model(german, tmp_path, monkeypatch):
    (tmp_path / "german.sepc").symlink_to(german / "german.sepc")
    (tmp_path / "german.csv").symlink_to(german / "german.csv")
    monkeypatch.chdir(tmp_path)
    return "german.sepc"


def verdicts(name, content, extra=""):
    """Return what becomes of a file: exit code, and the rows of the answer."""
    Path(name).write_text(content)
    code = do(f"predict german.sepc {name} -o out.csv {extra}")
    return code, Path("out.csv").read_text().splitlines() if code == 0 else []


@pytest.mark.usefixtures("model")
class TestDecimalCommas:
    def test_what_was_taken_is_said_in_a_line_for_each_kind_of_column(self, capsys):
        assert do("fit german.csv --target label -o again.sepc") == 0
        taken = [(one.columns, one.example, one.value) for one in said(capsys.readouterr().err)["read-as"].all]
        assert taken == [("income", "10.163", 10163), ("score", "40,0", 40), ("since", "10.01.2019", "2019-01-10")]

    def test_answers_have_decimal_commas_and_the_separator_of_the_file(self):
        code, rows = verdicts("new.csv", NEW)
        assert code == 0
        assert rows[0].startswith("income;score;since;label;trust;")
        trust = rows[1].split(";")[4]
        assert "," in trust
        assert "." not in trust
        assert rows[1].startswith("2.017;41,5;31.01.2020;")

    def test_a_file_in_another_notation_gives_the_same_verdicts(self, capsys):
        _, rows = verdicts("new.csv", NEW)
        capsys.readouterr()
        code, plain = verdicts("plain.csv", "income,score,since\n2017,41.5,2020-01-31\n950,45.25,2019-02-01\n")
        assert code == 0
        assert [row.split(",")[3:] for row in plain[1:]] == [
            [cell.replace(",", ".") for cell in row.split(";")[3:]] for row in rows[1:]
        ]

    def test_one_row_is_read_as_the_model_remembers(self):
        code, rows = verdicts("one.csv", "income;score;since\n2.017;41;01.02.2020\n")
        assert code == 0
        _, same = verdicts("two.csv", "income;score;since\n2017;41,0;01.02.2020\n")
        assert rows[1].split(";")[4:] == same[1].split(";")[4:]

    def test_a_file_of_another_form_that_tells_nothing_is_refused(self, capsys):
        code, _ = verdicts("one.csv", "income|score|since\n2.017|41|01.02.2020\n")
        assert code == 1
        told = capsys.readouterr().err
        assert all(value in told for value in ("'income'", "'2.017'", "2017"))
        assert verdicts("one.csv", "income|score|since\n2.017|41|01.02.2020\n", "--decimal ,")[0] == 0

    def test_options_win(self):
        dmy = verdicts("one.csv", "income;score;since\n2.017;41;01/02/2020\n")
        mdy = verdicts("one.csv", "income;score;since\n2.017;41;01/02/2020\n", "--date mdy")
        assert dmy[0] == mdy[0] == 0
        assert dmy[1] != mdy[1]

    @pytest.mark.parametrize(
        ("rows", "values"),
        [
            ("2.017;old;31.01.2020", ("'score'", "'old'", "row 1")),
            ("2.017;41,5;31.02.2020", ("'since'", "'31.02.2020'", "row 1")),
            ("2.017;41,5;31.01.2020\n5;41.55;31.01.2020", ("'score'", "'41.55'", "'41,5'")),
            ("2.017;41,5 %;31.01.2020", ("'score'", "'41,5 %'")),
            ("1e300;41,5;31.01.2020", ("'income'", "'1e300'", "row 1")),
        ],
    )
    def test_what_does_not_fit_is_named(self, rows, values, capsys):
        assert verdicts("bad.csv", f"income;score;since\n{rows}\n")[0] == 1
        told = capsys.readouterr().err
        assert all(value in told for value in values)
        assert not Path("out.csv").exists()

    @pytest.mark.slow
    def test_all_commands_that_take_a_model_read_alike(self, capsys):
        Path("few.csv").write_text("income;score;since;label\n" + "2.017;41;01.02.2020;a\n3.100;46;03.04.2020;b\n" * 3)
        assert do("explain german.sepc few.csv --row 1 --details") == 0
        assert "2017" in capsys.readouterr().out
        assert do("feedback german.sepc few.csv --target label") == 0
        assert do("report few.csv --target label --model german.sepc -o r.json") == 0
        assert "2017" in Path("r.json").read_text()

    def test_names_alone_get_names_alone(self, capsys):
        for content in ("income;score;since\n", "income;score;since"):
            code, rows = verdicts("none.csv", content)
            assert code == 0
            assert rows == [
                "income;score;since;label;trust;reason;region;distance;typicality;stability;accepted;refusal;beyond"
            ]
        assert "no-rows" in said(capsys.readouterr().err)
        for suffix in ("parquet", "xlsx"):
            assert do(f"predict german.sepc none.csv -o none.{suffix}") == 0
        assert parquet.read_table("none.parquet").num_rows == 0
        assert do("explain german.sepc none.csv --row 1") == 1
        assert "none.csv" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_model_of_plain_numbers_takes_no_percentages_for_them(capsys):
    Path("percent.csv").write_text("size,weight,colour\n5%,3%,red\n")
    assert do("predict model.sepc percent.csv -o out.csv") == 1
    told = capsys.readouterr().err
    assert "'size'" in told
    assert "'5%'" in told
    Path("dollars.csv").write_text("size,weight,colour\n$5,$3,red\n")
    assert do("predict model.sepc dollars.csv -o out.csv") == 0
    found = said(capsys.readouterr().err)["read-as"]
    assert (found.example, found.value) == ("$5", 5)
    assert "$" in found.notation


def test_a_model_remembers_in_its_file(german):
    notation = sepc.load(german / "german.sepc")["columns"].text_notation_
    assert notation.separator == ";"
    assert notation.columns["income"] == ColumnNotation(",", ".")
    assert notation.columns["since"] == ColumnNotation(date="dmy")


def test_where_both_decimal_signs_occur_both_are_told(tmp_path, capsys):
    rows = "".join(f"{k}.25;{9 * k % 40},5;{'ab'[k % 2]}\n" for k in range(12))
    (tmp_path / "mixed.csv").write_text(f"x;y;label\n{rows}")
    assert do(f"landscape {tmp_path}/mixed.csv --target label") == 0
    taken = [(one.columns, one.value) for one in said(capsys.readouterr().err)["read-as"].all]
    assert taken == [("x", 10.25), ("y", 18.5)]


class TestFindNotations:
    def test_a_column_that_leaves_no_choice_decides_for_the_others(self):
        columns = {"a": pa.array(["1,234"]), "b": pa.array(["0.5"])}
        assert find_notations(columns, GivenNotation(), {})["a"] == ColumnNotation(".", ",")
        columns = {"a": pa.array(["1,234"]), "b": pa.array(["0,5"])}
        assert find_notations(columns, GivenNotation(), {})["a"] == ColumnNotation(",")

    def test_columns_in_both_ways_decide_nothing(self):
        columns = {"a": pa.array(["1,234"]), "b": pa.array(["0,5"]), "c": pa.array(["0.5"])}
        with raises("decimal-mark-unclear", name="a"):
            find_notations(columns, GivenNotation(), {})

    def test_whole_numbers_tell_nothing_and_are_remembered_so(self):
        found = find_notations({"a": pa.array(["1", "2"])}, GivenNotation(delimiter=","), {})
        assert found == {"a": ColumnNotation()}

    def test_another_currency_than_the_model_has_learned_is_refused(self):
        before = {"pay": ColumnNotation(".", unit="$")}
        assert find_notations({"pay": pa.array(["5"])}, GivenNotation(), before)["pay"].unit == "$"
        with raises("unit-differs-from-model", name="pay"):
            find_notations({"pay": pa.array(["5 €"])}, GivenNotation(), before)

    def test_a_percentage_without_its_sign_is_refused(self):
        with raises("unit-differs-from-model", name="rate", before="in %"):
            find_notations({"rate": pa.array(["5"])}, GivenNotation(), {"rate": ColumnNotation(unit="%")})
