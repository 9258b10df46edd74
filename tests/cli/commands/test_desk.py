"""``sepc desk`` without its server, and ``sepc predict --to``."""

import json
from pathlib import Path

import pandas as pd
import pytest
from command_line import do
from desks import classifier, decide_all, records
from sklearn.linear_model import LogisticRegression

from sepc import TrustedClassifier, load, save
from sepc.around import GivenScores
from sepc.cli import main
from sepc.desk.desk import Filters
from sepc.desk.events import Events
from sepc.desk.opening import open_desk


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(classifier(), "model.sepc")
    X, y = records(200, 4)
    X.insert(0, "patient", [f"P-{i}" for i in range(len(X))])
    X.to_csv("new.csv", index=False)
    return X, y


def sent(model="model.sepc", *options):
    assert main(["predict", model, "new.csv", "--to", "reviews.db", "-o", "out.csv", *options]) == 0
    return open_desk_of(model)


def open_desk_of(model):
    return open_desk(Path("reviews.db"), Path(model))


def test_predict_sends_refused_rows_to_a_desk_as_they_came(files):
    X, _ = files
    desk = sent()
    verdicts = pd.read_csv("out.csv")
    asked = {row["row"]: row for row in desk.events.rows("SELECT * FROM queue")}
    refused = verdicts.index[~verdicts.accepted] + 1
    assert set(refused) <= set(asked)
    for number in refused:
        assert asked[number]["label"] == verdicts.label[number - 1]
        assert asked[number]["trust"] == pytest.approx(verdicts.trust[number - 1])
        assert asked[number]["refusal"] == verdicts.refusal[number - 1]
    shown = desk.record(asked[refused[0]]["record"]).batch.shown
    assert shown.column_names == ["patient", "age", "dose"]
    assert shown["patient"][0].as_py() == X.patient[refused[0] - 1]


@pytest.mark.usefixtures("files")
def test_the_same_rows_are_sent_once(capsys):
    n = len(sent().events.rows("SELECT * FROM queue"))
    capsys.readouterr()
    assert len(sent().events.rows("SELECT * FROM queue")) == n
    assert "new.csv is on the desk already" in capsys.readouterr().err
    assert main(["predict", "model.sepc", "-", "--to", "reviews.db"]) == 2


def test_what_was_decided_is_exported_and_feedback_reads_it(files, capsys):
    X, y = files
    desk = sent("model.sepc", "--min-trust", "0.99")
    verdicts = pd.read_csv("out.csv")
    asked = {row["row"] for row in desk.events.rows("SELECT * FROM queue")}
    assert set(verdicts.index[~verdicts.accepted] + 1) <= asked  # by the trust that predict was given
    decide_all(desk, "ada", lambda record: str(y[record.view["row"] - 1]))
    for form, read in (
        ("csv", pd.read_csv),
        ("parquet", pd.read_parquet),
        ("jsonl", lambda path: pd.read_json(path, lines=True)),
    ):
        assert do(f"desk --export done.{form} --db reviews.db") == 0
        table = read(f"done.{form}")
        assert len(table) == desk.progress()["decided"]
        rows = table.desk_row - 1
        assert table.patient.tolist() == X.patient[rows].tolist()
        assert table.desk_label.tolist() == y[rows].tolist()
        assert set(table.desk_people) == {"ada"}
        assert table.desk_chance.between(0.0, 1.0).all()
        assert table.desk_model.nunique() == 1
    capsys.readouterr()
    assert do("feedback model.sepc done.csv --target desk_label --probability desk_chance --json") == 0
    found = json.loads(capsys.readouterr().out)["feedback"]
    assert found["n_labelled"] == len(table)


@pytest.mark.usefixtures("files")
def test_verify_reports_the_head_and_finds_what_was_altered(capsys):
    desk = sent()
    capsys.readouterr()
    assert do("desk --verify --db reviews.db --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["events"] == desk.events.one("SELECT count(*) FROM events")
    assert main(["desk", "--verify", "--db", "reviews.db", "--head", found["head"]]) == 0
    assert main(["desk", "--verify", "--db", "reviews.db", "--head", "0" * 64]) == 1
    desk.events._writer.execute("DROP TRIGGER events_last")
    desk.events._writer.execute("UPDATE events SET person = 'eve' WHERE id = 2")
    assert do("desk --verify --db reviews.db") == 1
    assert "event 2 is not what was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "code", "text"),
    [
        ("desk", 2, "a desk needs a model"),
        ("desk --verify", 2, "--db FILE"),
        ("desk --export out.xlsx --db reviews.db", 1, "there is no desk in reviews.db"),
        ("desk --verify --db nothing.db", 1, "there is no desk in nothing.db"),
        ("desk nothing.sepc new.csv", 1, "No such file"),
        ("desk model.sepc nothing.csv --no-browser", 1, "No such file"),
        ("desk model.sepc new.csv --host 0.0.0.0 --no-browser", 1, "--tls CERT KEY"),
        ("desk model.sepc new.csv --host 0.0.0.0 --behind-proxy --no-browser", 1, "--hostname"),
        ("desk model.sepc new.csv --audit 2", 2, "not between 0 and 1"),
    ],
)
@pytest.mark.usefixtures("files")
def test_errors_say_what_to_do(line, code, text, capsys):
    assert do(line) == code
    assert text in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_an_export_in_another_form_is_refused(capsys):
    sent()
    assert do("desk --export out.xlsx --db reviews.db") == 2
    assert ".csv, .parquet, .jsonl" in capsys.readouterr().err


def test_around_another_model_a_desk_reads_its_written_columns(files, capsys):
    X, y = records(300)
    around = TrustedClassifier(LogisticRegression(), cv=3).fit(X, y)
    save(around, "around.sepc")
    new, _ = files
    proba = around.estimator_.predict_proba(new[["age", "dose"]])
    new.assign(p_ill=proba[:, 0], p_well=proba[:, 1]).to_csv("new.csv", index=False)
    assert main(["predict", "around.sepc", "new.csv", "--to", "reviews.db", "-o", "out.csv"]) == 1
    assert "--scores" in capsys.readouterr().err
    options = ["--scores", "ill=p_ill,well=p_well"]
    assert main(["predict", "around.sepc", "new.csv", "--to", "reviews.db", "-o", "out.csv", *options]) == 0
    desk = open_desk_of("around.sepc")
    assert isinstance(desk.judge.clf.core.estimator_, GivenScores)
    a = around.assess(new[["age", "dose"]])
    row = desk.listed("ada", Filters(), most=1)[0]
    assert row["label"] == a.label[row["row"] - 1]
    assert desk.evidence(desk.record(row["record"]))["verdict"]["label"] == row["label"]
    assert Events("reviews.db").verify()[0] > 2
    assert load("around.sepc").core.estimator_ is None
