"""Blocks of code on Markdown pages, run as a reader would run them: one after the other, in one empty folder.

A block of ``python`` is run, one of ``pycon`` must print what stands below its lines, and so must the commands behind a
``$`` in one of ``console``, if anything stands below them. Three dots stand for any text.
"""

import doctest
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sepc.cli import main

RUN = ("python", "pycon", "console")
SHOWN = ("text", "json")
_FENCE = re.compile(r"^([ ]*)(`{3,})([^`\n]*)\n(.*?)^\1\2[ ]*$", flags=re.MULTILINE | re.DOTALL)
_LOOSELY = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A block of code, and the line of its page that it begins on."""

    language: str
    code: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            match[3].strip(),
            re.sub(rf"^{match[1]}", "", match[4], flags=re.MULTILINE),
            text[: match.start()].count("\n") + 1,
        )
        for match in _FENCE.finditer(text)
        if not match[3].startswith("{")
    ]


def run_page(page: Path) -> None:
    """Run all blocks of a page in the folder that this process is in."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        where = f"{page.name}, line {block.line}"
        if block.language == "python":
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        elif block.language == "pycon":
            _run_dialogue(block.code, names, where)
        elif block.language == "console":
            for command, expected in commands_of(block):
                _run_command(command, expected, where)


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with what is said to be printed."""
    lines = block.code.splitlines()
    begins = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for begin, end in pairwise([*begins, len(lines)]):
        yield lines[begin].removeprefix("$ "), "\n".join(lines[begin + 1 : end]).rstrip()


def _run_dialogue(code: str, names: dict[str, object], where: str) -> None:
    example = doctest.DocTestParser().get_doctest(code, names, where, where, 0)
    example.globs = names  # of the page, not a copy of them
    told = StringIO()
    doctest.DocTestRunner(optionflags=_LOOSELY).run(example, out=told.write, clear_globs=False)
    assert not told.getvalue(), told.getvalue()


def _run_command(command: str, expected: str, where: str) -> None:
    code, printed = _answer(command)
    assert code == 0, f"{where}: {command}\n{printed}"
    fits = doctest.OutputChecker().check_output(expected + "\n", printed, _LOOSELY)
    assert not expected or fits, f"{where}: {command}\nexpected:\n{expected}\nprinted:\n{printed}"


def _answer(command: str) -> tuple[int, str]:
    """Return exit code and what is printed; commands of sepc run in this process."""
    name, *arguments = shlex.split(command)
    if name != "sepc" or {"|", "<", ">"} & set(arguments):
        done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout
    printed = StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(arguments)
    return code, printed.getvalue()
