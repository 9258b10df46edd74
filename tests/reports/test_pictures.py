"""Pictures of a report: one drawing for the same numbers, ids of their own, dots where the records are."""

import re
import sys

import matplotlib as mpl
import numpy as np
import pytest
from coded import raises

from sepc.common.errors import SepcError


@pytest.mark.slow
def test_the_same_numbers_give_the_same_page_whatever_the_settings(wdbc_report):
    page = wdbc_report.html()
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 30.0, "svg.fonttype": "path"}):
        settings = dict(mpl.rcParams)
        assert wdbc_report.html() == page
        assert dict(mpl.rcParams) == settings


@pytest.mark.slow
def test_every_id_is_there_once_and_every_reference_has_one(wdbc_report):
    page = wdbc_report.html()
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'url\(#([^)]*)\)|<use href="#([^"]*)"', page)) > set()
    for pair in re.findall(r'url\(#([^)]*)\)|<use href="#([^"]*)"', page):
        assert "".join(pair) in ids


@pytest.mark.slow
def test_classes_and_ink_take_the_colours_of_the_page(wdbc_report):
    pictures = "".join(re.findall(r'<svg viewBox="[^"]*" role="img".*?</svg>', wdbc_report.html(), flags=re.DOTALL))
    assert {"var(--c0)", "var(--c1)", "currentColor", "var(--page)"} <= set(
        re.findall(r"var\(--\w+\)|currentColor", pictures)
    )
    assert not re.findall(r"#[0-9a-f]{6}\b", pictures)


@pytest.mark.slow
def test_dots_lie_where_the_records_are(wdbc_report):
    content, page = wdbc_report.to_dict(), wdbc_report.html()
    drawn = re.findall(r'<use href="#regions-0-\w+" x="([\d.]+)" y="([\d.]+)"[^>]* data-record="(\d+)"', page)
    assert len(drawn) == len(content["picture"]["records"])
    place = {int(record): (float(x), float(y)) for x, y, record in drawn}
    points = np.array(content["picture"]["views"][0]["points"])
    places = np.array([place[record] for record in content["picture"]["records"]])
    for k, sign in ((0, 1.0), (1, -1.0)):
        assert np.corrcoef(points[:, k], places[:, k])[0, 1] == pytest.approx(sign, abs=1e-6)


def test_without_matplotlib_it_is_said_what_to_install(wdbc_report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with raises("matplotlib-missing", SepcError, what="a picture", extra="report"):
        wdbc_report.html()
    assert wdbc_report.markdown()
