"""Command line, loaded when a command runs."""


def main(argv: list[str] | None = None) -> int:
    """Run a command, by default with the arguments of the process; return the exit code."""
    from sepc.cli.app import run

    return run(argv)
