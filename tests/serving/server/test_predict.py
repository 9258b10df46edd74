"""Verdicts by HTTP: exactly those of `assess`, whatever the form of the rows and the kind of the model."""

import csv
import io
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from desks import classifier, records
from raw_tables import patients
from scorers import Caller, assert_verdicts, records_of
from sklearn.linear_model import LogisticRegression

from sepc import (
    InputError,
    SEPClassifier,
    SEPEnsembleClassifier,
    TrustedClassifier,
    load,
    make_table_pipeline,
    save,
    select_min_trust,
)
from sepc.around import GivenScores
from sepc.serving.server.scoring import Acceptance

X, _ = records(60, 3)


@pytest.fixture
def caller(tmp_path):
    with Caller(tmp_path, classifier()) as made:
        yield made


@cache
def ensemble():
    return SEPEnsembleClassifier(n_estimators=3, random_state=0).fit(*records(200))


@cache
def pipeline():
    return make_table_pipeline().fit(*patients())


def forms(X):
    """Return the bodies that hold the rows of a frame, with their types."""
    cells, lists = records_of(X), X.astype(object).where(X.notna(), None)
    return {
        "records": ({"records": cells}, "application/json"),
        "a list": (cells, "application/json"),
        "columns": ({"columns": {name: lists[name].tolist() for name in X}}, "application/json"),
        "lists": ({"names": list(X), "rows": lists.to_numpy().tolist()}, "application/json; charset=utf-8"),
        "csv": (X.to_csv(index=False).encode(), "text/csv"),
    }


@pytest.mark.parametrize("form", ["records", "a list", "columns", "lists", "csv"])
@pytest.mark.parametrize("fitted", [classifier, ensemble])
def test_verdicts_are_those_of_assess(tmp_path, form, fitted):
    with Caller(tmp_path, fitted()) as caller:
        body, kind = forms(X)[form]
        found = caller.predictions(body, content_type=kind, accept="application/json")
    assert_verdicts(found, fitted(), fitted().assess(X))


@pytest.mark.parametrize("form", ["records", "columns", "lists", "csv"])
def test_gaps_are_null_or_empty(caller, form):
    gaps = X.copy()
    gaps.iloc[3, 0] = gaps.iloc[4, 1] = gaps.iloc[5, 0] = gaps.iloc[5, 1] = np.nan
    body, kind = forms(gaps)[form]
    found = caller.predictions(body, content_type=kind, accept="*/*, application/json")
    assert_verdicts(found, classifier(), classifier().assess(gaps))
    assert found[5]["refusal"] == "no values"


def test_gaps_may_also_be_nan_and_texts_of_missing_values(caller):
    rows = [[1.0, float("nan")], [1.0, "NA"], [1.0, " "], ["1.0", None], [True, None]]
    found = caller.predictions({"names": ["age", "dose"], "rows": rows})
    assert len({json.dumps(one) for one in found}) == 1
    text = b"age,dose\n1,N/A\n1.0,null\n1,\n1, nan \n"
    of_text = caller.predictions(text, content_type="text/csv", accept="application/json")
    assert of_text == found[:4]


@pytest.mark.parametrize("form", ["records", "columns", "lists", "csv"])
def test_tables_are_read_as_by_the_pipeline(tmp_path, form):
    table = patients(40, 5)[0].reset_index(drop=True)
    table["joined"] = table.joined.dt.strftime("%Y-%m-%d")
    with Caller(tmp_path, pipeline()) as caller:
        body, kind = forms(table)[form]
        found = caller.predictions(body, content_type=kind, accept="application/json")
    assert_verdicts(found, pipeline(), pipeline().assess(table))


def test_columns_come_in_any_order_among_others(caller):
    moved = X[["dose", "age"]].assign(patient="P-1", age2=None)
    a = classifier().assess(X)
    assert_verdicts(caller.predictions(records_of(moved)), classifier(), a)
    sent = moved.to_csv(index=False).encode()
    assert_verdicts(caller.predictions(sent, content_type="text/csv", accept="application/json"), classifier(), a)


def test_csv_is_answered_by_csv(caller):
    answer = caller.post("/predict", X.to_csv(index=False).encode(), content_type="text/csv")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    a = classifier().assess(X)
    assert [row["label"] for row in rows] == a.label.tolist()
    assert [float(row["trust"]) for row in rows] == a.trust.tolist()
    assert [float(row["probability of ill"]) for row in rows] == a.decision.proba[:, 0].tolist()
    assert [row["refusal"] or None for row in rows] == a.refusals().tolist()
    by_accept = caller.post("/predict", records_of(X), accept="text/csv")
    assert by_accept.body == answer.body


@pytest.mark.parametrize(
    "text", ["age;dose\n1,5;2,25\n", "age\tdose\n1.5\t2.25\n", '\ufeff"age","dose"\r\n"1.5","2.25"\r\n']
)
def test_csv_is_read_in_any_notation(caller, text):
    found = caller.predictions(text.encode(), content_type="text/csv", accept="application/json")
    assert_verdicts(found, classifier(), classifier().assess(pd.DataFrame({"age": [1.5], "dose": [2.25]})))


def test_where_records_lie_is_looked_up_for_those_who_ask(caller):
    assert not {"reason", "region"} & set(caller.predictions(records_of(X), "/predict")[0])
    assert {"reason", "region"} <= set(caller.predictions(records_of(X), "/predict?outputs=all")[0])


def test_some_outputs_can_be_asked_for(caller):
    whole = caller.predictions(records_of(X))
    some = caller.predictions(records_of(X), "/predict?outputs=accepted,label,trust")
    assert some == [{name: one[name] for name in ("label", "trust", "accepted")} for one in whole]
    refused = caller.post("/predict?outputs=label,colour", records_of(X))
    assert refused.status == 400
    assert "'colour'; expected some of label, trust" in refused.json["error"]


def test_requests_at_once_are_judged_together_and_answered_apart(caller):
    whole = caller.predictions(records_of(X), "/predict")
    rows = [("/predict", [one]) for one in records_of(X)]
    bad = ("/predict", [{"age": "old", "dose": 1.0}])
    answers = caller.at_once(*rows[:30], bad, *rows[30:])
    assert answers.pop(30).status == 400
    assert [answer.json["predictions"][0] for answer in answers] == whole


def test_tables_at_once_are_answered_apart(tmp_path):
    table = patients(20, 5)[0].reset_index(drop=True)
    table["joined"] = table.joined.dt.strftime("%Y-%m-%d")
    rows = records_of(table)
    with Caller(tmp_path, pipeline()) as caller:
        whole = caller.predictions(rows, "/predict")
        sent = [("/predict", [one]) for one in rows]
        answers = caller.at_once(*sent[:10], ("/predict", [{**rows[0], "joined": "no day"}]), *sent[10:])
    assert answers.pop(10).status == 400
    assert [answer.json["predictions"][0] for answer in answers] == whole


def test_labels_that_are_numbers_stay_numbers(tmp_path):
    data, y = records(200)
    clf = SEPClassifier().fit(data.to_numpy(), (y == "ill").astype(int))
    with Caller(tmp_path, clf) as caller:
        rows = X.rename(columns={"age": "x0", "dose": "x1"})
        found = caller.predictions(records_of(rows))
        assert_verdicts(found, clf, clf.assess(X.to_numpy()))
        assert caller.get("/model").json["classes"] == [0, 1]


@pytest.mark.parametrize("accepts", [Acceptance(0.99), Acceptance(0.5, 0.2), Acceptance(0.0, 0.0)])
def test_labels_are_accepted_by_the_terms_of_the_server(tmp_path, accepts):
    with Caller(tmp_path, classifier(), accepts=accepts) as caller:
        assert_verdicts(caller.predictions(records_of(X)), classifier(), classifier().assess(X), accepts)


def signed(by=None, **more):
    clf = SEPClassifier().fit(*records(300))
    cal, y = records(300, 9)
    found = select_min_trust(clf, cal, y, max_error=0.1, by=by, **more)
    return clf.sign(found)


def test_labels_are_accepted_by_the_promise(tmp_path):
    clf = signed()
    with Caller(tmp_path, clf) as caller:
        found = caller.predictions(records_of(X))
        assert_verdicts(found, clf, clf.assess(X))
        assert caller.get("/model").json["promise"]["kept"] is True
    assert {one["accepted"] for one in found} == {True, False}


def test_a_promise_by_groups_reads_their_column(tmp_path):
    sites = np.array(["north", "south"])[np.arange(300) % 2]
    promise = replace(signed(by=sites).promise, group_column="site")
    clf = SEPClassifier().fit(*records(300)).sign(promise)
    groups = np.array(["north", "south", "elsewhere"], dtype=object)[np.arange(len(X)) % 3]
    with Caller(tmp_path, clf) as caller:
        found = caller.predictions(records_of(X.assign(site=groups)), "/predict")
        assert_verdicts(found, clf, clf.assess(X), groups=groups)
        sent = [("/predict", [one]) for one in records_of(X.assign(site=groups))]
        assert [answer.json["predictions"][0] for answer in caller.at_once(*sent)] == found
        refused = caller.post("/predict", records_of(X))
        assert (refused.status, "'site'" in refused.text) == (400, True)
    with Caller(tmp_path, clf, accepts=Acceptance(0.9)) as caller:
        assert_verdicts(caller.predictions(records_of(X)), clf, clf.assess(X), Acceptance(0.9))


def test_costs_are_answered_where_there_are_any(tmp_path):
    costs = {"ill": {"well": 5.0}, "well": {"ill": 1.0}, None: 0.3}
    with Caller(tmp_path, classifier(), load=lambda path: load(path).under(costs=costs)) as caller:
        found = caller.predictions(records_of(X))
    a = classifier().under(costs=costs).assess(X)
    assert_verdicts(found, classifier(), a)
    assert [one["expected_cost"] for one in found] == a.expected_cost.tolist()
    assert [one["asking_cost"] for one in found] == a.asking_cost.tolist()


def test_counts_of_records_have_no_typicality(tmp_path):
    clf = SEPClassifier(trust="counts").fit(*records(300))
    with Caller(tmp_path, clf) as caller:
        found = caller.predictions(records_of(X))
        assert {one["typicality"] for one in found} == {None}
        assert [one["trust"] for one in found] == clf.assess(X).trust.tolist()
        assert caller.post("/predict", [{"age": None, "dose": 1.0}]).status == 400


@cache
def around():
    data, y = records(300)
    return TrustedClassifier(LogisticRegression(), cv=3).fit(data, y)


def test_another_model_is_read_by_its_written_columns(tmp_path):
    proba = around().estimator_.predict_proba(X)
    written = X.assign(p_ill=proba[:, 0], p_well=proba[:, 1])
    given = GivenScores({"ill": "p_ill", "well": "p_well"})
    with Caller(tmp_path, around(), load=lambda path: load(path, estimator=given)) as caller:
        found = caller.predictions(records_of(written))
        lacking = caller.predictions(records_of(written.assign(p_ill=written.p_ill.where(written.index != 7))))
        assert [column["name"] for column in caller.get("/model").json["columns"]] == ["age", "dose", "p_ill", "p_well"]
        explained = caller.post("/explain", records_of(written[:2])).json["explanations"]
    a = around().assess(X)
    assert [one["label"] for one in found] == a.label.tolist()
    assert [one["trust"] for one in found] == pytest.approx(a.trust.tolist(), rel=1e-9)
    assert (lacking[7]["label"], lacking[7]["refusal"], lacking[7]["trust"]) == (None, "no answer", None)
    assert lacking[7]["probabilities"] == {"ill": None, "well": None}
    assert lacking[:7] + lacking[8:] == found[:7] + found[8:]
    assert explained[0]["text"].startswith("Predicted")


@pytest.mark.parametrize("changes", [False, True])
def test_explanations_are_those_of_explain(caller, changes):
    answer = caller.post(f"/explain{'?changes=1' if changes else ''}", records_of(X[:3]))
    assert answer.status == 200
    expected = [why.with_rows_from(1) for why in classifier().explain_many(X[:3], changes=changes)]
    assert [one["text"] for one in answer.json["explanations"]] == [why.text for why in expected]
    assert [one["details"]["label"] for one in answer.json["explanations"]] == [why.label for why in expected]
    by_csv = caller.post("/explain", X[:3].to_csv(index=False).encode(), content_type="text/csv").json
    assert [one["text"].partition(". ")[0] for one in by_csv["explanations"]] == [
        why.text.partition(". ")[0] for why in expected
    ]


def test_the_model_says_what_it_is(caller):
    about = caller.get("/model").json
    assert about["classes"] == ["ill", "well"]
    assert about["columns"] == [{"name": "age", "kind": "number"}, {"name": "dose", "kind": "number"}]
    assert about["key"] == classifier().model_.key()
    assert about["file"]["sha256"].startswith(about["version"])
    assert about["reloads"] == {"taken_over": 0, "failed": 0, "problem": None, "changed": []}


def test_the_description_has_all_addresses_and_the_columns(caller):
    found = caller.get("/openapi.json").json
    assert found["openapi"].startswith("3.1")
    forms = found["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]["anyOf"]
    assert forms[0]["items"]["required"] == ["age", "dose"]
    for path, operations in found["paths"].items():
        path = path.replace("{name}", "model")
        for method, operation in operations.items():
            assert set(operation["responses"]) >= {"200", "400"}
            if method == "get":
                assert caller.get(path).status == 200, path
            else:
                assert caller.post(path).status == 400, path


def test_a_model_around_another_one_of_arrays_is_refused(tmp_path):
    data, y = records(200)
    clf = TrustedClassifier(LogisticRegression(), cv=3).fit(data.to_numpy(), y)
    with pytest.raises(InputError, match="without names"):
        Caller(tmp_path, clf)
    with Caller(tmp_path, classifier()) as caller:
        save(clf, caller.path)
        assert not caller.model.reload()
        assert caller.predictions(records_of(X), "/predict")


@pytest.mark.parametrize("fitted", [SEPClassifier(), SEPEnsembleClassifier(n_estimators=3, random_state=0)])
@pytest.mark.parametrize("form", ["records", "csv", "other csv"])
def test_models_of_arrays_have_numbered_columns(tmp_path, fitted, form):
    data, y = records(200)
    clf = fitted.fit(data.to_numpy(), y)
    named = X.rename(columns={"age": "x0", "dose": "x1"})
    other = (named.to_csv(index=False, sep=";", decimal=",").encode(), "text/csv")
    body, kind = other if form == "other csv" else forms(named)[form]
    expected = clf.assess(X.to_numpy())
    with Caller(tmp_path, clf) as caller:
        assert_verdicts(caller.predictions(body, content_type=kind, accept="application/json"), clf, expected)
        assert caller.post("/explain", body, content_type=kind).status == 200
        assert caller.post("/predict", b"x0,x1\nmuch,2\n", content_type="text/csv").status == 400


def test_long_names_sent_as_numbers_are_the_same_beside_any_others(tmp_path):
    data, _ = records(300)
    levels = ["9007199254740993", "9007199254740992", "12"]
    names = np.array(levels)[np.arange(300) % 3]
    clf = make_table_pipeline(categorical_features=["name"]).fit(data.assign(name=names), names == levels[0])
    one = records_of(X)[0]
    rows = [{**one, "name": int(level)} for level in levels] + [{**one, "name": None}]
    with Caller(tmp_path, clf) as caller:
        alone = [caller.predictions([row], "/predict")[0] for row in rows]
        others = [("/predict", [rows[2]] * 5)] * 30
        asked = [("/predict", [row]) for row in rows]
        beside = caller.at_once(*others, *asked, *others)[30:34]
        assert [answer.json["predictions"][0] for answer in beside] == alone
        assert caller.predictions([rows[2]] * 5 + rows, "/predict")[5:] == alone
        texts = [{**row, "name": row["name"] and str(row["name"])} for row in rows]
        assert caller.predictions(texts, "/predict") == alone
    assert [one["label"] for one in alone[:3]] == [True, False, False]


def test_outputs_that_the_model_does_not_have_are_refused(caller):
    for kind in ("application/json", "text/csv"):
        answer = caller.post("/predict?outputs=expected_cost,asking_cost", records_of(X), accept=kind)
        assert (answer.status, answer.json["code"]) == (400, "serve-output")


def test_outputs_may_be_named_several_times(caller):
    found = caller.predictions(records_of(X), "/predict?outputs=label&outputs=trust")
    assert set(found[0]) == {"label", "trust"}
