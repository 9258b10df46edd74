"""`sepc report`: on rows that were held back, or on all rows for a model."""

import json
from html import unescape
from pathlib import Path

import pytest
from command_line import as_csv, do, files, records
from said import said

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("here")
class TestReport:
    @pytest.mark.parametrize("suffix", ["html", "md", "json"])
    def test_a_report_is_tested_with_rows_that_were_held_back(self, suffix, capsys):
        assert do(f"report train.csv --target label --max-records 5 -o out.{suffix} --title 'Big <or> small'") == 0
        shown = said(capsys.readouterr().err)
        n_fitted, n_tested = shown["fitted-and-tested"].n, shown["rows-drawn"].n
        assert n_fitted + n_tested == 300
        assert abs(n_tested - 75) <= 1
        assert shown["report-written"].path == f"out.{suffix}"
        text = Path(f"out.{suffix}").read_text(encoding="utf-8")
        assert ("Big <or> small" if suffix == "json" else "Big &lt;or&gt; small") in text
        if suffix == "json":
            assert json.loads(text)["results"]["n_records"] == n_tested

    def test_a_report_names_records_by_their_rows_in_the_file(self):
        rows = records(120)
        Path("numbered.csv").write_text(as_csv(rows))
        assert do("report numbered.csv --target label --max-records 12 -o r.json") == 0
        content = json.loads(Path("r.json").read_text())
        told = content["records"]
        truth = [content["labels"][code] for code in told["truth"]]
        assert truth == [rows[number - 1][-1] for number in told["id"]]
        for one in content["verdicts"]:
            number = told["id"][one["record"]]
            assert one["values"][0] == float(rows[number - 1][0])

    def test_a_report_on_a_model_takes_all_rows(self):
        Path("test.csv").write_text(as_csv(records(50, seed=2)))
        assert do("report test.csv --target label --model model.sepc --max-records 2 -o out.json") == 0
        assert json.loads(Path("out.json").read_text(encoding="utf-8"))["results"]["n_records"] == 50

    def test_expected_accuracy_is_told_by_month(self):
        days = ["made", *(f"2026-0{4 + k // 20}-11" for k in range(50))]
        lines = as_csv(records(50, seed=2)).splitlines()
        Path("test.csv").write_text("\n".join(f"{line},{day}" for line, day in zip(lines, days, strict=True)))
        assert do("report test.csv --target label --model model.sepc --max-records 0 --dates made -o out.json") == 0
        rows = json.loads(Path("out.json").read_text(encoding="utf-8"))["expected"]["rows"]
        assert [row[:2] for row in rows[:4]] == [["all", 50], ["2026-04", 20], ["2026-05", 20], ["2026-06", 10]]

    def test_so_many_verdicts_are_told_as_are_asked_for(self, capsys):
        for n in (0, 3):
            assert do(f"report train.csv --target label --model model.sepc --max-records {n} -o out.json") == 0
            assert len(json.loads(Path("out.json").read_text(encoding="utf-8"))["verdicts"]) == n
        assert do("report train.csv --target label --max-records some -o out.json") == 2
        assert "'some'" in capsys.readouterr().err

    def test_the_title_names_the_file_and_the_label_column_without_folders(self):
        Path("folder").mkdir()
        Path("folder/new.csv").write_text(as_csv(records(50, seed=2)))
        for line in ("report ./folder/new.csv", "report train.csv --test folder/new.csv"):
            assert do(f"{line} --target label -o out.json") == 0
            assert json.loads(Path("out.json").read_text(encoding="utf-8"))["title"] == "new.csv: label"

    def test_training_rows_are_counted_from_1_as_explain_does(self, capsys):
        Path("test.csv").write_text(as_csv(records(3, seed=2)))
        assert do("report test.csv --target label --model model.sepc -o out.json") == 0
        content = json.loads(Path("out.json").read_text(encoding="utf-8"))
        assert "training-records" in said(capsys.readouterr().err)
        for told in content["verdicts"]:
            number = content["records"]["id"][told["record"]]
            assert do(f"explain model.sepc test.csv --row {number} --json") == 0
            explained = json.loads(capsys.readouterr().out)
            assert [near["row"] for near in told["neighbours"]] == [near["row"] for near in explained["neighbours"]]
            assert told["text"] == explained["text"]

    @pytest.mark.usefixtures("few_members")
    def test_another_model_can_be_asked_for_and_tested_with_a_file(self, capsys):
        Path("few.csv").write_text(as_csv(records(40, seed=1)))
        Path("test.csv").write_text(as_csv(records(3, seed=2)))
        asked = "report few.csv --target label --test test.csv -o out.json"
        assert do(f"{asked} --ensemble --n-imp 0.1") == 0
        content = json.loads(Path("out.json").read_text(encoding="utf-8"))
        assert content["card"]["model"] == "SEPEnsembleClassifier"
        assert content["card"]["parameters"]["n_imp"] == "0.1"
        assert content["card"]["n_training"] == 40
        assert content["results"]["n_records"] == 3
        tested = said(capsys.readouterr().err)["rows-of-file"]
        assert (tested.n, tested.path) == (3, "test.csv")
        assert do(f"{asked} --n-imp 7") == 0
        card = json.loads(Path("out.json").read_text(encoding="utf-8"))["card"]
        assert (card["model"], card["parameters"]["n_imp"]) == ("SEPClassifier", "7")

    @pytest.mark.parametrize("asked", ["--ensemble", "--n-imp 3", "--trust raw", "--test train.csv"])
    def test_a_model_is_either_named_or_described(self, asked, here):
        assert do(f"report train.csv --target label --model model.sepc {asked} -o out.html") == 2
        assert files(here) == set()

    def test_a_report_to_pass_on_shows_no_training_record(self, capsys):
        assert do("report train.csv --target label --no-training-rows --max-records 8 -o out.json") == 0
        content = json.loads(Path("out.json").read_text(encoding="utf-8"))
        assert content["neighbours"] == {}
        assert not any(told["neighbours"] for told in content["verdicts"])
        assert "no-training-record" in said(capsys.readouterr().err)

    def test_labels_that_are_right_less_often_than_their_trust_claims_are_warned_of(self, capsys):
        rows = records(60, seed=5)
        for row in rows[:40]:  # as if the labels meant something else by now
            row[-1] = "no" if row[-1] == "yes" else "yes"
        Path("shifted.csv").write_text(as_csv(rows))
        for name in ("out.json", "out.html"):
            assert do(f"report shifted.csv --target label --model model.sepc --max-records 3 -o {name}") == 0
        content = json.loads(Path("out.json").read_text(encoding="utf-8"))
        told = capsys.readouterr().err
        first_screen = unescape(Path("out.html").read_text(encoding="utf-8").split("</section>")[0])
        assert content["warnings"]
        for warning in content["warnings"]:
            assert f"note: {warning}" in told
            assert warning in first_screen.replace("\u00a0", " ")

    def test_a_report_that_cannot_be_written_is_refused_first(self, here):
        assert do("report train.csv --target label -o out.pdf") == 2
        assert do("report train.csv --target lable -o out.html") == 1
        assert files(here) == set()
