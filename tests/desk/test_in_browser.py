"""A desk in a real browser: what people press is what its file holds, and blind records keep their verdict."""

import os
import shutil
import socket
import threading
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from desks import LABELS, batch, new_desk, records

from sepc import SEPClassifier
from sepc.common.text import percent
from sepc.desk.batches import Batch
from sepc.desk.desk import Filters

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
uvicorn = pytest.importorskip("uvicorn", reason="a desk needs uvicorn")
pytest.importorskip("starlette", reason="a desk needs starlette")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="the browser tests need chromium, which is not installed"),
]

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
HOSTILE = ["<script>alert(1)</script>", "\"quotes' </script><img src=x onerror=alert(2)>", "{{7*7}} 🙂", "ערך وقيمة"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        # Chromium has no sandbox for root.
        args = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = started.chromium.launch(executable_path=CHROMIUM, args=args)
        yield found
        found.close()


class Watched:
    """One person's browser, whose requests, messages and errors are written down."""

    def __init__(self, browser, served, person, viewport=DESKTOP, **options):
        self.context = browser.new_context(viewport=viewport, **options)
        self.page = self.context.new_page()
        self.base, self.requests, self.troubles = served.base, [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))
        self.page.goto(f"{served.base}/?token={served.tokens[person]}")
        self.page.wait_for_url(f"{served.base}/")

    def press(self, key):
        """Press a key that leads to another page."""
        with self.page.expect_navigation():
            self.page.keyboard.press(key)

    def open(self, path):
        self.page.goto(f"{self.base}{path}")

    def text(self):
        return " ".join(self.page.locator("main").inner_text().split())

    @property
    def record(self):
        """The number of the record that is open; None on another page."""
        before, _, number = self.page.url.split("?")[0].rpartition("/records/")
        return int(number) if before and number.isdigit() else None

    def close(self):
        self.context.close()
        assert self.troubles == []
        assert [url for url in self.requests if not url.startswith(f"{self.base}/")] == []


def _read(path, name):  # noqa: ARG001
    return [batch(pd.read_csv(path))]


@pytest.fixture
def serve():
    """Serve desks, each at a port of its own."""
    from sepc.desk.app import Served, application
    from sepc.desk.jobs import Jobs
    from sepc.desk.security import new_token

    ends = []

    def start(desk):
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        jobs = Jobs(desk)
        nothing_ahead = SimpleNamespace(after=lambda *_: None)
        served = Served(desk, jobs, nothing_ahead, read=_read)
        app = application(served, frozenset({"127.0.0.1"}), f"desk-{port}", upload_bytes=1 << 20)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        ends.append((jobs, server, thread, listening))
        tokens = {person: new_token(desk.events, person) for person in desk.people}
        return SimpleNamespace(desk=desk, base=f"http://127.0.0.1:{port}", tokens=tokens)

    yield start
    for jobs, server, thread, listening in ends:
        jobs.cancel()
        server.should_exit = True
        thread.join()
        listening.close()


@pytest.fixture
def visit(browser):
    opened = []

    def start(served, person="ada", **options):
        opened.append(Watched(browser, served, person, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()  # after every test, whatever it did


@pytest.fixture
def served(serve, tmp_path):
    return serve(new_desk(tmp_path, 60))


def true_label(desk, number):
    return str(desk.truth[desk.record(number).view["row"] - 1])


def key_of(label):
    return str(LABELS.index(label) + 1)


def some_record(desk, where):
    return int(desk.events.one(f"SELECT record FROM queue WHERE {where} ORDER BY record LIMIT 1"))


def decisions(desk):
    """Return what holds of the decisions, by record: person, kind and label."""
    rows = desk.events.rows("SELECT * FROM decisions WHERE undone IS NULL ORDER BY event")
    return {row["record"]: (row["person"], row["kind"], row["label"]) for row in rows}


def test_a_whole_queue_by_keyboard_alone(visit, served):
    one, desk, expected, notes = visit(served), served.desk, {}, 0
    one.press("Enter")
    n = desk.progress()["waiting"]
    while (number := one.record) is not None:
        label, turn = true_label(desk, number), len(expected)
        given = None if "asked blind" in one.text() else desk.record(number).view["label"]
        if turn == 3 and number not in expected:
            expected[number] = None
            one.press("p")
        elif turn % 5 == 4:
            one.page.keyboard.press("r")
            one.page.keyboard.type("value looks wrong")
            one.page.keyboard.press("Enter")  # leaves the field, and decides nothing
            one.page.keyboard.press("n")
            one.page.keyboard.type("a1t: no keys here")
            one.page.keyboard.press("Escape")
            assert one.record == number
            expected[number], notes = ("ada", "cannot tell", None), notes + 1
            one.press("t")
        else:
            kind = "accept" if label == desk.record(number).view["label"] else "override"
            expected[number] = ("ada", kind, label)
            one.press("a" if given == label else key_of(label))
        words = expected[number][2] or expected[number][1] if expected[number] else "postponed"
        assert f"Saved: record {number} as {words}" in one.text()
    assert "Nothing is left here" in one.text()
    assert len(expected) == n
    assert {record: kept for record, kept in decisions(desk).items() if kept[1] != "postpone"} == expected
    kept = desk.events.rows("SELECT reason, note FROM decisions WHERE note IS NOT NULL")
    assert [tuple(row) for row in kept] == notes * [("value looks wrong", "a1t: no keys here")]
    assert desk.progress() == {"waiting": 0, "second": 0, "disagreement": 0, "decided": n, "settled": 0}
    desk.events.verify()


def test_two_browsers_share_a_queue_and_get_no_record_twice(visit, served):
    both, desk, seen = [visit(served, "ada"), visit(served, "ben")], served.desk, []
    for one in both:
        one.press("Enter")
    while any(one.record is not None for one in both):
        for one in both:
            if one.record is not None:
                seen.append(one.record)
                one.press(key_of(true_label(desk, one.record)))
    assert len(seen) == len(set(seen)) == desk.progress()["decided"]
    found = decisions(desk)
    assert {person for person, *_ in found.values()} == {"ada", "ben"}
    assert {record: label for record, (*_, label) in found.items()} == {r: true_label(desk, r) for r in seen}


def test_who_comes_second_looks_again(visit, served):
    ada, ben, desk = visit(served, "ada"), visit(served, "ben"), served.desk
    number = some_record(desk, "NOT blind")
    for one in (ada, ben):
        one.open(f"/records/{number}")
    ada.press("1")
    ben.press("2")
    assert f"Record {number} has changed since this page was made, by ada" in ben.text()
    assert decisions(desk) == {number: ("ada", *decisions(desk)[number][1:2], "ill")}
    ben.press("Enter")
    assert ben.record == number
    assert "ada ill" in ben.text()
    assert [trouble for trouble in ben.troubles if "409" not in trouble] == []
    ben.troubles.clear()


def test_a_blind_audit_shows_its_verdict_once_it_is_decided_and_asked_for(visit, served):
    one, desk = visit(served), served.desk
    number = some_record(desk, "is_audit")
    record = desk.record(number)
    why = desk.judge.explain(record.batch, changes=True)[0]
    telling = [percent(record.view["trust"]), record.view["region"], "Predicted", "random audit", "Accept"]

    def leaks():
        whole = one.page.content().replace("\u00a0", " ") + one.text()
        return [text for text in telling if text in whole]

    one.open(f"/records/{number}")
    one.page.keyboard.press("d")
    playwright.expect(one.page.locator("#details-content")).to_contain_text("this record")
    assert "to be" not in one.page.locator("#details-content").inner_text()
    one.page.locator("#keys").evaluate("dialog => dialog.remove()")  # it says "accept", too
    assert leaks() == []
    one.page.keyboard.press("v")
    one.page.keyboard.press("a")
    assert decisions(desk) == {}
    one.press("2")
    assert f"Saved: record {number} as well" in one.text()
    one.press("v")
    assert one.record == number
    assert why.text in one.text()
    assert "random audit" in one.text()
    assert [event.person for event in desk.events.of_kind("shown") if event.record == number] == ["ada"]
    one.press("Enter")
    assert one.record not in (None, number)


def test_undo_of_any_depth_and_back(visit, served):
    one, desk, decided = visit(served), served.desk, []
    one.press("Enter")
    for _ in range(5):
        decided.append(one.record)
        one.press("1")
    now = one.record
    one.press("b")
    assert one.record == decided[-1]
    one.press("b")
    assert one.record == decided[-2]
    one.press("Enter")
    assert one.record == now
    for number in reversed(decided):
        one.press("u")
        assert one.record == number
    assert decisions(desk) == {}
    assert "Saved" not in one.text()
    one.press("2")
    assert decisions(desk)[decided[0]][2] == "well"


def test_keys_rest_while_somebody_types_and_with_other_keys(visit, served):
    one = visit(served)
    one.page.keyboard.press("/")
    one.page.keyboard.type("1atu?p-0000")
    assert one.page.locator("[name=search]").input_value() == "1atu?p-0000"
    assert not one.page.locator("#keys").is_visible()
    one.page.keyboard.press("Escape")
    one.page.keyboard.press("?")
    assert one.page.locator("#keys").is_visible()
    one.page.keyboard.press("Escape")
    assert not one.page.locator("#keys").is_visible()
    one.press("Enter")
    for key in ("Control+1", "Alt+1", "Meta+1", "Control+t"):
        one.page.keyboard.press(key)
    one.page.wait_for_timeout(200)
    assert decisions(served.desk) == {}


def test_search_and_filters_hold_from_record_to_record(visit, served):
    one, desk = visit(served), served.desk
    one.page.keyboard.press("/")
    one.page.keyboard.type("P-0001")
    one.press("Enter")
    rows = one.page.locator("tbody tr").count()
    assert rows == desk.count("ada", Filters(search="P-0001")) > 1
    one.page.locator("h1").click()
    one.press("Enter")
    for _ in range(rows):
        assert desk.record(one.record).batch.shown["patient"][0].as_py().startswith("P-0001")
        one.press("1")
    assert "Nothing is left here" in one.text()
    assert len(decisions(desk)) == rows


def test_two_opinions_a_disagreement_and_how_it_is_settled(visit, serve, tmp_path):
    served = serve(new_desk(tmp_path, 40, second=1.0, audit=0.0))
    desk, ada, ben = served.desk, visit(served, "ada"), visit(served, "ben")
    number = some_record(desk, "1")
    ada.open(f"/records/{number}")
    ada.press("1")
    ben.open(f"/records/{number}")
    assert ben.page.locator(".opinions").count() == 0
    ben.page.locator("#note").fill("The dose says so.")
    ben.page.locator("h1").click()
    ben.press("2")
    ada.open("/?state=disagreement")
    ada.press("Enter")
    assert ada.record == number
    opinions = " ".join(ada.page.locator(".opinions").inner_text().split())
    assert "You ill" in opinions
    assert "ben well" in opinions
    assert "The dose says so." in opinions
    ada.press("2")
    assert desk.record(number).view["state"] == "decided"
    assert desk.record(number).view["decided_label"] == "well"


def test_a_refit_shows_what_it_changes_before_it_takes_over(visit, serve, tmp_path):
    desk = new_desk(tmp_path, 120, audit=0.4)
    served = serve(desk)
    while (number := desk.take("ada", Filters())) is not None:
        desk.decide("ada", number, "label", true_label(desk, number))
    one = visit(served)
    one.open("/learned")
    for button, title in (("Look for drift", "larm"), ("Refit on old and new records", "Model 2 waits to take over")):
        with one.page.expect_navigation():
            one.page.get_by_role("button", name=button).click()
        assert one.page.get_by_role("button", name="Cancel").is_visible()
        ada = visit(served, "ben")  # the desk answers all the while
        assert "records left for you" in ada.text()
        playwright.expect(one.page.locator("main")).to_contain_text(title, timeout=120_000)
    assert desk.judge.number == 1
    assert "Both models on records that neither has learned" in one.page.content()
    with one.page.expect_navigation():
        one.page.get_by_role("button", name="Take over").click()
    assert desk.judge.number == 2
    assert "model 2" in one.page.locator("footer").inner_text()
    assert (tmp_path / "model.sepc").exists()
    desk.events.verify()


def test_a_job_can_be_cancelled(visit, served):
    one = visit(served)
    one.press("Enter")
    one.press("1")
    one.open("/learned")
    with one.page.expect_navigation():
        one.page.get_by_role("button", name="Look for drift").click()
    with one.page.expect_navigation():
        one.page.get_by_role("button", name="Cancel").click()
    playwright.expect(one.page.locator("#job")).to_contain_text("The watch was cancelled")
    assert one.page.get_by_role("button", name="Look for drift").is_visible()


def test_a_file_can_be_added_while_it_runs(visit, served, tmp_path):
    one, before = visit(served), served.desk.progress()["waiting"]
    records(50, 9)[0].to_csv(tmp_path / "more.csv", index=False)
    one.page.locator("#file").set_input_files(tmp_path / "more.csv")
    with one.page.expect_navigation():
        one.page.get_by_role("button", name="Add", exact=True).click()
    assert served.desk.progress()["waiting"] > before
    assert "more.csv" in one.page.locator("select[name=file]").inner_text()


def test_everything_works_without_script(visit, served):
    one, desk = visit(served, java_script_enabled=False), served.desk
    one.page.get_by_role("link", name="Start").click()
    number = one.record
    one.page.get_by_label("Note").fill("By hand.")
    one.page.get_by_role("button", name="Cannot tell").click()
    assert f"Saved: record {number} as cannot tell" in one.text()
    one.page.get_by_role("button", name="Undo").click()
    assert one.record == number
    assert one.page.get_by_label("Note").input_value() == "By hand."
    one.page.locator("#decide").get_by_role("button", name="well").last.click()
    assert decisions(desk)[number][2] == "well"
    one.page.locator("#details summary").click()
    one.page.get_by_role("link", name="Open on a page of its own").click()
    assert "this record" in one.text()


@pytest.fixture
def everywhere(serve, tmp_path):
    """A desk with all that pages can show, and the addresses of its pages."""
    desk = new_desk(tmp_path, 80, second=0.5)
    for _ in range(8):
        for person, note in (("ada", ""), ("ben", "Look at the dose again; it may be in other units.")):
            if (number := desk.take(person, Filters())) is not None:
                label = true_label(desk, number) if person == "ada" else LABELS[number % 2]
                desk.decide(person, number, "label", label, note=note)
    blind, open_ = (some_record(desk, f"{blind} AND state = 'waiting'") for blind in ("blind", "NOT blind"))
    decided = some_record(desk, "blind AND state = 'decided'")
    paths = ["/", "/?state=decided", "/learned", *(f"/records/{number}" for number in (blind, open_, decided))]
    return serve(desk), [*paths, f"/records/{open_}/details", f"/records/{blind}/details"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_scrolls_sideways_but_tables(visit, everywhere, viewport, scheme):
    served, paths = everywhere
    one = visit(served, viewport=viewport, color_scheme=scheme)
    for path in paths:
        one.open(path)
        assert one.page.evaluate("document.documentElement.scrollWidth") == viewport["width"], path


def test_on_a_phone_the_decisions_stay_in_reach(visit, everywhere):
    served, paths = everywhere
    one = visit(served, viewport=PHONE, is_mobile=True, has_touch=True)
    one.open(paths[4])
    for where in (0, 1e6):
        one.page.evaluate("y => scrollTo(0, y)", where)
        box = one.page.locator(".choices").bounding_box()
        assert box["y"] + box["height"] == pytest.approx(PHONE["height"], abs=1)
        assert box["height"] < 0.4 * PHONE["height"]
    one.page.locator("#note").scroll_into_view_if_needed()
    field = one.page.locator("#note").bounding_box()
    assert field["y"] + field["height"] <= box["y"]
    with one.page.expect_navigation():
        one.page.locator(".choices").get_by_role("button", name="Cannot tell").tap()
    assert "as cannot tell" in one.text()


def _luminance(colour):
    parts = np.array([float(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]) / 255.0
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


_COLOURS = """() => {
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!own || !element.checkVisibility() || element.closest(".hidden, .skip, dialog, option")) continue;
        for (let e = element; e; e = e.parentElement) {
            const paper = getComputedStyle(e).backgroundColor;
            if (!paper.startsWith("rgb(")) continue;
            found.push([element.outerHTML.slice(0, 80), getComputedStyle(element).color, paper]);
            break;
        }
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_weak_eyes(visit, everywhere, scheme):
    """Contrast of at least 4.5, level AA of the Web Content Accessibility Guidelines."""
    served, paths = everywhere
    one = visit(served, color_scheme=scheme)
    for path in paths:
        one.open(path)
        found = one.page.evaluate(_COLOURS)
        assert len(found) > 20
        for element, ink, paper in found:
            low, high = sorted((_luminance(ink), _luminance(paper)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (path, element)


_UNNAMED = """() => [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, a, svg, img")]
    .filter((e) => !e.hidden && !e.closest("[aria-hidden=true]"))
    .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.alt === ""))
    .map((e) => e.outerHTML)"""


def test_everything_has_a_name_and_headings_are_in_order(visit, everywhere):
    served, paths = everywhere
    one = visit(served)
    for path in paths:
        one.open(path)
        assert one.page.evaluate(_UNNAMED) == [], path
        levels = [
            int(level)
            for level in one.page.locator("main")
            .locator("h1, h2, h3")
            .evaluate_all("all => all.map((e) => e.tagName[1])")
        ]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), path
        assert (
            one.page.locator("main table").count() == one.page.locator("main .scroll[tabindex] table > caption").count()
        )


def test_a_record_begins_at_its_heading_and_the_queue_at_the_link_to_the_content(visit, served):
    one = visit(served)
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.getAttribute('href')") == "#main"
    one.page.locator("h1").click()
    one.press("Enter")
    assert one.page.evaluate("document.activeElement.tagName") == "H1"
    one.press("1")
    described = one.page.locator("h1").get_attribute("aria-describedby")
    assert one.page.locator(f"#{described}").get_attribute("role") == "status"


def test_light_and_dark_can_be_switched_and_stay(visit, served):
    one, colours = visit(served, color_scheme="dark"), []
    for path in ("/", "/learned", "/learned"):
        one.open(path)
        colours.append(one.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        if len(colours) == 1:
            one.page.locator("#theme").click()
    assert _luminance(colours[0]) < 0.05
    assert min(_luminance(colour) for colour in colours[1:]) > 0.9


def test_hostile_texts_are_shown_as_text(visit, serve, tmp_path):
    rng, codes = np.random.default_rng(0), np.repeat([0, 1, 2, 3], 30)
    X = pd.DataFrame(rng.normal(size=(120, 4)) + 2.0 * np.eye(4)[codes], columns=HOSTILE)
    clf = SEPClassifier().fit(X[::2], np.array(HOSTILE, dtype=object)[codes[::2]])
    desk = new_desk(tmp_path, 0, clf=clf)
    rows = pa.Table.from_pandas(X[1::2], preserve_index=False)
    shown = rows.append_column("<b>id</b>", pa.array([HOSTILE[code] for code in codes[1::2]]))
    desk.add("ada", HOSTILE[1], "digest", [Batch(shown, rows, None, np.zeros(60, dtype=bool), 1)])
    one = visit(serve(desk), viewport=PHONE)
    one.open(f"/records/{some_record(desk, 'NOT blind')}")
    assert all(text in one.text() for text in (*HOSTILE, "<b>id</b>"))
    one.page.locator("#note").fill(HOSTILE[1])
    with one.page.expect_navigation():
        one.page.locator("#decide").get_by_role("button", name=HOSTILE[0]).last.click()
    for path in ("/", "/?search=%3Cscript%3Ealert(1)", "/learned", "/records/1", "/records/1/details"):
        one.open(path)
        assert one.page.locator("main script, main img, main b b, bdi *").count() == 0
        assert one.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path
    one.open("/")
    assert HOSTILE[1] in one.text()
