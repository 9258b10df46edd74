"""The page of a report in a real browser: what it shows is what `metrics` and NumPy compute."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, metrics, report
from sepc.common.text import percent

playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
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


@pytest.fixture(scope="module")
def wdbc():
    data = load_breast_cancer(as_frame=True)
    X, X_test, y, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0, test_size=0.3)
    clf = SEPClassifier().fit(X, y)
    return clf, X_test, y_test


@pytest.fixture(scope="module")
def wdbc_file(wdbc, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "wdbc.html"
    report(*wdbc, max_records=60).write(path)
    return path


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, 3], 30)
    names = [f"{HOSTILE[j]} {i}" for i, j in enumerate(codes)]
    X = pd.DataFrame(rng.normal(size=(120, 4)) + 2.0 * np.eye(4)[codes], columns=HOSTILE, index=names)
    y = np.array(HOSTILE, dtype=object)[codes]
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    clf = SEPClassifier().fit(X[::2], y[::2])
    report(clf, X[1::2], y[1::2], title=HOSTILE[0], date=HOSTILE[1], max_records=15).write(path)
    return path


class Watched:
    """A page whose requests, errors and dialogs are written down."""

    def __init__(self, browser, path, viewport=DESKTOP, **options):
        self.page = browser.new_page(viewport=viewport, **options)
        self.url = path.as_uri()
        self.requests, self.troubles = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append(dialog.message), dialog.dismiss()))
        self.page.goto(self.url)

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def require_quiet(self):
        assert self.troubles == []
        assert self.requests == [self.url]


@pytest.fixture
def watch(browser):
    opened = []

    def open_(path, **options):
        opened.append(Watched(browser, path, **options))
        return opened[-1]

    yield open_
    for watched in opened:
        watched.page.close()
        watched.require_quiet()  # after every test, whatever it did


def _slide_to(page, value):
    page.locator("#trust").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input', {bubbles: true})); }",
        str(value),
    )
    playwright.expect(page.locator("[data-shows=trust]").first).to_have_text(value)


def _expected(wdbc, min_trust):
    clf, X_test, y_test = wdbc
    a = clf.assess(X_test)
    accepted, right = a.accepted(min_trust), a.label == y_test
    given = np.where(accepted, a.label, "zz")
    return {
        "coverage": percent(accepted.mean()),
        "n-accepted": str(accepted.sum()),
        "accuracy": percent(right[accepted].mean()) if accepted.any() else "–",  # noqa: RUF001
        "n-right": str((accepted & right).sum()),
        "n-errors": str((accepted & ~right).sum()),
        "n-abstained": str((~accepted).sum()),
        "confusion": confusion_matrix(y_test, given, labels=[*clf.classes_, "zz"])[:2].ravel().astype(str).tolist(),
        "abstained": sorted(map(str, X_test.index[~accepted])),
    }


def _shown(page):
    ids = ("coverage", "n-accepted", "accuracy", "n-right", "n-errors", "n-abstained")
    return {id_: page.locator(f"#{id_}").inner_text() for id_ in ids} | {
        "confusion": page.locator(".confusion td").all_inner_texts(),
        "abstained": sorted(page.locator("#abstained tbody td:first-child").all_inner_texts()),
    }


@pytest.mark.parametrize("min_trust", ["0", "0.5", "0.9", "0.95", "0.997", "1"])
def test_the_slider_shows_what_the_assessment_accepts(watch, wdbc, wdbc_file, min_trust):
    page = watch(wdbc_file).page
    _slide_to(page, min_trust)
    assert _shown(page) == _expected(wdbc, float(min_trust))


def test_every_threshold_of_the_curve_gives_its_coverage_and_its_risk(watch, wdbc, wdbc_file):
    page = watch(wdbc_file).page
    clf, X_test, y_test = wdbc
    a = clf.assess(X_test)
    can_be = a.accepted(0.0)
    curve = metrics.risk_coverage_curve(y_test[can_be], a.label[can_be], a.trust[can_be])
    for coverage, risk, threshold in [*zip(*curve, strict=True)][::12]:
        page.locator("#trust-exact").fill(repr(float(threshold)))
        assert page.locator("#coverage").inner_text() == percent(coverage * can_be.mean())
        n_errors = int(page.locator("#n-errors").inner_text())
        assert n_errors / int(page.locator("#n-accepted").inner_text()) == pytest.approx(risk)


def test_presets_keys_and_the_curve_move_the_threshold_too(watch, wdbc, wdbc_file):
    page = watch(wdbc_file).page
    page.get_by_role("button", name="0.99", exact=True).click()
    assert _shown(page) == _expected(wdbc, 0.99)
    page.locator("#trust").focus()
    page.keyboard.press("ArrowLeft")
    playwright.expect(page.locator("[data-shows=trust]").first).to_have_text("0.989")
    assert _shown(page) == _expected(wdbc, 0.989)
    box = page.locator("#curve svg").first.bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    chosen = float(page.locator("#trust-exact").input_value())
    assert _shown(page) == _expected(wdbc, chosen)
    assert 0.4 < int(page.locator("#n-accepted").inner_text()) / len(wdbc[2]) < 0.7
    page.locator("#trust-exact").fill("7")  # no trust: nothing happens
    assert _shown(page) == _expected(wdbc, chosen)


def _column(page, table, number):
    return page.locator(f"{table} tbody td:nth-child({number})").all_inner_texts()


def test_tables_sort_by_numbers_and_by_text_in_both_directions(watch, wdbc, wdbc_file):
    page = watch(wdbc_file).page
    _slide_to(page, "1")
    clf, X_test, _ = wdbc
    trust = dict(zip(X_test.index.astype(str), clf.trust_score(X_test), strict=True))
    for title, number, key in (("trust", 2, trust.get), ("record", 1, int), ("predicted", 5, None)):
        button = page.locator("#abstained thead button", has_text=title).first
        heading = page.locator(f"#abstained thead th:nth-child({number})")
        for direction in ("ascending", "descending"):
            while heading.get_attribute("aria-sort") != direction:
                button.click()
            column = _column(page, "#abstained", 1 if number == 2 else number)
            keys = column if key is None else [key(value) for value in column]
            assert keys == sorted(keys, reverse=direction == "descending")
    assert page.locator("#abstained th[aria-sort]").count() == 1
    regions = page.locator("#regions table")
    regions.locator("thead button", has_text="records").focus()
    page.keyboard.press("Enter")
    counts = [int(count) for count in _column(page, "#regions table", 3)]
    assert counts == sorted(clf.regions()["n_label"])


def test_the_browser_of_verdicts_is_usable_by_keyboard(watch, wdbc, wdbc_file):
    page = watch(wdbc_file).page
    clf, X_test, _ = wdbc
    listbox = page.get_by_role("listbox")
    listbox.focus()
    told = []
    for key in ("Home", "ArrowDown", "ArrowDown", "End", "ArrowUp", "PageUp", "PageDown"):
        page.keyboard.press(key)
        chosen = page.locator("#list [aria-selected=true]")
        assert chosen.count() == 1
        assert listbox.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
        name = int(chosen.locator(".id").inner_text())
        assert page.locator("#verdict h3").first.inner_text() == f"Record {name}"
        assert clf.explain(X_test.loc[name]).text in page.locator("#verdict").inner_text()
        told.append(name)
    assert len(set(told[:4])) == 4
    assert told[0] == X_test.index[np.argmin(clf.trust_score(X_test))]


def test_filters_and_search_choose_records(watch, wdbc, wdbc_file):
    page = watch(wdbc_file).page
    clf, X_test, y_test = wdbc
    a = clf.assess(X_test)
    names = X_test.index.to_numpy()

    def listed():
        return {int(name) for name in page.locator("#list .id").all_inner_texts()}

    every = listed()
    assert len(every) == 60
    fitting = {
        "wrong": a.label != y_test,
        "outside": a.reason == "outside",
        "strange": a.reason == "strange",
        "abstained": ~a.accepted(0.95),
    }
    for name, fits in fitting.items():
        page.locator(f"[data-filter={name}]").click()
        assert page.locator(f"[data-filter={name}]").get_attribute("aria-pressed") == "true"
        assert listed() == every & set(names[fits].tolist())
    page.locator("[data-filter=all]").click()
    wanted = str(min(every))
    page.get_by_role("searchbox").fill(wanted)
    assert listed() == {name for name in every if wanted in str(name)}
    page.get_by_role("searchbox").fill("no such record")
    assert listed() == set()
    assert page.locator("#count").inner_text()


def test_abstained_records_and_dots_open_their_verdict(watch, wdbc_file):
    page = watch(wdbc_file).page
    link = page.locator("#abstained button.link").first
    name = link.inner_text()
    link.click()
    assert page.locator("#verdict h3").first.inner_text() == f"Record {name}"
    dot = page.locator("[data-view='0'] [data-open]").first
    record = dot.get_attribute("data-open")
    dot.dispatch_event("click")
    assert page.locator("#list [aria-selected=true]").get_attribute("data-open") == record


def test_another_view_of_the_regions_can_be_chosen(watch, wdbc_file):
    page = watch(wdbc_file).page
    for value in ("3", "0"):
        page.locator("#view").select_option(value)
        assert page.locator("[data-view]:visible").get_attribute("data-view") == value


def test_hostile_labels_columns_and_names_are_shown_as_text(watch, hostile_file):
    watched = watch(hostile_file)
    page = watched.page
    assert page.title() == HOSTILE[0]
    assert watched.text("h1") == HOSTILE[0]
    listbox = page.get_by_role("listbox")
    listbox.focus()
    page.keyboard.press("Home")
    _slide_to(page, "1")
    body = page.locator("body").inner_text()
    for text in HOSTILE:
        assert text in body
        assert text in page.locator("#verdict").inner_text()
        assert text in page.locator("#abstained").inner_text()
        assert text in page.locator(".confusion").inner_text()
    assert "49" not in watched.text("h1") + watched.text(".legend")
    assert page.locator("img, main script, bdi *").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_scrolls_sideways_but_tables(watch, wdbc_file, hostile_file, viewport, scheme):
    for path in (wdbc_file, hostile_file):
        page = watch(path, viewport=viewport, color_scheme=scheme).page
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def test_on_a_phone_tables_scroll_to_their_last_column_and_rows_keep_their_names(watch, wdbc_file, hostile_file):
    scrolled = """(box) => {
        const row = box.querySelector("tbody tr"), name = row.firstElementChild;
        const hidden = () => row.lastElementChild.getBoundingClientRect().right - box.getBoundingClientRect().right;
        const before = hidden();
        box.scrollLeft = 1e6;
        const left = name.getBoundingClientRect().left - box.getBoundingClientRect().left;
        return [before, hidden(), left, name.getBoundingClientRect().width];
    }"""
    for path in (wdbc_file, hostile_file):
        page = watch(path, viewport=PHONE, is_mobile=True, has_touch=True).page
        assert page.locator("table").count() == page.locator(".scroll table").count() > 10
        found = [box.evaluate(scrolled) for box in page.locator(".scroll:has(tbody tr)").all()]
        assert sum(before > 20 for before, *_ in found) > 5
        for _, after, left, width in found:
            assert after <= 1
            assert 0 <= left <= 1
            assert width < 0.5 * PHONE["width"]


def test_many_classes_fit_on_a_phone(watch, tmp_path):
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X[:, ::8], y, train_size=200, test_size=200, random_state=0, stratify=y)
    path = tmp_path / "digits.html"
    report(SEPClassifier().fit(X, y), X_test, y_test, max_records=5).write(path)
    page = watch(path, viewport=PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert page.locator(".confusion td").count() == 10 * 11


def _luminance(colour):
    parts = np.array([float(part) for part in colour.removeprefix("rgb(").rstrip(")").split(",")]) / 255.0
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_weak_eyes(watch, wdbc_file, scheme):
    """Contrast of at least 4.5, level AA of the Web Content Accessibility Guidelines."""
    page = watch(wdbc_file, color_scheme=scheme).page
    background = """(element) => {
        for (let e = element; e; e = e.parentElement) {
            const colour = getComputedStyle(e).backgroundColor;
            if (colour.startsWith("rgb(")) return [getComputedStyle(element).color, colour];
        }
    }"""
    some = ("h1", ".lead", ".hint", ".tiles dt", ".tiles small", ".severity", ".finding code", "td", ".bar nav a")
    more = (".flag.wrong", ".flag.right", "#list .trust", "button.link", "[aria-pressed=true]", ".confusion td.miss")
    for selector in some + more:
        ink, paper = page.locator(selector).first.evaluate(background)
        low, high = sorted((_luminance(ink), _luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, selector


def test_the_page_has_an_icon_of_its_own(watch, wdbc_file):
    watched = watch(wdbc_file)
    icon = watched.page.locator('link[rel="icon"]').get_attribute("href")
    loaded = "(src) => new Promise((f) => Object.assign(new Image(), { src, onload: (e) => f(e.target.width) }))"
    size = watched.page.evaluate(loaded, icon)
    assert size > 0
    assert watched.troubles == []


def test_light_and_dark_can_be_switched(watch, wdbc_file):
    page = watch(wdbc_file, color_scheme="dark").page
    colours = []
    for _ in range(3):
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.locator("#theme").click()
    assert colours[0] == colours[2] != colours[1]
    assert _luminance(colours[0]) < 0.05 < 0.9 < _luminance(colours[1])


def test_on_paper_everything_is_open_and_the_threshold_is_told(watch, wdbc_file):
    page = watch(wdbc_file, color_scheme="dark").page
    _slide_to(page, "0.9")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#trust").is_visible()
    assert "0.9" in page.locator("#threshold .print-only").inner_text()
    assert page.locator("details:not([open])").count() == 0
    cut = "(e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
    page.set_viewport_size({"width": 700, "height": 1000})
    assert not any(box.evaluate(cut) for box in page.locator(".scroll").all())


def test_the_first_tab_leads_to_the_content(watch, wdbc_file):
    page = watch(wdbc_file).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main"
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash === '#main'")  # on a busy machine it may take a moment
    assert page.locator("button:not([aria-label]):empty, input:not([id]), svg[role=img]:not([aria-label])").count() == 0
