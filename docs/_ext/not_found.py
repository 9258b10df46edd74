"""The page for addresses that lead nowhere: servers show it at any address, so all of its links are whole ones."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PAGE = "404.html"
# An address within the site: not one with a scheme, not that of a host, not a place on the page itself.
_LINK = re.compile(r'(\s(?:href|src|action|data-content_root)=")(?!#|//|[a-z][a-z0-9+.-]*:)(?:\./)?')


def setup(app: Sphinx) -> dict[str, Any]:
    """Rewrite the links once the page is there."""
    app.connect("build-finished", make_links_whole)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make_links_whole(app: Sphinx, exception: Exception | None) -> None:
    """Write the links of the page with the address of the site."""
    page = Path(app.outdir) / PAGE
    if exception is None and app.builder.name == "html":
        page.write_text(with_whole_links(page.read_text(encoding="utf-8"), app.config.html_baseurl), encoding="utf-8")


def with_whole_links(text: str, site: str) -> str:
    """Return a page of the site's top folder with whole addresses in place of relative ones.

    >>> with_whole_links('<a href="start/index.html"></a> <a href="#main"></a>', "https://example.org/")
    '<a href="https://example.org/start/index.html"></a> <a href="#main"></a>'
    """
    return _LINK.sub(lambda found: found[1] + site, text)
