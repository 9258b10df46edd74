"""Requests that are refused: each gets a status and a reason, and changes nothing for the others."""

import asyncio
import time

import pytest
from desks import classifier, records
from scorers import HOST, MODEL, Caller, records_of

from sepc import InputError
from sepc.desk.listening import Address
from sepc.serving.server.running import _require_token
from sepc.serving.server.scoring import Limits

X, _ = records(5, 3)
GOOD = records_of(X)


@pytest.fixture
def caller(tmp_path):
    with Caller(tmp_path, classifier()) as made:
        yield made


@pytest.fixture
def guarded(tmp_path):
    with Caller(tmp_path, classifier(), token="0123456789abcdef") as made:
        yield made


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        (b"", "application/json", "no JSON"),
        (b"{", "application/json", "no JSON"),
        (b"\xff\xfe", "application/json", "no JSON"),
        (b"[" * 100_000, "application/json", "no JSON"),
        (b"[{}]", "application/json", "Row 1 has no column 'age', 'dose'"),
        (b"[]", "application/json", "There are no rows"),
        (b"3", "application/json", "The body has no rows"),
        (b'{"records": 3}', "application/json", "The body has no rows"),
        ([GOOD[0], {"age": 1.0}], None, "Row 2 has no column 'dose'"),
        ([GOOD[0], [1.0]], None, "Row 2 is no record"),
        ([GOOD[0], {"age": 1.0, "dose": "much"}], None, "column 'dose' holds 'much' in data row 2"),
        ([GOOD[0], {"age": 1e999, "dose": 1.0}], None, "column 'age' holds inf in data row 2"),
        ([GOOD[0], {"age": 10**400, "dose": 1.0}], None, "very many digits"),
        ([{"age": [1.0], "dose": 1.0}], None, "column 'age' holds '[1.0]' in data row 1"),
        ([{"age": {}, "dose": 1.0}], None, "column 'age' holds '{}' in data row 1"),
        ({"columns": {"age": [1.0]}}, None, "no column 'dose'"),
        ({"columns": {"age": [1.0], "dose": 2.0}}, None, "differ in length"),
        ({"columns": {"age": [1.0], "dose": [1.0, 2.0]}}, None, "differ in length"),
        ({"columns": {"age": [[1.0]], "dose": [[1.0]]}}, None, "column 'age' holds '[1.0]'"),
        ({"names": ["age", "dose"], "rows": [[1.0, 2.0], [1.0]]}, None, "Row 2 is no list of 2 values"),
        ({"names": ["age", "age"], "rows": [[1.0, 2.0]]}, None, "one of them twice"),
        ({"names": [1, {}], "rows": [[1.0, 2.0]]}, None, "others than texts"),
        ([{"age": "1_000", "dose": 1.0}], None, "column 'age' holds '1_000' in data row 1"),
        ([{"age": "\u0661", "dose": None}], None, "column 'age' holds '\u0661' in data row 1"),
        (b"age,dose\n1,2\n1e999,2\n", "text/csv", "column 'age' holds inf in data row 2"),
        (b"age,dose,age\n1,2,3\n", "text/csv", "more than one column named 'age'"),
        (b'\xef\xbb\xbfage,dose,"age"\r\n1,2,3\r\n', "text/csv", "more than one column named 'age'"),
        (b"\nage,dose,x,x\r1,2,3,4\r", "text/csv", "more than one column named 'x'"),
        (b"age\n1\n", "text/csv", "no column 'dose'"),
        (b"age,dose\n1,2\n3,much\n", "text/csv", "column 'dose' holds 'much' in data row 2"),
        (b"age,dose\n1,2\n3\n", "text/csv", "row 2"),
        (b"age,dose\n", "text/csv", "There are no rows"),
        (b"", "text/csv", "empty"),
        (b"age,dose\n1,\xff\n", "text/csv", "utf-8"),
        (b"\x00\x01", "text/csv", ""),
    ],
)
def test_the_error_says_what_is_wrong_and_in_which_row(caller, body, kind, text):
    answer = caller.post("/predict", body, content_type=kind or "application/json")
    assert answer.status == 400
    assert text.lower() in answer.json["error"].lower()
    assert len(answer.json["error"]) < 1000
    assert caller.post("/explain", body, content_type=kind or "application/json").status == 400
    assert caller.metrics.value("rows") == 0


def test_other_types_and_addresses_are_refused(caller):
    assert caller.post("/predict", GOOD, content_type="application/x-www-form-urlencoded").status == 415
    assert caller.get("/predict").status == 405
    assert caller.get("/nowhere").status == 404
    assert caller.post("/reload").status == 404  # nobody may do it without a token
    assert caller.get("/v2/models/other").status == 404
    assert caller.get(f"{MODEL}/versions/9").status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8643", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_another_host_is_refused(caller, host):
    for path in ("/model", "/metrics", "/openapi.json", "/v2"):
        assert caller.get(path, host=host).status == 421
    assert caller.post("/predict", GOOD, host=host).status == 421
    assert caller.get("/health/live", host=host).status == 200  # a probe calls by a number


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://["},
        {"origin": ""},
    ],
)
def test_a_page_of_another_site_gets_nothing(caller, headers):
    answer = caller.post("/predict", GOOD, **headers)
    assert (answer.status, answer.headers["x-content-type-options"]) == (403, "nosniff")
    assert caller.metrics.value("requests", endpoint="other", status=403) == 1
    assert caller.metrics.value("rows") == 0


def test_a_page_of_its_own_and_a_program_are_answered(caller):
    assert caller.post("/predict", GOOD, origin=f"http://{HOST}", sec_fetch_site="same-origin").status == 200
    assert caller.post("/predict", GOOD).status == 200


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", "0123456789abcdef", "Basic 0123456789abcdef"])
def test_with_a_token_nobody_is_let_in_without_it(guarded, given):
    for path in ("/model", "/metrics", "/openapi.json", "/v2", MODEL, "/nowhere"):
        answer = guarded.get(path, authorization=given or "")
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "benign" not in answer.text
    assert guarded.post("/predict", GOOD, authorization=given or "").status == 401
    assert guarded.post("/reload", authorization=given or "").status == 401
    assert guarded.get("/health/ready", authorization=given or "").status == 200


def test_the_token_lets_in(guarded):
    token = "Bearer 0123456789abcdef"
    assert guarded.post("/predict", GOOD, authorization=token).status == 200
    assert guarded.get("/metrics", authorization=token).status == 200
    assert guarded.post("/reload", authorization=token).status == 200


@pytest.mark.parametrize("token", [None, "short", "with blanks in between", "ünïcode-ünïcode-ünïcode"])
def test_what_others_reach_needs_a_good_token(token):
    with pytest.raises(InputError, match="token"):
        _require_token(Address("0.0.0.0", names=["score.example"], behind_proxy=True), token)


def test_answers_say_what_browsers_may_do(caller):
    for path in ("/model", "/nowhere", "/health/live"):
        headers = caller.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]


class TestSizes:
    @pytest.fixture
    def caller(self, tmp_path):
        with Caller(tmp_path, classifier(), limits=Limits(body=2000, rows=3, explained=2)) as made:
            yield made

    @pytest.mark.parametrize("path", ["/predict", "/explain", f"{MODEL}/infer"])
    def test_a_long_body_is_refused_whatever_the_headers_say(self, caller, path):
        body = b"[" + b" " * 5000 + b"]"
        assert caller.post(path, body).status == 413
        assert caller.post(path, body, content_length="10").status == 413
        chunks = [b"[", *([b" " * 100] * 50), b"]"]
        for length in (None, "-1", "x"):
            asked = caller.ask("POST", path, b"", {"content_length": length}, chunks)
            assert asyncio.run(asked).status == 413

    def test_rows_are_counted(self, caller):
        assert caller.post("/predict", GOOD[:3]).status == 200
        assert caller.post("/predict", GOOD[:4]).status == 413
        assert caller.post("/predict", X.to_csv(index=False).encode(), content_type="text/csv").status == 413
        assert caller.post("/explain", GOOD[:2]).status == 200
        assert caller.post("/explain", GOOD[:3]).status == 413

    def test_a_body_that_stops_is_an_error_of_the_client(self, caller):
        assert asyncio.run(caller.ask("POST", "/predict", b"", {}, [b"[{"])).status == 400


class TestTime:
    def test_too_many_at_once_are_asked_to_come_later(self, caller):
        caller.scorer.small.most = 2
        statuses = [answer.status for answer in caller.at_once(*[("/predict", GOOD)] * 60)]
        assert set(statuses) == {200, 503}
        assert caller.post("/predict", GOOD).status == 200

    def test_what_takes_too_long_is_given_up(self, tmp_path, monkeypatch):
        with Caller(tmp_path, classifier(), limits=Limits(seconds=0.1)) as caller:
            slow = caller.scorer.small.work
            monkeypatch.setattr(caller.scorer.small, "work", lambda jobs: (time.sleep(0.4), slow(jobs)))
            answer = caller.post("/predict", GOOD)
            assert (answer.status, answer.headers["retry-after"]) == (504, "1")
            monkeypatch.setattr(caller.scorer.small, "work", slow)
            time.sleep(0.4)
            assert caller.post("/predict", GOOD).status == 200

    def test_after_the_end_nobody_is_kept_waiting(self, tmp_path):
        with Caller(tmp_path, classifier()) as caller:
            pass
        assert caller.post("/predict", GOOD).status == 503


def test_a_mistake_of_ours_shows_no_trace(caller, monkeypatch, caplog):
    monkeypatch.setattr(caller.scorer.small, "work", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # which the server logs
        caller.post("/predict", GOOD)
    assert "ZeroDivisionError" in caplog.text
    assert caller.metrics.value("requests", endpoint="/predict", status=500) == 1
