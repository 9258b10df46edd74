"""Check of the built site: ``python docs/check_site.py docs/_build/html``; ``make docs`` runs it.

Every link within the site leads somewhere, every picture is there and has a text, no page loads anything from
elsewhere, every page has an icon, the search knows the words that readers look for, and the page for addresses that
lead nowhere, which is shown at any of them, has whole addresses alone.
"""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sepc.common.site import site_address

NOT_FOUND = "404.html"
LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
# Links of the head that name an address and load nothing.
NAMING = {"canonical", "next", "prev", "index", "search", "author"}
WORDS = ("abstain", "trust", "promise", "strange", "drift", "category")


class Page(HTMLParser):
    """Links, anchors and pictures of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.without_text: list[str] = []
        self.has_icon = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of what a tag names."""
        values = dict(attrs)
        self.anchors |= {values[key] or "" for key in ("id", "name") if key in values}
        for key, value in attrs:
            if value is None:
                continue
            if (tag, key) in LOADING and not (tag == "link" and (values.get("rel") or "").lower() in NAMING):
                self.loaded.append(value)
            elif (tag, key) == ("a", "href"):
                self.links.append(value)
        self.has_icon |= tag == "link" and "icon" in (values.get("rel") or "").split()
        if tag == "img" and "alt" not in values:
            self.without_text.append(values.get("src") or "")


def main(site: Path) -> int:
    """Print what is wrong; return how many things are."""
    paths = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    wrong = [
        f"{path.relative_to(site)}: {text}" for path, page in pages.items() for text in faults(path, page, pages, site)
    ]
    if site / NOT_FOUND not in pages:
        wrong.append(f"there is no {NOT_FOUND}")
    wrong += [f"the search does not know {word!r}" for word in WORDS if not found(site, word)]
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links: {len(wrong)} faults")
    return len(wrong)


def faults(path: Path, page: Page, pages: dict[Path, Page], site: Path):
    """Yield what is wrong with a page."""
    if not page.has_icon:
        yield "has no icon"
    for address in page.loaded:
        if urlsplit(address).scheme not in ("", "data") and not address.startswith(site_address()):
            yield f"loads {address} from elsewhere"
    for address in {*page.links, *page.loaded}:
        is_whole = address.startswith(site_address())
        parts = urlsplit(address.removeprefix(site_address()))
        if parts.scheme or parts.netloc:
            continue
        if path == site / NOT_FOUND and parts.path and not is_whole:
            yield f"{address} is not a whole address"
        folder = site if is_whole else path.parent
        target = (folder / unquote(parts.path)).resolve() if parts.path else site / "index.html" if is_whole else path
        if not target.exists():
            yield f"{address} leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{address}: no such place on that page"
    for source in page.without_text:
        yield f"picture {source} has no text beside it"


def found(site: Path, word: str) -> bool:
    """Tell whether the index of the search has a word, or a word that it begins."""
    index = re.search(r"\{.*\}", (site / "searchindex.js").read_text(encoding="utf-8"), flags=re.DOTALL)
    terms = json.loads(index.group())["terms"] if index else {}
    return any(word.startswith(term) or term.startswith(word) for term in terms if len(term) > 3)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()) > 0)
