"""Tables and numbers on pages, rendered from the result files in ``docs/measured/results`` before a page is read."""

import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import figures


def setup(app: Sphinx) -> dict[str, Any]:
    """Render each page that has a placeholder."""
    app.connect("source-read", render_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def render_source(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the text of a page by what it renders to; a changed result file makes the page be read again."""
    if Path(app.env.doc2path(page)).suffix == ".md" and "{{" in source[0]:
        source[0] = rendered(source[0])
        for path in figures.RESULTS.glob("*.json"):
            app.env.note_dependency(str(path))


def rendered(text: str) -> str:
    """Return the text of a page with its tables and numbers."""
    return figures.render(text) if "{{" in text else text
