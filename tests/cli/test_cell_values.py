"""Values of texts: labels as they stand, and more texts for missing values."""

from pathlib import Path

import pyarrow as pa
import pytest
from command_line import COLUMNS, as_csv, do, read, records
from pyarrow import parquet

from sepc.cli.cell_values import CellParser
from sepc.cli.notations import GivenNotation


@pytest.mark.usefixtures("here")
class TestCellValues:
    @pytest.mark.slow
    def test_labels_come_out_as_they_went_in(self):
        for labels in (("0", "1"), ("01", "1"), ("-3", "12"), ("1.0", "2.0"), ("n o", "yes, so")):
            rows = [[*row[:-1], labels[row[-1] == "yes"]] for row in records(60)]
            Path("data.csv").write_text(as_csv(rows))
            assert do("fit data.csv --target label -o m.sepc") == 0
            assert do("predict m.sepc new.csv -o out.csv") == 0
            assert {row["label"] for row in read("out.csv")} == set(labels)

    def test_more_texts_can_mean_that_nothing_is_there(self):
        Path("gaps.csv").write_text(as_csv([["1", "unknown", "red", ""], ["1", "", "red", ""]], COLUMNS))
        assert do("predict model.sepc gaps.csv -o out.csv") == 1
        assert do("predict model.sepc gaps.csv -o out.csv --missing unknown") == 0
        assert len({row["trust"] for row in read("out.csv")}) == 1

    @pytest.mark.parametrize("missing", ["--missing=-999", "--missing=-999.0"])
    def test_a_number_means_it_however_it_is_written_in_texts_and_typed_columns(self, missing):
        rows = [["1", weight, "red", ""] for weight in ("-999", "-999.00", "-9.99e2", "")]
        Path("gaps.csv").write_text(as_csv(rows, COLUMNS))
        numbers = pa.array([-999.0, -999.0, None, -999.0])
        for name, weights in (("float", numbers), ("int", numbers.cast(pa.int32()))):
            frame = {"size": [1.0] * 4, "weight": weights, "colour": ["red"] * 4, "note": [""] * 4}
            parquet.write_table(pa.table(frame), f"{name}.parquet")
        trusts = set()
        for file in ("gaps.csv", "float.parquet", "int.parquet"):
            assert do(f"predict model.sepc {file} -o out.csv {missing}") == 0
            trusts |= {float(row["trust"]) for row in read("out.csv")}
        assert len(trusts) == 1


class TestBareDigits:
    def test_they_are_read_as_the_other_columns_tell_and_anew_for_other_rows(self):
        parser = CellParser(given=GivenNotation(delimiter=";"))
        columns = {"pay": pa.array(["2.017", "130"]), "score": pa.array(["41,5", "40"]), "n": pa.array(["1.25", ""])}
        parser.look_at({name: columns[name] for name in ("pay", "score")})
        assert parser.values("pay", columns["pay"]).to_pylist() == [2017.0, 130.0]
        parser.look_at({"n": columns["n"]})
        assert parser.values("n", columns["n"]).to_pylist() == [1.25, None]
        assert parser.values("n", pa.array(["7.5"])).to_pylist() == [7.5]

    @pytest.mark.parametrize("word", ["nan", " 1.5", "NA", "1.5 ", "inf", "-"])
    def test_anything_else_among_them_is_read_as_it_was(self, word):
        column = pa.array([*map(str, range(1100)), word])
        parser = CellParser()
        parser.look_at({"a": column})
        assert "a" not in parser._bare
        if word in ("inf", "-"):
            assert "a" not in parser.notations
        else:
            expected = 1.5 if "1" in word else None
            last = parser.values("a", column).to_pylist()[-1]
            assert last == expected or (expected is None and last != last)
