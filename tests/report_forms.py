"""Readers of a report's page and text, and labels that try to be something else than text."""

import json
import re
from html import unescape
from html.parser import HTMLParser

from markdown_it import MarkdownIt

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes' & </script><b>bold</b>",
    "{{7*7}} 🙂 | `code` *star*",
    "ערך وقيمة",
]


class PageReader(HTMLParser):
    """Collects what a page shows, and the elements it has."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.words, self.data = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.elements.append(tag)

    def handle_data(self, data):
        (self.data if self.elements[-1:] in (["script"], ["style"]) else self.words).append(data)


PAYLOAD = re.compile(r'<script type="application/json" id="data">(.*?)</script>', flags=re.DOTALL)


def payload(page):
    return json.loads(PAYLOAD.search(page)[1])


def shown_by_markdown(text):
    page = MarkdownIt("commonmark").enable("table").render(text)
    return page, " ".join(unescape(re.sub(r"<[^>]+>", "", page)).split())
