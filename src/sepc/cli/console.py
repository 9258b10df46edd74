"""Output of the commands: results to the standard output, everything else to the standard error stream."""

import codecs
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from sepc.cli.messages import printed
from sepc.common.errors import SepcError

_quiet = False
# Characters that move the cursor, start a line or command the terminal.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class UsageError(SepcError):
    """Error of arguments that make no sense together."""


def on_one_line(value: Any) -> str:
    """Return a value as a text with escaped control characters."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def counted(counts: Mapping[Any, int]) -> str:
    """Return values and their counts, as text."""
    return ", ".join(f"{on_one_line(what)} ({n:,})" for what, n in counts.items())


def be_quiet(quiet: bool) -> None:
    """Set whether only results and errors are printed, no messages, notes or progress."""
    global _quiet
    _quiet = quiet


def complain(text: str) -> None:
    """Print an error to the standard error stream, quiet or not."""
    print(_lines(text), file=sys.stderr, flush=True)


def say(code: str, **fields: Any) -> None:
    """Print a message for a person to the standard error stream."""
    if not _quiet:
        complain(printed(code, **fields))


def note(code: str, **fields: Any) -> None:
    """Print a message that needs attention."""
    note_text(printed(code, **fields))


def note_text(text: str) -> None:
    """Print a sentence that needs attention, from outside of the command line."""
    if not _quiet:
        complain(f"note: {on_one_line(text)}")


def show(text: str) -> None:
    """Print a result."""
    encoding = sys.stdout.encoding or "utf-8"
    print(_lines(text).encode(encoding, "backslashreplace").decode(encoding))


def _lines(text: str) -> str:
    return "\n".join(map(on_one_line, text.split("\n")))


def show_json(value: Any) -> None:
    """Print a result for machines; numbers that JSON does not know become null."""
    ensure_ascii = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
    print(json.dumps(for_json(value), indent=2, ensure_ascii=ensure_ascii, allow_nan=False))


def for_json(value: Any) -> Any:
    """Return a value as JSON has it: numbers that are not finite become None, objects of other types texts."""
    if hasattr(value, "tolist"):  # NumPy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): for_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [for_json(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def aligned(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Return records as a table of plain text, numbers to the right; by default all columns of the first record."""
    if not rows:
        return ""
    names = list(rows[0]) if columns is None else list(columns)
    cells = [[on_one_line(name) for name in names], *([_cell(row[name]) for name in names] for row in rows)]
    width = [max(len(line[k]) for line in cells) for k in range(len(names))]
    right = [all(isinstance(row[name], (int, float)) or row[name] is None for row in rows) for name in names]
    return "\n".join(
        "  ".join(
            text.rjust(w) if to_right else text.ljust(w) for text, w, to_right in zip(line, width, right, strict=True)
        ).rstrip()
        for line in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else on_one_line(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def is_watched() -> bool:
    """Return whether the standard error stream goes to a terminal that can move its cursor."""
    return not _quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def step_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of the number of steps done and that of all steps, which shows them on a terminal."""
    if not is_watched():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda n_done, n_total: bar.update(task, completed=n_done, total=n_total)


@contextmanager
def progress(what: str, position: Callable[[], int], size: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function of the number of rows done, which shows it on a terminal.

    The bar shows `position()`, the number of bytes read, of `size`, that of the whole file if it is known.
    """
    if not is_watched():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]:,} rows"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=size, rows=0)
        yield lambda n_rows: bar.update(task, completed=position(), rows=n_rows)
