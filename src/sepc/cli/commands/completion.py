"""``sepc completion``: a script that completes commands in a shell."""

from argparse import ArgumentParser, Namespace, _SubParsersAction

import shtab

from sepc.cli.console import show
from sepc.cli.parser import make_parser


def run(options: Namespace) -> None:
    """Print the script."""
    parser = make_parser()
    _complete_files(parser)
    show(shtab.complete(parser, options.shell))


def _complete_files(parser: ArgumentParser) -> None:
    """Let shells propose names of files for values without choices."""
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.choices is None and action.nargs != 0:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
