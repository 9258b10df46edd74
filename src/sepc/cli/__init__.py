"""Command line. It loads nothing but this until a command is known."""


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit code: 0, 1 for bad data, 2 for bad usage.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; by default those of the process.
    """
    from sepc.cli.app import run

    return run(argv)
