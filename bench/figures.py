"""Render the numbers on pages from result files, check that they all come from there, and measure them anew.

``python bench/figures.py`` (``make measure``) lists the result files in ``docs/measured/results`` whose code has
changed since they were written, and runs their commands, the oldest first; names of result files choose some of them.
``--list`` runs nothing, ``--readme`` writes the table of the README, and ``--check`` (``make measure-check``) finds
numbers on pages that come from no result file.

A script in ``bench`` writes a result file if it is called with ``--record NAME`` (see ``measure.recording``). Pages
are Jinja templates: ``{{ table("trust/judging") }}`` is a table, ``{{ cell("trust/judging", "sepc", "ece") }}`` one of
its cells, ``{{ number(...) }}`` a number in a cell, ``{{ column(...) | max }}`` the largest one of a column,
``{{ figure("fuzz/files") }}`` a number that stands in no table, ``{{ header("trust") }}`` says how all this was
measured, and ``{{ 300 | setting }}`` is a number that was chosen rather than measured.
"""

import argparse
import ast
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured"
RESULTS = MEASURED / "results"
CLAIMS = ROOT / "docs" / "reproduction" / "results.json"
README_BLOCK = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end of measured -->)", re.DOTALL)
HEADER = ("command", "commit", "date", "versions", "machine", "code")
README_TEMPLATE = ROOT / "docs" / "_templates" / "measured.md"
# Code, addresses, comments, and the question of a page with its setting: numbers in them state no result.
NO_RESULTS = [
    re.compile(r"^(`{3,}).*?^\1", re.DOTALL | re.MULTILINE),
    re.compile(r"^\*\*What was asked\.\*\*.*?\n\n", re.DOTALL | re.MULTILINE),
    re.compile(r"`[^`]+`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<!--.*?-->", re.DOTALL),
]
COMPUTED = (nodes.Call, nodes.Name)
TYPED = re.compile(r"(?<![\w.])(?<!\w-)\.?\d[\d.,]*")
Key = str | tuple[str | None, ...]
NUMBER = re.compile(r"(?<![\w.])\.?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


# Result files.


@cache
def result(name: str) -> dict[str, Any]:
    """Return what a result file holds."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise LookupError(f"There is no result file {name!r}.")
    return json.loads(path.read_text(encoding="utf-8"))


def write(name: str, content: dict[str, Any]) -> None:
    """Write a result file, a line for each row of a table."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    rows = re.compile(r'\[\n\s+("(?:[^"\\]|\\.)*"(?:,\n\s+"(?:[^"\\]|\\.)*")*)\n\s+\]')
    text = rows.sub(lambda row: "[" + re.sub(r'",\n\s+"', '", "', row[1]) + "]", text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    result.cache_clear()


def names() -> list[str]:
    """Return the names of all result files, the oldest first."""
    return sorted((path.stem for path in RESULTS.glob("*.json")), key=lambda name: (result(name)["date"], name))


def is_out_of_date(name: str) -> bool:
    """Tell whether the code that a result file measures has changed since."""
    return result(name)["code"] != code_digest(script_of(result(name)["command"]))


def script_of(command: str) -> Path:
    return ROOT / next(word for word in shlex.split(command) if word.endswith(".py"))


# The code that a script measures.


def code_digest(script: Path, root: Path = ROOT) -> str:
    """Return a digest of a script and of all modules of ours that it imports, without docstrings and comments."""
    found, todo = set(), {script}
    while todo:
        path = todo.pop()
        if path not in found and path != Path(__file__):  # what writes results measures nothing
            found.add(path)
            todo |= set(_imported(path, root))
    parts = sorted(f"{path.relative_to(root).as_posix()} {_skeleton_digest(path)}" for path in found)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _skeleton_digest(path: Path) -> str:
    return hashlib.sha256(repr(_skeleton(_tree(path))).encode()).hexdigest()


def _skeleton(node: Any) -> Any:
    """Return a syntax tree as nested tuples, which are the same in all versions of Python."""
    if isinstance(node, list):
        return [_skeleton(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if (
        isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and ast.get_docstring(node, clean=False) is not None
    ):
        fields["body"] = fields["body"][1:]
    return type(node).__name__, *(
        (key, _skeleton(of)) for key, of in fields.items() if of not in (None, []) and key != "ctx"
    )


@cache
def _imported(path: Path, root: Path) -> tuple[Path, ...]:
    """Return the modules of ours that a module imports, wherever in it."""
    found: list[Path] = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [file for alias in node.names for file in _files(alias.name.split("."), root)]
        elif isinstance(node, ast.ImportFrom):
            base = path.parents[node.level - 1] if node.level else None
            dotted = node.module.split(".") if node.module else []
            for alias in node.names:
                found += _files([*dotted, alias.name], root, base) or _files(dotted, root, base, alias.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sepc":
            found += _files(["sepc"], root, None, node.attr)
    return tuple(found)


def _files(dotted: list[str], root: Path, base: Path | None = None, name: str = "") -> list[Path]:
    """Return the file of a module, or of the package that has a name; none of a module that is not ours."""
    for folder in [base] if base else [root / "src", root / "bench", root / "tests"]:
        place = folder.joinpath(*dotted)
        if dotted and place.with_suffix(".py").is_file():
            return [place.with_suffix(".py")]
        stub = place / "__init__.pyi"
        if stub.is_file():  # a package that loads each name on its first use
            return [
                file
                for node in _tree(stub).body
                if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]
                for file in _files((node.module or name).split("."), root, place, name)
            ]
        if (place / "__init__.py").is_file():  # whichever of its modules the name comes from
            return sorted(place.glob("*.py"))
    return []


# What a template can say.


def _split(address: str) -> tuple[dict[str, Any], str]:
    name, _, rest = address.partition("/")
    return result(name), rest


def _found(address: str) -> dict[str, Any]:
    content, name = _split(address)
    if name not in content["tables"]:
        raise LookupError(f"There is no table {address!r}.")
    return content["tables"][name]


def _rows(address: str, key: Key) -> list[list[str]]:
    """Return the rows that begin with a cell, or with several, of which none may be any."""
    begin = (key,) if isinstance(key, str) else key
    rows = [
        row
        for row in _found(address)["rows"]
        if all(asked in (None, there) for asked, there in zip(begin, row, strict=False))
    ]
    if not rows:
        raise LookupError(f"The table {address!r} has no row {key!r}.")
    return rows


def _place(address: str, column: str) -> int:
    columns = _found(address)["columns"]
    if column not in columns:
        raise LookupError(f"The table {address!r} has no column {column!r}.")
    return columns.index(column)


def table(address: str, columns: list[str] | None = None, rows: Key = ()) -> str:
    """Return a table in Markdown, with some of its columns in their order, or those rows that begin with some cells."""
    head = columns or _found(address)["columns"]
    places = range(len(head)) if columns is None else [_place(address, column) for column in columns]
    lines = [head, ["---"] * len(head), *([row[i] for i in places] for row in _rows(address, rows))]
    return "\n".join("|" + "|".join("---" if cell == "---" else f" {cell} " for cell in line) + "|" for line in lines)


def cell(address: str, row: Key, column: str) -> str:
    """Return the text of a cell."""
    return _rows(address, row)[0][_place(address, column)]


def numbers(text: str) -> list[float]:
    """Return the numbers in a text: 1154 and 0.5 of "1,154 x, 0.5 / -"."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def number(address: str, row: Key, column: str, part: int = 0) -> float:
    """Return a number in a cell: the first one, or a later one."""
    found = numbers(cell(address, row, column))
    if part >= len(found):
        raise LookupError(f"The cell {row!r}, {column!r} of {address!r} has no number {part}.")
    return found[part]


def column(address: str, column: str, part: int = 0, rows: Key = ()) -> list[float]:
    """Return a number of each cell of a column that has it."""
    cells = [numbers(row[_place(address, column)]) for row in _rows(address, rows)]
    return [found[part] for found in cells if part < len(found)]


def figure(address: str) -> float | str:
    """Return a figure that stands in no table."""
    content, name = _split(address)
    if name not in content["figures"]:
        raise LookupError(f"There is no figure {address!r}.")
    return content["figures"][name]


def header(*of: str) -> str:
    """Return how and when results were measured, and whether the code has changed since."""
    blocks = []
    for name in of:
        content = result(name)
        lines = [
            f"**Command**: `{content['command']}`",
            f"**Machine**: {content['machine']}",
            f"**Date**: {content['date']}, commit {content['commit']}",
            f"**Versions**: {content['versions']}",
        ]
        if is_out_of_date(name):
            lines.insert(
                0,
                f"*Measured with commit {content['commit']} of {content['date']}; "
                "the code that is measured has changed since.*",
            )
        blocks.append("\\\n".join(lines))
    return "\n\n".join(blocks)


def claims() -> dict[str, int]:
    """Return how many of the paper's claims have each verdict."""
    experiments = json.loads(CLAIMS.read_text(encoding="utf-8"))["experiments"].values()
    return Counter(one["verdict"] for experiment in experiments for one in experiment["statements"])


def fixed(value: float, digits: int = 0) -> str:
    """Return a number with some digits after the point, and commas between thousands."""
    return f"{value:,.{digits}f}"


def setting(value: object) -> object:
    """Return a number that was chosen: a parameter, a size, a level."""
    return f"{value:,}" if isinstance(value, int) else value


SAYS = {of.__name__: of for of in (table, cell, number, column, figure, header, claims)}
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(ROOT / "docs" / "_templates"),
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,
)
TEMPLATES.globals = SAYS | {"zip": zip}
TEMPLATES.filters |= {"fixed": fixed, "setting": setting}


def render(text: str) -> str:
    """Return a page with its tables and numbers."""
    return TEMPLATES.from_string(text).render()


# Checks.


def faults() -> Iterator[str]:
    """Yield what is wrong with result files, pages and README."""
    for name in names():
        yield from faults_of_result(name)
    for page in pages():
        yield from (
            f"{page.relative_to(ROOT)}, {fault}" for fault in faults_of_page(page.read_text(encoding="utf-8"), page)
        )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    if with_measured(readme) != readme:
        yield "README.md is not what the result files give: run `python bench/figures.py --readme`."


def pages() -> list[Path]:
    """Return the pages of the site, the template of the README's table, and what pages import."""
    built = {"_build", "gallery", "api", "examples"}
    found = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(README_TEMPLATE.parent.glob("*.jinja"))]
    return [page for page in found if not built & {*page.relative_to(ROOT).parts}]


def faults_of_result(name: str) -> Iterator[str]:
    """Yield what a result file should say and does not."""
    for key in HEADER:
        if not result(name).get(key):
            yield f"{name}.json has no {key}."


def faults_of_page(text: str, page: Path) -> Iterator[str]:
    """Yield placeholders that name nothing and, on pages of measurements, numbers that come from no result file."""
    tree = TEMPLATES.parse(text)
    if page.parent == MEASURED and page.name != "index.md" and "{{ header(" not in text:
        yield "no placeholder `header`, which says how its numbers were measured"
    if page.parent in (MEASURED, README_TEMPLATE.parent):
        yield from hand_typed(tree)
    try:
        render(text)
    except (LookupError, jinja2.TemplateError, TypeError, ValueError) as error:
        yield f"a placeholder: {error}"


def hand_typed(tree: nodes.Template) -> Iterator[str]:
    """Yield each number of a template that neither comes from a result nor is said to be a setting."""
    text = "{}".join(part.data for part in tree.find_all(nodes.TemplateData))
    for pattern in NO_RESULTS:
        text = pattern.sub("", text)
    for found in TYPED.finditer(text):
        around = " ".join(text[max(0, found.start() - 30) : found.end() + 20].split())
        yield f"a number that comes from no result file: {found[0]!r} in {around!r}"
    for part in (part for output in tree.find_all(nodes.Output) for part in output.nodes):
        filters = {of.name for of in [part, *part.find_all(nodes.Filter)] if isinstance(of, nodes.Filter)}
        computed = isinstance(part, COMPUTED) or any(part.find_all(COMPUTED))
        if not isinstance(part, nodes.TemplateData) and not computed and "setting" not in filters:
            yield f"a number that comes from no result file: in the placeholder of line {part.lineno}"


# The README, and the command.


def with_measured(readme: str) -> str:
    """Return the README with the table that the result files give."""
    block = render(README_TEMPLATE.read_text(encoding="utf-8"))
    return README_BLOCK.sub(lambda _: block, readme)


def measure(name: str) -> bool:
    """Run the command of a result file, which writes it anew; tell whether that went well."""
    program, *words = shlex.split(result(name)["command"])
    if program != "python":
        raise ValueError(f"{name}.json has the command {program}; expected python.")
    print(f"{name}: {result(name)['command']}", file=sys.stderr, flush=True)
    return subprocess.run([sys.executable, *words, "--record", name], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="some of the result files, up to date or not")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show what is out of date, and run nothing")
    what.add_argument("--check", action="store_true", help="check pages, result files and README")
    what.add_argument("--readme", action="store_true", help="write the table of the README")
    options = parser.parse_args()
    if options.check:
        found = list(faults())
        print(*found, f"{len(names())} result files, {len(found)} faults", sep="\n")
        return len(found) > 0
    readme, failed = ROOT / "README.md", []
    if not options.readme:
        old = [name for name in names() if is_out_of_date(name)]
        for name in old:
            print(f"{result(name)['date']}  {name}: the code has changed since commit {result(name)['commit']}")
        if not options.list:
            failed = [name for name in options.names or old if not measure(name)]
    if not options.list:
        readme.write_text(with_measured(readme.read_text(encoding="utf-8")), encoding="utf-8")
    print(*(f"{name}: its command failed" for name in failed), sep="\n", end="")
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
