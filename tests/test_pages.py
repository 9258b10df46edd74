"""Code and commands on the pages of the site and in the README do what the pages say."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from pages import RUN, SHOWN, blocks_of, commands_of, run_page

import sepc
from sepc.cli.parser import make_parser
from sepc.reports.training_data import RECORD_FINDINGS

ROOT = Path(__file__).parents[1]
BUILT = ("_build", "gallery", "api", "examples")
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").rglob("*.md")) if not {*p.parts} & {*BUILT})]
# Cases on the page of the paper come from its claims, and are run with these.
WITH_CODE = [
    page
    for page in PAGES
    if page.parent.name != "reproduction" and any(block.language in RUN for block in blocks_of(page))
]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.pages
@pytest.mark.usefixtures("fits_once")
@pytest.mark.filterwarnings("ignore:Operation with range is deprecated")  # MLflow with a newer pandas
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_of_a_page_does_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "assert 1 == 2"),
        ("pycon", ">>> 1 + 1\n3"),
        ("pycon", ">>> 1 / 0\n1"),
        ("console", "$ sepc inspect nowhere.sepc"),
        ("console", "$ echo one\ntwo"),
    ],
)
def test_a_page_that_says_what_is_not_so_is_found_out(language, code, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Text.\n\n```{language}\n{code}\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_run_or_meant_to_be_read(page):
    unknown = [block for block in blocks_of(page) if block.language not in (*RUN, *SHOWN)]
    assert not unknown


def reference(name):
    return (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")


def test_the_reference_has_every_public_name():
    listed, module = set(), "sepc"
    for line in reference("api.md").splitlines():
        module = line.partition(".. currentmodule:: ")[2] or module
        listed |= {f"{module}.{name}" for name in re.findall(r"^   (\w+)$", line)}
    rooms = [getattr(sepc, name) for name in sepc.__all__ if inspect.ismodule(getattr(sepc, name))]
    public = {f"sepc.{name}" for name in sepc.__all__ if not inspect.ismodule(getattr(sepc, name))}
    for module in rooms:
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        names = [name for name in getattr(module, "__all__", own) if not name.startswith("_")]
        assert all(hasattr(module, name) for name in names)
        rooms += [getattr(module, name) for name in names if inspect.ismodule(getattr(module, name))]
        names = [name for name in names if not inspect.ismodule(getattr(module, name))]
        public |= {f"{module.__name__}.{name}" for name in names if name not in sepc.__all__}
    assert listed == public


def test_the_reference_shows_every_command():
    page = ROOT / "docs" / "reference" / "cli.md"
    shown = {
        line.split()[1] for block in blocks_of(page) for line, _ in commands_of(block) if block.language == "console"
    }
    (commands,) = (action.choices for action in make_parser()._actions if action.dest == "command")
    assert set(commands) == shown


@pytest.mark.slow
def test_the_reference_has_every_finding():
    calls = [
        node
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Finding"
    ]
    codes = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    codes |= {code for _, code, *_ in RECORD_FINDINGS}
    assert set(re.findall(r"^\| `([a-z-]+)` \|", reference("findings.md"), flags=re.MULTILINE)) == codes
