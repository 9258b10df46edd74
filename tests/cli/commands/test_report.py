"""`sepc report`: on rows that were held back, or on all rows for a model."""

import json
import re
from pathlib import Path

import pytest
from command_line import as_csv, do, files, records


@pytest.mark.usefixtures("here")
class TestReport:
    @pytest.mark.parametrize("suffix", ["html", "md", "json"])
    def test_a_report_is_tested_with_rows_that_were_held_back(self, suffix, capsys):
        assert do(f"report train.csv --target label -o out.{suffix} --title 'Big <or> small'") == 0
        told = capsys.readouterr().err
        n_fitted, n_tested = map(
            int, re.search(r"fitted to (\d+) of the rows, tested with the other (\d+)", told).groups()
        )
        assert n_fitted + n_tested == 300
        assert abs(n_tested - 75) <= 1
        assert f"report written to out.{suffix}" in told
        text = Path(f"out.{suffix}").read_text(encoding="utf-8")
        assert ("Big <or> small" if suffix == "json" else "Big &lt;or&gt; small") in text
        if suffix == "json":
            assert json.loads(text)["results"]["n_records"] == n_tested

    def test_a_report_names_records_by_their_rows_in_the_file(self):
        rows = records(120)
        Path("numbered.csv").write_text(as_csv(rows))
        assert do("report numbered.csv --target label -o r.json") == 0
        content = json.loads(Path("r.json").read_text())
        told = content["records"]
        truth = [content["labels"][code] for code in told["truth"]]
        assert truth == [rows[number - 1][-1] for number in told["id"]]
        for one in content["verdicts"]:
            number = told["id"][one["record"]]
            assert one["values"][0] == float(rows[number - 1][0])

    def test_a_report_on_a_model_takes_all_rows(self):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("report test.csv --target label --model model.sepc -o out.json") == 0
        assert json.loads(Path("out.json").read_text(encoding="utf-8"))["results"]["n_records"] == 50

    def test_a_report_that_cannot_be_written_is_refused_first(self, here):
        assert do("report train.csv --target label -o out.pdf") == 2
        assert do("report train.csv --target lable -o out.html") == 1
        assert files(here) == set()
