"""`sepc feedback` with a state between calls, with a promise, and with old rows that count less."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import do
from said import said

import sepc


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a model that keeps a promise, ordinary batches, and batches whose labels have changed places."""
    folder = tmp_path_factory.mktemp("watch")
    rng = np.random.default_rng(0)

    def batch(n, changed=0.0):
        y = np.where(rng.random(n) < 0.4, "ill", "well")
        X = rng.normal(size=(n, 2)) + np.where(y == "ill", 2.4, 0.0)[:, None]
        other = np.where(y == "ill", "well", "ill")
        y = np.where(rng.random(n) < changed, other, y)
        site = np.where(rng.random(n) < 0.5, "north", "south")
        return pd.DataFrame({"age": X[:, 0].round(4), "dose": X[:, 1].round(4), "site": site, "y": y})

    batch(900).to_csv(folder / "fit.csv", index=False)
    for k in range(3):
        batch(60).to_csv(folder / f"good{k}.csv", index=False)
        batch(60, 0.5).to_csv(folder / f"bad{k}.csv", index=False)
        batch(120, 1.0).to_csv(folder / f"other{k}.csv", index=False)
    fit = f"fit {folder}/fit.csv --target y --drop site --max-error 0.15"
    assert do(f"{fit} --by label -o {folder}/model.sepc") == 0
    assert do(f"{fit} --by site -o {folder}/site.sepc") == 0
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, line):
    capsys.readouterr()
    assert do(f"{line} --json") == 0
    return json.loads(capsys.readouterr().out)["feedback"]


@pytest.mark.usefixtures("here")
class TestState:
    WATCH = "--target y --labels all --state watch.log"

    @pytest.mark.slow
    def test_evidence_adds_up_over_calls_and_is_that_of_one_monitor(self, capsys):
        files = ["good0", "good1", "bad0", "bad1"]
        for name in files:
            found = told(capsys, f"feedback model.sepc {name}.csv {self.WATCH}")
        monitor = sepc.feedback.FeedbackMonitor(sepc.load("model.sepc"))
        for name in files:
            table = pd.read_csv(f"{name}.csv")
            monitor.observe(table, table["y"], labels="all")
        assert found == json.loads(json.dumps(monitor.report().to_dict()))
        assert found["n"] == 240
        assert found["error_drift"]["alarm"]
        assert found["promise_drift"]["alarm"]
        assert found["promise_drift"]["since"] is not None

    def test_it_goes_on_with_the_model_that_it_has_written_which_accepts_nothing_until_it_has_a_promise(self, capsys):
        assert do(f"feedback model.sepc bad0.csv {self.WATCH} -o new.sepc --json") == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["promise"]["status"] == "withdrawn"
        assert json.loads(shown.out)["changes"]["promise_withdrawn"] is True
        assert said(shown.err)["promise-withdrawn"].target == "y"
        assert do("predict new.sepc good1.csv -o out.csv") == 0
        assert "withdrawn" in said(capsys.readouterr().err)["nothing-promised"].why.lower()
        assert do("promise new.sepc other0.csv --target y --max-error 0.6 --by all -o signed.sepc") == 0
        found = told(capsys, f"feedback new.sepc good0.csv {self.WATCH}")
        assert found["n"] == 60
        assert do(f"feedback signed.sepc good1.csv {self.WATCH} --json") == 0
        shown = capsys.readouterr()
        assert json.loads(shown.out)["feedback"]["n"] == 120
        assert said(shown.err)["observed-elsewhere"].n == 60

    @pytest.mark.slow
    def test_the_same_rows_are_not_counted_twice(self, capsys):
        first = told(capsys, f"feedback model.sepc good0.csv {self.WATCH}")
        again = told(capsys, f"feedback model.sepc good0.csv {self.WATCH}")
        assert again == first
        assert do(f"feedback model.sepc good0.csv {self.WATCH}") == 0
        shown = said(capsys.readouterr().err)
        assert (shown["known-rows"].path, shown["known-rows"].n) == ("watch.log", 60)
        assert (shown["observed-before"].path, shown["observed-before"].n) == ("watch.log", 60)

    @pytest.mark.slow
    def test_rows_in_another_order_and_labels_that_come_later(self, capsys):
        table = pd.read_csv("good0.csv")
        table.assign(y=None).to_csv("without.csv", index=False)
        table.assign(y=table["y"].where(table.index < 40)).to_csv("some.csv", index=False)
        first = told(capsys, f"feedback model.sepc without.csv {self.WATCH}")
        assert (first["n"], first["n_labelled"]) == (60, 0)
        some = told(capsys, f"feedback model.sepc some.csv {self.WATCH}")
        assert (some["n"], some["n_labelled"], some["error_drift"]["n"]) == (60, 40, 40)
        told(capsys, "feedback model.sepc good1.csv --target y --labels all --state other.log")
        pd.read_csv("good1.csv")[::-1].to_csv("turned.csv", index=False)
        again = told(capsys, "feedback model.sepc turned.csv --target y --labels all --state other.log")
        assert again["n"] == 60

    @pytest.mark.slow
    def test_what_is_said_of_the_same_rows_must_not_change(self, capsys):
        told(capsys, "feedback model.sepc good0.csv --target y --state watch.log")
        assert do(f"feedback model.sepc good0.csv {self.WATCH}") == 1
        assert "--labels all" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_batch_that_was_cut_off_is_told_and_a_damaged_file_refused(self, capsys):
        told(capsys, f"feedback model.sepc good0.csv {self.WATCH}")
        whole = Path("watch.log").read_bytes()
        Path("watch.log").write_bytes(whole + b'{"day": "20')
        assert do(f"feedback model.sepc good1.csv {self.WATCH}") == 0
        assert said(capsys.readouterr().err)["batch-cut-off"].path == "watch.log"
        Path("watch.log").write_bytes(whole[:200] + b"x" + whole[201:])
        assert do(f"feedback model.sepc good1.csv {self.WATCH}") == 1
        assert "watch.log" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_state_of_another_model_and_one_that_is_what_is_read(self, capsys):
        told(capsys, f"feedback model.sepc good0.csv {self.WATCH}")
        assert do("fit good1.csv --target y -o another.sepc") == 0
        capsys.readouterr()
        assert do("feedback another.sepc good0.csv --target y --labels all --state watch.log") == 1
        assert "watch.log" in capsys.readouterr().err
        assert do("feedback model.sepc good0.csv --target y --state model.sepc") == 2
        assert "model.sepc" in capsys.readouterr().err

    @pytest.mark.slow
    def test_a_promise_by_a_column(self, capsys):
        found = told(capsys, "feedback site.sepc good0.csv --target y --labels all")
        assert {part["name"] for part in found["promise_drift"]["parts"]} <= {"north", "south"}
        assert not found["promise_drift"]["alarm"]


@pytest.mark.usefixtures("here")
class TestForgetting:
    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["--forget auto", "--window 240", "--half-life 40"])
    def test_old_rows_count_less_and_new_labels_are_right(self, how, capsys):
        for k in range(2):
            assert do(f"feedback model.sepc other{k}.csv --target y --labels all --state watch.log") == 0
        assert do(f"feedback model.sepc other2.csv --target y --labels all --state watch.log -o new.sepc {how}") == 0
        assert capsys.readouterr().out
        table = pd.read_csv("other0.csv")
        old, new = (np.mean(sepc.load(f"{name}.sepc").predict(table) == table["y"]) for name in ("model", "new"))
        assert old < 0.2
        assert new > 0.75

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("line", "value"),
        [
            ("--window 100", "-o MODEL"),
            ("--forget auto -o new.sepc", "30"),
            ("--window 100 --half-life 3 -o new.sepc", "--half-life"),
            ("--window 0 -o new.sepc", "--window"),
        ],
    )
    def test_bad_requests(self, line, value, capsys):
        data = "good0.csv" if "auto" not in line else "few.csv"
        pd.read_csv("bad0.csv")[:30].to_csv("few.csv", index=False)
        assert do(f"feedback model.sepc {data} --target y --labels all {line}") in (1, 2)
        assert value in capsys.readouterr().err
        assert not Path("new.sepc").exists()
