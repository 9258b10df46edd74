"""``sepc completion``: a script that completes commands in a shell."""

from argparse import Namespace

from sepc.cli.completion import completion_script
from sepc.cli.console import show
from sepc.cli.parser import make_parser


def run(options: Namespace) -> None:
    """Print the script."""
    show(completion_script(make_parser(), options.shell))
