"""How to serve a model: what inspect and the report show of a model works with this very model."""

import json
import shlex
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from command_line import do
from raw_tables import patients
from saved_models import fixture_path, iris
from sklearn.naive_bayes import GaussianNB

from sepc import SEPClassifier, SepcWarning, TrustedClassifier, load, make_table_pipeline, report, select_min_trust
from sepc.reports.how_to_serve import example_record, how_to_serve

NAMES = ["v1-binary-local", "v1-three-local", "v1-ensemble", "v1-table", "v1-binary-local-without-rows", "v1-trusted"]


def told_by_curl(ways):
    """Return the record that the curl sends, as JSON."""
    words = shlex.split(ways["HTTP"][-1])
    (record,) = json.loads(words[words.index("--json") + 1])
    return record


@pytest.mark.parametrize("name", NAMES)
def test_each_way_has_three_lines_at_most_and_an_ordinary_record(name):
    clf = load(fixture_path(name))
    ways = how_to_serve(clf, "a model.sepc")
    assert list(ways) == ["HTTP", "ONNX", "MLflow"]
    assert all(1 <= len(lines) <= 3 for lines in ways.values())
    assert ways["HTTP"][1] == "sepc serve 'a model.sepc'"
    record = told_by_curl(ways)
    assert record == example_record(clf)
    X = pd.DataFrame([record])
    a = clf.assess(X if hasattr(clf, "feature_names_in_") else X.to_numpy())
    assert a.typicality[0] > 0.1


def test_a_record_has_a_value_of_the_kind_of_each_column():
    table, ill = patients()
    clf = make_table_pipeline().fit(table, ill)
    record = told_by_curl(how_to_serve(clf))
    assert list(record) == ["age", "color", "smoker", "weight", "joined", "sex"]
    assert record["color"] == "red"
    assert record["smoker"] is False
    assert pd.Timestamp(record["joined"]).year in (2020, 2021, 2022)
    assert clf.assess(pd.DataFrame([record])).typicality[0] > 0.1


def test_a_wide_record_comes_from_a_file():
    X = np.random.default_rng(0).normal(size=(60, 13))
    ways = how_to_serve(SEPClassifier().fit(X, X[:, 0] > 0))
    assert ways["HTTP"][-1].endswith("--data-binary @new.csv")


def test_columns_that_the_model_does_not_read_are_there():
    X = np.random.default_rng(0).normal(size=(40, 1200))
    with pytest.warns(SepcWarning):
        clf = SEPClassifier().fit(X, X[:, 0] > 0)
    record = example_record(clf)
    assert clf.columns_read_ is not None
    assert list(record) == [f"x{j}" for j in range(1200)]
    assert len(clf.assess([list(record.values())])) == 1


def test_features_that_another_encoder_makes_have_no_example():
    X, y = iris()
    clf = TrustedClassifier(GaussianNB(), encoder=halves, cv=2).fit(X, y)
    assert example_record(clf) == {}
    assert how_to_serve(clf)["HTTP"][-1].endswith("@new.csv")


def halves(X):
    return X[:, :2]


@pytest.mark.parametrize("trust", ["paper", "counts", "bound"])
def test_a_model_that_counts_says_why_it_has_no_onnx_file(trust):
    (why,) = how_to_serve(load(fixture_path(f"v1-binary-{trust}")))["ONNX"]
    assert f"trust={trust}" in why


def test_a_model_around_one_that_is_not_in_the_file_asks_for_its_answers():
    X, y = iris("pandas")
    ways = how_to_serve(TrustedClassifier(GaussianNB(), cv=2).fit(X, y))
    assert ways["HTTP"][1] == "sepc serve model.sepc --scores LABEL=COLUMN"
    assert [len(ways[way]) for way in ("HTTP", "ONNX", "MLflow")] == [3, 1, 1]


@pytest.mark.parametrize("column", ["", "ward"])
def test_a_promise_by_groups_needs_another_limit_where_groups_are_not_known(column):
    X, y = iris("pandas")
    ward = np.where(np.arange(len(X)) % 3 == 0, "1", "2")
    clf = SEPClassifier().fit(X[::2], y[::2])
    promise = select_min_trust(clf, X[1::2], y[1::2], max_error=0.2, by=ward[1::2])
    ways = how_to_serve(clf.sign(replace(promise, group_column=column)))
    assert ways["ONNX"][0].endswith("--min-trust 0.95")
    assert ways["HTTP"][1].endswith("model.sepc" if column else "--min-trust 0.95")


@pytest.mark.parametrize("name", [*NAMES, "v1-binary-paper"])
def test_models_are_exported_just_where_the_lines_say_so(name, tmp_path):
    pytest.importorskip("onnx")
    from sepc import SepcError
    from sepc.serving import to_onnx

    clf = load(fixture_path(name))
    lines = how_to_serve(clf)["ONNX"]
    if len(lines) == 3:
        onnxruntime = pytest.importorskip("onnxruntime")
        to_onnx(clf, tmp_path / "model.onnx")
        record = example_record(clf)
        names = {"onnxruntime": onnxruntime, "table": pd.DataFrame([record]), "X": np.array([list(record.values())])}
        exec(lines[1].replace("model.onnx", str(tmp_path / "model.onnx")), names)
        label, trust, refusal = eval(lines[2], names)
        a = clf.assess(names["X"] if clf.table_encoder is None else names["table"])
        assert (label.tolist(), refusal.tolist()) == (a.label.tolist(), [why or "" for why in a.refusals()])
        assert trust == pytest.approx(a.trust, abs=1e-12)
    else:
        with pytest.raises(SepcError):
            to_onnx(clf, tmp_path / "model.onnx")


def test_inspect_and_the_report_show_the_same_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clf = load(fixture_path("v1-table"))
    (tmp_path / "model.sepc").write_bytes(fixture_path("v1-table").read_bytes())
    ways = how_to_serve(clf)
    assert do("inspect model.sepc --json") == 0
    assert json.loads(capsys.readouterr().out)["serving"] == ways
    assert do("inspect model.sepc") == 0
    shown = capsys.readouterr().out
    table = pd.DataFrame({"size": [1.0, -0.5, 2.0], "level": ["low", "high", "low"]})
    made = report(clf, table, clf.predict(table), max_records=0)
    assert made.to_dict()["card"]["serving"] == ways
    page, text = unescape(made.html()), made.markdown()
    for lines in ways.values():
        assert all(line in form for line in lines for form in (shown, page, text))
