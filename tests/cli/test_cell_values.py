"""Values of texts: labels as they stand, and more texts for missing values."""

from pathlib import Path

import pytest
from command_line import COLUMNS, as_csv, do, read, records


@pytest.mark.usefixtures("here")
class TestCellValues:
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
