"""Long runs of many jobs: several processes at once, and results as lines of a CSV file that a later run continues."""

import argparse
import csv
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from sklearn.datasets import load_iris

from sepc import SEPClassifier, SEPEnsembleClassifier


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all long runs have."""
    parser.add_argument("--models", help="names of models, with commas between; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--out", type=Path, help="CSV file of results, continued if it is there")
    parser.add_argument("--redo", metavar="NAME", help="compute models whose name contains NAME anew")
    parser.add_argument("--show", action="store_true", help="compute nothing, show what --out holds")


class ResultsFile:
    """Results of jobs in a CSV file, a line for each; of several lines for the same job the last one counts.

    Parameters
    ----------
    path : Path or None
        Nothing is kept without one.
    key : dict of str to type
        Columns that say which job it is; one of them is "model".
    values : sequence of str
        Columns of results, which are numbers; NaN is an empty cell.
    """

    def __init__(self, path: Path | None, key: dict[str, Callable], values: Iterable[str]) -> None:
        self.path, self.key, self.values = path, key, tuple(values)
        self.columns = (*key, *self.values)

    def read(self, to_show: bool = False) -> dict[tuple, dict[str, float]]:
        """Return the results of each job that the file has.

        Parameters
        ----------
        to_show : bool, default=False
            Whether no line is to be added: then a file without some of the results will do, which are NaN.
        """
        if self.path is None or not self.path.exists():
            return {}
        with self.path.open(newline="") as file:
            lines = csv.DictReader(file)
            there = tuple(lines.fieldnames or self.columns)
            if there != self.columns and not (to_show and set(self.key) <= set(there)):
                sys.exit(
                    f"{self.path} has the columns {', '.join(there)}; expected {', '.join(self.columns)}. It is from "
                    "another version of this script: name a new file with --out."
                )
            return {
                tuple(of(line[name]) for name, of in self.key.items()): {
                    name: float(line.get(name) or "nan") for name in self.values
                }
                for line in lines
            }

    def append(self, job: tuple, results: dict[str, float]) -> None:
        """Add a line."""
        if self.path is None:
            return
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if file.tell() == 0:
                writer.writerow(self.columns)
            writer.writerow([*job, *(f"{results[name]:.8g}".replace("nan", "") for name in self.values)])

    def completed(
        self, jobs: dict[tuple, tuple], call: Callable, told: Callable, options: argparse.Namespace
    ) -> dict[tuple, dict[str, float]]:
        """Compute the jobs that the file does not have, keep each as it comes, and return all results.

        Parameters
        ----------
        jobs : dict of job to arguments
        call : function
            At the top of a module, so that another process finds it; returns the results of a job as a dict.
        told : function
            Says the results of a job in a few words.
        options : Namespace
            Of `add_options`: ``redo`` computes some anew, ``show`` none at all.
        """
        done, model = self.read(options.show), list(self.key).index("model")
        if options.show:
            return done
        todo = {job: of for job, of in jobs.items() if job not in done or (options.redo and options.redo in job[model])}
        try:
            for count, (job, results) in enumerate(outcomes(todo, call, options.jobs), 1):
                failed = isinstance(results, str)
                said = f"FAILED, {results}" if failed else told(results)
                print(f"[{count}/{len(todo)}] {', '.join(map(str, job))}: {said}", file=sys.stderr, flush=True)
                if not failed:
                    self.append(job, results)
                    done[job] = results
        except KeyboardInterrupt:
            sys.exit(f"\nInterrupted. The same command continues from {self.path}." if self.path else 1)
        return done


def outcomes(todo: dict[tuple, tuple], call: Callable, n_jobs: int) -> Iterator[tuple]:
    """Yield each job and its results, or what went wrong as a text, in any order."""
    if n_jobs == 1:
        prepare_process()
        for job, arguments in todo.items():
            yield job, attempt(call, arguments)
        return
    # Processes that start from nothing: a copy of this one may hang where a library has threads.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, fresh, prepare_worker) as pool:
        jobs = {pool.submit(attempt, call, arguments): job for job, arguments in todo.items()}
        try:
            for future in as_completed(jobs):
                yield jobs.pop(future), future.result()
        except BaseException:
            # Without waiting for jobs that may take minutes: their results would be lost anyway.
            for process in multiprocessing.active_children():
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def attempt(call: Callable, arguments: tuple) -> dict[str, float] | str:
    try:
        return call(*arguments)
    except Exception as error:  # a model that fails on a set must not stop the others
        return f"{type(error).__name__}: {error}"


def prepare_process() -> None:
    """Compile what there is to compile, so that no fit is charged for it."""
    warnings.simplefilter("ignore")
    X, y = load_iris(return_X_y=True)
    SEPClassifier().fit(X, y)
    SEPEnsembleClassifier(n_estimators=2).fit(X[:100], y[:100])


def prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    prepare_process()


def chosen(everything: Iterable[str], wanted: str | None, option: str) -> list[str]:
    """Return the names that an option gives, with commas between; all of them without it."""
    everything = list(everything)
    if wanted is None:
        return everything
    names = [name.strip() for name in wanted.split(",")]
    unknown = [name for name in names if name not in everything]
    if unknown:
        sys.exit(f"{option} names {unknown[0]!r}; expected some of {', '.join(everything)}.")
    return names
