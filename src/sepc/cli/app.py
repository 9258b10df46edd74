"""Commands, from arguments to an exit code: every expected error becomes one message."""

import os
import signal
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from sepc.cli.console import UsageError, be_quiet, complain, note_text
from sepc.cli.messages import printed
from sepc.cli.parser import make_parser
from sepc.cli.signals import Stopped, ended_by_signals
from sepc.common.errors import SepcError, SepcWarning

# Modules of the extras; any other missing module is an error in this package.
_OPTIONAL = ("jinja2", "matplotlib", "openpyxl", "pandas", "pyarrow", "rich", "shtab")


def run(argv: list[str] | None = None) -> int:
    """Run a command; return its exit code."""
    try:
        options = make_parser().parse_args(argv)
    except SystemExit as ended:  # argparse has printed its help, or a message
        return int(ended.code or 0)
    be_quiet(options.quiet)
    try:
        with _warnings_as_notes(), ended_by_signals():
            import_module(f"sepc.cli.commands.{options.command}").run(options)
            sys.stdout.flush()
    except BaseException as error:
        if options.traceback or os.environ.get("SEPC_DEBUG") or not _is_expected(error):
            raise
        return _report_error(error, options)
    return 0


def _is_expected(error: BaseException) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").split(".")[0] in _OPTIONAL
    return isinstance(error, (SepcError, OSError, MemoryError, KeyboardInterrupt, Stopped))


def _report_error(error: BaseException, options: Namespace) -> int:
    """Print an error; return the exit code: after a signal 128 and its number, as in shells."""
    if isinstance(error, BrokenPipeError):
        # Python flushes at exit, to a pipe that nobody reads any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # SIGPIPE, which not every system has
    if isinstance(error, KeyboardInterrupt):
        complain(f"sepc: {printed('interrupted')}")
        return 128 + signal.SIGINT
    if isinstance(error, Stopped):
        complain(f"sepc: {printed('stopped')}")
        return 128 + error.signal
    complain(f"sepc {options.command}: {_message(error, options)}")
    return 2 if isinstance(error, UsageError) else 1


def _message(error: BaseException, options: Namespace) -> str:
    if isinstance(error, ModuleNotFoundError):
        extra = "xlsx" if error.name == "openpyxl" else "cli"
        return printed("not-installed", module=error.name, extra=extra)
    if isinstance(error, MemoryError):
        return printed("out-of-memory")
    if isinstance(error, OSError) and error.strerror:
        # An error in writing names no file.
        name = error.filename or getattr(options, "output", None) or "standard output"
        return f"{os.fspath(name)}: {error.strerror}"
    return str(error)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", SepcWarning)
        warnings.showwarning = lambda warning, *_, **__: note_text(str(warning))
        yield
