"""KServe's version 2: tensors in JSON and behind it, by column or in one matrix."""

import json

import numpy as np
import pytest
from desks import classifier, records
from raw_tables import patients
from scorers import MODEL, Caller, records_of

from sepc import SEPClassifier, load, make_table_pipeline

X, _ = records(20, 3)
KINDS = {"FP64": "<f8", "FP32": "<f4", "INT64": "<i8", "INT32": "<i4", "UINT8": "u1", "BOOL": "?"}


@pytest.fixture
def caller(tmp_path):
    with Caller(tmp_path, classifier()) as made:
        yield made


def matrix(X, kind="FP64"):
    values = X.to_numpy().astype(KINDS[kind])
    return {"name": "input", "shape": list(X.shape), "datatype": kind, "data": values.ravel().tolist()}


def by_column(X):
    return [{"name": n, "shape": [len(X)], "datatype": "FP64", "data": X[n].tolist()} for n in X]


def outputs(answer):
    """Return the tensors of an answer as arrays."""
    assert answer.status == 200, answer.text
    size = answer.headers.get("inference-header-content-length")
    head, behind = (
        (answer.json, b"") if size is None else (json.loads(answer.body[: int(size)]), answer.body[int(size) :])
    )
    found = {}
    for one in head["outputs"]:
        if "data" in one:
            values = np.array(one["data"], dtype=object if one["datatype"] == "BYTES" else KINDS[one["datatype"]])
        else:
            n = one["parameters"]["binary_data_size"]
            part, behind = behind[:n], behind[n:]
            values = texts(part) if one["datatype"] == "BYTES" else np.frombuffer(part, KINDS[one["datatype"]])
        found[one["name"]] = values.reshape(one["shape"])
    assert not behind
    return found


def texts(data):
    found = []
    while data:
        n = int.from_bytes(data[:4], "little")
        found.append(data[4 : 4 + n].decode())
        data = data[4 + n :]
    return np.array(found, dtype=object)


def assert_outputs(found, a):
    assert found["label"].tolist() == a.label.tolist()
    assert np.array_equal(found["trust"], a.trust)
    assert np.array_equal(found["probabilities"], a.decision.proba)
    assert np.array_equal(found["typicality"], a.typicality, equal_nan=True)
    assert found["accepted"].tolist() == a.accepted().tolist()
    assert found["refusal"].tolist() == [why or "" for why in a.refusals()]
    assert not {"reason", "region"} & set(found)


@pytest.mark.parametrize("inputs", [[matrix(X)], by_column(X), [{**one, "shape": [20, 1]} for one in by_column(X)]])
@pytest.mark.parametrize("binary", [False, True])
def test_tensors_are_judged_as_by_assess(caller, inputs, binary):
    body = {"id": "one", "inputs": inputs, "parameters": {"binary_data_output": binary}}
    answer = caller.post(f"{MODEL}/infer", body)
    assert_outputs(outputs(answer), classifier().assess(X))
    if not binary:
        about = caller.get("/model").json
        assert (answer.json["id"], answer.json["model_version"]) == ("one", about["version"])
        assert caller.post(f"{MODEL}/versions/{about['version']}/infer", body).status == 200


def behind(values, name="input", kind="FP64", **more):
    """Return a request with values as bytes behind its JSON, and the length of that."""
    data = values if isinstance(values, bytes) else np.ascontiguousarray(values, dtype=KINDS[kind]).tobytes()
    tensor = {"name": name, "datatype": kind, "shape": list(getattr(values, "shape", [])), **more}
    tensor["parameters"] = {"binary_data_size": len(data)}
    head = json.dumps({"inputs": [tensor]}).encode()
    return head + data, str(len(head))


@pytest.mark.parametrize("kind", ["FP64", "FP32", "INT32"])
def test_bytes_behind_the_json_are_read(caller, kind):
    body, size = behind(X.to_numpy(), kind=kind)
    answer = caller.post(f"{MODEL}/infer", body, inference_header_content_length=size)
    read = X.to_numpy().astype(KINDS[kind]).astype(float)
    assert_outputs(outputs(answer), SEPClassifier.assess(classifier(), X * 0 + read))


def test_where_records_lie_is_looked_up_for_those_who_ask(caller):
    wanted = [{"name": "reason"}, {"name": "region"}]
    found = outputs(caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)], "outputs": wanted}))
    a = classifier().assess(X)
    assert found["reason"].tolist() == a.reason.tolist()
    assert found["region"].tolist() == a.region.tolist()


def test_some_outputs_can_be_asked_for(caller):
    wanted = [{"name": "trust", "parameters": {"binary_data": True}}, {"name": "label"}]
    found = outputs(caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)], "outputs": wanted}))
    assert set(found) == {"trust", "label"}
    assert np.array_equal(found["trust"], classifier().assess(X).trust)
    refused = caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)], "outputs": [{"name": "colour"}]})
    assert refused.status == 400
    assert "'colour'" in refused.json["error"]
    for usual in ([], None):
        assert "label" in outputs(caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)], "outputs": usual}))
    for bad in ({"name": "label"}, "label", [["label"]], [{"name": "expected_cost"}]):
        assert caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)], "outputs": bad}).status == 400


def test_gaps_are_null_or_nan(caller):
    gaps = X.copy()
    gaps.iloc[2, 0] = np.nan
    tensor = matrix(gaps)
    tensor["data"] = [None if x != x else x for x in tensor["data"]]
    a = classifier().assess(gaps)
    assert_outputs(outputs(caller.post(f"{MODEL}/infer", {"inputs": [tensor]})), a)
    body, size = behind(gaps.to_numpy())
    assert_outputs(outputs(caller.post(f"{MODEL}/infer", body, inference_header_content_length=size)), a)


def test_tables_are_tensors_of_texts_and_numbers(tmp_path):
    clf = make_table_pipeline().fit(*patients())
    table = patients(20, 5)[0].reset_index(drop=True)
    table["joined"] = table.joined.dt.strftime("%Y-%m-%d")
    kinds = {"age": "FP64", "smoker": "BOOL"}
    with Caller(tmp_path, clf) as caller:
        described = caller.get(MODEL).json
        assert {one["name"]: one["datatype"] for one in described["inputs"]}["color"] == "BYTES"
        inputs = [
            {"name": n, "shape": [20], "datatype": kinds.get(n, "BYTES"), "data": [row[n] for row in records_of(table)]}
            for n in [one["name"] for one in described["inputs"]]
        ]
        for one in inputs:
            if one["datatype"] == "BYTES":
                one["data"] = ["" if value is None else str(value) for value in one["data"]]
        assert_outputs(outputs(caller.post(f"{MODEL}/infer", {"inputs": inputs})), clf.assess(table))


def test_costs_are_described_where_there_are_any(tmp_path):
    costs = {"ill": {"well": 5.0}, "well": {"ill": 1.0}, None: 0.3}
    with Caller(tmp_path, classifier(), load=lambda path: load(path).under(costs=costs)) as caller:
        described = {one["name"]: one["datatype"] for one in caller.get(MODEL).json["outputs"]}
        assert set(described) == set(outputs(caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)]})))
    assert described["expected_cost"] == described["asking_cost"] == "FP64"


def test_the_server_and_the_model_describe_themselves(caller):
    assert caller.get("/v2").json["extensions"] == ["binary_tensor_data"]
    for path in ("/v2/health/live", "/v2/health/ready", f"{MODEL}/ready"):
        assert caller.get(path).json["ready"] is True
    described = caller.get(MODEL).json
    assert described["inputs"] == [{"name": n, "datatype": "FP64", "shape": [-1]} for n in ("age", "dose")]
    found = outputs(caller.post(f"{MODEL}/infer", {"inputs": [matrix(X)]}))
    for one in described["outputs"]:
        assert list(found[one["name"]].shape[1:]) == one["shape"][1:]


BAD = matrix(X[:1])


@pytest.mark.parametrize(
    "inputs",
    [
        None,
        {},
        [],
        [1],
        [{}],
        [{**BAD, "shape": [2, 2]}],
        [{**BAD, "shape": [-1, 2]}],
        [{**BAD, "shape": []}],
        [{**BAD, "shape": [1, 1, 2]}],
        [{**BAD, "shape": [2**39, 2**39]}],
        [{**BAD, "shape": [1.0, 2.0]}],
        [{**BAD, "shape": [True, 2]}],
        [{**BAD, "shape": [2]}],
        [{**BAD, "datatype": "FP128"}],
        [{**BAD, "datatype": None}],
        [{**BAD, "datatype": "INT64"}],
        [{**BAD, "datatype": "BOOL"}],
        [{**BAD, "datatype": "BYTES"}],
        [{**BAD, "data": "text"}],
        [{**BAD, "data": ["a", "b"]}],
        [{**BAD, "data": [[1.0], [1.0, 2.0]]}],
        [{**BAD, "data": [1e999, 1.0]}],
        [{**BAD, "data": [10**400, 1.0]}],
        [{**BAD, "data": None}],
        [{**BAD, "name": 3}],
        [{**BAD, "shape": [0, 2], "data": []}],
        [{**BAD, "parameters": {"binary_data_size": 16}}],
        [{**BAD, "parameters": {"binary_data_size": -1}}],
        [{**BAD, "parameters": {"binary_data_size": "16"}}],
        [{**BAD, "name": "age", "shape": [1], "data": [1.0]}],
        [{**BAD, "name": "a"}, {**BAD, "name": "b"}],
        [BAD, BAD],
        [{**BAD, "datatype": "UINT8", "data": [300, 1]}],
        [{**BAD, "datatype": "INT8", "data": [-129, 1]}],
        [{**BAD, "datatype": "UINT64", "data": [-1, 1]}],
    ],
)
def test_broken_tensors_are_an_answer_not_a_crash(caller, inputs):
    assert caller.post(f"{MODEL}/infer", {"inputs": inputs}).status == 400


@pytest.mark.parametrize(
    "length", ["x", "-1", "99999999", "1e3", "", "9" * 40, "²", "123456789012abc", "00000000000012.5", "1" * 5000]
)
def test_a_wrong_length_of_the_json_is_refused(caller, length):
    body, _ = behind(X.to_numpy())
    assert caller.post(f"{MODEL}/infer", body, inference_header_content_length=length).status == 400


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b"\xff\xff\xff\xff", b"\x02\x00\x00\x00a", b"\x01\x00\x00\x00\xff", b"x" * 16]
)
def test_broken_bytes_are_refused(caller, data):
    for kind in ("BYTES", "FP64"):
        body, size = behind(data, kind=kind, shape=[1, 2])
        answer = caller.post(f"{MODEL}/infer", body, inference_header_content_length=size)
        assert answer.status == 400 or (kind, data) == ("FP64", b"x" * 16)
    body, size = behind(X.to_numpy())
    assert caller.post(f"{MODEL}/infer", body + b"more", inference_header_content_length=size).status == 400
