"""Plain text beside every page, for whoever reads without a browser, and ``llms.txt``, the list of it all.

Beside ``start/notebook.html`` stands ``start/notebook.md``; beside a page of the gallery the script that made it;
beside a page of the reference the docstring.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from shutil import copyfile
from typing import Any

from measured import rendered
from sphinx.application import Sphinx

import sepc

_DOORS = {
    "start": "Start",
    "howto": "How to",
    "understand": "Understand",
    "gallery": "Gallery",
    "reference": "Reference",
    "measured": "Measured",
    "reproduction": "The paper, reproduced",
}
_API = "reference/api/"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the files once the pages are there."""
    app.connect("build-finished", write_plain_sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_plain_sources(app: Sphinx, exception: Exception | None) -> None:
    """Write a plain source beside each page, and the list of all."""
    if exception is not None or app.builder.name != "html":
        return
    listed: dict[str, list[str]] = {door: [] for door in _DOORS}
    for page in sorted(app.env.found_docs):
        plain = _plain_source(app, page)
        door = page.partition("/")[0]
        if plain is not None and door in listed:
            title = app.env.titles[page].astext()
            listed[door].append(f"- [{title}]({app.config.html_baseurl}{plain})")
    about = (sepc.__doc__ or "").partition("\n")[0]
    sections = [f"## {_DOORS[door]}\n\n" + "\n".join(lines) for door, lines in listed.items() if lines]
    text = "\n\n".join([f"# sepc\n\n> {about}", *sections])
    (Path(app.outdir) / "llms.txt").write_text(text + "\n", encoding="utf-8")


def _plain_source(app: Sphinx, page: str) -> str | None:
    """Write the plain source of a page; return its path in the site, or None if it has none."""
    source = Path(app.env.doc2path(page))
    script = source.with_suffix(".py")
    if source.suffix == ".md":
        plain, text = f"{page}.md", rendered(source.read_text(encoding="utf-8"))
    elif script.exists():
        plain, source, text = f"{page}.py", script, None
    elif page.startswith(_API):
        plain, text = f"{page}.md", _docstring_page(page.removeprefix(_API))
    else:
        return None
    target = Path(app.outdir) / plain
    target.parent.mkdir(parents=True, exist_ok=True)
    if text is None:
        copyfile(source, target)
    else:
        target.write_text(text, encoding="utf-8")
    return plain


def _docstring_page(name: str) -> str:
    """Return signature and docstring of a public name, and those of its methods."""
    module, _, own = name.rpartition(".")
    thing = getattr(import_module(module), own)
    parts = [f"# {name}\n\n{_documented(name, thing)}"]
    if inspect.isclass(thing):
        methods = [(key, value) for key, value in inspect.getmembers(thing) if not key.startswith("_")]
        parts += [
            f"## {own}.{key}\n\n{_documented(key, value)}"
            for key, value in methods
            if value.__doc__ and (inspect.isfunction(value) or isinstance(value, property))
        ]
    return "\n\n".join(parts) + "\n"


def _documented(name: str, thing: object) -> str:
    try:
        signature = re.sub(r"<[^>]*>", "...", str(inspect.signature(thing)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        signature = ""
    return f"```python\n{name}{signature}\n```\n\n{inspect.getdoc(thing) or ''}"
