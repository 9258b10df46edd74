"""Long runs of many jobs: several processes at once, and results as lines of a CSV file that a later run continues."""

import csv
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path


class ResultsFile:
    """Results of jobs in a CSV file, a line for each; of several lines for the same job the last one counts.

    Parameters
    ----------
    path : Path or None
        Nothing is kept without one.
    key : dict of str to type
        Columns that say which job it is.
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

    def add(self, todo: dict[tuple, tuple], call: Callable, n_jobs: int, prepare: Callable, told: Callable) -> dict:
        """Compute jobs, keep their results as they come, and return them.

        Parameters
        ----------
        todo : dict of job to arguments
        call : function
            At the top of a module, so that another process finds it; returns the results of a job as a dict.
        n_jobs : int
            Number of processes.
        prepare : function
            Called once in each process, before its first job.
        told : function
            Says the results of a job in a few words.
        """
        done = {}
        try:
            for count, (job, results) in enumerate(outcomes(todo, call, n_jobs, prepare), 1):
                failed = isinstance(results, str)
                said = f"FAILED, {results}" if failed else told(results)
                print(f"[{count}/{len(todo)}] {', '.join(map(str, job))}: {said}", file=sys.stderr, flush=True)
                if not failed:
                    self.append(job, results)
                    done[job] = results
        except KeyboardInterrupt:
            sys.exit(f"\nInterrupted. The same command continues from {self.path}." if self.path else 1)
        return done


def outcomes(todo: dict[tuple, tuple], call: Callable, n_jobs: int, prepare: Callable) -> Iterator[tuple]:
    """Yield each job and its results, or what went wrong as a text, in any order."""
    if n_jobs == 1:
        prepare_process(prepare)
        for job, arguments in todo.items():
            yield job, attempt(call, arguments)
        return
    # Processes that start from nothing: a copy of this one may hang where a library has threads.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, fresh, prepare_worker, (prepare,)) as pool:
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


def prepare_process(prepare: Callable) -> None:
    warnings.simplefilter("ignore")
    prepare()


def prepare_worker(prepare: Callable) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    prepare_process(prepare)


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
