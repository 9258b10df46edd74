"""The page of a report stands alone, and page and Markdown show every text as text."""

import re

import pytest
from report_forms import HOSTILE, PAYLOAD, PageReader, payload, shown_by_markdown


@pytest.mark.slow
def test_the_page_is_small_and_names_nothing_outside_of_it(wdbc_report):
    page = re.sub(r'href="data:image/svg\+xml,[^"]*"', "", wdbc_report.html())  # the icon is in the page
    assert len(page.encode()) < 2_000_000
    assert not re.findall(r"(?:https?:)?//[a-z]|url\((?!#)|@import", page)
    assert set(re.findall(r'(?:src|href)="([^"#]*)', page)) == {""}


@pytest.mark.slow
def test_hostile_texts_are_texts(hostile):
    page = hostile.html()
    read = PageReader(page)
    assert read.elements.count("script") == 2
    words = " ".join(read.words)
    rendered, shown = shown_by_markdown(hostile.markdown())
    for text in HOSTILE:
        assert text in words
        assert " ".join(text.split()) in shown
    assert not re.search(r"<(script|b|code)>(alert|bold|code)", rendered)
    assert not set("<>&\u2028\u2029") & set(PAYLOAD.search(page)[1])
    assert payload(page)["labels"] == hostile.to_dict()["labels"]
    assert sorted(hostile.to_dict()["labels"]) == sorted(HOSTILE)
