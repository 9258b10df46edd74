"""Where a model comes from: name, tags, day and fingerprint of the data, which a file of it keeps."""

import json

import numpy as np
import pandas as pd
import pytest
from command_line import GOOD, do

import sepc
from sepc.model import row_digests

FIT = "fit good.csv --target label --name 'Sizes, north' --tag site=north --tag 'note=a=b'"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1772323200")
    (tmp_path / "good.csv").write_text(GOOD, encoding="utf-8")
    return tmp_path


def inspected(path, capsys):
    capsys.readouterr()
    assert do(f"inspect {path} --json") == 0
    return json.loads(capsys.readouterr().out)


def test_inspect_has_what_fit_was_told_and_the_same_data_and_options_give_the_same_file(here, capsys):
    for name in ("one.sepc", "two.sepc"):
        assert do(f"{FIT} -o {name}") == 0
    told = inspected("one.sepc", capsys)
    assert (told["name"], told["fitted_on"]) == ("Sizes, north", "2026-03-01")
    assert told["tags"] == {"site": "north", "note": "a=b"}
    assert len(told["data"]) == 32
    assert (here / "one.sepc").read_bytes() == (here / "two.sepc").read_bytes()
    assert do("inspect one.sepc") == 0
    assert "Sizes, north, site=north, note=a=b, fitted on 2026-03-01" in capsys.readouterr().out


def test_the_fingerprint_is_that_of_the_data_in_any_order(here, capsys):
    head, *rows = GOOD.splitlines()
    (here / "other.csv").write_text("\n".join([head, *rows[::-1]]), encoding="utf-8")
    (here / "less.csv").write_text("\n".join([head, *rows[1:]]), encoding="utf-8")
    (here / "twice.csv").write_text("\n".join([head, *rows, rows[0]]), encoding="utf-8")
    names = ("good", "other", "less", "twice")
    for name in names:
        assert do(f"fit {name}.csv --target label -o {name}.sepc --no-training-rows") == 0
    prints = [inspected(f"{name}.sepc", capsys)["data"] for name in names]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_a_promise_and_a_refit_keep_the_name_and_another_label_is_other_data(capsys):
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(X[:, 0] > 0, "p", "q"))
    frame[:40].to_csv("good.csv", index=False)
    frame.assign(y="p")[40:].to_csv("later.csv", index=False)
    assert do("fit good.csv --target y --name it --tag k=v -o m.sepc --max-error 0.5") == 0
    assert do("feedback m.sepc later.csv --target y -o new.sepc") == 0
    old, new = (inspected(path, capsys) for path in ("m.sepc", "new.sepc"))
    assert [new[key] for key in ("name", "tags", "fitted_on")] == [old[key] for key in ("name", "tags", "fitted_on")]
    assert new["data"] != old["data"]


def test_a_fit_in_python_reads_no_clock(here):
    X = [[0.0], [1.0], [2.0], [5.0], [6.0], [9.0]]
    clf = sepc.SEPClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    assert (clf.about_.fitted_on, clf.about_.name) == ("", "")
    assert clf.about_.data != sepc.SEPClassifier().fit(X, [0, 0, 1, 1, 1, 1]).about_.data
    sepc.save(clf, here / "m.sepc")
    assert sepc.load(here / "m.sepc").about_ == clf.about_


def test_of_too_many_records_there_is_no_fingerprint(monkeypatch, capsys):
    monkeypatch.setattr(row_digests, "MOST_DIGESTS", 10)
    assert do("fit good.csv --target label -o m.sepc") == 0
    assert inspected("m.sepc", capsys)["data"] == ""


@pytest.mark.parametrize("tag", ["north", "=north"])
def test_a_tag_is_a_key_and_a_value(tag, capsys):
    assert do(f"fit good.csv --target label -o m.sepc --tag {tag}") == 2
    assert "KEY=VALUE" in capsys.readouterr().err
