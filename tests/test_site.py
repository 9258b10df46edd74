"""The check of the built site, and the page for addresses that lead nowhere."""

import json
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from sepc.common.site import site_address

DOCS = Path(__file__).parents[1] / "docs"
HOME = site_address()
HEAD = '<head><link rel="icon" href="{}icon.svg"></head>'


@pytest.fixture(scope="module")
def checking():
    return runpy.run_path(str(DOCS / "check_site.py"))


@pytest.fixture
def site(tmp_path, checking):
    """A site of three pages without a fault."""
    (tmp_path / "start").mkdir()
    (tmp_path / "icon.svg").write_text("<svg/>")
    terms = {"terms": dict.fromkeys(checking["WORDS"])}
    pages = {
        "searchindex.js": f"Search.setIndex({json.dumps(terms)})",
        "index.html": HEAD.format("") + '<a href="start/index.html#top">start</a>',
        "start/index.html": HEAD.format("../") + '<p id="top"></p><a href="../index.html">home</a>',
        "404.html": HEAD.format(HOME) + f'<a href="{HOME}start/index.html#top">start</a><a href="#x" id="x"></a>',
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_site_without_a_fault_passes(site, checking, capsys):
    assert checking["main"](site) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("page", "old", "new", "fault"),
    [
        ("index.html", "start/index.html", "start/other.html", "leads nowhere"),
        ("index.html", "#top", "#bottom", "no such place"),
        ("index.html", 'rel="icon"', 'rel="next"', "has no icon"),
        ("index.html", '"icon.svg"', '"https://example.org/icon.svg"', "from elsewhere"),
        ("start/index.html", "../icon.svg", "icon.svg", "leads nowhere"),
        ("404.html", f"{HOME}start/", "start/", "is not a whole address"),
        ("404.html", f"{HOME}start/", f"{HOME}stop/", "leads nowhere"),
        ("404.html", "#top", "#bottom", "no such place"),
    ],
)
def test_each_fault_is_named(site, checking, capsys, page, old, new, fault):
    text = (site / page).read_text()
    assert old in text
    (site / page).write_text(text.replace(old, new))
    assert checking["main"](site) == 1
    assert f"{page}: " in (told := capsys.readouterr().err)
    assert fault in told


def test_a_site_needs_a_page_for_what_is_not_found(site, checking, capsys):
    (site / "404.html").unlink()
    assert checking["main"](site) == 1
    assert "there is no 404.html" in capsys.readouterr().err


def test_links_of_the_page_that_is_not_found_are_whole(monkeypatch):
    pytest.importorskip("sphinx", reason="the extension needs sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from not_found import with_whole_links

    monkeypatch.delitem(sys.modules, "not_found")
    within = (
        '<html data-content_root="{0}"><link href="{0}_static/a.css"><form action="{0}search.html"><img src="{0}b.png">'
    )
    others = (
        '<a href="#main"><a href="https://example.org/"><a href="//example.org/"><img src="data:,"><a href="mailto:a">'
    )
    site = "https://sepc.org/en/"
    for before in ("", "./"):
        page = with_whole_links(within.format(before) + others, site)
        assert page == within.format(site) + others


def test_the_icon_of_site_and_report_is_one_picture():
    conf = (DOCS / "conf.py").read_text()
    (path,) = (line.split('"')[1] for line in conf.splitlines() if line.startswith("html_favicon"))
    assert ET.parse(DOCS / path).getroot().tag.endswith("svg")
