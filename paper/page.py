"""Page of the experiments, as Markdown and as HTML, from the same document."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from paper.results import Result, document
from sepc.common.atomic_files import written_whole
from sepc.common.templates import template_environment


def write_page(results: Iterable[Result], folder: Path) -> None:
    """Write ``index.md`` and ``index.html``; figures are taken to be beside them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     write_page([], Path(name))
    ...     sorted(path.name for path in Path(name).iterdir())
    ['index.html', 'index.md']
    """
    content = document(results)
    pages = {kind: rendered(kind, content) for kind in ("md", "html")}
    for kind, text in pages.items():
        with written_whole(folder / f"index.{kind}") as file:
            file.write(text.encode())


def rendered(kind: str, content: dict[str, Any]) -> str:
    """Return the page as text.

    Parameters
    ----------
    kind : {"md", "html"}
    content : dict
        As `document` returns it.

    Examples
    --------
    >>> rendered("md", document([])).splitlines()[0]
    '# The paper, reproduced'
    """
    environment = template_environment("paper", {"cell": cell, "marked": marked}, "a page")
    if kind == "html":
        environment = environment.overlay(finalize=_kept_together)
    return environment.get_template(f"page.{kind}.j2").render(content)


def _kept_together(value: Any) -> Any:
    """Let no line end between a number and its sign."""
    return value.replace(" %", "\u00a0%") if isinstance(value, str) else value


def cell(text: str) -> str:
    """Return a text that fits a cell of a Markdown table.

    Examples
    --------
    >>> cell("<=50K")
    '&lt;=50K'
    """
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")


def marked(text: str) -> Any:
    """Return a text with its `code` and *emphasis* as HTML.

    Examples
    --------
    >>> str(marked("`n_imp` < 2, *matches*"))
    '<code>n_imp</code> &lt; 2, <em>matches</em>'
    """
    from markupsafe import Markup, escape

    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html))
