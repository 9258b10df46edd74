"""``python -m paper``: the paper's figures and tables, with a verdict on each of its statements.

Run it in the folder that holds this one. ``make paper`` does so with all seeds, and writes the page of the site. With
names of experiments it runs these alone; the others stay on the page as they are.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from paper import EXPERIMENTS
from paper.running import reproduce
from paper.statements import Kind

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that were asked for; print how the statements fare."""
    parser = ArgumentParser(prog="python -m paper", description="Run the paper's experiments.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(EXPERIMENTS)} (default: all)")
    parser.add_argument("--out", default="reproduction", metavar="DIR", help="where to write (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="at least 20 seeds for each, instead of a few")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"there is no experiment {unknown[0]!r}; expected some of {', '.join(EXPERIMENTS)}")
    try:
        results = reproduce(options.names, options.out, full=options.full, on_progress=_report)
    except KeyboardInterrupt:
        print("interrupted; what is finished is kept, and the same command goes on from there", file=sys.stderr)
        return _INTERRUPTED
    kinds = [s.verdict(result.values).kind for result in results for s in result.experiment.statements]
    print(f"{len(kinds)} statements: {', '.join(f'{kinds.count(kind)} {kind.value}' for kind in Kind)}")
    print(Path(options.out) / "index.html")
    return 0


def _report(name: str, n_done: int, n_runs: int) -> None:
    if n_done == n_runs:
        print(f"{name}: {n_runs} runs", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
