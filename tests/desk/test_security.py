"""Attacks on a desk: each is refused, or shown as text."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from desks import Browser, batch, new_desk
from report_forms import HOSTILE

from sepc import InputError, SEPClassifier, save
from sepc.desk.desk import Filters
from sepc.desk.intake import Terms
from sepc.desk.listening import Address
from sepc.desk.opening import open_desk


@pytest.fixture
def desk(tmp_path):
    return new_desk(tmp_path, 60)


@pytest.fixture
def browser(desk):
    return Browser(desk)


def n_events(desk):
    return desk.events.one("SELECT count(*) FROM events")


def test_a_token_lets_in_and_stays_in_a_cookie_that_no_script_reads(desk, browser):
    entered = browser.get(f"/?token={browser.token}", cookie=None)
    assert entered.status == 200
    assert re.search(r"; Path=/; HttpOnly; SameSite=Strict$", entered.headers["set-cookie"])
    assert browser.token not in entered.text
    assert browser.get("/").status == 200
    secure = Browser(desk, is_secure=True)
    assert "Secure" in secure.get(f"/?token={secure.token}").headers["set-cookie"]


@pytest.mark.parametrize("path", ["/", "/records/1", "/learned", "/job", "/export.csv", "/next", "/nowhere"])
@pytest.mark.parametrize("cookie", [None, "sepc-desk-test=wrong", "sepc-desk-test=", "other=1", "\x00bad;;;="])
def test_without_the_right_token_nobody_sees_anything(desk, browser, path, cookie):
    before = n_events(desk)
    refused = browser.get(path, cookie=cookie)
    assert refused.status == 401
    assert "P-0" not in refused.text
    assert browser.post("/undo", cookie=cookie).status == 401
    assert browser.get(f"{path}?token=wrong").status == 401
    assert n_events(desk) == before


def test_a_new_token_ends_the_old_one(desk, browser):
    Browser(desk, "ada")
    assert browser.get("/").status == 401


def test_the_file_holds_no_token(desk, browser):
    desk.events._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert browser.token.encode() not in desk.events.path.read_bytes()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_another_host_is_refused(browser, host):
    assert browser.get("/", host=host).status == 421
    assert browser.post("/undo", host=host).status == 421


def test_own_hosts_are_answered_on_any_port(browser):
    for host in ("127.0.0.1:8642", "localhost:1", "LOCALHOST"):
        assert browser.get("/", host=host).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:8642"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec_fetch_site": None, "origin": "http://evil.example"},
    ],
)
def test_a_form_of_another_site_changes_nothing(desk, browser, headers):
    number = desk.take("ada", Filters())
    before = n_events(desk)
    form = {"kind": "label", "label": "ill"}
    assert browser.post(f"/records/{number}/decide", form, **headers).status == 403
    assert n_events(desk) == before


def test_a_form_of_the_desk_itself_is_taken(desk, browser):
    number = desk.take("ada", Filters())
    assert (
        browser.post(
            f"/records/{number}/decide", {"kind": "label", "label": "ill"}, origin=f"http://{browser.HOST}"
        ).status
        == 303
    )
    assert desk.record(number).view["decided_label"] == "ill"


def test_changes_are_made_by_post_alone(desk, browser):
    before = n_events(desk)
    for path in ("/undo", "/records/1/decide", "/records/1/show", "/refit", "/refit/take-over", "/files"):
        assert browser.get(path).status in (404, 405)
    assert n_events(desk) == before


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2fapp.py",
        "/static/%2e%2e/events.py",
        "/static//etc/passwd",
        "/../../etc/passwd",
        "/export.db",
        "/export.csv/../../x",
        "/records/1/../../etc",
        "/records/99999999999999999999",
        "/records/-1",
        "/records/1;DROP",
    ],
)
def test_no_path_leads_out(browser, path):
    answer = browser.get(path)
    assert answer.status in (400, 404), answer.text
    assert "root:" not in answer.text
    assert "import" not in answer.text


@pytest.mark.parametrize("field", ["note", "reason", "label", "kind", "other"])
def test_a_field_of_ten_megabytes_is_refused(desk, browser, field):
    before = n_events(desk)
    form = {"kind": "label", "label": "ill", field: "x" * (10 << 20)}
    refused = browser.post("/records/1/decide", form)
    assert refused.status == 413
    assert browser.post("/records/1/decide", form, content_length="10").status == 413
    assert n_events(desk) == before


def test_an_upload_that_is_too_large_is_refused(desk):
    browser = Browser(desk, upload_bytes=1000)
    assert browser.post("/files", b"x" * 2000, content_type="multipart/form-data; boundary=b").status == 413


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"kind=%ZZ&label=%00", b"kind", b"&" * 1000, b"kind=label&" * 30])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "x"])
def test_a_broken_form_is_an_answer_not_a_crash(desk, browser, body, kind):
    before = n_events(desk)
    assert browser.post("/records/1/decide", body, content_type=kind).status in (400, 413)
    assert n_events(desk) == before


def test_pages_say_what_browsers_may_do(browser):
    for path in ("/", "/records/1", "/learned", "/static/style.css", "/nowhere"):
        headers = browser.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "server" not in headers
    assert browser.get("/").headers["cache-control"] == "no-store"


def test_pages_have_no_script_or_style_of_their_own(browser):
    for path in ("/", "/records/1", "/learned"):
        page = browser.get(path).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page)
        assert set(re.findall(r'(?:src|href|action)="(https?:)?//', page)) == set()


@pytest.fixture
def hostile(tmp_path):
    """Labels, columns, values and a file whose texts try to be something else."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, 3], 30)
    X = pd.DataFrame(rng.normal(size=(120, 4)) + 2.0 * np.eye(4)[codes], columns=HOSTILE)
    save(SEPClassifier().fit(X, np.array(HOSTILE, dtype=object)[codes]), tmp_path / "model.sepc")
    desk = open_desk(tmp_path / "model.desk.db", tmp_path / "model.sepc")
    desk.agree("ada", Terms(audit=0.3, blind=False))
    new = batch(pd.DataFrame(rng.normal(size=(30, 4)), columns=HOSTILE))
    shown = new.shown.set_column(0, "patient", pa.array([HOSTILE[i % 4] for i in range(30)]))
    desk.add("ada", f"{HOSTILE[0]}.csv", "d", [replace(new, shown=shown)])
    return desk


def test_markup_in_every_field_and_label_is_text(hostile):
    browser = Browser(hostile, HOSTILE[0])
    for row in hostile.listed("ada", Filters(), most=8):
        number = row["record"]
        browser.decide(number, HOSTILE[1], note=HOSTILE[0], reason=HOSTILE[2])
        for path in (f"/records/{number}", f"/records/{number}/details"):
            page = browser.get(path).text
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert "&lt;script&gt;alert(1)" in page
            assert "{{7*7}} 🙂" in page
            assert "49 🙂" not in page
    for path in ("/", "/learned", f"/?search={HOSTILE[0]}", f"/?label={HOSTILE[1]}&order=<script>&region=<b>"):
        page = browser.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert HOSTILE[0].encode() in browser.get("/export.jsonl").body.replace(b'\\"', b'"')


def test_an_order_that_is_none_is_an_error_in_words(browser):
    answer = browser.get("/?order=colour")
    assert answer.status == 400
    assert "no order by" in answer.text


def test_only_this_machine_is_open_by_default():
    assert Address().check().host == "127.0.0.1"
    with pytest.raises(InputError, match="--tls CERT KEY, or --behind-proxy"):
        Address("0.0.0.0").check()
    with pytest.raises(InputError, match="--hostname"):
        Address("0.0.0.0", behind_proxy=True).check()
    with pytest.raises(InputError, match="--tls"):
        Address("192.168.1.5").check()
    named = Address("0.0.0.0", names=["desk.example.org"], behind_proxy=True).check()
    assert named.hosts == {"desk.example.org"}
    assert named.url(8642, "t") == "https://desk.example.org/?token=t"
    assert Address("::1").url(80, "t") == "http://[::1]:80/?token=t"
