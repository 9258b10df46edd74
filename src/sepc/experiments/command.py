"""The command: ``python -m sepc.experiments [NAMES...] --out DIR [--full]``."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sepc.errors import SepcError
from sepc.experiments import EXPERIMENTS
from sepc.experiments.running import OnProgress, experiment, reproduce
from sepc.experiments.statements import Kind


def add_arguments(command: ArgumentParser) -> None:
    """Tell a parser what may be asked for.

    Examples
    --------
    >>> parser = ArgumentParser()
    >>> add_arguments(parser)
    >>> parser.parse_args(["xor", "--full"]).names
    ['xor']
    """
    command.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)} (default: all)")
    command.add_argument(
        "--out",
        default="reproduction",
        metavar="DIR",
        help="folder for figures, numbers and page (default: %(default)s)",
    )
    command.add_argument("--full", action="store_true", help="at least 20 seeds for each; quick by default")


def run(options: Namespace) -> None:
    """Run what was asked for, with a progress display on the standard error stream."""
    chosen = [experiment(name) for name in options.names] or list(EXPERIMENTS.values())
    total = sum(one.full if options.full else one.quick for one in chosen)
    try:
        with _progress(total) as on_progress:
            results = reproduce(options.names, options.out, full=options.full, on_progress=on_progress)
    except KeyboardInterrupt:
        print("What is finished is kept; the same command goes on from there.", file=sys.stderr)
        raise
    kinds = [s.judge(r.values).kind for r in results for s in r.experiment.statements]
    told = ", ".join(f"{kinds.count(kind)} {kind.value}" for kind in Kind)
    print(f"{len(kinds)} statements: {told}\n{Path(options.out) / 'index.html'}")


@contextmanager
def _progress(total: int) -> Iterator[OnProgress]:
    """Show how far it is: a bar for a person, else one line for each experiment."""
    if not (sys.stderr.isatty() and find_spec("rich")):
        yield _tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task, done = bar.add_task("", total=total), dict.fromkeys(EXPERIMENTS, 0)

        def show(name: str, n_done: int, n_runs: int) -> None:
            done[name] = n_done
            bar.update(task, description=f"{name} {n_done}/{n_runs}", completed=sum(done.values()))

        yield show


def _tell(name: str, n_done: int, n_runs: int) -> None:
    if n_done == n_runs:
        print(f"{name}: {n_runs} runs", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code.

    Examples
    --------
    >>> main(["no-such-experiment"])
    1
    """
    parser = ArgumentParser(prog="python -m sepc.experiments", description="Reproduce the paper's figures and tables.")
    add_arguments(parser)
    try:
        run(parser.parse_args(argv))
    except SepcError as error:
        print(f"sepc: {error}", file=sys.stderr)
        return 1
    return 0
