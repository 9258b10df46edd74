"""``sepc reproduce``: the paper's figures and tables, with a verdict on each of its statements."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sepc.cli.console import complain, is_watched, say, show
from sepc.cli.usage import UsageError
from sepc.common.errors import InputError
from sepc.experiments import EXPERIMENTS
from sepc.experiments.experiment import Experiment
from sepc.experiments.running import OnProgress, experiment, reproduce
from sepc.experiments.statements import Kind

_INTERRUPTED = 130


def run(options: Namespace) -> None:
    """Run the experiments that were asked for; print how the statements fare."""
    chosen = _chosen(options.names)
    total = sum(one.full if options.full else one.quick for one in chosen)
    try:
        with _progress(total) as on_progress:
            results = reproduce(options.names, options.out, full=options.full, on_progress=on_progress)
    except KeyboardInterrupt as error:
        complain("sepc: interrupted; what is finished is kept, and the same command goes on from there")
        raise SystemExit(_INTERRUPTED) from error
    kinds = [s.verdict(result.values).kind for result in results for s in result.experiment.statements]
    told = ", ".join(f"{kinds.count(kind)} {kind.value}" for kind in Kind)
    show(f"{len(kinds)} statements: {told}")
    show(str(Path(options.out) / "index.html"))


def _chosen(names: list[str]) -> list[Experiment]:
    try:
        return [experiment(name) for name in names] or list(EXPERIMENTS.values())
    except InputError as error:  # a name is no data
        raise UsageError(str(error)) from error


@contextmanager
def _progress(total: int) -> Iterator[OnProgress]:
    """Show how far it is: a bar for a person, else a line for each experiment."""
    if not is_watched():
        yield _tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task, done = bar.add_task("", total=total), dict.fromkeys(EXPERIMENTS, 0)

        def update(name: str, n_done: int, n_runs: int) -> None:
            done[name] = n_done
            bar.update(task, description=f"{name} {n_done}/{n_runs}", completed=sum(done.values()))

        yield update


def _tell(name: str, n_done: int, n_runs: int) -> None:
    if n_done == n_runs:
        say(f"{name}: {n_runs} runs")
