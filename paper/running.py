"""Runs of experiments over their seeds, and the figures, numbers and page that they write."""

import shutil
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from paper import EXPERIMENTS
from paper.experiment import Experiment
from paper.figures import save, style
from paper.page import write_page
from paper.results import Result, numbers, write_json
from sepc.common.errors import InputError

OnProgress = Callable[[str, int, int], None]

# What was finished before an interruption.
_UNFINISHED = ".unfinished"


def reproduce(
    names: Sequence[str] = (),
    out: str | PathLike[str] = "reproduction",
    *,
    full: bool = False,
    n_jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Result]:
    """Run experiments of the paper and write what came out: figures, ``results.json``, ``index.md``, ``index.html``.

    Numbers and pages are written whole or not at all, once everything has run. An interrupted run keeps what was
    finished; the same call goes on from there. Experiments that were not asked for stay on the page as they stand in
    ``results.json``, if they were run in the same form and have the same measures.

    Parameters
    ----------
    names : sequence of str, optional
        All experiments by default; `EXPERIMENTS` lists them.
    out : path-like, default="reproduction"
        Folder to write to.
    full : bool, default=False
        Whether to take all seeds, at least 20, instead of a few.
    n_jobs : int, optional
        Number of processes; all processors by default.
    on_progress : callable, optional
        Called as ``on_progress(name, n_done, n_runs)`` after each run.

    Returns
    -------
    list of Result
        All that are on the page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     (xor,) = reproduce(["xor"], folder, n_jobs=1)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['index.html', 'index.md', 'results.json', 'xor.png', 'xor.svg']
    >>> xor.experiment.statements[0].verdict(xor.values).kind.value
    'matches'
    """
    chosen = [experiment(name) for name in names] or list(EXPERIMENTS.values())
    folder = Path(out)
    kept = folder / _UNFINISHED
    kept.mkdir(parents=True, exist_ok=True)
    results = []
    for one in chosen:
        file = kept / f"{one.name}.json"
        result = Result.load(file, one, full)
        if result is None:
            result = run(one, full, n_jobs, on_progress)
            result.save(file)
        elif on_progress is not None:
            on_progress(one.name, result.n_runs, result.n_runs)
        results.append(result)
    for result in results:
        with style():
            save(result.experiment.draw(result.values), folder, result.experiment.name)
    by_name = Result.load_all(folder / "results.json", EXPERIMENTS, full) | {r.experiment.name: r for r in results}
    results = [by_name[name] for name in EXPERIMENTS if name in by_name]
    write_json(folder / "results.json", numbers(results))
    write_page(results, folder)
    shutil.rmtree(kept)
    return results


def experiment(name: str) -> Experiment:
    """Return the experiment of a name."""
    if name not in EXPERIMENTS:
        raise InputError("paper-unknown-experiment", name=name, names=", ".join(EXPERIMENTS))
    return EXPERIMENTS[name]


def run(one: Experiment, full: bool, n_jobs: int | None, on_progress: OnProgress | None) -> Result:
    """Run one experiment over its seeds."""
    n = one.full if full else one.quick
    jobs = (delayed(_run)(one.name, seed) for seed in range(n))
    runs = []
    for found in Parallel(n_jobs=-1 if n_jobs is None else n_jobs, return_as="generator")(jobs):
        runs.append(found)
        if on_progress is not None:
            on_progress(one.name, len(runs), n)
    return Result.of(one, full, runs)


def _run(name: str, seed: int) -> dict[str, float]:
    # By name: experiments hold functions that cannot travel to another process.
    with threadpool_limits(1):
        return EXPERIMENTS[name].run(seed)
